/* SPDX-License-Identifier: MIT */
/*
 * config.sinks of a stream → where its events go. A file lies in the project and not in its .ai,
 * whatever a parameter says; the tool's requires has to let it write. On a worker; no lock.
 */
#include "plan/plan_inner.h"

#include "http/http.h"
#include "memory.h"
#include "scope.h"
#include "str.h"

#include <string.h>

/* Sinks of one stream: no tool needs as many. */
#define SINKS_MAX 8
#define SINK_FLUSH_EVERY 10
#define SINK_RECONNECTS 3

/* "path" or "url"; in an address a parameter is percent-encoded. */
static char *sink_text(const struct planner *planner, const json_t *how, const char *key)
{
	const json_t *value = json_object_get(how, key);
	struct template in = http_template(planner);
	auto_buf struct rye_buf text = RYE_BUF_INIT;

	in.spell = !strcmp(key, "url") ? http_spell : NULL;
	template_put(&in, value, &text);
	if (!json_is_string(value) || text.failed || !text.len || memchr(text.data, 0, text.len))
		return NULL;
	return buf_steal(&text);
}

static bool goes_up(const char *path)
{
	for (; *path; path += strcspn(path, "/"), path += *path == '/')
		if (!strncmp(path, "..", 2) && (!path[2] || path[2] == '/'))
			return true;
	return false;
}

/* The target relative to the project. */
static int sink_path(const struct planner *planner, struct sink_plan *sink, struct rye_err *err)
{
	const char *inside = path_below(sink->target, planner->base->project);
	const char *path = inside ? inside : sink->target;
	char *below;

	while (!strncmp(path, "./", 2))
		path += 2;
	if (!*path || *path == '/' || goes_up(path) || !strcmp(path, ".ai") ||
	    !strncmp(path, ".ai/", 4))
		return rye_fail(err, RYE_INVALID,
				"sinks: path: %s: a file of the project is wanted, not in .ai",
				sink->target);
	below = memory_note(strdup(path));
	if (!below)
		return memory_fail(err);
	free(sink->target);
	sink->target = below;
	return 0;
}

static int make_file(const struct planner *planner, const json_t *how, struct sink_plan *sink,
		     struct rye_err *err)
{
	const char *format = json_str(how, "format");
	json_int_t every = json_int(how, "flush_every", SINK_FLUSH_EVERY);

	sink->target = sink_text(planner, how, "path");
	if (!sink->target)
		return rye_fail(err, RYE_INVALID, "sinks: path: the name of a file is wanted");
	if (*format && strcmp(format, "jsonl") != 0 && strcmp(format, "raw") != 0)
		return rye_fail(err, RYE_INVALID, "sinks: format: %s: jsonl or raw is wanted",
				format);
	sink->raw = !strcmp(format, "raw");
	sink->flush_every = (unsigned)MIN_OF(MAX_OF(every, 1), 10000);
	return sink_path(planner, sink, err);
}

static int make_websocket(const struct planner *planner, const json_t *how, struct sink_plan *sink,
			  struct rye_err *err)
{
	json_int_t again = json_int(how, "reconnect_attempts", SINK_RECONNECTS);

	struct template in = http_template(planner);

	in.spell = http_spell;
	sink->target = sink_text(planner, how, "url");
	sink->strange = where_is_strange(&in, json_object_get(how, "url"));
	for (const char *c = sink->target; c && *c; c++)
		if ((unsigned char)*c <= ' ' || *c == 0x7f)
			return rye_fail(err, RYE_INVALID,
					"sinks: url: a blank or control character at byte %zu",
					(size_t)(c - sink->target));
	sink->attempts = (unsigned)MIN_OF(MAX_OF(again, 0), RYE_ATTEMPTS_MAX);
	return sink->target ? 0 :
			      rye_fail(err, RYE_INVALID, "sinks: url: wss://HOST/PATH is wanted");
}

static int make_sink(const struct planner *planner, const json_t *how, struct sink_plan *sink,
		     struct rye_err *err)
{
	const char *type = json_str(how, "type");

	if (!strcmp(type, "return")) {
		sink->type = SINK_RETURN;
		return 0;
	}
	/* `type: null` is no text in YAML */
	if (!strcmp(type, "null") || json_is_null(json_object_get(how, "type"))) {
		sink->type = SINK_NULL;
		return 0;
	}
	if (!strcmp(type, "file")) {
		sink->type = SINK_FILE;
		return make_file(planner, how, sink, err);
	}
	if (!strcmp(type, "websocket")) {
		sink->type = SINK_WEBSOCKET;
		return make_websocket(planner, how, sink, err);
	}
	return rye_fail(err, RYE_INVALID,
			"sinks: type: %s: return, file, websocket or null is wanted", type);
}

int sink_plans_make(const struct planner *planner, struct http_plan *plan, struct rye_err *err)
{
	const json_t *list = json_object_get(planner->config, "sinks"), *how;
	size_t i;
	int r = 0;

	if (!json_array_size(list))
		return 0;
	if (!plan->stream)
		return rye_fail(err, RYE_INVALID, "config.sinks: needs mode: stream");
	if (json_array_size(list) > SINKS_MAX)
		return rye_fail(err, RYE_INVALID, "config.sinks: more than %d", SINKS_MAX);
	plan->sinks = calloc(json_array_size(list), sizeof(plan->sinks[0]));
	if (!plan->sinks)
		return memory_fail(err);
	json_array_foreach(list, i, how) {
		struct sink_plan *sink = &plan->sinks[plan->n_sinks++];

		r = make_sink(planner, how, sink, err);
		if (!r && sink->type == SINK_FILE && !plan->may_write)
			r = rye_fail(
				err, RYE_DENIED,
				"sinks: writing is not open to %s: its requires needs fs.write",
				planner->chain->v[0].item->id);
		if (r)
			return r;
	}
	return 0;
}

int sink_plans_check(const struct planner *planner, struct rye_err *err)
{
	struct template in = http_template(planner);
	const json_t *how;
	size_t i;
	int r = 0;

	in.spell = http_spell;
	json_array_foreach(json_object_get(planner->config, "sinks"), i, how) {
		const struct where where = { "sinks: url", json_object_get(how, "url"),
					     WHERE_ADDRESS };

		if (!r)
			r = where_check(&in, &where, err);
	}
	return r;
}

void sink_plans_done(struct http_plan *plan)
{
	for (size_t i = 0; i < plan->n_sinks; i++)
		free(plan->sinks[i].target);
	free(plan->sinks);
}
