/* SPDX-License-Identifier: MIT */
/*
 * One call: the era, unless it is known; `initialize` for a legacy server; the list of tools, where
 * the definition is pinned; then `tools/call`, which is sent once and never repeated by
 * ourselves, but when the server says that it did nothing: there is no telling what half of it has
 * done. On the worker of the call; no lock.
 */
#include "mcp/client/client_inner.h"

#include "bounds.h"
#include "clock.h"
#include "scope.h"
#include "str.h"

#include <string.h>

/* ---- faults ---- */

void mcp_session_fault(struct mcp_answer *ret, enum mcp_fault fault, const char *format, ...)
{
	struct rye_buf text = RYE_BUF_INIT;
	char line[1024];

	STR_FORMAT(line, format);
	buf_adds(&text, line);
	free(ret->text);
	ret->text = buf_steal(&text);
	ret->fault = fault;
}

static void fault_status(const struct mcp_peer *peer, long status, struct mcp_answer *ret)
{
	const char *scope = json_str(peer->challenge, "scope");
	const char *error = json_str(peer->challenge, "error");

	ret->status = status;
	if (status == 401 || status == 403)
		mcp_session_fault(
			ret, MCP_FAULT_AUTH,
			"%s: the server answers HTTP %ld: it wants other credentials%s%s%s%s",
			peer->ask->spec->id, status, *error ? ", " : "", error,
			*scope ? ", scope " : "", scope);
	else
		mcp_session_fault(ret, MCP_FAULT_HTTP, "%s: the server answers HTTP %ld%s%.200s",
				  peer->ask->spec->id, status, peer->body ? ": " : "",
				  peer->body ? peer->body : "");
}

/* Nothing came that could be read as an answer. */
static void fault_of(const struct mcp_peer *peer, enum mcp_heard heard, const char *method,
		     struct mcp_answer *ret)
{
	enum mcp_fault gone = peer->wire->http ? MCP_FAULT_HTTP : MCP_FAULT_EXIT;
	const char *id = peer->ask->spec->id;

	switch (heard) {
	case MCP_HEARD_SILENCE:
		mcp_session_fault(ret, MCP_FAULT_TIMEOUT, "%s: no answer to %s in time", id,
				  method);
		break;
	case MCP_HEARD_CANCEL:
		mcp_session_fault(ret, MCP_FAULT_CANCELLED, "Run was cancelled");
		break;
	case MCP_HEARD_REFUSED:
		mcp_session_fault(ret, peer->wire->http ? MCP_FAULT_HTTP : MCP_FAULT_SPAWN,
				  "%s: %s", id, peer->err.msg);
		break;
	case MCP_HEARD_NOISE:
		mcp_session_fault(ret, gone, "%s: %s", id, peer->err.msg);
		break;
	default:
		mcp_session_fault(ret, gone, "%s ended before it answered %s%s%s", id, method,
				  *peer->err.msg ? ": " : "", peer->err.msg);
	}
}

/* An error of the protocol; takes nothing over. */
static void fault_rpc(const struct mcp_peer *peer, const json_t *error, struct mcp_answer *ret)
{
	json_int_t code = json_int(error, "code", 0);

	json_decref(ret->error);
	ret->error = json_incref((json_t *)error);
	if (code == MCP_BAD_VERSION)
		mcp_session_fault(ret, MCP_FAULT_PROTOCOL,
				  "Server no longer speaks %s; " MEND_WITH "ryefs mcp refresh %s",
				  peer->state->version, mcp_server_name(peer->ask->spec));
	else if (code == MCP_NEEDS_CAPABILITY)
		mcp_session_fault(ret, MCP_FAULT_INPUT,
				  "%s: the tool needs what this client cannot: %s",
				  peer->ask->spec->id, json_str(error, "message"));
	else
		mcp_session_fault(ret, MCP_FAULT_RPC, "%s (%" JSON_INTEGER_FORMAT ")",
				  json_str(error, "message"), code);
}

static void fault_heard(const struct mcp_peer *peer, enum mcp_heard heard,
			const struct mcp_turn *turn, struct mcp_answer *ret)
{
	if (heard == MCP_HEARD_STATUS)
		fault_status(peer, turn->status, ret);
	else
		fault_of(peer, heard, json_str(turn->request, "method"), ret);
}

/* ---- requests ---- */

