/* SPDX-License-Identifier: MIT */
/*
 * The threads' events: a line of JSON for each change of a row, in a file beside the registry that
 * followers read. Every process that changes a row appends by itself, one write a line; no lock. A
 * change whose line could not be written has happened all the same.
 */
#include "record/record_inner.h"

#include "scope.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Bytes; some 50 000 lines. */
#define EVENTS_MAX (8 << 20)

static int events_dir(const struct db *db)
{
	auto_buf struct rye_buf path = RYE_BUF_INIT;
	const char *slash = strrchr(db->path, '/');

	buf_add(&path, db->path, slash ? (size_t)(slash - db->path) : 0);
	if (path.failed || !path.len)
		return -1;
	return open(path.data, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

void registry_tell(struct db *db, const struct registry_event *event)
{
	auto_close int dir = events_dir(db);
	auto_close int fd = dir < 0 ? -1 :
				      openat(dir, REGISTRY_EVENTS,
					     O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW |
						     O_NONBLOCK | O_CLOEXEC,
					     0600);
	auto_buf struct rye_buf line = RYE_BUF_INIT;
	auto_json json_t *doc = NULL;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return;
	doc = json_pack("{s:s, s:s, s:s}", "timestamp", event->at, "thread_id", event->id, "event",
			event->event);
	if (event->directive)
		json_sets(doc, "directive", event->directive);
	json_put(&line, doc, true);
	if (!doc || line.failed || write(fd, line.data, line.len) < 0)
		return;
	if (st.st_size > EVENTS_MAX)
		(void)!renameat(dir, REGISTRY_EVENTS, dir, REGISTRY_EVENTS_OLD);
}
