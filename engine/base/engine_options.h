/* SPDX-License-Identifier: MIT */
/*
 * engine_options.h: struct rye_options as a table, so that copying it and handing it to another
 * process take every member. A new member is a row; tests/unit/test_base_engine_options.c
 * does not compile without it.
 */
#ifndef RYE_BASE_ENGINE_OPTIONS_H
#define RYE_BASE_ENGINE_OPTIONS_H

#include "base/json.h"

/* The texts are copied. False: out of memory; *ret still has to be freed with options_free. */
bool options_copy(const struct rye_options *from, struct rye_options *ret);
void options_free(struct rye_options *own);

/* All but log and log_arg, which mean nothing in another process. options_from_json borrows
 * the texts of doc. */
json_t *options_to_json(const struct rye_options *opt);
void options_from_json(const json_t *doc, struct rye_options *ret);

/* RYE_DENIED: what no_sign switches off. */
int options_no_sign(const char *what, struct rye_err *err);

#endif
