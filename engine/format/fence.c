/* SPDX-License-Identifier: MIT */
/*
 * Text rules that several item formats share. Pure, linear in the text. The fence rules are line
 * rules: an opening or closing line starts in column 0 and may end in blanks, nothing else. Used
 * by the parsers of Markdown items; knows no metadata.
 */
#include "format/format.h"

#include "str.h"

int text_guard(struct rye_span text, struct rye_err *err)
{
	struct rye_span rest = text;
	uint32_t cp;
	size_t n;

	if (span_starts(text, "\xef\xbb\xbf"))
		return rye_fail(err, RYE_UNPARSABLE,
				"text begins with a byte order mark, wanted plain UTF-8");
	while (rest.len) {
		n = utf8_next(rest, &cp);
		if (!n)
			return rye_fail(err, RYE_UNPARSABLE, "Not valid UTF-8: byte %zu",
					text.len - rest.len);
		if (!cp)
			return rye_fail(err, RYE_UNPARSABLE, "text has a NUL at byte %zu",
					text.len - rest.len);
		rest = span_skip(rest, n);
	}
	return 0;
}

static size_t count_backticks(struct rye_span line)
{
	size_t n = 0;

	while (n < line.len && line.ptr[n] == '`')
		n++;
	return n;
}

static bool fence_is_bare(struct rye_span line, size_t ticks)
{
	return !span_trim(span_skip(line, ticks)).len;
}

/* Follows fences of four and more backticks; true while `line` belongs to one. */
static bool in_outer(struct rye_span line, size_t *open)
{
	size_t ticks = count_backticks(line);

	if (*open) {
		if (ticks >= *open && fence_is_bare(line, ticks))
			*open = 0;
		return true;
	}
	if (ticks < 4)
		return false;
	*open = ticks;
	return true;
}

static bool fence_close(struct rye_span rest, struct fence *ret)
{
	const char *start = rest.ptr;
	struct rye_span line;

	while (span_line(&rest, &line)) {
		if (count_backticks(line) != 3 || !fence_is_bare(line, 3))
			continue;
		ret->content = (struct rye_span){ start, (size_t)(line.ptr - start) };
		ret->after = rest;
		return true;
	}
	return false;
}

bool fence_find(struct rye_span text, const char *info, struct fence *ret)
{
	struct rye_span rest = text, line;
	size_t open = 0;

	while (span_line(&rest, &line)) {
		struct rye_span tail;

		if (in_outer(line, &open) || count_backticks(line) != 3)
			continue;
		tail = span_skip(line, 3);
		if (!span_starts(tail, info) || !fence_is_bare(tail, strlen(info)))
			continue;
		ret->before = (struct rye_span){ text.ptr, (size_t)(line.ptr - text.ptr) };
		return fence_close(rest, ret);
	}
	return false;
}

struct rye_span text_skip_comment(struct rye_span text)
{
	struct rye_span s = span_strip_unicode(text);
	ssize_t end;

	if (!span_starts(s, "<!--"))
		return text;
	end = span_find(s, 4, "-->");
	if (end < 0)
		return text;
	return span_strip_unicode(span_skip(s, (size_t)end + 3));
}
