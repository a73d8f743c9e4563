/* SPDX-License-Identifier: MIT */
/*
 * A run's transcript → where it stood. The file is a record that tools of the person could have
 * written to: every line is checked, and what it says decides no more than the state of the run,
 * whose calls the graph's signed permissions limit. Pure.
 */
#include "graph/graph_inner.h"

#include "memory.h"
#include "scope.h"

#include <stdio.h>
#include <string.h>

void graph_past_done(struct graph_past *past)
{
	json_decref(past->state);
	json_decref(past->errors);
	*past = GRAPH_PAST_INIT;
}

static void past_begin(struct graph_past *past, const json_t *payload)
{
	const json_t *state = json_object_get(payload, "state");

	snprintf(past->graph_id, sizeof(past->graph_id), "%s", json_str(payload, "graph_id"));
	snprintf(past->digest, sizeof(past->digest), "%s", json_str(payload, "graph_digest"));
	snprintf(past->node, sizeof(past->node), "%s", json_str(payload, "start_node"));
	json_decref(past->state);
	past->state = json_is_object(state) ? json_deep_copy(state) : json_object();
}

static void past_step(struct graph_past *past, const json_t *payload)
{
	const json_t *gone = json_object_get(payload, "unset"), *name,
		     *error = json_object_get(payload, "error");
	size_t i;

	json_object_update(past->state, json_object_get(payload, "set"));
	json_array_foreach(gone, i, name) {
		if (json_is_string(name))
			json_object_del(past->state, json_string_value(name));
	}
	if (json_is_object(error))
		json_array_append(past->errors, (json_t *)error);
	past->step = json_int(payload, "step", past->step);
	snprintf(past->node, sizeof(past->node), "%s", json_str(payload, "current_node"));
}

static void past_event(struct graph_past *past, const json_t *line)
{
	static const char *const ends[][2] = { { "graph_completed", "completed" },
					       { "graph_error", "error" },
					       { "graph_cancelled", "cancelled" },
					       { "graph_resumed", "running" } };
	const char *type = json_str(line, "event_type");
	const json_t *payload = json_object_get(line, "payload");

	if (!strcmp(type, "graph_started"))
		past_begin(past, payload);
	else if (!strcmp(type, "state_checkpoint"))
		past_step(past, payload);
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
		if (!strcmp(type, ends[i][0]))
			snprintf(past->status, sizeof(past->status), "%s", ends[i][1]);
}

int graph_past_read(struct rye_span text, struct graph_past *ret, struct rye_err *err)
{
	unsigned long memory = memory_failures();
	struct rye_span line;
	size_t n = 0;

	*ret = (struct graph_past){ .state = json_object(),
				    .errors = json_array(),
				    .status = "running" };
	/* what stands behind the last newline was cut */
	while (memchr(text.ptr, '\n', text.len) && span_line(&text, &line)) {
		auto_json json_t *event =
			json_parse(line, JSON_LOAD_LAST_WINS | JSON_LOAD_NUL, "event", NULL);

		n++;
		if (!event) {
			graph_past_done(ret);
			return rye_fail(err, RYE_UNPARSABLE,
					"Cannot resume: Corrupt transcript at line %zu", n);
		}
		past_event(ret, event);
	}
	if (!*ret->graph_id) {
		graph_past_done(ret);
		return rye_fail(err, RYE_UNPARSABLE,
				"Cannot resume: the transcript does not say how the run began");
	}
	return memory_check(memory, err);
}
