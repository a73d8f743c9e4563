/* SPDX-License-Identifier: MIT */
/* feed_out.h: a growing text, at most FEED_MAX bytes. */
#ifndef RYE_FS_FEED_OUT_H
#define RYE_FS_FEED_OUT_H

#include <stdbool.h>
#include <stddef.h>

/* All zero: empty. data is heap, NUL-terminated, NULL before the first byte; its owner frees. */
struct feed_out {
	char *data;
	size_t len, size;
	bool failed; /* too big, or out of memory: what is there is not all */
};

void feed_out_add(struct feed_out *out, const char *ptr, size_t len);
void feed_out_text(struct feed_out *out, const char *text);
/* A piece of a JSON string, without quotes. */
void feed_out_escaped(struct feed_out *out, const char *ptr, size_t len);
/* A whole one, with them. */
void feed_out_string(struct feed_out *out, const char *ptr, size_t len);

#endif
