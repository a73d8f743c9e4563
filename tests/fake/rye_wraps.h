/* SPDX-License-Identifier: MIT */
/*
 * rye_wraps.h: the engine's functions that conversations call, for programs that are linked with
 * --wrap (rye_wraps of fake/meson.build). rye_wraps.c has those that always say the same; the
 * others are the program's.
 */
#ifndef RYE_TEST_RYE_WRAPS_H
#define RYE_TEST_RYE_WRAPS_H

#include <rye/rye.h>

void __wrap_rye_start(struct rye *rye, const struct rye_request *req, rye_done_fn fn, void *arg,
		      struct rye_call **ret);
void __wrap_rye_call_cancel(struct rye_call *call, enum rye_code code);
bool __wrap_rye_call_detach(struct rye_call *call, char thread_id[64]);
void __wrap_rye_call_unref(struct rye_call *call);
/* No caller belongs to a run, every run may, of an item there is a line of usage. */
uint64_t __wrap_rye_run_of(struct rye *rye, const pid_t *chain, size_t n, pid_t session);
bool __wrap_rye_run_may(struct rye *rye, uint64_t run, enum rye_verb verb, enum rye_kind kind,
			const char *id);
int __wrap_rye_view(struct rye *rye, const struct rye_ask *ask, struct rye_blob **ret,
		    struct rye_err *err);

#endif
