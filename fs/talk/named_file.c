/* SPDX-License-Identifier: MIT */
/*
 * named_file.c - the files of a call by name: a draft, written anywhere as any file is; and
 * request.json as one open file sees it, whose bytes from the beginning on become a message.
 *
 * A message is one JSON object and blanks around it, a byte order mark before it. Its end is found
 * while it comes; the bytes themselves are kept as they came, for programs that compare what they
 * wrote. The message that was run last is remembered with its verdict: the same bytes through the
 * same open file (a library that writes again what failed) do not run again.
 *
 * Lock: the store's. Called by the FUSE threads.
 */
#include "talk/named.h"

#include "clock.h"
#include "scope.h"

#include <errno.h>
#include <fuse_lowlevel.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char blanks[] = " \t\r\n";

/* ---- changing the bytes, lock held ---- */

static int file_reserve(struct named_file *file, size_t size)
{
	size_t want = MAX_OF(size, MIN_OF(file->size * 2, (size_t)FEED_MAX));
	char *data;

	if (size > FEED_MAX)
		return EFBIG;
	if (size <= file->size)
		return 0;
	if (!named_make_room(file->call->named, want - file->size))
		return ENOSPC;
	data = realloc(file->data, want);
	if (!data)
		return ENOMEM;
	file->call->named->bytes += want - file->size;
	file->data = data;
	file->size = want;
	return 0;
}

static void file_changed(struct named_file *file)
{
	file->wrote_ns = clock_ns();
	clock_gettime(CLOCK_REALTIME, &file->mtime);
}

static int file_put(struct named_file *file, size_t off, struct rye_span bytes)
{
	int sys = off > FEED_MAX ? EFBIG : file_reserve(file, off + bytes.len);

	if (sys)
		return sys;
	if (off > file->len)
		memset(file->data + file->len, 0, off - file->len);
	if (bytes.len)
		memcpy(file->data + off, bytes.ptr, bytes.len);
	file->len = MAX_OF(file->len, off + bytes.len);
	file_changed(file);
	return 0;
}

/* ---- files ---- */

struct named_file *named_file_new(struct named_call *call, struct rye_span bytes, mode_t mode)
{
	struct named_file *file = calloc(1, sizeof(*file));
	int sys = 0;

	if (!file)
		return NULL;
	file->refs = 1;
	file->call = named_call_ref(call);
	file->number = ++call->named->files;
	file->mode = mode;
	feed_init(&file->feed);
	{
		GUARD(&call->named->lock);
		file->newest = call->number;
		sys = file_put(file, 0, bytes);
	}
	if (!sys)
		return file;
	named_file_unref(file);
	return NULL;
}

struct named_file *named_request(struct named_call *call)
{
	struct timespec at;
	auto_blob struct rye_blob *blob = named_text(call, NAMED_IS_REQUEST, &at);
	struct named_file *file;

	if (!blob)
		return NULL;
	file = named_file_new(call, (struct rye_span){ blob->data, blob->len }, 0600);
	if (file)
		file->mtime = at;
	return file;
}

struct named_file *named_file_ref(struct named_file *file)
{
	file->refs++;
	return file;
}

void named_file_unref(struct named_file *file)
{
	if (!file || --file->refs > 0)
		return;
	file->call->named->bytes -= file->size;
	named_call_unref(file->call);
	feed_done(&file->feed);
	rye_blob_unref(file->sent);
	caller_unref(file->writer);
	free(file->data);
	free(file);
}

void named_file_stat(struct named_file *file, struct stat *st)
{
	GUARD(&file->call->named->lock);
	st->st_mode = S_IFREG | file->mode;
	st->st_size = (off_t)file->len;
	st->st_blocks = (st->st_size + 511) / 512;
	st->st_atim = st->st_mtim = st->st_ctim = file->mtime;
}

struct rye_blob *named_file_blob(struct named_file *file)
{
	GUARD(&file->call->named->lock);
	return rye_blob_new(file->data, file->len);
}

