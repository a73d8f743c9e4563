/* SPDX-License-Identifier: MIT */
/*
 * emit.h: a JSON object written as a YAML 1.1 or TOML document that reads back as the same
 * values. Strings are always quoted, so no reader takes them for anything else. Pure.
 */
#ifndef RYE_FORMAT_EMIT_H
#define RYE_FORMAT_EMIT_H

#include "base/json.h"

void mapping_yaml(struct rye_buf *buf, const json_t *map);
/* TOML has no null: such keys are left out. */
void mapping_toml(struct rye_buf *buf, const json_t *map);

#endif
