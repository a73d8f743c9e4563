/* SPDX-License-Identifier: MIT */
/*
 * What the item prints, as it comes: into `live` and, among what else the runner prints, into
 * spawn.log. `live` is read through the mount, which shows no more of a file than this writes.
 */
#include "runner/runner_inner.h"

#include "base/io.h"
#include "bounds.h"

#include <fcntl.h>
#include <unistd.h>

void live_open(const struct orders *orders, struct live *ret)
{
	*ret = (struct live){ .fd = openat(orders->dir, "live",
					   O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600) };
}

void live_put(struct live *live, struct rye_span text)
{
	if (!text.len)
		return;
	io_write_all(STDOUT_FILENO, text.ptr, text.len);
	live->last = text.ptr[text.len - 1];
	if (live->len + text.len > RYE_OUTPUT_MAX)
		return;
	if (live->fd >= 0 && io_write_all(live->fd, text.ptr, text.len) == 0)
		live->len += text.len;
}

void live_close(struct live *live)
{
	if (live->fd >= 0)
		close(live->fd);
}