struct mcp_frame mcp_session_frame(const struct mcp_peer *peer, bool progress)
{
	return (struct mcp_frame){ .era = peer->state->era,
				   .version = peer->state->version,
				   .elicits = peer->ask->spec->elicits,
				   .progress = progress };
}

/* As the wire's, but that a refused credential is that, whatever else the answer says. */
static enum mcp_heard session_turn(struct mcp_peer *peer, struct mcp_turn *turn)
{
	enum mcp_heard heard = peer->wire->ask(peer, turn);

	if (heard == MCP_HEARD_ANSWER && (turn->status == 401 || turn->status == 403) &&
	    !mcp_offered(turn->ret->error))
		heard = MCP_HEARD_STATUS;
	return heard;
}

static int64_t limit_ms(const struct mcp_peer *peer, int64_t most)
{
	return MIN_OF(peer->ask->spec->timeout_ms, most);
}

static void learn_server(struct mcp_peer *peer, const json_t *info)
{
	if (!json_is_object(info))
		return;
	json_decref(peer->state->server);
	peer->state->server = json_incref((json_t *)info);
}

static void settle_era(struct mcp_peer *peer, enum mcp_era era, const char *version)
{
	peer->state->era = era;
	mcp_version_copy(peer->state->version, version);
	peer->state->open = true;
	peer->known = era;
}

static enum mcp_heard session_discover(struct mcp_peer *peer, const struct mcp_probe *before,
				       const char *version, struct mcp_turn *turn)
{
	const struct mcp_frame frame = { .era = MCP_MODERN,
					 .version = version,
					 .elicits = peer->ask->spec->elicits };
	auto_json json_t *request =
		mcp_request(&frame, json_string(before->repeated ? "probe-2" : "probe-1"),
			    "server/discover", NULL);

	turn->request = request;
	turn->timeout_ms = limit_ms(peer, RYE_MCP_PROBE_MS);
	return session_turn(peer, turn);
}

static bool session_initialize(struct mcp_peer *peer, struct mcp_answer *ret)
{
	__attribute__((cleanup(mcp_message_done))) struct mcp_message got = { 0 };
	const struct mcp_frame frame = { .era = MCP_LEGACY };
	auto_json json_t *request =
		mcp_request(&frame, json_integer(++peer->state->last_id), "initialize",
			    json_pack("{s:s, s:{}, s:o}", "protocolVersion", MCP_LEGACY_VERSION,
				      "capabilities", "clientInfo", mcp_claim()));
	auto_json json_t *ready = mcp_notice("notifications/initialized", NULL);
	struct mcp_turn turn = { request, limit_ms(peer, INT64_MAX), &got, 0 };
	enum mcp_heard heard = session_turn(peer, &turn);
	const char *version = json_str(got.result, "protocolVersion");

	if (heard == MCP_HEARD_STATUS && (turn.status == 404 || turn.status == 405)) {
		mcp_session_fault(ret, MCP_FAULT_PROTOCOL,
				  "%s: Server offers only the withdrawn HTTP+SSE transport",
				  peer->ask->spec->id);
		return false;
	}
	if (heard != MCP_HEARD_ANSWER) {
		fault_heard(peer, heard, &turn, ret);
		return false;
	}
	if (mcp_offered(got.error)) {
		ret->upgraded = true;
		settle_era(peer, MCP_MODERN, mcp_offered(got.error));
		return true;
	}
	if (got.error) {
		mcp_version_copy(peer->state->version, MCP_LEGACY_VERSION);
		fault_rpc(peer, got.error, ret);
		return false;
	}
	if (mcp_version_era(version) != MCP_LEGACY) {
		mcp_session_fault(ret, MCP_FAULT_PROTOCOL, "%s: the server wants version %.40s",
				  peer->ask->spec->id, *version ? version : "(none)");
		return false;
	}
	settle_era(peer, MCP_LEGACY, version);
	learn_server(peer, json_object_get(got.result, "serverInfo"));
	peer->wire->tell(peer, ready);
	return true;
}

static bool session_renew(struct mcp_peer *peer, struct mcp_answer *ret)
{
	if (peer->wire->renew(peer, &peer->err))
		return true;
	fault_of(peer, MCP_HEARD_REFUSED, "", ret);
	return false;
}

static void fault_probe(const struct mcp_peer *peer, const struct mcp_probe *probe,
			struct mcp_answer *ret)
{
	if (probe->heard == MCP_HEARD_ANSWER && probe->error)
		fault_rpc(peer, probe->error, ret);
	else if (probe->heard == MCP_HEARD_ANSWER || probe->heard == MCP_HEARD_STATUS)
		fault_status(peer, probe->status, ret);
	else
		fault_of(peer, probe->heard, "server/discover", ret);
}

