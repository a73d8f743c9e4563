/* SPDX-License-Identifier: MIT */
/*
 * wire_inner.h: what the files of wire/ share: the blocks of an answer, the rows that read it, and the
 * table of wires.
 */
#ifndef RYE_WIRE_WIRE_INNER_H
#define RYE_WIRE_WIRE_INNER_H

#include "vendor/vendor.h"
#include "wire/wire.h"

/* ---- answer.c: the blocks of an answer ---- */

/* A new block at the end; NULL: out of memory. Valid until the next one is added. */
/*
 * `text` as JSON that is text: bytes and halves of pairs that are none become U+FFFD. False: it was.
 * ret_halves: one that a string ends with, one that a string begins with; unchanged: there is none.
 */
bool answer_mend(struct rye_span text, struct rye_buf *ret, struct text_halves *ret_halves);
uint32_t halves_joined(int high, int low);
struct answer_block *answer_add(struct answer *answer, enum block_kind kind);
/* By index, the latest; by name; NULL: none. */
struct answer_block *answer_at(struct answer *answer, json_int_t index);
struct answer_block *answer_named(struct answer *answer, const char *key);
/* The last block when it is of that kind and unsigned, else a new one. */
struct answer_block *answer_run(struct answer *answer, enum block_kind kind);
void answer_text(struct answer *answer, struct answer_block *block, struct rye_span text);
void answer_args(struct answer *answer, struct answer_block *block, struct rye_span text);
/* id "": one is made; told once the name is known. */
void answer_call(struct answer *answer, struct answer_block *block, const char *id,
		 const char *name);
/* What signs it, if anything does. */
void answer_sign(struct answer_block *block, const char *signature);
/* Its arguments are whole: they are parsed. False: it was closed before, or there is none. */
bool answer_done(struct answer *answer, struct answer_block *block);
void answer_stop(struct answer *answer, enum provider_stop stop, const char *raw);
void answer_refuse(struct answer *answer, const char *kind, const char *text);
void answer_warn(struct answer *answer, const char *word);
bool answer_has(const struct answer *answer, enum block_kind kind);
/* The provider told an error; the first counts. */
void answer_fail(struct answer *answer, const json_t *doc);
/* ---- usage.c ---- */

/* Paths to the counts in what a server tells; NULL: it does not tell that one. */
struct usage_paths {
	const char *input, *more_input;
	const char *cached, *cached_too; /* the latter counts where both are told */
	const char *cache_write, *cache_write_1h; /* the latter is a part of the former */
	const char *output, *reasoning;
	bool cached_apart, reasoning_apart; /* input and output do not count them */
};
void usage_take(const json_t *usage, const struct usage_paths *paths, struct provider_usage *use);
/* The item's own paths to the counts, after what the wire knows. */
void usage_by_item(const json_t *item, const json_t *doc, struct provider_usage *use);
/* A string member as a span; empty when it is none. */
struct rye_span text_member(const json_t *doc, const char *key);

/* ---- answer_rows.c: an answer read by the rows of its wire ---- */

struct reading {
	struct answer *answer;
	bool whole; /* it is no stream */
	bool *known; /* a row of the type of an object in this event has been read */
	const json_t *doc; /* the event */
	const json_t *value; /* what the row's path leads to; NULL: it is not there */
	const json_t *around; /* the object that it is a member of */
	struct rye_span raw; /* its bytes; of a text none */
	json_int_t index; /* of the block that the event speaks of; -1: of none */
	struct answer_block *block; /* NULL: there is none yet */
};

#define WHOLE NULL /* an answer that is no stream */

struct read_row {
	const char *event; /* its type; "": each, and an answer that is no stream */
	/* a.b: members; [0]: the first of a list, []: each; (NAME): of an object of that type alone */
	const char *at;
	void (*read)(struct reading *r);
};

/* An object that a block begins with. The last row is that of all others. */
struct block_row {
	const char *type;
	enum block_kind kind;
	const char *text; /* its member for text; or */
	const char *parts; /* … for a list of objects with texts */
	const char *args; /* of a call */
};

/* event: its type; NULL: the whole answer. */
void answer_read(struct answer *answer, const char *event, const json_t *doc, struct rye_span text);
struct rye_span read_span(const struct reading *r); /* the value, where it is a text */

void read_usage(struct reading *r);
void read_text(struct reading *r); /* more of the text or reasoning of the block */
void read_args(struct reading *r);
void read_signature(struct reading *r);
void read_unknown(struct reading *r); /* of a delta of a type that no row before has */
void read_end(struct reading *r); /* of the stream */
void read_begin(struct reading *r); /* of a block */
void read_done(struct reading *r); /* the same block's end */
void read_block(struct reading *r); /* of both */

/* ---- wire.c: the wires, one file and one row each ---- */

struct wire_write {
	const struct provider *provider;
	const struct provider_request *request;
	json_t *extra; /* members of the body that the item sets; owned */
	json_t *warnings; /* or NULL */
	json_t *calls; /* id → the block of the call; owned */
	const json_t *offered; /* the tools as the thread has them; request->tools are the wire's */
	bool raw; /* blocks go back as they came */
	json_int_t max_tokens;
	struct rye_buf *out;
	/* Of the message that is written. */
	const json_t *blocks;
	bool own; /* an answer */
	bool last;
};

