/* SPDX-License-Identifier: MIT */
/*
 * wire.h: what is said to a model and what it answers, each vendor's format being a row of one table.
 * Bytes in, bytes out: no socket, no clock, no key but those that must not show.
 *
 * A conversation is a JSON document, so that a transcript keeps it as it is:
 *
 *   tools     [{name, description, schema}]: frozen at the thread's first call, as its system text
 *   messages  [message …]: append only, since providers sign and cache what they have seen
 *   message   {role, blocks: [block …]}; role is user, assistant or system (a later instruction).
 *             An answer is {role: "assistant", wire, provider, model, blocks, stop, stop_raw, usage,
 *             complete, refusal?: {category, text}, continuation?}
 *   block     {kind, …}, kind one of
 *     text        text, phase?, signature?
 *     reasoning   text, signature?, encrypted?
 *     tool_call   id, name, arguments; when `incomplete` is true, arguments is null and the call
 *                 must not be executed: arguments_text is what came, `fault` says what is wrong
 *     tool_result id, name, text, is_error?, images?: [{media_type, data}]
 *     image       media_type, data (base64)
 *     refusal     text
 *     opaque      type: something of the provider's own, which goes back as it came
 *   Each block of an answer may have `raw`, text: the provider's own JSON of it. It is sent back byte
 *   for byte to the same model, and never to another. Do not change or leave out blocks of an answer.
 */
#ifndef RYE_WIRE_WIRE_H
#define RYE_WIRE_WIRE_H

#include "base/json.h"
#include "http/http.h"

#include <stdbool.h>
#include <stdint.h>

struct wire;

/* What the retry of an attempt changes about its request. */
enum provider_relief {
	RELIEF_NO_REASONING = 1, /* without the reasoning of earlier answers */
	RELIEF_NO_STREAM_OPTIONS = 2,
	RELIEF_SMALLER = 4, /* max_tokens as the failure's numbers allow */
};

/* A model of a provider; frozen. Any thread. */
struct provider {
	char *id; /* of the item: "rye/agent/providers/anthropic" */
	char *name; /* "anthropic" */
	char *model; /* as it is sent */
	char *host; /* "api.anthropic.com": what may be shown of the address */
	const struct wire *wire;
	const char *wire_name; /* "anthropic_messages" … */
	json_int_t window; /* tokens of context */
	json_int_t max_output; /* tokens of an answer */
	bool local; /* on this machine: costs nothing unless it has a price */
	bool vendors; /* the address came with a bundle and leaves nothing to the person */
	bool priced; /* a price row of the model is known */
	bool text_calls; /* tools are described in the prompt and called in the text */
	bool images_in_results;
	unsigned in_flight; /* requests at once, of all runners together */
	char *fallback; /* model to ask once after a refusal; NULL: none */
	char *retires; /* date after which the model is gone; NULL: not said */
	json_t *fields; /* of the model, defaults below them */
	json_t *item; /* the item's document, profiles laid over */
	json_t *rules; /* agent/error_classification, merged */
	/* What follows holds keys: never shown, logged or written. */
	char *url, *stream_url;
	char **headers; /* "Name: value", NULL at the end */
	json_t *secrets; /* array: what must not stand in any text */
	char *lane; /* the file that runners with this key and host share; NULL: none */
};

struct provider_request {
	const char *system; /* "" or NULL: none */
	const json_t *tools; /* array, or NULL */
	const json_t *messages; /* array */
	json_int_t max_tokens; /* of the answer; 0: what the model may give */
	const json_t *options; /* object laid over what the item sets (temperature …); or NULL */
	const char *conversation; /* id of the thread, for the provider's cache; or NULL */
	const char *continuation; /* of the answer that paused, the last message; or NULL */
	unsigned relief; /* enum provider_relief */
	bool whole; /* not streamed */
};

enum provider_event_type {
	PROVIDER_TEXT, /* text */
	PROVIDER_REASONING, /* text */
	PROVIDER_CALL_OPEN, /* call_id, name, index */
	PROVIDER_CALL_ARGS, /* text, a piece of the arguments; index */
	PROVIDER_CALL_DONE, /* index */
	PROVIDER_USAGE, /* a count has come: it is in the result */
	PROVIDER_NOTICE, /* text: a word of `warnings`, or "queued": others are sent first */
};

