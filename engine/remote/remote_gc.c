/* SPDX-License-Identifier: MIT */
/*
 * What lies on a remote and is needed no more goes, or is told; and the sentence of a push for which there was no room.
 * Waits for the network. No lock.
 */
#include "remote/remote.h"

#include "clock.h"
#include "memory.h"
#include "scope.h"

#include <errno.h>

/* Milliseconds: every manifest of a month may have to be read there. */
#define GC_MS (15 * 60 * 1000)

int remote_gc(const struct remote *remote, struct conn *conn, bool dry, json_t **ret,
	      struct rye_err *err)
{
	auto_json json_t *body = json_pack("{s:b}", "dry_run", dry);
	const struct conn_ask ask = { .type = FRAME_GC, .body = body, .until = clock_ms() + GC_MS };
	struct rye_err own = { 0 };

	err = err ? err : &own;
	return conn_ask(conn, &ask, ret, err) ? rye_wrap(err, "%s", remote->name) : 0;
}

/* "9.9", "10"; a byte that is used is no 0. */
static const char *sized(double bytes, double unit, char ret[32])
{
	int n = snprintf(ret, 32, "%.1f", bytes > 0 && bytes < unit / 10 ? 0.1 : bytes / unit);

	if (n > 2 && ret[n - 1] == '0')
		ret[n - 2] = '\0';
	return ret;
}

int remote_full(const struct item_env *env, const struct remote *remote, struct rye_err *err)
{
	struct remote_link link = { .conn = NULL };
	auto_key struct key_secret own = { 0 };
	auto_json json_t *doc = NULL;
	struct rye_err why = { 0 };
	int r = remote_open_conn(env, remote, &link, &why);
	double limit, freed, unit;
	char used[32], most[32], more[32];

	if (!r)
		r = remote_gc(remote, link.conn, true, &doc, &why);
	remote_link_done(&link);
	if (r)
		return -(int)err->code; /* as the node has said it */
	limit = (double)json_int(doc, "limit", 0);
	freed = (double)json_int(doc, "freed", 0);
	unit = limit < (double)(1 << 30) ? 1 << 20 : 1 << 30;
	sized((double)json_int(doc, "used", 0), unit, used);
	sized(limit, unit, most);
	if (freed > 0)
		r = rye_fail(
			err, RYE_BUDGET,
			"%s of %s %s of yours on %s are used; ryefs remote gc %s would free %s\n" MEND_WITH
			"ryefs remote gc %s",
			used, most, unit > 1 << 20 ? "GB" : "MB", remote->name, remote->name,
			sized(freed, unit, more), remote->name);
	else
		r = rye_fail(
			err, RYE_BUDGET,
			"%s of %s %s of yours on %s are used, and all of it is needed; its owner "
			"gives more by ryefs node admit %s bytes=20G",
			used, most, unit > 1 << 20 ? "GB" : "MB", remote->name,
			keystore_load(env->spaces, &own, NULL) ? "FP" : own.pub.fp);
	err->sys = EDQUOT;
	return r;
}
