/* SPDX-License-Identifier: MIT */
/*
 * A stream of messages, one a line. Lines are looked for once; what was told is dropped when the
 * next bytes come. Used by the thread that reads the stream; no lock.
 */
#include "mcp/mcp.h"

#include "bounds.h"

#include <string.h>

static void drop_told(struct mcp_lines *lines)
{
	struct rye_buf *text = &lines->text;

	if (!lines->begin)
		return;
	memmove(text->data, text->data + lines->begin, text->len - lines->begin);
	text->len -= lines->begin;
	text->data[text->len] = 0;
	lines->looked -= lines->begin;
	lines->begin = 0;
}

void mcp_lines_add(struct mcp_lines *lines, struct rye_span bytes)
{
	drop_told(lines);
	buf_addspan(&lines->text, bytes);
	lines->too_big |= lines->text.failed;
}

/* A line with its CR: what is longer is not kept waiting for its end. */
static bool is_long(struct rye_span line)
{
	size_t cr = line.len && line.ptr[line.len - 1] == '\r';

	return line.len - cr > RYE_MCP_MESSAGE_MAX;
}

bool mcp_lines_next(struct mcp_lines *lines, struct rye_span *ret)
{
	const struct rye_buf *text = &lines->text;
	struct rye_span line;
	const char *end;

	if (lines->too_big || !text->data)
		return false;
	end = memchr(text->data + lines->looked, '\n', text->len - lines->looked);
	line = (struct rye_span){ text->data + lines->begin,
				  (end ? (size_t)(end - text->data) : text->len) - lines->begin };
	lines->too_big = is_long(line);
	lines->looked = end ? (size_t)(end - text->data) + 1 : text->len;
	if (!end || lines->too_big)
		return false;
	lines->begin = lines->looked;
	if (line.len && line.ptr[line.len - 1] == '\r')
		line.len--;
	*ret = line;
	return true;
}

void mcp_lines_done(struct mcp_lines *lines)
{
	buf_done(&lines->text);
	*lines = (struct mcp_lines){ .begin = 0 };
}
