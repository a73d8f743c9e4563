/* SPDX-License-Identifier: MIT */
/*
 * The messages of one request of HTTP on their way to the thread of its connection, which waits for
 * them and for the client's leaving. A call whose client has gone may still tell its end
 * here: the reply lives as long as the request does.
 *
 * Lock: `lock` of struct serve_reply, the queue.
 */
#include "serve/serve_inner.h"

#include "clock.h"

#include <poll.h>
#include <sys/eventfd.h>

void serve_part_free(struct serve_part *part)
{
	if (part)
		free(part->text);
	free(part);
}

static struct serve_part *part_new(const json_t *message, bool last)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	struct serve_part *part = calloc(1, sizeof(*part));

	if (!part)
		return NULL;
	json_put(&text, message, false);
	part->len = text.len;
	part->text = buf_steal(&text);
	part->last = last;
	part->code = (int)json_int(json_object_get(message, "error"), "code", 0);
	if (part->text)
		return part;
	free(part);
	return NULL;
}

static void reply_put(struct serve_sink *sink, const json_t *message, bool last)
{
	struct serve_reply *reply = (struct serve_reply *)sink;
	struct serve_part *part;

	if (!last && !reply->events)
		return;
	part = message ? part_new(message, last) : NULL;
	{
		GUARD(&reply->lock);
		reply->over |= last;
		if (part) {
			*reply->end = part;
			reply->end = &part->next;
		}
	}
	(void)!eventfd_write(reply->wake, 1);
}

static void reply_free(struct serve_sink *sink)
{
	struct serve_reply *reply = (struct serve_reply *)sink;
	struct serve_part *part;

	while ((part = reply->parts)) {
		reply->parts = part->next;
		serve_part_free(part);
	}
	close(reply->wake);
	pthread_mutex_destroy(&reply->lock);
	free(reply);
}

struct serve_reply *serve_reply_new(bool events)
{
	struct serve_reply *reply = calloc(1, sizeof(*reply));

	if (!reply)
		return NULL;
	reply->sink = (struct serve_sink){ 1, reply_put, reply_free };
	reply->events = events;
	reply->end = &reply->parts;
	reply->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	pthread_mutex_init(&reply->lock, NULL);
	if (reply->wake >= 0)
		return reply;
	reply_free(&reply->sink);
	return NULL;
}

/* What there is without waiting; SERVE_TIME: nothing. */
static enum serve_wait reply_take(struct serve_reply *reply, struct serve_part **ret)
{
	GUARD(&reply->lock);
	*ret = reply->parts;
	if (!*ret)
		return reply->over ? SERVE_OVER : SERVE_TIME;
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
