/* SPDX-License-Identifier: MIT */
/*
 * The two placeholder forms of chain configuration, in one pass from left to right: what a
 * placeholder delivered is never looked at again. Pure; fuzzed (fuzz_template).
 */
#include "plan/plan_inner.h"

#include "scope.h"

#include <ctype.h>

/* A name longer than this is no key; the scan stays linear. */
#define NAME_MAX_LEN 255
/* The same for ${NAME:-default}. */
#define DEFAULT_MAX_LEN 4096

void template_value(struct rye_buf *out, const json_t *value)
{
	switch (value ? json_typeof(value) : JSON_NULL) {
	case JSON_STRING:
		buf_add(out, json_string_value(value), json_string_length(value));
		break;
	case JSON_TRUE:
		buf_adds(out, "true");
		break;
	case JSON_FALSE:
		buf_adds(out, "false");
		break;
	case JSON_NULL:
		break;
	default:
		json_put(out, value, false);
	}
}

/* *ret_given: it is the caller's. */
static const json_t *template_look_up(const struct template *in, struct rye_span name,
				      bool *ret_given)
{
	char key[NAME_MAX_LEN + 1];
	const json_t *value;

	*ret_given = false;
	if (!name.len || name.len > NAME_MAX_LEN || memchr(name.ptr, 0, name.len))
		return NULL;
	memcpy(key, name.ptr, name.len);
	key[name.len] = 0;
	value = json_object_get(in->context, key);
	if (!value)
		value = json_object_get(in->config, key);
	if (value)
		return value;
	*ret_given = true;
	return json_object_get(in->params, key);
}

static bool is_upper_name(struct rye_span name)
{
	if (!name.len || name.len > NAME_MAX_LEN || isdigit((unsigned char)name.ptr[0]))
		return false;
	for (size_t i = 0; i < name.len; i++)
		if (!isupper((unsigned char)name.ptr[i]) && !isdigit((unsigned char)name.ptr[i]) &&
		    name.ptr[i] != '_')
			return false;
	return true;
}

/* ${NAME} or ${NAME:-default} at the start of text: its length, else 0. */
static size_t variable_at(struct rye_span text, struct rye_span *ret_name,
			  struct rye_span *ret_else)
{
	size_t window = text.len < DEFAULT_MAX_LEN ? text.len : DEFAULT_MAX_LEN;
	const char *close = memchr(text.ptr, '}', window);
	struct rye_span inner, name;
	ssize_t colon;

	if (!close || close < text.ptr + 3 || !span_starts(text, "${"))
		return 0;
	inner = (struct rye_span){ text.ptr + 2, (size_t)(close - text.ptr) - 2 };
	colon = span_find(inner, 0, ":-");
	name = (struct rye_span){ inner.ptr, colon < 0 ? inner.len : (size_t)colon };
	if (!is_upper_name(name))
		return 0;
	*ret_name = name;
	*ret_else = colon < 0 ? SPAN("") : span_skip(inner, (size_t)colon + 2);
	return inner.len + 3;
}

static void template_see(const struct template *in, unsigned from)
{
	if (in->seen)
		in->seen->from |= from;
}

static size_t put_variable(const struct template *in, struct rye_span text, struct rye_buf *out)
{
	char key[NAME_MAX_LEN + 1];
	struct rye_span name, otherwise;
	size_t n = variable_at(text, &name, &otherwise);
	const char *value;

	if (!n)
		return 0;
	memcpy(key, name.ptr, name.len);
	key[name.len] = 0;
	value = in->env ? env_get(in->env, key) : NULL;
	if (value && (*value || !otherwise.len)) {
		template_see(in, env_from(in->env, key));
		buf_adds(out, value);
	} else {
		buf_addspan(out, otherwise);
	}
	return n;
}

/* {name} at the start of text: its length when the name is known, else 0. */
static size_t put_name(const struct template *in, struct rye_span text, struct rye_buf *out)
{
	size_t window = text.len < NAME_MAX_LEN + 2 ? text.len : NAME_MAX_LEN + 2;
	const char *close = memchr(text.ptr, '}', window);
	struct rye_span name;
	const json_t *value;
	bool given;

	if (!close)
		return 0;
	name = (struct rye_span){ text.ptr + 1, (size_t)(close - text.ptr) - 1 };
	value = template_look_up(in, name, &given);
	if (!value)
		return 0;
	template_see(in, given ? ENV_GIVEN : ENV_SIGNED);
	if (given && in->seen)
		in->seen->given_at = MIN_OF(in->seen->given_at, out->len);
	if (given && in->spell)
		in->spell(out, value);
	else
		template_value(out, value);
	return name.len + 2;
}

void template_text(const struct template *in, struct rye_span text, struct rye_buf *out)
{
	template_see(in, ENV_SIGNED);
	while (text.len) {
		size_t plain = 0, used = 0;

		while (plain < text.len && text.ptr[plain] != '$' && text.ptr[plain] != '{')
			plain++;
		buf_add(out, text.ptr, plain);
		text = span_skip(text, plain);
		if (!text.len)
			return;
		used = text.ptr[0] == '$' ? put_variable(in, text, out) : put_name(in, text, out);
		if (!used) {
			buf_addc(out, text.ptr[0]);
			used = 1;
		}
		text = span_skip(text, used);
	}
}

void template_put(const struct template *in, const json_t *value, struct rye_buf *out)
{
	if (json_is_string(value))
		template_text(in,
			      (struct rye_span){ json_string_value(value),
						 json_string_length(value) },
			      out);
	else
		template_value(out, value);
}

json_t *template_param(const json_t *params, const json_t *text)
{
	size_t n = json_string_length(text);
	const char *s = json_string_value(text);
	auto_free char *name = NULL;

	if (n < 3 || s[0] != '{' || s[n - 1] != '}')
		return NULL;
	name = strndup(s + 1, n - 2);
	return name ? json_object_get(params, name) : NULL;
}

bool template_whole(struct rye_span text, const char *name)
{
	size_t n = strlen(name);

	return text.len == n + 2 && text.ptr[0] == '{' && text.ptr[n + 1] == '}' &&
	       !memcmp(text.ptr + 1, name, n);
}

static bool has_text(const json_t *array, struct rye_span text)
{
	size_t i;
	json_t *element;

	json_array_foreach(array, i, element)
		if (span_eq(text, json_string_value(element)))
			return true;
	return false;
}

static void text_names(struct rye_span text, json_t *names)
{
	for (size_t i = 0; i + 3 < text.len; i++) {
		struct rye_span name, otherwise;

		if (text.ptr[i] == '$' && variable_at(span_skip(text, i), &name, &otherwise) &&
		    !has_text(names, name))
			json_array_append_new(names, json_stringn(name.ptr, name.len));
	}
}

void template_names(const json_t *value, json_t *names)
{
	json_t *object = (json_t *)value; /* jansson iterates by non-const pointer only */
	const char *key;
	json_t *element;
	size_t i;

	if (json_is_string(value)) {
		text_names((struct rye_span){ json_string_value(value), json_string_length(value) },
			   names);
	} else if (json_is_object(value)) {
		json_object_foreach(object, key, element)
			template_names(element, names);
	} else if (json_is_array(value)) {
		json_array_foreach(value, i, element)
			template_names(element, names);
	}
}
