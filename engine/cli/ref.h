/* SPDX-License-Identifier: MIT */
/* ref.h: canonical references as people write them and as verdicts name them. */
#ifndef RYE_CLI_REF_H
#define RYE_CLI_REF_H

#include "cli/cli.h"

#define REF_MAX 1100 /* a kind, a colon and an id of RYE_ID_MAX */

/* "KIND:ID" of a verdict; a path when it has no id. */
void ref_of(const struct rye_verdict *verdict, char ret[REF_MAX]);
/* {ref, space, path, ok, verdict, message} */
json_t *ref_verdict_json(const struct rye_verdict *verdict);

/*
 * What a person typed: a ref or pattern is copied; the path of a file below an .ai/KINDS
 * directory becomes its ref.
 */
void ref_from_word(struct cli *cli, const char *word, char ret[REF_MAX]);

#endif
