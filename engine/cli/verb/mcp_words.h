/* SPDX-License-Identifier: MIT */
/*
 * mcp_words.h: what `ryefs mcp` can be told to do; each returns an exit status.
 */
#ifndef RYE_CLI_VERB_MCP_WORDS_H
#define RYE_CLI_VERB_MCP_WORDS_H

#include "cli/cli.h"

/* mcp_servers.c: the servers whose tools are items. */
int mcp_add_word(struct cli *cli);
int mcp_list_word(struct cli *cli);
int mcp_refresh_word(struct cli *cli);
int mcp_remove_word(struct cli *cli);

/* mcp_shown.c: for a person, before a yes: what will run, and each text that a model would see. */
void mcp_show_found(const json_t *found);
void mcp_show_changes(const json_t *found);

#endif
