/* SPDX-License-Identifier: MIT */
/*
 * YAML and TOML out of JSON. Block style for maps, since people read it; lists and empty things
 * in flow style, which both formats share with JSON but for null, floats and the TOML keys.
 */
#include "format/format.h"

#include "str.h"

#include <ctype.h>
#include <strings.h>

/* What YAML does not allow, or reads as a line end, as both formats spell it. */
static void emit_put_string(struct rye_buf *buf, const json_t *value)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	struct rye_span rest;
	uint32_t cp;
	size_t n;

	json_put(&text, value, false);
	rest = (struct rye_span){ text.data ? text.data : "", text.len };
	for (; rest.len; rest = span_skip(rest, n)) {
		n = utf8_next(rest, &cp);
		n = n ? n : 1;
		if (cp < 0x7f || (!utf8_unseen(cp) && cp != 0xfffe && cp != 0xffff))
			buf_add(buf, rest.ptr, n);
		else
			buf_addf(buf, cp > 0xffff ? "\\U%08x" : "\\u%04x", cp);
	}
	buf->failed |= text.failed;
}

/* Both formats want a point in a float. */
static void put_real(struct rye_buf *buf, double value)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	const char *e;

	json_python_float(&text, value);
	e = text.data ? strchr(text.data, 'e') : NULL;
	if (!e || memchr(text.data, '.', (size_t)(e - text.data))) {
		buf_addspan(buf, (struct rye_span){ text.data, text.len });
		return;
	}
	buf_add(buf, text.data, (size_t)(e - text.data));
	buf_addf(buf, ".0%s", e);
}

/* Letters, digits, '_' and '-' only, and nothing that YAML 1.1 reads as another type. */
static bool emit_is_plain(const char *key, bool toml)
{
	static const char *const words[] = { "y",   "n",    "yes",   "no",  "on",
					     "off", "true", "false", "null" };

	if (!*key || (!toml && !isalpha((unsigned char)*key) && *key != '_'))
		return false;
	for (const char *p = key; *p; p++)
		if (!isalnum((unsigned char)*p) && *p != '_' && *p != '-')
			return false;
	for (size_t i = 0; !toml && i < sizeof(words) / sizeof(words[0]); i++)
		if (!strcasecmp(key, words[i]))
			return false;
	return true;
}

static void put_key(struct rye_buf *buf, const char *key, bool toml)
{
	auto_json json_t *text = NULL;

	if (emit_is_plain(key, toml)) {
		buf_adds(buf, key);
		return;
	}
	text = json_string(key);
	emit_put_string(buf, text);
}

static void put_flow(struct rye_buf *buf, const json_t *value, bool toml);

static void put_list(struct rye_buf *buf, const json_t *list, bool toml)
{
	bool first = true;

	buf_addc(buf, '[');
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *one = json_array_get(list, i);

		if (toml && json_is_null(one))
			continue;
		buf_adds(buf, first ? "" : ", ");
		put_flow(buf, one, toml);
		first = false;
	}
	buf_addc(buf, ']');
}

static void emit_put_map(struct rye_buf *buf, const json_t *map, bool toml)
{
	json_t *object = (json_t *)map, *value;
	const char *key, *comma = toml ? " " : "";

	buf_addc(buf, '{');
	json_object_foreach(object, key, value) {
		if (toml && json_is_null(value))
			continue;
		buf_adds(buf, comma);
		put_key(buf, key, toml);
		buf_adds(buf, toml ? " = " : ": ");
		put_flow(buf, value, toml);
		comma = ", ";
	}
	buf_adds(buf, toml ? " }" : "}");
}

static void put_flow(struct rye_buf *buf, const json_t *value, bool toml)
{
	switch (json_typeof(value)) {
	case JSON_OBJECT:
		emit_put_map(buf, value, toml);
		break;
	case JSON_ARRAY:
		put_list(buf, value, toml);
		break;
	case JSON_REAL:
		put_real(buf, json_real_value(value));
		break;
	default:
		json_put(buf, value, false);
	}
}

static void put_block(struct rye_buf *buf, const json_t *map, int depth)
{
	json_t *object = (json_t *)map, *value;
	const char *key;

	json_object_foreach(object, key, value) {
		for (int i = 0; i < depth; i++)
			buf_adds(buf, "  ");
		put_key(buf, key, false);
		buf_addc(buf, ':');
		if (json_is_object(value) && json_object_size(value)) {
			buf_addc(buf, '\n');
			put_block(buf, value, depth + 1);
			continue;
		}
		buf_addc(buf, ' ');
		put_flow(buf, value, false);
		buf_addc(buf, '\n');
	}
}

void mapping_yaml(struct rye_buf *buf, const json_t *map)
{
	if (!json_object_size(map))
		buf_adds(buf, "{}\n");
	put_block(buf, map, 0);
}

static void emit_put_pair(struct rye_buf *buf, const char *key, const json_t *value)
{
	if (json_is_null(value))
		return;
	put_key(buf, key, true);
	buf_adds(buf, " = ");
	put_flow(buf, value, true);
	buf_addc(buf, '\n');
}

static void put_table(struct rye_buf *buf, const char *name, json_t *table)
{
	const char *key;
	json_t *value;

	buf_addc(buf, '[');
	put_key(buf, name, true);
	buf_adds(buf, "]\n");
	json_object_foreach(table, key, value)
		emit_put_pair(buf, key, value);
}

/* Values before tables: a key behind a table's head would belong to the table. */
void mapping_toml(struct rye_buf *buf, const json_t *map)
{
	json_t *object = (json_t *)map, *value;
	const char *key;

	json_object_foreach(object, key, value)
		if (!json_is_object(value))
			emit_put_pair(buf, key, value);
	json_object_foreach(object, key, value)
		if (json_is_object(value))
			put_table(buf, key, value);
}
