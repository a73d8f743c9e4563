/* SPDX-License-Identifier: MIT */
/*
 * mcp.h: the Model Context Protocol, as its two sides need it (mcp/client, mcp/server): JSON-RPC
 * messages, lines of them, the two eras, what is signed of a tool, and what headers say.
 */
#ifndef RYE_MCP_MCP_H
#define RYE_MCP_MCP_H

#include "base/json.h"
#include "base/sha.h"

#include <stdio.h>

/* Servers of up to 2025-11-25 are opened with `initialize`; later ones get a claim in each request. */
enum mcp_era { MCP_AUTO, MCP_MODERN, MCP_LEGACY };

/* The version that we speak best of each. */
#define MCP_MODERN_VERSION "2026-07-28"
#define MCP_LEGACY_VERSION "2025-11-25"
/* A version is a date. */
#define MCP_VERSION_SIZE 16
static inline void mcp_version_copy(char ret[MCP_VERSION_SIZE], const char *version)
{
	snprintf(ret, MCP_VERSION_SIZE, "%s", version);
}
/* The beginning of the protocol's own names in _meta and among extensions. */
#define MCP_META "io.modelcontextprotocol/"

/* Codes of JSON-RPC errors that mean something to us, on either side. */
enum mcp_code {
	MCP_BAD_JSON = -32700,
	MCP_NO_REQUEST = -32600,
	MCP_NO_METHOD = -32601,
	MCP_BAD_PARAMS = -32602,
	MCP_INTERNAL = -32603,
	MCP_HEADER_MISMATCH = -32020,
	MCP_NEEDS_CAPABILITY = -32021,
	MCP_BAD_VERSION = -32022,
};

/*
 * mcp_frame.c, mcp_message.c: JSON-RPC messages. Outside bytes: fuzzed.
 */

/* How a request is framed: a modern one carries version, client and what the client can do. */
struct mcp_frame {
	enum mcp_era era;
	const char *version; /* of a modern frame */
	bool elicits; /* a question to a person can be handed on */
	bool progress; /* the server may tell how far it is, by the request's id */
};

/* New references; id and params (an object, or NULL) are taken over. */
json_t *mcp_request(const struct mcp_frame *frame, json_t *id, const char *method, json_t *params);
json_t *mcp_notice(const char *method, json_t *params);
/* {name, version} of this client, and of this server. */
json_t *mcp_claim(void);
/* Answers; result and data (or NULL) are taken over. id NULL: it is not known. */
json_t *mcp_response(const json_t *id, json_t *result);
json_t *mcp_error(const json_t *id, enum mcp_code code, const char *text, json_t *data);
/* The answer to a request of a legacy server: `ping`, or that there is no such method. */
json_t *mcp_refusal(const json_t *id, const char *method);
/* The member of params that names what a request is about, which headers repeat; "": none. */
const char *mcp_subject(const char *method);

enum mcp_kind {
	MCP_JUNK, /* no message: a line of a log, a broken one */
	MCP_RESPONSE,
	MCP_NOTICE,
	MCP_REQUEST,
};

struct mcp_message {
	enum mcp_kind kind;
	bool is_json; /* of junk: JSON, but no message */
	json_t *doc; /* NULL: junk; owned. What follows lies in it */
	const json_t *id; /* NULL: none */
	const char *method; /* of a notice or a request */
	const json_t *params, *result, *error; /* NULL: none */
};

enum mcp_kind mcp_read(struct rye_span text, struct mcp_message *ret);
void mcp_message_done(struct mcp_message *message);
/* Is this the response to that id? */
bool mcp_answers(const struct mcp_message *message, const json_t *id);

/* Bytes as they come → lines; CR LF and LF end one. (mcp_lines.c) */
struct mcp_lines {
	struct rye_buf text;
	size_t begin, looked; /* of the next line; up to where there is no line end */
	bool too_big; /* a line over RYE_MCP_MESSAGE_MAX: nothing more is told */
};

void mcp_lines_add(struct mcp_lines *lines, struct rye_span bytes);
/* The next whole line, valid until the next call; false: more has to come. */
bool mcp_lines_next(struct mcp_lines *lines, struct rye_span *ret);
void mcp_lines_done(struct mcp_lines *lines);

/*
 * mcp_era.c: which era a server speaks, by what it answers to `server/discover`. Pure.
 */

enum mcp_heard {
	MCP_HEARD_ANSWER, /* a response */
	MCP_HEARD_SILENCE, /* until the time was over */
	MCP_HEARD_END, /* the process ended, or closed its output; the connection broke */
	MCP_HEARD_STATUS, /* HTTP: no response, only a status of 400 and more */
	MCP_HEARD_NOISE, /* more junk, or a longer line, than is read */
	MCP_HEARD_CANCEL, /* the caller has given up */
	MCP_HEARD_REFUSED, /* it could not be asked: the error says why */
};

struct mcp_probe {
	bool http;
	bool repeated; /* asked again with a version that the server named */
	/* What came of it. */
	enum mcp_heard heard;
	const json_t *result, *error; /* of an answer */
	long status; /* HTTP */
};

enum mcp_step {
	MCP_STEP_MODERN, /* it is known: go on with requests */
	MCP_STEP_AGAIN, /* discover once more, with .version */
	MCP_STEP_INITIALIZE,
	MCP_STEP_INITIALIZE_NEW, /* in a new process: this one is silent or gone */
	MCP_STEP_FAIL,
};

struct mcp_decision {
	enum mcp_step step;
	char version[MCP_VERSION_SIZE]; /* of a modern server */
	const char *why; /* of a failure that is not the transport's own; NULL: it is */
};

void mcp_decide(const struct mcp_probe *probe, struct mcp_decision *ret);
/* "modern", "legacy" */
const char *mcp_era_name(enum mcp_era era);
/* A version of `initialize` that we speak, or of modern requests. */
enum mcp_era mcp_version_era(const char *version);
/* The modern version that an error -32022 offers; NULL: none, or another error. Borrowed. */
const char *mcp_offered(const json_t *error);

/*
 * mcp_pin.c: what of a tool's definition is signed for. Pure.
 */

#define MCP_PIN_SIZE (sizeof("sha256:") + SHA_HEX)

/* The members of a listed tool that count; a new object. */
json_t *mcp_definition(const json_t *tool);
void mcp_pin(const json_t *definition, char ret[MCP_PIN_SIZE]);
/* Each member's own digest, which tells later what has changed; a new object. */
json_t *mcp_members(const json_t *definition);
/* Names of members that differ, of two results of that; a new array. */
json_t *mcp_changes(const json_t *before, const json_t *after);

/*
 * mcp_mirror.c: arguments that are told in headers of HTTP, by `x-mcp-header` of a tool's schema.
 * Pure; outside bytes: fuzzed.
 */

/* Is each such annotation one that may be there? False: *ret_why says why not. */
bool mcp_mirror_check(const json_t *schema, const char **ret_why);
typedef void (*mcp_mirror_fn)(void *arg, const char *name, const json_t *value);
/* fn is told each header's name, without "Mcp-Param-", and the argument. */
void mcp_mirror(const json_t *schema, const json_t *arguments, mcp_mirror_fn fn, void *arg);
/* A value as a header has it: text that it cannot hold as it is goes encoded. */
void mcp_header_value(struct rye_buf *out, struct rye_span text);

/* mcp_challenge.c: WWW-Authenticate → {error, scope, resource_metadata}, or NULL. Pure; fuzzed. */
json_t *mcp_challenge(const char *header);

#endif
