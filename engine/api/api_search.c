/* SPDX-License-Identifier: MIT */
/*
 * Searching, for its two users: rye_search (the directory search/ and the verb) and the fetch
 * primitive in query mode, whose whole reply is made here.
 */
#include "api/api_inner.h"

#include "base/id.h"
#include "bounds.h"
#include "clock.h"
#include "item/item.h"
#include "memory.h"
#include "search/search.h"
#include "str.h"

#include <fcntl.h>
#include <stdio.h>

#define ALL_SPACES (1u << RYE_PROJECT | 1u << RYE_USER | 1u << RYE_SYSTEM)

static struct search_env env_of(struct rye *rye, const _Atomic int *stop)
{
	return (struct search_env){ .items = &rye->items,
				    .index = engine_index(rye),
				    .threads = engine_threads(),
				    .texts_max = rye->search_texts,
				    .stop = stop };
}

static int api_search_run(struct rye *rye, const struct search_env *env,
			  const struct search_ask *ask, struct search_result *ret,
			  struct rye_err *err)
{
	rye->searched_ms = clock_ms();
	return index_lacks(rye->index) ? memory_fail(err) : search_run(env, ask, ret, err);
}

int rye_search(struct rye *rye, const struct rye_query *query, struct rye_err *err)
{
	const struct search_ask ask = { .query = query->text,
					.kinds = kinds_with(RYE_KIND_RUNS | RYE_KIND_MANIFEST),
					.spaces = ALL_SPACES,
					.prefix = "" };
	struct search_env env = env_of(rye, query->stop);
	__attribute__((cleanup(search_done))) struct search_result result = { 0 };
	int r;

	env.progress = query->progress;
	env.progress_arg = query->arg;
	r = api_search_run(rye, &env, &ask, &result, err);
	for (size_t i = 0; !r && i < result.n && i < query->limit; i++) {
		const struct search_hit *from = &result.v[i];
		char name[RYE_NAME_MAX + 1];
		struct rye_hit hit = { .kind = (enum rye_kind)from->of->kind,
				       .id = from->doc->text + from->doc->id,
				       .name = name,
				       .title = from->doc->text + from->doc->title,
				       .space = rye->spaces->v[from->of->space].label,
				       .score = from->score };

		if (!rye_kind_has(hit.kind, RYE_KIND_MANIFEST))
			snprintf(name, sizeof(name), "%.*s%s", RYE_NAME_MAX, space_stem(hit.id),
				 from->of->ext);
		else /* what is shown of it is its folder, or why there is none */
			snprintf(name, sizeof(name), "%.64s%s", hit.id,
				 from->doc->code == RYE_OK ? "/SKILL.md" : "");
		if (query->fn(query->arg, &hit))
			break;
	}
	return r;
}

/* ---- the reply ---- */

static json_t *other_spaces(struct rye *rye, uint64_t others)
{
	json_t *list = json_array();

	for (size_t i = 0; i < rye->spaces->n && i < 64; i++)
		if (others & 1ull << i)
			json_array_append_new(list, json_pack("{s:s}", "source",
							      rye->spaces->v[i].label));
	return list;
}

static void api_search_put_item(json_t *row, const struct rye_item *item)
{
	static const char *const about[] = { "description", "tool_description", NULL };
	static const char *const kept[] = { "version",	 "author",	"tags",
					    "tool_type", "executor_id", "entry_type" };
	static const char *const category[] = { "category", NULL };
	struct rye_span preview = doc_preview(item);
	json_t *metadata = json_object();

	for (size_t i = 0; i < ARRAY_SIZE(kept); i++) {
		const json_t *value = meta_get(item, kept[i]);

		if (value)
			json_set(metadata, kept[i], json_deep_copy(value));
	}
	json_sets(row, "description", doc_text(item, about));
	json_set(row, "preview", json_stringn(preview.ptr, preview.len));
	json_set(row, "metadata", metadata);
	if (*doc_text(item, category))
		json_sets(row, "category", doc_text(item, category));
	json_set(row, "signed", json_boolean(*item->verdict.fingerprint));
	json_sets(row, "integrity", item->verdict.dev ? "unverified" : "verified");
}

static void put_refused(json_t *row, enum rye_code code)
{
	json_sets(row, "description", "");
	json_sets(row, "preview", "");
	json_set(row, "metadata", json_object());
	json_set(row, "signed", json_boolean(code != RYE_UNSIGNED));
	json_sets(row, "integrity", rye_code_name(code));
}

static json_t *row_of(struct rye *rye, const struct search_hit *hit)
{
	const struct space *space = &rye->spaces->v[hit->of->space];
	enum rye_kind kind = (enum rye_kind)hit->of->kind;
	const char *id = hit->doc->text + hit->doc->id;
	auto_item struct rye_item *item = NULL;
	auto_free char *full = NULL;
	json_t *row = json_object();
	char path[1100];
	const struct path_ask ask = { space, kind, path };

	snprintf(path, sizeof(path), "%s/%s%s", rye_kind_dir(kind), id, hit->of->ext);
	full = space_abspath(space, path);
	json_sets(row, "id", id);
	json_sets(row, "name", space_stem(id));
	json_sets(row, "title", hit->doc->text + hit->doc->title);
	json_sets(row, "type", rye_kind_name(kind));
	json_sets(row, "source", space->label);
	json_sets(row, "path", full ? full : path);
	json_set(row, "score", json_real(hit->score));
	if (rye_load_path(&rye->items, &ask, &item, NULL) == 0)
		api_search_put_item(row, item);
	else
		put_refused(row, (enum rye_code)hit->doc->code);
	if (!hit->of->best)
		json_sets(row, "shadowed_by", rye->spaces->v[hit->of->winner].label);
	else if (hit->of->others)
		json_set(row, "shadows", other_spaces(rye, hit->of->others));
	return row;
}

