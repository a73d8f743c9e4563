/* SPDX-License-Identifier: MIT */
/*
 * Reading messages. Outside bytes, bounded by common/bounds.h whatever they are: fuzzed. An
 * editor that opened `run`, read the last reply and saved it again must start nothing, so what
 * has the envelope of a reply is refused. No lock; called by request.c and the primitives.
 */
#include "parse/parse.h"

#include "bounds.h"
#include "format/format.h"
#include "scope.h"
#include "str.h"

#include <string.h>

static json_t *read_yaml(struct rye_span text, struct rye_err *err)
{
	struct rye_err why = { 0 };
	auto_json json_t *value = parse_yaml_message(text, &why);

	if (!value)
		rye_fail(err, RYE_INVALID, "message broken: %.900s", why.msg);
	else if (!json_is_object(value))
		rye_fail(err, RYE_INVALID,
			 "message broken: wanted one JSON object, or lines `name: value`");
	else
		return steal(&value);
	return NULL;
}

/* A value that is likely to go on in the lines below: none, or a block that has not begun. */
static bool is_open_line(struct rye_span line, const json_t *doc)
{
	const json_t *value = json_object_iter_value(json_object_iter((json_t *)doc));

	if (span_starts(span_trim(line), "{") || json_object_size(doc) != 1)
		return false;
	if (json_is_null(value))
		return true;
	return json_is_string(value) && !json_string_length(value) &&
	       !memchr(line.ptr, '"', line.len) && !memchr(line.ptr, '\'', line.len);
}

static json_t *read_line(struct rye_span text, struct rye_err *err)
{
	auto_json json_t *doc = read_yaml(text, err);

	if (!doc || !is_open_line(text, doc))
		return steal(&doc);
	rye_fail(
		err, RYE_INVALID,
		"message unfinished: one line without a value: one JSON object, or all lines in one "
		"write (\xe2\x80\xa6 | cat > run)");
	return NULL;
}

static json_t *read_form(struct rye_span text, enum rye_form form, struct rye_err *err)
{
	if (form == RYE_FORM_LINE)
		return read_line(text, err);
	return form == RYE_FORM_YAML ? read_yaml(text, err) : json_parse(text, 0, "request", err);
}

/* A reply of the engine has a duration_ms; one that the front makes has these members alone. */
static bool is_reply(const json_t *doc)
{
	const json_t *metadata = json_object_get(doc, "metadata");
	const char *status = json_str(doc, "status");
	size_t n = json_object_size(doc);

	if (!*status)
		return false;
	if (json_is_integer(json_object_get(metadata, "duration_ms")))
		return true;
	if (!strcmp(status, "error"))
		return n == 2 && json_is_string(json_object_get(doc, "error"));
	return !strcmp(status, "running") &&
	       (n == 1 || (n == 2 && json_is_string(json_object_get(doc, "thread_id"))));
}

json_t *message_read(struct rye_span text, enum rye_form form, struct rye_err *err)
{
	auto_json json_t *doc = NULL;

	if (text.len > RYE_MESSAGE_MAX) {
		rye_fail(err, RYE_TOO_BIG, "message too big, wanted at most 16 MiB");
		return NULL;
	}
	doc = read_form(text, form, err);
	if (doc && is_reply(doc)) {
		rye_fail(err, RYE_INVALID,
			 "this is a reply that was read here, not a message: nothing was run");
		return NULL;
	}
	return steal(&doc);
}