/* Puts what "@name" stands for; false: it is not there. one: what the form is put for, or NULL. */
typedef bool (*form_fill_fn)(struct wire_write *w, const json_t *one);

struct form_name {
	const char *name;
	form_fill_fn fill;
};

/* Where results stand beside the other blocks of their message. */
enum wire_results {
	RESULTS_IN_ORDER,
	RESULTS_FIRST,
	RESULTS_BESIDE, /* before the message */
};

struct wire {
	const char *name;
	const char *path, *stream_path; /* behind base_url; {model} is filled in */
	/* Forms (wire_json.c), with the names of wire.c. */
	const char *body, *tool;
	const char *user, *answer; /* messages; NULL: the blocks of an answer stand alone */
	const char *text, *said, *image, *call, *result; /* blocks; said: a text in an answer */
	const char *stream_options; /* usual ones, or NULL */
	struct form_name names[7]; /* the wire's own */
	const char *later; /* role of a later instruction; NULL: as it is */
	const char *cache_mode; /* where the item says nothing */
	const char *max_field; /* of the longest answer */
	const char *config; /* the body's object that it stands in; NULL: the body */
	enum wire_results results;
	bool flags_errors; /* of results; without a flag their text tells it */
	bool pauses; /* an answer that goes on is sent back with the reasoning at its end */
	void (*write)(struct wire_write *w);
	/* How its answers are read. */
	const struct read_row *rows;
	const struct block_row *blocks; /* or NULL */
	const struct usage_paths *usage;
	const char *index,
		*key; /* the event's members that name the block: by number, else by name; or NULL */
};

extern const struct wire wire_anthropic, wire_responses, wire_chat, wire_gemini, wire_interactions;

/* Reasons to stop, as a wire spells them. */
struct stop_row {
	const char *raw;
	enum provider_stop stop;
};
enum provider_stop stop_of(const struct stop_row *rows, size_t n, const char *raw,
			   enum provider_stop other);

/* How its model is told of tools. */
struct tool_telling telling_of(const struct provider *provider);

/* wire_json.c: JSON as bytes. Pure. */

/* The value of a member of an object, the last of that name; empty: none. text is valid JSON. */
struct rye_span raw_member(struct rye_span text, const char *key);
/* The elements of an array, one after the other; empty: there are no more. */
struct raw_list {
	struct rye_span rest;
};
struct raw_list raw_list_of(struct rye_span text);
struct rye_span raw_next(struct raw_list *list);
/* ',' when something stands before. */
void raw_comma(struct rye_buf *out);
void raw_key(struct rye_buf *out, const char *key); /* with its comma and colon */
void raw_string(struct rye_buf *out, struct rye_span text); /* quoted */
void raw_span(struct rye_buf *out, const char *key, struct rye_span text);
void raw_value(struct rye_buf *out, const char *key, const json_t *value);
/* The object, and one more member that is JSON already. */
void raw_splice(struct rye_buf *out, const json_t *object, const char *key, struct rye_span value);

bool message_is(const json_t *message, const char *role);
bool block_is(const json_t *block, const char *kind);

/* The form with its names filled in; false: something in it is not there, and nothing is put. */
bool form_put(struct wire_write *w, const char *form, const json_t *one);

/* What the name in a form stands for; NULL: nothing. */
form_fill_fn form_fill_of(const struct wire *wire, struct rye_span name);
void form_write(struct wire_write *w);
/* Bytes of the block as they came; NULL: it has to be written anew. */
const char *block_raw(const struct wire_write *w, const json_t *block);
/* As it came, or by its form; false: it is not sent. */
bool block_put(struct wire_write *w, const json_t *block);
/* Text, a refusal's as well, that the wire takes. */
bool block_is_said(const struct wire_write *w, const json_t *block);
bool image_fits(const struct wire_write *w, const json_t *image);
/* The call of a result, NULL: unknown. */
const json_t *result_call(const struct wire_write *w, const json_t *result);
/* The images of a result that the model gets; NULL: none. */
const json_t *result_images(const struct wire_write *w, const json_t *result);
/*
 * The result's text; of wires without a flag for errors it says so itself, and that there were images
 * where the model gets none.
 */
void result_text_put(const struct wire_write *w, const json_t *result, bool say_error,
		     struct rye_buf *out);
/* Is the provider's cache told by marks, by a key? */
bool cache_is(const struct provider *provider, const char *mode);
/* fields.reasoning.replay and its like: text at a dotted path of the model's fields. */
const char *field_text(const struct provider *provider, const char *path, const char *fallback);
const json_t *field_at(const struct provider *provider, const char *path);

/* ---- text_tags.c: reasoning and calls in the text ---- */

/* More of a text that may begin with reasoning; at the end what is held is text after all. */
void think_feed(struct answer *answer, struct rye_span text);
void think_end(struct answer *answer);
/* The prompt's part that describes tools and their syntax. */
void text_calls_describe(const json_t *tools, struct rye_buf *out);
/* Calls found in the answer's text become blocks of it. */
void text_calls_find(struct answer *answer);

#endif
