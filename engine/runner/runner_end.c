/* SPDX-License-Identifier: MIT */
/*
 * How a runner ends its thread: the reply goes to spawn.log, then the record is written, again
 * and again where a disk is full; not where the thread's directory is gone.
 */
#include "runner/runner_inner.h"

#include "fork/fork.h"
#include "scope.h"

#include <stdio.h>
#include <unistd.h>

/* Seconds that a result waits for room on a full disk. */
#define RECORD_TRIES 60

int runner_end(const struct orders *orders, const char *status, const struct rye_outcome *outcome,
	       const struct live *live)
{
	int r = 1;

	printf("%s%s", live && live->last && live->last != '\n' ? "\n" : "", outcome->reply->data);
	fflush(stdout);
	for (int i = 0; i < RECORD_TRIES && r; i++) {
		if (i && orders_gone(orders))
			break;
		if (i)
			sleep(1);
		r = orders_end(orders, status, outcome) ? 1 : 0;
	}
	return r;
}

/* Before its row says that it is over: what its parent has reserved for it goes back. */
static void end_unbegun(const struct orders *orders)
{
	struct rye_err err = { 0 };

	for (int i = 0; i < RECORD_TRIES; i++) {
		if (!ledger_settle(orders_project(orders), orders_thread(orders), "error", &err) ||
		    !err_scarce(&err) || orders_gone(orders))
			break;
		sleep(1);
	}
}

int runner_fail(const struct orders *orders, const struct rye_err *err)
{
	struct rye_outcome outcome = { .code = err->code };
	auto_json json_t *reply = json_object();
	int r;

	json_sets(reply, "status", "error");
	json_sets(reply, "error", err->msg);
	outcome.reply = json_blob(reply, false);
	end_unbegun(orders);
	r = outcome.reply ? runner_end(orders, "error", &outcome, NULL) : 1;
	rye_blob_unref(outcome.reply);
	return r;
}
