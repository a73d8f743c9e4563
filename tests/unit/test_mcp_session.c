/* SPDX-License-Identifier: MIT */
/*
 * The sequence of requests, against a server that is a list: what was asked in which order, over
 * processes and over HTTP, by every outcome of the probe.
 */
#include "rye_test.h"

#include "clock.h"
#include "mcp/client/client_inner.h"
#include "scope.h"
#include "str.h"

/* What the server does next: a response's members, or how it fails to give one. */
struct script {
	const char *text; /* NULL: .heard */
	enum mcp_heard heard;
	long status;
};

struct play {
	struct mcp_peer peer;
	struct mcp_state state;
	const struct script *next;
	struct rye_buf said; /* methods of the client, "new" for a new process */
	json_t *last; /* its last request */
};

static enum mcp_heard play_ask(struct mcp_peer *peer, struct mcp_turn *turn)
{
	struct play *play = (struct play *)peer;
	const struct script *script = play->next++;
	auto_json json_t *doc = NULL;
	auto_buf struct rye_buf text = RYE_BUF_INIT;

	buf_addf(&play->said, "%s ", json_str(turn->request, "method"));
	json_decref(play->last);
	play->last = json_incref((json_t *)turn->request);
	turn->status = script->status;
	if (!script->text)
		return script->heard;
	doc = json_parse(span_of(script->text), 0, "script", NULL);
	assert_non_null(doc);
	json_sets(doc, "jsonrpc", "2.0");
	json_object_set(doc, "id", json_object_get(turn->request, "id"));
	json_put(&text, doc, false);
	assert_int_equal(mcp_read((struct rye_span){ text.data, text.len }, turn->ret),
			 MCP_RESPONSE);
	return MCP_HEARD_ANSWER;
}

static void play_tell(struct mcp_peer *peer, const json_t *notice)
{
	buf_addf(&((struct play *)peer)->said, "%s ", json_str(notice, "method"));
}

static bool play_renew(struct mcp_peer *peer, struct rye_err *err)
{
	struct play *play = (struct play *)peer;

	(void)err;
	buf_adds(&play->said, "new ");
	json_decref(play->state.server);
	play->state = (struct mcp_state){ 0 };
	return true;
}

static const struct mcp_wire wires[] = {
	{ .ask = play_ask, .tell = play_tell, .renew = play_renew },
	{ .ask = play_ask, .tell = play_tell, .renew = play_renew, .http = true },
};

static void play_begin(struct play *play, const struct script *script, enum mcp_era known,
		       bool http)
{
	static const struct mcp_spec spec = { .id = (char *)"mcp/servers/s", .timeout_ms = 30000 };
	static struct mcp_ask ask = { .spec = &spec, .tool = "t", .cancel = -1 };

	*play = (struct play){ .next = script };
	ask.arguments = json_object();
	play->peer = (struct mcp_peer){ .wire = &wires[http], .ask = &ask, .known = known };
	play->peer.state = &play->state;
	buf_adds(&play->said, "");
}

static void play_end(struct play *play)
{
	json_decref(play->peer.ask->arguments);
	json_decref(play->state.server);
	json_decref(play->last);
	buf_done(&play->said);
}

#define DISCOVER "server/discover "
#define OPEN "initialize notifications/initialized "
#define CALL "tools/call "
#define MODERN_OK "{\"result\":{\"supportedVersions\":[\"2025-11-25\",\"2026-07-28\"]}}"
#define LEGACY_OK \
	"{\"result\":{\"protocolVersion\":\"2025-06-18\",\"serverInfo\":{\"name\":\"n\"}}}"
#define RESULT "{\"result\":{\"resultType\":\"complete\",\"content\":[]}}"
#define NO_METHOD "{\"error\":{\"code\":-32601,\"message\":\"Method not found\"}}"
#define OFFERS(list) \
	"{\"error\":{\"code\":-32022,\"message\":\"v\",\"data\":{\"supported\":[" list "]}}}"

