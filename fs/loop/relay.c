/* SPDX-License-Identifier: MIT */
/*
 * relay.c - daemons that go on with each other's connection while all of them live: `ryefs reload` without the
 * right to mount.
 *
 * The newest one reads the device. Node ids say whose they are (core/node.h), and a request about another's is
 * passed on to that one, by a socket from which its threads read as they did from the device; the answer goes
 * straight to the device, as that of whatever it had in hand when it was followed. So each daemon's nodes,
 * descriptors, conversations and runs stay its own until the kernel has forgotten the last of them. One that is
 * killed meanwhile leaves its requests to the newest (hand.h).
 *
 * Owns the sockets to the daemons before this one and that to the next. Over each there is said, before requests:
 * by the one before, at once, what the next has to know, with descriptors; RELAY_READY by the next, which could begin
 * now; RELAY_STOPPED by the one before, of whose threads none reads the device any more. Without the
 * last byte nothing has happened. No lock: main thread, and words that the threads at the device read.
 */
#include "loop/hand.h"
#include "loop/loop_inner.h"

#include "core/node.h"
#include "proc.h"
#include "scope.h"

#include <errno.h>
#include <linux/fuse.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>

/* So many daemons before this one: each has processes inside. */
#define RELAY_MOST 16
#define RELAY_FDS (2 + 2 * RELAY_MOST)
/* What is longer goes in a file of its own: a socket's buffer takes 200 KB, where nothing else was said. */
#define RELAY_SHORT 65536
/* One that takes nothing for so long counts as gone: a reader of the device waits for it. */
#define RELAY_PATIENCE_S 2
/* For the threads at the device to stop; they finish what they have in hand. */
#define RELAY_STOPS_MS 10000

/* Of <linux/fuse.h>, from Linux 6.18 on: FUSE_NOTIFY_PRUNE. */
#define RELAY_PRUNE 9

#define RELAY_READY 'R'
#define RELAY_STOPPED 'S'

struct relay_link {
	int socket;
	pid_t pid; /* that daemon's */
	uint16_t epoch;
	_Atomic bool gone;
	struct hand *hand;
};

struct relay {
	struct hand *hand; /* this daemon's */
	struct relay_link links[RELAY_MOST];
	_Atomic unsigned n;
	int watch; /* epoll: of `offered` and the links */
	int offered; /* main thread's: to the one that is to follow; -1: there is none */
	_Atomic int next; /* from where requests come; -1: from the device */
	_Atomic bool passed; /* … for good */
	_Atomic unsigned reading; /* threads that read the device, or pass on what they have read */
};

struct relay_said {
	struct front_init init;
	uint16_t n, epochs[RELAY_MOST];
};

/* ---- messages with descriptors ---- */

static ssize_t relay_send(int socket, const void *buf, size_t len, const int *fds, size_t n)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(RELAY_FDS * sizeof(int))];
	} control = { .head = { .cmsg_len = CMSG_LEN(n * sizeof(int)),
				.cmsg_level = SOL_SOCKET,
				.cmsg_type = SCM_RIGHTS } };
	struct iovec iov = { (void *)buf, len };
	struct msghdr message = { .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t sent;

	if (n) {
		memcpy(CMSG_DATA(&control.head), fds, n * sizeof(int));
		message.msg_control = &control;
		message.msg_controllen = CMSG_SPACE(n * sizeof(int));
	}
	while ((sent = sendmsg(socket, &message, MSG_NOSIGNAL)) < 0 && errno == EINTR)
		;
	return sent;
}

/* *n: places for descriptors; those that came. */
static ssize_t relay_take_message(int socket, void *buf, size_t len, int *fds, size_t *n)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(RELAY_FDS * sizeof(int))];
	} control;
	struct iovec iov = { buf, len };
	struct msghdr message = { .msg_iov = &iov,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = CMSG_SPACE(*n * sizeof(int)) };
	ssize_t got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
	struct cmsghdr *head = got > 0 ? CMSG_FIRSTHDR(&message) : NULL;

	*n = 0;
	if (head && head->cmsg_type == SCM_RIGHTS) {
		*n = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		memcpy(fds, CMSG_DATA(head), *n * sizeof(int));
	}
	return got;
}

