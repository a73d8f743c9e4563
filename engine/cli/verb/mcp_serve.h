/* SPDX-License-Identifier: MIT */
/* mcp_serve.h: `ryefs mcp` without a further word. */
#ifndef RYE_CLI_VERB_MCP_SERVE_H
#define RYE_CLI_VERB_MCP_SERVE_H

struct cli;

int mcp_serve_word(struct cli *cli); /* exit status */

#endif
