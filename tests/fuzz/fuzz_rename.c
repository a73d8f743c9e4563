/* SPDX-License-Identifier: MIT */
/* fuzz_rename.c - an id, line end, another one, line end, a text: what a move writes anew, and is the first named? */
#include "base/id.h"
#include "sign/sign.h"
#include "str.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Four fields at most, each an id and two quotes longer or shorter; nothing else is written. */
static void renamed(const char *from, const char *to, struct rye_span text)
{
	size_t most = 4 * (strlen(from) + strlen(to) + 2), same = 0;
	auto_buf struct rye_buf out = RYE_BUF_INIT;

	buf_addspan(&out, text);
	buf_adds(&out, "");
	sign_renamed(from, to, &out);
	if (out.failed)
		return;
	if (out.len > text.len + most || text.len > out.len + most)
		abort();
	if (!strcmp(from, to) && (out.len != text.len || memcmp(out.data, text.ptr, text.len)))
		abort();
	/* what stands before the first difference is a field's name */
	while (same < out.len && same < text.len && out.data[same] == text.ptr[same])
		same++;
	if ((same < out.len || same < text.len) && same < 3)
		abort();
}

static void mentioned(const char *id, struct rye_span text)
{
	for (int kind = 0; kind < RYE_KIND__MAX; kind++) {
		ssize_t at = sign_mentions((enum rye_kind)kind, id, text);

		if (at >= 0 && (size_t)at >= text.len)
			abort();
		if (at >= 0 && text.ptr[at] != *id && text.ptr[at] != '.')
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rye_span rest = { (const char *)data, size }, line;
	auto_free char *from = NULL, *to = NULL, *text = NULL;

	if (span_line(&rest, &line))
		from = span_dup(line);
	if (span_line(&rest, &line))
		to = span_dup(line);
	text = span_dup(rest);
	if (!from || !to || !text || id_check(span_of(from), NULL) || id_check(span_of(to), NULL))
		return 0;
	renamed(from, to, (struct rye_span){ text, rest.len });
	mentioned(from, (struct rye_span){ text, rest.len });
	return 0;
}