/* ---- to the daemons before this one ---- */

static bool link_send_long(const struct relay_link *link, const void *request, size_t len)
{
	auto_close int file = memfd_create("ryefs-request", MFD_CLOEXEC);

	return file >= 0 && write(file, request, len) == (ssize_t)len &&
	       relay_send(link->socket, request, sizeof(struct fuse_in_header), &file, 1) > 0;
}

static bool link_send(struct relay_link *link, const void *request, size_t len)
{
	bool sent = len <= RELAY_SHORT ? relay_send(link->socket, request, len, NULL, 0) > 0 :
					 link_send_long(link, request, len);

	/* the main thread sees its end, and answers what is in its hand */
	if (!sent)
		shutdown(link->socket, SHUT_RDWR);
	return sent;
}

static bool is_answered(const struct fuse_in_header *head)
{
	return head->opcode != FUSE_FORGET && head->opcode != FUSE_BATCH_FORGET &&
	       head->opcode != FUSE_INTERRUPT;
}

static struct relay_link *link_find(const struct front *front, uint16_t epoch)
{
	struct relay *relay = front->relay;
	unsigned n = relay ? atomic_load(&relay->n) : 0;

	for (unsigned i = 0; i < n; i++)
		if (relay->links[i].epoch == epoch && !atomic_load(&relay->links[i].gone))
			return &relay->links[i];
	return NULL;
}

bool relay_has(const struct front *front, uint16_t epoch)
{
	return link_find(front, epoch) != NULL;
}

bool relay_tell(const struct front *front, uint16_t epoch, const void *request, size_t len)
{
	const struct fuse_in_header *head = request;
	struct relay_link *link = link_find(front, epoch);

	if (!link)
		return false;
	/* first: from when it is sent on it may be answered */
	if (is_answered(head))
		hand_put(link->hand, head->unique);
	if (link_send(link, request, len))
		return true;
	hand_take(link->hand, head->unique);
	return false;
}

void relay_tell_all(const struct front *front, const void *request, size_t len)
{
	struct relay *relay = front->relay;
	unsigned n = relay ? atomic_load(&relay->n) : 0;

	for (unsigned i = 0; i < n; i++)
		if (!atomic_load(&relay->links[i].gone))
			link_send(&relay->links[i], request, len);
}

static void relay_watch(struct relay *relay, int socket, void *what, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.ptr = what };

	epoll_ctl(relay->watch, EPOLL_CTL_ADD, socket, &event);
}

static bool link_take(struct relay *relay, int socket, uint16_t epoch, int hand)
{
	const struct timeval patience = { .tv_sec = RELAY_PATIENCE_S };
	struct ucred who = { 0 };
	socklen_t len = sizeof(who);
	unsigned n = atomic_load(&relay->n);
	struct relay_link *link = &relay->links[n];

	/* of the process that has made it */
	getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &who, &len);
	*link = (struct relay_link){ .socket = socket,
				     .pid = who.pid,
				     .epoch = epoch,
				     .hand = hand_open(hand) };
	atomic_store(&relay->n, n + 1);
	setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	return link->hand;
}

static void links_drop(struct relay *relay)
{
	unsigned n = atomic_exchange(&relay->n, 0);

	for (unsigned i = 0; i < n; i++) {
		/* it would be watched for as long as the next daemon has it open */
		epoll_ctl(relay->watch, EPOLL_CTL_DEL, relay->links[i].socket, NULL);
		close(relay->links[i].socket);
		hand_close(relay->links[i].hand);
	}
}

/* ---- at the device ---- */

int relay_arrive(struct relay *relay, int fd)
{
	int next;

	if (!relay)
		return fd;
	atomic_fetch_add(&relay->reading, 1);
	next = atomic_load(&relay->next);
	if (next < 0)
		return fd;
	atomic_fetch_sub(&relay->reading, 1);
	return next;
}

void relay_leave(struct relay *relay, int from, int fd)
{
	if (relay && from == fd)
		atomic_fetch_sub(&relay->reading, 1);
}

