/* SPDX-License-Identifier: MIT */
/*
 * JSON as bytes: where a value stands in a text that was parsed already, and texts put together so
 * that a value goes out as it came in; forms; and texts that are none, mended. Pure.
 */
#include "wire/wire_inner.h"

#include "bounds.h"
#include "scope.h"
#include "str.h"

#include <ctype.h>
#include <string.h>

struct raw_reader {
	struct rye_span text;
	size_t at;
};

static char raw_peek(struct raw_reader *r)
{
	while (r->at < r->text.len && strchr(" \t\r\n", r->text.ptr[r->at]) && r->text.ptr[r->at])
		r->at++;
	return r->at < r->text.len ? r->text.ptr[r->at] : 0;
}

/* The string at r->at, quotes included. */
static struct rye_span raw_skip_string(struct raw_reader *r)
{
	size_t begin = r->at++;

	while (r->at < r->text.len && r->text.ptr[r->at] != '"')
		r->at += r->text.ptr[r->at] == '\\' ? 2 : 1;
	r->at = MIN_OF(r->at + 1, r->text.len);
	return (struct rye_span){ r->text.ptr + begin, r->at - begin };
}

static void raw_skip_scalar(struct raw_reader *r)
{
	while (r->at < r->text.len && !strchr(",:]}{[\" \t\r\n", r->text.ptr[r->at]))
		r->at++;
}

/* A value: brackets are counted, since the text is known to be JSON. */
static struct rye_span raw_skip(struct raw_reader *r)
{
	size_t depth = 0, begin;
	char c = raw_peek(r);

	begin = r->at;
	do {
		if (c == '"')
			raw_skip_string(r);
		else if (!c || !strchr(",:]}{[", c))
			raw_skip_scalar(r);
		else
			r->at++;
		depth += c == '{' || c == '[';
		depth -= depth && (c == '}' || c == ']');
		c = raw_peek(r);
	} while (depth && c);
	return span_trim((struct rye_span){ r->text.ptr + begin, r->at - begin });
}

static bool is_key(struct rye_span quoted, const char *key)
{
	auto_json json_t *name = NULL;

	if (quoted.len < 2)
		return false;
	if (span_eq((struct rye_span){ quoted.ptr + 1, quoted.len - 2 }, key))
		return true;
	if (!memchr(quoted.ptr, '\\', quoted.len))
		return false;
	name = json_loadb(quoted.ptr, quoted.len, JSON_DECODE_ANY, NULL);
	return name && !strcmp(json_string_value(name), key);
}

struct rye_span raw_member(struct rye_span text, const char *key)
{
	struct raw_reader r = { text, 0 };
	struct rye_span found = { "", 0 };

	if (raw_peek(&r) != '{')
		return found;
	r.at++;
	while (raw_peek(&r) == '"') {
		struct rye_span name = raw_skip_string(&r), value;

		if (raw_peek(&r) != ':')
			break;
		r.at++;
		value = raw_skip(&r);
		if (is_key(name, key))
			found = value;
		if (raw_peek(&r) != ',')
			break;
		r.at++;
	}
	return found;
}

struct raw_list raw_list_of(struct rye_span text)
{
	struct raw_reader r = { text, 0 };
	bool array = raw_peek(&r) == '[';

	return (struct raw_list){ array ? span_skip(text, r.at + 1) : SPAN("") };
}

struct rye_span raw_next(struct raw_list *list)
{
	struct raw_reader r = { list->rest, 0 };
	struct rye_span value;

	if (!raw_peek(&r) || raw_peek(&r) == ']')
		return SPAN("");
	value = raw_skip(&r);
	if (raw_peek(&r) == ',')
		r.at++;
	list->rest = span_skip(list->rest, r.at);
	return value;
}

void raw_comma(struct rye_buf *out)
{
	if (out->len && !strchr("{[:,", out->data[out->len - 1]))
		buf_addc(out, ',');
}

/* Most are ids, names and types: nothing in them is spelt otherwise. */
static bool is_plain(struct rye_span text)
{
	for (size_t i = 0; i < text.len; i++)
		if (text.ptr[i] < ' ' || text.ptr[i] > '~' || text.ptr[i] == '"' ||
		    text.ptr[i] == '\\')
			return false;
	return true;
}

void raw_string(struct rye_buf *out, struct rye_span text)
{
	auto_json json_t *value = NULL;

	if (is_plain(text)) {
		buf_addc(out, '"');
		buf_addspan(out, text);
		buf_addc(out, '"');
		return;
	}
	value = json_stringn_nocheck(text.ptr, text.len);
	json_put(out, value, false);
}

void raw_key(struct rye_buf *out, const char *key)
{
	raw_comma(out);
	raw_string(out, span_of(key));
	buf_addc(out, ':');
}

void raw_span(struct rye_buf *out, const char *key, struct rye_span text)
{
	raw_key(out, key);
	raw_string(out, text);
}

void raw_value(struct rye_buf *out, const char *key, const json_t *value)
{
	raw_key(out, key);
	json_put(out, value, false);
}

void raw_splice(struct rye_buf *out, const json_t *object, const char *key, struct rye_span value)
{
	json_t *own = (json_t *)object, *member;
	const char *name;

	buf_addc(out, '{');
	json_object_foreach(own, name, member)
		if (strcmp(name, key) != 0)
			raw_value(out, name, member);
	raw_key(out, key);
	buf_addspan(out, value);
	buf_addc(out, '}');
}

