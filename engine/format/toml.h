/* SPDX-License-Identifier: MIT */
/*
 * toml.h: TOML 1.0 as JSON. Fails as a parser does (parse.h): *err is filled, the value is
 * partial or NULL.
 */
#ifndef RYE_FORMAT_TOML_H
#define RYE_FORMAT_TOML_H

#include "base/json.h"

json_t *parse_toml(struct rye_span text, struct rye_err *err);
json_t *parse_toml_tool(struct rye_span text, struct rye_err *err); /* {"data": table} */

/* An unquoted value, for toml.c alone. A new reference; NULL: the token is no value. */
json_t *toml_scalar(struct rye_span token);

#endif
