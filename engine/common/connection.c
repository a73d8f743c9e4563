/* SPDX-License-Identifier: MIT */
/*
 * connection.c - asking a mount for a sign of life, ending its connection, unmounting.
 *
 * Owns no state. Both are done in a child process of their own: a request to a dead daemon
 * blocks until it is killed, and a view of fusectl may need a mount namespace of its own.
 */
#include "connection.h"

#include "scope.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/statfs.h>
#include <sys/wait.h>

#define LOOK_MS 5
#define FUSECTL "/sys/fs/fuse/connections"

/* Status of the child, or -1 when it had to be killed. A request that no daemon has read yet
 * ends with a fatal signal (request_wait_answer in the kernel), so the kill is waited for. */
static int connection_wait_for(pid_t pid, int patience_ms)
{
	int status = 0;

	for (int left_ms = patience_ms; left_ms > 0; left_ms -= LOOK_MS) {
		pid_t done = waitpid(pid, &status, WNOHANG);

		if (done == pid)
			return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
		if (done < 0 && errno != EINTR)
			return -1;
		poll(NULL, 0, LOOK_MS);
	}
	kill(pid, SIGKILL);
	/* A daemon that is only stopped has read the request: then even a kill waits for it. */
	for (int left_ms = patience_ms; left_ms > 0; left_ms -= LOOK_MS) {
		if (waitpid(pid, NULL, WNOHANG) != 0)
			break;
		poll(NULL, 0, LOOK_MS);
	}
	return -1;
}

/* One that cannot even be killed must not keep open what reads what this process writes. */
static void connection_let_go(void)
{
	close_range(0, 2, 0);
}

/* ECONNABORTED: the connection ended while statfs waited. */
static bool is_end(int sys)
{
	return sys == ENOTCONN || sys == ECONNABORTED;
}

enum connection_state connection_probe(const char *mountpoint, int patience_ms)
{
	pid_t pid = fork();
	struct statfs st;

	if (pid == 0) {
		connection_let_go();
		_exit(statfs(mountpoint, &st) && is_end(errno) ? CONNECTION_DEAD :
								 CONNECTION_ANSWERS);
	}
	if (pid < 0)
		return CONNECTION_ANSWERS;
	switch (connection_wait_for(pid, patience_ms)) {
	case CONNECTION_ANSWERS:
		return CONNECTION_ANSWERS;
	case CONNECTION_DEAD:
		return CONNECTION_DEAD;
	default:
		return CONNECTION_SILENT;
	}
}

static bool write_abort(unsigned minor)
{
	char path[128];
	auto_close int fd = -1;

	snprintf(path, sizeof(path), FUSECTL "/%u/abort", minor);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	return fd >= 0 && write(fd, "1", 1) == 1;
}

/* Where fusectl is not mounted, root sees it in a mount namespace of this process alone. */
static bool abort_in_view(unsigned minor)
{
	return unshare(CLONE_NEWNS) == 0 &&
	       mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
	       mount("fusectl", FUSECTL, "fusectl", 0, NULL) == 0 && write_abort(minor);
}

bool connection_abort(unsigned minor, const char *mountpoint)
{
	pid_t pid;

	if (write_abort(minor))
		return true;
	pid = fork();
	if (pid == 0) {
		connection_let_go();
		_exit(abort_in_view(minor) ? 0 : 1);
	}
	if (pid > 0 && connection_wait_for(pid, CONNECTION_PATIENCE_MS) == 0)
		return true;
	/* The kernel aborts the connection even when it answers EBUSY and keeps the mount. */
	return umount2(mountpoint, MNT_FORCE | UMOUNT_NOFOLLOW) == 0 || errno == EBUSY;
}

/*
 * Looked for in directories of the system alone: PATH may name one where tools write, and this
 * process may see keys.
 */
int fusermount_run(const char *const argv[])
{
	static const char *const paths[] = { "/usr/bin/fusermount3", "/bin/fusermount3",
					     "/usr/local/bin/fusermount3",
					     "/run/wrappers/bin/fusermount3" };
	static const char *const env[] = { "PATH=/usr/sbin:/usr/bin:/sbin:/bin", NULL };
	posix_spawn_file_actions_t files;
	int status = -1, r = ENOENT;
	pid_t pid;

	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	for (size_t i = 0; r == ENOENT && i < ARRAY_SIZE(paths); i++)
		r = posix_spawn(&pid, paths[i], &files, NULL, (char *const *)argv,
				(char *const *)env);
	posix_spawn_file_actions_destroy(&files);
	if (r)
		return -1;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
