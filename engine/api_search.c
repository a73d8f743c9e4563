/* SPDX-License-Identifier: MIT */
/*
 * Searching, for its two users: rye_search (the directory search/ and the verb) and the fetch
 * primitive in query mode, whose whole reply is made here (items 6.2).
 */
#include "api_search.h"

#include "base/clock.h"
#include "base/id.h"
#include "base/limits.h"
#include "base/str.h"
#include "item/meta.h"
#include "item/search.h"

#include <stdio.h>

#define ITEM_KINDS (1u << RYE_DIRECTIVE | 1u << RYE_TOOL | 1u << RYE_KNOWLEDGE)
#define ALL_SPACES (1u << RYE_PROJECT | 1u << RYE_USER | 1u << RYE_SYSTEM)
#define LIMIT_DEFAULT 10
/* One reply is one message; pages are for more. */
#define LIMIT_MAX 1000

static int run(struct rye *rye, const struct search_ask *ask, struct search_result *ret,
	       struct rye_err *err)
{
	const struct search_env env = { &rye->items, engine_index(rye), engine_threads() };

	rye->searched_ms = clock_ms();
	return search_run(&env, ask, ret, err);
}

int rye_search(struct rye *rye, const struct rye_query *query, struct rye_err *err)
{
	const struct search_ask ask = { .query = query->text,
					.kinds = ITEM_KINDS,
					.spaces = ALL_SPACES,
					.prefix = "" };
	__attribute__((cleanup(search_done))) struct search_result result = { 0 };
	int r = run(rye, &ask, &result, err);

	for (size_t i = 0; !r && i < result.n && i < query->limit; i++) {
		const struct search_hit *from = &result.v[i];
		char name[RYE_NAME_MAX + 1];
		struct rye_hit hit = { .kind = (enum rye_kind)from->of->kind,
				       .id = from->doc->text + from->doc->id,
				       .name = name,
				       .title = from->doc->text + from->doc->title,
				       .space = rye->spaces->v[from->of->space].label,
				       .score = from->score };

		snprintf(name, sizeof(name), "%.*s%s", RYE_NAME_MAX, space_stem(hit.id),
			 from->of->ext);
		if (query->fn(query->arg, &hit))
			break;
	}
	return r;
}

/* ---- the request ---- */

struct asked {
	struct search_ask ask;
	const char *scope, *source, *sort;
	json_int_t limit, offset;
	char prefix[RYE_ID_MAX + 1];
};

static int bad_scope(struct rye_err *err)
{
	return rye_fail(err, RYE_INVALID,
			"scope must specify a kind (e.g., rye.fetch.directive.*)");
}

/* "tool", "tool.rye.bash", "rye.fetch.tool.*": a kind and a prefix whose dots are slashes. */
static int read_scope(struct asked *asked, struct rye_err *err)
{
	struct rye_span rest = span_of(asked->scope), kind;
	size_t dot;
	int found = 0;

	if (span_starts(rest, "rye.fetch.") || span_starts(rest, "rye.*."))
		rest = span_skip(rest, span_starts(rest, "rye.*.") ? strlen("rye.*.") :
								     strlen("rye.fetch."));
	for (dot = 0; dot < rest.len && rest.ptr[dot] != '.'; dot++)
		;
	kind = (struct rye_span){ rest.ptr, dot };
	while (found < RYE_CONFIG && !span_eq(kind, rye_kind_name((enum rye_kind)found)))
		found++;
	rest = span_skip(rest, dot < rest.len ? dot + 1 : dot);
	if (span_eq(rest, "*"))
		rest.len = 0;
	else if (span_ends(rest, ".*"))
		rest.len -= 2;
	else if (span_ends(rest, "*"))
		rest.len--;
	if (found == RYE_CONFIG || rest.len >= sizeof(asked->prefix))
		return bad_scope(err);
	asked->ask.kinds = 1u << found;
	for (size_t i = 0; i < rest.len; i++)
		asked->prefix[i] = rest.ptr[i] == '.' ? '/' : rest.ptr[i];
	asked->prefix[rest.len] = 0;
	asked->ask.prefix = asked->prefix;
	return 0;
}

static int read_source(struct asked *asked, struct rye_err *err)
{
	static const struct {
		const char *name;
		unsigned spaces;
	} sources[] = {
		{ "all", ALL_SPACES },
		{ "local", 1u << RYE_PROJECT | 1u << RYE_USER },
		{ "project", 1u << RYE_PROJECT },
		{ "registry", 0 },
		{ "system", 1u << RYE_SYSTEM },
		{ "user", 1u << RYE_USER },
	};

	for (size_t i = 0; i < ARRAY_SIZE(sources); i++) {
		if (strcmp(asked->source, sources[i].name) != 0)
			continue;
		asked->ask.spaces = sources[i].spaces;
		return 0;
	}
	return rye_fail(err, RYE_INVALID,
			"source %.100s: wanted project, user, system, local, all or registry",
			asked->source);
}

