/* SPDX-License-Identifier: MIT */
/*
 * What a thread's directory says of it: which of the files of a thread lie in it, and what those say
 * that tell the thread's state. With its lock that is the truth: the registry's row is made of it
 * (thread_row.c). Whatever wants to know what a directory holds asks here. No lock; changes nothing.
 */
#include "thread/thread_inner.h"

#include "base/io.h"
#include "bounds.h"
#include "memory.h"
#include "proc.h"
#include "scope.h"
#include "str.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Those that are shown in a mount in the order in which they are listed. */
const struct thread_file thread_files[] = {
	{ CANCEL_MARK, HAS_CANCELLED, true },
	{ "capabilities.md", HAS_OFFER, true },
	{ "changes.json", HAS_CHANGES, true },
	{ "diagnostics.json", HAS_DIAGNOSTICS, true },
	{ "late.json", HAS_LATE, true },
	{ "live", HAS_LIVE, true },
	{ "output", HAS_OUTPUT, true },
	{ "receipt.json", HAS_RECEIPT, true },
	{ REMOTE_FILE, HAS_REMOTE, true },
	{ "request.json", HAS_REQUEST, true },
	{ THREAD_RESULT_FILE, HAS_RESULT, true },
	{ "spawn.log", HAS_LOG, true },
	{ "spawn_params.json", HAS_PARAMS, true },
	{ "thread.json", HAS_RECORD, true },
	{ THREAD_STORY_FILE, HAS_STORY, true },
	{ ".lock", HAS_LOCK, false },
	{ REGISTRY_ROW, HAS_ROW, false },
	{ "runner.json", HAS_RUNNER, false },
	{ ADOPTED_MARK, HAS_ADOPTED, false },
	{ KILLED_MARK, HAS_KILLED, false },
	{ NULL, 0, false },
};

const struct thread_file *thread_file(const char *name)
{
	for (const struct thread_file *file = thread_files; file->name; file++)
		if (!strcmp(file->name, name))
			return file;
	return NULL;
}

static json_t *read_doc(int dir, const char *name, struct thread_read *read)
{
	auto_blob struct rye_blob *text = NULL;
	int r = io_read_at(dir, name, RYE_BUF_CAP, &text);
	json_t *doc = NULL;

	read->scarce |= r < 0 && proc_is_short(r);
	if (r >= 0)
		doc = json_parse((struct rye_span){ text->data, text->len }, JSON_LOAD_LAST_WINS,
				 name, NULL);
	if (doc && !strcmp(name, THREAD_RESULT_FILE))
		read->result_text = steal(&text);
	return doc;
}

void thread_read(int dir, const char *id, unsigned docs, struct thread_read *ret)
{
	unsigned long since = memory_failures();

	*ret = (struct thread_read){ .has = 0 };
	if (dir < 0)
		return;
	for (const struct thread_file *file = thread_files; file->name; file++)
		if (!faccessat(dir, file->name, F_OK, AT_SYMLINK_NOFOLLOW))
			ret->has |= file->bit;
	docs &= ret->has;
	if (docs & HAS_RECORD)
		ret->record = read_doc(dir, "thread.json", ret);
	if (docs & HAS_REQUEST)
		ret->request = read_doc(dir, "request.json", ret);
	if (docs & HAS_RESULT)
		ret->result = read_doc(dir, THREAD_RESULT_FILE, ret);
	if (docs & HAS_ROW)
		ret->told = registry_row_told(dir, id);
	if (docs & HAS_RUNNER)
		ret->named = runner_read(dir, &ret->runner);
	ret->scarce |= memory_failures() != since;
}

void thread_read_done(struct thread_read *read)
{
	json_decref(read->record);
	json_decref(read->request);
	json_decref(read->result);
	json_decref(read->told);
	rye_blob_unref(read->result_text);
}

/*
 * A result alone is nothing that a launcher has left. One that has come no further than its request
 * has no row yet, and holds the lock.
 */
bool thread_is_begun(int dir, const struct thread_read *read)
{
	auto_close int lock = -1;

	if (read->has & (HAS_RECORD | HAS_STORY))
		return true;
	if (!(read->has & HAS_REQUEST))
		return false;
	if (read->has & (HAS_LOG | HAS_RESULT))
		return true;
	if (!(read->has & HAS_RUNNER))
		return false;
	lock = thread_lock(dir);
	return lock >= 0;
}
