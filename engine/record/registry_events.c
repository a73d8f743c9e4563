/* SPDX-License-Identifier: MIT */
/*
 * The threads' events: a line of JSON for each change of a row, in a file beside the registry that
 * followers read; and in the thread's own directory, before the row has it. Every process that changes a
 * row appends by itself, one write a line; no lock. A change whose line beside the registry could not be
 * written has happened all the same.
 */
#include "record/record_inner.h"

#include "clock.h"
#include "scope.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

static json_t *events_line(const struct registry_event *event)
{
	json_t *doc = json_pack("{s:s, s:s, s:s}", "timestamp", event->at, "thread_id", event->id,
				"event", event->event);

	if (event->directive)
		json_sets(doc, "directive", event->directive);
	return doc;
}

/* Takes the line. 0 or -errno; ret_size: how long the file was before. */
static int events_append(int dir, const char *name, json_t *taken, off_t *ret_size)
{
	auto_close int fd =
		openat(dir, name,
		       O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	auto_buf struct rye_buf line = RYE_BUF_INIT;
	auto_json json_t *doc = taken;
	struct stat st;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	json_put(&line, doc, true);
	if (!doc || line.failed)
		return -ENOMEM;
	*ret_size = st.st_size;
	n = write(fd, line.data, line.len);
	if (n == (ssize_t)line.len)
		return 0;
	/* half a line would spoil the next one */
	return n < 0 ? -errno : ftruncate(fd, st.st_size) < 0 ? -errno : -ENOSPC;
}

void registry_tell(struct db *db, const struct registry_event *event)
{
	auto_close int dir = events_dir(db);
	off_t size;

	if (dir >= 0 && !events_append(dir, REGISTRY_EVENTS, events_line(event), &size) &&
	    size > EVENTS_MAX)
		(void)!renameat(dir, REGISTRY_EVENTS, dir, REGISTRY_EVENTS_OLD);
}

int registry_row_new(int dir, const struct registry_new *what)
{
	json_t *line = events_line(
		&(struct registry_event){ what->id, "created", what->at, what->directive });
	off_t size;

	if (what->parent_id)
		json_sets(line, "parent_id", what->parent_id);
	if (what->tool_id)
		json_sets(line, "tool_id", what->tool_id);
	return events_append(dir, REGISTRY_ROW, line, &size);
}

int registry_row_tell(int dir, const char *id, const char *event)
{
	char now[40];
	off_t size;

	clock_iso_us(now);
	return events_append(dir, REGISTRY_ROW,
			     events_line(&(struct registry_event){ id, event, now, NULL }), &size);
}
