/* SPDX-License-Identifier: MIT */
/*
 * A stream of bytes through a server of HTTP, TLS included, as a socket of this process. A thread of the
 * tunnel's own carries them; it alone uses the connection once it is there. No lock.
 */
#include "http/http_inner.h"

#include "clock.h"
#include "scope.h"
#include "str.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>

/* Of each direction at once. */
#define TUNNEL_ROOM (64u << 10)
/* What was said last is still sent for so long when our end is closed. */
#define TUNNEL_END_MS 500
/* Libraries of TLS may wait for the other direction: both are tried so often. */
#define TUNNEL_LOOK_MS 1000

struct tunnel_way {
	char room[TUNNEL_ROOM];
	size_t from, to; /* what is not carried on yet */
	bool over;
};

struct tunnel {
	struct http *http;
	struct upgrade *up;
	int fd; /* the thread's end */
	pthread_t thread;
	bool started;
	struct tunnel_way out, in; /* to the server, and from it */
};

/* ---- carrying ---- */

static void way_took(struct tunnel_way *way, size_t n)
{
	way->from += n;
	if (way->from == way->to)
		way->from = way->to = 0;
}

static size_t way_has(const struct tunnel_way *way)
{
	return way->to - way->from;
}

/* Our end, into `out` and out of `in`; how many bytes. */
static size_t carry_here(struct tunnel *tunnel)
{
	struct tunnel_way *out = &tunnel->out, *in = &tunnel->in;
	size_t moved = 0;

	if (!out->over && out->to < TUNNEL_ROOM) {
		ssize_t n =
			recv(tunnel->fd, out->room + out->to, TUNNEL_ROOM - out->to, MSG_DONTWAIT);

		out->over = !n || (n < 0 && errno != EAGAIN && errno != EINTR);
		out->to += n > 0 ? (size_t)n : 0;
		moved += n > 0 ? (size_t)n : 0;
	}
	if (way_has(in)) {
		ssize_t n = send(tunnel->fd, in->room + in->from, way_has(in),
				 MSG_DONTWAIT | MSG_NOSIGNAL);

		out->over |= n < 0 && errno != EAGAIN && errno != EINTR;
		way_took(in, n > 0 ? (size_t)n : 0);
		moved += n > 0 ? (size_t)n : 0;
	}
	return moved;
}

/* The server's. */
static size_t carry_there(struct tunnel *tunnel)
{
	struct tunnel_way *out = &tunnel->out, *in = &tunnel->in;
	size_t n = 0, moved = 0;

	if (!in->over && in->to < TUNNEL_ROOM) {
		in->over = upgrade_read(tunnel->up, in->room + in->to, TUNNEL_ROOM - in->to, &n,
					NULL) != 0;
		moved = in->over ? 0 : n;
		in->to += moved;
	}
	if (way_has(out)) {
		n = 0;
		in->over |= upgrade_put(tunnel->up,
					(struct rye_span){ out->room + out->from, way_has(out) },
					&n, NULL) != 0;
		way_took(out, n);
		moved += n;
	}
	return moved;
}

static short wanted(const struct tunnel_way *fills, const struct tunnel_way *drains)
{
	return (short)((!fills->over && fills->to < TUNNEL_ROOM ? POLLIN : 0) |
		       (way_has(drains) ? POLLOUT : 0));
}

static void *tunnel_main(void *arg)
{
	struct tunnel *tunnel = arg;
	struct tunnel_way *out = &tunnel->out, *in = &tunnel->in;
	int64_t end = 0;

	for (;;) {
		size_t moved = carry_here(tunnel) + carry_there(tunnel);
		struct pollfd at[2];

		if ((in->over && !way_has(in)) || (out->over && !way_has(out)))
			break;
		if (out->over && !end)
			end = clock_ms() + TUNNEL_END_MS;
		if (end && clock_ms() >= end)
			break;
		/* more may be there than fitted, or than was asked for */
		if (moved)
			continue;
		at[0] = (struct pollfd){ out->over ? -1 : tunnel->fd, wanted(out, in), 0 };
		at[1] = (struct pollfd){ upgrade_socket(tunnel->up), wanted(in, out), 0 };
		poll(at, 2, end ? (int)TUNNEL_END_MS / 10 : TUNNEL_LOOK_MS);
	}
	shutdown(tunnel->fd, SHUT_RDWR);
	return NULL;
}

/* ---- its begin ---- */

static int tunnel_refused(const struct upgrade *up, const char *head, const char *protocol,
			  struct rye_err *err)
{
	char status[32];

	snprintf(status, sizeof(status), "%.*s", (int)MIN_OF(strcspn(head, "\r\n"), (size_t)31),
		 head);
	utf8_mend(status);
	return rye_fail(err, RYE_UNREACHABLE, "%s does not speak %s there; it said: %s",
			upgrade_origin(up), protocol, status);
}

static int tunnel_shake(struct tunnel *tunnel, const char *protocol, struct rye_err *err)
{
	auto_buf struct rye_buf answer = RYE_BUF_INIT;
	char lines[80];
	size_t end = 0;
	int r;

	snprintf(lines, sizeof(lines), "Upgrade: %.60s\r\n", protocol);
	r = upgrade_shake(tunnel->up, lines, &answer, &end, err);
	if (r)
		return r;
	if (strncmp(answer.data, "HTTP/1.1 101 ", 13) != 0)
		return tunnel_refused(tunnel->up, answer.data, protocol, err);
	memcpy(tunnel->in.room, answer.data + end, answer.len - end);
	tunnel->in.to = answer.len - end;
	return 0;
}

static int tunnel_begin(struct tunnel *tunnel, int *ret_fd, struct rye_err *err)
{
	int pair[2], r;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return rye_fail_sys(err, errno, "cannot make a connection");
	tunnel->fd = pair[0];
	r = pthread_create(&tunnel->thread, NULL, tunnel_main, tunnel);
	if (r) {
		close(pair[1]);
		return rye_fail_sys(err, r, "cannot make a connection");
	}
	tunnel->started = true;
	*ret_fd = pair[1];
	return 0;
}

int tunnel_open(const struct tunnel_ask *ask, struct tunnel **ret, int *ret_fd, struct rye_err *err)
{
	const struct upgrade_ask up = { .url = ask->url,
					.ca_file = ask->ca_file,
					.until_ms = clock_ms() + ask->within_ms,
					.cancel = -1 };
	struct tunnel *tunnel = calloc(1, sizeof(*tunnel));
	struct rye_err own = { 0 };
	int r = 0;

	err = err ? err : &own;
	if (!tunnel)
		return rye_fail(err, RYE_IO, "http: out of memory");
	tunnel->fd = -1;
	tunnel->http = http_open();
	if (!tunnel->http)
		r = rye_fail(err, RYE_IO, "http: out of memory");
	if (!r)
		r = upgrade_open(tunnel->http, &up, &tunnel->up, err);
	if (!r)
		r = tunnel_shake(tunnel, ask->protocol, err);
	if (!r)
		r = tunnel_begin(tunnel, ret_fd, err);
	if (!r) {
		*ret = tunnel;
		return 0;
	}
	tunnel_close(tunnel);
	if (r == -(int)RYE_TOOL_FAILED)
		err->code = RYE_UNREACHABLE;
	return -(int)err->code;
}

void tunnel_close(struct tunnel *tunnel)
{
	if (!tunnel)
		return;
	if (tunnel->started)
		pthread_join(tunnel->thread, NULL);
	if (tunnel->fd >= 0)
		close(tunnel->fd);
	upgrade_close(tunnel->up);
	if (tunnel->http)
		http_close(tunnel->http);
	free(tunnel);
}
