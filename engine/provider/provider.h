/* SPDX-License-Identifier: MIT */
/*
 * provider.h: model providers. One call makes one attempt against one model: it writes the request
 * in the provider's own format, reads the answer as it streams, and gives back one internal form.
 * Whether a failed attempt is made again is a pure function of the failure; the caller waits. What a
 * conversation is, its request and its answer: wire/wire.h.
 */
#ifndef RYE_PROVIDER_PROVIDER_H
#define RYE_PROVIDER_PROVIDER_H

#include "http/http.h"
#include "wire/wire.h"

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

struct provider_call {
	struct http *http;
	const struct provider *provider;
	const struct provider_request *request;
	int64_t until_ms; /* clock_ms(); 0: only the provider's own limits */
	int cancel; /* readable once the call is to end; -1: never */
	provider_event_fn fn; /* on the calling thread; or NULL */
	void *arg;
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

const char *provider_class_name(enum provider_class class);

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

/* What an item of a provider may say beside a tool's fields, as JSON Schema; a new reference. */
json_t *provider_schema(void);

#endif
