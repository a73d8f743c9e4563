/* SPDX-License-Identifier: MIT */
/*
 * Where a directive's element stands, and whether what will be parsed is what was hashed. The
 * element starts at the first byte of the hashed region, alone in an ```xml fence that really
 * is open there, and ends inside region and fence. Anything else is refused with its line, so
 * that no reader can be shown another element than the signed one. Pure; any bytes come in.
 */
#include "parse/parse.h"
#include "str.h"

#include <stdio.h>

/* Elements within each other; a stack of their names is kept while looking for the end. */
#define DEPTH_MAX 64

static int directive_shape_line_of(struct rye_span text, const char *at)
{
	int line = 1;

	for (const char *c = text.ptr; c < at; c++)
		line += *c == '\n';
	return line;
}

static int directive_shape_refuse(struct rye_span text, const char *at, const char *what,
				  struct rye_err *err)
{
	return rye_fail(err, RYE_UNPARSABLE, "line %d: %s", directive_shape_line_of(text, at),
			what);
}

/* ---- fences ---- */

struct directive_shape_fence {
	char mark; /* '`' or '~'; 0: none is open */
	size_t width;
	bool xml; /* exactly ```xml in column 0 */
	const char *open; /* its line */
	const char *content; /* behind that line */
};

static size_t run_of(struct rye_span line, char mark)
{
	size_t n = 0;

	while (n < line.len && line.ptr[n] == mark)
		n++;
	return n;
}

/* Up to three blanks before the marks, as Markdown has it. */
static struct rye_span directive_shape_unindent(struct rye_span line)
{
	for (int i = 0; i < 3 && line.len && line.ptr[0] == ' '; i++)
		line = span_skip(line, 1);
	return line;
}

static bool fence_opens(struct rye_span line, struct directive_shape_fence *ret)
{
	struct rye_span s = directive_shape_unindent(line), info;
	char mark = s.len ? s.ptr[0] : 0;
	size_t width = mark == '`' || mark == '~' ? run_of(s, mark) : 0;

	if (width < 3)
		return false;
	info = span_skip(s, width);
	if (mark == '`' && memchr(info.ptr, '`', info.len))
		return false;
	*ret = (struct directive_shape_fence){ .mark = mark, .width = width, .open = line.ptr };
	ret->xml = width == 3 && mark == '`' && s.ptr == line.ptr && span_starts(info, "xml") &&
		   !span_trim(span_skip(info, 3)).len;
	return true;
}

/* An xml fence closes at exactly three marks in column 0, the others as Markdown has it. */
static bool fence_closes(struct rye_span line, const struct directive_shape_fence *fence)
{
	struct rye_span s = fence->xml ? line : directive_shape_unindent(line);
	size_t width = run_of(s, fence->mark);

	return (fence->xml ? width == 3 : width >= fence->width) &&
	       !span_trim(span_skip(s, width)).len;
}

/* The fence that is open where `at` stands. */
static void fence_at(struct rye_span text, const char *at, struct directive_shape_fence *fence)
{
	struct rye_span rest = text, line;

	*fence = (struct directive_shape_fence){ 0 };
	while (span_line(&rest, &line) && line.ptr + line.len < at) {
		if (fence->mark && fence_closes(line, fence))
			*fence = (struct directive_shape_fence){ 0 };
		else if (!fence->mark && fence_opens(line, fence))
			fence->content = rest.ptr;
	}
}

/* ---- the element ---- */

struct scan {
	struct rye_span s; /* what is left of the text from the element on */
	struct rye_span names[DEPTH_MAX];
	size_t depth;
};

static bool skip_past(struct scan *scan, const char *end)
{
	ssize_t at = span_find(scan->s, 0, end);

	if (at < 0)
		return false;
	scan->s = span_skip(scan->s, (size_t)at + strlen(end));
	return true;
}

static bool is_name(char c)
{
	return c != '>' && c != '/' && c != ' ' && c != '\t' && c != '\n' && c != '\r' && c != '=';
}

static struct rye_span name_at(struct rye_span s)
{
	size_t n = 0;

	while (n < s.len && is_name(s.ptr[n]))
		n++;
	return (struct rye_span){ s.ptr, n };
}

/* To the '>' of a tag; quoted attribute values may hold one. Tells whether "/>" ended it. */
static bool skip_tag(struct scan *scan, bool *ret_empty)
{
	char quote = 0, last = 0;

	for (size_t i = 0; i < scan->s.len; i++) {
		char c = scan->s.ptr[i];

		if (quote) {
			quote = c == quote ? 0 : quote;
		} else if (c == '"' || c == '\'') {
			quote = c;
		} else if (c == '>') {
			*ret_empty = last == '/';
			scan->s = span_skip(scan->s, i + 1);
			return true;
		}
		last = c;
	}
	return false;
}

