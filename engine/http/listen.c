/* SPDX-License-Identifier: MIT */
/* Sockets that are listened on, at this machine's own addresses. */
#include "http/http.h"

#include "err.h"
#include "scope.h"

#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

static int bind_socket(int family, int port, int backlog)
{
	struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port) };
	auto_close int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int on = 1, r;

	if (fd < 0)
		return -errno;
	v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	v6.sin6_addr = in6addr_loopback;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
	r = family == AF_INET ? bind(fd, (struct sockaddr *)&v4, sizeof(v4)) :
				bind(fd, (struct sockaddr *)&v6, sizeof(v6));
	if (r < 0 || listen(fd, backlog) < 0)
		return -errno;
	return steal_fd(&fd);
}

int http_listen(const struct http_listen_ask *ask, int ret[2], int *ret_port, struct rye_err *err)
{
	struct sockaddr_in at = { 0 };
	socklen_t len = sizeof(at);

	ret[0] = bind_socket(AF_INET, ask->port, ask->backlog);
	if (ret[0] == -EADDRINUSE)
		return rye_fail(err, RYE_BUSY, "port %d of this machine is in use\n" MEND_WITH "%s",
				ask->port, ask->mend);
	if (ret[0] < 0)
		return rye_fail_sys(err, -ret[0], "cannot listen on port %d", ask->port);
	if (getsockname(ret[0], (struct sockaddr *)&at, &len) < 0)
		return rye_fail_sys(err, errno, "cannot listen");
	*ret_port = ntohs(at.sin_port);
	/* The machine may have no IPv6; where it has, no other program gets what clients send there. */
	ret[1] = bind_socket(AF_INET6, *ret_port, ask->backlog);
	if (ret[1] == -EADDRINUSE)
		return rye_fail(err, RYE_BUSY, "port %d of [::1] is in use", *ret_port);
	return 0;
}
