/* SPDX-License-Identifier: MIT */
/*
 * TOML 1.0 into a JSON object. Dates and times are strings as written; so are inf and nan,
 * which JSON does not have. Bounded: values, tables and nesting are counted, so a text can
 * cost no more than its own length says. What a table may still become (explicit, made by
 * dotted keys, closed) is remembered beside the document in `marks`. Errors name the line.
 */
#include "format/format.h"
#include "memory.h"
#include "scope.h"
#include "str.h"

#include <stdlib.h>

/* Key files and tool configuration have some dozens; marks are searched one by one. */
#define TABLES_MAX 2000
/* Values of one document: 16 MiB of "1," would otherwise become a gigabyte. */
#define VALUES_MAX 100000
/* Arrays and inline tables within each other; the parser calls itself. */
#define DEPTH_MAX 64
/* Parts of a dotted key. */
#define KEY_PARTS 32

enum mark_type {
	MARK_NONE, /* only ever named on the way to another table */
	MARK_EXPLICIT, /* had its own [header] */
	MARK_DOTTED, /* made by a dotted key */
	MARK_CLOSED, /* inline: nothing may be added */
	MARK_TABLES, /* an array of [[tables]] */
};

struct mark {
	const json_t *what;
	enum mark_type type;
};

struct toml {
	struct rye_span s; /* what is left */
	int line, depth;
	size_t values, n_marks;
	struct mark marks[TABLES_MAX];
	json_t *root, *table; /* table: borrowed, where key lines go */
	struct rye_err *err;
};

struct key {
	size_t n;
	struct rye_buf parts[KEY_PARTS];
};

static void key_done(struct key *key)
{
	for (size_t i = 0; i < key->n; i++)
		buf_done(&key->parts[i]);
}

#define auto_parts __attribute__((cleanup(key_done)))

static bool toml_bad(struct toml *t, const char *what)
{
	rye_fail(t->err, RYE_UNPARSABLE, "TOML parse error: line %d: %s", t->line, what);
	return false;
}

static json_t *value(struct toml *t);

/* ---- characters ---- */

static int toml_peek(const struct toml *t)
{
	return t->s.len ? (unsigned char)t->s.ptr[0] : -1;
}

static void toml_skip(struct toml *t, size_t n)
{
	for (size_t i = 0; i < n; i++)
		t->line += t->s.ptr[i] == '\n';
	t->s = span_skip(t->s, n);
}

static bool toml_eat(struct toml *t, const char *literal)
{
	if (!span_starts(t->s, literal))
		return false;
	toml_skip(t, strlen(literal));
	return true;
}

static void toml_blanks(struct toml *t)
{
	while (toml_peek(t) == ' ' || toml_peek(t) == '\t')
		toml_skip(t, 1);
}

static bool toml_is_control(int c)
{
	return (c >= 0 && c < 0x20 && c != '\t') || c == 0x7f;
}

static bool skip_comment(struct toml *t)
{
	if (toml_peek(t) != '#')
		return true;
	while (toml_peek(t) != '\n' && toml_peek(t) != -1 && !span_starts(t->s, "\r\n")) {
		if (toml_is_control(toml_peek(t)))
			return toml_bad(t, "control character in a comment");
		toml_skip(t, 1);
	}
	return true;
}

static bool skip_newline(struct toml *t)
{
	return toml_eat(t, "\n") || toml_eat(t, "\r\n");
}

/* Blanks and a comment, then the line must be over. */
static bool line_end(struct toml *t)
{
	toml_blanks(t);
	if (!skip_comment(t))
		return false;
	return skip_newline(t) || toml_peek(t) == -1 || toml_bad(t, "wanted the end of the line");
}

/* Blanks, comments and line ends, as they may stand inside an array. */
static bool skip_gap(struct toml *t)
{
	do {
		toml_blanks(t);
		if (!skip_comment(t))
			return false;
	} while (skip_newline(t));
	return true;
}

/* ---- strings ---- */

static bool escape_unicode(struct toml *t, size_t digits, struct rye_buf *out)
{
	uint32_t cp = 0;
	char utf8[4];

	if (t->s.len < digits)
		return toml_bad(t, "unfinished escape");
	for (size_t i = 0; i < digits; i++) {
		char c = t->s.ptr[i];
		int digit = c >= '0' && c <= '9' ? c - '0' :
			    c >= 'a' && c <= 'f' ? c - 'a' + 10 :
			    c >= 'A' && c <= 'F' ? c - 'A' + 10 :
						   -1;

		if (digit < 0)
			return toml_bad(t, "escape wants hexadecimal digits");
		cp = cp << 4 | (uint32_t)digit;
	}
	if (!cp || cp > 0x10ffff || (cp >= 0xd800 && cp <= 0xdfff))
		return toml_bad(t, "escape names no character");
	toml_skip(t, digits);
	buf_add(out, utf8, utf8_put(utf8, cp));
	return true;
}

