/* SPDX-License-Identifier: MIT */
/*
 * Templates. One pass over each text, from left to right: what is put in is not looked at again,
 * so no value can bring an expression of its own. Pipes bind weaker than ||.
 */
#include "expr/expr.h"

#include "memory.h"
#include "scope.h"

#include <ctype.h>
#include <string.h>

/* One "${...}" or "{input:...}" of a text. */
struct fill_mark {
	struct rye_span inner; /* between the braces, without "input:" */
	size_t at, end; /* where it stands in the text */
	bool input;
};

static size_t name_len(struct rye_span text)
{
	size_t n = 0;

	while (n < text.len && (isalnum((unsigned char)text.ptr[n]) || text.ptr[n] == '_' ||
				(unsigned char)text.ptr[n] >= 0x80))
		n++;
	return n;
}

/* {input:name}, with a "?", or a ':' or '|' and a default. */
static bool is_input(struct rye_span inner)
{
	size_t n = name_len(inner);

	if (!n)
		return false;
	if (n == inner.len)
		return true;
	return inner.ptr[n] == '?' ? n + 1 == inner.len :
				     inner.ptr[n] == ':' || inner.ptr[n] == '|';
}

/* The next mark at or after `from`; false: none. */
static bool mark_find(struct rye_span text, size_t from, struct fill_mark *ret)
{
	ssize_t brace = -1; /* the first '}' behind i, once it is looked for */

	for (size_t i = from; i < text.len; i++) {
		struct rye_span rest = span_skip(text, i);
		bool input = span_starts(rest, "{input:");
		size_t open = input ? 7 : 2, end;

		if (!input && !span_starts(rest, "${"))
			continue;
		if (brace < (ssize_t)(i + open))
			brace = span_find(text, i + open, "}");
		if (brace < 0)
			return false;
		end = (size_t)brace - i;
		*ret = (struct fill_mark){ { rest.ptr + open, end - open }, i, i + end + 1, input };
		if (input ? is_input(ret->inner) : ret->inner.len > 0)
			return true;
	}
	return false;
}

/* The part up to a single '|', trimmed; *text moves behind it. */
static struct rye_span next_part(struct rye_span *text)
{
	size_t n = 0;
	struct rye_span part;

	while (n < text->len) {
		bool bar = text->ptr[n] == '|';
		bool pair = bar && n + 1 < text->len && text->ptr[n + 1] == '|';

		if (bar && !pair)
			break;
		n += pair ? 2 : 1;
	}
	part = (struct rye_span){ text->ptr, n };
	*text = span_skip(*text, n < text->len ? n + 1 : n);
	return span_trim(part);
}

/* The next of "a || b", trimmed; false: nothing left. */
static bool next_choice(struct rye_span *text, struct rye_span *ret)
{
	ssize_t bars = span_find(*text, 0, "||");

	if (!text->ptr)
		return false;
	*ret = span_trim((struct rye_span){ text->ptr, bars < 0 ? text->len : (size_t)bars });
	*text = bars < 0 ? (struct rye_span){ NULL, 0 } : span_skip(*text, (size_t)bars + 2);
	return true;
}

static const json_t *first_of(const json_t *doc, struct rye_span choices)
{
	struct rye_span path;

	while (next_choice(&choices, &path)) {
		const json_t *value = path.len ? expr_path(doc, path) : NULL;

		if (value)
			return value;
	}
	return NULL;
}

static void warn_of(const struct expr_scope *scope, struct rye_span expression)
{
	int n = expression.len > 200 ? 200 : (int)expression.len;

	if (scope->warnings)
		json_array_append_new(scope->warnings,
				      json_sprintf("${%.*s} came to nothing", n, expression.ptr));
}

/* Its value, a new reference; NULL: null. */
static json_t *expression_value(const struct expr_scope *scope, struct rye_span expression)
{
	struct rye_span rest = expression;
	json_t *value = json_incref((json_t *)first_of(scope->doc, next_part(&rest)));

	while (rest.len)
		value = expr_pipe(next_part(&rest), value);
	if (!value || json_is_null(value))
		warn_of(scope, expression);
	return value;
}

/* Appends it; false: the mark stays as it is written. */
static bool put_input(const struct expr_scope *scope, struct rye_span inner, struct rye_buf *out)
{
	const json_t *inputs = json_object_get(scope->doc, "inputs");
	size_t n = name_len(inner);
	const json_t *value = json_object_getn(inputs, inner.ptr, n);

	if (!json_object_size(inputs))
		return false;
	if (value)
		json_python_str(out, value);
	else if (n < inner.len && inner.ptr[n] != '?')
		buf_addspan(out, span_skip(inner, n + 1));
	return value || n < inner.len;
}

