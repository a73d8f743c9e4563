/* SPDX-License-Identifier: MIT */
/*
 * yaml.h: one YAML 1.1 scalar as JSON (items 4.2). parse_yaml (parse.h) builds documents.
 *
 * What JSON has no form for: dates and times become their ISO text, infinities and not-a-
 * number the strings ".inf", "-.inf", ".nan", whole numbers beyond 64 bits a real, !!binary
 * its base64 text without blanks.
 */
#ifndef RYE_ITEM_YAML_H
#define RYE_ITEM_YAML_H

#include "base/json.h"

/*
 * tag: as libyaml gives it, NULL when there was none; plain: written without quotes. A new
 * reference; NULL: the tag is not one of YAML 1.1's or does not fit the text.
 */
json_t *yaml_scalar(struct rye_span text, const char *tag, bool plain);

/* 2026-2-3 4:05:06 +1 → 2026-02-03T04:05:06+01:00. False: not a date. */
bool yaml_timestamp(struct rye_span text, char ret[64]);

#endif
