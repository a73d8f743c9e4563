/* SPDX-License-Identifier: MIT */
/*
 * What is wrong with the parameters of a call, for people: the declared ones as a small table, and
 * the call as it was typed with its faults put right as far as the item's schema tells how: a
 * misspelt name becomes the declared one, a value of the wrong type and one that is missing become
 * an example.
 */
#include "cli/cli.h"

#include "near.h"
#include "scope.h"
#include "str.h"

#include <ctype.h>
#include <string.h>

static const char *parameters_type(const json_t *property)
{
	const json_t *type = json_object_get(property, "type");

	if (json_is_array(type))
		type = json_array_get(type, 0);
	return json_is_string(type) ? json_string_value(type) : "any";
}

/* A value that the schema takes. */
static json_t *example_of(const char *name, json_t *property)
{
	json_t *value = json_object_get(property, "default");
	const char *type = parameters_type(property);
	char text[64];
	size_t n = 0;

	if (!value || json_is_null(value))
		value = json_array_get(json_object_get(property, "examples"), 0);
	if (!value)
		value = json_array_get(json_object_get(property, "enum"), 0);
	if (!value)
		value = json_object_get(property, "minimum");
	if (value)
		return json_incref(value);
	if (!strcmp(type, "integer") || !strcmp(type, "number"))
		return json_integer(1);
	if (!strcmp(type, "boolean"))
		return json_true();
	if (!strcmp(type, "array"))
		return json_array();
	if (!strcmp(type, "object"))
		return json_object();
	for (; name[n] && n + 1 < sizeof(text); n++)
		text[n] = (char)toupper((unsigned char)name[n]);
	text[n] = 0;
	return json_string(text);
}

static bool has_type(const json_t *value, const char *type)
{
	return (!strcmp(type, "string") && json_is_string(value)) ||
	       (!strcmp(type, "integer") && json_is_integer(value)) ||
	       (!strcmp(type, "number") && json_is_number(value)) ||
	       (!strcmp(type, "boolean") && json_is_boolean(value)) ||
	       (!strcmp(type, "array") && json_is_array(value)) ||
	       (!strcmp(type, "object") && json_is_object(value)) || !strcmp(type, "any");
}

/* The value itself, spelt as the schema wants it: "2" is 2 where a number is wanted, and the other
 * way round; else an example. */
static json_t *value_instead(const char *name, json_t *property, json_t *value)
{
	const char *type = parameters_type(property);
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	auto_json json_t *read = NULL;

	if (json_is_string(value))
		read = json_loads(json_string_value(value), JSON_DECODE_ANY, NULL);
	if (read && has_type(read, type))
		return json_incref(read);
	if (strcmp(type, "string") != 0 || json_object_get(property, "enum") ||
	    json_is_string(value) || json_is_null(value))
		return example_of(name, property);
	json_put(&text, value, false);
	return text.failed ? example_of(name, property) : json_string(text.data);
}

/* The declared name that a misspelt one was meant to be, unless it is given as well; or NULL. */
static const char *declared_near(const json_t *properties, const json_t *given, const char *name)
{
	const char *key, *best = NULL;
	int nearest = near_limit(name);
	json_t *property;

	json_object_foreach((json_t *)properties, key, property) {
		int d = near_distance(name, key);

		if (d >= nearest || json_object_get(given, key))
			continue;
		nearest = d;
		best = key;
	}
	return best;
}

/* "Invalid parameters: top: expected integer, got str; …" names top. */
static bool is_blamed(const char *message, const char *name)
{
	size_t n = strlen(name);

	for (const char *at = message; (at = strstr(at, name)); at += n)
		if (at > message && at[-1] == ' ' && at[n] == ':')
			return true;
	return false;
}

static json_t *parameters_corrected(const json_t *schema, const json_t *given, const char *message)
{
	json_t *properties = json_object_get(schema, "properties"), *property, *value;
	const json_t *required = json_object_get(schema, "required");
	json_t *all = json_object();
	const char *key;

	json_object_foreach((json_t *)given, key, value) {
		const char *near = NULL;

		property = json_object_get(properties, key);
		if (property && is_blamed(message, key)) {
			json_set(all, key, value_instead(key, property, value));
			continue;
		}
		if (!property)
			near = declared_near(properties, given, key);
		if (!near)
			json_set(all, key, property ? json_incref(value) : NULL);
		else if (has_type(value, parameters_type(json_object_get(properties, near))))
			json_set(all, near, json_incref(value));
		else
			json_set(all, near,
				 value_instead(near, json_object_get(properties, near), value));
	}
	json_object_foreach(properties, key, property)
		if (json_lists(required, key) && !json_object_get(all, key))
			json_set(all, key, example_of(key, property));
	return all;
}