static void put_expression(const struct expr_scope *scope, struct rye_span expression,
			   struct rye_buf *out)
{
	auto_json json_t *value = expression_value(scope, expression);

	if (value && !json_is_null(value))
		json_python_str(out, value);
}

static json_t *fill_text(const struct expr_scope *scope, const json_t *template)
{
	struct rye_span text = { json_string_value(template), json_string_length(template) };
	auto_buf struct rye_buf out = RYE_BUF_INIT;
	struct fill_mark mark;
	size_t at = 0;

	if (!mark_find(text, 0, &mark))
		return json_incref((json_t *)template);
	if (!mark.input && mark.at == 0 && mark.end == text.len) {
		json_t *value = expression_value(scope, mark.inner);

		return value ? value : json_null();
	}
	buf_adds(&out, "");
	do {
		buf_add(&out, text.ptr + at, mark.at - at);
		if (!mark.input)
			put_expression(scope, mark.inner, &out);
		else if (!put_input(scope, mark.inner, &out))
			buf_add(&out, text.ptr + mark.at, mark.end - mark.at);
		at = mark.end;
	} while (mark_find(text, at, &mark));
	buf_addspan(&out, span_skip(text, at));
	return out.failed ? memory_note(NULL) : json_stringn(out.data, out.len);
}

static json_t *fill_list(const struct expr_scope *scope, const json_t *template)
{
	auto_json json_t *ret = json_array();
	const json_t *element;
	size_t i;

	json_array_foreach(template, i, element) {
		if (json_array_append_new(ret, expr_fill(scope, element)))
			return NULL;
	}
	return steal(&ret);
}

static json_t *fill_object(const struct expr_scope *scope, const json_t *template)
{
	auto_json json_t *ret = json_object();
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)template, key, value) {
		if (json_object_set_new(ret, key, expr_fill(scope, value)))
			return NULL;
	}
	return steal(&ret);
}

json_t *expr_fill(const struct expr_scope *scope, const json_t *template)
{
	if (json_is_string(template))
		return fill_text(scope, template);
	if (json_is_array(template))
		return fill_list(scope, template);
	if (json_is_object(template))
		return fill_object(scope, template);
	return json_incref((json_t *)template);
}

/* ---- looking at templates without values ---- */

typedef void (*text_fn)(void *arg, struct rye_span text);

static void each_text(const json_t *template, text_fn fn, void *arg)
{
	const json_t *element;
	const char *key;
	json_t *value;
	size_t i;

	if (json_is_string(template))
		fn(arg,
		   (struct rye_span){ json_string_value(template), json_string_length(template) });
	json_array_foreach(template, i, element) {
		each_text(element, fn, arg);
	}
	json_object_foreach((json_t *)template, key, value) {
		each_text(value, fn, arg);
	}
}

struct fill_check {
	const char *where;
	json_t *faults;
};

static void check_marks(void *arg, struct rye_span text)
{
	const struct fill_check *check = arg;
	struct fill_mark mark;
	size_t at = 0;
	ssize_t open;

	while (mark_find(text, at, &mark)) {
		struct rye_span rest = mark.inner;

		at = mark.end;
		if (mark.input)
			continue;
		next_part(&rest);
		while (rest.len) {
			struct rye_span name = next_part(&rest);

			if (!expr_pipe_known(name))
				json_array_append_new(
					check->faults,
					json_sprintf("%s: '%.*s' is not a pipe (json from_json "
						     "length keys upper lower)",
						     check->where, (int)name.len, name.ptr));
		}
	}
	open = span_find(text, at, "${");
	if (open >= 0 && span_find(text, (size_t)open, "}") < 0)
		json_array_append_new(check->faults,
				      json_sprintf("%s: a ${ has no }", check->where));
}

void expr_check_template(const json_t *template, const char *where, json_t *faults)
{
	struct fill_check check = { where, faults };

	each_text(template, check_marks, &check);
}

struct fill_names {
	expr_name_fn fn;
	void *arg;
};

static void tell_names(void *arg, struct rye_span text)
{
	const struct fill_names *names = arg;
	struct fill_mark mark;
	size_t at = 0;

	while (mark_find(text, at, &mark)) {
		struct rye_span rest = mark.inner, choices = next_part(&rest), path;

		at = mark.end;
		while (!mark.input && next_choice(&choices, &path))
			names->fn(names->arg, path);
	}
}

void expr_each_path(const json_t *template, expr_name_fn fn, void *arg)
{
	struct fill_names names = { fn, arg };

	each_text(template, tell_names, &names);
}
