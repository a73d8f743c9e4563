/* SPDX-License-Identifier: MIT */
/*
 * The connections of the HTTP server. Each has a thread, so there is a bound on them; every user of
 * the machine may connect, so those that bring no whole request in time, or are idle when room is
 * short, are shut down. Their own threads close them then.
 *
 * One request comes by a connection (serve_web.c); the server's end waits for all of them.
 *
 * Lock: `lock`, the list. shutdown(2) does not wait.
 */
#include "mcp/server/server_inner.h"

#include "clock.h"
#include "proc.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
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

static void link_add(struct serve_links *links, struct serve_link *link)
{
	GUARD(&links->lock);
	if (links->n >= LINKS_CROWDED)
		link_shut(link_oldest(links));
	link->next = links->list;
	links->list = link;
	links->n++;
}

bool serve_links_full(struct serve_links *links)
{
	GUARD(&links->lock);
	return links->n >= SERVE_LINKS_MAX;
}

void serve_links_end(struct serve_links *links)
{
	GUARD(&links->lock);
	for (struct serve_link *at = links->list; at; at = at->next)
		link_shut(at);
	while (links->n)
		pthread_cond_wait(&links->none, &links->lock);
}

void serve_link_busy(struct serve_links *links, struct serve_link *link, bool busy)
{
	GUARD(&links->lock);
	link->busy = busy;
	link->since_ms = clock_ms();
}

/* Off the list before its descriptor is another's. */
static void link_close(struct serve_links *links, struct serve_link *link)
{
	{
		struct serve_link **at = &links->list;

		GUARD(&links->lock);
		while (*at != link)
			at = &(*at)->next;
		*at = link->next;
	}
	close(link->fd);
	free(link);
	GUARD(&links->lock);
	if (!--links->n)
		pthread_cond_broadcast(&links->none);
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

/* The engine's walks need more than a listing. */
#define STACK_SIZE (1u << 20)

static void *link_main(void *arg)
{
	struct serve_link *link = arg;
	struct serve_site *site = link->site;

	serve_web_run(site, link);
	link_close(&site->links, link);
	return NULL;
}

static bool link_start(struct serve_link *link)
{
	pthread_attr_t attr;
	pthread_t thread;
	int r;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_SIZE);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	r = pthread_create(&thread, &attr, link_main, link);
	pthread_attr_destroy(&attr);
	return !r;
}

static void link_take(struct serve_site *site, int fd)
{
	struct serve_link *link = calloc(1, sizeof(*link));
	struct timeval patience = { .tv_sec = SERVE_READER_S };
	int on = 1;

	if (!link) {
		close(fd);
		return;
	}
	/* events are small, and each is wanted at once; a Unix socket has no such thing */
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	*link = (struct serve_link){ .site = site, .fd = fd, .since_ms = clock_ms() };
	/* now, while the process that connects is there for sure */
	link->stranger = site->gate.socket && (!peer_own(fd) || peer_inside(fd));
	link_add(&site->links, link);
	if (!link_start(link))
		link_close(&site->links, link);
}

bool serve_accept(struct serve_site *site, int listening)
{
	while (!serve_links_full(&site->links)) {
		int fd = accept4(listening, NULL, NULL, SOCK_CLOEXEC);

		if (fd < 0)
			return errno == EAGAIN || errno == EINTR || errno == ECONNABORTED;
		link_take(site, fd);
	}
	return false;
}
