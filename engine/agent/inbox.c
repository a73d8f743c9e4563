/* SPDX-License-Identifier: MIT */
/*
 * What is said to a running thread from outside: a message for its next turn, another limit, that it
 * is to hand over. A thread of the runner listens; the loop takes what has come at the top of a turn.
 *
 * Lock: `lock` of struct inbox guards what has come and the limits as they will be.
 */
#include "agent/agent_inner.h"

#include "clock.h"
#include "memory.h"
#include "proc.h"
#include "scope.h"
#include "str.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

/* Bytes of one message, as a line of `ctl`; messages that wait for a turn. */
#define INBOX_LINE 4096
#define INBOX_MESSAGES 64
/* Milliseconds that a process that has connected may take to say something, and how many may. */
#define INBOX_WAIT_MS 2000
#define INBOX_PEERS 16

struct inbox {
	const struct agent *agent; /* its budget, its directory: frozen while this listens */
	pthread_t thread;
	int listen, stop; /* stop: eventfd */
	char path[108];
	pthread_mutex_t lock; /* of what follows */
	json_t *says;
	struct limits limits; /* changed by the listening thread alone */
	const struct limits *parent; /* NULL: none; frozen */
	bool changed, handoff;
	bool shut; /* the thread takes nothing any more */
};

static int inbox_say(struct inbox *inbox, struct rye_span text, struct rye_err *err)
{
	json_t *said = text.len ? json_stringn(text.ptr, text.len) : NULL;

	if (!said)
		return rye_fail(err, RYE_INVALID, "say: a text is wanted");
	GUARD(&inbox->lock);
	if (!inbox->shut && json_array_size(inbox->says) < INBOX_MESSAGES) {
		json_array_append_new(inbox->says, said);
		return 0;
	}
	json_decref(said);
	if (inbox->shut)
		return rye_fail(err, RYE_STATE, "the thread ends: it has no turn any more");
	return rye_fail(err, RYE_BUSY, "%d messages wait already", INBOX_MESSAGES);
}

/* In force from the next turn on, and shown at once. */
static int inbox_change(struct inbox *inbox, const char *name, double value, struct rye_err *err)
{
	struct limits limits = inbox->limits;
	int r = limits_change(&limits, inbox->parent, name, value, err);

	/* the ledger holds the thread to what it has there */
	if (!r && limit_of(name) == LIMIT_SPEND && inbox->agent->budget)
		r = budget_change(inbox->agent->budget, inbox->agent->thread_id, value, err);
	if (!r)
		r = agent_write_limits(inbox->agent, &limits, err);
	if (r)
		return r;
	GUARD(&inbox->lock);
	inbox->limits = limits;
	inbox->changed = true;
	return 0;
}

static int inbox_limit(struct inbox *inbox, struct rye_span text, struct rye_err *err)
{
	auto_free char *copy = span_dup(text);
	char *equals = copy ? strchr(copy, '=') : NULL, *end;
	double value;

	if (!equals)
		return rye_fail(err, RYE_INVALID, "limit: NAME=VALUE is wanted");
	*equals = 0;
	value = strtod(equals + 1, &end);
	if (*end || end == equals + 1)
		return rye_fail(err, RYE_INVALID, "limit: %.40s is no number", equals + 1);
	return inbox_change(inbox, copy, value, err);
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

/* ---- the listening thread ---- */

/* Connections on which nothing was said yet, the oldest first. */
struct inbox_peers {
	struct inbox_peer {
		int fd;
		int64_t until_ms;
	} v[INBOX_PEERS];
	size_t n;
};

static void inbox_part(struct inbox_peers *peers, size_t i)
{
	close(peers->v[i].fd);
	memmove(&peers->v[i], &peers->v[i + 1], (--peers->n - i) * sizeof(peers->v[0]));
}

static void inbox_accept(struct inbox *inbox, struct inbox_peers *peers)
{
	int fd = accept4(inbox->listen, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd >= 0 && !peer_own(fd)) {
		close(fd);
		return;
	}
	if (fd < 0)
		return;
	if (peers->n == INBOX_PEERS)
		inbox_part(peers, 0);
	peers->v[peers->n++] = (struct inbox_peer){ fd, clock_ms() + INBOX_WAIT_MS };
}

/* One connection, one line, one answer. */
static void inbox_serve(struct inbox *inbox, int fd)
{
	struct rye_err err = { 0 };
	char line[INBOX_LINE];
	const char *answer = "ok";
	ssize_t n = recv(fd, line, sizeof(line), MSG_TRUNC);
	int r;

	if (n <= 0)
		return;
	if ((size_t)n > sizeof(line))
		r = rye_fail(&err, RYE_TOO_BIG, "at most %d bytes can be said at once", INBOX_LINE);
	else
		r = inbox_take_line(inbox, span_trim((struct rye_span){ line, (size_t)n }),
				    peer_inside(fd), &err);
	if (r)
		answer = err.msg;
	(void)!send(fd, answer, strlen(answer), MSG_NOSIGNAL);
}

static int inbox_pause(const struct inbox_peers *peers)
{
	int64_t left = peers->n ? peers->v[0].until_ms - clock_ms() : -1;

	return !peers->n ? -1 : left > 0 ? (int)left : 0;
}

static void inbox_look(struct inbox *inbox, struct inbox_peers *peers, const struct pollfd *fds)
{
	int64_t now = clock_ms();

	/* backwards: those behind one that goes move up */
	for (size_t i = peers->n; i-- > 0;) {
		if (fds[i].revents)
			inbox_serve(inbox, peers->v[i].fd);
		if (fds[i].revents || now >= peers->v[i].until_ms)
			inbox_part(peers, i);
	}
}

static void *inbox_work(void *arg)
{
	struct inbox *inbox = arg;
	struct inbox_peers peers = { .n = 0 };
	struct pollfd fds[2 + INBOX_PEERS] = { { .fd = inbox->stop, .events = POLLIN },
					       { .fd = inbox->listen, .events = POLLIN } };

	while (!fds[0].revents) {
		for (size_t i = 0; i < peers.n; i++)
			fds[2 + i] = (struct pollfd){ .fd = peers.v[i].fd, .events = POLLIN };
		if (poll(fds, 2 + peers.n, inbox_pause(&peers)) < 0) {
			if (errno != EINTR)
				break;
			continue;
		}
		inbox_look(inbox, &peers, fds + 2);
		if (fds[1].revents)
			inbox_accept(inbox, &peers);
	}
	while (peers.n)
		inbox_part(&peers, peers.n - 1);
	return NULL;
}

int inbox_open(struct agent *agent, const struct limits *parent, struct rye_err *err)
{
	struct inbox *inbox = calloc(1, sizeof(*inbox));
	int r;

	if (!inbox)
		return memory_fail(err);
	pthread_mutex_init(&inbox->lock, NULL);
	inbox->agent = agent;
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

void inbox_shut(struct inbox *inbox, json_t **ret_says)
{
	*ret_says = NULL;
	if (!inbox)
		return;
	GUARD(&inbox->lock);
	inbox->shut = true;
	*ret_says = inbox->says;
	inbox->says = json_array();
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
