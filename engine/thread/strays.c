/* SPDX-License-Identifier: MIT */
/*
 * What a thread leaves behind: its processes are known by their environment, which outlives
 * runner and session. Called by whoever ends a thread or records that it was lost; without
 * any lock, because it waits.
 */
#include "thread/dir.h"

#include "base/auto.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#define ENVIRON_MAX (256u << 10)
/* Killed processes that are waited for, and how long: they are gone in a millisecond or two. */
#define REAP_MAX 256
#define REAP_TRIES 50
#define REAP_MS 2

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

/* True: it is gone. One that fell to this process, as a subreaper, is waited for. */
static bool is_gone(pid_t pid)
{
	return waitpid(pid, NULL, WNOHANG) == pid || kill(pid, 0) < 0;
}

static void reap(pid_t *pids, size_t n)
{
	for (int i = 0; i < REAP_TRIES && n; i++) {
		size_t left = 0;

		for (size_t k = 0; k < n; k++)
			if (!is_gone(pids[k]))
				pids[left++] = pids[k];
		n = left;
		if (n)
			poll(NULL, 0, REAP_MS);
	}
}

void thread_kill_strays(const char *id)
{
	auto_dir DIR *proc = opendir("/proc");
	pid_t killed[REAP_MAX];
	char mark[1100];
	struct dirent *entry;
	size_t n = 0;

	snprintf(mark, sizeof(mark), "RYE_THREAD_ID=%s", id);
	while (proc && (entry = readdir(proc))) {
		pid_t pid = (pid_t)atoi(entry->d_name);

		if (pid <= 1 || pid == getpid() || !belongs(entry->d_name, mark))
			continue;
		kill(pid, SIGKILL);
		if (n < REAP_MAX)
			killed[n++] = pid;
	}
	reap(killed, n);
}
