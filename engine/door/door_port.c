/* SPDX-License-Identifier: MIT */
/*
 * A node's door on a port of this machine: one thread that accepts, a process for each connection, so that
 * nothing that one client does is felt by another. Other machines reach it by a proxy that speaks TLS.
 */
#include "door/door.h"

#include "http/http.h"
#include "scope.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>

/* Connections at once; more wait to be accepted. */
#define DOOR_LINKS_MAX 64
/* Until a place is free, or an ended connection is noticed. */
#define DOOR_LOOK_MS 200
/* A client that is gone without a word is noticed after this and some tries, seconds. */
#define DOOR_KEEPALIVE_S 60

struct door_port {
	const struct node_listen *ask;
	int sockets[2];
	pid_t links[DOOR_LINKS_MAX]; /* not reaped yet */
	size_t n_links;
};

/* `ryefs node --stdio --http DIR` for this one. */
static void link_begin(struct door_port *port, int fd)
{
	char name[] = "ryefs", verb[] = "node", stdio[] = "--stdio", http[] = "--http",
	     as[] = "--as";
	char *argv[8] = { name, verb, stdio, http };
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t none, all;
	size_t n = 4;
	pid_t pid;

	if (port->ask->as) {
		argv[n++] = as;
		argv[n++] = (char *)port->ask->as;
	}
	argv[n] = (char *)port->ask->path;
	sigemptyset(&none);
	sigfillset(&all);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, fd, 0);
	posix_spawn_file_actions_adddup2(&actions, fd, 1);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setsigdefault(&attr, &all);
	if (!posix_spawn(&pid, "/proc/self/exe", &actions, &attr, argv, environ))
		port->links[port->n_links++] = pid;
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&actions);
}

static void link_accept(struct door_port *port, int listening)
{
	auto_close int fd = accept4(listening, NULL, NULL, SOCK_CLOEXEC);
	int on = 1, idle = DOOR_KEEPALIVE_S;

	if (fd < 0)
		return;
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	(void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
	link_begin(port, fd);
}

static void links_reap(struct door_port *port)
{
	for (size_t i = 0; i < port->n_links;) {
		if (waitpid(port->links[i], NULL, WNOHANG))
			port->links[i] = port->links[--port->n_links];
		else
			i++;
	}
}

static void port_serve(struct door_port *port, int signals)
{
	for (;;) {
		bool full = port->n_links == DOOR_LINKS_MAX;
		struct pollfd at[3] = { { signals, POLLIN, 0 } };

		for (int i = 0; i < 2; i++)
			at[1 + i] = (struct pollfd){ full ? -1 : port->sockets[i], POLLIN, 0 };
		poll(at, ARRAY_SIZE(at), port->n_links ? DOOR_LOOK_MS : -1);
		if (at[0].revents)
			return;
		links_reap(port);
		for (int i = 0; i < 2; i++)
			if (at[1 + i].revents && port->n_links < DOOR_LINKS_MAX)
				link_accept(port, port->sockets[i]);
	}
}

static void port_done(struct door_port *port)
{
	for (int i = 0; i < 2; i++)
		auto_close_(&port->sockets[i]);
	for (size_t i = 0; i < port->n_links; i++)
		kill(port->links[i], SIGTERM);
	for (size_t i = 0; i < port->n_links; i++)
		waitpid(port->links[i], NULL, 0);
}

int node_listen(const struct node_listen *ask, struct rye_err *err)
{
	const struct http_listen_ask listen = { ask->port, DOOR_LINKS_MAX,
						"ryefs node --http --port 0" };
	struct door_port port = { .ask = ask, .sockets = { -1, -1 } };
	auto_close int signals = -1;
	sigset_t ends;
	int number, r;

	sigemptyset(&ends);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGHUP);
	sigprocmask(SIG_BLOCK, &ends, NULL);
	signals = signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK);
	if (signals < 0)
		return rye_fail_sys(err, errno, "cannot listen");
	r = http_listen(&listen, port.sockets, &number, err);
	if (!r) {
		ask->ready(ask->arg, number);
		port_serve(&port, signals);
	}
	port_done(&port);
	return r;
}