struct way {
	const char *what;
	struct script script[6];
	const char *said;
	enum mcp_fault fault;
	enum mcp_era era, known;
	bool http, upgraded;
};

static const struct way ways[] = {
	{ "MCP01 modern", { { MODERN_OK }, { RESULT } }, DISCOVER CALL, MCP_FINE, MCP_MODERN },
	{ "MCP02 a version that it names",
	  { { OFFERS("\"2026-07-28\"") }, { MODERN_OK }, { RESULT } },
	  DISCOVER DISCOVER CALL,
	  MCP_FINE,
	  MCP_MODERN },
	{ "MCP02 once",
	  { { OFFERS("\"2026-07-28\"") }, { OFFERS("\"2026-07-28\"") } },
	  DISCOVER DISCOVER,
	  MCP_FAULT_PROTOCOL },
	{ "only legacy ones",
	  { { OFFERS("\"2025-06-18\"") }, { LEGACY_OK }, { RESULT } },
	  DISCOVER OPEN CALL,
	  MCP_FINE,
	  MCP_LEGACY },
	{ "only unknown ones", { { OFFERS("\"2031-01-01\"") } }, DISCOVER, MCP_FAULT_PROTOCOL },
	{ "-32022 that offers nothing",
	  { { OFFERS("") }, { LEGACY_OK }, { RESULT } },
	  DISCOVER OPEN CALL,
	  MCP_FINE,
	  MCP_LEGACY },
	{ "no version in common",
	  { { "{\"result\":{\"supportedVersions\":[\"2031-01-01\"]}}" }, { LEGACY_OK }, { RESULT } },
	  DISCOVER OPEN CALL,
	  MCP_FINE,
	  MCP_LEGACY },
	{ "MCP03 legacy, the same process",
	  { { NO_METHOD }, { LEGACY_OK }, { RESULT } },
	  DISCOVER OPEN CALL,
	  MCP_FINE,
	  MCP_LEGACY },
	{ "MCP04 it ends",
	  { { .heard = MCP_HEARD_END }, { LEGACY_OK }, { RESULT } },
	  DISCOVER "new " OPEN CALL,
	  MCP_FINE,
	  MCP_LEGACY },
	{ "MCP04 and ends again",
	  { { .heard = MCP_HEARD_END }, { .heard = MCP_HEARD_END } },
	  DISCOVER "new initialize ",
	  MCP_FAULT_EXIT },
	{ "MCP05 it is silent",
	  { { .heard = MCP_HEARD_SILENCE }, { LEGACY_OK }, { RESULT } },
	  DISCOVER "new " OPEN CALL,
	  MCP_FINE,
	  MCP_LEGACY },
	{ "cancelled", { { .heard = MCP_HEARD_CANCEL } }, DISCOVER, MCP_FAULT_CANCELLED },
	{ "initialize fails",
	  { { NO_METHOD }, { NO_METHOD } },
	  DISCOVER "initialize ",
	  MCP_FAULT_RPC },
	{ "a version that nobody knows",
	  { { NO_METHOD }, { "{\"result\":{\"protocolVersion\":\"1999-01-01\"}}" } },
	  DISCOVER "initialize ",
	  MCP_FAULT_PROTOCOL },
	{ "MCP09 modern by record", { { RESULT } }, CALL, MCP_FINE, MCP_MODERN, MCP_MODERN },
	{ "MCP09 legacy by record",
	  { { LEGACY_OK }, { RESULT } },
	  OPEN CALL,
	  MCP_FINE,
	  MCP_LEGACY,
	  MCP_LEGACY },
	{ "MCP09 it is modern now",
	  { { OFFERS("\"2026-07-28\"") }, { RESULT } },
	  "initialize " CALL,
	  MCP_FINE,
	  MCP_MODERN,
	  MCP_LEGACY,
	  .upgraded = true },
	{ "MCP09 never downwards",
	  { { OFFERS("\"2025-11-25\"") } },
	  CALL,
	  MCP_FAULT_PROTOCOL,
	  MCP_MODERN,
	  MCP_MODERN },
	{ "a call is never repeated",
	  { { .heard = MCP_HEARD_END } },
	  CALL,
	  MCP_FAULT_EXIT,
	  MCP_MODERN,
	  MCP_MODERN },
	{ "no tool", { { NO_METHOD } }, CALL, MCP_FAULT_RPC, MCP_MODERN, MCP_MODERN },
	{ "no result",
	  { { "{\"result\":{\"resultType\":\"task\"}}" } },
	  CALL,
	  MCP_FAULT_RESULT,
	  MCP_MODERN,
	  MCP_MODERN },
	{ "MCP06 HTTP 400 with an error of the protocol",
	  { { "{\"error\":{\"code\":-32000,\"message\":\"m\"}}", .status = 400 },
	    { LEGACY_OK },
	    { RESULT } },
	  DISCOVER OPEN CALL,
	  MCP_FINE,
	  MCP_LEGACY,
	  .http = true },
	{ "HTTP 405 without one",
	  { { .heard = MCP_HEARD_STATUS, .status = 405 }, { LEGACY_OK }, { RESULT } },
	  DISCOVER OPEN CALL,
	  MCP_FINE,
	  MCP_LEGACY,
	  .http = true },
	{ "HTTP, -32022 whatever the status",
	  { { OFFERS("\"2026-07-28\""), .status = 503 }, { MODERN_OK }, { RESULT } },
	  DISCOVER DISCOVER CALL,
	  MCP_FINE,
	  MCP_MODERN,
	  .http = true },
};