static int api_search_by_name(const void *pa, const void *pb)
{
	const struct search_hit *a = pa, *b = pb;

	return strcmp(a->doc->text + a->doc->id, b->doc->text + b->doc->id);
}

static int load_hit(struct rye *rye, const struct search_hit *hit, struct rye_item **ret)
{
	enum rye_kind kind = (enum rye_kind)hit->of->kind;
	char path[1100];
	const struct path_ask ask = { &rye->spaces->v[hit->of->space], kind, path, false };

	snprintf(path, sizeof(path), "%s/%s%s", rye_kind_dir(kind), hit->doc->text + hit->doc->id,
		 hit->of->ext);
	return rye_load_path(&rye->items, &ask, ret, NULL);
}

/* Refused items have no metadata that a filter could look at. */
static void keep_filtered(struct rye *rye, const json_t *filters, struct search_result *result)
{
	size_t n = 0;

	for (size_t i = 0; i < result->n; i++) {
		auto_item struct rye_item *item = NULL;

		if (load_hit(rye, &result->v[i], &item) == 0 && filter_match(filters, item))
			result->v[n++] = result->v[i];
	}
	result->n = n;
}

/* What the asker may not read it does not learn of. */
static void keep_shown(const struct authority *asker, struct search_result *result)
{
	size_t n = 0;

	for (size_t i = 0; i < result->n; i++) {
		const struct search_hit *hit = &result->v[i];
		const struct authority_ask ask = { ACT_READ,
						   rye_kind_name((enum rye_kind)hit->of->kind),
						   hit->doc->text + hit->doc->id };

		if (!authority_check(asker, &ask, NULL))
			result->v[n++] = *hit;
	}
	result->n = n;
}

/* The newest first; the score is given up, each hit keeps it. */
struct dated {
	struct search_hit hit;
	int64_t when;
};

static int by_date(const void *pa, const void *pb)
{
	const struct dated *a = pa, *b = pb;

	if (a->when != b->when)
		return a->when > b->when ? -1 : 1;
	return api_search_by_name(&a->hit, &b->hit);
}

static int64_t changed_at(struct rye *rye, const struct search_hit *hit)
{
	char path[1100];
	struct stat st;
	int root = space_fd(&rye->spaces->v[hit->of->space]);

	snprintf(path, sizeof(path), "%s/%s%s", rye_kind_dir((enum rye_kind)hit->of->kind),
		 hit->doc->text + hit->doc->id, hit->of->ext);
	if (root < 0 || fstatat(root, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	return st.st_mtim.tv_sec * 1000000000ll + st.st_mtim.tv_nsec;
}

static void sort_by_date(struct rye *rye, struct search_result *result)
{
	auto_free struct dated *dated = memory_note(calloc(result->n + 1, sizeof(*dated)));

	for (size_t i = 0; dated && i < result->n; i++)
		dated[i] = (struct dated){ result->v[i], changed_at(rye, &result->v[i]) };
	if (!dated || result->n < 2)
		return;
	qsort(dated, result->n, sizeof(*dated), by_date);
	for (size_t i = 0; i < result->n; i++)
		result->v[i] = dated[i].hit;
}

static void api_search_arrange(struct rye *rye, const struct search_request *ask,
			       struct search_result *result)
{
	if (json_object_size(ask->filters))
		keep_filtered(rye, ask->filters, result);
	if (!strcmp(ask->sort, "name") && result->n > 1)
		qsort(result->v, result->n, sizeof(*result->v), api_search_by_name);
	if (!strcmp(ask->sort, "date"))
		sort_by_date(rye, result);
}

int api_search_reply(struct rye *rye, const struct exec_search *from, json_t **ret,
		     struct rye_err *err)
{
	const struct search_env env = env_of(rye, from->stop);
	__attribute__((cleanup(search_done))) struct search_result result = { 0 };
	struct search_request ask;
	json_t *rows;
	int r = search_request_read(from->request, &ask, err);

	if (!r)
		r = api_search_run(rye, &env, &ask.ask, &result, err);
	if (r)
		return r;
	if (from->asker && json_array_size(from->asker->all))
		keep_shown(from->asker, &result);
	api_search_arrange(rye, &ask, &result);
	rows = json_array();
	for (size_t i = (size_t)ask.offset;
	     i < result.n && i - (size_t)ask.offset < (size_t)ask.limit; i++)
		json_array_append_new(rows, row_of(rye, &result.v[i]));
	*ret = json_pack("{s:o, s:I, s:s, s:s, s:s, s:I, s:I, s:s, s:s}", "results", rows, "total",
			 (json_int_t)result.n, "query", ask.ask.query, "scope", ask.scope, "source",
			 ask.source, "limit", ask.limit, "offset", ask.offset, "search_type",
			 "keyword", "mode", "query");
	return *ret ? 0 : memory_fail(err);
}