ssize_t relay_receive(struct relay *relay, void *buf, size_t len)
{
	auto_close int file = -1;
	size_t fds = 1;
	ssize_t n = relay_take_message(atomic_load(&relay->next), buf, len, &file, &fds);

	if (n > 0)
		return file < 0 ? n : pread(file, buf, len, 0);
	if (n == 0)
		/* all have gone; or the next one never began, and this one reads the device again */
		errno = atomic_load(&relay->passed) ? ENODEV : EINTR;
	return -1;
}

void relay_put(struct relay *relay, const void *request)
{
	const struct fuse_in_header *head = request;

	if (relay && is_answered(head))
		hand_put(relay->hand, head->unique);
}

void relay_take_out(struct relay *relay, uint64_t unique)
{
	if (relay)
		hand_take(relay->hand, unique);
}

/* ---- what the session calls: at both ends ---- */

struct relay *relay_open(void)
{
	struct relay *relay = calloc(1, sizeof(*relay));

	if (!relay)
		return NULL;
	relay->offered = -1;
	atomic_store(&relay->next, -1);
	relay->watch = epoll_create1(EPOLL_CLOEXEC);
	relay->hand = hand_open(-1);
	if (relay->watch >= 0 && relay->hand)
		return relay;
	relay_free(relay);
	return NULL;
}

void relay_free(struct relay *relay)
{
	if (!relay)
		return;
	links_drop(relay);
	hand_close(relay->hand);
	if (relay->offered >= 0)
		close(relay->offered);
	if (relay->watch >= 0)
		close(relay->watch);
	free(relay);
}

int relay_fd(const struct relay *relay)
{
	return relay ? relay->watch : -1;
}

/* ---- … of the one before ---- */

static int relay_say(struct front *front)
{
	struct relay *relay = front->relay;
	struct relay_said said = { .init = front->init };
	int fds[RELAY_FDS] = { fuse_session_fd(front->session), hand_fd(relay->hand) };
	size_t n = 2;

	for (unsigned i = 0; i < atomic_load(&relay->n); i++) {
		struct relay_link *link = &relay->links[i];

		if (atomic_load(&link->gone))
			continue;
		/* the newest is one more */
		if (said.n == RELAY_MOST - 1)
			return -EMLINK;
		fds[n++] = link->socket;
		fds[n++] = hand_fd(link->hand);
		said.epochs[said.n++] = link->epoch;
	}
	return relay_send(relay->offered, &said, sizeof(said), fds, n) < 0 ? -errno : 0;
}

void relay_withdraw(struct relay *relay)
{
	atomic_store(&relay->next, -1);
	close(relay->offered);
	relay->offered = -1;
}

int relay_offer(struct front *front)
{
	struct relay *relay = front->relay;
	int ends[2], r;

	if (relay->offered >= 0)
		return -EBUSY;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return -errno;
	relay->offered = ends[0];
	r = relay_say(front);
	if (r) {
		close(ends[1]);
		relay_withdraw(relay);
		return r;
	}
	relay_watch(relay, ends[0], NULL, EPOLLIN);
	return ends[1];
}

static enum relay_heard offered_heard(struct relay *relay)
{
	char said = 0;

	if (recv(relay->offered, &said, 1, MSG_DONTWAIT) == 1 && said == RELAY_READY)
		return RELAY_WANTED;
	relay_withdraw(relay);
	return RELAY_FAILED;
}

static void link_end(struct front *front, struct relay_link *link)
{
	atomic_store(&link->gone, true);
	epoll_ctl(front->relay->watch, EPOLL_CTL_DEL, link->socket, NULL);
	hand_refuse(link->hand, fuse_session_fd(front->session));
}

bool relay_look(struct front *front)
{
	struct relay *relay = front->relay;
	unsigned n = relay ? atomic_load(&relay->n) : 0;
	struct proc_stat stat;
	bool lives = false;

	for (unsigned i = 0; i < n; i++) {
		struct relay_link *link = &relay->links[i];

		if (atomic_load(&link->gone))
			continue;
		if (link->pid > 0 && !proc_stat(link->pid, &stat) && stat.state == 'Z')
			link_end(front, link);
		else
			lives = true;
	}
	return lives;
}

