/* SPDX-License-Identifier: MIT */
/*
 * server.h: `ryefs mcp`: a workspace as a server of the Model Context Protocol. Both eras of the
 * protocol are answered on one endpoint, each message by what it says of itself; what is promised
 * are the calls of rye.h, no more.
 */
#ifndef RYE_MCP_SERVER_SERVER_H
#define RYE_MCP_SERVER_SERVER_H

#include <rye/rye.h>

struct serve_options {
	bool read_only; /* items are found and read, nothing else */
	bool allow_sign; /* a client may have items signed */
	bool aliases; /* rye_load and rye_search are listed, too */
	bool no_prompts, no_resources;
	void (*warn)(void *arg, const char *line); /* for the person; any thread; or NULL */
	void *arg;
};

/*
 * Both serve to the end of input or SIGINT, SIGTERM, SIGHUP, which have to be blocked before the
 * engine is opened, and take the engine over: it is closed when they return.
 */

/* On standard input and output. */
int serve_stdio(struct rye *rye, const struct serve_options *opt, struct rye_err *err);

struct serve_address {
	int port; /* 0: any that is free */
	const char *socket; /* a path: a Unix socket there instead, without a token; NULL */
	const char *token; /* the file that keeps it; "none": there is none; NULL: a new one */
	/* Told once, when it can be connected to; token: the file, or NULL. */
	void (*ready)(void *arg, const char *url, const char *token);
	void *arg;
};

/* HTTP on this machine's own addresses, or on a Unix socket. */
int serve_http(struct rye *rye, const struct serve_options *opt, const struct serve_address *at,
	       struct rye_err *err);

#endif
