/* SPDX-License-Identifier: MIT */
#pragma once
/*
 * own_fds.h: which descriptors this process has, and how many threads. Of some descriptors the kernel takes its time at
 * the end, and what waits for the process waits with it.
 */
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static inline int own_threads(void)
{
	DIR *dir = opendir("/proc/self/task");
	const struct dirent *entry;
	int n = 0;

	while (dir && (entry = readdir(dir)))
		n += entry->d_name[0] != '.';
	if (dir)
		closedir(dir);
	return n;
}

/* How many there are that /proc calls so. */
static inline int own_fds(const char *called)
{
	DIR *dir = opendir("/proc/self/fd");
	const struct dirent *entry;
	int n = 0;

	while (dir && (entry = readdir(dir))) {
		char path[300], text[64] = "";

		snprintf(path, sizeof(path), "/proc/self/fd/%s", entry->d_name);
		n += readlink(path, text, sizeof(text) - 1) > 0 && !strcmp(text, called);
	}
	if (dir)
		closedir(dir);
	return dir ? n : -1;
}
