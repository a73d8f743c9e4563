/* SPDX-License-Identifier: MIT */
/*
 * Answers read by the rows of their wire: which events there are, where in them a value stands, and
 * what is made of it. What several wires have in common is here; a wire's file has its rows, and a
 * function for each of them that no other wire has.
 */
#include "wire/wire_inner.h"

#include "scope.h"
#include "str.h"

#include <string.h>

/* ---- the walk to a value ---- */

/* Blocks move when one is added, so the one that is spoken of is looked for each time. */
static void read_value(struct reading *r, const struct read_row *row)
{
	const struct wire *wire = r->answer->provider->wire;

	r->index = wire->index && !r->whole ? json_int(r->doc, wire->index, -1) : -1;
	r->block = answer_at(r->answer, r->index);
	if (r->index < 0 && wire->key)
		r->block = answer_named(r->answer, json_str(r->doc, wire->key));
	row->read(r);
}

static void read_member(struct reading *r, const char *path, size_t n)
{
	char name[64];

	snprintf(name, sizeof(name), "%.*s", (int)n, path);
	r->around = r->value;
	r->value = json_object_get(r->value, name);
	/* a text's bytes are its value */
	r->raw = json_is_string(r->value) ? SPAN("") : raw_member(r->raw, name);
}

static void read_path(struct reading r, const struct read_row *row, const char *path);

static void read_each(struct reading r, const struct read_row *row, const char *path)
{
	struct raw_list list = raw_list_of(r.raw);
	json_t *values = (json_t *)r.value, *value;
	size_t i;

	json_array_foreach(values, i, value) {
		r.value = value;
		r.raw = raw_next(&list);
		read_path(r, row, path);
	}
}

/* What is not there is read as NULL. */
static void read_path(struct reading r, const struct read_row *row, const char *path)
{
	while (*path && strncmp(path, "[]", 2) != 0) {
		struct raw_list list = { SPAN("") };
		size_t n = strcspn(path, ".([");
		struct rye_span type;

		if (n) {
			read_member(&r, path, n);
		} else if (*path == '[') {
			list = raw_list_of(r.raw);
			r.value = json_array_get(r.value, 0);
			r.raw = raw_next(&list);
			n = strlen("[0]");
		} else if (*path == '(') {
			type = (struct rye_span){ path + 1, strcspn(path + 1, ")") };
			if (!span_eq(type, json_str(r.value, "type")))
				return;
			*r.known = true;
			n = type.len + strlen("()");
		} else {
			n = 1; /* the dot */
		}
		path += n;
	}
	if (*path)
		read_each(r, row, path + strlen("[]"));
	else
		read_value(&r, row);
}

static bool is_of(const struct read_row *row, const char *event)
{
	if (!row->event)
		return !event;
	return !*row->event || (event && !strcmp(row->event, event));
}

void answer_read(struct answer *answer, const char *event, const json_t *doc, struct rye_span text)
{
	const struct read_row *row = answer->provider->wire->rows;
	bool known = false;
	struct reading r = { .answer = answer,
			     .whole = !event,
			     .known = &known,
			     .doc = doc,
			     .value = doc,
			     .raw = text };

	for (; row->read; row++)
		if (is_of(row, event))
			read_path(r, row, row->at);
}

/* ---- what is the same on several wires ---- */

struct rye_span read_span(const struct reading *r)
{
	const char *text = json_string_value(r->value);

	return text ? (struct rye_span){ text, json_string_length(r->value) } : SPAN("");
}

static bool is_open(const struct reading *r)
{
	return r->block && r->block->open;
}

void read_usage(struct reading *r)
{
	usage_take(r->value, r->answer->provider->wire->usage, &r->answer->usage);
}

void read_text(struct reading *r)
{
	if (is_open(r) && r->block->kind != BLOCK_CALL)
		answer_text(r->answer, r->block, read_span(r));
}

void read_args(struct reading *r)
{
	if (is_open(r))
		answer_args(r->answer, r->block, read_span(r));
}

void read_signature(struct reading *r)
{
	if (!is_open(r))
		return;
	json_sets(r->block->extra, "signature", read_span(r).ptr);
	r->block->changed = true;
}

void read_unknown(struct reading *r)
{
	if (is_open(r) && !*r->known)
		answer_warn(r->answer, "unknown_delta");
}

void read_end(struct reading *r)
{
	r->answer->terminal = r->answer->ended = true;
}

/* ---- blocks that begin with an object, to which deltas add ---- */

static const struct block_row *row_of(const struct answer *answer, const json_t *object)
{
	const struct block_row *row = answer->provider->wire->blocks;

	while (row->type && strcmp(row->type, json_str(object, "type")) != 0)
		row++;
	return row;
}

/* Those that the object has already; in a stream it mostly has an empty place for them. */
static struct rye_span first_args(const struct reading *r, const char *key)
{
	const json_t *args = json_object_get(r->value, key);
	bool there = json_object_size(args) || (r->whole && args && !json_is_object(args));

	return there ? raw_member(r->raw, key) : SPAN("");
}

static struct answer_block *begin(struct reading *r)
{
	const struct block_row *row = row_of(r->answer, r->value);
	struct answer_block *block = json_is_object(r->value) ? answer_add(r->answer, row->kind) :
								NULL;
	const json_t *part;
	size_t i;

	if (!block)
		return NULL;
	block->index = r->index;
	block->start = json_copy((json_t *)r->value);
	buf_addspan(&block->raw, r->raw);
	answer_call(r->answer, block, json_str(r->value, "id"), json_str(r->value, "name"));
	answer_sign(block, json_str(r->value, "signature"));
	if (row->text)
		answer_text(r->answer, block, text_member(r->value, row->text));
	if (row->parts)
		json_array_foreach(json_object_get(r->value, row->parts), i, part)
			answer_text(r->answer, block, text_member(part, "text"));
	if (block->kind == BLOCK_CALL)
		answer_args(r->answer, block, first_args(r, row->args));
	/* the bytes that it came in have all of it, but not an id of ours */
	block->changed = json_object_get(block->extra, "own_id") != NULL;
	return block;
}

void read_begin(struct reading *r)
{
	if (!r->block)
		begin(r);
}

/* The provider's object as it has become. */
static void make_raw(const struct answer *answer, struct answer_block *block)
{
	const struct block_row *row = row_of(answer, block->start);
	struct rye_span args = span_trim(buf_span(&block->args)), text = buf_span(&block->text);
	json_t *said = json_stringn_nocheck(text.ptr, text.len);
	auto_json json_t *parsed = json_loadb(args.ptr, args.len, JSON_ALLOW_NUL, NULL);

	buf_clear(&block->raw);
	if (row->text)
		json_object_set(block->start, row->text, said);
	else if (row->parts && text.len)
		json_object_set_new(block->start, row->parts,
				    json_pack("[{s:s, s:O}]", "type", "text", "text", said));
	json_decref(said);
	if (json_object_get(block->extra, "signature"))
		json_object_set(block->start, "signature",
				json_object_get(block->extra, "signature"));
	if (block->kind == BLOCK_CALL)
		json_object_set(block->start, "id", json_object_get(block->extra, "id"));
	if (row->args && (block->kind == BLOCK_CALL || parsed))
		raw_splice(&block->raw, block->start, row->args,
			   json_is_object(parsed) ? args : SPAN("{}"));
	else
		json_put(&block->raw, block->start, false);
}

void read_done(struct reading *r)
{
	if (answer_done(r->answer, r->block) && r->block->changed)
		make_raw(r->answer, r->block);
}

void read_block(struct reading *r)
{
	r->block = begin(r);
	read_done(r);
}
