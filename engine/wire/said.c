/* SPDX-License-Identifier: MIT */
/*
 * What a provider said when it failed: its error's members, wherever its server puts them. Pure.
 */
#include "wire/wire_inner.h"

#include "scope.h"
#include "str.h"

#include <stdlib.h>
#include <string.h>

void fault_said_done(struct fault_said *said)
{
	free(said->type);
	free(said->code);
	free(said->param);
	free(said->message);
	free(said->quota);
	*said = (struct fault_said){ .delay_ms = -1 };
}

static void keep_text(char **at, const char *text)
{
	if (*text && !*at)
		*at = strdup(text);
}

/* What is longer is as good as never, and no number of milliseconds for all that comes. */
#define WAIT_LONGEST_S 1e7

int64_t fault_wait_ms(double seconds)
{
	return (int64_t)(MIN_OF(MAX_OF(seconds, 0), WAIT_LONGEST_S) * 1000);
}

int64_t fault_duration(const char *text)
{
	double total = 0;
	bool any = false;

	while (*text) {
		char *end;
		double n = strtod(text, &end), unit;

		if (end == text || !(n >= 0 && n < 1e9))
			return -1;
		unit = !strncmp(end, "ms", 2) ? 1 :
		       *end == 's'	      ? 1000 :
		       *end == 'm'	      ? 60000 :
		       *end == 'h'	      ? 3600000 :
						0;
		if (!unit)
			return -1;
		text = end + (unit == 1 ? 2 : 1);
		total += n * unit;
		any = true;
	}
	return any ? fault_wait_ms(total / 1000) : -1;
}

/* Google's: how long to wait, and which quota it was. */
static void read_details(const json_t *details, struct fault_said *ret)
{
	auto_buf struct rye_buf quotas = RYE_BUF_INIT;
	const json_t *detail, *violation;
	size_t i, k;

	json_array_foreach(details, i, detail) {
		const char *delay = json_str(detail, "retryDelay");

		if (*delay)
			ret->delay_ms = fault_duration(delay);
		json_array_foreach(json_object_get(detail, "violations"), k, violation)
			buf_addf(&quotas, "%s\n", json_str(violation, "quotaId"));
	}
	if (quotas.len && !ret->quota)
		ret->quota = buf_steal(&quotas);
}

static const json_t *said_object(const json_t *doc)
{
	const json_t *error = json_object_get(doc, "error");
	const json_t *response = json_object_get(doc, "response");

	if (json_is_object(json_object_get(response, "error")))
		return json_object_get(response, "error");
	if (json_is_object(error) || json_is_string(error))
		return error;
	/* Some wrap it in a list. */
	return json_is_array(doc) ? said_object(json_array_get(doc, 0)) : doc;
}

void fault_read(const json_t *doc, struct fault_said *ret)
{
	const json_t *said = said_object(doc), *details = json_object_get(said, "details");
	const json_t *code = json_object_get(said, "code");
	const char *type = json_str(said, "type");

	ret->delay_ms = -1;
	if (json_is_string(said)) {
		keep_text(&ret->message, json_string_value(said));
		return;
	}
	/* The outer type of an event only says that it is one. */
	if (strcmp(type, "error") != 0)
		keep_text(&ret->type, type);
	keep_text(&ret->type, json_str(said, "status"));
	keep_text(&ret->code, json_str(details, "error_code"));
	keep_text(&ret->code, json_str(said, "error_code"));
	keep_text(&ret->code, json_str(said, "code"));
	keep_text(&ret->param, json_str(said, "param"));
	keep_text(&ret->message, json_str(said, "message"));
	keep_text(&ret->message, json_str(said, "detail"));
	if (json_is_integer(code))
		ret->status = (long)json_integer_value(code);
	usage_count(said, "n_prompt_tokens", &ret->tokens);
	usage_count(said, "n_ctx", &ret->limit);
	read_details(details, ret);
}

void fault_hide_keys(const struct provider *provider, char **text)
{
	const json_t *secret;
	size_t i;

	json_array_foreach(provider->secrets, i, secret) {
		size_t n = json_string_length(secret), shown = MIN_OF(n, 3);
		char *at = *text && n ? strstr(*text, json_string_value(secret)) : NULL;

		while (at) {
			memset(at, '*', shown);
			memmove(at + shown, at + n, strlen(at + n) + 1);
			at = strstr(at + shown, json_string_value(secret));
		}
	}
}
