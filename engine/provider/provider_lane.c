/* SPDX-License-Identifier: MIT */
/*
 * The lane of one key and host: a directory with a file for each request that may be under way, and
 * one with the time until which none may be sent. Every runner of a person has the same, and threads of
 * one process meet there as well. A place is an flock(2) of its file, which ends with its process.
 */
#include "provider/provider_inner.h"

#include "clock.h"
#include "scope.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

/* Milliseconds between two looks for a place: requests take seconds. */
#define LANE_LOOK_MS 50
/* A pause that is longer was written before the machine started, or is no pause. */
#define LANE_PAUSE_MAX_MS 3600000

/* Of all processes alike, and it goes on while the machine sleeps. */
static int64_t lane_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return now.tv_sec * 1000ll + now.tv_nsec / NS_PER_MS;
}

static int lane_file(const struct provider *provider, const char *name)
{
	auto_close int dir = -1;

	if (mkdir(provider->lane, 0700) && errno != EEXIST)
		return -1;
	dir = open(provider->lane, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir < 0)
		return -1;
	return openat(dir, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
}

static int64_t read_until(int fd)
{
	char text[32] = "";
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

	return n > 0 ? strtoll(text, NULL, 10) : 0;
}

/* Milliseconds that are left of the pause. */
static int64_t pause_left(const struct provider *provider)
{
	auto_close int fd = lane_file(provider, "pause");
	int64_t left = fd < 0 ? 0 : read_until(fd) - lane_now();

	return left > LANE_PAUSE_MAX_MS ? 0 : MAX_OF(left, 0);
}

void provider_lane_pause(const struct provider *provider, int64_t ms)
{
	auto_close int fd = provider->lane && ms > 0 ? lane_file(provider, "pause") : -1;
	int64_t until = lane_now() + MIN_OF(ms, LANE_PAUSE_MAX_MS);
	char text[32];

	if (fd < 0 || flock(fd, LOCK_EX))
		return;
	if (read_until(fd) >= until && read_until(fd) - lane_now() <= LANE_PAUSE_MAX_MS)
		return;
	snprintf(text, sizeof(text), "%-20lld\n", (long long)until);
	(void)!pwrite(fd, text, strlen(text), 0);
}

static int find_place(const struct provider *provider)
{
	for (unsigned i = 0; i < provider->in_flight; i++) {
		char name[32];
		auto_close int fd = -1;

		snprintf(name, sizeof(name), "place-%u", i);
		fd = lane_file(provider, name);
		/* A directory that cannot be had must not stop the work. */
		if (fd < 0)
			return -2;
		if (!flock(fd, LOCK_EX | LOCK_NB))
			return steal_fd(&fd);
	}
	return -1;
}

/* The wait ends with the call. */
static int lane_wait(const struct provider_call *call, int64_t ms, struct rye_err *err)
{
	struct pollfd wake = { call->cancel, POLLIN, 0 };
	int64_t rest = call->until_ms ? call->until_ms - clock_ms() : ms;

	if (rest <= 0)
		return rye_fail(err, RYE_TIMEOUT, "%s: no request could be sent in time",
				call->provider->host);
	if (poll(&wake, call->cancel >= 0, (int)MIN_OF(ms, rest)) > 0)
		return rye_fail(err, RYE_CANCELLED, "Run was cancelled");
	return 0;
}

static void tell_lane_queued(const struct provider_call *call, bool *told)
{
	const struct provider_event event = { .type = PROVIDER_NOTICE, .text = { "queued", 6 } };

	if (!*told && call->fn)
		call->fn(call->arg, &event);
	*told = true;
}

int lane_enter(const struct provider_call *call, struct provider_lane *ret, struct rye_err *err)
{
	const struct provider *provider = call->provider;
	bool told = false;
	int r = 0, fd = -1;

	ret->fd = -1;
	if (!provider->lane)
		return 0;
	while (!r) {
		int64_t left = pause_left(provider);

		fd = left ? -1 : find_place(provider);
		if (fd != -1)
			break;
		tell_lane_queued(call, &told);
		r = lane_wait(call, left ? MIN_OF(left, 1000) : LANE_LOOK_MS, err);
	}
	ret->fd = fd;
	return r;
}

void lane_leave(struct provider_lane *lane)
{
	if (lane->fd >= 0)
		close(lane->fd);
	lane->fd = -1;
}
