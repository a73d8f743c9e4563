/* SPDX-License-Identifier: MIT */
/*
 * The connections of the HTTP server. Each has a thread, so there is a bound on them; every user of
 * the machine may connect, so those that bring no whole request in time, or are idle when room is
 * short, are shut down. Their own threads close them then.
 *
 * libmicrohttpd joins folded headers and waits for chunks of any length. So each connection's head is
 * looked at on the socket without being taken from it, checked (serve_gate.c), and only then
 * handed over; a bad one is answered here. One request comes by a connection, so that no head
 * goes by unseen: answers say `Connection: close`. Until it is handed over a detached thread has it.
 *
 * Lock: `lock`, the list. shutdown(2) does not wait.
 */
#include "serve/serve_inner.h"

#include "bounds.h"
#include "clock.h"
#include "proc.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

/* From this many on a new connection costs the one its place that has been idle longest. */
#define LINKS_CROWDED (SERVE_LINKS_MAX * 3 / 4)
/* For a whole request to come, from the connection's begin or its last answer on. */
#define REQUEST_MS 30000

/* With the lock held: the idle one that has waited longest; NULL: all are at work. */
static struct serve_link *link_oldest(struct serve_links *links)
{
	struct serve_link *oldest = NULL;

	for (struct serve_link *at = links->list; at; at = at->next)
		if (!at->busy && !at->shut && (!oldest || at->since_ms < oldest->since_ms))
			oldest = at;
	return oldest;
}

/* With the lock held. */
static void link_shut(struct serve_link *link)
{
	if (!link || link->shut)
		return;
	link->shut = true;
	shutdown(link->fd, SHUT_RDWR);
}

struct serve_link *serve_link_open(struct serve_links *links, int fd, bool stranger)
{
	struct serve_link *link = calloc(1, sizeof(*link));

	if (!link)
		return NULL;
	link->fd = fd;
	link->stranger = stranger;
	link->since_ms = clock_ms();
	GUARD(&links->lock);
	if (links->n >= LINKS_CROWDED)
		link_shut(link_oldest(links));
	link->next = links->list;
	links->list = link;
	links->n++;
	return link;
}

bool serve_links_full(struct serve_links *links)
{
	GUARD(&links->lock);
	return links->n >= SERVE_LINKS_MAX;
}

struct serve_link *serve_link_find(struct serve_links *links, int fd)
{
	GUARD(&links->lock);
	struct serve_link *at = links->list;

	while (at && at->fd != fd)
		at = at->next;
	return at;
}

static void links_count(struct serve_links *links, int more)
{
	GUARD(&links->lock);
	links->fronts += (size_t)more;
	if (!links->fronts)
		pthread_cond_broadcast(&links->none);
}

void serve_links_end(struct serve_links *links)
{
	GUARD(&links->lock);
	for (struct serve_link *at = links->list; at; at = at->next)
		link_shut(at);
	while (links->fronts)
		pthread_cond_wait(&links->none, &links->lock);
}

void serve_link_busy(struct serve_links *links, struct serve_link *link, bool busy)
{
	if (!link)
		return;
	GUARD(&links->lock);
	link->busy = busy;
	link->since_ms = clock_ms();
}

void serve_link_close(struct serve_links *links, struct serve_link *link)
{
	struct serve_link **at;

	if (!link)
		return;
	{
		GUARD(&links->lock);
		for (at = &links->list; *at && *at != link; at = &(*at)->next)
			;
		if (*at)
			*at = link->next;
		links->n--;
	}
	free(link);
}

void serve_links_look(struct serve_links *links)
{
	int64_t before = clock_ms() - REQUEST_MS;

	GUARD(&links->lock);
	for (struct serve_link *at = links->list; at; at = at->next)
		if (!at->busy && at->since_ms < before)
			link_shut(at);
}

bool serve_links_busy(struct serve_links *links)
{
	GUARD(&links->lock);
	for (const struct serve_link *at = links->list; at; at = at->next)
		if (at->busy)
			return true;
	return false;
}

/* ---- newcomers ---- */

/* A head with the first length of its chunks; libmicrohttpd's room for one is 32 KiB. */
#define HEAD_MAX (16u << 10)
#define STACK_SIZE (128u << 10)
/* For a client to read why it was refused: what it still sends is dropped meanwhile, a message's worth
 * at most, and no longer than a request has (serve_links_look shuts it). */
#define DROP_MS 1000
#define DROP_MAX RYE_MCP_MESSAGE_MAX

struct newcomer {
	struct serve_site *site;
	struct serve_link *link;
	int fd;
};

/* ---- refused ---- */

static const char *status_text(unsigned status)
{
	switch (status) {
	case 413:
		return "Content Too Large";
	case 431:
		return "Request Header Fields Too Large";
	case 505:
		return "HTTP Version Not Supported";
	default:
		return "Bad Request";
	}
}

/* A close with bytes unread would take the answer away from the client. */
static void drop_rest(int fd)
{
	struct pollfd ready = { fd, POLLIN, 0 };
	char bytes[4096];
	ssize_t n = 1;

	shutdown(fd, SHUT_WR);
	for (size_t at = 0; n > 0 && at < DROP_MAX && poll(&ready, 1, DROP_MS) == 1;
	     at += (size_t)n)
		n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);
}

