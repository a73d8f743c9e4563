/* SPDX-License-Identifier: MIT */
/*
 * buf.h: a growing byte buffer with sticky failure and a cap.
 *
 * data is never NULL after a successful append and always ends in a NUL that len does not
 * count. After an append that would exceed `cap` or ran out of memory, `failed` is set, the
 * contents stay as they were and later appends do nothing: check once, at the end.
 */
#ifndef RYE_COMMON_BUF_H
#define RYE_COMMON_BUF_H

#include "err.h"
#include "scope.h"

#include <rye/rye.h>

struct rye_buf {
	char *data;
	size_t len, size;
	size_t cap; /* 0: RYE_BUF_CAP */
	bool failed;
};

#define RYE_BUF_INIT     \
	(struct rye_buf) \
	{                \
		0        \
	}

void buf_done(struct rye_buf *buf); /* frees; the buffer is empty and usable again */
void buf_clear(struct rye_buf *buf);
/* What stands behind it goes; len: at most what is there. */
void buf_cut(struct rye_buf *buf, size_t len);
bool buf_reserve(struct rye_buf *buf, size_t more);
void buf_add(struct rye_buf *buf, const char *ptr, size_t len);
void buf_adds(struct rye_buf *buf, const char *text);
void buf_addc(struct rye_buf *buf, char c);
/* One word of a shell: as it is, quoted, or as $'\xe2\x80\xae' where it cannot be seen. */
void buf_shell(struct rye_buf *buf, const char *text);
/* Percent-encoded, as in URIs and queries: all but letters, digits and -._~, and '/' if `slash`. */
void buf_percent(struct rye_buf *buf, struct rye_span text, bool slash);
void buf_addspan(struct rye_buf *buf, struct rye_span span);
void buf_addf(struct rye_buf *buf, const char *format, ...) RYE_PRINTF(2, 3);
/* What is in it, borrowed until it changes; never NULL. */
static inline struct rye_span buf_span(const struct rye_buf *buf)
{
	return (struct rye_span){ buf->data ? buf->data : "", buf->len };
}
/* The bytes as a blob; empties the buffer. NULL when it had failed. */
struct rye_blob *buf_blob(struct rye_buf *buf);
/* The NUL-terminated text, owned by the caller (free); empties the buffer; NULL when failed. */
char *buf_steal(struct rye_buf *buf);

#define auto_buf __attribute__((cleanup(buf_done)))

#endif
