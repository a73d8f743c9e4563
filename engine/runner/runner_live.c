/* SPDX-License-Identifier: MIT */
/*
 * What the item prints, as it comes: into `live` and, among what else the runner prints, into
 * spawn.log. `live` is read through the mount, which shows no more of a file than this writes.
 */
#include "runner/runner_inner.h"

#include "base/io.h"
#include "bounds.h"
#include "scope.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* Room for the line that says that more was left out. */
#define LIVE_GAP_MAX 128

void live_open(const struct orders *orders, struct live *ret)
{
	struct stat st;

	/* made by the launcher; a runner before this one may have written to it */
	*ret = (struct live){ .fd = openat(orders->dir, "live",
					   O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC) };
	if (ret->fd >= 0 && fstat(ret->fd, &st) == 0)
		ret->len = (size_t)st.st_size;
	ret->full = ret->len > RYE_OUTPUT_MAX - LIVE_GAP_MAX;
}

/* A reader that follows it would take the thread for a silent one. */
static void live_mark_gap(struct live *live)
{
	auto_buf struct rye_buf line = RYE_BUF_INIT;

	if (live->fd < 0 || live->full)
		return;
	live->full = true;
	buf_addf(&line,
		 "\n[what follows %u MiB is left out here; spawn.log on disk has all of it]\n",
		 RYE_OUTPUT_MAX >> 20);
	if (!line.failed)
		io_write_all(live->fd, line.data, line.len);
}

void live_put(struct live *live, struct rye_span text)
{
	if (!text.len)
		return;
	io_write_all(STDOUT_FILENO, text.ptr, text.len);
	live->last = text.ptr[text.len - 1];
	if (live->full || live->len + text.len > RYE_OUTPUT_MAX - LIVE_GAP_MAX)
		live_mark_gap(live);
	else if (live->fd >= 0 && io_write_all(live->fd, text.ptr, text.len) == 0)
		live->len += text.len;
}

void live_close(struct live *live)
{
	if (live->fd >= 0)
		close(live->fd);
}
