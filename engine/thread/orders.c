/* SPDX-License-Identifier: MIT */
/*
 * The runner's end of what spawn_runner.c hands over: its orders, the thread's directory and lock,
 * and how it records the thread's end. Called by the room runner only, in a process that is a
 * runner. A process that ends without a record is found by the watching worker.
 */
#include "thread/thread_inner.h"

#include "base/io.h"
#include "bounds.h"
#include "scope.h"
#include "str.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

void orders_done(struct orders *orders)
{
	json_decref(orders->doc);
	if (orders->dir >= 0)
		close(orders->dir);
}

const char *orders_project(const struct orders *orders)
{
	return json_str(json_object_get(orders->doc, "options"), "project");
}

const char *orders_thread(const struct orders *orders)
{
	return json_str(orders->doc, "thread_id");
}

int orders_take(struct orders *ret, struct rye_err *err)
{
	auto_orders struct orders orders = ORDERS_INIT;
	struct rye_blob *blob = NULL;
	auto_close int root = -1;

	if (fcntl(ORDERS_FD, F_GETFD) < 0 ||
	    io_read_fd(ORDERS_FD, RYE_MESSAGE_MAX * 2, &blob, NULL) < 0)
		return rye_fail(err, RYE_INVALID, "is started by the engine, not by hand");
	io_cloexec(LOCK_FD);
	close(ORDERS_FD);
	orders.doc = json_parse((struct rye_span){ blob->data, blob->len }, 0, "orders", err);
	rye_blob_unref(blob);
	if (!orders.doc)
		return -(int)err->code;
	root = thread_root(orders_project(&orders), false, err);
	orders.dir = root < 0 ? root : thread_dir(root, orders_thread(&orders), false, err);
	if (orders.dir < 0)
		return -(int)err->code;
	*ret = orders;
	orders = ORDERS_INIT;
	return 0;
}

int orders_begin(const struct orders *orders, struct rye_err *err)
{
	char byte;

	/* no handler is installed that could interrupt it */
	while (read(GO_FD, &byte, 1) > 0)
		;
	close(GO_FD);
	return runner_write(orders->dir, getpid(), err);
}

void orders_stopping(const struct orders *orders)
{
	thread_write(orders->dir, CANCEL_MARK, SPAN(""), NULL);
}

int orders_end(const struct orders *orders, const char *status, const struct rye_outcome *outcome)
{
	const struct registry_ask ask = { .project = orders_project(orders),
					  .passing = json_flag(orders->doc, "passing", false) };
	struct db *db = NULL;
	int r;

	if (registry_of(&ask, &db, NULL))
		return -(int)RYE_IO;
	r = threads_record_end(db, orders->dir, orders_thread(orders), status, outcome,
			       ask.passing);
	db_close(db);
	return r;
}

bool orders_gone(const struct orders *orders)
{
	struct stat st;

	return fstat(orders->dir, &st) == 0 && st.st_nlink == 0;
}
