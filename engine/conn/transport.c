/* SPDX-License-Identifier: MIT */
/*
 * The ways to a node: the table of schemes. A row knows how to open one and what its url looks like;
 * what runs over it is the same for all.
 */
#include "conn/conn_inner.h"

#include "scope.h"

#include <string.h>

static const struct transport *const transports[] = { &transport_ssh, &transport_https,
						      &transport_command, &transport_http };

const struct transport *transport_find(const char *url, const char **ret_rest, struct rye_err *err)
{
	auto_buf struct rye_buf wanted = RYE_BUF_INIT;

	for (size_t i = 0; i < ARRAY_SIZE(transports); i++) {
		size_t n = strlen(transports[i]->scheme);

		if (!strncmp(url, transports[i]->scheme, n)) {
			*ret_rest = url + n;
			return transports[i];
		}
		buf_addf(&wanted, "%s%s", i ? " or " : "", transports[i]->wanted);
	}
	rye_fail(err, RYE_INVALID, "%.200s: wanted is %s", url, wanted.failed ? "" : wanted.data);
	return NULL;
}

const char *conn_scheme(size_t n)
{
	return n < ARRAY_SIZE(transports) ? transports[n]->scheme : NULL;
}