/* Valid during the call; text is whole characters of UTF-8. */
struct provider_event {
	enum provider_event_type type;
	struct rye_span text;
	const char *call_id, *name;
	size_t index; /* of the block */
};

typedef void (*provider_event_fn)(void *arg, const struct provider_event *event);

enum provider_stop {
	STOP_ERROR,
	STOP_END,
	STOP_TOOL, /* there are calls to run */
	STOP_LENGTH, /* max_tokens; calls that were cut are incomplete */
	STOP_CONTEXT, /* the window is full: hand over */
	STOP_PAUSE, /* send the answer back unchanged, or its continuation */
	STOP_REFUSAL,
	STOP_BAD_CALL, /* the model's call was unreadable: the same request once more */
	STOP_UNKNOWN, /* within provider/: told as a failure, not as an end */
};

/* Tokens; input = uncached + cache_read + cache_write + cache_write_1h. */
struct provider_usage {
	json_int_t uncached, cache_read, cache_write, cache_write_1h;
	json_int_t output; /* reasoning included */
	json_int_t reasoning;
	bool known; /* something was reported, or guessed; false: nothing was spent */
	bool estimated; /* the provider did not say */
};

enum provider_class {
	FAULT_NONE,
	FAULT_QUOTA,
	FAULT_HISTORY, /* reasoning that the provider does not take back */
	FAULT_OVERFLOW, /* more than the window */
	FAULT_PARAMETER, /* .param: the item's line to change */
	FAULT_AUTH,
	FAULT_NOT_FOUND,
	FAULT_INVALID,
	FAULT_RATE,
	FAULT_OVERLOADED,
	FAULT_SERVER,
	FAULT_TIMEOUT,
	FAULT_NETWORK,
	FAULT_CUT, /* the stream ended before the answer did */
	FAULT_REFUSAL,
	FAULT_CANCELLED,
};

/* Texts are owned, "" where nothing was said. */
struct provider_failure {
	enum provider_class class;
	bool retryable; /* waiting may help */
	long status; /* HTTP; 0: no answer came */
	int64_t wait_ms; /* that the provider asks for, at least; -1: not said */
	json_int_t tokens, limit; /* of an overflow; 0: not said */
	bool with_answer; /* … of the request and max_tokens together */
	char *type, *code, *param;
	char *message; /* the provider's */
	char *sentence; /* for people: names item, host and status, never a key */
	const json_t *policy; /* of the row of provider->rules that matched; borrowed; or NULL */
};

struct provider_result {
	json_t *message; /* the answer, also a partial one; owned */
	json_t *warnings; /* array of words: usage_missing, id_generated, no_done_marker …; owned */
	enum provider_stop stop;
	bool complete; /* false: it must not enter the conversation */
	struct provider_usage usage;
	double spend; /* currency of the price; failed attempts cost as well */
	json_int_t input; /* all tokens of the request */
	int64_t ms, first_ms; /* of the exchange, until its first event; -1: none came */
	struct provider_failure failure; /* class FAULT_NONE: it is an answer */
};

const char *provider_stop_name(enum provider_stop stop);

/*
 * wire_request.c: the bytes of a request: the same for the same arguments. `warnings` gets a
 * word for each field that the model does not take and that was left out; or NULL.
 */
int provider_request_make(const struct provider *provider, const struct provider_request *request,
			  json_t *warnings, struct rye_buf *ret, struct rye_err *err);
/* A guess of the tokens that the request costs, rounded up: to reserve a budget before. */
json_int_t provider_estimate(const struct provider_request *request);

/* Laid over into: objects by member, all else replaced. */
void provider_lay(json_t *into, const json_t *from);

/* ---- said.c: what a provider said when it failed ---- */

/* An error as the provider told it. Texts are owned; NULL: not said. */
struct fault_said {
	char *type, *code, *param, *message;
	char *quota; /* ids of quotas, to look for daily ones */
	long status; /* a number in `code` */
	int64_t delay_ms; /* in the body; -1: not said */
	json_int_t tokens, limit;
};

void fault_said_done(struct fault_said *said);

