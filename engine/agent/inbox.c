/* SPDX-License-Identifier: MIT */
/*
 * What is said to a running thread from outside: a message for its next turn, another limit, that it
 * is to hand over. A thread of the runner listens; the loop takes what has come at the top of a turn.
 *
 * Lock: `lock` of struct inbox guards what has come and the limits as they will be.
 */
#include "agent/agent_inner.h"

#include "memory.h"
#include "scope.h"
#include "str.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

/* Bytes of one message, as a line of `ctl`; messages that wait for a turn. */
#define INBOX_LINE 4096
#define INBOX_MESSAGES 64
/* Milliseconds that a client may take from connecting to its message. */
#define INBOX_WAIT_MS 2000

struct inbox {
	pthread_t thread;
	int listen, stop; /* stop: eventfd */
	char path[108];
	pthread_mutex_t lock; /* of what follows */
	json_t *says;
	struct limits limits;
	const struct limits *parent; /* NULL: none; frozen */
	bool changed, handoff;
};

static int inbox_say(struct inbox *inbox, struct rye_span text, struct rye_err *err)
{
	json_t *said = text.len ? json_stringn(text.ptr, text.len) : NULL;

	if (!said)
		return rye_fail(err, RYE_INVALID, "say: a text is wanted");
	GUARD(&inbox->lock);
	if (json_array_size(inbox->says) >= INBOX_MESSAGES) {
		json_decref(said);
		return rye_fail(err, RYE_BUSY, "%d messages wait already", INBOX_MESSAGES);
	}
	json_array_append_new(inbox->says, said);
	return 0;
}

static int inbox_limit(struct inbox *inbox, struct rye_span text, struct rye_err *err)
{
	auto_free char *copy = span_dup(text);
	char *equals = copy ? strchr(copy, '=') : NULL, *end;
	double value;
	int r;

	if (!equals)
		return rye_fail(err, RYE_INVALID, "limit: NAME=VALUE is wanted");
	*equals = 0;
	value = strtod(equals + 1, &end);
	if (*end || end == equals + 1)
		return rye_fail(err, RYE_INVALID, "limit: %.40s is no number", equals + 1);
	GUARD(&inbox->lock);
	r = limits_change(&inbox->limits, inbox->parent, copy, value, err);
	inbox->changed |= !r;
	return r;
}

static int inbox_handoff(struct inbox *inbox, struct rye_span text, struct rye_err *err)
{
	(void)text;
	(void)err;
	GUARD(&inbox->lock);
	inbox->handoff = true;
	return 0;
}

struct inbox_verb {
	const char *name;
	bool inside; /* a tool of this thread may say it, too */
	int (*take)(struct inbox *inbox, struct rye_span text, struct rye_err *err);
};

static const struct inbox_verb inbox_verbs[] = {
	{ "handoff", true, inbox_handoff },
	{ "limit", false, inbox_limit },
	{ "say", false, inbox_say },
};

static int inbox_take_line(struct inbox *inbox, struct rye_span line, bool inside,
			   struct rye_err *err)
{
	const char *blank = memchr(line.ptr, ' ', line.len);
	struct rye_span word = { line.ptr, blank ? (size_t)(blank - line.ptr) : line.len };

	for (size_t i = 0; i < ARRAY_SIZE(inbox_verbs); i++) {
		if (!span_eq(word, inbox_verbs[i].name))
			continue;
		if (inside && !inbox_verbs[i].inside)
			return rye_fail(err, RYE_DENIED, "%s: not from a tool of the thread itself",
					inbox_verbs[i].name);
		return inbox_verbs[i].take(inbox, span_trim(span_skip(line, word.len)), err);
	}
	return rye_fail(err, RYE_INVALID, "unknown verb %.*s", (int)MIN_OF(word.len, 40), word.ptr);
}

/* One connection, one line, one answer. */
static void inbox_serve(struct inbox *inbox)
{
	auto_close int fd = accept4(inbox->listen, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };
	struct rye_err err = { 0 };
	char line[INBOX_LINE];
	const char *answer = "ok";
	ssize_t n;

	if (fd < 0 || !threads_heard_own(fd) || poll(&poll_fd, 1, INBOX_WAIT_MS) <= 0)
		return;
	n = recv(fd, line, sizeof(line), 0);
	if (n <= 0)
		return;
	if (inbox_take_line(inbox, span_trim((struct rye_span){ line, (size_t)n }),
			    threads_heard_inside(fd), &err))
		answer = err.msg;
	(void)!send(fd, answer, strlen(answer), MSG_NOSIGNAL);
}

static void *inbox_work(void *arg)
{
	struct inbox *inbox = arg;
	struct pollfd fds[] = { { .fd = inbox->listen, .events = POLLIN },
				{ .fd = inbox->stop, .events = POLLIN } };

	for (;;) {
		if (poll(fds, ARRAY_SIZE(fds), -1) < 0 && errno != EINTR)
			return NULL;
		if (fds[1].revents)
			return NULL;
		if (fds[0].revents)
			inbox_serve(inbox);
	}
}

int inbox_open(struct agent *agent, const struct limits *parent, struct rye_err *err)
{
	struct inbox *inbox = calloc(1, sizeof(*inbox));
	int r;

	if (!inbox)
		return memory_fail(err);
	pthread_mutex_init(&inbox->lock, NULL);
	inbox->says = json_array();
	inbox->limits = agent->limits;
	inbox->parent = parent;
	inbox->stop = eventfd(0, EFD_CLOEXEC);
	inbox->listen = threads_hear(agent->opt.project, agent->thread_id, inbox->path, err);
	r = inbox->listen < 0 ? inbox->listen : 0;
	if (!r && pthread_create(&inbox->thread, NULL, inbox_work, inbox))
		r = rye_fail_sys(err, EAGAIN, "cannot listen");
	if (!r) {
		agent->inbox = inbox;
		return 0;
	}
	if (inbox->listen >= 0)
		close(inbox->listen);
	close(inbox->stop);
	json_decref(inbox->says);
	free(inbox);
	return r;
}

void inbox_close(struct inbox *inbox)
{
	if (!inbox)
		return;
	(void)!eventfd_write(inbox->stop, 1);
	pthread_join(inbox->thread, NULL);
	unlink(inbox->path);
	close(inbox->listen);
	close(inbox->stop);
	json_decref(inbox->says);
	pthread_mutex_destroy(&inbox->lock);
	free(inbox);
}

bool inbox_take(struct inbox *inbox, struct limits *limits, json_t **ret_says)
{
	bool handoff;

	*ret_says = NULL;
	if (!inbox)
		return false;
	GUARD(&inbox->lock);
	if (inbox->changed)
		*limits = inbox->limits;
	inbox->changed = false;
	handoff = inbox->handoff;
	inbox->handoff = false;
	if (json_array_size(inbox->says)) {
		*ret_says = inbox->says;
		inbox->says = json_array();
	}
	return handoff;
}
