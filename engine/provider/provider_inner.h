/* SPDX-License-Identifier: MIT */
/*
 * provider_inner.h: what the files of provider/ share: how a failure is told and repeated, the places of
 * runners, and the items that a provider is made of.
 */
#ifndef RYE_PROVIDER_PROVIDER_INNER_H
#define RYE_PROVIDER_PROVIDER_INNER_H

#include "provider/provider.h"

/* ---- provider_fault.c ---- */

struct fault_in {
	const struct provider *provider;
	const struct fault_said *said;
	const json_t *headers; /* lower case; or NULL */
	long status; /* 0: no answer */
	enum rye_code transport; /* RYE_OK: an answer came */
	bool cut; /* … but not all of it */
	int64_t now; /* seconds since 1970, for dates in headers */
};

void fault_classify(const struct fault_in *in, struct provider_failure *ret);
/* A person's own rows decide about repeating; the class stays what it is. */
void retry_rules(const struct provider *provider, struct provider_failure *failure);

/* ---- provider_lane.c ---- */

struct provider_lane {
	int fd; /* -1: none */
};

/* Waits for a place and for the pause to be over. RYE_CANCELLED, RYE_TIMEOUT. */
int lane_enter(const struct provider_call *call, struct provider_lane *ret, struct rye_err *err);
void lane_leave(struct provider_lane *lane);

/* ---- provider_item.c ---- */

/* The best provider items in order of search: [{id, doc}]. */
int provider_items(const struct provider_env *env, json_t **ret, struct rye_err *err);
/* agent/NAME of all spaces, merged as lists with ids want it; an empty object when there is none. */
int provider_config(const struct provider_env *env, const char *name, json_t **ret,
		    struct rye_err *err);
/* ${NAME} and ${NAME:-default} of names that the item declares. RYE_INVALID: one is missing. */
struct key_ring {
	const struct provider_env *env;
	const json_t *item;
	json_t *secrets; /* read when first wanted */
	json_t *used; /* the values, for redaction */
};
int key_fill(struct key_ring *ring, const char *text, struct rye_buf *out, struct rye_err *err);
void key_ring_done(struct key_ring *ring);

#endif
