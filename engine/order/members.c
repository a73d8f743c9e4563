/* SPDX-License-Identifier: MIT */
/*
 * members.c: documents of known members, from structs and into structs, by rows; and the text that
 * is signed of one. Pure; no lock.
 */
#include "order/order_inner.h"

#include "memory.h"
#include "scope.h"
#include "str.h"

#include <math.h>

static json_t *member_value(const struct member *row, const void *from)
{
	const void *at = (const char *)from + row->at;
	const json_t *doc;

	switch (row->form) {
	case MEMBER_INT:
		return json_integer(*(const int64_t *)at);
	case MEMBER_REAL:
		return json_real(*(const double *)at);
	case MEMBER_BOOL:
		return json_boolean(*(const bool *)at);
	case MEMBER_OBJECT:
	case MEMBER_LISTS:
	case MEMBER_NAMES:
	case MEMBER_TEXTS:
		doc = *(const json_t *const *)at;
		if (doc)
			return json_incref((json_t *)doc);
		return row->form == MEMBER_OBJECT ? json_object() : json_array();
	default:
		return json_string(at);
	}
}

int members_put(const struct members *members, const void *from, json_t **ret, struct rye_err *err)
{
	unsigned long since = memory_failures();
	auto_json json_t *doc = json_object();

	for (size_t i = 0; i < members->n; i++)
		if (!json_set(doc, members->rows[i].name, member_value(&members->rows[i], from)))
			return rye_fail(err, RYE_INVALID, "%s: \"%s\" is no UTF-8", members->what,
					members->rows[i].name);
	if (memory_check(since, err))
		return -(int)RYE_IO;
	*ret = steal(&doc);
	return 0;
}

static bool is_text(const json_t *value, size_t size)
{
	const char *text = json_string_value(value);

	if (!text || json_string_length(value) != strlen(text) || strlen(text) >= size)
		return false;
	for (const char *p = text; *p; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			return false;
	return true;
}

static bool is_digits(const json_t *value, size_t n)
{
	const struct rye_span text = { json_string_value(value), json_string_length(value) };

	return text.ptr && text.len == n && is_hex_lower(text);
}

static bool is_list(const json_t *value, enum member_form form)
{
	const json_t *element;
	size_t i;

	if (!json_is_array(value) ||
	    (form == MEMBER_NAMES && json_array_size(value) > ORDER_SECRETS_MAX))
		return false;
	json_array_foreach((json_t *)value, i, element) {
		const char *text = json_string_value(element);

		if (form == MEMBER_LISTS ?
			    !is_list(element, MEMBER_TEXTS) :
			    !text || (form == MEMBER_NAMES && !id_is_name(span_of(text))))
			return false;
	}
	return true;
}

static bool member_fits(const struct member *row, const json_t *value)
{
	switch (row->form) {
	case MEMBER_TEXT:
		return is_text(value, row->size);
	case MEMBER_SHA:
		return is_digits(value, SHA_HEX - 1) ||
		       (json_is_string(value) && !json_string_length(value));
	case MEMBER_FP:
		return is_digits(value, KEY_FP - 1);
	case MEMBER_UUID:
		return json_is_string(value) && id_is_uuid(json_string_value(value));
	case MEMBER_NAME:
		return json_is_string(value) && id_is_name(span_of(json_string_value(value)));
	case MEMBER_INT:
		return json_is_integer(value) && json_integer_value(value) >= 0;
	case MEMBER_REAL:
		return json_is_real(value) && isfinite(json_real_value(value)) &&
		       json_real_value(value) >= 0;
	case MEMBER_BOOL:
		return json_is_boolean(value);
	case MEMBER_OBJECT:
		return json_is_object(value);
	default:
		return is_list(value, row->form);
	}
}

static void member_take(const struct member *row, const json_t *value, void *ret)
{
	void *at = (char *)ret + row->at;

	switch (row->form) {
	case MEMBER_INT:
		*(int64_t *)at = json_integer_value(value);
		break;
	case MEMBER_REAL:
		*(double *)at = json_real_value(value);
		break;
	case MEMBER_BOOL:
		*(bool *)at = json_is_true(value);
		break;
	case MEMBER_OBJECT:
	case MEMBER_LISTS:
	case MEMBER_NAMES:
	case MEMBER_TEXTS:
		*(const json_t **)at = value;
		break;
	default:
		memcpy(at, json_string_value(value), json_string_length(value) + 1);
	}
}

int members_get(const struct members *members, const json_t *doc, void *ret, struct rye_err *err)
{
	if (!json_is_object(doc) || json_object_size(doc) != members->n)
		return rye_fail(err, RYE_INVALID, "%s: wanted an object with %zu members",
				members->what, members->n);
	for (size_t i = 0; i < members->n; i++) {
		const struct member *row = &members->rows[i];
		const json_t *value = json_object_get(doc, row->name);

		if (!value || !member_fits(row, value))
			return rye_fail(err, RYE_INVALID, "%s: \"%s\" is %s", members->what,
					row->name, value ? "not what it should be" : "missing");
		if (ret)
			member_take(row, value, ret);
	}
	return 0;
}

int members_signed(const char *word, const json_t *doc, struct rye_buf *ret, char *sha,
		   struct rye_err *err)
{
	size_t at;

	buf_adds(ret, word);
	buf_addc(ret, '\n');
	at = ret->len;
	json_canonical(ret, doc);
	if (ret->failed)
		return memory_fail(err);
	if (sha)
		sha256_hex(span_skip(buf_span(ret), at), sha);
	return 0;
}

/* The envelope names them in order, NULL behind the last; the first is the document. */
static bool is_named(const char *const *names, const char *key)
{
	while (*names && strcmp(*names, key) != 0)
		names++;
	return *names;
}

int members_envelope(struct rye_span text, const char *const *names, json_t **ret,
		     struct rye_err *err)
{
	struct rye_err why = { .code = RYE_INVALID };
	unsigned long since = memory_failures();
	auto_json json_t *doc = NULL;
	json_t *value;
	const char *key;

	if (text.len > ORDER_MAX)
		return rye_fail(err, RYE_TOO_BIG, "%s: at most %u bytes, this one has %zu",
				names[0], ORDER_MAX, text.len);
	doc = json_parse(text, 0, names[0], &why);
	if (memory_check(since, &why) || !doc) {
		if (err)
			*err = why;
		return -(int)why.code;
	}
	json_object_foreach(doc, key, value) {
		if (!is_named(names, key) || (strcmp(key, names[0]) != 0 && !json_is_string(value)))
			return rye_fail(err, RYE_INVALID, "%s: unknown member \"%.40s\"", names[0],
					key);
	}
	*ret = steal(&doc);
	return 0;
}
