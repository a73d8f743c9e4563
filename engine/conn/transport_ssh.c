/* SPDX-License-Identifier: MIT */
/*
 * ssh://[USER@]HOST[:PORT][/DIR]: the person's own ssh, with its configuration, agent and known hosts,
 * starts the node at the other end. It asks nothing, since no terminal is there to answer. DIR is the
 * node's directory there; /~/x lies in the home directory.
 */
#include "conn/conn_inner.h"

#include "memory.h"
#include "str.h"

#include <stdlib.h>
#include <string.h>

/* What a host, a user and a port are made of; nothing that ssh would take for an option or expand. */
#define HOST_CHARS                                                          \
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-" \
	"[]:%"
#define USER_CHARS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"

struct ssh_url {
	char user[65], host[256], port[6];
	const char *dir; /* behind the host, "/x"; or "" */
};

static int ssh_bad(const char *rest, struct rye_err *err)
{
	return rye_fail(err, RYE_INVALID, "ssh://%.200s: wanted is ssh://[USER@]HOST[:PORT][/DIR]",
			rest);
}

/* n bytes of these characters, which do not begin with a dash. */
static bool ssh_part(const char *text, size_t n, const char *chars, char *ret, size_t size)
{
	if (!n || n >= size || *text == '-')
		return false;
	memcpy(ret, text, n);
	ret[n] = 0;
	return strspn(ret, chars) == n;
}

/* "[::1]:22", "host:22", "host" */
static bool ssh_host(const char *text, size_t n, struct ssh_url *ret)
{
	const char *close = *text == '[' ? memchr(text, ']', n) : NULL;
	const char *from = close ? close : text;
	const char *colon = memchr(from, ':', n - (size_t)(from - text));
	size_t host = colon ? (size_t)(colon - text) : n;
	size_t port = colon ? n - host - 1 : 0;

	if (colon && (!port || port > 5 || strspn(colon + 1, "0123456789") < port))
		return false;
	if (colon)
		memcpy(ret->port, colon + 1, port);
	if (close)
		return ssh_part(text + 1, (size_t)(close - text) - 1, HOST_CHARS, ret->host,
				sizeof(ret->host));
	return ssh_part(text, host, USER_CHARS, ret->host, sizeof(ret->host));
}

static int ssh_read(const char *rest, struct ssh_url *ret, struct rye_err *err)
{
	size_t n = strcspn(rest, "/");
	const char *at = memchr(rest, '@', n);
	const char *host = at ? at + 1 : rest;

	*ret = (struct ssh_url){ .dir = rest + n };
	if (at && !ssh_part(rest, (size_t)(at - rest), USER_CHARS, ret->user, sizeof(ret->user)))
		return ssh_bad(rest, err);
	if (!ssh_host(host, n - (size_t)(host - rest), ret))
		return ssh_bad(rest, err);
	if (strpbrk(ret->dir, "\n\r"))
		return ssh_bad(rest, err);
	return 0;
}

static int ssh_check(const char *rest, struct rye_err *err)
{
	struct ssh_url url;

	return ssh_read(rest, &url, err);
}

/* One word, which the shell there reads. */
static char *there(const struct ssh_url *url)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;

	buf_adds(&text, "ryefs node --stdio");
	if (!strncmp(url->dir, "/~/", 3) && url->dir[3]) {
		buf_adds(&text, " ~/");
		buf_shell(&text, url->dir + 3);
	} else if (*url->dir && strcmp(url->dir, "/") != 0) {
		buf_addc(&text, ' ');
		buf_shell(&text, url->dir);
	}
	return buf_steal(&text);
}

static int ssh_open(const char *rest, struct ends *ret, struct rye_err *err)
{
	struct ssh_url url;
	int r = ssh_read(rest, &url, err);
	auto_free char *command = r ? NULL : there(&url);
	const char *argv[16] = { "ssh", "-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=15" };
	size_t n = 6;

	if (r < 0)
		return r;
	if (!command)
		return memory_fail(err);
	if (*url.port) {
		argv[n++] = "-p";
		argv[n++] = url.port;
	}
	if (*url.user) {
		argv[n++] = "-l";
		argv[n++] = url.user;
	}
	argv[n++] = "--";
	argv[n++] = url.host;
	argv[n++] = command;
	return transport_start((char *const *)argv, ret, err);
}

const struct transport transport_ssh = {
	.scheme = "ssh://",
	.wanted = "ssh://[USER@]HOST[:PORT][/DIR]",
	.check = ssh_check,
	.open = ssh_open,
};
