/* SPDX-License-Identifier: MIT */
/*
 * client.h: the client's side of the Model Context Protocol: one call of a server's tool, what its
 * result becomes, and servers, processes or addresses, whose connection stays for the next call.
 */
#ifndef RYE_MCP_CLIENT_CLIENT_H
#define RYE_MCP_CLIENT_CLIENT_H

#include "base/log.h"
#include "mcp/mcp.h"
#include "process/process.h"
#include "sandbox/sandbox.h"

/*
 * client.c: one call of one tool of a server.
 *
 * Lock: `lock` of struct mcp guards the idle processes, those to be ended and what is known of
 * servers; starting, speaking with and ending them happens without it.
 */

enum mcp_transport { MCP_STDIO, MCP_HTTP };

/* A server as its signed item describes it; frozen. */
struct mcp_spec {
	char *id; /* of the item */
	char key[SHA_HEX]; /* the same for the same item, program, environment and confinement */
	enum mcp_transport transport;
	enum mcp_era era; /* the item says so; MCP_AUTO: the server is asked */
	bool elicits; /* a question to a person is the result of a call */
	int64_t timeout_ms; /* for each answer, and from each sign of progress on */
	/* MCP_HTTP */
	char *url;
	char **headers; /* "Name: value", NULL at the end */
	/* MCP_STDIO */
	char *path; /* absolute */
	char **argv; /* NULL at the end */
	struct env env;
	char *cwd;
	char *home; /* a directory of its own where it may write; NULL: none */
	struct confine confine;
};

void mcp_spec_done(struct mcp_spec *spec);
/* As the words of `ryefs mcp` know it: the end of its id. */
const char *mcp_server_name(const struct mcp_spec *spec);

struct mcp_ask {
	const struct mcp_spec *spec;
	const char *tool; /* NULL: nothing is called; the result has the list of all `tools` */
	json_t *arguments; /* object, borrowed; so are those below, or NULL */
	const json_t *schema; /* of its arguments, as signed */
	const char *pin; /* NULL: the definition is not compared */
	const json_t *members; /* what the pin is of (mcp_members) */
	json_t *responses, *state; /* the answers to what an earlier result asked, and its state */
	int64_t until_ms; /* clock_ms(): for all of it */
	int cancel; /* readable once the caller has given up; -1: never */
	struct events *events; /* or NULL */
};

enum mcp_fault {
	MCP_FINE,
	MCP_FAULT_RPC, /* the server answered with an error: .error */
	MCP_FAULT_INPUT, /* it wants to ask a person, or a model */
	MCP_FAULT_ASKS, /* the same, and the caller may answer: .result */
	MCP_FAULT_CHANGED, /* the server defines the tool otherwise than was signed */
	MCP_FAULT_PROTOCOL, /* no version in common */
	MCP_FAULT_RESULT, /* a result that is none */
	MCP_FAULT_TIMEOUT,
	MCP_FAULT_CANCELLED,
	MCP_FAULT_SPAWN,
	MCP_FAULT_EXIT,
	MCP_FAULT_HTTP, /* .status, or 0: no answer of HTTP at all */
	MCP_FAULT_AUTH, /* 401, 403: .challenge */
};

struct mcp_answer {
	enum mcp_fault fault;
	json_t *result; /* of tools/call; owned */
	json_t *error; /* JSON-RPC's; owned */
	json_t *changed; /* names of the definition's members; owned */
	long status; /* of HTTP, of a fault */
	char *body; /* what came instead of a message, its beginning; owned; or NULL */
	json_t *challenge; /* what the server says of authorization; owned; or NULL */
	char *text; /* of a fault, for people; owned */
	enum mcp_era era; /* MCP_AUTO: it never came to that */
	char version[MCP_VERSION_SIZE];
	json_t *server; /* what it says of itself, for show only; owned; or NULL */
	bool upgraded; /* recorded as legacy, and is modern now */
	bool kept; /* by a process that was there */
	pid_t pid;
};

void mcp_answer_done(struct mcp_answer *answer);

struct mcp;
struct http;

/* NULL: no memory. What it is given has to live until mcp_close has returned. */
struct mcp *mcp_open(struct boxes *boxes, struct strays *strays, struct http *http);
void mcp_close(struct mcp *mcp); /* when no call is under way; ends all processes and sessions */
void mcp_call(struct mcp *mcp, const struct mcp_ask *ask, struct mcp_answer *ret);

/*
 * mcp_result.c: what the reply of a run holds of an answer. Pure.
 */

struct mcp_outcome {
	json_t *data; /* the caller's */
	char *error; /* the caller's; NULL: it is a success */
	enum rye_code code;
};
void mcp_outcome_of(const struct mcp_answer *answer, const char *tool, struct mcp_outcome *ret);

#endif
