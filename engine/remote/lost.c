/* SPDX-License-Identifier: MIT */
/*
 * lost.c: runs whose worker was not heard any more. Each has a mark, .ai/state/remotes/NAME/lost/ID, with the digest of
 * its order. Whenever that remote is connected to, the node is asked whether a result came after all: its
 * receipt then becomes late.json of the thread, and changes nothing else. No lock.
 */
#include "remote/remote_inner.h"

#include "base/io.h"
#include "clock.h"
#include "memory.h"
#include "order/order.h"
#include "scope.h"
#include "space/space.h"
#include "str.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define LOST_DIR "lost"
#define LOST_ASK_MS 10000
/* At one connection; the next one asks for others. */
#define LOST_MOST 16

int remote_lost_note(const struct item_env *env, const char *remote, const struct order *order,
		     struct rye_err *err)
{
	auto_close int state = remote_state_dir(env, remote, true);
	char path[ID_UUID_MAX + 16];
	int r = state < 0 ? state : io_mkdirs_at(state, LOST_DIR, 0700);

	snprintf(path, sizeof(path), LOST_DIR "/%s", order->id);
	if (r >= 0)
		r = io_replace_at(state, path, span_of(order->sha), 0600);
	return r < 0 ? rye_fail_sys(err, -r, "state/remotes/%s/%s", remote, path) : 0;
}

bool remote_lost_forget(const struct item_env *env, const char *id)
{
	auto_json json_t *names = NULL;
	const json_t *name;
	char path[ID_UUID_MAX + 16], late[ID_UUID_MAX + 32];
	bool was = false;
	size_t i;

	if (!id_is_uuid(id) || remote_names(env, &names, NULL))
		return false;
	snprintf(path, sizeof(path), LOST_DIR "/%s", id);
	snprintf(late, sizeof(late), "%s.late", path);
	json_array_foreach(names, i, name) {
		auto_close int state = remote_state_dir(env, json_string_value(name), false);

		was |= state >= 0 && unlinkat(state, path, 0) == 0;
		if (state >= 0)
			unlinkat(state, late, 0);
	}
	return was;
}

static int late_write(const struct item_env *env, const char *id, const char *text)
{
	auto_close int ai = io_open_dir(env->spaces->v[0].root, ".ai", false);
	char path[ID_UUID_MAX + 32];

	snprintf(path, sizeof(path), "state/threads/%s/late.json", id);
	return ai < 0 ? ai : io_replace_at(ai, path, span_of(text), 0600);
}

/* True: there is nothing more to ask for. */
static bool late_take(const struct item_env *env, const struct remote_link *link, const char *id,
		      int dir)
{
	auto_json json_t *body =
		json_pack("{s:s, s:s, s:i, s:b}", "run", id, "file", "late.json", "offset", 0,
			  "once", true); /* it may go on there: nothing here waits for that */
	const struct conn_ask ask = { .type = FRAME_FOLLOW,
				      .body = body,
				      .until = clock_ms() + LOST_ASK_MS };
	struct receipt_want want = { .node = &link->pin.key, .id = id };
	auto_receipt struct receipt receipt = { .gen = 0 };
	auto_blob struct rye_blob *sha = NULL;
	auto_json json_t *reply = NULL;
	struct rye_err err = { 0 };
	const char *text;

	if (io_read_at(dir, id, SHA_HEX, &sha) || conn_ask(link->conn, &ask, &reply, &err))
		return err.code == RYE_NOT_FOUND;
	want.order = sha->data;
	text = json_str(reply, "late");
	/* it was lost, and an idempotent one may have been done again */
	if (!*text)
		text = json_str(reply, "receipt");
	return *text && !receipt_read(span_of(text), &receipt, &err) &&
	       !receipt_check(&receipt, &want, &err) && late_write(env, id, text) >= 0;
}

void remote_late(const struct item_env *env, const struct remote *remote,
		 const struct remote_link *link)
{
	auto_close int state = remote_state_dir(env, remote->name, false);
	auto_close int dir = state < 0 ? -1 :
					 io_open_beneath(state, LOST_DIR, O_RDONLY | O_DIRECTORY);
	int copy = dir < 0 ? -1 : dup(dir);
	auto_dir DIR *list = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *entry;

	for (int n = 0; list && n < LOST_MOST && (entry = readdir(list));) {
		char done[ID_UUID_MAX + 16];

		if (!id_is_uuid(entry->d_name))
			continue;
		n++;
		snprintf(done, sizeof(done), "%.36s.late", entry->d_name);
		/* the mark stays until it is forgotten: its money is held by it */
		if (!faccessat(dir, done, F_OK, 0) || !late_take(env, link, entry->d_name, dir))
			continue;
		io_replace_at(dir, done, SPAN(""), 0600);
	}
}
