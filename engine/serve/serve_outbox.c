/* SPDX-License-Identifier: MIT */
/*
 * Lines for standard output, in the order in which they come, from any thread. The writer thread
 * writes them: no other waits for a client that reads slowly, and one that does not read for 30
 * seconds, or is gone, ends the server.
 *
 * Lock: `lock` of struct serve_outbox, what is not written yet.
 */
#include "serve/serve_inner.h"

#include "clock.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

/* A reader that takes nothing for so long is none. */
#define READER_MS 30000
/* What waits for a reader that is slow: some big replies at once. */
#define OUTBOX_MAX (256u << 20)
/* A pipe that can be written to takes so much without waiting. */
#define PIECE 4096

/* A piece of it, without waiting; -1: nothing can be written any more. */
static ssize_t write_piece(int fd, const char *ptr, size_t len)
{
	ssize_t n = send(fd, ptr, len, MSG_DONTWAIT | MSG_NOSIGNAL);
	struct pollfd ready = { fd, POLLOUT, 0 };

	if (n >= 0 || (errno != ENOTSOCK && errno != EAGAIN))
		return n;
	if (errno == ENOTSOCK && poll(&ready, 1, 0) == 1 && ready.revents & POLLOUT)
		return write(fd, ptr, MIN_OF(len, PIECE));
	if (poll(&ready, 1, READER_MS) <= 0)
		return -1;
	return ready.revents & POLLOUT ? 0 : -1;
}

static bool write_lines(int fd, const struct rye_buf *lines)
{
	for (size_t at = 0; at < lines->len;) {
		ssize_t n = write_piece(fd, lines->data + at, lines->len - at);

		if (n < 0 && errno != EINTR)
			return false;
		at += n > 0 ? (size_t)n : 0;
	}
	return true;
}

/* The lines that wait, once there are any; false: there are none and it is closed. */
static bool outbox_next(struct serve_outbox *outbox, struct rye_buf *ret)
{
	GUARD(&outbox->lock);
	outbox->busy = false;
	while (!outbox->lines.len && !outbox->closed)
		pthread_cond_wait(&outbox->work, &outbox->lock);
	*ret = outbox->lines;
	outbox->lines = (struct rye_buf){ .cap = OUTBOX_MAX };
	outbox->busy = ret->len != 0;
	return outbox->busy;
}

static void outbox_broke(struct serve_outbox *outbox)
{
	{
		GUARD(&outbox->lock);
		outbox->broken = true;
	}
	(void)!eventfd_write(outbox->wake, 1);
}

static void *writer_main(void *arg)
{
	struct serve_outbox *outbox = arg;
	struct rye_buf lines;
	sigset_t pipe;
	bool whole = true;

	/* A reader that is gone is EPIPE, not the end of this process. */
	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &pipe, NULL);
	while (outbox_next(outbox, &lines)) {
		if (whole && !write_lines(outbox->fd, &lines)) {
			whole = false;
			outbox_broke(outbox);
		}
		buf_done(&lines);
	}
	return NULL;
}

static void outbox_put(struct serve_sink *sink, const json_t *message, bool last)
{
	struct serve_outbox *outbox = (struct serve_outbox *)sink;
	auto_buf struct rye_buf line = { .cap = OUTBOX_MAX };
	bool full;

	if (!message)
		return;
	json_put(&line, message, true);
	{
		GUARD(&outbox->lock);
		if (outbox->broken || outbox->closed)
			return;
		buf_add(&outbox->lines, line.data, line.len);
		full = outbox->lines.failed || line.failed;
		pthread_cond_signal(&outbox->work);
	}
	if (full)
		outbox_broke(outbox);
}

static void outbox_free(struct serve_sink *sink)
{
	struct serve_outbox *outbox = (struct serve_outbox *)sink;

	buf_done(&outbox->lines);
	close(outbox->wake);
	pthread_cond_destroy(&outbox->work);
	pthread_mutex_destroy(&outbox->lock);
	free(outbox);
}

struct serve_outbox *serve_outbox_new(int fd)
{
	struct serve_outbox *outbox = calloc(1, sizeof(*outbox));

	if (!outbox)
		return NULL;
	outbox->sink = (struct serve_sink){ 1, outbox_put, outbox_free };
	outbox->lines.cap = OUTBOX_MAX;
	outbox->fd = fd;
	outbox->wake = eventfd(0, EFD_CLOEXEC);
	pthread_mutex_init(&outbox->lock, NULL);
	clock_cond_init(&outbox->work);
	if (outbox->wake >= 0 && !pthread_create(&outbox->writer, NULL, writer_main, outbox))
		return outbox;
	outbox_free(&outbox->sink);
	return NULL;
}

bool serve_outbox_empty(struct serve_outbox *outbox)
{
	GUARD(&outbox->lock);
	return !outbox->lines.len && !outbox->busy;
}

void serve_outbox_close(struct serve_outbox *outbox)
{
	{
		GUARD(&outbox->lock);
		outbox->closed = true;
		pthread_cond_signal(&outbox->work);
	}
	pthread_join(outbox->writer, NULL);
	serve_sink_unref(&outbox->sink);
}
