/* SPDX-License-Identifier: MIT */
/*
 * The table of what a thread's directory has beside its real files, and the way from a path below it
 * to a row and what the row says. A directory within it is a tree that its row makes; this file
 * walks them all alike.
 */
#include "facts/facts_inner.h"

#include "base/io.h"
#include "bounds.h"
#include "hash.h"
#include "memory.h"
#include "scope.h"
#include "str.h"

#include <fcntl.h>
#include <stdlib.h>

#define FACTS_FILE RYE_THREAD_FILE
#define FACTS_LINK RYE_THREAD_LINK

static const struct facts_row facts_rows[] = {
	{ "artifacts", NEEDS_ARTIFACTS, FACTS_FILE, NULL, fact_artifacts, fact_artifact },
	{ "budget", NEEDS_RECORD, FACTS_FILE, fact_budget, NULL, NULL },
	{ "capabilities", NEEDS_RECORD, FACTS_FILE, fact_capabilities, NULL, NULL },
	{ "chain", NEEDS_RECORD, FACTS_LINK, NULL, fact_chain, NULL },
	{ "children", NEEDS_RECORD, FACTS_LINK, NULL, fact_children, NULL },
	{ "cost", NEEDS_RECORD, FACTS_FILE, fact_cost, NULL, NULL },
	{ "inputs.json", NEEDS_REQUEST, FACTS_FILE, fact_inputs, NULL, NULL },
	{ "integrity", NEEDS_RECORD, FACTS_FILE, fact_integrity, NULL, NULL },
	{ "limits", NEEDS_RECORD, FACTS_FILE, fact_limits, NULL, NULL },
	{ "messages.json", NEEDS_RECORD | NEEDS_STORY, FACTS_FILE, fact_messages, NULL, NULL },
	{ "model", NEEDS_RECORD, FACTS_FILE, fact_model, NULL, NULL },
	{ "outputs", NEEDS_RECORD | NEEDS_END, FACTS_FILE, NULL, fact_outputs, NULL },
	{ "parent", NEEDS_PARENT, FACTS_LINK, fact_parent, NULL, NULL },
	{ "prompt.md", NEEDS_RECORD | NEEDS_STORY, FACTS_FILE, fact_prompt, NULL, NULL },
	{ "provider", NEEDS_RECORD, FACTS_FILE, fact_provider, NULL, NULL },
	{ "result", NEEDS_RECORD | NEEDS_END, FACTS_FILE, fact_result, NULL, NULL },
	{ "system.md", NEEDS_RECORD | NEEDS_STORY, FACTS_FILE, fact_system, NULL, NULL },
	{ "tools", NEEDS_OFFER, FACTS_FILE, NULL, fact_tools, NULL },
	{ "transcript.md", NEEDS_RECORD | NEEDS_STORY, FACTS_FILE, fact_transcript, NULL, NULL },
	{ "turns", NEEDS_RECORD | NEEDS_STORY, FACTS_FILE, NULL, fact_turns, NULL },
	{ "warnings", NEEDS_WARNINGS, FACTS_FILE, fact_warnings, NULL, NULL },
	{ NULL, 0, FACTS_FILE, NULL, NULL, NULL },
};

static bool facts_grows(const char *name)
{
	static const char *const names[] = { "live", "spawn.log", "transcript.jsonl" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(names[i], name))
			return true;
	return false;
}

/* ---- names ---- */

void facts_name(const char *text, char ret[128])
{
	utf8_cut(*text ? text : "_", ret, 128);
	for (char *c = ret; *c; c++)
		if (*c == '/' || (unsigned char)*c < 0x20 || *c == 0x7f)
			*c = '_';
	if (!strcmp(ret, ".") || !strcmp(ret, ".."))
		*ret = '_';
}

/* From the link's directory up to state/threads, and down to the thread. */
static void put_target(const struct facts_ask *ask, const char *id, struct rye_buf *out)
{
	if (*ask->id)
		buf_adds(out, "../");
	for (const char *c = ask->id; *c; c++)
		if (*c == '/')
			buf_adds(out, "../");
	for (const char *c = ask->path; *c; c++)
		if (*c == '/')
			buf_adds(out, "../");
	buf_adds(out, id);
}

/* ---- one look ---- */