size_t named_file_read(struct named_file *file, size_t off, char *ret, size_t size)
{
	size_t n = 0;

	GUARD(&file->call->named->lock);
	if (off < file->len)
		n = MIN_OF(size, file->len - off);
	if (n)
		memcpy(ret, file->data + off, n);
	return n;
}

static void file_begin_again(struct named_file *file)
{
	feed_restart(&file->feed);
	file->end = 0;
	file->complete = false;
}

int named_file_write(struct named_file *file, size_t off, struct rye_span bytes)
{
	GUARD(&file->call->named->lock);
	return file_put(file, off, bytes);
}

int named_file_resize(struct named_file *file, size_t size)
{
	int sys = 0;

	GUARD(&file->call->named->lock);
	if (size > file->len)
		sys = file_put(file, size, (struct rye_span){ NULL, 0 });
	else
		file_changed(file);
	if (!sys)
		file->len = size;
	if (size < file->end)
		file_begin_again(file);
	return sys;
}

void named_file_touch(struct named_file *file, const struct stat *want, int which)
{
	GUARD(&file->call->named->lock);
	if (which & FUSE_SET_ATTR_MODE)
		file->mode = want->st_mode & 0777;
	if (which & FUSE_SET_ATTR_MTIME_NOW)
		clock_gettime(CLOCK_REALTIME, &file->mtime);
	else if (which & FUSE_SET_ATTR_MTIME)
		file->mtime = want->st_mtim;
}

/* ---- messages ---- */

static size_t blank_bytes(struct rye_span bytes)
{
	size_t n = 0;

	while (n < bytes.len && bytes.ptr[n] && strchr(blanks, bytes.ptr[n]))
		n++;
	return n;
}

static int wrote_badly(struct named_wrote *ret, int sys, const char *why)
{
	if (why != ret->why)
		snprintf(ret->why, sizeof(ret->why), "%s", why);
	ret->sys = sys;
	return sys;
}

/* Up to the brace: a byte order mark at the beginning of the file, blanks. */
static size_t before_brace(struct rye_span bytes, bool first)
{
	static const char mark[] = "\xef\xbb\xbf";
	size_t n = 0;

	if (first && bytes.len >= 3 && memcmp(bytes.ptr, mark, 3) == 0)
		n = 3;
	return n + blank_bytes((struct rye_span){ bytes.ptr + n, bytes.len - n });
}

/* Feeds the next bytes of a file; first: they are its beginning. 0, maybe with ret->complete, or
 * an errno. */
static int message_feed(struct feed *feed, struct rye_span bytes, bool first,
			struct named_wrote *ret)
{
	size_t skip = feed_open(feed) ? 0 : before_brace(bytes, first), used;
	struct rye_span rest = { bytes.ptr + skip, bytes.len - skip };
	enum feed_verdict verdict;

	if (!feed_open(feed) && rest.len && *rest.ptr != '{')
		return wrote_badly(ret, EINVAL, "message broken: wanted one JSON object");
	verdict = feed_step(feed, rest, &used);
	if (verdict == FEED_MORE)
		return 0;
	if (verdict == FEED_GARBAGE)
		return wrote_badly(ret, feed->sys, feed->why);
	if (feed->form != RYE_FORM_JSON)
		return wrote_badly(ret, EINVAL, "message broken: wanted one JSON object");
	rest.ptr += used;
	rest.len -= used;
	if (blank_bytes(rest) < rest.len)
		return wrote_badly(ret, EINVAL,
				   "more than one JSON object: each call has a name of its own");
	ret->complete = true;
	return 0;
}

void named_message(struct rye_span bytes, struct named_wrote *ret)
{
	*ret = (struct named_wrote){ 0 };
	feed_init(&ret->feed);
	if (bytes.len > FEED_MAX)
		wrote_badly(ret, EFBIG, "message too big, wanted at most 16 MiB");
	else if (message_feed(&ret->feed, bytes, true, ret) == 0 && !ret->complete) {
		if (!feed_unfinished(&ret->feed, ret->why, sizeof(ret->why)))
			snprintf(ret->why, sizeof(ret->why),
				 "message empty: wanted one JSON object, {} for no parameters");
		wrote_badly(ret, EINVAL, ret->why);
	}
	if (ret->sys)
		feed_done(&ret->feed);
}

