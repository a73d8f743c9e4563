/* SPDX-License-Identifier: MIT */
/*
 * Pages of verified items: the names of a kind's merged tree in order, and of each page's worth the
 * items that verify. A cursor is the path behind which the next page begins, so it stays good when
 * items come and go. On the thread that read the request; no lock.
 */
#include "mcp/server/server_inner.h"

#include "bounds.h"

#include <string.h>

#define PAGE 100
/* Of a cursor, so that what is none is known: in the first kind of a list, in the second. */
#define CURSOR "after:"
#define THEN "then:"

struct serve_walk {
	struct serve *serve;
	enum rye_kind kind;
	const char *dir;
	int depth;
	json_t *paths;
};

static int serve_walk_dir(struct serve_walk *walk);

static int serve_walk_entry(void *arg, const struct rye_entry *entry)
{
	struct serve_walk *walk = arg;
	auto_free char *path = NULL;
	struct serve_walk below = *walk;

	if (asprintf(&path, "%s%s%s", walk->dir, *walk->dir ? "/" : "", entry->name) < 0)
		return 0;
	if (!entry->is_dir) {
		json_array_append_new(walk->paths, json_string(path));
		return 0;
	}
	below.dir = path;
	below.depth++;
	return below.depth < RYE_DEPTH_MAX ? serve_walk_dir(&below) : 0;
}

static int serve_walk_dir(struct serve_walk *walk)
{
	const struct rye_walk list = { walk->kind, walk->dir, false, serve_walk_entry, walk };

	return rye_list(walk->serve->rye, &list, NULL);
}

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

struct serve_names {
	json_t *paths; /* holds the texts */
	const char **v;
	size_t n;
};

static void names_done(struct serve_names *names)
{
	json_decref(names->paths);
	free(names->v);
}

static void names_read(struct serve *serve, enum rye_kind kind, struct serve_names *ret)
{
	struct serve_walk walk = { serve, kind, "", 0, json_array() };
	json_t *path;
	size_t i;

	serve_walk_dir(&walk);
	*ret = (struct serve_names){ .paths = walk.paths };
	ret->v = calloc(json_array_size(walk.paths) + 1, sizeof(*ret->v));
	if (!ret->v)
		return;
	json_array_foreach(walk.paths, i, path)
		ret->v[ret->n++] = json_string_value(path);
	qsort(ret->v, ret->n, sizeof(*ret->v), compare_texts);
}

int serve_paths(struct serve *serve, enum rye_kind kind, serve_path_fn fn, void *arg)
{
	__attribute__((cleanup(names_done))) struct serve_names names;
	int stop = 0;

	names_read(serve, kind, &names);
	for (size_t i = 0; i < names.n && !stop; i++)
		stop = fn(arg, names.v[i]);
	return stop;
}

/* ---- pages ---- */

static bool read_cursor(const json_t *params, const struct serve_page **page, const char **ret,
			struct serve_fault *fault)
{
	const char *cursor = serve_text(params, "cursor");

	*ret = "";
	if (!json_object_get(params, "cursor"))
		return true;
	if (cursor && (*page)->then && !strncmp(cursor, THEN, strlen(THEN))) {
		*page = (*page)->then;
		*ret = cursor + strlen(THEN);
		return true;
	}
	if (!cursor || strncmp(cursor, CURSOR, strlen(CURSOR)) != 0)
		return serve_fail(fault, MCP_BAD_PARAMS, "cursor: there is no such page");
	*ret = cursor + strlen(CURSOR);
	return true;
}

struct serve_paging {
	struct serve *serve;
	const struct serve_page *page;
	const char *after;
	json_t *list;
	char last[RYE_ID_MAX + 64]; /* path of the last one that was looked at */
	bool more;
};

static int page_add(void *arg, const char *path)
{
	struct serve_paging *paging = arg;
	struct rye_stat st;
	const struct serve_found found = { &st, path, paging->page->clashes };
	json_t *entry;

	if (strcmp(path, paging->after) <= 0)
		return 0;
	if (json_array_size(paging->list) == PAGE) {
		paging->more = true;
		return 1;
	}
	if (rye_lookup(paging->serve->rye, paging->page->kind, path, &st, NULL) || !st.is_file ||
	    st.verdict != RYE_OK)
		return 0;
	entry = paging->page->entry(paging->serve, &found);
	if (!entry)
		return 0;
	json_array_append_new(paging->list, entry);
	snprintf(paging->last, sizeof(paging->last), "%s", path);
	return 0;
}

json_t *serve_page(struct serve_request *request, const struct serve_page *page,
		   const json_t *params, struct serve_fault *fault)
{
	struct serve_paging paging = { .serve = request->serve, .page = page };
	json_t *result;

	if (!read_cursor(params, &paging.page, &paging.after, fault))
		return NULL;
	paging.list = json_array();
	for (;;) {
		serve_paths(request->serve, paging.page->kind, page_add, &paging);
		if (paging.more || !paging.page->then)
			break;
		paging.page = paging.page->then;
		paging.after = "";
		*paging.last = 0;
	}
	result = json_pack("{s:o}", page->name, paging.list);
	if (paging.more)
		json_set(result, "nextCursor",
			 json_sprintf("%s%s", paging.page == page ? CURSOR : THEN, paging.last));
	return serve_fresh(request, result);
}

json_t *serve_view_json(struct serve *serve, enum rye_kind kind, const char *id, enum rye_view view)
{
	const struct rye_ask ask = { kind, id, view, NULL };
	auto_blob struct rye_blob *blob = NULL;

	if (rye_view(serve->rye, &ask, &blob, NULL))
		return NULL;
	return json_loadb(blob->data, blob->len, 0, NULL);
}
