/* SPDX-License-Identifier: MIT */
/*
 * filter.h: narrowing search results by declared metadata. {"tool_type": "python",
 * "version": ">=1.2", "author": "!me", "tags": ["a", "b"], "date_from": "2026-01-01"}. Pure.
 */
#ifndef RYE_SEARCH_FILTER_H
#define RYE_SEARCH_FILTER_H

#include "item/item.h"

/* RYE_INVALID: not an object of texts, numbers, booleans and lists of these. */
int filter_check(const json_t *filters, struct rye_err *err);
/* Every member has to hold; dates are compared with the day the file was changed. */
bool filter_match(const json_t *filters, const struct rye_item *item);

#endif