/* The probe, once more with what the server offers; true: ret holds no fault. */
static bool session_probe(struct mcp_peer *peer, struct mcp_answer *ret)
{
	struct mcp_probe probe = { .http = peer->wire->http };
	struct mcp_decision next = { .version = MCP_MODERN_VERSION };

	for (int i = 0; i < 2; i++) {
		__attribute__((cleanup(mcp_message_done))) struct mcp_message got = { 0 };
		struct mcp_turn turn = { .ret = &got };
		char version[MCP_VERSION_SIZE];

		mcp_version_copy(version, next.version);
		probe.heard = session_discover(peer, &probe, version, &turn);
		probe.result = got.result;
		probe.error = got.error;
		probe.status = turn.status;
		mcp_decide(&probe, &next);
		probe.repeated = true;
		if (next.step == MCP_STEP_FAIL && next.why)
			mcp_session_fault(ret, MCP_FAULT_PROTOCOL, "%s: %s", peer->ask->spec->id,
					  next.why);
		else if (next.step == MCP_STEP_FAIL)
			fault_probe(peer, &probe, ret);
		if (next.step == MCP_STEP_MODERN)
			settle_era(peer, MCP_MODERN, next.version);
		if (next.step != MCP_STEP_AGAIN)
			break;
	}
	if (next.step == MCP_STEP_INITIALIZE_NEW && !session_renew(peer, ret))
		return false;
	if (next.step == MCP_STEP_INITIALIZE || next.step == MCP_STEP_INITIALIZE_NEW)
		return session_initialize(peer, ret);
	return next.step == MCP_STEP_MODERN;
}

static bool session_open(struct mcp_peer *peer, struct mcp_answer *ret)
{
	if (peer->state->open)
		return true;
	switch (peer->known) {
	case MCP_MODERN:
		settle_era(peer, MCP_MODERN, MCP_MODERN_VERSION);
		return true;
	case MCP_LEGACY:
		return session_initialize(peer, ret);
	default:
		return session_probe(peer, ret);
	}
}

/* ---- tools/call ---- */

/* What a server that asks is told: that there is no person to ask. */
static json_t *decline_all(const json_t *requests)
{
	json_t *answers = json_object(), *object = (json_t *)requests, *value;
	const char *key;

	json_object_foreach(object, key, value)
		json_object_set_new(answers, key, json_pack("{s:s}", "action", "cancel"));
	return answers;
}

/* How often the server wants more before it answers, and what it was given. */
struct session_rounds {
	int n;
	bool declined, mirrored;
	json_t *state, *answers; /* for the next request; owned; or NULL */
};

/* Are these all questions that a person may be asked, and may the caller ask? */
static bool may_return(const struct mcp_peer *peer, const json_t *requests)
{
	json_t *object = (json_t *)requests, *value;
	const char *key;

	if (!peer->ask->spec->elicits || !json_object_size(requests))
		return false;
	json_object_foreach(object, key, value) {
		const char *mode = json_str(json_object_get(value, "params"), "mode");

		if (strcmp(json_str(value, "method"), "elicitation/create") != 0 ||
		    (*mode && strcmp(mode, "form") != 0))
			return false;
	}
	return true;
}

/* True: once more with what is in rounds. */
static bool wants_round(const struct mcp_peer *peer, const json_t *result,
			struct session_rounds *rounds, struct mcp_answer *ret)
{
	const json_t *requests = json_object_get(result, "inputRequests");
	json_t *state = json_object_get(result, "requestState");
	const char *id = peer->ask->spec->id;

	json_decref(steal(&rounds->state));
	json_decref(steal(&rounds->answers));
	if (json_string_length(state) > RYE_MCP_STATE_MAX || ++rounds->n > RYE_MCP_ROUNDS) {
		mcp_session_fault(ret, MCP_FAULT_RESULT, "%s: the tool goes on without end", id);
		return false;
	}
	if (may_return(peer, requests)) {
		mcp_session_fault(ret, MCP_FAULT_ASKS,
				  "%s: the tool asks: give input_responses and request_state", id);
		ret->result = json_incref((json_t *)result);
		return false;
	}
	if (json_object_size(requests) ? rounds->declined : !json_is_string(state)) {
		mcp_session_fault(
			ret, MCP_FAULT_INPUT, "%s: the tool wants to ask: %.200s", id,
			json_str(json_object_iter_value(json_object_iter((json_t *)requests)),
				 "method"));
		return false;
	}
	rounds->state = json_incref(state);
	if (json_object_size(requests)) {
		rounds->declined = true;
		rounds->answers = decline_all(requests);
	}
	return true;
}