static void example_pair(struct rye_buf *ret, const char *key, const json_t *property,
			 const json_t *value)
{
	auto_buf struct rye_buf word = RYE_BUF_INIT;
	const char *text = json_string_value(value);
	bool plain = text && (!strcmp(parameters_type(property), "string") ||
			      isalpha((unsigned char)*text));

	buf_addf(&word, "%s%s", key, plain || !text ? "=" : ":=");
	if (plain)
		buf_adds(&word, text);
	else
		json_put(&word, value, false);
	buf_addc(ret, ' ');
	if (!word.failed)
		buf_shell(ret, word.data);
}

void parameters_example(const struct cli *cli, const struct parameters_fault *fault,
			struct rye_buf *ret)
{
	auto_json json_t *all = parameters_corrected(fault->schema, fault->given, fault->message);
	const json_t *properties = json_object_get(fault->schema, "properties");
	const char *key;
	json_t *value;

	buf_adds(ret, "ryefs execute ");
	buf_shell(ret, cli->argv[0]);
	json_object_foreach(all, key, value)
		example_pair(ret, key, json_object_get(properties, key), value);
	/* options, wherever they were typed */
	for (int i = 0; i < cli->n_typed && strcmp(cli->typed[i], "--") != 0; i++)
		if (cli->typed[i][0] == '-' && cli->typed[i][1] == '-') {
			buf_addc(ret, ' ');
			buf_shell(ret, cli->typed[i]);
		}
}

enum parameters_column { COLUMN_NAME, COLUMN_TYPE, COLUMN_NEED, COLUMN_TEXT, COLUMN__MAX };

/* "dry|warm" of an enumeration, else the type's name. */
static void put_type(const json_t *property, struct rye_buf *ret)
{
	const json_t *values = json_object_get(property, "enum"), *value;
	size_t i;

	if (!json_array_size(values) || json_array_size(values) > 6)
		buf_adds(ret, parameters_type(property));
	else
		json_array_foreach(values, i, value) {
			buf_adds(ret, i ? "|" : "");
			if (json_is_string(value))
				buf_adds(ret, json_string_value(value));
			else
				json_put(ret, value, false);
		}
}

static void parameters_cell(const json_t *schema, const char *key, enum parameters_column column,
			    struct rye_buf *ret)
{
	const json_t *property = json_object_get(json_object_get(schema, "properties"), key);
	const json_t *fallback = json_object_get(property, "default");
	const char *text = json_str(property, "description");

	buf_adds(ret, "");
	if (column == COLUMN_NAME)
		buf_adds(ret, key);
	else if (column == COLUMN_TYPE)
		put_type(property, ret);
	else if (column == COLUMN_TEXT)
		buf_add(ret, text, strcspn(text, "\n"));
	else if (json_lists(json_object_get(schema, "required"), key))
		buf_adds(ret, "wanted");
	else if (fallback)
		json_put(ret, fallback, false);
}

#define COLUMN_WIDE 30 /* a longer default moves its own line's text alone */

static int parameters_width(const json_t *schema, enum parameters_column column)
{
	json_t *properties = json_object_get(schema, "properties"), *property;
	int most = 0;
	const char *key;

	json_object_foreach(properties, key, property) {
		auto_buf struct rye_buf cell = RYE_BUF_INIT;

		parameters_cell(schema, key, column, &cell);
		if ((int)cell.len > most && cell.len <= COLUMN_WIDE)
			most = (int)cell.len;
	}
	return most;
}

void parameters_table(const json_t *schema, FILE *to)
{
	json_t *properties = json_object_get(schema, "properties"), *property;
	int width[COLUMN__MAX];
	const char *key;

	for (int column = 0; column < COLUMN__MAX; column++)
		width[column] = parameters_width(schema, (enum parameters_column)column);
	json_object_foreach(properties, key, property) {
		for (int column = 0; column < COLUMN__MAX; column++) {
			auto_buf struct rye_buf cell = RYE_BUF_INIT;
			int pad;

			parameters_cell(schema, key, (enum parameters_column)column, &cell);
			pad = width[column] - (int)cell.len;
			fputs("  ", to);
			out_text(to, cell.data ? cell.data : "");
			if (column != COLUMN_TEXT && pad > 0)
				fprintf(to, "%*s", pad, "");
		}
		putc('\n', to);
	}
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
		bool bare = n && !isdigit((unsigned char)*p) && strncmp(p, "true", n) &&
			    strncmp(p, "false", n) && strncmp(p, "null", n) && *p != '-';

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