/* A backslash before a line end (multi-line strings): everything blank after it goes. */
static bool line_continues(struct toml *t)
{
	struct rye_span at = t->s;

	while (at.len && (at.ptr[0] == ' ' || at.ptr[0] == '\t'))
		at = span_skip(at, 1);
	if (!span_starts(at, "\n") && !span_starts(at, "\r\n"))
		return false;
	while (toml_peek(t) == ' ' || toml_peek(t) == '\t' || toml_peek(t) == '\n' ||
	       span_starts(t->s, "\r\n"))
		toml_skip(t, 1);
	return true;
}

static bool toml_escape(struct toml *t, bool multi, struct rye_buf *out)
{
	static const char names[] = "btnfr\"\\", values[] = "\b\t\n\f\r\"\\";
	const char *hit;
	int c;

	toml_skip(t, 1);
	if (multi && line_continues(t))
		return true;
	if (toml_eat(t, "u"))
		return escape_unicode(t, 4, out);
	if (toml_eat(t, "U"))
		return escape_unicode(t, 8, out);
	c = toml_peek(t);
	hit = c > 0 ? strchr(names, c) : NULL;
	if (!hit)
		return toml_bad(t, "unknown escape");
	buf_addc(out, values[hit - names]);
	toml_skip(t, 1);
	return true;
}

static bool one_line_string(struct toml *t, char quote, struct rye_buf *out)
{
	toml_skip(t, 1);
	while (toml_peek(t) != quote) {
		if (toml_peek(t) == -1 || toml_peek(t) == '\n' || toml_is_control(toml_peek(t)))
			return toml_bad(t, "string without its closing quote");
		if (quote == '"' && toml_peek(t) == '\\') {
			if (!toml_escape(t, false, out))
				return false;
			continue;
		}
		buf_addc(out, t->s.ptr[0]);
		toml_skip(t, 1);
	}
	toml_skip(t, 1);
	return true;
}

/* Up to two quotes may stand directly before the closing three. */
static bool long_string_ends(struct toml *t, const char *quotes, struct rye_buf *out)
{
	if (!toml_eat(t, quotes))
		return false;
	for (int i = 0; i < 2 && toml_peek(t) == quotes[0]; i++) {
		buf_addc(out, quotes[0]);
		toml_skip(t, 1);
	}
	return true;
}

static bool long_string(struct toml *t, const char *quotes, struct rye_buf *out)
{
	toml_skip(t, 3);
	skip_newline(t);
	while (!long_string_ends(t, quotes, out)) {
		if (skip_newline(t)) {
			buf_addc(out, '\n');
			continue;
		}
		if (toml_peek(t) == -1 || toml_is_control(toml_peek(t)))
			return toml_bad(t, "multi-line string without its closing quotes");
		if (quotes[0] == '"' && toml_peek(t) == '\\') {
			if (!toml_escape(t, true, out))
				return false;
			continue;
		}
		buf_addc(out, t->s.ptr[0]);
		toml_skip(t, 1);
	}
	return true;
}

static bool toml_string(struct toml *t, struct rye_buf *out)
{
	if (span_starts(t->s, "\"\"\""))
		return long_string(t, "\"\"\"", out);
	if (span_starts(t->s, "'''"))
		return long_string(t, "'''", out);
	return one_line_string(t, t->s.ptr[0], out);
}

/* ---- keys and tables ---- */

static bool toml_is_bare(int c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '-';
}

static bool key_part(struct toml *t, struct rye_buf *out)
{
	size_t n = 0;

	if (toml_peek(t) == '"' || toml_peek(t) == '\'')
		return one_line_string(t, t->s.ptr[0], out);
	while (n < t->s.len && toml_is_bare((unsigned char)t->s.ptr[n]))
		n++;
	if (!n)
		return toml_bad(t, "wanted a key");
	buf_add(out, t->s.ptr, n);
	toml_skip(t, n);
	return true;
}

