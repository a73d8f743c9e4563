/* SPDX-License-Identifier: MIT */
/*
 * agent_inner.h: what the files of agent/ share. All of it belongs to the one thread of a runner
 * that carries out agent_run; what other threads do (a tool's answer, a signal) reaches it through
 * eventfds. No lock.
 */
#ifndef RYE_AGENT_AGENT_INNER_H
#define RYE_AGENT_AGENT_INNER_H

#include "agent/agent.h"
#include "base/log.h"
#include "expr/expr.h"
#include "fork/fork.h"
#include "policy/policy.h"
#include "item/item.h"
#include "process/process.h"
#include "provider/provider.h"
#include "record/record.h"

struct agent;

/*
 * brief.c: what the directive asks for: its inputs, its prompt, what is put around it.
 */

#define BRIEF_CHAIN_MAX 32 /* directives that extend each other */

struct brief {
	struct rye_item *chain[BRIEF_CHAIN_MAX]; /* the directive itself first */
	size_t n;
	json_t *inputs; /* with defaults */
	json_t *declared; /* its capabilities, or those of the nearest that it extends */
	json_t *lists; /* {system, before, after, suppress}: ids of knowledge, of all of the chain */
	char *system; /* system text; "" none */
	char *first; /* the first message */
	json_t *injected; /* [{position, blocks}] for the transcript */
	json_t *layers; /* ids of hooks in the system text */
};

static inline const json_t *brief_meta(const struct brief *brief, const char *key)
{
	return json_object_get(brief->chain[0]->meta, key);
}

int brief_read(struct agent *agent, struct rye_err *err);
/* A model writes the launcher's own parameters among the inputs, too: out of these. */
void brief_take(const struct rye_item *directive, json_t *request);

struct brief_limits_ask {
	const struct item_env *items;
	const struct rye_item *directive;
	const json_t *request;
	const struct limits *parent; /* NULL: none */
	json_t *warnings; /* or NULL */
};
/* What a directive's thread may use; asked by its launcher, too. */
int brief_limits(const struct brief_limits_ask *ask, struct limits *ret, struct rye_err *err);
void brief_done(struct brief *brief);
/* Names of outputs that a result has to have; a new array. */
json_t *brief_required(const struct brief *brief);

/* Appends the texts of these entries with an empty line between; blocks: [{id, content, role}]. */
int context_put(struct agent *agent, const json_t *ids, json_t *blocks, struct rye_buf *out,
		struct rye_err *err);

/*
 * hooks.c: which hooks there are; hook_run.c: what they do.
 */

int hooks_load(struct agent *agent, struct rye_err *err); /* of config */
void hooks_add(struct agent *agent, const json_t *own); /* the directive's own */
bool hook_is_own(const json_t *hook);
bool hook_applies(const json_t *hook, enum expr_event event, const json_t *doc);
/* What a hook says the directive extends; "": none does. Borrowed. */
const char *hooks_extends(struct agent *agent, const json_t *doc);

struct hook_verdict {
	enum expr_steer steer; /* of the first hook that says something */
	char why[512]; /* "" */
};
/* Those of an event, in order; takes doc. verdict NULL: nothing steers there. */
void hooks_run(struct agent *agent, enum expr_event event, json_t *doc,
	       struct hook_verdict *verdict);

struct hook_text {
	struct rye_buf before, after;
	json_t *before_blocks, *after_blocks; /* for the transcript */
	json_t *layers; /* ids of the hooks */
};
void hook_text_init(struct hook_text *text);
void hook_text_done(struct hook_text *text);
#define auto_hook_text __attribute__((cleanup(hook_text_done)))
/* Text that hooks of an event put around the prompt; takes doc. */
int hooks_text(struct agent *agent, enum expr_event event, json_t *doc, struct hook_text *ret,
	       struct rye_err *err);

/*
 * inbox.c: what is said to the thread while it runs.
 */
struct inbox;
/* parent: NULL, or what its limits may not exceed; lives as long. */
int inbox_open(struct agent *agent, const struct limits *parent, struct rye_err *err);
void inbox_close(struct inbox *inbox); /* NULL is fine */
/* What has come: limits are replaced, *ret_says is a new array or NULL; true: it is to hand over. */
bool inbox_take(struct inbox *inbox, struct limits *limits, json_t **ret_says);
/* The last time: from now on nothing can be said to it. */
void inbox_shut(struct inbox *inbox, json_t **ret_says);

/*
 * palette.c: the tools that are offered to the model, frozen before its first answer.
 */

struct palette {
	json_t *tools; /* [{name, description, schema}] as providers take them */
	json_t *items; /* {name: {item_id, primary, reads?}} */
	bool whole; /* everything that is allowed fits: no need for rye_execute */
};