static json_t *call_params(const struct mcp_peer *peer, const struct session_rounds *rounds)
{
	json_t *params =
		json_pack("{s:s, s:O}", "name", peer->ask->tool, "arguments", peer->ask->arguments);

	if (rounds->answers)
		json_object_set(params, "inputResponses", rounds->answers);
	if (rounds->state)
		json_object_set(params, "requestState", rounds->state);
	return params;
}

/* Checks the shape of a result and takes it; true: the server wants another round. */
static bool take_result(struct mcp_peer *peer, const json_t *result, struct session_rounds *rounds,
			struct mcp_answer *ret)
{
	const json_t *type = json_object_get(result, "resultType");
	const json_t *content = json_object_get(result, "content");
	const char *name = json_is_string(type) ? json_string_value(type) : "complete";

	if (peer->state->era == MCP_MODERN && !strcmp(name, "input_required"))
		return wants_round(peer, result, rounds, ret);
	if (!json_is_object(result) || (content && !json_is_array(content)) ||
	    (peer->state->era == MCP_MODERN && strcmp(name, "complete"))) {
		mcp_session_fault(ret, MCP_FAULT_RESULT,
				  "%s: the answer is no result of a tool (%.40s)",
				  peer->ask->spec->id, name);
		return false;
	}
	learn_server(peer,
		     json_object_get(json_object_get(result, "_meta"), MCP_META "serverInfo"));
	ret->result = json_incref((json_t *)result);
	return false;
}

bool mcp_session_ask(struct mcp_peer *peer, json_t *request, struct mcp_message *got,
		     struct mcp_answer *ret)
{
	struct mcp_turn turn = { request, limit_ms(peer, INT64_MAX), got, 0 };
	enum mcp_heard heard = session_turn(peer, &turn);

	/* A session that ended did nothing with the request: once more, in a new one. */
	if (peer->wire->expired && peer->wire->expired(peer, &turn, heard)) {
		mcp_message_done(got);
		if (!session_initialize(peer, ret))
			return false;
		turn.timeout_ms = limit_ms(peer, INT64_MAX);
		heard = session_turn(peer, &turn);
	}
	if (heard != MCP_HEARD_ANSWER)
		fault_heard(peer, heard, &turn, ret);
	else if (got->error)
		fault_rpc(peer, got->error, ret);
	ret->status = heard == MCP_HEARD_ANSWER ? 0 : turn.status;
	return ret->fault == MCP_FINE;
}

static bool session_round(struct mcp_peer *peer, struct session_rounds *rounds,
			  struct mcp_answer *ret)
{
	__attribute__((cleanup(mcp_message_done))) struct mcp_message got = { 0 };
	const struct mcp_frame frame = mcp_session_frame(peer, true);
	auto_json json_t *request = mcp_request(&frame, json_integer(++peer->state->last_id),
						"tools/call", call_params(peer, rounds));

	if (mcp_session_ask(peer, request, &got, ret))
		return take_result(peer, got.result, rounds, ret);
	/* Headers that are not what the server wants now: nothing was called. */
	if (!rounds->mirrored && json_int(got.error, "code", 0) == MCP_HEADER_MISMATCH &&
	    peer->wire->http) {
		rounds->mirrored = true;
		return mcp_list_mirror(peer, ret);
	}
	return false;
}

static void session_rounds(struct mcp_peer *peer, struct mcp_answer *ret)
{
	struct session_rounds rounds = { .state = json_incref(peer->ask->state),
					 .answers = json_incref(peer->ask->responses) };

	peer->mirror = peer->ask->schema;
	while (session_round(peer, &rounds, ret))
		;
	json_decref(rounds.state);
	json_decref(rounds.answers);
}

void mcp_session_call(struct mcp_peer *peer, struct mcp_answer *ret)
{
	if (session_open(peer, ret)) {
		if (!peer->ask->tool)
			mcp_list_all(peer, ret);
		else if (mcp_list_check(peer, ret))
			session_rounds(peer, ret);
	}
	ret->era = peer->state->era;
	mcp_version_copy(ret->version, peer->state->version);
	ret->server = json_incref(peer->state->server);
}
