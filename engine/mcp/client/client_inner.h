/* SPDX-License-Identifier: MIT */
/*
 * client_inner.h: what the files of mcp/client/ share.
 */
#ifndef RYE_MCP_CLIENT_CLIENT_INNER_H
#define RYE_MCP_CLIENT_CLIENT_INNER_H

#include "mcp/client/client.h"

/*
 * mcp_session.c: the sequence of requests that makes one call, over either transport. What it finds
 * out of the server stays with the connection.
 */

struct mcp_state {
	enum mcp_era era; /* MCP_AUTO: not asked yet */
	char version[MCP_VERSION_SIZE];
	json_t *server; /* serverInfo; owned; or NULL */
	bool open; /* `initialize` is done, or is not wanted */
	json_int_t last_id;
	json_t *tools; /* name → definition, as the server listed them; owned; or NULL */
	int64_t tools_until_ms; /* clock_ms(): it need not be asked again before */
};

void mcp_state_done(struct mcp_state *state);

struct mcp_peer;
struct mcp_wire;

/*
 * A server that was asked, and may wait for the next call: a process, or what one at an address has told of
 * itself. The first member of both sorts. While a call has it, it belongs to that call's worker;
 * while it is idle, to the list of client.c that it is in.
 */
struct mcp_kept {
	const struct mcp_wire *wire;
	char key[SHA_HEX];
	struct mcp_state state;
	bool broken; /* of no use for another call */
	int64_t used_ms; /* when its last call was over */
	struct mcp_kept *next;
};

/* One request: the response with this id goes to ret, which the caller empties. */
struct mcp_turn {
	const json_t *request;
	int64_t timeout_ms; /* until the answer, and from each sign of progress on */
	struct mcp_message *ret;
	long status; /* HTTP: of an answer or MCP_HEARD_STATUS */
};

struct mcp_wire {
	bool http;
	/* What is not there yet; 0, or a code and *err. */
	int (*start)(struct mcp *mcp, const struct mcp_spec *spec, struct mcp_kept **ret,
		     struct rye_err *err);
	enum mcp_heard (*ask)(struct mcp_peer *peer, struct mcp_turn *turn);
	void (*tell)(struct mcp_peer *peer, const json_t *notice);
	/* A new process, with a state of its own. False: *err says why there is none. */
	bool (*renew)(struct mcp_peer *peer, struct rye_err *err);
	/* HTTP: the answer says that there is no such session (any more): it is forgotten. */
	bool (*expired)(struct mcp_peer *peer, const struct mcp_turn *turn, enum mcp_heard heard);
	/* stdio: hears what the server has said since the last answer. */
	void (*catch_up)(struct mcp_peer *peer);
};

struct mcp_peer {
	const struct mcp_wire *wire;
	struct mcp *mcp;
	struct mcp_kept *kept;
	const struct mcp_ask *ask;
	struct mcp_state *state; /* of what is kept */
	enum mcp_era known; /* of this server; MCP_AUTO: nothing is */
	struct rye_err err; /* why it could not be asked */
	/* HTTP: of the last answer that was no message; owned. */
	char *body;
	json_t *challenge;
	const json_t *mirror; /* the schema that decides which arguments are told in headers */
};

/*
 * mcp_hear.c: messages that come while one request is open, over either transport.
 */

struct mcp_hearing {
	struct mcp_peer *peer;
	struct mcp_turn *turn;
	const json_t *id;
	int64_t until_ms, told_ms; /* the answer is late then; progress was told last */
	unsigned junk;
	char noise[128]; /* the last text that was no message */
	bool over;
	enum mcp_heard heard; /* once it is over */
	/* Sends the answer to a request of the server. */
	void (*send)(struct mcp_hearing *hearing, const json_t *doc);
};

void mcp_hearing_begin(struct mcp_hearing *hearing, struct mcp_peer *peer, struct mcp_turn *turn);
void mcp_hearing_end(struct mcp_hearing *hearing, enum mcp_heard heard);
void mcp_hear(struct mcp_hearing *hearing, struct rye_span text);
/* More than a message may have; it is over. */
void mcp_hear_flood(struct mcp_hearing *hearing);
/* To a server that is at work for a request which is not wanted any more; NULL: it is not told. */
json_t *mcp_cancel_notice(const struct mcp_hearing *hearing, enum mcp_heard why);