#define RETURN_ID "rye/agent/threads/directive_return"
#define RETURN_NAME "directive_return"

int palette_fill(struct agent *agent, struct rye_err *err);
void palette_done(struct palette *palette);
/* The name under which an item is offered: at most 64 of [A-Za-z0-9_-]. Pure. */
void palette_name(const char *id, const json_t *taken, char ret[65]);

/*
 * agent_state.c: where a thread's records go, and how its end is noted.
 */

enum agent_state { AGENT_RUNNING, AGENT_ENDED };

struct agent {
	const struct agent_ask *ask;
	const char *thread_id;
	const char *directive; /* its id, without "directive:" */
	const json_t *request, *authority;
	struct rye_options opt; /* borrows the orders' texts */
	struct log log;
	struct rye *rye; /* runs the tools; NULL: it could not be opened, nor is there what follows */
	const struct item_env *items;
	struct threads *threads; /* of its children */
	struct env env; /* of this process */
	json_t *hooks; /* in their order */
	json_t *suppressed; /* {id: true} of hooks and items that the directive wants none of */
	struct brief brief;
	struct palette palette;
	struct provider *provider;
	struct provider *fallback; /* asked once, after a refusal; NULL: none, or it was */
	struct provider *refused; /* then: the one before. Its keys are still hidden */
	struct http *http;
	struct limits limits;
	struct limits above_limits; /* the parent's, if there is one */
	struct inbox *inbox; /* NULL: nothing can be said to it */
	json_t *capabilities; /* its own, effective */
	json_t *lists; /* that one and those of the threads above it: each must cover a call */
	struct authority asker; /* its model */
	json_t *warnings; /* array of strings */
	struct db *registry, *budget; /* budget NULL: not registered */
	struct key_secret key;
	struct record record;
	struct thread_json json;
	struct chronicle *transcript;
	json_t *messages; /* as provider.h has them */
	struct agent_past {
		bool kept; /* what the model is sent goes on byte for byte */
		json_t *system; /* then: the text that was sent before; a string, or NULL */
		json_t *tools; /* … what it is offered now, which is not sent */
	} past; /* of a thread that goes on */
	struct turn_delta {
		const char *type;
		struct rye_buf text;
		int64_t since_ms;
	} delta; /* pieces of the answer that is coming, not yet in the transcript */
	char live_last; /* the last byte that was shown; 0: none was */
	bool live_break; /* the next one begins another answer, in the middle of a line */
	struct thread_cost cost;
	struct thread_cost before; /* of the threads that have handed over to it */
	double owed; /* spent, and not in the ledger yet */
	bool gap; /* an event found no room: the transcript is behind until the end */
	json_t *unlogged; /* that event and those since, [{type, payload}] */
	bool told; /* the transcript has the event that ends it */
	char fault[600]; /* why the last request has no answer; "": it has */
	bool truncated; /* its last answer was cut at its length */
	int64_t start_ms;
	json_int_t context; /* tokens of the last request with its answer */
	int nudges, pauses, bad_calls;
	bool handoff; /* it was asked to hand over */
	bool untold; /* the last message is the loop's own, and not in the transcript yet */
	unsigned call_number; /* of tool calls, for ids that repeat */
	/* The end; state AGENT_RUNNING until one is known. */
	enum agent_state state;
	char status[32];
	enum rye_code code;
	char *error; /* or NULL */
	char *text; /* the last answer, or NULL */
	json_t *outputs; /* or NULL */
};

/* The first end counts. */
void agent_ends(struct agent *agent, const char *status, enum rye_code code, const char *format,
		...) RYE_PRINTF(4, 5);
void agent_fails(struct agent *agent, const struct rye_err *err);
bool agent_stopped(const struct agent *agent);
/* Milliseconds until the thread's time is over; -1: it has no limit. */
int64_t agent_left_ms(const struct agent *agent);
/* Shown from now on instead of those that thread.json has had since the start. */
int agent_write_limits(const struct agent *agent, const struct limits *limits, struct rye_err *err);
void agent_warn(struct agent *agent, const char *format, ...) RYE_PRINTF(2, 3);
/* Books what was spent, with what could not be booked before. */
int agent_owes(struct agent *agent, double delta, struct rye_err *err);
/* An event of the transcript; a full disk ends the thread. Takes payload. */
void agent_event(struct agent *agent, const char *type, json_t *payload);

/* Its model has refused: from now on the fallback is asked, without that answer. False: there is none. */
bool agent_falls_back(struct agent *agent);

/*
 * agent_open.c: everything before the first request.
 */
int agent_open(struct agent *agent, struct rye_err *err);
void agent_close(struct agent *agent);

/*
 * agent_loop.c, agent_turn.c: turn by turn until there is an end.
 */