void fault_read(const json_t *doc, struct fault_said *ret);
/* Keys of the provider become "***". */
void fault_hide_keys(const struct provider *provider, char **text);
/* Milliseconds of so many seconds, none below 0, and no number too big for them. */
int64_t fault_wait_ms(double seconds);
/* "34s", "6m0s", "1h2m", "250ms" → milliseconds; -1: no duration. */
int64_t fault_duration(const char *text);

/* ---- answer.c: one answer, of any wire ---- */

enum block_kind {
	BLOCK_TEXT,
	BLOCK_REASONING,
	BLOCK_CALL,
	BLOCK_REFUSAL,
	BLOCK_OPAQUE,
};

struct answer_block {
	enum block_kind kind;
	json_int_t index; /* by which the wire names it; -1: it has none */
	char *key; /* the same by a name; NULL: it has none */
	json_t *start; /* the wire's object it began with, kept up to date; or NULL */
	json_t *extra; /* neutral members beside text and arguments: id, name, signature … */
	struct rye_buf text, args;
	struct rye_buf raw; /* the wire's JSON; empty: there is none */
	json_t *arguments; /* parsed, once it is closed; NULL: incomplete */
	char *fault; /* why it is incomplete */
	bool open, incomplete;
	bool changed; /* since `raw` was received */
	int high; /* the half of a pair that its text ends with, and that is not in it yet; 0: none */
};

/* Halves of a surrogate pair; 0: none. */
struct text_halves {
	int high, low;
};

#define UNREADABLE "\xef\xbf\xbd" /* U+FFFD, in their place */

/* Of a text whose first content may be a reasoning in tags. */
enum think_state { THINK_OFF, THINK_LEAD, THINK_INSIDE, THINK_TAIL };

struct answer {
	const struct provider *provider;
	const struct provider_request *request; /* or NULL: ids are unique in the answer alone */
	provider_event_fn fn;
	void *arg;
	struct answer_block *v;
	size_t n, size;
	size_t last; /* the block that grew last */
	struct provider_usage usage;
	enum provider_stop stop;
	char stop_raw[64]; /* "": none came */
	bool stopped; /* a reason to stop was told */
	bool terminal; /* the wire's last event came */
	bool ended; /* nothing more is read */
	bool failed; /* `said` tells how */
	struct fault_said said;
	char *refusal_kind, *refusal_text; /* or NULL */
	bool refused;
	char *continuation; /* or NULL */
	json_t *warnings;
	size_t ids; /* made by us */
	enum think_state think;
	struct rye_buf held; /* a tag that is not whole yet */
	struct text_halves halves; /* of the event that is read */
	struct rye_buf veiled; /* told text that may be the beginning of a key, and not told yet */
	enum provider_event_type veiled_type;
	size_t veiled_index; /* of its block */
	/* How the bytes are read. */
	long status;
	bool streams;
	struct sse sse;
	struct rye_buf body; /* of what is no stream */
	size_t bytes;
	bool sniffs; /* its first byte will tell whether it streams */
	bool over; /* longer than is read */
	size_t events; /* that came, comments left out */
};

void answer_open(struct answer *answer, const struct provider *provider,
		 const struct provider_request *request);
void answer_close(struct answer *answer);
/* The status line and content type are known. */
void answer_begin(struct answer *answer, long status, const char *type);
/* False: nothing more is wanted. */
bool answer_feed(struct answer *answer, struct rye_span bytes);
/* The body has ended, cleanly or not: what came of it. Fills message, stop, usage; false: failed. */
bool answer_end(struct answer *answer, struct provider_result *ret);

/* ---- usage.c ---- */

/* Sets *count when the document has a number there; a null keeps it. */
bool usage_count(const json_t *doc, const char *path, json_int_t *count);

/* ---- wire.c ---- */

const char *wire_name(const struct wire *wire);
/* Behind an address; {model} is filled in. */
const char *wire_path(const struct wire *wire, bool stream);
const struct wire *wire_named(const char *name); /* NULL: there is none */
const char *wire_known(size_t n); /* the names, NULL: there are no more */
/* By the end of an address. */
const struct wire *wire_of_url(const char *url);

#endif
