/* SPDX-License-Identifier: MIT */
/*
 * A growing text: messages as JSON, and the replies that the front writes itself. It never
 * grows beyond a message's bound, and after a failure nothing is added any more, so a caller
 * looks once, at the end.
 *
 * Pure: no lock, no I/O. Called by feed_yaml.c, feed_scalar.c and talk_reply.c.
 */
#include "feed_out.h"

#include "feed.h"
#include "util.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void feed_out_add(struct feed_out *out, const char *ptr, size_t len)
{
	if (out->failed || len == 0)
		return;
	if (len > FEED_MAX || out->len + len > FEED_MAX) {
		out->failed = true;
		return;
	}
	if (out->len + len + 1 > out->size) {
		size_t size = MAX_OF(out->size * 2, out->len + len + 64);
		char *data = realloc(out->data, size);

		if (!data) {
			out->failed = true;
			return;
		}
		out->data = data;
		out->size = size;
	}
	memcpy(out->data + out->len, ptr, len);
	out->len += len;
	out->data[out->len] = '\0';
}

void feed_out_text(struct feed_out *out, const char *text)
{
	feed_out_add(out, text, strlen(text));
}

void feed_out_escaped(struct feed_out *out, const char *ptr, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = ptr[i];
		char escaped[8];

		if (c == '"' || c == '\\')
			snprintf(escaped, sizeof(escaped), "\\%c", c);
		else if (c == '\n')
			snprintf(escaped, sizeof(escaped), "\\n");
		else if (c < ' ' || c == 0x7f)
			snprintf(escaped, sizeof(escaped), "\\u%04x", c);
		else
			snprintf(escaped, sizeof(escaped), "%c", c);
		feed_out_text(out, escaped);
	}
}

void feed_out_string(struct feed_out *out, const char *ptr, size_t len)
{
	feed_out_add(out, "\"", 1);
	feed_out_escaped(out, ptr, len);
	feed_out_add(out, "\"", 1);
}
