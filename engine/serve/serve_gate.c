/* SPDX-License-Identifier: MIT */
/*
 * The gate of the HTTP endpoint: a page in a browser may send requests to this machine, under any
 * name that its owner lets point here, and every user of the machine may connect. So Host has to
 * be one of this machine's own names, Origin likewise if there is one, and the token has to be
 * known, or on a Unix socket the user; only then anything else is looked at. Pure; outside bytes, fuzzed.
 */
#include "serve/serve_inner.h"

#include "bounds.h"
#include "str.h"

#include <sodium.h>
#include <string.h>
#include <strings.h>

/* The end of one of our names at the beginning of text; NULL: it begins with none. */
static const char *skip_name(const char *text)
{
	static const char *const names[] = { "127.0.0.1", "localhost", "[::1]" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strncasecmp(text, names[i], strlen(names[i])))
			return text + strlen(names[i]);
	return NULL;
}

/* ":PORT" or nothing; port 0: any. */
static bool is_port(const char *text, int port)
{
	char *end;
	long number;

	if (!*text)
		return true;
	if (*text != ':' || text[1] < '0' || text[1] > '9' || strlen(text) > sizeof(":65535") - 1)
		return false;
	number = strtol(text + 1, &end, 10);
	return !*end && number <= 65535 && (!port || number == port);
}

bool serve_host_ok(const struct serve_gate *gate, const char *host)
{
	const char *rest = host ? skip_name(host) : NULL;

	return rest && is_port(rest, gate->port);
}

static bool serve_origin_ok(const char *origin)
{
	const char *rest;

	if (!origin)
		return true;
	if (!strncasecmp(origin, "http://", 7))
		rest = skip_name(origin + 7);
	else if (!strncasecmp(origin, "https://", 8))
		rest = skip_name(origin + 8);
	else
		return false;
	return rest && is_port(rest, 0);
}

static bool token_ok(const struct serve_gate *gate, const char *authorization)
{
	char given[SERVE_TOKEN_SIZE] = "";

	if (!*gate->token)
		return true;
	if (!authorization || strncasecmp(authorization, "Bearer ", 7) != 0 ||
	    strlen(authorization + 7) >= sizeof(given))
		return false;
	snprintf(given, sizeof(given), "%s", authorization + 7);
	/* The whole of both, whatever they are: the time tells nothing. */
	return !sodium_memcmp(given, gate->token, strlen(gate->token) + 1);
}

static unsigned gate_refuse(struct serve_fault *fault, unsigned status, const char *text)
{
	serve_fail(fault, MCP_NO_REQUEST, "%s", text);
	fault->status = status;
	return status;
}

/* The media type alone, whatever its case and parameters. */
static bool is_json_type(const char *type)
{
	static const char json[] = "application/json";
	size_t n = sizeof(json) - 1;

	return type && !strncasecmp(type, json, n) && (!type[n] || strchr("; \t", type[n]) != NULL);
}

bool serve_header_name_ok(const char *name)
{
	return *name && !name[strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
					   "0123456789!#$%&'*+-.^_`|~")];
}

/* How the body comes: only what every reader of HTTP reads alike. */
static unsigned check_body_form(const struct serve_head *head, struct serve_fault *fault)
{
	if (head->odd)
		return gate_refuse(fault, 400, "a header's name has characters that no name has");
	if (head->transfer && strcasecmp(head->transfer, "chunked") != 0)
		return gate_refuse(fault, 501, "Transfer-Encoding: chunked is understood alone");
	if (head->encoding && strcasecmp(head->encoding, "identity") != 0)
		return gate_refuse(fault, 415, "Content-Encoding: a body as it is is wanted");
	return 0;
}

unsigned serve_gate_check(const struct serve_gate *gate, const struct serve_head *head,
			  struct serve_fault *fault)
{
	if (head->stranger)
		return gate_refuse(fault, 403, "neither other users nor runs may ask here");
	if (!serve_host_ok(gate, head->host))
		return gate_refuse(fault, 403, "Host: this server has no such name");
	if (!serve_origin_ok(head->origin))
		return gate_refuse(fault, 403, "Origin: pages from there may not ask");
	if (!token_ok(gate, head->authorization))
		return gate_refuse(fault, 401, "Authorization: the server's token is wanted");
	if (strcmp(head->path, "/mcp") != 0)
		return gate_refuse(fault, 404, "there is /mcp and nothing else");
	if (strcmp(head->verb, "POST") != 0)
		return gate_refuse(fault, 405, "Method not allowed: POST is");
	if (check_body_form(head, fault))
		return fault->status;
	if (!is_json_type(head->type))
		return gate_refuse(fault, 415, "Content-Type: application/json is wanted");
	if (head->length && strtoull(head->length, NULL, 10) > RYE_MCP_MESSAGE_MAX)
		return gate_refuse(fault, 413, "the message is bigger than a message may be");
	return 0;
}

bool serve_takes_events(const char *accept)
{
	static const char *const types[] = { "text/event-stream", "text/*", "*/*" };

	for (size_t i = 0; i < ARRAY_SIZE(types) && accept; i++)
		if (strcasestr(accept, types[i]))
			return true;
	return false;
}

