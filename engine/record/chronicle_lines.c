/* SPDX-License-Identifier: MIT */
/*
 * chronicle_lines.c - the lines of a transcript one by one, of memory or of the file: of that one a window
 * of a line's length is in memory, however long it is. Called by the other files of chronicles; no lock.
 */
#include "record/record_inner.h"

#include "bounds.h"
#include "memory.h"
#include "scope.h"
#include "str.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Read at once; a longer line makes the window grow. */
#define WINDOW (256u << 10)

void lines_done(struct lines *lines)
{
	if (lines->fd >= 0)
		close(lines->fd);
	free(lines->room);
}

static int lines_fail(const struct lines *lines, int sys, struct rye_err *err)
{
	return rye_fail_sys(err, sys, "%.700s/" TRANSCRIPT_FILE, lines->record->id);
}

int lines_open(struct lines *lines, const struct chronicle_source *source, struct rye_err *err)
{
	struct stat st;

	*lines = (struct lines){ .record = source->record,
				 .fd = -1,
				 .rest = source->text,
				 .len = source->text.len };
	if (!source->record)
		return 0;
	lines->fd = openat(source->record->dir, TRANSCRIPT_FILE,
			   O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (lines->fd < 0 || fstat(lines->fd, &st) < 0)
		return lines_fail(lines, errno, err);
	if (!S_ISREG(st.st_mode))
		return lines_fail(lines, EINVAL, err);
	lines->len = lines->left = MIN_OF((uint64_t)st.st_size, source->upto);
	return 0;
}

static int lines_grow(struct lines *lines, struct rye_err *err)
{
	size_t used = lines->rest.len, size = MAX_OF(lines->size * 2, (size_t)WINDOW);
	char *room;

	if (used >= RYE_BUF_CAP)
		return rye_fail(err, RYE_TOO_BIG,
				"%.700s/" TRANSCRIPT_FILE " has a line of more than %u MiB",
				lines->record->id, RYE_BUF_CAP >> 20);
	room = malloc(size);
	if (!room)
		return memory_fail(err);
	if (used)
		memcpy(room, lines->rest.ptr, used);
	free(lines->room);
	lines->room = room;
	lines->size = size;
	return 0;
}

/* More of the file, behind what is left of the window. */
static int lines_fill(struct lines *lines, struct rye_err *err)
{
	size_t used = lines->rest.len;
	ssize_t n;
	int r;

	if (lines->size - used < WINDOW / 2) {
		r = lines_grow(lines, err);
		if (r)
			return r;
	} else if (used && lines->rest.ptr != lines->room) {
		memmove(lines->room, lines->rest.ptr, used);
	}
	do {
		n = pread(lines->fd, lines->room + used,
			  (size_t)MIN_OF((uint64_t)(lines->size - used), lines->left),
			  (off_t)(lines->len - lines->left));
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return lines_fail(lines, errno, err);
	lines->rest = (struct rye_span){ lines->room, used + (size_t)n };
	/* it was cut meanwhile: what is gone is not there */
	lines->left = n ? lines->left - (uint64_t)n : 0;
	return 0;
}

int lines_next(struct lines *lines, struct rye_span *ret, struct rye_err *err)
{
	size_t seen = 0;
	const char *end;
	int r;

	lines->begin = lines->at;
	while (!(end = lines->rest.len > seen ?
			       memchr(lines->rest.ptr + seen, '\n', lines->rest.len - seen) :
			       NULL) &&
	       lines->left) {
		seen = lines->rest.len;
		r = lines_fill(lines, err);
		if (r)
			return r;
	}
	lines->whole = end;
	if (!lines->rest.len)
		return 0;
	*ret = (struct rye_span){ lines->rest.ptr,
				  end ? (size_t)(end - lines->rest.ptr) : lines->rest.len };
	lines->rest = span_skip(lines->rest, ret->len + (end ? 1 : 0));
	lines->at += ret->len + (end ? 1 : 0);
	return 1;
}

/* The digest of the file's first bytes; of what is no file, of the text that it was. */
int lines_digest(const struct lines *lines, struct rye_span text, uint64_t upto, char ret[SHA_HEX])
{
	__attribute__((cleanup(lines_done))) struct lines again = { .fd = -1 };
	struct sha_run *run = sha_run_new();
	struct rye_span line;

	if (!run)
		return -ENOMEM;
	if (lines_open(&again, lines->fd < 0 ? CHRONICLE_TEXT(text) : CHRONICLE_FILE(lines->record),
		       NULL))
		again.left = 0;
	while (again.at < upto && lines_next(&again, &line, NULL) > 0)
		sha_run_add(run, (struct rye_span){ line.ptr, (size_t)MIN_OF(upto, again.at) -
								      (size_t)again.begin });
	sha_run_hex(run, ret);
	sha_run_free(run);
	return 0;
}
