/* SPDX-License-Identifier: MIT */
/* toml.h: unquoted values of TOML 1.0, for parse_toml.c alone. */
#ifndef RYE_ITEM_TOML_H
#define RYE_ITEM_TOML_H

#include "base/json.h"

/* A new reference; NULL: the token is no value. */
json_t *toml_scalar(struct rye_span token);

#endif
