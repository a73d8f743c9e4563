/* SPDX-License-Identifier: MIT */
/* page.h: a growing text for generated pages. A lack of memory is remembered: nothing is added any
 * more and text_blob gives NULL. So is a page that is full: its last line says that it was cut. */
#ifndef RYE_FS_CORE_PAGE_H
#define RYE_FS_CORE_PAGE_H

#include <rye/rye.h>

/* Bytes. No generated page is longer: doctor's list for a tree with very many faults is cut. */
#define TEXT_MAX (4u << 20)

struct text {
	char *data;
	size_t len, size;
	bool failed, full;
};

void text_add(struct text *text, const char *s);
void text_addn(struct text *text, const char *s, size_t len);
void text_addf(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A JSON string, quoted and escaped. */
void text_add_json(struct text *text, const char *s);
/* The text as a blob, NULL when it failed; frees the text. */
struct rye_blob *text_blob(struct text *text);

#endif
