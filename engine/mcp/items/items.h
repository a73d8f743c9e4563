/* SPDX-License-Identifier: MIT */
/*
 * items.h: servers of the Model Context Protocol as items: asked for their tools, shown, signed
 * with the person's key, compared with what they say later, removed.
 */
#ifndef RYE_MCP_ITEMS_ITEMS_H
#define RYE_MCP_ITEMS_ITEMS_H

#include "plan/plan.h"

struct server_act;

/* What is to be done; frozen once it is planned. */
struct server_ask {
	const struct server_act *act;
	json_t *params; /* owned, as what follows */
	char *id; /* "mcp/servers/NAME"; "" for none */
	const struct space *space; /* where its items are, or are to be; NULL: any */
	json_t *config; /* of its item, made or there */
	json_t *found; /* its item's identity, when there is one; or NULL */
	bool asked; /* the server is asked: .spec is made */
	struct mcp_spec spec;
};

/* server_ask.c: from parameters, or the tool's own config.action, to that. */
int server_ask_make(struct planner *planner, struct server_ask *ret, struct rye_err *err);
void server_ask_done(struct server_ask *ask);

/* What carrying it out needs. */
struct server_run {
	const struct server_ask *ask;
	const struct item_env *items;
	struct mcp *mcp;
	struct events *events; /* or NULL */
	int cancel;
	int64_t until_ms;
	bool no_sign; /* nothing is signed or removed */
	bool child; /* a child of a run asks, or a thread's runner: no person is there to say yes */
	/* Told of each file that was written or removed: its path below .ai. */
	void (*touched)(void *arg, const struct space *space, const char *path);
	void *arg;
};

/* server_acts.c. On a worker; no lock. */
void server_act(const struct server_run *run, struct mcp_outcome *ret);

#endif
