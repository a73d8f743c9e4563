/* SPDX-License-Identifier: MIT */
/*
 * What a thread leaves behind. Its living processes are known by their environment, which
 * outlives runner and session. Dead ones fall to the first thread of this process, a
 * subreaper, and have no environment any more; but a child that somebody here still waits for
 * is listed with the thread that started it or, a runner, gone in a moment.
 */
#include "thread/dir.h"

#include "base/auto.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#define ENVIRON_MAX (256u << 10)

static bool belongs(const char *pid, const char *mark)
{
	char path[64];
	auto_free char *text = malloc(ENVIRON_MAX);
	auto_close int fd = -1;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%.20s/environ", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || !text)
		return false;
	n = read(fd, text, ENVIRON_MAX);
	/* The terminating NUL is part of the mark: no prefix of another id matches. */
	return n > 0 && memmem(text, (size_t)n, mark, strlen(mark) + 1);
}

void thread_kill_strays(const char *id)
{
	auto_dir DIR *proc = opendir("/proc");
	char mark[1100];
	struct dirent *entry;

	snprintf(mark, sizeof(mark), "RYE_THREAD_ID=%s", id);
	while (proc && (entry = readdir(proc))) {
		pid_t pid = (pid_t)atoi(entry->d_name);

		if (pid > 1 && pid != getpid() && belongs(entry->d_name, mark))
			kill(pid, SIGKILL);
	}
}

static bool is_zombie(pid_t pid)
{
	char path[32], text[512] = "";
	auto_close int fd = -1;
	const char *end;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
		return false;
	end = strrchr(text, ')'); /* the name before it may hold anything */
	return end && !strncmp(end, ") Z", 3);
}

static bool was_seen(const struct zombies *seen, pid_t pid)
{
	for (size_t i = 0; i < seen->n; i++)
		if (seen->pid[i] == pid)
			return true;
	return false;
}

size_t zombies_sweep(struct zombies *seen)
{
	char path[64], list[8192] = "";
	struct zombies now = { 0 };
	auto_close int fd = -1;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, list, sizeof(list) - 1) <= 0)
		*list = 0;
	for (char *p = list; *p; p += *p == ' ') {
		pid_t pid = (pid_t)strtol(p, &p, 10);

		if (pid <= 0)
			break;
		if (!is_zombie(pid) || (was_seen(seen, pid) && waitpid(pid, NULL, WNOHANG) == pid))
			continue;
		if (now.n < ARRAY_SIZE(now.pid))
			now.pid[now.n++] = pid;
	}
	*seen = now;
	return now.n;
}
