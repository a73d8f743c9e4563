/* SPDX-License-Identifier: MIT */
/*
 * parse_inner.h: what the parsers of directives share.
 */
#ifndef RYE_PARSE_PARSE_INNER_H
#define RYE_PARSE_PARSE_INNER_H

#include "base/json.h"

/*
 * Takes the content of <template>, <example> and <raw> out, so that it may be anything: *out
 * gets the XML with placeholders and the same line numbers; returns their texts by
 * placeholder ("__opaque_template_0__", numbered in document order), a new object.
 */
json_t *directive_opaque(struct rye_span xml, struct rye_buf *out, struct rye_err *err);

/* <metadata> into the map. Fails on a tag that <permissions> does not know. */
int directive_metadata(const json_t *metadata, json_t *map, struct rye_err *err);
/* [{primary, …attributes, params?}] of the execute, fetch and sign elements below node. */
void directive_actions(const json_t *node, json_t *list);
/* Attributes, `primary` and `params` of one such element; new reference. */
json_t *directive_action(const json_t *node, bool unnamed);
/* execute, fetch and sign; search and load are older names of fetch. NULL: none of them. */
const char *directive_primary(const char *tag);
/* A new list of <hooks>. */
json_t *directive_hooks(const json_t *hooks);
/* Python's reading of a number, true and false when `flags`; else the text itself. */
json_t *directive_coerce(const char *text, bool flags);

#endif
