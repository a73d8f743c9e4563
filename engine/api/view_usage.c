/* SPDX-License-Identifier: MIT */
/*
 * What `run` reads as when there is nothing else to tell: how to use it, in a few lines made
 * from the item's own schema. Never fails for an item that exists: a refused one says why.
 */
#include "api/api_inner.h"

#include "base/id.h"
#include "item/item.h"
#include "memory.h"
#include "str.h"

static void put_kind(struct rye_buf *buf, const struct subject *subject, enum rye_kind kind)
{
	const json_t *text = meta_description(subject->loaded.item);

	buf_addf(buf, "%s %s", rye_kind_name(kind), subject->id);
	if (json_is_string(text)) {
		struct rye_span all = span_trim(span_of(json_string_value(text))), line;

		if (span_line(&all, &line))
			buf_addf(buf, ": %.*s", (int)line.len, line.ptr);
	}
	buf_addc(buf, '\n');
}

static void put_parameter(struct rye_buf *buf, const json_t *schema, const char *name,
			  const json_t *property)
{
	const json_t *fallback = json_object_get(property, "default");
	const char *type = json_str(property, "type"), *text = json_str(property, "description");

	buf_addf(buf, "  %s (%s", name, *type ? type : "any");
	if (json_lists(json_object_get(schema, "required"), name))
		buf_adds(buf, ", required");
	if (fallback) {
		buf_adds(buf, ", default ");
		json_put(buf, fallback, false);
	}
	buf_addf(buf, ")%s%.*s\n", *text ? " " : "", (int)strcspn(text, "\n"), text);
}

static void put_parameters(struct rye_buf *buf, const json_t *schema)
{
	json_t *properties = json_object_get(schema, "properties");
	const char *name;
	json_t *property;

	if (!json_object_size(properties)) {
		buf_adds(buf, "It takes no parameters: write {} or an empty line.\n");
		return;
	}
	buf_adds(buf, "Parameters:\n");
	json_object_foreach(properties, name, property)
		put_parameter(buf, schema, name, property);
}

static void put_usage(struct rye_buf *buf, const struct subject *subject, enum rye_kind kind)
{
	auto_json json_t *schema = NULL;

	put_kind(buf, subject, kind);
	buf_adds(buf, "Write one JSON object to this file, read the reply here.\n");
	if (!rye_kind_has(kind, RYE_KIND_PARAMETERS))
		return;
	schema = meta_schema(subject->loaded.item);
	put_parameters(buf, schema);
}

int view_usage(struct rye *rye, const struct rye_ask *ask, struct rye_blob **ret,
	       struct rye_err *err)
{
	auto_subject struct subject subject = { 0 };
	auto_buf struct rye_buf buf = RYE_BUF_INIT;
	char line[REASON_MAX];
	int r = subject_get(rye, ask, &subject, err);

	if (r)
		return r;
	if (subject.loaded.item) {
		put_usage(&buf, &subject, ask->kind);
	} else {
		subject_reason(&subject, ask->kind, line);
		buf_addf(&buf, "%s %s is refused: %s\n", rye_kind_name(ask->kind), subject.id,
			 line);
	}
	*ret = buf_blob(&buf);
	return *ret ? 0 : memory_fail(err);
}
