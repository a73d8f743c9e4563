/* SPDX-License-Identifier: MIT */
/*
 * server_inner.h: what the files of mcp/server/ share.
 */
#ifndef RYE_MCP_SERVER_SERVER_INNER_H
#define RYE_MCP_SERVER_SERVER_INNER_H

#include "base/json.h"
#include "http/http.h"
#include "mcp/mcp.h"
#include "scope.h"
#include "mcp/server/server.h"

#include <signal.h>

/* ---- serve_era.c: which era a message is of, and whether it is well formed. Pure. ---- */

#define SERVE_TASKS MCP_META "tasks"

/* A JSON-RPC error, and the status of HTTP that goes with it. */
struct serve_fault {
	enum mcp_code code; /* 0: none */
	unsigned status;
	char text[300];
	json_t *data; /* owned, or NULL */
};

/* Fills it; status 200 and no data. NULL, which is false, too, for `return serve_fail(...)`. */
void *serve_fail(struct serve_fault *fault, enum mcp_code code, const char *format, ...)
	RYE_PRINTF(3, 4);

/* What came with a message. */
struct serve_heard {
	bool http;
	bool opened; /* stdio: `initialize` was heard */
	const char *version, *method, *name; /* of HTTP's headers; NULL: not there */
};

struct serve_frame {
	enum mcp_era era;
	bool http;
	bool tasks; /* the client takes a task for an answer */
};

/* The era of a message and, of a modern one, whether its keys and versions are as they must be. */
bool serve_era(const struct mcp_message *message, const struct serve_heard *heard,
	       struct serve_frame *ret, struct serve_fault *fault);
/* Do the headers of a modern request say what its body says? member: of params (mcp_subject). */
bool serve_headers_agree(const struct mcp_message *message, const struct serve_heard *heard,
			 const char *member, struct serve_fault *fault);

/* ---- serve.c: requests that are open, from being read to being answered ---- */

struct serve_request;
struct serve_reply;
struct serve_tool;

/* What a stream of changes tells: bits. */
enum serve_topic { SERVE_TOOLS = 1, SERVE_PROMPTS = 2, SERVE_RESOURCES = 4, SERVE_STREAM = 8 };

struct serve_request {
	_Atomic unsigned refs;
	struct serve *serve;
	struct serve_reply *reply;
	struct serve_frame frame;
	json_t *id; /* frozen, as all of these */
	json_t *token; /* of progress; NULL: it is not wanted */
	_Atomic bool over; /* answered, or not wanted any more: nothing is sent */
	const struct serve_tool *tool; /* that it calls */
	bool async; /* the call is to answer with a thread */
	bool plain; /* its result is what the reply says, without the envelope */
	unsigned topics; /* of a stream, 0: it is none; lock of serve */
	uint64_t told; /* progress; the call's teller thread */
	int64_t told_ms;
	struct rye_call *call; /* lock of serve */
	struct serve_request *next; /* lock of serve */
};

/*
 * Lock: `lock` guards the open requests and what changed. Messages are sent, and the engine is
 * called, without it.
 */
struct serve {
	struct rye *rye;
	struct serve_options opt; /* frozen */
	bool tasks; /* frozen: detached runs may be asked for by their ids */
	pthread_mutex_t lock;
	pthread_cond_t work; /* something changed, or the server ends */
	struct serve_request *open;
	size_t streams;
	struct serve_reply *legacy; /* stdio, behind `initialize`: told of changes, too; or NULL */
	unsigned changed; /* topics */
	bool stopping;
	pthread_t teller;
	bool telling;
};

/* Takes the engine over. NULL: no memory, and the engine is closed. */
struct serve *serve_new(struct rye *rye, const struct serve_options *opt, bool tasks);
/* Nothing new is taken, streams get their response, all else is cancelled. */
void serve_end(struct serve *serve);
/* After serve_end, when no thread is in serve_take any more; closes the engine. NULL is fine. */
void serve_free(struct serve *serve);
/* How many requests, streams aside, are not answered. */
size_t serve_open_count(struct serve *serve);

/*
 * What came: a line of standard input, a body of HTTP. 0: a request, whose answer comes by the reply.
 * Else HTTP's status, and *ret_error: what is answered, a new reference; NULL: nothing is.
 */
