/* SPDX-License-Identifier: MIT */
/*
 * page.c - generated pages.
 *
 * Owns a growing buffer with a cap. When a piece of text would pass TEXT_MAX, the page ends before
 * the line that it belongs to, and says so. Only a lack of memory makes the text fail.
 */
#include "core/page.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char page_cut[] = "there is more: this page was cut at 4 MiB\n";

static bool page_reserve(struct text *text, size_t more)
{
	size_t size = text->size ? text->size : 1024;
	char *data;

	text->full |= more >= TEXT_MAX - sizeof(page_cut) - text->len;
	if (text->failed || text->full)
		return false;
	while (size < text->len + more + 1)
		size *= 2;
	if (size == text->size)
		return true;
	data = realloc(text->data, size);
	if (!data) {
		text->failed = true;
		return false;
	}
	text->data = data;
	text->size = size;
	return true;
}

void text_addn(struct text *text, const char *s, size_t len)
{
	if (!len || !page_reserve(text, len))
		return;
	memcpy(text->data + text->len, s, len);
	text->len += len;
	text->data[text->len] = '\0';
}

void text_add(struct text *text, const char *s)
{
	text_addn(text, s, strlen(s));
}

void text_addf(struct text *text, const char *format, ...)
{
	va_list ap, again;
	int n;

	va_start(ap, format);
	va_copy(again, ap);
	n = vsnprintf(NULL, 0, format, ap);
	va_end(ap);
	if (n >= 0 && page_reserve(text, (size_t)n)) {
		vsnprintf(text->data + text->len, (size_t)n + 1, format, again);
		text->len += (size_t)n;
	}
	va_end(again);
}

void text_add_json(struct text *text, const char *s)
{
	text_add(text, "\"");
	for (const unsigned char *p = (const unsigned char *)s; *p; p++) {
		if (*p == '"' || *p == '\\')
			text_addf(text, "\\%c", *p);
		else if (*p < 0x20 || *p == 0x7f)
			text_addf(text, "\\u%04x", *p);
		else
			text_addn(text, (const char *)p, 1);
	}
	text_add(text, "\"");
}

struct rye_blob *text_blob(struct text *text)
{
	size_t len = text->len, end = text->full ? sizeof(page_cut) - 1 : 0;
	struct rye_blob *blob;

	while (text->full && len && text->data[len - 1] != '\n')
		len--;
	blob = text->failed ? NULL : rye_blob_new(NULL, len + end);
	if (blob && len)
		memcpy(blob->data, text->data, len);
	if (blob)
		memcpy(blob->data + len, page_cut, end);
	free(text->data);
	*text = (struct text){ 0 };
	return blob;
}
