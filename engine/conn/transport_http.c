/* SPDX-License-Identifier: MIT */
/*
 * https://HOST[:PORT][/PATH]: frames through a server of HTTP, which is asked to go on with them: one
 * connection, both ways. TLS and certificates are libcurl's; whose node it is the pin says, as ever.
 * http://: this machine alone, since a machine in between could go on in our name.
 */
#include "conn/conn_inner.h"

#include "http/http.h"
#include "str.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* A node answers at once; ssh is given as long to connect. */
#define HTTP_WITHIN_MS 15000

static int http_bad(const char *scheme, const char *rest, struct rye_err *err)
{
	return rye_fail(err, RYE_INVALID, "%s%.200s: wanted is %sHOST[:PORT][/PATH]", scheme, rest,
			scheme);
}

static int https_check(const char *rest, struct rye_err *err)
{
	size_t host = strcspn(rest, "/?#");

	/* what would end a line of the request, or be a name and a password, is in no address */
	for (const char *p = rest; *p; p++)
		if ((unsigned char)*p <= ' ' || *p == 0x7f)
			return http_bad("https://", rest, err);
	return host && !memchr(rest, '@', host) ? 0 : http_bad("https://", rest, err);
}

static bool is_here(const char *rest)
{
	static const char *const names[] = { "127.0.0.1", "localhost", "[::1]" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		size_t n = strlen(names[i]);

		if (!strncasecmp(rest, names[i], n) && strchr(":/?#", rest[n]))
			return true;
	}
	return false;
}

static int http_check(const char *rest, struct rye_err *err)
{
	int r = https_check(rest, err);

	if (!r && !is_here(rest))
		r = rye_fail(err, RYE_INVALID,
			     "http://%.200s: plain http reaches this machine alone; use https://",
			     rest);
	return r;
}

static int tunnel_to(const char *scheme, const char *rest, struct ends *ret, struct rye_err *err)
{
	auto_buf struct rye_buf url = RYE_BUF_INIT;
	struct tunnel_ask ask = { .protocol = CONN_PROTOCOL,
				  /* as openssl(1) and curl(1) are told */
				  .ca_file = getenv("SSL_CERT_FILE"),
				  .within_ms = HTTP_WITHIN_MS };
	int r;

	buf_addf(&url, "%s%s", scheme, rest);
	if (url.failed)
		return rye_fail(err, RYE_TOO_BIG, "%.200s is too long", rest);
	ask.url = url.data;
	r = tunnel_open(&ask, &ret->tunnel, &ret->in, err);
	ret->out = ret->in;
	return r;
}

static int https_open(const char *rest, struct ends *ret, struct rye_err *err)
{
	return tunnel_to("https://", rest, ret, err);
}

static int http_open_here(const char *rest, struct ends *ret, struct rye_err *err)
{
	return tunnel_to("http://", rest, ret, err);
}

const struct transport transport_https = {
	.scheme = "https://",
	.wanted = "https://HOST[:PORT][/PATH]",
	.check = https_check,
	.open = https_open,
};

const struct transport transport_http = {
	.scheme = "http://",
	.wanted = "http://localhost[:PORT][/PATH]",
	.check = http_check,
	.open = http_open_here,
};
