/* SPDX-License-Identifier: MIT */
/*
 * The fetch primitive's search request, checked: query, scope, source, page and the options. What
 * it points to lies in the request. Pure.
 */
#include "api/api_inner.h"

#include "base/id.h"
#include "scope.h"
#include "search/search.h"
#include "str.h"

#define ALL_SPACES (1u << RYE_PROJECT | 1u << RYE_USER | 1u << RYE_SYSTEM)
#define LIMIT_DEFAULT 10
/* One reply is one message; pages are for more. */
#define LIMIT_MAX 1000
/* Edits and words when a request only says that it wants them. */
#define FUZZY_DEFAULT 1
#define FUZZY_MAX 5
#define NEAR_DEFAULT 5

static int bad_scope(struct rye_err *err)
{
	return rye_fail(err, RYE_INVALID,
			"scope must specify a kind (e.g., rye.fetch.directive.*)");
}

/* "tool", "tool.rye.bash", "rye.fetch.tool.*": a kind and a prefix whose dots are slashes. */
static int search_request_read_scope(struct search_request *asked, struct rye_err *err)
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
	while (found < RYE_KIND__MAX && !span_eq(kind, rye_kind_name((enum rye_kind)found)))
		found++;
	rest = span_skip(rest, dot < rest.len ? dot + 1 : dot);
	if (span_eq(rest, "*"))
		rest.len = 0;
	else if (span_ends(rest, ".*"))
		rest.len -= 2;
	else if (span_ends(rest, "*"))
		rest.len--;
	if (!rye_kind_has((enum rye_kind)found, RYE_KIND_RUNS) || rest.len >= sizeof(asked->prefix))
		return bad_scope(err);
	asked->ask.kinds = 1u << found;
	for (size_t i = 0; i < rest.len; i++)
		asked->prefix[i] = rest.ptr[i] == '.' ? '/' : rest.ptr[i];
	asked->prefix[rest.len] = 0;
	asked->ask.prefix = asked->prefix;
	return 0;
}

static int read_source(struct search_request *asked, struct rye_err *err)
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

static int read_fields(struct search_request *asked, const json_t *fields, struct rye_err *err)
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

static int search_request_check_keys(const json_t *request, struct rye_err *err)
{
	static const char *const known[] = { "query",	  "scope",   "source",	"limit",
					     "offset",	  "fields",  "sort_by", "project_path",
					     "item_type", "filters", "fuzzy",	"proximity" };
	auto_buf struct rye_buf extra = RYE_BUF_INIT;
	json_t *object = (json_t *)request;
	const char *key;
	json_t *value;

	json_object_foreach(object, key, value) {
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

/* A number, true for 1, or an object that holds one: {"enabled": true, "max_distance": 2}. */
static int read_distance(const json_t *value, int fallback)
{
	static const char *const names[] = { "max_distance", "distance", "max" };

	if (json_is_integer(value))
		return (int)json_integer_value(value);
	if (!json_is_object(value))
		return json_is_true(value) ? fallback : 0;
	if (!json_flag(value, "enabled", true))
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (json_is_integer(json_object_get(value, names[i])))
			return (int)json_int(value, names[i], fallback);
	return fallback;
}

static int read_options(const json_t *request, struct search_request *ret, struct rye_err *err)
{
	struct query_opt *opt = &ret->ask.opt;

	opt->fuzzy = read_distance(json_object_get(request, "fuzzy"), FUZZY_DEFAULT);
	opt->proximity = read_distance(json_object_get(request, "proximity"), NEAR_DEFAULT);
	ret->filters = json_object_get(request, "filters");
	if (opt->fuzzy < 0 || opt->fuzzy > FUZZY_MAX || opt->proximity < 0)
		return rye_fail(err, RYE_INVALID,
				"fuzzy: wanted 0 to %d edits, proximity: words from 0", FUZZY_MAX);
	if (ret->limit < 0 || ret->limit > LIMIT_MAX || ret->offset < 0)
		return rye_fail(err, RYE_INVALID, "limit: wanted 0 to %d, offset from 0",
				LIMIT_MAX);
	if (*ret->sort && strcmp(ret->sort, "score") != 0 && strcmp(ret->sort, "name") != 0 &&
	    strcmp(ret->sort, "date") != 0)
		return rye_fail(err, RYE_INVALID, "sort_by: wanted score, name or date");
	return filter_check(ret->filters, err);
}

int search_request_read(const json_t *request, struct search_request *ret, struct rye_err *err)
{
	int r = search_request_check_keys(request, err);

	*ret = (struct search_request){ .ask.losers = true };
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
		r = search_request_read_scope(ret, err);
	if (!r)
		r = read_source(ret, err);
	if (!r)
		r = read_fields(ret, json_object_get(request, "fields"), err);
	return r ? r : read_options(request, ret, err);
}
