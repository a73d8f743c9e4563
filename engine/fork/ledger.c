/* SPDX-License-Identifier: MIT */
/*
 * The ledger of a project's threads (policy/budget.c): opened by those that count on it, begun anew when
 * it cannot be read, and what threads that never came to their end hold in it given back. No state, no
 * lock but that of the file beside it.
 */
#include "fork/fork.h"

#include "scope.h"
#include "str.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

static int ledger_read(const char *path, struct db **ret, struct rye_err *err)
{
	struct db *db = NULL;
	int r = budget_open(path, &db, err);

	if (!r)
		r = budget_whole(db, err);
	if (r)
		db_close(db);
	else
		*ret = db;
	return r;
}

bool ledger_damaged(const char *project)
{
	char path[THREADS_PATH_MAX];
	struct db *db = NULL;
	int r;

	/* opening it would make one */
	if (threads_path(project, LEDGER_FILE, path, NULL) || access(path, F_OK) < 0)
		return false;
	r = ledger_read(path, &db, NULL);
	db_close(db);
	return r == -(int)RYE_UNPARSABLE;
}

struct ledger_user {
	const char *self;
	bool older; /* of two that begin at once the older one may */
	char id[THREAD_ID_MAX]; /* "": none */
};

/* The youngest first. */
static int ledger_used(void *arg, const struct registry_row *row)
{
	struct ledger_user *user = arg;

	if (!user->older || registry_terminal(row->status) ||
	    !strncmp(row->directive, "tool:", strlen("tool:"))) {
		user->older |= !strcmp(row->thread_id, user->self);
		return 0;
	}
	snprintf(user->id, sizeof(user->id), "%s", row->thread_id);
	return 1;
}

/*
 * Under the lock: another process may have done it by now. Rows of families that have ended go when the
 * next one begins, and what their threads have spent stands in their records: so a ledger that no living
 * thread counts on is begun anew with nothing in it, and no money is made or lost.
 */
static int ledger_begin(const struct ledger_ask *ask, const char *path, struct db **ret,
			struct rye_err *err)
{
	static const char *const parts[] = { "-wal", "-shm" };
	struct ledger_user user = { .self = ask->id };
	auto_buf struct rye_buf old = RYE_BUF_INIT;
	int r = ledger_read(path, ret, err);

	if (r != -(int)RYE_UNPARSABLE)
		return r;
	r = registry_each(ask->registry, true, ledger_used, &user, err);
	if (r || *user.id)
		return r ? r :
			   rye_fail(err, RYE_BUSY,
				    LEDGER_FILE
				    " is damaged, and thread %.300s, which counts on it, still "
				    "runs\n" MEND_WITH "ryefs threads wait %.300s",
				    user.id, user.id);
	buf_addf(&old, "%s.damaged", path);
	if (old.failed || rename(path, old.data) < 0)
		return rye_fail_sys(err, old.failed ? ENOMEM : errno, LEDGER_FILE);
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		buf_clear(&old);
		buf_addf(&old, "%s%s", path, parts[i]);
		unlink(old.data);
	}
	return budget_open(path, ret, err);
}

int ledger_open(const struct ledger_ask *ask, struct db **ret, bool *ret_anew, struct rye_err *err)
{
	char path[THREADS_PATH_MAX], at[THREADS_PATH_MAX];
	auto_close int lock = -1;
	int r = threads_path(ask->project, LEDGER_FILE, path, err);

	if (!r)
		r = ledger_read(path, ret, err);
	if (r != -(int)RYE_UNPARSABLE)
		return r;
	r = threads_path(ask->project, ".ledger.lock", at, err);
	if (r)
		return r;
	lock = open(at, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	while (lock >= 0 && flock(lock, LOCK_EX) < 0 && errno == EINTR)
		;
	if (lock < 0)
		return rye_fail_sys(err, errno, LEDGER_FILE " cannot be begun anew");
	*err = (struct rye_err){ .code = RYE_OK };
	r = ledger_begin(ask, path, ret, err);
	if (!r)
		*ret_anew = true;
	return r;
}

struct db *ledger_there(const char *project)
{
	char path[THREADS_PATH_MAX];
	struct db *db = NULL;

	/* opening it would make one */
	if (threads_path(project, LEDGER_FILE, path, NULL) || access(path, F_OK) < 0)
		return NULL;
	return budget_open(path, &db, NULL) ? NULL : db;
}

int ledger_settle(const char *project, const char *id, const char *status, struct rye_err *err)
{
	char path[THREADS_PATH_MAX];
	struct db *db = NULL;
	int r = threads_path(project, LEDGER_FILE, path, err);

	/* opening it would make one */
	if (r || access(path, F_OK) < 0)
		return r;
	r = budget_open(path, &db, err);
	if (!r)
		r = budget_settle(db, id, status, err);
	db_close(db);
	return r;
}

struct ledger_children {
	const char *parent;
	json_t *ids;
};

static int ledger_collect(void *arg, const struct budget_row *row)
{
	const struct ledger_children *funded = arg;

	if (!strcmp(row->parent_id, funded->parent))
		json_array_append_new(funded->ids, json_string(row->thread_id));
	return 0;
}

int ledger_settle_unborn(struct db *ledger, struct threads *threads, const char *parent,
			 struct rye_err *err)
{
	auto_json json_t *ids = json_array();
	struct ledger_children funded = { parent, ids };
	int r = budget_each(ledger, true, ledger_collect, &funded, err);
	json_t *id;
	size_t i;

	json_array_foreach(ids, i, id)
		if (!r && threads_unborn(threads, json_string_value(id)))
			r = budget_settle(ledger, json_string_value(id), "error", err);
	return r;
}
