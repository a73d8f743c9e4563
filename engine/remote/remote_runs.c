/* SPDX-License-Identifier: MIT */
/*
 * The runs that a remote has of this person: as it listed them last, in `runs.json` of its state, so that those
 * that were begun elsewhere can be shown without asking it; and orders here that are to be forgotten. No lock; the
 * file is replaced in one step.
 */
#include "remote/remote_inner.h"

#include "base/id.h"
#include "base/io.h"
#include "clock.h"
#include "memory.h"
#include "order/order.h"
#include "scope.h"
#include "str.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define RUNS_FILE "runs.json"
/* Of at most 1000 rows that the node lists at once, a receipt each. */
#define RUNS_MAX (16u << 20)

/* A node's rows, as far as they are some: what is no run's id would be no file's name. */
static json_t *runs_sound(const json_t *reply)
{
	json_t *runs = json_array();
	json_t *row;
	size_t i;

	json_array_foreach(json_object_get(reply, "runs"), i, row)
		if (id_is_uuid(json_str(row, "id")))
			json_array_append(runs, row);
	return runs;
}

int remote_runs(const struct item_env *env, const struct remote *remote, struct conn *conn,
		json_t **ret, struct rye_err *err)
{
	auto_close int dir = remote_state_dir(env, remote->name, true);
	auto_json json_t *body = json_object(), *reply = NULL, *runs = NULL;
	auto_blob struct rye_blob *text = NULL;
	struct conn_ask ask = { .type = FRAME_LIST,
				.body = body,
				.until = clock_ms() + REMOTE_CONNECT_MS };
	int r = conn_ask(conn, &ask, &reply, err);

	if (r)
		return rye_wrap(err, "%s", remote->name);
	runs = runs_sound(reply);
	text = json_blob(runs, true);
	if (!text)
		return memory_fail(err);
	if (dir >= 0)
		io_replace_at(dir, RUNS_FILE, (struct rye_span){ text->data, text->len }, 0600);
	*ret = steal(&runs);
	return 0;
}

/* The directory of this project's thread of that name; negative: there is none. */
static int run_dir(const struct item_env *env, const char *id)
{
	char path[ID_UUID_MAX + 32];

	snprintf(path, sizeof(path), ".ai/state/threads/%.*s", ID_UUID_MAX - 1, id);
	return io_open_dir(env->spaces->v[0].root, path, false);
}

json_t *remote_foreign(const struct item_env *env, const char *name)
{
	auto_close int dir = remote_state_dir(env, name, false);
	auto_blob struct rye_blob *text = NULL;
	auto_json json_t *rows = NULL;
	json_t *found = json_object();
	json_t *row;
	size_t i;

	if (dir < 0 || io_read_at(dir, RUNS_FILE, RUNS_MAX, &text) < 0)
		return found;
	rows = json_parse((struct rye_span){ text->data, text->len }, JSON_LOAD_ANY, RUNS_FILE,
			  NULL);
	json_array_foreach(rows, i, row) {
		const char *id = json_str(row, "id");
		auto_close int here = id_is_uuid(id) ? run_dir(env, id) : -1;

		if (id_is_uuid(id) && here < 0)
			json_object_set(found, id, row);
	}
	return found;
}

/* The runner of a thread that goes on holds its lock. */
static bool run_goes_on(const struct item_env *env, const char *id)
{
	struct flock lock = { .l_type = F_RDLCK, .l_whence = SEEK_SET };
	auto_close int dir = run_dir(env, id);
	auto_close int fd =
		dir < 0 ? -1 : openat(dir, ".lock", O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	return fd >= 0 && fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

int remote_order_forget(const struct item_env *env, const char *name, const char *id,
			struct rye_err *err)
{
	auto_close int dir = remote_state_dir(env, name, false);
	char path[ID_UUID_MAX + 16];

	snprintf(path, sizeof(path), "outbox/%.*s", ID_UUID_MAX - 1, id);
	if (dir < 0 || faccessat(dir, path, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		return rye_fail(err, RYE_NOT_FOUND, "%s: no order %s was sent from here", name, id);
	if (run_goes_on(env, id))
		return rye_fail(err, RYE_STATE,
				"%s: thread %s has not ended\n" MEND_WITH "ryefs threads cancel %s",
				name, id, id);
	return unlinkat(dir, path, 0) < 0 ?
		       rye_fail_sys(err, errno, "state/remotes/%s/%s", name, path) :
		       0;
}

/* ---- one that was begun elsewhere becomes a thread here ---- */

static int adopt_check(const struct item_env *env, const struct remote_link *link, const char *id,
		       const struct order *order, struct rye_err *err)
{
	auto_key struct key_secret own = { 0 };
	int r = keystore_signer(env, &own, err);
	const struct order_want want = { own.pub.bytes, link->pin.key.fp, order->made };

	if (!r && strcmp(order->id, id) != 0)
		r = rye_fail(err, RYE_MOVED, "the node's answer is the order %s", order->id);
	return r ? r : order_check(order, &want, err);
}

int remote_adopt(const struct item_env *env, const struct remote *remote,
		 const struct remote_link *link, const char *id, json_t **ret, struct rye_err *err)
{
	auto_close int dir = remote_state_dir(env, remote->name, true), here = run_dir(env, id);
	auto_json json_t *body = json_pack("{s:s}", "run", id), *reply = NULL;
	auto_order struct order order = { .made = 0 };
	struct conn_ask ask = { .type = FRAME_LIST,
				.body = body,
				.until = clock_ms() + REMOTE_CONNECT_MS };
	char path[ID_UUID_MAX + 16];
	struct rye_span text;
	int r = here >= 0 ?
			rye_fail(err, RYE_STATE,
				 "thread %s is here\n" MEND_WITH "ryefs threads wait %s", id, id) :
			conn_ask(link->conn, &ask, &reply, err);

	text = span_of(json_str(reply, "order"));
	if (!r)
		r = order_read(text, &order, err);
	if (!r)
		r = adopt_check(env, link, id, &order, err);
	if (r)
		return rye_wrap(err, "%s", remote->name);
	snprintf(path, sizeof(path), "outbox/%.*s", ID_UUID_MAX - 1, id);
	r = dir < 0 ? dir : io_mkdirs_at(dir, "outbox", 0700);
	if (r >= 0)
		r = io_replace_at(dir, path, text, 0600);
	if (r < 0)
		return rye_fail_sys(err, -r, "state/remotes/%s/%s", remote->name, path);
	*ret = json_pack("{s:s, s:s, s:s, s:O, s:s}", "remote", remote->name, "id", id, "item_id",
			 order.ref, "parameters", order.parameters, "thread",
			 order.fork ? "fork" : "inline");
	return *ret ? 0 : memory_fail(err);
}
