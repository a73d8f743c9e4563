/* SPDX-License-Identifier: MIT */
/*
 * Which names and values there may be. Messages never repeat a value. No lock, no state.
 */
#include "secret/secret.h"

#include "process/process.h"
#include "str.h"

/* What may be a value in the wrong place is not said again. */
static bool is_said(const char *name)
{
	size_t n = strlen(name);

	return n && n <= 24 &&
	       strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_. ") == n;
}

int secret_name_check(const char *name, struct rye_err *err)
{
	if (!env_name_ok(name) || strlen(name) > SECRET_NAME_MAX)
		return rye_fail(
			err, RYE_INVALID,
			"%s%s%s is no name of a variable: letters, digits and _ are wanted, "
			"and no digit first",
			is_said(name) ? "\"" : "", is_said(name) ? name : "this",
			is_said(name) ? "\"" : "");
	if (!env_dotenv_may(name))
		return rye_fail(err, RYE_INVALID,
				"%s chooses programs or how they start: no secret may set it",
				name);
	return 0;
}

int secret_value_check(struct rye_span value, struct rye_err *err)
{
	if (!value.len)
		return rye_fail(err, RYE_INVALID, "the value is empty");
	if (value.len > SECRET_VALUE_MAX)
		return rye_fail(err, RYE_INVALID, "the value is longer than %u bytes",
				SECRET_VALUE_MAX);
	if (memchr(value.ptr, 0, value.len) || !utf8_valid(value))
		return rye_fail(err, RYE_INVALID,
				"the value is no text in UTF-8, which a variable must be");
	return 0;
}

const char *secret_value(const json_t *values, const char *name)
{
	const json_t *value = json_object_get(values, name);
	struct rye_span text = { json_string_value(value), json_string_length(value) };

	if (!text.ptr || secret_name_check(name, NULL) || secret_value_check(text, NULL))
		return NULL;
	return text.ptr;
}
