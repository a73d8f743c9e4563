/* SPDX-License-Identifier: MIT */
/*
 * mcp_inner.h: what the files of mcp/ share.
 */
#ifndef RYE_MCP_MCP_INNER_H
#define RYE_MCP_MCP_INNER_H

#include "mcp/mcp.h"

#include <stdio.h>

static inline void mcp_version_copy(char ret[MCP_VERSION_SIZE], const char *version)
{
	snprintf(ret, MCP_VERSION_SIZE, "%s", version);
}

/* {name, version} of this client; a new reference. */
json_t *mcp_claim(void);

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
};

struct mcp_peer;

/* One request: the response with this id goes to ret, which the caller empties. */
struct mcp_turn {
	const json_t *request;
	int64_t timeout_ms; /* until the answer, and from each sign of progress on */
	struct mcp_message *ret;
	long status; /* HTTP: of an answer or MCP_HEARD_STATUS */
};

struct mcp_wire {
	bool http;
	enum mcp_heard (*ask)(struct mcp_peer *peer, struct mcp_turn *turn);
	void (*tell)(struct mcp_peer *peer, const json_t *notice);
	/* A new process, with a state of its own. False: *err says why there is none. */
	bool (*renew)(struct mcp_peer *peer, struct rye_err *err);
};

struct mcp_peer {
	const struct mcp_wire *wire;
	const struct mcp_ask *ask;
	struct mcp_state *state; /* of the process, or of the connection */
	enum mcp_era known; /* of this server; MCP_AUTO: nothing is */
	struct rye_err err; /* why it could not be asked */
};

/* ret->fault and what belongs to it; .kept and .pid are the transport's. */
void mcp_session_call(struct mcp_peer *peer, struct mcp_answer *ret);

/*
 * mcp_process.c: a server that is a process. While a call has it, it belongs to that call's worker;
 * while it is idle, to the list it is in.
 */

struct mcp_process {
	char key[SHA_HEX];
	char *id; /* of the server's item */
	struct child child;
	struct box *box;
	int in, out, err; /* our ends of its pipes; non-blocking */
	struct mcp_lines lines;
	struct rye_buf log; /* the end of its standard error */
	char noise[128]; /* the last line that was no message */
	struct mcp_state state;
	bool broken; /* of no use for another call */
	int64_t used_ms; /* when its last call was over */
	struct mcp_process *next;
};

int mcp_process_start(struct boxes *boxes, const struct mcp_spec *spec, struct mcp_process **ret,
		      struct rye_err *err);
bool mcp_process_alive(const struct mcp_process *process);
/* Of its standard error, what is there; kept to its last RYE_MCP_LOG bytes. */
void mcp_process_log(struct mcp_process *process);
/* Its last line that says something; "" none. Free it. */
char *mcp_process_last_words(const struct mcp_process *process);
/* Ends all of the list side by side: end of input, SIGTERM, SIGKILL; frees them. Takes 5 s at most. */
void mcp_processes_end(struct boxes *boxes, struct mcp_process *list);

/*
 * mcp_stdio.c: speaking with a process. The peer is first in it.
 */

struct mcp_stdio {
	struct mcp_peer peer;
	struct mcp *mcp;
	struct mcp_process *process; /* NULL: none could be started */
};

extern const struct mcp_wire mcp_wire_stdio;

/* Without waiting: its end is the keeper's work. NULL is fine. (mcp.c) */
void mcp_drop(struct mcp *mcp, struct mcp_process *process);
struct boxes *mcp_boxes(struct mcp *mcp);

#endif