/* mcp_session.c, for mcp_list.c: one request; false: ret has the fault. */
bool mcp_session_ask(struct mcp_peer *peer, json_t *request, struct mcp_message *got,
		     struct mcp_answer *ret);
struct mcp_frame mcp_session_frame(const struct mcp_peer *peer, bool progress);
void mcp_session_fault(struct mcp_answer *ret, enum mcp_fault fault, const char *format, ...)
	RYE_PRINTF(3, 4);

/*
 * mcp_list.c: the tools of a server, all pages; and whether one is still what was signed.
 */

/* All of them as they came, in ret->result; false: ret has the fault. */
bool mcp_list_all(struct mcp_peer *peer, struct mcp_answer *ret);
/* The ask's tool against its pin; false: ret has the fault, nothing may be called. */
bool mcp_list_check(struct mcp_peer *peer, struct mcp_answer *ret);
/* After -32020: may the call be made once more, with headers by what the server lists now? */
bool mcp_list_mirror(struct mcp_peer *peer, struct mcp_answer *ret);

/* ret->fault and what belongs to it; .kept and .pid are the transport's. */
void mcp_session_call(struct mcp_peer *peer, struct mcp_answer *ret);

/*
 * mcp_process.c: a server that is a process.
 */

struct mcp_process {
	struct mcp_kept kept; /* first */
	char *id; /* of the server's item */
	uint64_t mark; /* what it has started bears it, too */
	struct child child;
	struct box *box;
	int in, out, err; /* our ends of its pipes; non-blocking */
	struct mcp_lines lines;
	struct rye_buf log; /* the end of its standard error */
};

static inline struct mcp_process *mcp_process_of(struct mcp_kept *kept)
{
	return (struct mcp_process *)kept;
}

/* What processes of servers are made in, and known by; and connections. Frozen but for its count. */
struct mcp_ground {
	struct http *http;
	struct boxes *boxes;
	struct strays *strays;
	_Atomic uint64_t started; /* how many; each bears the mark of a run that is none */
};

int mcp_process_start(struct mcp *mcp, const struct mcp_spec *spec, struct mcp_kept **ret,
		      struct rye_err *err);
bool mcp_process_alive(const struct mcp_process *process);
/* Of its standard error, what is there; kept to its last RYE_MCP_LOG bytes. */
void mcp_process_log(struct mcp_process *process);
/* The last line of it that says something, else the noise. Free it. */
char *mcp_process_last_words(const struct mcp_process *process, const char *noise);
/* Does what it has said look as if the sandbox had refused it something? */
bool mcp_process_barred(const struct mcp_process *process);
/* Ends all of the list, which are processes, side by side: end of input, SIGTERM, SIGKILL; frees
 * them. Takes 5 s at most. */
void mcp_processes_end(struct mcp_ground *ground, struct mcp_kept *list);

extern const struct mcp_wire mcp_wire_stdio; /* mcp_stdio.c */
extern const struct mcp_wire mcp_wire_http; /* mcp_remote.c */

/* Without waiting: its end is the keeper's work. NULL is fine. (client.c) */
void mcp_drop(struct mcp *mcp, struct mcp_kept *kept);
struct mcp_ground *mcp_ground(struct mcp *mcp);

/*
 * mcp_remote.c: a server at an address. mcp_headers.c: what its requests carry.
 */

/* A session's id that is longer is none. */
#define MCP_SESSION_SIZE 1025

struct mcp_remote {
	struct mcp_kept kept; /* first */
	char session[MCP_SESSION_SIZE]; /* of a legacy server; "" none */
	bool worked; /* in this session a request was answered */
	char *url; /* to end the session with */
	char **headers;
};

static inline struct mcp_remote *mcp_remote_of(struct mcp_kept *kept)
{
	return (struct mcp_remote *)kept;
}

/* Ends its session, if it has one and there is time, and frees it. */
void mcp_remote_end(struct http *http, struct mcp_remote *remote, int64_t until_ms);

struct mcp_header_ask {
	char *const *own; /* of the server's item */
	const json_t *message; /* NULL: it is not a POST */
	const char *version; /* of a legacy server that has agreed on one; or "" */
	const char *session; /* or "" */
	const char *last_event; /* of a stream that goes on; or NULL */
	const json_t *mirror;
};

/* "Name: value", NULL at the end; NULL: no memory, or a value that no header can have. */
char **mcp_headers_make(const struct mcp_header_ask *ask);
void mcp_headers_free(char **headers);

#endif
