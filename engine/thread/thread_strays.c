/* SPDX-License-Identifier: MIT */
/*
 * What a thread leaves behind. Its living processes are known by their environment, which outlives
 * runner and session. Dead ones fall to the first thread of this process, a subreaper, and have no
 * environment any more; but a child that a thread of this process still waits for is listed with
 * the thread that started it or, a runner, gone in a moment.
 */
#include "thread/thread_inner.h"

#include "proc.h"
#include "scope.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

static bool is_of_thread(pid_t pid, void *id)
{
	char of[1100];

	return pid > 1 && pid != getpid() &&
	       proc_variable(pid, "RYE_THREAD_ID", of, sizeof(of)) > 0 && !strcmp(of, id);
}

void thread_kill_strays(const char *id)
{
	auto_dir DIR *proc = opendir("/proc");
	struct dirent *entry;

	while (proc && (entry = readdir(proc)))
		proc_end((pid_t)atoi(entry->d_name), is_of_thread, (void *)id);
}

static bool is_zombie(pid_t pid)
{
	struct proc_stat stat;

	return !proc_stat(pid, &stat) && stat.state == 'Z';
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
	auto_close int fd = proc_children_open();
	pid_t children[PROC_CHILDREN];
	struct zombies now = { 0 };
	size_t n = proc_children(fd, children);

	for (size_t i = 0; i < n; i++) {
		pid_t pid = children[i];

		if (!is_zombie(pid) || (was_seen(seen, pid) && waitpid(pid, NULL, WNOHANG) == pid))
			continue;
		if (now.n < ARRAY_SIZE(now.pid))
			now.pid[now.n++] = pid;
	}
	*seen = now;
	return now.n;
}
