/* SPDX-License-Identifier: MIT */
/*
 * What the head of a request says to this server, and the lengths of a body's chunks. Pure; outside
 * bytes, fuzzed.
 */
#include "mcp/server/server_inner.h"

#include "bounds.h"
#include "http/http.h"
#include "str.h"

#include <string.h>
#include <strings.h>

/* Of a chunk's length, zeros in front too. */
#define CHUNK_DIGITS 16

static unsigned refuse_chunk(const char **why, unsigned status, const char *text)
{
	*why = text;
	return status;
}

/* ---- what a head says ---- */

struct noted {
	struct serve_head *head;
	struct serve_heard *heard;
};

/* A header that is there twice says nothing that could be believed. */
static void note_header(void *arg, const char *name, const char *value)
{
	struct noted *noted = arg;
	struct serve_head *head = noted->head;
	struct serve_heard *heard = noted->heard;
	const struct {
		const char *name, **at;
	} wanted[] = {
		{ "Accept", &head->accept },
		{ "Authorization", &head->authorization },
		{ "Content-Encoding", &head->encoding },
		{ "Content-Length", &head->length },
		{ "Content-Type", &head->type },
		{ "Expect", &head->expect },
		{ "Host", &head->host },
		{ "MCP-Protocol-Version", &heard->version },
		{ "Mcp-Method", &heard->method },
		{ "Mcp-Name", &heard->name },
		{ "Origin", &head->origin },
		{ "Transfer-Encoding", &head->transfer },
	};

	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++)
		if (!strcasecmp(name, wanted[i].name))
			*wanted[i].at = *wanted[i].at ? "" : value;
}

void serve_head_read(char *text, struct serve_head *head, struct serve_heard *heard)
{
	struct noted noted = { head, heard };
	struct http_line line;

	http_head_cut(text, &line, note_header, &noted);
	head->verb = line.verb;
	head->path = line.path;
	head->old = line.old;
}

/* ---- chunks ---- */

unsigned serve_chunk_check(struct rye_span text, size_t *ret, const char **why)
{
	size_t length = 0, ignored, i;

	for (i = 0; i < text.len; i++) {
		unsigned char c = (unsigned char)text.ptr[i], low = c | 0x20;

		if (c >= '0' && c <= '9')
			length = length * 16 + (c - '0');
		else if (low >= 'a' && low <= 'f')
			length = length * 16 + (low - 'a' + 10u);
		else
			break;
		if (length > RYE_MCP_MESSAGE_MAX)
			return refuse_chunk(why, 413, SERVE_TOO_BIG);
		if (i == CHUNK_DIGITS)
			return refuse_chunk(why, 400, "the length of a chunk has many zeros");
	}
	if (i < text.len && (!i || !strchr("\r;", text.ptr[i])))
		return refuse_chunk(why, 400, "a chunk begins with its length");
	*ret = length;
	return http_line_check(text, &ignored, why);
}