static bool toml_read_key(struct toml *t, struct key *key)
{
	do {
		toml_blanks(t);
		if (key->n == KEY_PARTS)
			return toml_bad(t, "key of too many parts");
		if (!key_part(t, &key->parts[key->n++]))
			return false;
		buf_add(&key->parts[key->n - 1], "", 0);
		if (key->parts[key->n - 1].failed)
			return toml_bad(t, "out of memory");
		toml_blanks(t);
	} while (toml_eat(t, "."));
	return true;
}

static const char *toml_part(const struct key *key, size_t i)
{
	return key->parts[i].len ? key->parts[i].data : "";
}

static struct mark *find_mark(struct toml *t, const json_t *what)
{
	for (size_t i = t->n_marks; i-- > 0;)
		if (t->marks[i].what == what)
			return &t->marks[i];
	return NULL;
}

static enum mark_type mark_of(struct toml *t, const json_t *what)
{
	struct mark *mark = find_mark(t, what);

	return mark ? mark->type : MARK_NONE;
}

static bool put_mark(struct toml *t, const json_t *what, enum mark_type type)
{
	struct mark *mark = find_mark(t, what);

	if (!mark) {
		if (t->n_marks == TABLES_MAX)
			return toml_bad(t, "too many tables");
		mark = &t->marks[t->n_marks++];
	}
	*mark = (struct mark){ what, type };
	return true;
}

static json_t *new_table(struct toml *t, json_t *parent, const char *name, enum mark_type type)
{
	json_t *table = json_object();

	if (!table || json_object_set_new(parent, name, table)) {
		toml_bad(t, "out of memory");
		return NULL;
	}
	return put_mark(t, table, type) ? table : NULL;
}

/* One step of a [header]: through tables and into the last of an array of tables. */
static json_t *header_step(struct toml *t, json_t *at, const char *name)
{
	json_t *next = json_object_get(at, name);

	if (!next)
		return new_table(t, at, name, MARK_NONE);
	if (mark_of(t, next) == MARK_TABLES)
		return json_array_get(next, json_array_size(next) - 1);
	if (json_is_object(next) && mark_of(t, next) != MARK_CLOSED)
		return next;
	toml_bad(t, "the header goes through something that is not a table");
	return NULL;
}

static bool open_table(struct toml *t, json_t *at, const char *name)
{
	json_t *table = json_object_get(at, name);

	if (!table) {
		t->table = new_table(t, at, name, MARK_EXPLICIT);
		return t->table;
	}
	if (!json_is_object(table) || mark_of(t, table) != MARK_NONE)
		return toml_bad(t, "table defined twice");
	t->table = table;
	return put_mark(t, table, MARK_EXPLICIT);
}

static bool open_element(struct toml *t, json_t *at, const char *name)
{
	json_t *array = json_object_get(at, name), *table;

	if (!array) {
		array = json_array();
		if (!array || json_object_set_new(at, name, array))
			return toml_bad(t, "out of memory");
		if (!put_mark(t, array, MARK_TABLES))
			return false;
	} else if (mark_of(t, array) != MARK_TABLES) {
		return toml_bad(t, "not an array of tables");
	}
	table = json_object();
	if (!table || json_array_append_new(array, table))
		return toml_bad(t, "out of memory");
	t->table = table;
	return put_mark(t, table, MARK_EXPLICIT);
}

static bool read_header(struct toml *t)
{
	auto_parts struct key key = { 0 };
	bool array = toml_eat(t, "[[");
	json_t *at = t->root;

	if (!array)
		toml_skip(t, 1);
	if (!toml_read_key(t, &key))
		return false;
	if (!toml_eat(t, array ? "]]" : "]"))
		return toml_bad(t, "header without its closing bracket");
	for (size_t i = 0; i + 1 < key.n; i++) {
		at = header_step(t, at, toml_part(&key, i));
		if (!at)
			return false;
	}
	return array ? open_element(t, at, toml_part(&key, key.n - 1)) :
		       open_table(t, at, toml_part(&key, key.n - 1));
}

/* key = value into table; the dotted parts before the last make tables of their own. */
static bool toml_pair(struct toml *t, json_t *table)
{
	auto_parts struct key key = { 0 };
	json_t *next;

	if (!toml_read_key(t, &key))
		return false;
	for (size_t i = 0; i + 1 < key.n; i++) {
		next = json_object_get(table, toml_part(&key, i));
		if (next && mark_of(t, next) != MARK_DOTTED)
			return toml_bad(t, "dotted key into something defined elsewhere");
		table = next ? next : new_table(t, table, toml_part(&key, i), MARK_DOTTED);
		if (!table)
			return false;
	}
	if (json_object_get(table, toml_part(&key, key.n - 1)))
		return toml_bad(t, "key defined twice");
	if (!toml_eat(t, "="))
		return toml_bad(t, "wanted = after the key");
	toml_blanks(t);
	next = value(t);
	if (!next)
		return false;
	return !json_object_set_new(table, toml_part(&key, key.n - 1), next) ||
	       toml_bad(t, "out of memory");
}