enum relay_heard relay_hear(struct front *front)
{
	struct relay *relay = front->relay;
	struct epoll_event event;
	struct relay_link *link;

	if (epoll_wait(relay->watch, &event, 1, 0) <= 0)
		return RELAY_NOTHING;
	link = event.data.ptr;
	if (!link)
		return offered_heard(relay);
	link_end(front, link);
	return RELAY_NOTHING;
}

bool relay_stop(struct relay *relay, struct loops *loops)
{
	epoll_ctl(relay->watch, EPOLL_CTL_DEL, relay->offered, NULL);
	atomic_store(&relay->next, relay->offered);
	for (int left_ms = RELAY_STOPS_MS; left_ms > 0; left_ms--) {
		if (!atomic_load(&relay->reading))
			return true;
		loops_stir(loops);
		poll(NULL, 0, 1);
	}
	return false;
}

bool relay_pass(struct front *front)
{
	struct relay *relay = front->relay;
	const char stopped = RELAY_STOPPED;

	if (relay_send(relay->offered, &stopped, 1, NULL, 0) != 1)
		return false;
	/* they are the next one's from here on */
	links_drop(relay);
	atomic_store(&front->passed, true);
	atomic_store(&relay->passed, true);
	return true;
}

/* Names that were in use when this daemon was followed, and what is looked up from there, would be remembered for
 * good when they are not any more: no path leads there. */
static void relay_prune(const struct front *front)
{
	size_t n;
	auto_free fuse_ino_t *ids = nodes_ids(front->nodes, &n);
	struct {
		struct fuse_out_header head;
		uint32_t count, padding;
		uint64_t spare;
	} prune = { .head = { .error = RELAY_PRUNE }, .count = (uint32_t)n };
	struct iovec iov[] = { { &prune, sizeof(prune) }, { ids, n * sizeof(*ids) } };
	ssize_t written;

	prune.head.len = (uint32_t)(iov[0].iov_len + iov[1].iov_len);
	written = ids ? writev(fuse_session_fd(front->session), iov, ARRAY_SIZE(iov)) : 0;
	(void)written;
}

bool relay_over(const struct front *front)
{
	struct node_counts counts;

	nodes_count(front->nodes, &counts);
	/* the root is there for as long as the mount is */
	if (counts.alive <= 1 && hand_empty(front->relay->hand))
		return true;
	relay_prune(front);
	return false;
}

/* ---- … of the next ---- */

int relay_follow(struct front *front, int socket)
{
	struct relay *relay = front->relay;
	struct relay_said said;
	int fds[RELAY_FDS];
	size_t n = ARRAY_SIZE(fds);
	bool ok;

	fcntl(socket, F_SETFD, FD_CLOEXEC);
	if (relay_take_message(socket, &said, sizeof(said), fds, &n) != sizeof(said) || n < 2 ||
	    said.n >= RELAY_MOST || n != 2 + 2 * (size_t)said.n || said.init.epoch == UINT16_MAX) {
		while (n)
			close(fds[--n]);
		return -1;
	}
	ok = link_take(relay, socket, said.init.epoch, fds[1]);
	for (unsigned i = 0; i < said.n; i++)
		ok = link_take(relay, fds[2 + 2 * i], said.epochs[i], fds[3 + 2 * i]) && ok;
	front->init = said.init;
	front->init.epoch++;
	front->init.same = false;
	if (ok)
		return fds[0];
	close(fds[0]);
	return -1;
}

bool relay_begin(struct front *front)
{
	struct relay *relay = front->relay;
	struct pollfd before = { .fd = relay->links[0].socket, .events = POLLIN };
	char said = RELAY_READY;

	if (relay_send(before.fd, &said, 1, NULL, 0) != 1 ||
	    poll(&before, 1, RELAY_STOPS_MS + RELAY_PATIENCE_S * 1000) != 1 ||
	    recv(before.fd, &said, 1, MSG_DONTWAIT) != 1 || said != RELAY_STOPPED)
		return false;
	for (unsigned i = 0; i < atomic_load(&relay->n); i++)
		relay_watch(relay, relay->links[i].socket, &relay->links[i], 0);
	return true;
}
