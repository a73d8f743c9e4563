/* SPDX-License-Identifier: MIT */
/*
 * Ids of threads: what one may look like, since it is a path, and how new ones are made. No state;
 * the thread's directory and its row decide whether an id is taken.
 */
#include "thread/thread_inner.h"

#include "scope.h"
#include "str.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

int thread_id_check(const char *id, struct rye_err *err)
{
	struct rye_span rest = span_of(id);
	bool ok = rest.len && rest.len <= 1024;

	while (ok) {
		const char *slash = memchr(rest.ptr, '/', rest.len);
		size_t n = slash ? (size_t)(slash - rest.ptr) : rest.len;
		struct rye_span part = { rest.ptr, n };

		ok = n && n <= 255 && part.ptr[0] != '.' && utf8_valid(part);
		for (size_t i = 0; i < n; i++)
			ok = ok && (unsigned char)part.ptr[i] >= 0x20;
		if (!slash)
			break;
		rest = span_skip(rest, n + 1);
	}
	return ok ? 0 : rye_fail(err, RYE_INVALID, "not a thread id: %.200s", id);
}

void thread_id_new(char ret[THREAD_ID_MAX])
{
	unsigned char raw[16];
	char hex[33];

	if (getrandom(raw, sizeof(raw), 0) != sizeof(raw))
		abort();
	raw[6] = (raw[6] & 0x0f) | 0x40;
	raw[8] = (raw[8] & 0x3f) | 0x80;
	hex_of(raw, sizeof(raw), hex);
	snprintf(ret, THREAD_ID_MAX, "%.8s-%.4s-%.4s-%.4s-%.12s", hex, hex + 8, hex + 12, hex + 16,
		 hex + 20);
}

void thread_id_at(const char *stem, int try, char ret[THREAD_ID_MAX])
{
	struct timespec now;
	int64_t ms;

	clock_gettime(CLOCK_REALTIME, &now);
	ms = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
	if (try)
		snprintf(ret, THREAD_ID_MAX, "%s-%" PRId64, stem, ms + try - 1);
	else
		snprintf(ret, THREAD_ID_MAX, "%s-%" PRId64, stem, ms / 1000);
}
