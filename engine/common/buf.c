/* SPDX-License-Identifier: MIT */
/*
 * Growing buffers and refcounted blobs, and outcomes, which are some of them. All are plain memory:
 * no lock, no I/O. A blob is immutable from the moment it is made, so its count is the only field two
 * threads touch.
 */
#include "buf.h"

#include "bounds.h"
#include "memory.h"
#include "str.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void buf_done(struct rye_buf *buf)
{
	free(buf->data);
	buf->data = NULL;
	buf->len = buf->size = 0;
	buf->failed = false;
}

void buf_clear(struct rye_buf *buf)
{
	buf->len = 0;
	buf->failed = false;
	if (buf->data)
		buf->data[0] = 0;
}

void buf_cut(struct rye_buf *buf, size_t len)
{
	buf->len = MIN_OF(len, buf->len);
	if (buf->data)
		buf->data[buf->len] = 0;
}

bool buf_reserve(struct rye_buf *buf, size_t more)
{
	size_t cap = buf->cap ? buf->cap : RYE_BUF_CAP, want, size;
	char *data;

	if (buf->failed || more > cap || buf->len > cap - more) {
		buf->failed = true;
		return false;
	}
	want = buf->len + more + 1;
	if (want <= buf->size)
		return true;
	size = buf->size ? buf->size : 64;
	while (size < want)
		size *= 2;
	data = memory_note(realloc(buf->data, size));
	if (!data) {
		buf->failed = true;
		return false;
	}
	buf->data = data;
	buf->size = size;
	return true;
}

void buf_add(struct rye_buf *buf, const char *ptr, size_t len)
{
	if (!buf_reserve(buf, len))
		return;
	if (len)
		memcpy(buf->data + buf->len, ptr, len);
	buf->len += len;
	buf->data[buf->len] = 0;
}

void buf_adds(struct rye_buf *buf, const char *text)
{
	buf_add(buf, text, strlen(text));
}

void buf_addc(struct rye_buf *buf, char c)
{
	buf_add(buf, &c, 1);
}

void buf_addspan(struct rye_buf *buf, struct rye_span span)
{
	buf_add(buf, span.ptr, span.len);
}

void buf_addf(struct rye_buf *buf, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(NULL, 0, format, args);
	va_end(args);
	if (n < 0 || !buf_reserve(buf, (size_t)n))
		return;
	va_start(args, format);
	vsnprintf(buf->data + buf->len, (size_t)n + 1, format, args);
	va_end(args);
	buf->len += (size_t)n;
}

struct rye_blob *buf_blob(struct rye_buf *buf)
{
	struct rye_blob *blob = buf->failed ? NULL : rye_blob_new(buf->data, buf->len);

	buf_done(buf);
	return blob;
}

char *buf_steal(struct rye_buf *buf)
{
	char *text = NULL;

	if (!buf->failed && buf_reserve(buf, 0)) {
		buf->data[buf->len] = 0;
		text = buf->data;
		buf->data = NULL;
	}
	buf_done(buf);
	return text;
}

static bool is_unseen(const char *text)
{
	struct rye_span s = span_of(text);
	uint32_t cp;
	size_t n;

	for (; s.len; s = span_skip(s, n)) {
		n = utf8_next(s, &cp);
		if (!n || utf8_unseen(cp))
			return true;
	}
	return false;
}

/* Of $'…', by bytes: not every locale of a shell has the characters. */
static void buf_add_escaped(struct rye_buf *buf, const char *text)
{
	struct rye_span s = span_of(text);
	uint32_t cp;
	size_t n;

	for (; s.len; s = span_skip(s, n ? n : 1)) {
		n = utf8_next(s, &cp);
		for (size_t i = 0; !n || utf8_unseen(cp); i++) {
			buf_addf(buf, "\\x%02x", (unsigned char)s.ptr[i]);
			if (i + 1 >= n)
				break;
		}
		if (n && !utf8_unseen(cp))
			buf_addf(buf, "%s%.*s", cp == '\'' || cp == '\\' ? "\\" : "", (int)n,
				 s.ptr);
	}
}

void buf_shell(struct rye_buf *buf, const char *text)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789._/:@%+,=-";

	if (*text && !text[strspn(text, plain)]) {
		buf_adds(buf, text);
	} else if (is_unseen(text)) {
		buf_adds(buf, "$'");
		buf_add_escaped(buf, text);
		buf_addc(buf, '\'');
	} else {
		buf_addc(buf, '\'');
		for (; *text; text++)
			buf_adds(buf, *text == '\'' ? "'\\''" : (char[]){ *text, 0 });
		buf_addc(buf, '\'');
	}
}

void buf_percent(struct rye_buf *buf, struct rye_span text, bool slash)
{
	for (size_t i = 0; i < text.len; i++) {
		unsigned char c = (unsigned char)text.ptr[i];

		if (isalnum(c) || (c && strchr("-._~", c)) || (c == '/' && slash))
			buf_addc(buf, (char)c);
		else
			buf_addf(buf, "%%%02X", c);
	}
}

struct rye_blob *rye_blob_new(const char *ptr, size_t len)
{
	struct rye_blob *blob = memory_note(malloc(sizeof(*blob) + len + 1));

	if (!blob)
		return NULL;
	atomic_init(&blob->refs, 1);
	blob->len = len;
	if (ptr && len)
		memcpy(blob->data, ptr, len);
	blob->data[len] = 0;
	return blob;
}

struct rye_blob *rye_blob_ref(struct rye_blob *blob)
{
	if (blob)
		atomic_fetch_add_explicit(&blob->refs, 1, memory_order_relaxed);
	return blob;
}

void rye_blob_unref(struct rye_blob *blob)
{
	if (blob && atomic_fetch_sub_explicit(&blob->refs, 1, memory_order_acq_rel) == 1)
		free(blob);
}

void rye_outcome_done(struct rye_outcome *outcome)
{
	rye_blob_unref(outcome->reply);
	rye_blob_unref(outcome->output);
	rye_blob_unref(outcome->trace);
	rye_blob_unref(outcome->instead);
	*outcome = (struct rye_outcome){ .message = "" };
}