unsigned serve_hear(struct serve *serve, struct serve_reply *reply, struct rye_span text,
		    struct serve_heard *heard, json_t **ret_error);
/* The error as a message; a new reference. id: NULL when it is not known. Empties the fault. */
json_t *serve_error(const json_t *id, struct serve_fault *fault);
/* What could not be read as a message. */
void serve_junk(const struct mcp_message *message, struct serve_fault *fault);

struct serve_request *serve_request_ref(struct serve_request *request);
void serve_request_unref(struct serve_request *request);
/* The result is taken over. Once: what comes later is dropped. */
void serve_answer(struct serve_request *request, json_t *result);
/* What a client that is gone asked for there is not wanted any more; over HTTP, legacy requests go on. */
void serve_cancel_gone(struct serve *serve, const struct serve_reply *reply);

/* ---- serve_methods.c: the table of methods ---- */

enum serve_eras { SERVE_MODERN = 1, SERVE_LEGACY = 2, SERVE_BOTH = 3 };
/* What options may take away. */
enum serve_feature { SERVE_ALWAYS, SERVE_HAS_PROMPTS, SERVE_HAS_RESOURCES, SERVE_HAS_TASKS };

struct serve_method {
	const char *name;
	unsigned eras;
	enum serve_feature feature;
	/* A result, a new reference; NULL with fault: an error; NULL without: answered later. */
	json_t *(*fn)(struct serve_request *request, const json_t *params,
		      struct serve_fault *fault);
};

/* NULL: there is no such method in this era. */
const struct serve_method *serve_method_find(const struct serve *serve, const char *name,
					     enum mcp_era era);
bool serve_initialize_is(const struct mcp_message *message);

/* A text member without NUL; NULL: another, or none. */
const char *serve_text(const json_t *params, const char *key);
/* Adds what lists and readings of modern requests carry. */
json_t *serve_fresh(const struct serve_request *request, json_t *result);

/* ---- serve_tools.c, serve_call.c: the tools ---- */

struct serve_tool {
	const char *name;
	enum rye_verb verb;
	const char *title, *description;
	const char *schema; /* JSON; of a read-only server `narrow`, if there is one */
	const char *narrow;
	const char *hints;
	bool alias;
};

const struct serve_tool *serve_tool_find(const struct serve *serve, const char *name);
/* A member that the tool does not take; NULL: none. Borrowed. */
const char *serve_tool_stranger(const struct serve *serve, const struct serve_tool *tool,
				const json_t *arguments);
json_t *serve_tools_list(struct serve_request *request, const json_t *params,
			 struct serve_fault *fault);
json_t *serve_tools_call(struct serve_request *request, const json_t *params,
			 struct serve_fault *fault);
/* A reply as the result of a tool; the reply is taken over. */
json_t *serve_tool_result(json_t *reply);
/* The same of what ran: its text or its data alone. */
json_t *serve_tool_said(json_t *reply);

/* ---- serve_items.c: pages of verified items ---- */

struct serve_found {
	const struct rye_stat *st; /* of a verified item */
	const char *path; /* of the merged tree */
	const json_t *clashes; /* of the page */
};

struct serve_page {
	enum rye_kind kind;
	const char *name; /* of the result's member */
	const json_t *clashes; /* for the entries; or NULL */
	/* An item's entry; NULL: it is left out. */
	json_t *(*entry)(struct serve *serve, const struct serve_found *found);
	const struct serve_page *then; /* what the list goes on with, or NULL */
};

/* {name: [entry...], "nextCursor"?}, a new reference. */
json_t *serve_page(struct serve_request *request, const struct serve_page *page,
		   const json_t *params, struct serve_fault *fault);
/* A view as JSON, or NULL. */
json_t *serve_view_json(struct serve *serve, enum rye_kind kind, const char *id,
			enum rye_view view);
/* Each path of the kind's merged tree, sorted; nonzero stops and is returned. */
typedef int (*serve_path_fn)(void *arg, const char *path);
int serve_paths(struct serve *serve, enum rye_kind kind, serve_path_fn fn, void *arg);

