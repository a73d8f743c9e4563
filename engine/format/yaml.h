/* SPDX-License-Identifier: MIT */
/*
 * yaml.h: YAML 1.1 documents and scalars as JSON. Fails as a parser does (parse.h): *err is
 * filled, the value is partial or NULL. Bounded in time and memory (limits.h).
 *
 * What JSON has no form for: dates and times become their ISO text, infinities and not-a-
 * number the strings ".inf", "-.inf", ".nan", whole numbers beyond 64 bits a real, !!binary
 * its base64 text without blanks.
 */
#ifndef RYE_FORMAT_YAML_H
#define RYE_FORMAT_YAML_H

#include "base/json.h"

json_t *parse_yaml(struct rye_span text, struct rye_err *err); /* any YAML 1.1 document */
/* A message: names, dates and 12:30 stay text as written, a name may stand only once. */
json_t *parse_yaml_message(struct rye_span text, struct rye_err *err);
json_t *parse_yaml_tool(struct rye_span text, struct rye_err *err); /* {"data": mapping} */

/*
 * tag: as libyaml gives it, NULL when there was none; plain: written without quotes. A new
 * reference; NULL: the tag is not one of YAML 1.1's or does not fit the text.
 */
json_t *yaml_scalar(struct rye_span text, const char *tag, bool plain);

/* 2026-2-3 4:05:06 +1 → 2026-02-03T04:05:06+01:00. False: not a date. */
bool yaml_timestamp(struct rye_span text, char ret[64]);

#endif