/* Their content is opaque text that need not be XML (directive_opaque.c). */
static bool skip_opaque(struct scan *scan, struct rye_span name)
{
	static const char *const opaque[] = { "template", "example", "raw", NULL };

	for (int i = 0; opaque[i]; i++) {
		struct scan ahead = { .s = scan->s };
		char end[16];

		if (!span_eq(name, opaque[i]))
			continue;
		snprintf(end, sizeof(end), "</%s>", opaque[i]);
		if (!skip_past(&ahead, end))
			return false;
		scan->s = ahead.s;
		return true;
	}
	return false;
}

static bool directive_shape_open_tag(struct scan *scan)
{
	struct rye_span name = name_at(span_skip(scan->s, 1));
	bool empty = false;

	if (!name.len || !skip_tag(scan, &empty))
		return false;
	if (empty || skip_opaque(scan, name))
		return true;
	if (scan->depth == DEPTH_MAX)
		return false;
	scan->names[scan->depth++] = name;
	return true;
}

static bool close_tag(struct scan *scan)
{
	struct rye_span name = name_at(span_skip(scan->s, 2)), top;
	bool empty;

	if (!scan->depth)
		return false;
	top = scan->names[--scan->depth];
	return top.len == name.len && !memcmp(top.ptr, name.ptr, name.len) &&
	       skip_tag(scan, &empty);
}

static bool directive_shape_step(struct scan *scan)
{
	if (scan->s.ptr[0] != '<') {
		const char *lt = memchr(scan->s.ptr, '<', scan->s.len);

		scan->s = span_skip(scan->s, lt ? (size_t)(lt - scan->s.ptr) : scan->s.len);
		return lt;
	}
	if (span_starts(scan->s, "<!--"))
		return skip_past(scan, "-->");
	if (span_starts(scan->s, "<![CDATA["))
		return skip_past(scan, "]]>");
	if (span_starts(scan->s, "<?"))
		return skip_past(scan, "?>");
	if (span_starts(scan->s, "<!"))
		return false;
	return span_starts(scan->s, "</") ? close_tag(scan) : directive_shape_open_tag(scan);
}

/* One past the element that starts at s; NULL: it does not end, or is not well nested. */
static const char *element_end(struct rye_span s)
{
	struct scan scan = { .s = s };

	do {
		if (!scan.s.len || !directive_shape_step(&scan))
			return NULL;
	} while (scan.depth);
	return scan.s.ptr;
}

/* Blanks, comments and processing instructions: what may stand around the root. */
static bool only_misc(struct rye_span s)
{
	struct scan scan = { .s = s };

	for (;;) {
		scan.s = span_trim(scan.s);
		if (!scan.s.len)
			return true;
		if (span_starts(scan.s, "<!--") ? !skip_past(&scan, "-->") :
		    span_starts(scan.s, "<?")	? !skip_past(&scan, "?>") :
						  true)
			return false;
	}
}

/* ---- the whole ---- */

/* The line that closes the fence, from the element's end on. */
static bool find_close(struct rye_span text, const struct directive_shape_fence *fence,
		       struct rye_span *ret)
{
	size_t from = (size_t)(fence->content - text.ptr);
	struct rye_span rest = span_skip(text, from), line;

	while (span_line(&rest, &line))
		if (fence_closes(line, fence)) {
			*ret = line;
			return true;
		}
	return false;
}

static struct rye_span span_between(const char *from, const char *to)
{
	return (struct rye_span){ from, (size_t)(to - from) };
}

int directive_shape(struct rye_span text, struct directive_shape *ret, struct rye_err *err)
{
	struct rye_span region, close;
	struct directive_shape_fence fence;
	const char *end, *stop = text.ptr + text.len;

	if (!digest_element(text, &region))
		return rye_fail(err, RYE_UNPARSABLE, "No XML directive found in content");
	fence_at(text, region.ptr, &fence);
	if (!fence.xml)
		return directive_shape_refuse(
			text, region.ptr,
			"the first <directive stands outside an open ```xml fence", err);
	if (is_name(region.ptr[strlen("<directive")]))
		return directive_shape_refuse(text, region.ptr, "the element is not a <directive>",
					      err);
	if (!only_misc(span_between(fence.content, region.ptr)))
		return directive_shape_refuse(
			text, region.ptr, "something stands before <directive in its fence", err);
	end = element_end(span_between(region.ptr, stop));
	if (!end || end > region.ptr + region.len)
		return directive_shape_refuse(text, region.ptr,
					      "the <directive> element does not end in the signed "
					      "text",
					      err);
	if (!find_close(text, &fence, &close) || close.ptr < end)
		return directive_shape_refuse(text, region.ptr,
					      "its ```xml fence is not closed behind it", err);
	if (!only_misc(span_between(end, close.ptr)))
		return directive_shape_refuse(text, span_trim(span_between(end, close.ptr)).ptr,
					      "the ```xml block goes on behind </directive>", err);
	ret->preamble = span_strip_unicode(span_between(text.ptr, fence.open));
	ret->xml = span_between(region.ptr, end);
	ret->body = span_strip_unicode(span_between(close.ptr + close.len, stop));
	ret->line = directive_shape_line_of(text, region.ptr);
	return 0;
}
