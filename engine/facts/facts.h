/* SPDX-License-Identifier: MIT */
/*
 * facts.h: state/threads as it is shown: what the records of threads say, as a tree of small files,
 * links and directories, over the files that thread.h shows as they are. Reading changes nothing.
 *
 * Any thread may call these. Lock: `lock` of struct facts guards what is kept of the newest answers.
 */
#ifndef RYE_FACTS_FACTS_H
#define RYE_FACTS_FACTS_H

#include "item/item.h"
#include "thread/thread.h"

struct facts;

struct facts_env {
	const struct item_env *items; /* outlives it, as the others do */
	const char *project;
	struct threads *threads;
};

int facts_open(const struct facts_env *env, struct facts **ret, struct rye_err *err);
void facts_close(struct facts *facts); /* NULL is fine */

/* id "": state/threads itself, without its threads. path "": the directory. */
struct facts_ask {
	const char *id, *path;
	bool (*has)(void *arg, uint64_t version); /* as in struct rye_thread_at */
	void *arg;
};
int facts_names(struct facts *facts, const struct facts_ask *ask, rye_thread_fn fn, void *arg,
		struct rye_err *err);
/* As rye_thread_entry. */
int facts_entry(struct facts *facts, const struct facts_ask *ask, struct rye_thread_entry *ret,
		struct rye_err *err);
/* As rye_thread_file. */
int facts_file(struct facts *facts, const struct facts_ask *ask, struct rye_blob **ret,
	       struct rye_err *err);
/* As rye_thread_read. */
int facts_read(struct facts *facts, const struct rye_thread_part *part, struct rye_blob **ret,
	       uint64_t *ret_size, struct rye_err *err);

#endif
