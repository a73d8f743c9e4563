/* SPDX-License-Identifier: MIT */
/*
 * The server over HTTP: sockets on this machine's own addresses, or a Unix socket, a thread for each
 * connection (serve_web.c), and the thread that called, which accepts connections (serve_links.c), waits
 * for a signal and looks after connections once a second.
 */
#include "mcp/server/server_inner.h"

#include "clock.h"
#include "err.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>

#define LOOK_MS 1000
/* Until a place, or a descriptor, is free. */
#define FULL_MS 20
/* At the end: for answers to be written. */
#define LAST_ANSWERS_MS 1000
#define LAST_LOOK_MS 5

struct http_server {
	struct serve_site site;
	struct serve_token token;
	int sockets[2]; /* IPv4, IPv6; negative: none */
	int port;
	struct serve_unix made;
};

static int http_prepare(struct http_server *server, struct rye *rye, const struct serve_address *at,
			struct rye_err *err)
{
	const struct http_listen_ask ask = { at->port, SERVE_LINKS_MAX,
					     "ryefs mcp --http --port 0" };
	int r;

	if (at->socket) {
		server->sockets[0] = serve_unix_open(rye, at->socket, &server->made, err);
		r = server->sockets[0] < 0 ? server->sockets[0] : 0;
	} else {
		r = http_listen(&ask, server->sockets, &server->port, err);
		if (!r)
			r = serve_token_open(rye, at, server->port, &server->token, err);
	}
	server->site.gate.port = server->port;
	server->site.gate.socket = at->socket;
	snprintf(server->site.gate.token, sizeof(server->site.gate.token), "%s",
		 server->token.text);
	return r;
}

/* Accepts until a signal comes. */
static void serve_until_signal(struct http_server *server)
{
	struct serve_links *links = &server->site.links;
	auto_close int signals = -1;
	struct pollfd fds[3];
	bool full = false;
	sigset_t set;

	serve_signals(&set);
	signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	fds[0] = (struct pollfd){ signals, POLLIN, 0 };
	while (signals >= 0) {
		for (int i = 0; i < 2; i++)
			fds[1 + i] = (struct pollfd){ full ? -1 : server->sockets[i], POLLIN, 0 };
		poll(fds, ARRAY_SIZE(fds), full ? FULL_MS : LOOK_MS);
		if (fds[0].revents)
			return;
		full = serve_links_full(links);
		for (int i = 0; i < 2; i++)
			if (fds[1 + i].revents)
				full |= !serve_accept(&server->site, server->sockets[i]);
		serve_links_look(links);
	}
}

static void http_tell_ready(const struct http_server *server, const struct serve_address *at)
{
	char url[64];

	snprintf(url, sizeof(url), "http://127.0.0.1:%d/mcp", server->port);
	if (at->socket)
		snprintf(url, sizeof(url), "http://localhost/mcp");
	at->ready(at->arg, url, *server->token.path ? server->token.path : NULL);
}

/* The last answers are on their way; stopping would cut them off. */
static void await_answers(struct http_server *server)
{
	int64_t end = clock_ms() + LAST_ANSWERS_MS;

	while (serve_links_busy(&server->site.links) && clock_ms() < end)
		poll(NULL, 0, LAST_LOOK_MS);
}

static void http_finish(struct http_server *server)
{
	/* First what is open ends: threads of connections wait for it, and the end waits for them. */
	if (server->site.serve) {
		serve_end(server->site.serve);
		await_answers(server);
	}
	serve_links_end(&server->site.links);
	for (int i = 0; i < 2; i++)
		if (server->sockets[i] >= 0)
			close(server->sockets[i]);
	serve_free(server->site.serve);
	serve_token_close(&server->token);
	serve_unix_close(&server->made);
	pthread_mutex_destroy(&server->site.links.lock);
	pthread_cond_destroy(&server->site.links.none);
}

int serve_http(struct rye *rye, const struct serve_options *opt, const struct serve_address *at,
	       struct rye_err *err)
{
	struct http_server server = { .sockets = { -1, -1 } };
	int r;

	pthread_mutex_init(&server.site.links.lock, NULL);
	pthread_cond_init(&server.site.links.none, NULL);
	r = http_prepare(&server, rye, at, err);
	if (r) {
		rye_close(rye);
	} else {
		/* Ids of tasks can be guessed: without a token every user could ask for them. */
		server.site.serve = serve_new(rye, opt, *server.token.text || at->socket);
		if (!server.site.serve)
			r = rye_fail(err, RYE_IO, "out of memory for the server");
	}
	if (!r) {
		http_tell_ready(&server, at);
		serve_until_signal(&server);
	}
	http_finish(&server);
	return r;
}