void agent_loop(struct agent *agent);
void loop_unheard(struct agent *agent);

/* One answer of the model, tried again where that may help; it is counted and recorded. *ret is
 * the message, a new reference; false: the thread has ended. */
struct turn_answer {
	json_t *message;
	enum provider_stop stop;
	bool overflow; /* the conversation is longer than the window */
};
bool turn_ask(struct agent *agent, struct turn_answer *ret);
/* The last message, into the transcript. */
void turn_tell(struct agent *agent);
/* Text of a message's blocks of that kind; a new string, "" none, NULL: no memory. */
char *turn_text(const json_t *message, const char *kind);

/*
 * tool_calls.c: the calls of one answer; tool_call.c: one of them.
 */

struct tool_call {
	const json_t *block; /* of the answer */
	const char *id, *name;
	json_t *arguments; /* object; a new reference */
	const char *item_id; /* bare; into arguments, the palette or whole_id */
	char whole_id[CAPABILITY_ID_MAX]; /* of a tool that was called by its short name */
	char primary[16]; /* execute, fetch, sign */
	enum rye_kind kind;
	bool returns; /* it is the directive's result */
	bool free; /* of a hook that the thread's capabilities do not hold */
};

/* Runs them in order and appends the message with their results. */
void tool_calls_run(struct agent *agent, const json_t *message);
size_t tool_calls_count(const json_t *message);

/* What a call names, whether it may; an error is told to the model. */
int tool_call_read(const struct agent *agent, const json_t *block, struct tool_call *ret,
		   struct rye_err *err);
void tool_call_done(struct tool_call *call);
void tool_call_settle(const struct agent *agent, struct tool_call *call);
int tool_call_allowed(const struct agent *agent, const struct tool_call *call, struct rye_err *err);
/* One that a worker of the engine carries out; it tells its end through an eventfd. */
struct tool_running {
	struct rye_call *call;
	int done;
	json_t *reply;
};
/* *ret stays where it is until tool_call_end, which frees what is in it. */
int tool_call_begin(struct agent *agent, const struct tool_call *call, struct tool_running *ret,
		    struct rye_err *err);
json_t *tool_call_end(const struct agent *agent, const struct tool_call *call,
		      struct tool_running *run, struct rye_err *err);
/* Its reply as the engine gives it, a new reference; NULL: *err says why there is none. */
json_t *tool_call_execute(struct agent *agent, const struct tool_call *call, struct rye_err *err);

/*
 * continuation.c: threads that go on where another has ended.
 */
/* The messages of the thread before it, if there is one, verified; into agent->messages. */
int continuation_read(struct agent *agent, struct rye_err *err);
/* What messages_replay gave, pure but for the store that long answers lie in (tests/prop/prop_resume.c). */
struct continuation_ask {
	const struct provider *provider;
	const struct record *record; /* where long answers lie */
};
/*
 * May it go on as it was? Every answer is this model's, known as the provider gave it, and has a result
 * for each of its calls. Puts the whole of long answers into `list`.
 */
bool continuation_kept(const struct continuation_ask *ask, const json_t *list);
/* As provider.h has them; kept: answers as their model gave them, else in words. A new array. */
json_t *continuation_of(const json_t *list, bool kept);
/*
 * The last message of a thread that goes on: what its continuation directive makes of it, else the
 * prompt, unless the conversation has it, and what was said.
 */
void continuation_say(struct agent *agent, struct rye_buf *out);
/* Of a conversation that is kept: `system` becomes what was sent before; what has changed is told. */
void continuation_keep(struct agent *agent, struct rye_buf *system, struct rye_buf *out);
/* A new thread takes over and this one ends; false: it could not, and nothing has ended. */
bool continuation_hand_over(struct agent *agent);

/*
 * children.c: children of the thread.
 */
/* What confines the run that has asked for this thread confines what the thread starts. */
void spawn_confine(const struct agent *agent, json_t *request);
bool spawn_asked(const struct tool_call *call);
/* The reply of a fork, as tool_call_execute. */
json_t *spawn_fork(struct agent *agent, const struct tool_call *call, struct rye_err *err);
/* What a thread may hand on, {capabilities, limits}, for the run of a call; NULL: short of memory. */
char *spawn_authority_text(const struct agent *agent, const struct tool_call *call);
/* The thread has ended: what becomes of its children. */
void spawn_end(struct agent *agent);

/*
 * tool_return.c: the call that ends the thread with outputs. A failure is told to the model.
 */
int tool_return(struct agent *agent, const struct tool_call *call, struct rye_err *err);
/* The tool that is offered for it; NULL: no outputs are declared. A new reference. */
json_t *tool_return_offer(const struct brief *brief);

#endif
