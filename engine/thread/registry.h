/* SPDX-License-Identifier: MIT */
/*
 * registry.h: the shared thread registry, `.ai/state/threads/registry.db` (threads 3): same
 * file, table and columns as other implementations of the format. A terminal status is never
 * changed into another one; result and final status are written in one UPDATE.
 */
#ifndef RYE_THREAD_REGISTRY_H
#define RYE_THREAD_REGISTRY_H

#include "thread/db.h"

int registry_open(const char *path, struct db **ret, struct rye_err *err);

struct registry_row {
	char thread_id[1025];
	char directive[1040]; /* the item's canonical ref */
	char status[32];
	char created_at[40], updated_at[40], completed_at[40];
	int64_t pid;
	char *result; /* JSON or NULL; only when asked for; free it */
};

/* RYE_BUSY: the id is taken. */
int registry_insert(struct db *db, const char *id, const char *directive, struct rye_err *err);
int registry_running(struct db *db, const char *id, int64_t pid, struct rye_err *err);
/* Compare-and-set: when somebody else has finished it before, nothing changes. */
int registry_finish(struct db *db, const char *id, const char *status, const char *result,
		    struct rye_err *err);
int registry_get(struct db *db, const char *id, bool with_result, struct registry_row *ret,
		 struct rye_err *err);
int registry_delete(struct db *db, const char *id, struct rye_err *err);

typedef int (*registry_fn)(void *arg, const struct registry_row *row);
/* Newest first; only living ones when `active`. */
int registry_each(struct db *db, bool active, registry_fn fn, void *arg, struct rye_err *err);

/* Other numbers after any change, by whomever. */
int registry_version(struct db *db, int64_t ret[2], struct rye_err *err);

bool registry_terminal(const char *status);

#endif