/* ---- values ---- */

static bool in_token(int c)
{
	return toml_is_bare(c) || c == '+' || c == '.' || c == ':';
}

static json_t *scalar(struct toml *t)
{
	size_t n = 0;
	struct rye_span s;
	json_t *v;

	while (n < t->s.len && in_token((unsigned char)t->s.ptr[n]))
		n++;
	/* a date and a time may be parted by one blank */
	if (n == 10 && t->s.len > 11 && t->s.ptr[4] == '-' && t->s.ptr[10] == ' ' &&
	    t->s.ptr[11] >= '0' && t->s.ptr[11] <= '9')
		for (n = 11; n < t->s.len && in_token((unsigned char)t->s.ptr[n]);)
			n++;
	s = (struct rye_span){ t->s.ptr, n };
	v = toml_scalar(s);
	if (v)
		toml_skip(t, n);
	else
		toml_bad(t, "wanted a value");
	return v;
}

static json_t *toml_array(struct toml *t)
{
	auto_json json_t *list = json_array();

	toml_skip(t, 1);
	if (!list || !skip_gap(t))
		return NULL;
	while (!toml_eat(t, "]")) {
		json_t *element = value(t);

		if (!element || json_array_append_new(list, element) || !skip_gap(t))
			return NULL;
		if (toml_eat(t, ",")) {
			if (!skip_gap(t))
				return NULL;
		} else if (toml_peek(t) != ']') {
			toml_bad(t, "array wants a comma or ]");
			return NULL;
		}
	}
	return steal(&list);
}

static json_t *inline_table(struct toml *t)
{
	auto_json json_t *table = json_object();
	size_t marks = t->n_marks;

	toml_skip(t, 1);
	toml_blanks(t);
	if (!table)
		return NULL;
	if (toml_eat(t, "}"))
		return put_mark(t, table, MARK_CLOSED) ? steal(&table) : NULL;
	do {
		toml_blanks(t);
		if (!toml_pair(t, table))
			return NULL;
		toml_blanks(t);
	} while (toml_eat(t, ","));
	if (!toml_eat(t, "}")) {
		toml_bad(t, "inline table wants a comma or }");
		return NULL;
	}
	/* nothing inside can be reached again: its marks are not needed */
	t->n_marks = marks;
	return put_mark(t, table, MARK_CLOSED) ? steal(&table) : NULL;
}

static json_t *text_value(struct toml *t)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	json_t *v = NULL;

	if (!toml_string(t, &text))
		return NULL;
	if (!text.failed)
		v = json_stringn(text.len ? text.data : "", text.len);
	if (!v)
		toml_bad(t, "out of memory");
	return v;
}

static json_t *value(struct toml *t)
{
	json_t *v = NULL;
	int c = toml_peek(t);

	if (++t->values > VALUES_MAX) {
		toml_bad(t, "too many values");
		return NULL;
	}
	if (t->depth == DEPTH_MAX) {
		toml_bad(t, "nested too deep");
		return NULL;
	}
	t->depth++;
	if (c == '[')
		v = toml_array(t);
	else if (c == '{')
		v = inline_table(t);
	else if (c == '"' || c == '\'')
		v = text_value(t);
	else
		v = scalar(t);
	t->depth--;
	return v;
}

static bool read_document(struct toml *t)
{
	while (t->s.len) {
		if (!skip_gap(t))
			return false;
		if (toml_peek(t) == -1)
			return true;
		if (!(toml_peek(t) == '[' ? read_header(t) : toml_pair(t, t->table)) ||
		    !line_end(t))
			return false;
	}
	return true;
}

json_t *parse_toml(struct rye_span text, struct rye_err *err)
{
	auto_free struct toml *t = memory_note(calloc(1, sizeof(*t)));
	auto_json json_t *root = json_object();

	if (!t || !root) {
		memory_fail(err);
		return NULL;
	}
	t->s = text;
	t->line = 1;
	t->root = t->table = root;
	t->err = err;
	if (!utf8_valid(text)) {
		toml_bad(t, "not valid UTF-8");
		return NULL;
	}
	if (read_document(t))
		return steal(&root);
	if (err && err->code == RYE_OK)
		toml_bad(t, "out of memory");
	return NULL;
}
