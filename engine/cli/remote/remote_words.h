/* SPDX-License-Identifier: MIT */
/* remote_words.h: what stands behind `ryefs node` and `ryefs remote`, a function each. */
#ifndef RYE_CLI_REMOTE_REMOTE_WORDS_H
#define RYE_CLI_REMOTE_REMOTE_WORDS_H

#include "cli/cli.h"

struct node_dir; /* door/door.h */

/* The directory that --dir or the operand names, absolute; to free, NULL: the reason is told. */
char *node_where(struct cli *cli, const char *named);
/* Opens it; exit status, the reason told. */
int node_use(struct cli *cli, const char *named, struct node_dir **ret);

int node_init_word(struct cli *cli);
int node_admit_word(struct cli *cli);
int node_list_word(struct cli *cli);
int node_remove_word(struct cli *cli);
int node_gc_word(struct cli *cli);
/* What a collection of garbage has come to (node_collecting.c). */
void out_gc(const struct cli *cli, const char *name, json_t *doc);
/* ryefs node --stdio [DIR], --http [DIR] (node_listening.c) */
int node_stdio(struct cli *cli);
int node_http(struct cli *cli);

int remote_add_word(struct cli *cli);
int remote_list_word(struct cli *cli);
int remote_status_word(struct cli *cli);
int remote_push_word(struct cli *cli);
int remote_diff_word(struct cli *cli);
int remote_pull_word(struct cli *cli);
int remote_gc_word(struct cli *cli);
int remote_rm_word(struct cli *cli);

#endif