int facts_ai(const struct facts *facts, struct rye_err *err)
{
	auto_buf struct rye_buf path = RYE_BUF_INIT;
	int fd;

	buf_addf(&path, "%s/.ai", facts->env.project);
	fd = path.failed ? -1 : open(path.data, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? rye_fail(err, RYE_NOT_FOUND, "%s/.ai", facts->env.project) : fd;
}

struct record facts_record(const struct facts_look *look, int ai)
{
	return (struct record){ .ai = ai,
				.dir = look->dir,
				.id = look->id,
				.trust = look->facts->env.items->trust };
}

static void facts_look_close(struct facts_look *look)
{
	json_decref(look->doc);
	if (look->dir >= 0)
		close(look->dir);
}
#define auto_look __attribute__((cleanup(facts_look_close)))

static bool look_at(const struct facts_look *look, const char *name)
{
	return look->dir >= 0 && !faccessat(look->dir, name, F_OK, AT_SYMLINK_NOFOLLOW);
}

static void look_record(struct facts_look *look)
{
	auto_blob struct rye_blob *text = NULL;

	if (look->dir < 0 || io_read_at(look->dir, "thread.json", RYE_BUF_CAP, &text) < 0)
		return;
	look->doc = json_parse((struct rye_span){ text->data, text->len }, JSON_LOAD_LAST_WINS,
			       "thread.json", NULL);
	look->has |= look->doc ? NEEDS_RECORD : 0;
	if (json_array_size(json_object_get(look->doc, "warnings")))
		look->has |= NEEDS_WARNINGS;
}

static bool look_artifacts(const struct facts_look *look)
{
	auto_buf struct rye_buf path = RYE_BUF_INIT;
	auto_close int ai = facts_ai(look->facts, NULL);

	buf_addf(&path, "state/objects/refs/artifacts/%s.json", look->id);
	return ai >= 0 && !path.failed && !faccessat(ai, path.data, F_OK, AT_SYMLINK_NOFOLLOW);
}

static int look_thread(struct facts_look *look, struct rye_err *err)
{
	struct threads *threads = look->facts->env.threads;
	auto_blob struct rye_blob *status = NULL;
	int r = threads_file(threads, look->id, "status", &status, err);

	if (r)
		return r;
	snprintf(look->status, sizeof(look->status), "%.*s", (int)strcspn(status->data, "\n"),
		 status->data);
	look->dir = threads_dir(threads, look->id, NULL);
	threads_links(threads, look->id, &look->links);
	look_record(look);
	look->has |= look_at(look, "transcript.jsonl") ? NEEDS_STORY : 0;
	look->has |= look_at(look, "capabilities.md") ? NEEDS_OFFER : 0;
	look->has |= registry_terminal(look->status) ? NEEDS_END : 0;
	look->has |= *look->links.parent_id ? NEEDS_PARENT : 0;
	if (json_object_get(look->doc, "inputs") || look_at(look, "request.json") ||
	    look_at(look, "spawn_params.json"))
		look->has |= NEEDS_REQUEST;
	if ((look->has & NEEDS_RECORD) && look_artifacts(look))
		look->has |= NEEDS_ARTIFACTS;
	return 0;
}

static int look_open(struct facts *facts, const char *id, struct facts_look *ret,
		     struct rye_err *err)
{
	*ret = (struct facts_look){ .facts = facts, .id = id, .dir = -1 };
	return *id ? look_thread(ret, err) : 0;
}

/* ---- from a path to what is there ---- */

struct facts_place {
	const struct facts_row *row; /* NULL: the directory itself, or a file of thread.h */
	json_t *node; /* behind the row; NULL: nothing, or the row has a text */
};

static void facts_place_done(struct facts_place *place)
{
	json_decref(place->node);
}
#define auto_place __attribute__((cleanup(facts_place_done)))

static int facts_none(const struct facts_ask *ask, struct rye_err *err)
{
	return rye_fail(err, RYE_NOT_FOUND, "thread %s has no file %s", ask->id, ask->path);
}

static const struct facts_row *find_row(const struct facts_look *look, struct rye_span name)
{
	const struct facts_row *row = *look->id ? facts_rows : facts_root_rows;

	for (; row->name; row++)
		if (span_eq(name, row->name))
			return (row->needs & ~look->has) ? NULL : row;
	return NULL;
}

static json_t *facts_member(const json_t *node, struct rye_span name)
{
	json_t *member = json_object_getn(node, name.ptr, name.len);
	char old[256];

	if (member || !memchr(name.ptr, '%', name.len))
		return member;
	snprintf(old, sizeof(old), "%.*s", (int)name.len, name.ptr);
	str_one_name_old(old);
	return json_object_get(node, old);
}

static int facts_find(const struct facts_look *look, const struct facts_ask *ask,
		      struct facts_place *ret, struct rye_err *err)
{
	const char *rest = ask->path;
	struct rye_span name = { rest, strcspn(rest, "/") };
	json_t *tree = NULL;
	const json_t *node;
	int r;

	ret->row = find_row(look, name);
	rest += name.len;
	if (!ret->row || !ret->row->tree)
		return *rest ? facts_none(ask, err) : 0;
	r = ret->row->tree(look, &tree, err);
	if (r)
		return r;
	for (node = tree; node && *rest; rest += name.len) {
		name = (struct rye_span){ rest + 1, strcspn(rest + 1, "/") };
		node = facts_member(node, name);
		rest++;
	}
	ret->node = json_incref((json_t *)node);
	json_decref(tree);
	return node ? 0 : facts_none(ask, err);
}

static int put_leaf(const struct facts_look *look, const struct facts_ask *ask,
		    const struct facts_place *place, struct rye_buf *out, struct rye_err *err)
{
	const char *value = json_string_value(place->node);

	if (place->row->leaf)
		return place->row->leaf(look, value, out, err);
	if (place->row->sort == RYE_THREAD_LINK)
		put_target(ask, value, out);
	else
		buf_add(out, value, json_string_length(place->node));
	return 0;
}

static int put_fact(const struct facts_look *look, const struct facts_ask *ask,
		    const struct facts_place *place, struct rye_buf *out, struct rye_err *err)
{
	auto_buf struct rye_buf id = RYE_BUF_INIT;
	int r;

	if (place->row->sort != RYE_THREAD_LINK)
		return place->row->text(look, out, err);
	r = place->row->text(look, &id, err);
	buf_adds(&id, "");
	if (!r && !id.failed)
		put_target(ask, id.data, out);
	return r;
}

/* A file that thread.h shows as it is. */
static int facts_plain(struct facts *facts, const struct facts_ask *ask,
		       enum rye_thread_sort *ret_sort, struct rye_blob **ret, struct rye_err *err)
{
	if (ret_sort)
		*ret_sort = facts_grows(ask->path) ? RYE_THREAD_GROWS : RYE_THREAD_FILE;
	if (!*ask->id)
		return facts_none(ask, err);
	if (!ret_sort || *ret_sort != RYE_THREAD_GROWS)
		return threads_file(facts->env.threads, ask->id, ask->path, ret, err);
	*ret = NULL;
	return 0;
}

int facts_file(struct facts *facts, const struct facts_ask *ask, enum rye_thread_sort *ret_sort,
	       struct rye_blob **ret, struct rye_err *err)
{
	auto_buf struct rye_buf out = RYE_BUF_INIT;
	auto_look struct facts_look look = { .dir = -1 };
	auto_place struct facts_place place = { NULL, NULL };
	unsigned long since = memory_failures();
	int r = look_open(facts, ask->id, &look, err);

	if (!r)
		r = facts_find(&look, ask, &place, err);
	if (!r && !place.row)
		return facts_plain(facts, ask, ret_sort, ret, err);
	if (r)
		return r;
	*ret = NULL;
	if (ret_sort)
		*ret_sort = json_is_object(place.node) ? RYE_THREAD_DIR : place.row->sort;
	if (json_is_object(place.node) || place.row->sort == RYE_THREAD_GROWS)
		return ret_sort ? 0 : facts_none(ask, err);
	r = place.node ? put_leaf(&look, ask, &place, &out, err) :
			 put_fact(&look, ask, &place, &out, err);
	r = memory_result(since, r, err);
	if (r)
		return r;
	buf_adds(&out, "");
	*ret = buf_blob(&out);
	return *ret ? 0 : memory_fail(err);
}

/* ---- times ---- */

/* What came out of a thread is what came out of the last that it handed over to. */
static bool facts_of_chain(const char *path)
{
	static const char *const names[] = { "output", "outputs", "result", "result.json" };
	struct rye_span name = { path, strcspn(path, "/") };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (span_eq(name, names[i]))
			return true;
	return false;
}

/* A link beside the threads leads to "../…/ID": it is as old as what is said of that one. */
static const char *facts_linked(const char *target)
{
	while (!strncmp(target, "../", 3))
		target += 3;
	return target;
}

static bool facts_events_time(const struct facts *facts, struct timespec *ret)
{
	auto_close int ai = facts_ai(facts, NULL);
	struct stat st;

	if (ai < 0 || fstatat(ai, "state/threads/" REGISTRY_EVENTS, &st, AT_SYMLINK_NOFOLLOW))
		return false;
	*ret = st.st_mtim;
	return true;
}

/*
 * The row's stamp, which rsync and `find -newer` see whichever mount shows the thread; a file that was
 * changed on disk behind the thread's back is as old as that change.
 */
bool facts_time(struct facts *facts, const struct facts_ask *ask, struct timespec *ret)
{
	struct threads *threads = facts->env.threads;
	bool events = !*ask->id && !strcmp(ask->path, REGISTRY_EVENTS);
	const char *id = *ask->id ? ask->id : facts_linked(ask->path);
	auto_close int dir = threads_dir(threads, id, NULL);
	char last[THREAD_ID_MAX];
	struct stat st;

	if (events)
		return facts_events_time(facts, ret);
	if (facts_of_chain(ask->path) && !threads_last(threads, id, last))
		id = last;
	if (!threads_end_time(threads, id, ret))
		return false;
	if (*ask->id && dir >= 0 && *ask->path &&
	    !fstatat(dir, ask->path, &st, AT_SYMLINK_NOFOLLOW) &&
	    (st.st_mtim.tv_sec > ret->tv_sec ||
	     (st.st_mtim.tv_sec == ret->tv_sec && st.st_mtim.tv_nsec > ret->tv_nsec)))
		*ret = st.st_mtim;
	return true;
}

/* ---- listing ---- */

struct facts_listing {
	rye_thread_fn fn;
	void *arg;
};

static int list_plain(void *arg, const char *name)
{
	const struct facts_listing *listing = arg;

	return listing->fn(listing->arg, name,
			   facts_grows(name) ? RYE_THREAD_GROWS : RYE_THREAD_FILE);
}

static int list_rows(const struct facts_look *look, const struct facts_listing *listing,
		     struct rye_err *err)
{
	const struct facts_row *row = *look->id ? facts_rows : facts_root_rows;

	for (; row->name; row++) {
		if (row->needs & ~look->has)
			continue;
		if (listing->fn(listing->arg, row->name, row->tree ? RYE_THREAD_DIR : row->sort))
			return 0;
	}
	if (!*look->id)
		return 0;
	return threads_names(look->facts->env.threads, look->id, list_plain, (void *)listing, err);
}

int facts_names(struct facts *facts, const struct facts_ask *ask, rye_thread_fn fn, void *arg,
		struct rye_err *err)
{
	const struct facts_listing listing = { fn, arg };
	auto_look struct facts_look look = { .dir = -1 };
	auto_place struct facts_place place = { NULL, NULL };
	const char *name;
	json_t *member;
	int r = look_open(facts, ask->id, &look, err);

	if (!r && !*ask->path)
		return list_rows(&look, &listing, err);
	if (!r)
		r = facts_find(&look, ask, &place, err);
	if (r)
		return r;
	if (!json_is_object(place.node))
		return facts_none(ask, err);
	json_object_foreach(place.node, name, member)
		if (fn(arg, name, json_is_object(member) ? RYE_THREAD_DIR : place.row->sort))
			break;
	return 0;
}

static int number_name(void *arg, const char *name, enum rye_thread_sort sort)
{
	uint64_t *hash = arg;

	(void)sort;
	*hash = hash_bytes(*hash, name, strlen(name) + 1);
	return 0;
}

uint64_t facts_number(struct facts *facts, const struct facts_ask *ask)
{
	const struct facts_look look = { .facts = facts, .dir = -1 };
	struct rye_err err;
	uint64_t hash = HASH_BASIS;

	if (!*ask->id && *ask->path)
		return facts_root_number(&look, ask->path);
	facts_names(facts, ask, number_name, &hash, &err);
	return hash;
}

/* ---- */

int facts_open(const struct facts_env *env, struct facts **ret, struct rye_err *err)
{
	struct facts *facts = calloc(1, sizeof(*facts));

	if (!facts)
		return memory_fail(err);
	facts->env = *env;
	pthread_mutex_init(&facts->lock, NULL);
	*ret = facts;
	return 0;
}

void facts_close(struct facts *facts)
{
	if (!facts)
		return;
	json_decref(facts->story);
	json_decref(facts->root);
	pthread_mutex_destroy(&facts->lock);
	free(facts);
}
