/* SPDX-License-Identifier: MIT */
/*
 * Messages on their way to a client, in the order in which they come, from any thread, to the one that
 * writes them: the writer of standard output, or the thread of a connection of HTTP, which
 * watches for the client's leaving as well. A call whose client has gone may still tell its end here: the
 * reply lives as long as the requests do.
 *
 * Lock: `lock` of struct serve_reply, the queue.
 */
#include "mcp/server/server_inner.h"

#include "clock.h"

#include <poll.h>
#include <stdatomic.h>
#include <sys/eventfd.h>

/* What waits for a reader that is slow: some big answers at once. */
#define REPLY_MAX (256u << 20)

void serve_part_free(struct serve_part *part)
{
	if (part)
		free(part->text);
	free(part);
}

static struct serve_part *part_new(enum serve_sort sort, const json_t *message, bool last)
{
	auto_buf struct rye_buf text = { .cap = REPLY_MAX };
	struct serve_part *part = calloc(1, sizeof(*part));

	if (!part)
		return NULL;
	json_put(&text, message, sort == SERVE_LINES);
	part->len = text.len;
	part->text = buf_steal(&text);
	part->last = last;
	part->code = (int)json_int(json_object_get(message, "error"), "code", 0);
	if (part->text)
		return part;
	free(part);
	return NULL;
}

/* With the lock held: at the end, or, of one that is too much or was never made, the end of all. */
static void reply_add(struct serve_reply *reply, struct serve_part *part)
{
	reply->broken |= !part || reply->bytes + part->len > REPLY_MAX;
	if (reply->broken) {
		serve_part_free(part);
		return;
	}
	reply->bytes += part->len;
	*reply->end = part;
	reply->end = &part->next;
}

void serve_reply_put(struct serve_reply *reply, const json_t *message, bool last)
{
	struct serve_part *part = NULL;
	bool ends = last && reply->sort != SERVE_LINES;

	if (reply->sort == SERVE_ONE && !last)
		return;
	if (message)
		part = part_new(reply->sort, message, last);
	{
		GUARD(&reply->lock);
		reply->over |= ends;
		if (message)
			reply_add(reply, part);
	}
	(void)!eventfd_write(reply->wake, 1);
}

struct serve_reply *serve_reply_ref(struct serve_reply *reply)
{
	atomic_fetch_add(&reply->refs, 1);
	return reply;
}

void serve_reply_unref(struct serve_reply *reply)
{
	struct serve_part *part;

	if (!reply || atomic_fetch_sub(&reply->refs, 1) != 1)
		return;
	while ((part = reply->parts)) {
		reply->parts = part->next;
		serve_part_free(part);
	}
	close(reply->wake);
	pthread_mutex_destroy(&reply->lock);
	free(reply);
}

struct serve_reply *serve_reply_new(enum serve_sort sort)
{
	struct serve_reply *reply = calloc(1, sizeof(*reply));

	if (!reply)
		return NULL;
	reply->refs = 1;
	reply->sort = sort;
	reply->end = &reply->parts;
	reply->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	pthread_mutex_init(&reply->lock, NULL);
	if (reply->wake >= 0)
		return reply;
	serve_reply_unref(reply);
	return NULL;
}

void serve_reply_end(struct serve_reply *reply)
{
	{
		GUARD(&reply->lock);
		reply->over = true;
	}
	(void)!eventfd_write(reply->wake, 1);
}

bool serve_reply_done(struct serve_reply *reply)
{
	GUARD(&reply->lock);
	return !reply->parts && !reply->busy;
}

/* What there is without waiting; SERVE_TIME: nothing. */
static enum serve_wait reply_take(struct serve_reply *reply, struct serve_part **ret)
{
	GUARD(&reply->lock);
	*ret = reply->broken ? NULL : reply->parts;
	reply->busy = *ret;
	if (reply->broken)
		return SERVE_GONE;
	if (!*ret)
		return reply->over ? SERVE_OVER : SERVE_TIME;
	reply->bytes -= (*ret)->len;
	reply->parts = (*ret)->next;
	if (!reply->parts)
		reply->end = &reply->parts;
	return SERVE_PART;
}

enum serve_wait serve_reply_wait(struct serve_reply *reply, int socket, int timeout_ms,
				 struct serve_part **ret)
{
	struct pollfd fds[] = { { reply->wake, POLLIN, 0 }, { socket, POLLRDHUP, 0 } };
	int64_t end = clock_ms() + timeout_ms;
	enum serve_wait got;
	eventfd_t n;

	while ((got = reply_take(reply, ret)) == SERVE_TIME) {
		int64_t left = timeout_ms < 0 ? -1 : MAX_OF(end - clock_ms(), 0);

		if (poll(fds, ARRAY_SIZE(fds), (int)left) == 0)
			return SERVE_TIME;
		if (fds[0].revents)
			(void)!eventfd_read(reply->wake, &n);
		else if (fds[1].revents)
			return SERVE_GONE;
	}
	return got;
}
