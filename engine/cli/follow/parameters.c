/* SPDX-License-Identifier: MIT */
/*
 * What is wrong with the parameters of a call, for people: the declared ones as a small table, the
 * call as it was typed with its faults put right (base/corrected.h), and JSON that was cut off or
 * written as another language has it.
 */
#include "cli/follow/follow.h"

#include "format/format.h"
#include "scope.h"
#include "str.h"

#include <ctype.h>
#include <string.h>

static void example_pair(struct rye_buf *ret, const char *key, const json_t *property,
			 const json_t *value)
{
	auto_buf struct rye_buf word = RYE_BUF_INIT;
	const char *text = json_string_value(value);
	bool plain = text &&
		     (!strcmp(property_type(property), "string") || isalpha((unsigned char)*text));

	buf_addf(&word, "%s%s", key, plain || !text ? "=" : ":=");
	if (plain)
		buf_adds(&word, text);
	else
		json_put(&word, value, false);
	buf_addc(ret, ' ');
	if (!word.failed)
		buf_shell(ret, word.data);
}

/* The words themselves are compared, not their letters. */
static bool parameters_operand(const struct cli *cli, const char *word)
{
	for (int i = 0; i < cli->argc; i++)
		if (cli->argv[i] == word)
			return true;
	return false;
}

char *parameters_example(const struct cli *cli, const struct corrected *fault)
{
	auto_buf struct rye_buf ret = RYE_BUF_INIT;
	auto_json json_t *all = corrected_parameters(fault);
	const json_t *properties = json_object_get(fault->schema, "properties");
	const char *key;
	json_t *value;

	buf_adds(&ret, "ryefs execute ");
	buf_shell(&ret, cli->argv[0]);
	json_object_foreach(all, key, value)
		example_pair(&ret, key, json_object_get(properties, key), value);
	/* options with their values, wherever they were typed */
	for (int i = 0; i < cli->n_typed && strcmp(cli->typed[i], "--") != 0; i++)
		if (!parameters_operand(cli, cli->typed[i])) {
			buf_addc(&ret, ' ');
			buf_shell(&ret, cli->typed[i]);
		}
	return buf_steal(&ret);
}

#define COLUMN_WIDE 30

/* "dry|warm" of an enumeration, else the type's name. */
static void put_type(const json_t *property, struct rye_buf *ret)
{
	const json_t *values = json_object_get(property, "enum"), *value;
	size_t i;

	if (!json_array_size(values) || json_array_size(values) > 6)
		buf_adds(ret, property_type(property));
	else
		json_array_foreach(values, i, value) {
			buf_adds(ret, i ? "|" : "");
			if (json_is_string(value))
				buf_adds(ret, json_string_value(value));
			else
				json_put(ret, value, false);
		}
}

void parameters_table(const json_t *schema, FILE *to)
{
	static const struct out_column columns[] = {
		{ "name", "", .most = COLUMN_WIDE },
		{ "type", "", .most = COLUMN_WIDE },
		{ "need", "", .most = COLUMN_WIDE },
		{ "text", "" },
	};
	json_t *properties = json_object_get(schema, "properties"), *property;
	auto_json json_t *rows = json_array();
	const char *key;

	json_object_foreach(properties, key, property) {
		const json_t *fallback = json_object_get(property, "default");
		const char *text = json_str(property, "description");
		auto_buf struct rye_buf type = RYE_BUF_INIT, need = RYE_BUF_INIT;

		put_type(property, &type);
		if (json_lists(json_object_get(schema, "required"), key))
			buf_adds(&need, "wanted");
		else if (fallback)
			json_put(&need, fallback, false);
		json_array_append_new(rows, json_pack("{s:s, s:s, s:s, s:s%}", "name", key, "type",
						      type.len ? type.data : "", "need",
						      need.len ? need.data : "", "text", text,
						      strcspn(text, "\n")));
	}
	out_table(NULL, to, rows, columns, ARRAY_SIZE(columns));
}

/* ---- JSON that was cut off or written as another language has it ---- */

static json_t *json_of(const struct rye_buf *text)
{
	return text->failed ? NULL :
			      json_parse((struct rye_span){ text->data, text->len }, 0, "", NULL);
}

/* {name: Ann} without quotes, as a shell leaves it of {"name":"Ann"}. */
static json_t *quoted_words(const char *typed)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;

	for (const char *p = typed; *p;) {
		size_t n = strcspn(p, "{}[]:,\" \t\n");
		const struct rye_span word = { p, n };
		bool bare = n && !isdigit((unsigned char)*p) && *p != '-' &&
			    !span_eq(word, "true") && !span_eq(word, "false") &&
			    !span_eq(word, "null");

		buf_adds(&text, bare ? "\"" : "");
		buf_add(&text, p, n ? n : 1);
		buf_adds(&text, bare ? "\"" : "");
		p += n ? n : 1;
	}
	return json_of(&text);
}

json_t *parameters_repaired(const char *typed)
{
	static const char *const ends[] = { "", "}", "\"}", "]}", "}}", "\"]}" };
	json_t *value = NULL;

	for (size_t i = 0; i < 2 * ARRAY_SIZE(ends) && !value; i++) {
		auto_buf struct rye_buf text = RYE_BUF_INIT;

		for (const char *p = typed; *p; p++) {
			const char *next = p + 1 + strspn(p + 1, " \t\n");

			/* {'a': True,} of Python: only in the second round */
			if (i >= ARRAY_SIZE(ends) && *p == '\'')
				buf_addc(&text, '"');
			else if (*p != ',' || (*next != '}' && *next))
				buf_addc(&text, *p);
		}
		buf_adds(&text, ends[i % ARRAY_SIZE(ends)]);
		value = json_of(&text);
	}
	return value ? value : quoted_words(typed);
}
