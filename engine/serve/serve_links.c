/* SPDX-License-Identifier: MIT */
/*
 * The connections of the HTTP server. Each has a thread, so there is a bound on them; every user of
 * the machine may connect, so those that bring no whole request in time, or are idle when room is
 * short, are shut down. Their own threads close them then.
 *
 * Lock: `lock`, the list. shutdown(2) does not wait.
 */
#include "serve/serve_inner.h"

#include "clock.h"

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
