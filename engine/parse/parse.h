/* SPDX-License-Identifier: MIT */
/*
 * parse.h: bytes → metadata map. One row of a table per (kind, extension); each parser is one
 * file parse_NAME.c with a fuzz target. Input is verified text with its header lines
 * (signature, binding) already cut; parsers never see the file.
 *
 * A parser returns an object (items 4) and leaves *err alone; or an object that is only
 * partial, or NULL, with *err filled: so *err must be clear before. It is bounded in time and
 * memory by common/bounds.h whatever the bytes are.
 *
 * The maps hold no copy of the whole text (the format's `raw`): the item has it. Code files
 * give NAME: value, YAML and TOML of tools and config {"data": mapping}; `__warnings__` is a
 * list of sentences that only a parser of ours can set.
 */
#ifndef RYE_PARSE_PARSE_H
#define RYE_PARSE_PARSE_H

#include "base/json.h"

typedef json_t *(*parse_fn)(struct rye_span text, struct rye_err *err);

struct parser {
	const char *name; /* "markdown_xml" */
	parse_fn parse;
};

/* NULL: this extension has no parser (tool .json and the like). */
const struct parser *parse_row(enum rye_kind kind, const char *ext);
/*
 * The row's parser with *err cleared first; path begins its message, but ends the one
 * for text that is not UTF-8: "Not valid UTF-8: <path>".
 */
json_t *parse_item(const struct parser *row, struct rye_span text, const char *path,
		   struct rye_err *err);

json_t *parse_directive(struct rye_span text, struct rye_err *err);
json_t *parse_knowledge(struct rye_span text, struct rye_err *err);
json_t *parse_python(struct rye_span text, struct rye_err *err);
json_t *parse_javascript(struct rye_span text, struct rye_err *err);
json_t *parse_shell(struct rye_span text, struct rye_err *err);

/*
 * Where a directive's element stands (README, "One region"): start of its ```xml fence content
 * and the body behind it. Verification makes sure that what is parsed is what is hashed, and
 * hands the shape on: nothing looks for the element again.
 */
struct directive_shape {
	struct rye_span preamble, xml, body;
	int line; /* 1-based line of the element */
};
int directive_shape(struct rye_span text, struct directive_shape *ret, struct rye_err *err);
/* parse_directive of a text whose shape is known. */
json_t *parse_shaped(struct rye_span text, const struct directive_shape *shape,
		     struct rye_err *err);

#endif
