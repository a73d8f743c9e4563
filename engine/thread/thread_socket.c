/* SPDX-License-Identifier: MIT */
/*
 * Where a running thread hears what is said to it: a socket in the person's runtime directory, its
 * name made of the project and the thread's id. The directory is the person's alone; both ends look
 * at the other's user id all the same. What the runner itself has started tells it nothing: a tool would
 * raise its own thread's limits. No lock.
 */
#include "thread/thread_inner.h"

#include "base/sha.h"
#include "proc.h"
#include "scope.h"
#include "str.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

/* Seconds that a runner takes at most to say yes or no. */
#define SOCKET_WAIT_S 5

/* A directory of ours that no other user can write to. */
static bool socket_dir_ok(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
	       !(st.st_mode & 077);
}

int threads_runtime_dir(char ret[THREADS_RUNTIME_MAX], struct rye_err *err)
{
	const char *given = getenv("XDG_RUNTIME_DIR");

	if (given && *given == '/' && strlen(given) < 40 && socket_dir_ok(given))
		snprintf(ret, THREADS_RUNTIME_MAX, "%s/ryefs", given);
	else
		snprintf(ret, THREADS_RUNTIME_MAX, "/tmp/ryefs-%u", geteuid());
	if (mkdir(ret, 0700) < 0 && errno != EEXIST)
		return rye_fail_sys(err, errno, "%s", ret);
	if (!socket_dir_ok(ret))
		return rye_fail(err, RYE_DENIED, "%s must be a directory of yours alone", ret);
	return 0;
}

static int socket_address(const char *project, const char *id, struct sockaddr_un *ret,
			  struct rye_err *err)
{
	auto_buf struct rye_buf name = RYE_BUF_INIT;
	char dir[THREADS_RUNTIME_MAX], sum[SHA_HEX];
	int r = threads_runtime_dir(dir, err);

	if (r)
		return r;
	buf_addf(&name, "%s\n%s", project, id);
	sha256_hex((struct rye_span){ name.data, name.len }, sum);
	*ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
	snprintf(ret->sun_path, sizeof(ret->sun_path), "%s/%.32s", dir, sum);
	return 0;
}

int threads_hear(const char *project, const char *id, char ret_path[108], struct rye_err *err)
{
	auto_close int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un address;
	int r = socket_address(project, id, &address, err);

	if (r)
		return r;
	unlink(address.sun_path);
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
	    listen(fd, 8) < 0)
		return rye_fail_sys(err, errno, "%s", address.sun_path);
	snprintf(ret_path, 108, "%s", address.sun_path);
	return steal_fd(&fd);
}

void thread_unhear(const char *project, const char *id)
{
	struct sockaddr_un address;

	if (!socket_address(project, id, &address, NULL))
		unlink(address.sun_path);
}

/* Its process is stopped, or swapped out, or has too much to do; what it was told it may still hear. */
static int socket_silent(const char *id, struct rye_err *err)
{
	return rye_fail(
		err, RYE_TIMEOUT,
		"thread %s does not answer within %d seconds, its runner is stopped or busy: "
		"wait for it and look at messages.json before saying it again, or end it; " MEND_WITH
		"ryefs threads kill %s",
		id, SOCKET_WAIT_S, id);
}

static int socket_answer(int fd, const char *id, struct rye_err *err)
{
	char text[1024];
	ssize_t n = recv(fd, text, sizeof(text) - 1, 0);

	if (n <= 0)
		return socket_silent(id, err);
	text[n] = 0;
	return strcmp(text, "ok") ? rye_fail(err, RYE_INVALID, "%s", text) : 0;
}

int thread_tell(const char *project, const char *id, struct rye_span words, struct rye_err *err)
{
	auto_close int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	const struct timeval wait = { .tv_sec = SOCKET_WAIT_S };
	struct sockaddr_un address;
	int r = socket_address(project, id, &address, err);

	if (r)
		return r;
	/* of connect(2) too: where eight wait already for a runner that is stopped, it waits for
	 * room among them, unix_stream_connect in net/unix/af_unix.c */
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
	if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0 &&
	    errno == EAGAIN)
		return socket_silent(id, err);
	if (fd < 0 || !peer_own(fd))
		return rye_fail(err, RYE_STATE,
				"thread %s takes no messages: no model works on it now; " MEND_WITH
				"ryefs threads wait %s",
				id, id);
	if (send(fd, words.ptr, words.len, MSG_NOSIGNAL) != (ssize_t)words.len)
		return rye_fail_sys(err, errno, "cannot tell thread %s", id);
	return socket_answer(fd, id, err);
}
