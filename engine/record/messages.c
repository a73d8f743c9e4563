/* SPDX-License-Identifier: MIT */
/*
 * The conversation of a transcript: what a thread that continues it tells its model. Pure.
 */
#include "record/record_inner.h"

#include "bounds.h"
#include "memory.h"
#include "scope.h"
#include "str.h"

#include <stdio.h>

struct messages {
	json_t *list;
	json_t *calls; /* borrowed: tool_calls of the answer that calls belong to; NULL: none */
	json_t *answer; /* borrowed: that answer, until its calls are put in */
	const json_t *input; /* the last input, while no answer followed */
	bool replay; /* with what a provider takes back */
	size_t kept; /* bytes of lines whose texts are in the list */
	unsigned long since; /* failures of memory before it */
};

static void on_input(struct messages *m, const json_t *payload)
{
	const char *role = json_str(payload, "role");

	m->answer = m->calls = NULL;
	/* logged again when the provider was asked again, or an answer that paused was sent back */
	if (!strcmp(role, "tool") || !strcmp(role, "assistant") ||
	    (m->input && json_equal(m->input, payload)))
		return;
	json_array_append_new(m->list, json_pack("{s:s, s:s}", "role", *role ? role : "user",
						 "content", json_str(payload, "text")));
	json_decref((json_t *)m->input);
	m->input = json_incref((json_t *)payload);
}

bool answer_is_said(const json_t *payload)
{
	const char *reason = json_str(payload, "finish_reason");

	return !json_flag(payload, "is_partial", false) && strcmp(reason, "refusal") != 0 &&
	       strcmp(reason, "bad_call") != 0;
}

static void on_answer(struct messages *m, const json_t *payload)
{
	json_t *raw = json_object_get(payload, "raw");

	m->answer = m->calls = NULL;
	if (!answer_is_said(payload))
		return;
	m->answer =
		json_pack("{s:s, s:s}", "role", "assistant", "content", json_str(payload, "text"));
	if (m->replay && json_is_object(raw))
		json_object_set(m->answer, "raw", raw);
	json_array_append_new(m->list, m->answer);
	json_decref((json_t *)m->input);
	m->input = NULL;
}

static void on_call(struct messages *m, const json_t *payload)
{
	json_t *input = json_object_get(payload, "input");

	if (m->answer && !m->calls) {
		m->calls = json_array();
		json_object_set_new(m->answer, "tool_calls", m->calls);
	}
	if (m->calls)
		json_array_append_new(
			m->calls, json_pack("{s:s, s:s, s:O?}", "name", json_str(payload, "tool"),
					    "id", json_str(payload, "call_id"), "input", input));
}

static void on_result(struct messages *m, const json_t *payload)
{
	const char *error = json_str(payload, "error");
	json_t *result = json_pack("{s:s, s:s, s:s}", "role", "tool", "tool_call_id",
				   json_str(payload, "call_id"), "content",
				   *error ? error : json_str(payload, "output"));

	if (m->replay && *error)
		json_object_set_new(result, "is_error", json_true());
	json_array_append_new(m->list, result);
}

struct messages *messages_begin(bool replay)
{
	unsigned long since = memory_failures();
	struct messages *m = calloc(1, sizeof(*m));

	if (m)
		*m = (struct messages){ .list = json_array(), .replay = replay, .since = since };
	return m;
}

int messages_event(void *messages, const struct chronicle_line *line)
{
	static const struct {
		const char *type;
		void (*fn)(struct messages *m, const json_t *payload);
	} rows[] = {
		{ "cognition_in", on_input },
		{ "cognition_out", on_answer },
		{ "tool_call_start", on_call },
		{ "tool_call_result", on_result },
	};
	struct messages *m = messages;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (!strcmp(line->type, rows[i].type)) {
			m->kept += line->text.len;
			/* what is beyond is counted only: the whole is refused in the end */
			if (m->kept <= RYE_BUF_CAP)
				rows[i].fn(m, line->payload);
		}
	return 0;
}

int messages_end(struct messages *m, json_t **ret, struct rye_err *err)
{
	json_t *list = m->list;
	int r = 0;

	json_decref((json_t *)m->input);
	/* a call that is still under way has no result yet, and is shown so */
	if (m->replay)
		messages_pair(list);
	if (m->kept > RYE_BUF_CAP)
		r = rye_fail(err, RYE_TOO_BIG,
			     "the conversation alone has %zu MiB, wanted at most %u", m->kept >> 20,
			     RYE_BUF_CAP >> 20);
	r = memory_result(m->since, r, err);
	free(m);
	if (r)
		json_decref(list);
	else
		*ret = list;
	return r;
}

/* ---- trimming ---- */

static int64_t tokens_of(const json_t *message)
{
	auto_buf struct rye_buf calls = RYE_BUF_INIT;
	const json_t *list = json_object_get(message, "tool_calls");

	if (list)
		json_put(&calls, list, false);
	return (int64_t)(json_string_length(json_object_get(message, "content")) + calls.len + 3) /
	       4;
}

static bool is_from(const json_t *message, const char *role)
{
	return !strcmp(json_str(message, "role"), role);
}

/*
 * The first answer between the message `user` and `end` from which all fits beside that message, `end`
 * when none does; of the last message of a user's at least the last one.
 */
static size_t newest_answers(const json_t *messages, size_t user, size_t end, int64_t tokens)
{
	bool last = end == json_array_size(messages);
	int64_t sum = tokens_of(json_array_get(messages, user));
	size_t from = end;

	for (size_t i = end; --i > user && (sum <= tokens || (last && from == end));) {
		const json_t *message = json_array_get(messages, i);

		sum += tokens_of(message);
		if (is_from(message, "assistant") && (sum <= tokens || (last && from == end)))
			from = i;
	}
	return from;
}

/*
 * A user's message begins what belongs together: an answer, its calls and their results follow it. What
 * follows one may be too long by itself, since a directive is one message and then many turns, and a
 * word that was put in later is another: then of the first such message the newest turns stay with it.
 */
json_t *messages_trim(const json_t *messages, int64_t tokens)
{
	size_t n = json_array_size(messages), from = n;
	json_t *kept = json_array();
	int64_t sum = 0, fits = 0;

	for (size_t i = n; i-- > 0;) {
		size_t newest;

		sum += tokens_of(json_array_get(messages, i));
		if (!is_from(json_array_get(messages, i), "user"))
			continue;
		if (sum > tokens) {
			newest = newest_answers(messages, i, from, tokens - fits);
			if (from == n || newest < from)
				json_array_append(kept, json_array_get(messages, i));
			from = newest;
			break;
		}
		from = i;
		fits = sum;
	}
	for (size_t i = from; i < n; i++)
		json_array_append(kept, json_array_get(messages, i));
	return kept;
}