json_t *serve_prompts_list(struct serve_request *request, const json_t *params,
			   struct serve_fault *fault);
json_t *serve_prompts_get(struct serve_request *request, const json_t *params,
			  struct serve_fault *fault);
json_t *serve_resources_list(struct serve_request *request, const json_t *params,
			     struct serve_fault *fault);
json_t *serve_templates_list(struct serve_request *request, const json_t *params,
			     struct serve_fault *fault);
json_t *serve_resources_read(struct serve_request *request, const json_t *params,
			     struct serve_fault *fault);
/* What buf_percent made, undone; false: not UTF-8, NUL, or a broken escape. Pure; outside bytes, fuzzed. */
bool serve_unpercent(const char *text, struct rye_buf *ret);

/* ---- serve_tasks.c: detached runs as tasks ---- */

/* What answers a call that became a thread; NULL: the reply names none. */
json_t *serve_task_begun(struct serve *serve, const json_t *reply);
json_t *serve_tasks_get(struct serve_request *request, const json_t *params,
			struct serve_fault *fault);
json_t *serve_tasks_update(struct serve_request *request, const json_t *params,
			   struct serve_fault *fault);
json_t *serve_tasks_cancel(struct serve_request *request, const json_t *params,
			   struct serve_fault *fault);

/* ---- serve_streams.c: what is told of changes ---- */

json_t *serve_listen(struct serve_request *request, const json_t *params,
		     struct serve_fault *fault);
bool serve_teller_start(struct serve *serve);
void serve_teller_stop(struct serve *serve);
/* At the server's end: each stream has its response. */
void serve_streams_end(struct serve *serve);

/* Those that end a server; they have to be blocked in every thread. (serve.c) */
void serve_signals(sigset_t *ret);

/* ---- serve_gate.c: which requests of HTTP are let in. Pure. ---- */

#define SERVE_TOKEN_BYTES 32
#define SERVE_TOKEN_SIZE 64

struct serve_gate {
	int port;
	char token[SERVE_TOKEN_SIZE]; /* "": none is wanted */
	bool socket; /* a Unix one: strangers are refused */
};

/* What a request says before its body; NULL: not there. Two of a header that is one: "". */
struct serve_head {
	const char *verb, *path;
	const char *host, *origin, *authorization, *type, *accept;
	const char *length, *encoding, *transfer, *expect;
	bool old; /* HTTP/1.0 */
	bool stranger; /* another user, or started by a run */
};

bool serve_host_ok(const struct serve_gate *gate, const char *host);
/* 0: it may come in; else the status, and *fault the error of it. */
unsigned serve_gate_check(const struct serve_gate *gate, const struct serve_head *head,
			  struct serve_fault *fault);
/* The same of what else is refused; returns the status. */
unsigned serve_gate_refuse(struct serve_fault *fault, unsigned status, const char *text);
#define SERVE_TOO_BIG "a message has at most 16 MiB" /* RYE_MCP_MESSAGE_MAX */
bool serve_takes_events(const char *accept);
/* Is a header the text, in its plain or its encoded form? */
bool serve_header_is(const char *header, struct rye_span text);

/* ---- serve_head.c: heads of HTTP, and lines of bodies. Pure; outside bytes, fuzzed. ---- */

/* What a head says that http_head_check has let pass: text, up to the CR LF of its last line, is cut into what they point to. */
void serve_head_read(char *text, struct serve_head *head, struct serve_heard *heard);

/* As http_line_check: of a line. */
typedef unsigned (*serve_line_fn)(struct rye_span text, size_t *ret, const char **why);
/* Of a chunk's length, which is told; too much is refused before its line has ended. */
unsigned serve_chunk_check(struct rye_span text, size_t *ret, const char **why);
/* ---- serve_token.c: the file that keeps the token, and the Unix socket ---- */

struct serve_token {
	char path[4096];
	char text[SERVE_TOKEN_SIZE];
	bool drop; /* the file goes with the server */
};

int serve_token_open(struct rye *rye, const struct serve_address *at, int port,
		     struct serve_token *ret, struct rye_err *err);
void serve_token_close(const struct serve_token *token);

/* The Unix socket that is listened on instead. */