static void every_way_to_the_first_call(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		const struct way *way = &ways[i];
		struct mcp_answer got = { .fault = MCP_FINE };
		struct play play;

		play_begin(&play, way->script, way->known, way->http);
		mcp_session_call(&play.peer, &got);
		if (strcmp(play.said.data, way->said) || got.fault != way->fault ||
		    got.era != way->era || got.upgraded != way->upgraded)
			fail_msg("%s: %s, fault %d, era %d: %s", way->what, play.said.data,
				 got.fault, got.era, got.text ? got.text : "");
		assert_int_equal(got.fault == MCP_FINE, got.result != NULL);
		mcp_answer_done(&got);
		play_end(&play);
	}
}

/* ---- what decides nothing ---- */

static void MCP07_no_evidence_of_an_era(void **state)
{
	static const struct mcp_probe rows[] = {
		{ true, .heard = MCP_HEARD_STATUS, .status = 401 },
		{ true, .heard = MCP_HEARD_STATUS, .status = 403 },
		{ true, .heard = MCP_HEARD_STATUS, .status = 503 },
		{ true, .heard = MCP_HEARD_SILENCE },
		{ true, .heard = MCP_HEARD_END },
		{ false, .heard = MCP_HEARD_NOISE },
		{ false, .heard = MCP_HEARD_CANCEL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct mcp_decision got;

		mcp_decide(&rows[i], &got);
		assert_int_equal(got.step, MCP_STEP_FAIL);
		assert_null(got.why);
	}
}

/* ---- more before the answer ---- */

#define WANTS(more) "{\"result\":{\"resultType\":\"input_required\"," more "}}"
#define ASKS "\"inputRequests\":{\"k\":{\"method\":\"elicitation/create\"}}"

static void MCP30_a_question_is_declined_once(void **state)
{
	const struct script script[] = { { WANTS(ASKS ",\"requestState\":\"s \\u00e9\"") },
					 { WANTS(ASKS) } };
	struct mcp_answer got = { .fault = MCP_FINE };
	const json_t *params;
	struct play play;

	(void)state;
	play_begin(&play, script, MCP_MODERN, false);
	mcp_session_call(&play.peer, &got);
	assert_string_equal(play.said.data, CALL CALL);
	assert_int_equal(got.fault, MCP_FAULT_INPUT);
	params = json_object_get(play.last, "params");
	assert_string_equal(json_str(params, "requestState"), "s \xc3\xa9");
	assert_string_equal(
		json_str(json_object_get(json_object_get(params, "inputResponses"), "k"), "action"),
		"cancel");
	assert_int_equal(json_int(play.last, "id", 0), 2);
	mcp_answer_done(&got);
	play_end(&play);
}

static void MCP29_eight_rounds_and_no_more(void **state)
{
	struct script script[12];
	struct mcp_answer got = { .fault = MCP_FINE };
	struct play play;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(script); i++)
		script[i] = (struct script){ .text = WANTS("\"requestState\":\"s\"") };
	play_begin(&play, script, MCP_MODERN, false);
	mcp_session_call(&play.peer, &got);
	assert_int_equal(got.fault, MCP_FAULT_RESULT);
	assert_int_equal(play.next - script, 9);
	mcp_answer_done(&got);
	play_end(&play);
}

