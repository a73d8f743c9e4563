/* SPDX-License-Identifier: MIT */
/*
 * The head of a request of HTTP, as a server reads it. What readers of HTTP understand in
 * different ways is refused, for a proxy and we could disagree about where a request ends: lines end
 * in CR LF, none is folded, and lengths are said once. Pure; outside bytes, fuzzed.
 */
#include "http/http.h"

#include "str.h"

#include <string.h>
#include <strings.h>

struct strict {
	struct rye_span rest; /* not read yet */
	size_t lengths, codings, hosts; /* Content-Length, Transfer-Encoding, Host, how many */
};

static unsigned refuse_strict(const char **why, unsigned status, const char *text)
{
	*why = text;
	return status;
}

/* Up to its CR LF: 0, HTTP_MORE where that has not come, or 400. */
static unsigned strict_line(struct strict *strict, struct rye_span *line, const char **why)
{
	const char *text = strict->rest.ptr;

	for (size_t i = 0; i < strict->rest.len; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c == '\r' && i + 1 == strict->rest.len)
			return HTTP_MORE;
		if (c == '\r' && text[i + 1] == '\n') {
			*line = (struct rye_span){ text, i };
			strict->rest = span_skip(strict->rest, i + 2);
			return 0;
		}
		if ((c < ' ' && c != '\t') || c == 0x7f)
			return refuse_strict(why, 400, "a line has a control character in it");
	}
	return HTTP_MORE;
}

/* Whatever its case. */
static bool strict_is(struct rye_span text, const char *word)
{
	return text.len == strlen(word) && !strncasecmp(text.ptr, word, text.len);
}

/* From the blank before the target on: how much of the line is no query yet. */
static size_t target_path(struct rye_span line, size_t from)
{
	const char *query = memchr(line.ptr + from, '?', line.len - from);

	return query ? (size_t)(query - line.ptr) - from : line.len - from;
}

/* METHOD TARGET HTTP/1.1 */
static unsigned check_request_line(struct rye_span line, const char **why)
{
	ssize_t one = span_find(line, 0, " ");
	ssize_t two = one < 0 ? -1 : span_find(line, (size_t)one + 1, " ");
	struct rye_span version;

	if (two <= one + 1 || !http_is_token((struct rye_span){ line.ptr, (size_t)one }) ||
	    memchr(line.ptr, '\t', line.len))
		return refuse_strict(why, 400, "this is no request of HTTP");
	/* "%00" would end the path for the gate, and not for a proxy in front */
	if (memchr(line.ptr + one, '%', target_path(line, (size_t)one)))
		return refuse_strict(why, 400, "the target has a % in its path");
	version = span_skip(line, (size_t)two + 1);
	if (span_eq(version, "HTTP/1.1") || span_eq(version, "HTTP/1.0"))
		return 0;
	if (version.len == 8 && !memcmp(version.ptr, "HTTP/", 5))
		return refuse_strict(why, 505, "HTTP/1.1 is understood");
	return refuse_strict(why, 400, "this is no request of HTTP");
}

static unsigned check_length(struct strict *strict, struct rye_span value, const char **why)
{
	size_t digits = 0;

	while (digits < value.len && value.ptr[digits] >= '0' && value.ptr[digits] <= '9')
		digits++;
	if (strict->lengths++ || !digits || digits != value.len || digits > 18)
		return refuse_strict(why, 400, "Content-Length: one number is wanted");
	return 0;
}

static unsigned check_header_line(struct strict *strict, struct rye_span line, const char **why)
{
	ssize_t colon = span_find(line, 0, ":");
	struct rye_span name = { line.ptr, colon < 0 ? 0 : (size_t)colon }, value;

	if (*line.ptr == ' ' || *line.ptr == '\t')
		return refuse_strict(why, 400, "a header is folded: each takes one line");
	if (colon < 0 || !http_is_token(name))
		return refuse_strict(why, 400, "a header's name has characters that no name has");
	value = span_trim(span_skip(line, (size_t)colon + 1));
	if (strict_is(name, "Content-Length"))
		return check_length(strict, value, why);
	strict->codings += strict_is(name, "Transfer-Encoding");
	strict->hosts += strict_is(name, "Host");
	return 0;
}

unsigned http_head_check(struct rye_span text, const char **why)
{
	struct strict strict = { .rest = text };
	struct rye_span line = { NULL, 0 };
	unsigned r = strict_line(&strict, &line, why);

	/* one empty line before it is skipped (RFC 9112, 2.2) */
	if (!r && !line.len)
		r = strict_line(&strict, &line, why);
	if (!r)
		r = check_request_line(line, why);
	while (!r) {
		r = strict_line(&strict, &line, why);
		if (!r && !line.len)
			break;
		if (!r)
			r = check_header_line(&strict, line, why);
	}
	if (!r && strict.hosts != 1)
		return refuse_strict(why, 400, "Host: one is wanted");
	if (!r && strict.codings && (strict.lengths || strict.codings > 1))
		return refuse_strict(why, 400, "how long the body is is said twice");
	return r;
}

/* *text moves behind the line's end. */
static char *next_line(char **text)
{
	char *line = strsep(text, "\r");

	*text += **text == '\n';
	return line;
}

void http_head_cut(char *text, struct http_line *ret, http_header_fn fn, void *arg)
{
	/* the empty line that was let pass */
	char *line = next_line(&text), *path;

	if (!*line)
		line = next_line(&text);
	ret->verb = strsep(&line, " ");
	ret->path = path = strsep(&line, " ");
	path[strcspn(path, "?")] = 0;
	ret->old = !strcmp(line, "HTTP/1.0");
	while (*text) {
		char *value = next_line(&text), *name = strsep(&value, ":");

		value += strspn(value, " \t");
		for (size_t n = strlen(value); n && strchr(" \t", value[n - 1]); n--)
			value[n - 1] = 0;
		fn(arg, name, value);
	}
}

unsigned http_line_check(struct rye_span text, size_t *ret, const char **why)
{
	struct strict strict = { .rest = text };
	struct rye_span line = { NULL, 0 };
	unsigned r = strict_line(&strict, &line, why);

	*ret = line.len;
	return r;
}
