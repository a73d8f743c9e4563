/* SPDX-License-Identifier: MIT */
/*
 * The gate of the HTTP endpoint: a page in a browser may send requests to this machine, under any
 * name that its owner lets point here, and every user of the machine may connect. So Host has to
 * be one of this machine's own names, Origin likewise if there is one, and the token has to be
 * known, or on a Unix socket the user; only then anything else is looked at. Pure; outside bytes, fuzzed.
 */
#include "mcp/server/server_inner.h"

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

unsigned serve_gate_refuse(struct serve_fault *fault, unsigned status, const char *text)
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

/* How the body comes: only what every reader of HTTP reads alike. */
static unsigned check_body_form(const struct serve_head *head, struct serve_fault *fault)
{
	if (head->transfer && strcasecmp(head->transfer, "chunked") != 0)
		return serve_gate_refuse(fault, 501,
					 "Transfer-Encoding: chunked is understood alone");
	if (head->encoding && strcasecmp(head->encoding, "identity") != 0)
		return serve_gate_refuse(fault, 415, "Content-Encoding: a body as it is is wanted");
	return 0;
}

/* The path of a target, which may be a whole address (RFC 9112, 3.2.2); NULL: not one of this server. */
static const char *gate_path(const struct serve_gate *gate, const char *target)
{
	static const char scheme[] = "http://";
	size_t n = sizeof(scheme) - 1, host;
	char name[64];

	if (strncasecmp(target, scheme, n) != 0)
		return target;
	host = strcspn(target + n, "/");
	if (host >= sizeof(name))
		return NULL;
	snprintf(name, sizeof(name), "%.*s", (int)host, target + n);
	return serve_host_ok(gate, name) ? target + n + host : NULL;
}

unsigned serve_gate_check(const struct serve_gate *gate, const struct serve_head *head,
			  struct serve_fault *fault)
{
	const char *path = gate_path(gate, head->path);

	if (head->stranger)
		return serve_gate_refuse(fault, 403, "neither other users nor runs may ask here");
	if (!path || !serve_host_ok(gate, head->host))
		return serve_gate_refuse(fault, 403, "Host: this server has no such name");
	if (!serve_origin_ok(head->origin))
		return serve_gate_refuse(fault, 403, "Origin: pages from there may not ask");
	if (!token_ok(gate, head->authorization))
		return serve_gate_refuse(fault, 401, "Authorization: the server's token is wanted");
	if (strcmp(path, "/mcp") != 0)
		return serve_gate_refuse(fault, 404, "there is /mcp and nothing else");
	if (strcmp(head->verb, "POST") != 0)
		return serve_gate_refuse(fault, 405, "Method not allowed: POST is");
	if (check_body_form(head, fault))
		return fault->status;
	if (!is_json_type(head->type))
		return serve_gate_refuse(fault, 415, "Content-Type: application/json is wanted");
	if (head->length && strtoull(head->length, NULL, 10) > RYE_MCP_MESSAGE_MAX)
		return serve_gate_refuse(fault, 413, SERVE_TOO_BIG);
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
