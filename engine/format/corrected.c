/* SPDX-License-Identifier: MIT */
/*
 * Parameters that an item refused, with their faults put right as far as its schema tells how: a
 * misspelt name becomes the declared one, a value of the wrong type and one that is missing become
 * an example. Used by `ryefs execute` and for the replies of a mount. Pure.
 */
#include "format/format.h"

#include "buf.h"
#include "near.h"

#include <ctype.h>
#include <string.h>

const char *property_type(const json_t *property)
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
	const char *type = property_type(property);
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

bool property_takes(const json_t *property, const json_t *value)
{
	const json_t *values = json_object_get(property, "enum"), *one;
	size_t i;

	if (!json_is_array(values))
		return has_type(value, property_type(property));
	json_array_foreach(values, i, one)
		if (json_equal(one, value))
			return true;
	return false;
}

/* The value itself, spelt as the schema wants it: "2" is 2 where a number is wanted, and the other
 * way round; else an example. */
static json_t *value_instead(const char *name, json_t *property, json_t *value)
{
	const char *type = property_type(property);
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
	struct near_word near;
	json_t *property;
	const char *key;

	near_start(&near, name);
	json_object_foreach((json_t *)properties, key, property)
		if (!json_object_get(given, key))
			near_offer(&near, key, key);
	return near.best;
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

/* "…Unknown parameters: tmes, x. Valid parameters: times" names tmes and x. Without a message each
 * undeclared name is one. */
static bool is_unknown(const char *message, const char *name)
{
	const char *list = strstr(message, "Unknown parameters: "), *end;
	size_t n = strlen(name);

	if (!*message || !list)
		return !*message;
	end = strstr(list, ". Valid ");
	for (const char *at = list; (at = strstr(at, name)) && (!end || at < end); at += n)
		if (at[-1] == ' ' && (at[n] == ',' || at[n] == '.'))
			return true;
	return false;
}

/* The name and value that one of those given is to have; false: it is left out. */
static bool corrected_one(const struct corrected *fault, const char **key, json_t **value)
{
	json_t *properties = json_object_get(fault->schema, "properties");
	json_t *property = json_object_get(properties, *key);
	const char *near = property ? NULL : declared_near(properties, fault->given, *key);

	/* without a schema, as of an item that is refused, only the engine knows what is wrong */
	bool known = fault->schema || *fault->message;

	if (!property && !near && known &&
	    (is_unknown(fault->message, *key) || is_blamed(fault->message, *key)))
		return false;
	if (near) {
		*key = near;
		property = json_object_get(properties, near);
	}
	if (near ? has_type(*value, property_type(property)) :
		   !property || !is_blamed(fault->message, *key))
		json_incref(*value);
	else
		*value = value_instead(*key, property, *value);
	return true;
}

json_t *corrected_parameters(const struct corrected *fault)
{
	json_t *properties = json_object_get(fault->schema, "properties"), *property, *value;
	const json_t *required = json_object_get(fault->schema, "required");
	json_t *all = json_object();
	const char *key, *name;

	json_object_foreach((json_t *)fault->given, key, value) {
		json_t *instead = value;

		name = key;
		if (corrected_one(fault, &name, &instead))
			json_set(all, name, instead);
	}
	json_object_foreach(properties, key, property)
		if (json_lists(required, key) && !json_object_get(all, key))
			json_set(all, key, example_of(key, property));
	return all;
}
