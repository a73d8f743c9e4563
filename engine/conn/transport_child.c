/* SPDX-License-Identifier: MIT */
/*
 * A program whose standard input and output are a connection: ssh, or what command: names. It is the
 * person's own, with the person's environment, and not confined. It ends when its input does; what
 * does not is ended.
 */
#include "conn/conn_inner.h"

#include "clock.h"
#include "http/http.h"
#include "memory.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

/* Milliseconds from the end of its input to SIGTERM, and from that to SIGKILL. */
#define END_MS 500

/* Of ours; absolute entries of it alone (env_which takes the others for what they are). */
static char *find_program(const char *name)
{
	const char *path = getenv("PATH");
	auto_buf struct rye_buf clean = RYE_BUF_INIT;

	for (const char *p = path ? path : "/usr/bin:/bin"; *p;) {
		int n = (int)strcspn(p, ":");

		if (*p == '/')
			buf_addf(&clean, "%s%.*s", clean.len ? ":" : "", n, p);
		p += n + (p[n] == ':');
	}
	return clean.failed || !clean.data ? NULL : env_which(name, clean.data);
}

static int open_pair(int pair[2], int said[2], struct rye_err *err)
{
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return rye_fail_sys(err, errno, "cannot make a connection");
	if (pipe2(said, O_CLOEXEC) == 0)
		return 0;
	close(pair[0]);
	close(pair[1]);
	return rye_fail_sys(err, errno, "cannot make a connection");
}

static void name_of(const char *path, char ret[64])
{
	const char *slash = strrchr(path, '/');

	snprintf(ret, 64, "%s", slash ? slash + 1 : path);
}

int transport_start(char *const argv[], struct ends *ret, struct rye_err *err)
{
	auto_free char *path = find_program(argv[0]);
	struct ends ends = { .child = { .pid = 0, .pidfd = -1 } };
	int pair[2], said[2], r;
	struct spawn_ask ask = { .path = path,
				 .argv = argv,
				 .envp = environ,
				 .cwd = "/",
				 .extra = -1 };

	name_of(argv[0], ends.name);
	if (!path)
		return rye_fail(err, RYE_UNREACHABLE, "there is no program %s on this machine",
				argv[0]);
	r = open_pair(pair, said, err);
	if (r < 0)
		return r;
	ask.in = ask.out = pair[1];
	ask.err = said[1];
	r = spawn(&ask, &ends.child, err);
	close(pair[1]);
	close(said[1]);
	ends.in = ends.out = pair[0];
	ends.said = said[0];
	if (!r) {
		*ret = ends;
		return 0;
	}
	ends.child.pid = 0;
	ends_close(&ends);
	if (err)
		err->code = RYE_UNREACHABLE;
	return -(int)RYE_UNREACHABLE;
}

static bool ended_within(const struct child *child, int ms)
{
	int64_t end = clock_ms() + ms;
	int r = 0;

	do {
		struct pollfd at = { child->pidfd, POLLIN, 0 };

		r = poll(&at, 1, (int)MAX_OF(end - clock_ms(), (int64_t)0));
	} while (r < 0 && errno == EINTR);
	return r > 0;
}

void ends_close(struct ends *ends)
{
	struct ended ended;

	if (ends->out >= 0 && ends->out != ends->in)
		close(ends->out);
	if (ends->in >= 0)
		close(ends->in);
	ends->in = ends->out = -1;
	tunnel_close(ends->tunnel);
	ends->tunnel = NULL;
	if (ends->child.pid) {
		if (!ended_within(&ends->child, END_MS))
			kill(-ends->child.pid, SIGTERM);
		if (!ended_within(&ends->child, END_MS))
			kill(-ends->child.pid, SIGKILL);
		spawn_reap(&ends->child, &ended);
		ends->child.pid = 0;
	}
	if (ends->said >= 0)
		close(steal_fd(&ends->said));
}
