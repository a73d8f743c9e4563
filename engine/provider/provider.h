/* SPDX-License-Identifier: MIT */
/*
 * provider.h: model providers. One call makes one attempt against one model: it writes the request
 * in the provider's own format, reads the answer as it streams, and gives back one internal form.
 * Whether a failed attempt is made again is a pure function of the failure; the caller waits.
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
#ifndef RYE_PROVIDER_PROVIDER_H
#define RYE_PROVIDER_PROVIDER_H

#include "base/json.h"
#include "http/http.h"

#include <stdbool.h>
#include <stdint.h>

struct item_env;
struct env;

/*
 * provider.c, provider_item.c: from the signed items below rye/agent/providers/ and
 * agent/agent.yaml to one model. Every item that is looked at has to verify.
 */

struct provider_env {
	const struct item_env *items;
	const struct env *own; /* of the process: where keys are looked for first */
	/* Directory of what all runners of a person share, made when its parent is there. NULL:
	 * ryefs-providers in the XDG_RUNTIME_DIR of `own`; without one nothing is shared. */
	const char *shared;
};

struct provider_ask {
	const char *model; /* id or tier; NULL: "general" */
	const char *provider; /* its name, id or the id's end; NULL: any */
};

/* What the retry of an attempt changes about its request. */
enum provider_relief {
	RELIEF_NO_REASONING = 1, /* without the reasoning of earlier answers */
	RELIEF_NO_STREAM_OPTIONS = 2,
	RELIEF_SMALLER = 4, /* max_tokens as the failure's numbers allow */
};

struct wire;

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

/*
 * RYE_NOT_FOUND with a sentence that lists what there is; an integrity code of an item that does
 * not verify; RYE_INVALID, a key that is missing is told with how to give it.
 */
int provider_resolve(const struct provider_env *env, const struct provider_ask *ask,
		     struct provider **ret, struct rye_err *err);
void provider_free(struct provider *provider); /* NULL is fine */

DEFINE_AUTO(auto_provider_, struct provider *, provider_free)

#define auto_provider __attribute__((cleanup(auto_provider_)))

/*
 * provider_exchange.c: one attempt.
 */

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

struct provider_call {
	struct http *http;
	const struct provider *provider;
	const struct provider_request *request;
	int64_t until_ms; /* clock_ms(); 0: only the provider's own limits */
	int cancel; /* readable once the call is to end; -1: never */
	provider_event_fn fn; /* on the calling thread; or NULL */
	void *arg;
};

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

void provider_exchange(const struct provider_call *call, struct provider_result *ret);
/*
 * Does a server listen at the provider's address? Asks for nothing behind the host's name, without any
 * header of the provider's: no key leaves the machine. Waits PROVIDER_REACH_MS at most. A vendor's is not
 * asked. RYE_INVALID: the address is none.
 */
#define PROVIDER_REACH_MS 1000
int provider_reach(const struct provider *provider, struct rye_err *err);

void provider_result_done(struct provider_result *result);

const char *provider_stop_name(enum provider_stop stop);
const char *provider_class_name(enum provider_class class);

/*
 * provider_request.c: the bytes of a request: the same for the same arguments. `warnings` gets a
 * word for each field that the model does not take and that was left out; or NULL.
 */
int provider_request_make(const struct provider *provider, const struct provider_request *request,
			  json_t *warnings, struct rye_buf *ret, struct rye_err *err);
/* A guess of the tokens that the request costs, rounded up: to reserve a budget before. */
json_int_t provider_estimate(const struct provider_request *request);

/*
 * provider_cost.c: pure. day: "2026-11-22", of the request.
 */
double provider_cost(const struct provider *provider, const struct provider_usage *usage,
		     const char *day);

/*
 * provider_fault.c: what to do about a failure. Pure: the clock is in failure->wait_ms, the dice are
 * the caller's.
 */

struct retry_state {
	unsigned failures; /* in a row, this one included: 1 … */
	unsigned relief; /* tried already */
	json_int_t max_tokens; /* that was asked for */
	double jitter; /* 0 … 1 */
};

enum retry_step {
	RETRY_FINAL,
	RETRY_WAIT, /* the same request after .wait_ms */
	RETRY_RELIEVED, /* at once, with .relief and .max_tokens */
	RETRY_HAND_OVER, /* the conversation is too long for the model */
};

struct retry_decision {
	enum retry_step step;
	int64_t wait_ms;
	unsigned relief;
	json_int_t max_tokens;
};

void provider_retry(const struct provider *provider, const struct provider_failure *failure,
		    const struct retry_state *state, struct retry_decision *ret);

/*
 * provider_lane.c: what runners of one key and host share: how many requests are under way, and
 * until when none may be sent. provider_exchange keeps to it. Files with locks, so that a killed
 * runner holds nothing.
 */

/* No runner with this key sends anything for so long. */
void provider_lane_pause(const struct provider *provider, int64_t ms);

#endif