/*
 * ---- forms ----
 * A form is the vendor's own JSON with its words bare and a name in place of each value that the thread
 * has: {type:tool_use,id:@id,?cache_control:@mark}. A value that is not there takes the object or list
 * around it away, or the member or element alone that has '?' before it.
 */

struct form_place {
	struct wire_write *w;
	const json_t *one;
	const char *at;
};

static bool put_value(struct form_place *f);

static struct rye_span take_word(struct form_place *f)
{
	struct rye_span word = { f->at, strcspn(f->at, ":,]}") };

	f->at += word.len;
	return word;
}

static bool put_name(struct form_place *f)
{
	form_fill_fn fill = form_fill_of(f->w->provider->wire, take_word(f));

	return fill && fill(f->w, f->one);
}

/* A member, an element, or a name that puts some. */
static bool put_one(struct form_place *f, bool member)
{
	struct rye_buf *out = f->w->out;

	if (member && *f->at != '@') {
		struct rye_span key = take_word(f);

		raw_comma(out);
		raw_string(out, key);
		buf_addc(out, ':');
		f->at++;
	}
	return put_value(f);
}

static bool put_several(struct form_place *f)
{
	struct rye_buf *out = f->w->out;
	char end = *f->at == '{' ? '}' : ']';
	bool all = true;

	raw_comma(out);
	buf_addc(out, *f->at++);
	while (*f->at != end) {
		bool may = *f->at == '?';
		size_t before = out->len;

		f->at += may;
		if (!put_one(f, end == '}')) {
			buf_cut(out, before);
			all &= may;
		}
		f->at += *f->at == ',';
	}
	buf_addc(out, *f->at++);
	return all;
}

static bool put_value(struct form_place *f)
{
	struct rye_span word;

	if (*f->at == '{' || *f->at == '[')
		return put_several(f);
	if (*f->at == '@') {
		f->at++;
		return put_name(f);
	}
	word = take_word(f);
	if (span_eq(word, "true") || span_eq(word, "false"))
		buf_addspan(f->w->out, word);
	else
		raw_string(f->w->out, word);
	return true;
}

bool form_put(struct wire_write *w, const char *form, const json_t *one)
{
	struct form_place f = { w, one, form };
	size_t before = w->out->len;
	bool there = put_value(&f);

	if (!there)
		buf_cut(w->out, before);
	return there;
}

/* ---- bytes that are no text ---- */

/*
 * A model's tokens may end within a character, and servers send the bytes, or one half of a surrogate
 * pair, as they are.
 */
#define ESCAPE_LEN 6 /* \uXXXX */

/* The number of the escape \uXXXX that it begins with; -1: it begins with none. */
static int unit_of(struct rye_span text)
{
	int unit = 0;

	if (text.len < ESCAPE_LEN || text.ptr[0] != '\\' || text.ptr[1] != 'u')
		return -1;
	for (size_t i = 2; i < ESCAPE_LEN; i++) {
		int c = (unsigned char)text.ptr[i];

		if (!isxdigit(c))
			return -1;
		unit = unit * 16 + (isdigit(c) ? c - '0' : (c | 0x20) - 'a' + 10);
	}
	return unit;
}

static bool is_high(int unit)
{
	return unit >= 0xd800 && unit < 0xdc00;
}

static bool is_low(int unit)
{
	return unit >= 0xdc00 && unit < 0xe000;
}

/* How much of it is one character, escape or pair; 0: the first `ret_bad` bytes are none. */
static size_t mend_length(struct rye_span text, size_t *ret_bad)
{
	int unit = unit_of(text);
	uint32_t cp;

	*ret_bad = unit < 0 ? 1 : ESCAPE_LEN;
	if (is_low(unit))
		return 0;
	if (is_high(unit))
		return is_low(unit_of(span_skip(text, ESCAPE_LEN))) ? 2 * ESCAPE_LEN : 0;
	if (unit >= 0)
		return ESCAPE_LEN;
	/* what stands behind another backslash begins no escape */
	if (text.len > 1 && text.ptr[0] == '\\' && (unsigned char)text.ptr[1] < 0x80)
		return 2;
	return utf8_next(text, &cp);
}

/* A half at the edge of a string may have its other half in the next event's. */
static void note_half(struct rye_span text, char before, struct text_halves *ret)
{
	int unit = unit_of(text);

	if (is_high(unit) && text.len > ESCAPE_LEN && text.ptr[ESCAPE_LEN] == '"')
		ret->high = unit;
	if (is_low(unit) && before == '"' && !ret->low)
		ret->low = unit;
}

bool answer_mend(struct rye_span text, struct rye_buf *ret, struct text_halves *ret_halves)
{
	bool mended = false;
	char before = 0;

	while (text.len) {
		size_t bad, n = mend_length(text, &bad);

		if (n)
			buf_add(ret, text.ptr, n);
		else
			buf_adds(ret, UNREADABLE);
		if (!n)
			note_half(text, before, ret_halves);
		mended |= !n;
		n = n ? n : bad;
		before = text.ptr[n - 1];
		text = span_skip(text, n);
	}
	return mended && !ret->failed;
}

uint32_t halves_joined(int high, int low)
{
	return 0x10000 + ((uint32_t)(high - 0xd800) << 10) + (uint32_t)(low - 0xdc00);
}
