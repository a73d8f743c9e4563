/* SPDX-License-Identifier: MIT */
/*
 * What begins a connection of the HTTP server. However much of it has come, a verdict is not taken
 * back when more comes; what is let in has no folded line, no bare line end and no byte that ends a
 * text, and is cut into its values. What follows is taken for the line of a chunk.
 */
#include "mcp/server/server_inner.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define TEXT_MAX 2048

static size_t head_len(const char *text, size_t size)
{
	const char *end = memmem(text, size, "\r\n\r\n", 4);

	if (!end)
		abort();
	return (size_t)(end - text);
}

static void check_good(const char *text, size_t size)
{
	/* never NULL, which gcc does not see with UBSan */
	size_t n = text ? head_len(text, size) : 0;

	if (!text || memchr(text, 0, n) || memmem(text, n, "\r\n ", 3) ||
	    memmem(text, n, "\r\n\t", 3))
		abort();
	for (size_t i = 0; i < n; i++)
		if (text[i] == '\n' && (!i || text[i - 1] != '\r'))
			abort();
}

/* The values lie in the head, without blanks around them. */
static void check_values(const char *text, size_t size)
{
	struct serve_head head = { 0 };
	struct serve_heard heard = { 0 };
	size_t n = head_len(text, size) + 2;
	auto_free char *copy = calloc(1, n + 1);

	if (!copy)
		return;
	memcpy(copy, text, n);
	serve_head_read(copy, &head, &heard);
	if (!*head.verb || !*head.path || strchr(head.path, '?') || !head.host ||
	    head.host[strspn(head.host, " \t")] != *head.host)
		abort();
}

static void check_chunk(const char *text, size_t size)
{
	unsigned before = HTTP_MORE;

	for (size_t n = 0; n <= size && n <= 64; n++) {
		size_t length = 0;
		const char *why = NULL;
		unsigned now = serve_chunk_check((struct rye_span){ text, n }, &length, &why);

		if (before != HTTP_MORE && now != before && now != 413)
			abort();
		if (now > HTTP_MORE && ((now != 400 && now != 413) || !why))
			abort();
		before = now;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned before = HTTP_MORE;

	if (size > TEXT_MAX)
		return 0;
	for (size_t n = 0; n <= size; n++) {
		/* exactly as long, so that a sanitizer sees a read behind it */
		auto_free char *text = malloc(n ? n : 1);
		const char *why = NULL;
		unsigned now;

		if (!text)
			return 0;
		memcpy(text, data, n);
		now = http_head_check((struct rye_span){ text, n }, &why);
		if (before != HTTP_MORE && now != before)
			abort();
		if (now > HTTP_MORE && (now < 400 || now > 599 || !why))
			abort();
		if (!now && before) {
			check_good(text, n);
			check_values(text, n);
			check_chunk((const char *)data + n, size - n);
		}
		before = now;
	}
	return 0;
}
