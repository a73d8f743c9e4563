/* SPDX-License-Identifier: MIT */
/*
 * vendor_inner.h: schemas of tools, for the files that make offers and read arguments by them.
 */
#ifndef RYE_VENDOR_VENDOR_INNER_H
#define RYE_VENDOR_VENDOR_INNER_H

#include "vendor/vendor.h"

/* Bounds of one schema: levels, and parts in all. */
#define MEND_DEPTH 32
#define MEND_PARTS 2000

/* One of its types is that. */
bool schema_is(const json_t *schema, const char *type);
/* What a reference into root names, with what stands beside it, one more level; NULL: nothing. */
json_t *schema_in_place(const json_t *root, const json_t *schema, const char *ref);
/* Of a tool, written with these words; NULL: it is no object's, so no vendor takes it. */
json_t *schema_mend(const struct wire_rules *rules, enum rule_words words, const json_t *schema);
/* tool_offer.c: the tool's schema as a strict one; NULL: it is not to be strict, or cannot be. */
json_t *schema_strict(const struct tool_telling *how, const json_t *tool);

#endif
