/* SPDX-License-Identifier: MIT */
/*
 * Where a request may go. A caller's value that says which server is asked, or how, makes the whole
 * address a caller's. And where a value of the person's secrets goes along, the address consists of
 * signed text, the person's own environment and the secrets alone: a project's .env, which has no signature, would
 * have them sent to its author. Pure; no lock.
 */
#include "plan/plan_inner.h"

#include "scope.h"

#include <string.h>

/* "scheme://host:port" of an address: its length; all of it where that is not how it begins. */
static size_t server_len(const char *url)
{
	size_t n = strspn(url, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+-.");

	if (strncmp(url + n, "://", 3) != 0)
		return strlen(url);
	n += 3;
	/* libcurl passes over more slashes than two */
	n += strspn(url + n, "/\\");
	return n + strcspn(url + n, "/?#");
}

static struct template_seen look(const struct template *in, const json_t *text, struct rye_buf *out)
{
	struct template_seen seen = { 0, SIZE_MAX };
	struct template own = *in;

	own.seen = &seen;
	buf_adds(out, "");
	if (template_param(in->params, text))
		return (struct template_seen){ ENV_GIVEN, 0 };
	template_put(&own, text, out);
	return seen;
}

bool where_is_strange(const struct template *in, const json_t *text)
{
	auto_buf struct rye_buf out = RYE_BUF_INIT;
	struct template_seen seen = look(in, text, &out);

	return seen.given_at != SIZE_MAX && (out.failed || seen.given_at <= server_len(out.data));
}

/* The first variable of the text from a file without a signature; a new reference, or NULL. */
static json_t *find_unsigned(const struct template *in, const json_t *text)
{
	auto_json json_t *names = json_array();
	json_t *name;
	size_t i;

	template_names(text, names);
	json_array_foreach(names, i, name) {
		if (env_from(in->env, json_string_value(name)) & ENV_OTHER)
			return json_incref(name);
	}
	return NULL;
}

int where_check(const struct template *in, const struct where *where, struct rye_err *err)
{
	auto_buf struct rye_buf out = RYE_BUF_INIT;
	struct template_seen seen = look(in, where->text, &out);
	unsigned allowed = ENV_SIGNED | ENV_OWN | ENV_STORE;
	auto_json json_t *name = NULL;

	if (where->part == WHERE_REST ||
	    (where->part == WHERE_ADDRESS && !where_is_strange(in, where->text)))
		allowed |= ENV_GIVEN;
	if (!(in->seen->from & ENV_STORE) || !(seen.from & ~allowed))
		return 0;
	if (seen.from & ~allowed & ENV_GIVEN)
		return rye_fail(
			err, RYE_DENIED,
			"%s: a parameter would decide where one of your secrets is sent; "
			"write the server's name into the item, and only parts of the path as "
			"{name}",
			where->what);
	name = find_unsigned(in, where->text);
	return rye_fail(
		err, RYE_DENIED,
		"%s: %s comes from the project's .env, which has no signature, and the request "
		"carries one of your secrets; set %s in your own environment, or write the "
		"address into the item",
		where->what, name ? json_string_value(name) : "a variable",
		name ? json_string_value(name) : "it");
}