struct serve_unix {
	const char *path; /* borrowed; NULL: it was never bound */
	dev_t dev; /* of the file that was made: another one there is not ours to take away */
	ino_t ino;
};

/* The socket, or a negative code. */
int serve_unix_open(struct rye *rye, const char *path, struct serve_unix *ret, struct rye_err *err);
void serve_unix_close(const struct serve_unix *made);

/* ---- serve_links.c: the connections there are ---- */

/* Each has a thread: streams, calls at once, and some that wait for their next request. */
#define SERVE_LINKS_MAX 256
/* Seconds in which a client has to take something of an answer. */
#define SERVE_READER_S 30

/* Connections of HTTP; lock: `lock`, the list. */
struct serve_links {
	pthread_mutex_t lock;
	struct serve_link *list; /* the newest first */
	size_t n; /* of them, and of those being closed */
	pthread_cond_t none; /* n is 0 */
};

struct serve_link {
	struct serve_link *next;
	struct serve_site *site; /* frozen, as the next */
	int fd;
	int64_t since_ms; /* it has had no whole request since */
	bool busy; /* a request of it is at work */
	bool shut;
	bool stranger; /* as in struct serve_head; frozen */
};

void serve_link_busy(struct serve_links *links, struct serve_link *link, bool busy);
/* Ends connections that have brought no whole request for too long. */
void serve_links_look(struct serve_links *links);
bool serve_links_full(struct serve_links *links);
/* Shuts all, and returns when their threads have closed them. */
void serve_links_end(struct serve_links *links);
bool serve_links_busy(struct serve_links *links);

/* ---- serve_reply.c: messages on their way to a client, until a thread has them that writes ---- */

struct serve_part {
	struct serve_part *next;
	char *text; /* JSON; owned */
	size_t len;
	bool last;
	int code; /* of the error that it is, or 0 */
};

enum serve_sort {
	SERVE_LINES, /* of all requests, a line for each message; it ends by serve_reply_end */
	SERVE_EVENTS, /* of one request of HTTP, which ends it */
	SERVE_ONE, /* the same; the client takes the answer alone */
};

/* Where the messages of a request go: a connection, or one answer of HTTP. */
struct serve_reply {
	_Atomic unsigned refs;
	enum serve_sort sort; /* frozen */
	int wake; /* an eventfd, written to when something came; frozen */
	pthread_mutex_t lock; /* everything below */
	struct serve_part *parts, **end;
	size_t bytes; /* of them */
	bool over; /* nothing more comes */
	bool broken; /* more than may wait: nothing more is given out */
	bool busy; /* a part is with the thread that writes */
};

enum serve_wait {
	SERVE_PART, /* *ret is the caller's */
	SERVE_OVER, /* nothing more comes */
	SERVE_GONE, /* the client has closed the connection, or too much waits */
	SERVE_TIME,
};

struct serve_reply *serve_reply_new(enum serve_sort sort); /* NULL: no memory, no descriptor */
struct serve_reply *serve_reply_ref(struct serve_reply *reply);
void serve_reply_unref(struct serve_reply *reply); /* NULL is fine */
/* message is borrowed; last: its request is over; NULL: without an answer. From any thread. */
void serve_reply_put(struct serve_reply *reply, const json_t *message, bool last);
void serve_reply_end(struct serve_reply *reply);
/* Nothing waits, and the last part that was given out is written. */
bool serve_reply_done(struct serve_reply *reply);
/* For at most that long (-1: until it comes) and as long as the socket (-1: none) lives. */
enum serve_wait serve_reply_wait(struct serve_reply *reply, int socket, int timeout_ms,
				 struct serve_part **ret);
void serve_part_free(struct serve_part *part); /* NULL is fine */

/* ---- serve_web.c: one exchange of HTTP ---- */

struct serve_site {
	struct serve *serve;
	struct serve_gate gate; /* frozen, but for the port: set before the first connection */
	struct serve_links links;
};

/* Those that wait there, each to a thread of its own (serve_links.c); false: none can be had now. */
bool serve_accept(struct serve_site *site, int listening);

/* The request that comes by a connection, and its answer; the caller closes. */
void serve_web_run(struct serve_site *site, struct serve_link *link);

#endif