/* ---- request.json, lock held ---- */

static bool same_message(const struct rye_blob *sent, const struct named_file *file)
{
	size_t a = sent ? sent->len : 0, b = file->end;

	while (a && strchr(blanks, sent->data[a - 1]))
		a--;
	while (b && strchr(blanks, file->data[b - 1]))
		b--;
	return sent && a == b && memcmp(sent->data, file->data, a) == 0;
}

/* The message is there: to be run, unless it is the one that was run last. */
static int file_complete(struct named_file *file, struct named_wrote *ret)
{
	ret->complete = false;
	file->complete = true;
	file->len = file->end;
	if (same_message(file->sent, file)) {
		feed_restart(&file->feed);
		return file->verdict;
	}
	ret->request = rye_blob_new(file->data, file->len);
	if (!ret->request)
		return ENOMEM;
	rye_blob_unref(file->sent);
	file->sent = rye_blob_ref(ret->request);
	file->verdict = EINPROGRESS;
	ret->feed = file->feed;
	feed_init(&file->feed);
	ret->complete = true;
	return 0;
}

/* Behind the message: blank lines belong to it. */
static int file_go_on(struct named_file *file, struct rye_span bytes, struct named_wrote *ret)
{
	int sys;

	if (blank_bytes(bytes) < bytes.len)
		return wrote_badly(ret, EINVAL,
				   "more than one JSON object: each call has a name of its own");
	sys = file_put(file, file->end, bytes);
	if (sys)
		return sys;
	file->end += bytes.len;
	ret->request = rye_blob_new(file->data, file->len);
	ret->more = ret->request != NULL;
	ret->newest = file->newest;
	return 0;
}

/* The end of what was run, as it was written before: sent again, by a library that was told of a
 * failure. */
static bool is_again(const struct named_file *file, size_t off, struct rye_span bytes)
{
	return file->complete && bytes.len && off + bytes.len == file->end &&
	       memcmp(file->data + off, bytes.ptr, bytes.len) == 0;
}

static int file_say(struct named_file *file, size_t off, struct rye_span bytes,
		    struct named_wrote *ret)
{
	int sys;

	if (is_again(file, off, bytes))
		return file->verdict;
	if (off == 0)
		file_begin_again(file);
	if (off != file->end)
		return wrote_badly(ret, EINVAL,
				   "request.json is written from its beginning on, in order");
	if (file->complete)
		return file_go_on(file, bytes, ret);
	sys = file_put(file, off, bytes);
	if (!sys)
		sys = message_feed(&file->feed, bytes, off == 0, ret);
	if (sys) {
		file_begin_again(file);
		return sys;
	}
	file->end += bytes.len;
	ret->waits = feed_open(&file->feed);
	return ret->complete ? file_complete(file, ret) : 0;
}

void named_file_say(struct named_file *file, size_t off, struct rye_span bytes,
		    struct named_wrote *ret)
{
	*ret = (struct named_wrote){ 0 };
	GUARD(&file->call->named->lock);
	ret->sys = file_say(file, off, bytes, ret);
}

void named_file_said(struct named_file *file, uint64_t number, int verdict)
{
	GUARD(&file->call->named->lock);
	file->verdict = verdict;
	file->newest = number;
}

struct caller *named_file_unfinished(struct named_file *file, int64_t pause_ns, char why[FEED_WHY])
{
	GUARD(&file->call->named->lock);
	if (clock_ns() - file->wrote_ns < pause_ns || file->call->number != file->newest ||
	    !feed_unfinished(&file->feed, why, FEED_WHY))
		return NULL;
	return steal(&file->writer);
}

void named_file_await(struct named_file *file, struct caller *writer)
{
	GUARD(&file->call->named->lock);
	caller_unref(file->writer);
	file->writer = caller_ref(writer);
}
