/* SPDX-License-Identifier: MIT */
/*
 * Every provider wants one result for each call of an answer, right behind it, and refuses the whole
 * conversation otherwise. A process that is killed breaks that: here the one that closes its transcript
 * gives each call its result, and what is read back is paired whatever program has written it. Pure but for
 * chronicle_close_calls, which appends.
 */
#include "record/record_inner.h"

#include "memory.h"
#include "scope.h"
#include "str.h"

#include <stdio.h>

/* ---- a transcript whose process has ended ---- */

struct pairs {
	json_t *started; /* ids of calls without a result */
	json_t *done; /* {id: true}: those that have one, of the last answer */
	json_t *answer; /* the last one that is part of the conversation, as it is logged; or NULL */
};

static void pairs_done(struct pairs *pairs)
{
	json_decref(pairs->started);
	json_decref(pairs->done);
	json_decref(pairs->answer);
}

static void pairs_result(struct pairs *pairs, const char *id)
{
	json_t *element;
	size_t i;

	json_object_set_new(pairs->done, id, json_true());
	json_array_foreach(pairs->started, i, element) {
		if (!strcmp(json_string_value(element), id)) {
			json_array_remove(pairs->started, i);
			return;
		}
	}
}

static int pairs_line(void *arg, const struct chronicle_line *line)
{
	struct pairs *pairs = arg;
	const char *id = json_str(line->payload, "call_id");

	if (!strcmp(line->type, "tool_call_start")) {
		json_array_append_new(pairs->started, json_string(id));
	} else if (!strcmp(line->type, "tool_call_result")) {
		pairs_result(pairs, id);
	} else if (!strcmp(line->type, "cognition_out")) {
		json_decref(pairs->answer);
		pairs->answer = answer_is_said(line->payload) ?
					json_incref(json_object_get(line->payload, "raw")) :
					NULL;
		json_object_clear(pairs->done);
	}
	return 0;
}

struct pairs_close {
	struct chronicle *chronicle;
	const char *why;
	int n;
};

/* begun: it may be half done, and only a look can tell; a model that is told "not executed" does it twice. */
static int pairs_close(struct pairs_close *close, const char *id, bool begun, struct rye_err *err)
{
	char error[400];
	int r;

	if (begun)
		snprintf(
			error, sizeof(error),
			"interrupted: %.200s. It may have happened, as a whole or in part: look before "
			"you do it again",
			close->why);
	else
		snprintf(error, sizeof(error), "not executed: %.300s", close->why);
	utf8_mend(error);
	r = chronicle_close_call(close->chronicle, id, error, err);
	close->n += !r;
	return r;
}

/* Those that the model has asked for and that were never begun, too: their answer is sent again as it came. */
static int pairs_unbegun(struct pairs_close *close, const struct pairs *pairs, struct rye_err *err)
{
	auto_json json_t *answer = NULL;
	json_t *block;
	size_t i;
	int r = 0;

	/* one whose artifact is gone is told in words, with the calls that the transcript names */
	if (!pairs->answer ||
	    answer_whole(chronicle_record(close->chronicle), pairs->answer, &answer, NULL))
		return 0;
	json_array_foreach(json_object_get(answer, "blocks"), i, block) {
		const char *id = json_str(block, "id");

		if (r || strcmp(json_str(block, "kind"), "tool_call") != 0 ||
		    json_object_get(pairs->done, id) || json_lists(pairs->started, id))
			continue;
		r = chronicle_begin_call(close->chronicle, block, err);
		if (!r)
			r = pairs_close(close, id, false, err);
	}
	/* no room: then it is told in words, too */
	return r == -(int)RYE_TOO_BIG ? 0 : r;
}

int chronicle_close_calls(struct chronicle *chronicle, const struct chronicle_source *source,
			  const char *why, struct rye_err *err)
{
	__attribute__((cleanup(pairs_done))) struct pairs pairs = { json_array(), json_object(),
								    NULL };
	struct pairs_close close = { chronicle, why, 0 };
	json_t *id;
	size_t i;
	int r = chronicle_each(source, pairs_line, &pairs, err);

	json_array_foreach(pairs.started, i, id)
		if (!r)
			r = pairs_close(&close, json_string_value(id), true, err);
	if (!r)
		r = pairs_unbegun(&close, &pairs, err);
	return r ? r : close.n;
}

/* ---- a conversation that is read back ---- */

static bool is_role(const json_t *message, const char *role)
{
	return !strcmp(json_str(message, "role"), role);
}

/* The result of that call among those from `at` on; NULL: there is none. */
static json_t *pair_result(const json_t *list, size_t at, const char *id)
{
	json_t *message;

	for (; (message = json_array_get(list, at)) && is_role(message, "tool"); at++)
		if (!strcmp(json_str(message, "tool_call_id"), id))
			return json_incref(message);
	return NULL;
}

static json_t *result_lost(const char *id)
{
	return json_pack("{s:s, s:s, s:s, s:b}", "role", "tool", "tool_call_id", id, "content",
			 "interrupted: its result was lost. It may have happened: look before you "
			 "do it again",
			 "is_error", 1);
}

/* The first of calls of the same id counts: there is one result for both. */
static void pair_calls(json_t *answer, json_t *taken)
{
	json_t *calls = json_object_get(answer, "tool_calls");

	for (size_t i = 0; i < json_array_size(calls); i++) {
		const char *id = json_str(json_array_get(calls, i), "id");

		if (*id && !json_object_get(taken, id))
			json_object_set_new(taken, id, json_true());
		else
			json_array_remove(calls, i--);
	}
	if (calls && !json_array_size(calls))
		json_object_del(answer, "tool_calls");
}

static bool is_empty_answer(const json_t *message)
{
	return is_role(message, "assistant") && !*json_str(message, "content") &&
	       !json_object_get(message, "tool_calls") && !json_object_get(message, "raw");
}

void messages_pair(json_t *list)
{
	auto_json json_t *old = json_copy(list), *taken = json_object();
	json_t *message, *call;
	size_t i, k;

	json_array_clear(list);
	json_array_foreach(old, i, message) {
		if (is_role(message, "tool"))
			continue;
		pair_calls(message, taken);
		if (!is_empty_answer(message))
			json_array_append(list, message);
		json_array_foreach(json_object_get(message, "tool_calls"), k, call) {
			const char *id = json_str(call, "id");
			json_t *result = pair_result(old, i + 1, id);

			json_array_append_new(list, result ? result : result_lost(id));
		}
	}
}
