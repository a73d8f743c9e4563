/* SPDX-License-Identifier: MIT */
/*
 * Asking another program, git, diff or python3: its standard output as bytes. The program is started
 * without a shell and without a pager, its complaints are thrown away where they are not wanted. It is one
 * of the system's, by whatever PATH says: that may name a directory where tools write, and this process may
 * see keys (tests/e2e/attacks_home.sh). One thread; owns nothing.
 */
#include "cli/cli.h"

#include "base/io.h"
#include "scope.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static void outside_take(int fd, struct rye_buf *ret)
{
	char chunk[16384];
	ssize_t n;

	while ((n = read(fd, chunk, sizeof(chunk))) > 0 || (n < 0 && errno == EINTR))
		if (n > 0)
			buf_add(ret, chunk, (size_t)n);
}

/* 0, or why no directory of the system has a program of this name that can be started. */
static int outside_spawn(const char *const argv[], const posix_spawn_file_actions_t *files,
			 pid_t *ret)
{
	static const char *const dirs[] = { "/usr/bin", "/bin", "/usr/local/bin",
					    "/run/current-system/sw/bin" };
	char path[64];
	int r = ENOENT;

	for (size_t i = 0; r == ENOENT && i < ARRAY_SIZE(dirs); i++) {
		snprintf(path, sizeof(path), "%s/%.20s", dirs[i], argv[0]);
		r = posix_spawn(ret, path, files, NULL, (char *const *)argv, environ);
	}
	return r;
}

static int outside_run(const char *const argv[], bool all, struct rye_buf *ret)
{
	posix_spawn_file_actions_t files;
	int pipes[2], status = -1;
	pid_t pid;

	if (pipe2(pipes, O_CLOEXEC) < 0)
		return -1;
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&files, pipes[1], STDOUT_FILENO);
	if (all)
		posix_spawn_file_actions_adddup2(&files, pipes[1], STDERR_FILENO);
	else
		posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	if (outside_spawn(argv, &files, &pid))
		pid = -1;
	posix_spawn_file_actions_destroy(&files);
	close(pipes[1]);
	if (pid > 0)
		outside_take(pipes[0], ret);
	close(pipes[0]);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return pid > 0 && WIFEXITED(status) && !ret->failed ? WEXITSTATUS(status) : -1;
}

int outside_read(const char *const argv[], struct rye_buf *ret)
{
	return outside_run(argv, false, ret);
}

int outside_tells(const char *const argv[], struct rye_buf *ret)
{
	return outside_run(argv, true, ret);
}

int outside_text(struct rye_span bytes, char ret_path[OUTSIDE_PATH])
{
	auto_close int fd = memfd_create("ryefs-text", MFD_CLOEXEC);

	if (fd < 0 || io_write_all(fd, bytes.ptr, bytes.len) < 0)
		return -1;
	snprintf(ret_path, OUTSIDE_PATH, "/proc/%d/fd/%d", (int)getpid(), fd);
	return steal_fd(&fd);
}
