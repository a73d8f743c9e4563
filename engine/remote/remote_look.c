/* SPDX-License-Identifier: MIT */
/*
 * A look at a remote: is it there, is it the pinned one, does it know us, what does it offer. Waits for
 * the answer at most as long as a connection is waited for.
 */
#include "remote/remote_inner.h"

#include "clock.h"
#include "memory.h"
#include "str.h"

int remote_look(const struct item_env *env, const struct remote *remote, json_t **ret,
		struct rye_err *err)
{
	auto_remote_link struct remote_link link = { 0 };
	auto_json json_t *body = json_object(), *info = NULL, *runs = NULL;
	struct conn_ask ask = { .type = FRAME_INFO, .body = body };
	struct rye_err why = { 0 };
	int r = remote_open_conn(env, remote, &link, err);

	if (r < 0)
		return r;
	ask.until = clock_ms() + REMOTE_CONNECT_MS;
	r = conn_ask(link.conn, &ask, &info, &why);
	if (r < 0) {
		r = remote_told(remote->name, &why);
		if (err)
			*err = why;
	}
	/* what is begun elsewhere is told here as of the last look */
	if (!r && json_lists(json_object_get(info, "offers"), "LIST"))
		remote_runs(env, remote, link.conn, &runs, NULL);
	contact_note(env, remote->name, r < 0 ? &why : NULL, info);
	if (!r && ret)
		*ret = steal(&info);
	return r;
}

void remote_sentence(const json_t *info, char *ret, size_t size)
{
	const json_t *workers = json_object_get(info, "workers");
	json_int_t n = json_integer_value(workers);

	if (*json_str(info, "fault"))
		snprintf(ret, size, "reachable, pinned, knows me; it says: %.120s",
			 json_str(info, "fault"));
	else if (n > 0)
		snprintf(ret, size, "reachable, pinned, knows me, %lld worker%s", (long long)n,
			 PLURAL(n));
	else
		snprintf(ret, size, "reachable, pinned, knows me");
}