static int read_fields(struct asked *asked, const json_t *fields, struct rye_err *err)
{
	static const char *const names[DOC_FIELD__MAX] = { "title", "name", "description",
							   "category", "content" };

	for (size_t i = 0; i < json_array_size(fields); i++) {
		const char *name = json_string_value(json_array_get(fields, i));
		int field = 0;

		while (name && field < DOC_FIELD__MAX && strcmp(names[field], name) != 0)
			field++;
		if (!name || field == DOC_FIELD__MAX)
			return rye_fail(err, RYE_INVALID,
					"fields: wanted names of title, name, description, "
					"category, content");
		asked->ask.fields |= 1u << field;
	}
	return 0;
}

static int check_keys(const json_t *request, struct rye_err *err)
{
	static const char *const known[] = { "query",	"scope",	"source",
					     "limit",	"offset",	"fields",
					     "sort_by", "project_path", "item_type" };
	auto_buf struct rye_buf extra = RYE_BUF_INIT;
	json_t *object = (json_t *)request;
	const char *key;
	json_t *value;

	json_object_foreach(object, key, value)
	{
		size_t i = 0;

		while (i < ARRAY_SIZE(known) && strcmp(known[i], key) != 0)
			i++;
		if (i < ARRAY_SIZE(known))
			continue;
		buf_adds(&extra, extra.len ? ", " : "");
		json_python_repr(&extra, span_of(key));
	}
	if (!extra.len)
		return 0;
	return rye_fail(err, RYE_INVALID, "Invalid params for query mode: {%.600s}", extra.data);
}

static int read_request(const json_t *request, struct asked *ret, struct rye_err *err)
{
	int r = check_keys(request, err);

	*ret = (struct asked){ .ask.losers = true };
	ret->ask.query = json_str(request, "query");
	ret->scope = json_str(request, "scope");
	ret->source = json_str(request, "source");
	ret->sort = json_str(request, "sort_by");
	ret->limit = json_int(request, "limit", LIMIT_DEFAULT);
	ret->offset = json_int(request, "offset", 0);
	if (!*ret->scope)
		ret->scope = json_str(request, "item_type");
	if (!*ret->source)
		ret->source = "all";
	if (!r)
		r = read_scope(ret, err);
	if (!r)
		r = read_source(ret, err);
	if (!r)
		r = read_fields(ret, json_object_get(request, "fields"), err);
	if (r)
		return r;
	if (ret->limit < 0 || ret->limit > LIMIT_MAX || ret->offset < 0)
		return rye_fail(err, RYE_INVALID, "limit: wanted 0 to %d, offset from 0",
				LIMIT_MAX);
	if (*ret->sort && strcmp(ret->sort, "score") != 0 && strcmp(ret->sort, "name") != 0)
		return rye_fail(err, RYE_INVALID, "sort_by: wanted \"score\" or \"name\"");
	return 0;
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

static void put_item(json_t *row, const struct rye_item *item)
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
		put_item(row, item);
	else
		put_refused(row, (enum rye_code)hit->doc->code);
	if (!hit->of->best)
		json_sets(row, "shadowed_by", rye->spaces->v[hit->of->winner].label);
	else if (hit->of->others)
		json_set(row, "shadows", other_spaces(rye, hit->of->others));
	return row;
}

static int by_name(const void *pa, const void *pb)
{
	const struct search_hit *a = pa, *b = pb;

	return strcmp(a->doc->text + a->doc->id, b->doc->text + b->doc->id);
}

int api_search_reply(struct rye *rye, const json_t *request, json_t **ret, struct rye_err *err)
{
	__attribute__((cleanup(search_done))) struct search_result result = { 0 };
	struct asked asked;
	json_t *rows;
	int r = read_request(request, &asked, err);

	if (!r)
		r = run(rye, &asked.ask, &result, err);
	if (r)
		return r;
	if (!strcmp(asked.sort, "name") && result.n > 1)
		qsort(result.v, result.n, sizeof(*result.v), by_name);
	rows = json_array();
	for (size_t i = (size_t)asked.offset;
	     i < result.n && i - (size_t)asked.offset < (size_t)asked.limit; i++)
		json_array_append_new(rows, row_of(rye, &result.v[i]));
	*ret = json_pack("{s:o, s:I, s:s, s:s, s:s, s:I, s:I, s:s, s:s}", "results", rows, "total",
			 (json_int_t)result.n, "query", asked.ask.query, "scope", asked.scope,
			 "source", asked.source, "limit", asked.limit, "offset", asked.offset,
			 "search_type", "keyword", "mode", "query");
	return *ret ? 0 : rye_fail(err, RYE_IO, "out of memory");
}
