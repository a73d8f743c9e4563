/* SPDX-License-Identifier: MIT */
/*
 * A connection that begins as a request of HTTP: it is asked to go on with frames, so there is one request and
 * nothing behind it that a proxy in front and we could understand in different ways.
 */
#include "door/door_inner.h"

#include "clock.h"
#include "http/http.h"
#include "scope.h"
#include "str.h"

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* Of a request, which a few lines are. */
#define DOOR_HEAD_MAX (8u << 10)
#define DOOR_HEAD_MS 10000

struct door_asked {
	struct http_line line;
	const char *upgrade, *origin; /* "": twice, which says nothing */
};

static void note_asked(void *arg, const char *name, const char *value)
{
	struct door_asked *asked = arg;

	if (!strcasecmp(name, "Upgrade"))
		asked->upgrade = asked->upgrade ? "" : value;
	if (!strcasecmp(name, "Origin"))
		asked->origin = value;
}

/* In time, and whole: 0, or a status; HTTP_MORE: it has gone. */
static unsigned read_asked(int in, char text[DOOR_HEAD_MAX], struct door_asked *ret,
			   const char **why)
{
	int64_t until = clock_ms() + DOOR_HEAD_MS;
	unsigned r = HTTP_MORE;
	size_t n = 0;

	while (r == HTTP_MORE) {
		struct pollfd at = { in, POLLIN, 0 };
		int64_t left = until - clock_ms();
		ssize_t got;

		*why = "the head of the request is too long";
		if (n == DOOR_HEAD_MAX - 1)
			return 431;
		if (left <= 0 || poll(&at, 1, (int)left) <= 0)
			return HTTP_MORE;
		got = read(in, text + n, DOOR_HEAD_MAX - 1 - n);
		if (got <= 0)
			return HTTP_MORE;
		n += (size_t)got;
		r = http_head_check((struct rye_span){ text, n }, why);
	}
	*why = r ? *why : "something stands behind the request";
	if (r || memcmp(text + n - 4, "\r\n\r\n", 4) != 0)
		return r ? r : 400;
	text[n - 2] = 0;
	http_head_cut(text, &ret->line, note_asked, ret);
	return 0;
}

/* A page in a browser can ask for no upgrade, and shows where it is from. */
static unsigned check_asked(const struct door_asked *asked, const char **why)
{
	*why = "pages may not ask here";
	if (asked->origin)
		return 403;
	*why = "GET is wanted, and an upgrade to " CONN_PROTOCOL ": ryefs remote add NAME URL";
	return !strcmp(asked->line.verb, "GET") && !asked->line.old && asked->upgrade &&
			       !strcasecmp(asked->upgrade, CONN_PROTOCOL) ?
		       0 :
		       426;
}

static bool say(int out, struct rye_span text)
{
	while (text.len) {
		ssize_t n = write(out, text.ptr, text.len);

		if (n <= 0)
			return false;
		text = span_skip(text, (size_t)n);
	}
	return true;
}

static void say_refusal(int out, unsigned status, const char *why)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;

	buf_addf(&text,
		 "HTTP/1.1 %u %s\r\nConnection: close\r\n%sContent-Type: text/plain\r\n"
		 "Content-Length: %zu\r\n\r\n%s\n",
		 status, status == 426 ? "Upgrade Required" : "Refused",
		 status == 426 ? "Upgrade: " CONN_PROTOCOL "\r\n" : "", strlen(why) + 1, why);
	if (!text.failed)
		say(out, buf_span(&text));
}

int node_serve_http(const struct node_dir *node, int in, int out, const char *as,
		    struct rye_err *err)
{
	auto_close int own_in = in, own_out = out;
	struct door_asked asked = { .upgrade = NULL };
	char text[DOOR_HEAD_MAX];
	const char *why = NULL;
	unsigned r;

	signal(SIGPIPE, SIG_IGN);
	r = read_asked(in, text, &asked, &why);
	if (!r)
		r = check_asked(&asked, &why);
	if (r > HTTP_MORE)
		say_refusal(out, r, why);
	if (r)
		return rye_fail(err, RYE_INVALID, "%s",
				r > HTTP_MORE ? why : "the client has asked for nothing");
	if (!say(out, SPAN("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n"
			   "Upgrade: " CONN_PROTOCOL "\r\n\r\n")))
		return rye_fail(err, RYE_UNREACHABLE, "the client has gone");
	return node_serve(node, steal_fd(&own_in), steal_fd(&own_out), as, err);
}