/* ---- Mcp-Name ---- */

#define ENCODED_HEAD "=?base64?"
#define ENCODED_TAIL "?="

bool serve_header_is(const char *header, struct rye_span text)
{
	size_t n = strlen(header), head = strlen(ENCODED_HEAD), tail = strlen(ENCODED_TAIL);
	auto_free char *bytes = NULL;
	size_t len = 0;

	if (n < head + tail || strncasecmp(header, ENCODED_HEAD, head) != 0 ||
	    strcmp(header + n - tail, ENCODED_TAIL) != 0)
		return n == text.len && !memcmp(header, text.ptr, n);
	n -= head + tail;
	bytes = malloc(n + 1);
	return bytes &&
	       !sodium_base642bin((unsigned char *)bytes, n + 1, header + head, n, NULL, &len, NULL,
				  sodium_base64_VARIANT_ORIGINAL) &&
	       len == text.len && !memcmp(bytes, text.ptr, len);
}

/* ---- the head as it came, before libmicrohttpd reads it (serve_links.c) ---- */

/*
 * What readers of HTTP understand in different ways is refused, for a proxy and we could disagree
 * about where a request ends: lines end in CR LF, none is folded, lengths are said once, and the
 * first of chunks says how long it is.
 */
struct strict {
	struct rye_span rest; /* not read yet */
	size_t lengths, codings, hosts; /* Content-Length, Transfer-Encoding, Host, how many */
	bool chunked;
	bool expects; /* the client sends its body when it is told to */
};

static unsigned refuse_strict(const char **why, unsigned status, const char *text)
{
	*why = text;
	return status;
}

/* Up to its CR LF: 0, SERVE_MORE where that has not come, or 400. */
static unsigned strict_line(struct strict *strict, struct rye_span *line, const char **why)
{
	const char *text = strict->rest.ptr;

	for (size_t i = 0; i < strict->rest.len; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c == '\r' && i + 1 == strict->rest.len)
			return SERVE_MORE;
		if (c == '\r' && text[i + 1] == '\n') {
			*line = (struct rye_span){ text, i };
			strict->rest = span_skip(strict->rest, i + 2);
			return 0;
		}
		if ((c < ' ' && c != '\t') || c == 0x7f)
			return refuse_strict(why, 400,
					     "a line of the head has a control character in it");
	}
	return SERVE_MORE;
}

/* Whatever its case. */
static bool strict_is(struct rye_span text, const char *word)
{
	return text.len == strlen(word) && !strncasecmp(text.ptr, word, text.len);
}

static bool strict_name(struct rye_span text)
{
	auto_free char *name = span_dup(text);

	return name && strlen(name) == text.len && serve_header_name_ok(name);
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

	if (two <= one + 1 || !strict_name((struct rye_span){ line.ptr, (size_t)one }) ||
	    memchr(line.ptr, '\t', line.len))
		return refuse_strict(why, 400, "this is no request of HTTP");
	/* "%00" would end the path for the gate, and not for a proxy in front */
	if (memchr(line.ptr + one, '%', target_path(line, (size_t)one)))
		return refuse_strict(why, 400, "the target is /mcp, with no % in it");
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
	if (colon < 0 || !strict_name(name))
		return refuse_strict(why, 400, "a header's name has characters that no name has");
	value = span_trim(span_skip(line, (size_t)colon + 1));
	if (strict_is(name, "Content-Length"))
		return check_length(strict, value, why);
	if (strict_is(name, "Transfer-Encoding")) {
		strict->codings++;
		strict->chunked = strict_is(value, "chunked");
	}
	strict->expects |= strict_is(name, "Expect");
	strict->hosts += strict_is(name, "Host");
	return 0;
}

/* The first length of chunks, which may be said to be longer than any message is. */
static unsigned check_chunk(struct rye_span rest, const char **why)
{
	size_t length = 0, i;

	for (i = 0; i < rest.len; i++) {
		unsigned char c = (unsigned char)rest.ptr[i], low = c | 0x20;

		if (c >= '0' && c <= '9')
			length = length * 16 + (c - '0');
		else if (low >= 'a' && low <= 'f')
			length = length * 16 + (low - 'a' + 10u);
		else
			break;
		if (length > RYE_MCP_MESSAGE_MAX)
			return refuse_strict(why, 413,
					     "the message is bigger than a message may be");
		if (i == SERVE_CHUNK_DIGITS)
			return refuse_strict(why, 400, "the length of a chunk has many zeros");
	}
	if (i == rest.len)
		return SERVE_MORE;
	if (!i || !strchr("\r;", rest.ptr[i]))
		return refuse_strict(why, 400, "a chunk begins with its length");
	return 0;
}

unsigned serve_strict_check(struct rye_span text, const char **why)
{
	struct strict strict = { .rest = text };
	struct rye_span line = { NULL, 0 };
	unsigned r = strict_line(&strict, &line, why);

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
	return !r && strict.chunked && !strict.expects ? check_chunk(strict.rest, why) : r;
}
