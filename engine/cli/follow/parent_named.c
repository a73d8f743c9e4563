/* SPDX-License-Identifier: MIT */
/*
 * Before a command starts a thread: does it stand below another one? The reference takes the new thread's
 * parent from RYE_PARENT_THREAD_ID; here only the process of a thread hands on what a child of it may do
 * and spend, so neither a name nor being started by a thread's tool makes a parent. A thread that is started
 * all the same would be one of its own, beyond the limits that the caller is held to: it is refused instead.
 */
#include "cli/follow/follow.h"

#include "proc.h"
#include "scope.h"
#include "str.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAME "RYE_PARENT_THREAD_ID"
#define MEND "; " MEND_WITH "unset " NAME

static int parent_refused(struct cli *cli, const char *id, struct rye_err *err)
{
	auto_free char *status = threads_fact(cli, id, "status");
	auto_free char *alive = threads_fact(cli, id, "alive");

	if (!status)
		return rye_fail(err, RYE_NOT_FOUND,
				"the parent thread %.300s, which " NAME
				" names, is none of %.300s" MEND,
				id, cli->project);
	if (!alive || strcmp(alive, "1") != 0)
		return rye_fail(err, RYE_BUSY,
				"the parent thread %.300s, which " NAME
				" names, has ended: %.40s" MEND,
				id, status);
	return rye_fail(err, RYE_DENIED,
			"the parent thread %.300s, which " NAME
			" names, has not asked for this child: "
			"only the model of a thread starts threads below it" MEND,
			id);
}

/* A process with more ancestors than that is believed to have this one. */
#define PARENT_ANCESTORS 256

static bool is_above(pid_t wanted)
{
	struct proc_stat stat;
	pid_t pid = getppid();

	for (int i = 0; i < PARENT_ANCESTORS && pid != wanted; i++) {
		if (pid <= 1 || proc_stat(pid, &stat) < 0)
			return false;
		pid = stat.ppid;
	}
	return true;
}

/* One row of registry.tsv: its first column and its last. */
static bool is_parent_row(struct cli *cli, struct rye_span line, char ret[RYE_THREAD_ID_ROOM])
{
	const char *tab = memchr(line.ptr, '\t', line.len);
	const char *last = memrchr(line.ptr, '\t', line.len);
	pid_t pid = last ? (pid_t)strtol(last + 1, NULL, 10) : 0;
	auto_free char *alive = NULL;
	auto_free char *model = NULL;

	if (pid <= 1 || !is_above(pid))
		return false;
	snprintf(ret, RYE_THREAD_ID_ROOM, "%.*s", (int)(tab - line.ptr), line.ptr);
	alive = threads_fact(cli, ret, "alive");
	model = threads_fact(cli, ret, "model");
	return alive && model && !strcmp(alive, "1");
}

/* The living thread of a model whose tool has started this command. */
static bool parent_above(struct cli *cli, char ret[RYE_THREAD_ID_ROOM])
{
	auto_blob struct rye_blob *text = NULL;
	struct rye_span rest, line;

	if (rye_thread_file(cli->rye, "", "registry.tsv", &text, NULL))
		return false;
	rest = (struct rye_span){ text->data, text->len };
	while (span_line(&rest, &line))
		if (is_parent_row(cli, line, ret))
			return true;
	return false;
}

int parent_check(struct cli *cli)
{
	const char *named = getenv(NAME);
	char above[RYE_THREAD_ID_ROOM];
	struct rye_err err = { 0 };

	if (named && *named)
		parent_refused(cli, named, &err);
	else if (parent_above(cli, above))
		rye_fail(
			&err, RYE_DENIED,
			"Permission denied: a tool of thread %.300s starts none: only the model of "
			"a thread starts threads below it",
			above);
	return err.code == RYE_OK ? CLI_OK : cli_fail(cli, &err, NULL);
}
