/* SPDX-License-Identifier: MIT */
/*
 * WWW-Authenticate of a server that wants a token: what it says of the reason, for people. Nothing
 * of it is fetched. Pure; outside bytes, fuzzed.
 */
#include "mcp/mcp.h"

#include "scope.h"
#include "str.h"

#include <string.h>
#include <strings.h>

/* Of a value that is told. */
#define CHALLENGE_TEXT 512

static const char *challenge_blanks(const char *at)
{
	return at + strspn(at, " \t,");
}

/* A token or a quoted string, the place behind it. */
static const char *read_value(const char *at, struct rye_buf *ret)
{
	if (*at != '"') {
		size_t n = strcspn(at, " \t,");

		buf_add(ret, at, n);
		return at + n;
	}
	for (at++; *at && *at != '"'; at++) {
		if (*at == '\\' && at[1])
			at++;
		buf_addc(ret, *at);
	}
	return *at ? at + 1 : at;
}

static void keep_parameter(json_t *ret, struct rye_span name, struct rye_buf *value)
{
	static const char *const told[] = { "error", "error_description", "scope",
					    "resource_metadata" };

	if (value->failed || !value->data)
		return;
	if (value->len > CHALLENGE_TEXT)
		value->data[CHALLENGE_TEXT] = 0;
	utf8_mend(value->data);
	for (size_t i = 0; i < ARRAY_SIZE(told); i++)
		if (strlen(told[i]) == name.len && !strncasecmp(told[i], name.ptr, name.len))
			json_sets(ret, told[i], value->data);
}

json_t *mcp_challenge(const char *header)
{
	const char *at = header ? strcasestr(header, "bearer") : NULL;
	json_t *ret = at ? json_object() : NULL;

	at = at ? challenge_blanks(at + strlen("bearer")) : "";
	while (ret && *at) {
		auto_buf struct rye_buf value = RYE_BUF_INIT;
		struct rye_span name = { at, strcspn(at, "= \t,") };
		const char *behind = at + name.len;

		behind += strspn(behind, " \t");
		/* The next challenge of several. */
		if (*behind != '=')
			break;
		behind++;
		behind += strspn(behind, " \t");
		at = challenge_blanks(read_value(behind, &value));
		keep_parameter(ret, name, &value);
	}
	return ret;
}