/* ---- how long a list is believed ---- */

#define LIST(more) "{\"result\":{\"resultType\":\"complete\",\"tools\":[]" more "}}"

/* Milliseconds, as a server at an address said them; of several pages the shortest. */
static void MCP26_a_list_is_fresh_for_as_long_as_it_says(void **state)
{
	static const struct {
		struct script script[3];
		int64_t want_s;
	} rows[] = {
		{ { { LIST("") } }, 300 },
		{ { { LIST(",\"ttlMs\":-1") } }, 300 },
		{ { { LIST(",\"ttlMs\":\"600000\"") } }, 300 },
		{ { { LIST(",\"ttlMs\":0") } }, 300 },
		{ { { LIST(",\"ttlMs\":600000") } }, 600 },
		{ { { LIST(",\"ttlMs\":9223372036854775807") } }, 3600 },
		{ { { LIST(",\"ttlMs\":900000,\"nextCursor\":\"\"") },
		    { LIST(",\"ttlMs\":700000") } },
		  700 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct mcp_answer got = { .fault = MCP_FINE };
		struct play play;
		int64_t left;

		play_begin(&play, rows[i].script, MCP_MODERN, true);
		play.state.era = MCP_MODERN;
		assert_true(mcp_list_all(&play.peer, &got));
		left = play.state.tools_until_ms - clock_ms();
		if (left > rows[i].want_s * 1000 || left < rows[i].want_s * 1000 - 60000)
			fail_msg("row %zu: %lld ms", i, (long long)left);
		mcp_answer_done(&got);
		json_decref(play.state.tools);
		play_end(&play);
	}
}

/* What is older is asked for before the next call, and only then. */
static void MCP26_a_list_that_is_too_old_is_asked_for(void **state)
{
	static const struct script script[] = { { LIST(",\"ttlMs\":0") }, { LIST("") } };
	struct mcp_answer got = { .fault = MCP_FINE };
	struct mcp_ask ask;
	struct play play;

	(void)state;
	play_begin(&play, script, MCP_MODERN, true);
	ask = *play.peer.ask;
	ask.pin = "sha256:none";
	play.peer.ask = &ask;
	assert_false(mcp_list_check(&play.peer, &got)); /* there is no such tool */
	assert_string_equal(play.said.data, "tools/list ");
	mcp_answer_done(&got);
	got = (struct mcp_answer){ .fault = MCP_FINE };
	assert_false(mcp_list_check(&play.peer, &got));
	assert_string_equal(play.said.data, "tools/list ");
	mcp_answer_done(&got);
	got = (struct mcp_answer){ .fault = MCP_FINE };
	play.state.tools_until_ms = clock_ms() - 1;
	assert_false(mcp_list_check(&play.peer, &got));
	assert_string_equal(play.said.data, "tools/list tools/list ");
	mcp_answer_done(&got);
	json_decref(play.state.tools);
	play_end(&play);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_way_to_the_first_call),
		cmocka_unit_test(MCP07_no_evidence_of_an_era),
		cmocka_unit_test(MCP30_a_question_is_declined_once),
		cmocka_unit_test(MCP29_eight_rounds_and_no_more),
		cmocka_unit_test(MCP26_a_list_is_fresh_for_as_long_as_it_says),
		cmocka_unit_test(MCP26_a_list_that_is_too_old_is_asked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