void serve_link_refuse(int fd, unsigned status, const char *why)
{
	struct serve_fault fault = { 0 };
	auto_buf struct rye_buf body = RYE_BUF_INIT, text = RYE_BUF_INIT;
	auto_json json_t *error = NULL;

	serve_fail(&fault, MCP_NO_REQUEST, "%s", why);
	error = serve_error(NULL, &fault);
	json_put(&body, error, false);
	buf_addf(&text,
		 "HTTP/1.1 %u %s\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n"
		 "Connection: close\r\n\r\n",
		 status, status_text(status), body.len);
	buf_add(&text, body.data, body.len);
	if (!text.failed && send(fd, text.data, text.len, MSG_NOSIGNAL | MSG_DONTWAIT) > 0)
		drop_rest(fd);
}

/* ---- the head ---- */

/*
 * More than the `have` bytes that were seen: how many there are now, 0 or less: none will come. A
 * Unix socket is looked at from where it was looked at last, which TCP learnt late; TCP waits for a
 * number of bytes, which a Unix socket does not.
 */
static ssize_t peek_more(const struct newcomer *front, char *buf, size_t have)
{
	bool by_place = front->site->gate.socket;
	size_t want = by_place ? HEAD_MAX - have : have + 1;
	ssize_t n = recv(front->fd, by_place ? buf + have : buf, want,
			 MSG_PEEK | (by_place ? 0 : MSG_WAITALL));

	if (n <= 0 || by_place)
		return n > 0 ? n + (ssize_t)have : n;
	if ((size_t)n <= have)
		return 0; /* its end */
	return recv(front->fd, buf, HEAD_MAX, MSG_PEEK | MSG_DONTWAIT);
}

/* 0: the head is good; a status; or SERVE_MORE: the client has gone, or was too slow. */
static unsigned front_look(const struct newcomer *front, const char **why)
{
	char buf[HEAD_MAX];
	int place = 0, none = -1;
	unsigned r = SERVE_MORE;
	ssize_t n = 0;

	if (front->site->gate.socket)
		setsockopt(front->fd, SOL_SOCKET, SO_PEEK_OFF, &place, sizeof(place));
	while (r == SERVE_MORE && n < (ssize_t)HEAD_MAX) {
		n = peek_more(front, buf, (size_t)n);
		if (n <= 0)
			return SERVE_MORE;
		r = serve_strict_check((struct rye_span){ buf, (size_t)n }, why);
	}
	if (front->site->gate.socket)
		setsockopt(front->fd, SOL_SOCKET, SO_PEEK_OFF, &none, sizeof(none));
	if (r != SERVE_MORE)
		return r;
	*why = "the head of the request is longer than 16 KiB";
	return 431;
}

static bool front_hand_over(const struct newcomer *front)
{
	struct sockaddr_storage from = { .ss_family = AF_UNIX };
	socklen_t len = sizeof(from);

	if (getpeername(front->fd, (struct sockaddr *)&from, &len) < 0)
		return false;
	/* it closes the socket, also where it does not take it */
	if (front->site->mhd->add_connection(front->site->daemon, front->fd,
					     (struct sockaddr *)&from, len) != MHD_YES)
		serve_link_close(&front->site->links, front->link);
	return true;
}

static void *front_run(void *arg)
{
	struct newcomer front = *(struct newcomer *)arg;
	const char *why = "";
	unsigned r = front_look(&front, &why);

	free(arg);
	if (r && r != SERVE_MORE)
		serve_link_refuse(front.fd, r, why);
	if (r || !front_hand_over(&front)) {
		serve_link_close(&front.site->links, front.link);
		close(front.fd);
	}
	links_count(&front.site->links, -1);
	return NULL;
}

/* ---- connections ---- */

static bool front_start(struct newcomer *front)
{
	pthread_attr_t attr;
	pthread_t thread;
	int r;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_SIZE);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	r = pthread_create(&thread, &attr, front_run, front);
	pthread_attr_destroy(&attr);
	return !r;
}

static void front_take(struct serve_site *site, int fd)
{
	struct newcomer *front = malloc(sizeof(*front));
	/* now, while the process that connects is there for sure */
	bool stranger = site->gate.socket && (!peer_own(fd) || peer_inside(fd));
	struct serve_link *link = front ? serve_link_open(&site->links, fd, stranger) : NULL;

	if (link) {
		*front = (struct newcomer){ site, link, fd };
		links_count(&site->links, 1);
		if (front_start(front))
			return;
		links_count(&site->links, -1);
		serve_link_close(&site->links, link);
	}
	free(front);
	close(fd);
}

bool serve_accept(struct serve_site *site, int listening)
{
	while (!serve_links_full(&site->links)) {
		int fd = accept4(listening, NULL, NULL, SOCK_CLOEXEC);

		if (fd < 0)
			return errno == EAGAIN || errno == EINTR || errno == ECONNABORTED;
		front_take(site, fd);
	}
	return false;
}
