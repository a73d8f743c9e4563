/* SPDX-License-Identifier: MIT */
/*
 * exec.h: verified items → outcomes. A request becomes a frozen plan (chain, environment,
 * argv, limits), the plan runs on the pool, its reply is recorded and then told once.
 */
#ifndef RYE_EXEC_EXEC_H
#define RYE_EXEC_EXEC_H

#include "item/item.h"

struct exec; /* run queue, pool, warm interpreters, registry of living runs */

struct exec_env {
	const struct item_env *items;
	const struct rye_options *opt; /* copied strings, live as long as the engine */
	const struct log *log;
};

int exec_open(const struct exec_env *env, struct exec **ret, struct rye_err *err);
void exec_close(struct exec *exec); /* cancels, waits for workers, kills warm interpreters */

void exec_start(struct exec *exec, const struct rye_request *req, rye_done_fn fn, void *arg,
		struct rye_call **ret);

/* chain.json of a tool: resolved chain with spaces, hashes, signers …; new reference. */
json_t *exec_chain(const struct item_env *env, const struct rye_item *tool, struct rye_err *err);

uint64_t exec_run_of(struct exec *exec, const pid_t *chain, size_t n, pid_t session);
bool exec_run_may(struct exec *exec, uint64_t run, enum rye_verb verb, enum rye_kind kind,
		  const char *id);

#endif
