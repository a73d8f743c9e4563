/* SPDX-License-Identifier: MIT */
/*
 * ryefs mcp: the words behind it, one row each. Without one, the workspace as a server of the Model
 * Context Protocol, for a client that starts it and speaks through its standard input and output, or
 * with --http or --unix for those that connect.
 */
#include "cli/verb/mcp_words.h"

#include "mcp/server/server.h"
#include "scope.h"

#include <string.h>
#include <unistd.h>

/* Nothing of significance is known to be there. */
#define PORT_DEFAULT 7393

static void tell_warning(void *arg, const char *line)
{
	cli_note(arg, "%s", line);
}

static void tell_ready(void *arg, const char *url, const char *token)
{
	struct cli *cli = arg;
	const char *socket = cli->opt.socket;
	auto_json json_t *doc = json_pack("{s:s, s:s, s:s?, s:s*}", "status", "success", "url", url,
					  "token_file", token, "socket", socket);

	if (!token && !socket)
		cli_note(cli, "there is no token: every user of this machine may run items here");
	if (cli->opt.json)
		out_json(doc);
	else if (token)
		printf("%s, the token is in %s\n", url, token);
	else if (socket)
		printf("%s, the socket is %s\n", url, socket);
	else
		printf("%s\n", url);
	fflush(stdout);
}

static int mcp_serve_word(struct cli *cli)
{
	const struct cli_opts *opt = &cli->opt;
	const struct serve_options options = { .read_only = opt->read_only,
					       .allow_sign = opt->allow_sign,
					       .aliases = opt->aliases,
					       .no_prompts = opt->no_prompts,
					       .no_resources = opt->no_resources,
					       .warn = tell_warning,
					       .arg = cli };
	struct serve_address at = { .socket = opt->socket,
				    .token = opt->token,
				    .ready = tell_ready,
				    .arg = cli };
	struct rye_err err = { 0 };
	bool connects = opt->http || opt->socket;
	int status = cli_port(cli, PORT_DEFAULT, &at.port);
	int r;

	if (status == CLI_OK && !opt->http && (opt->port || opt->token))
		return cli_misuse(cli, "--port and --token belong to --http");
	if (status == CLI_OK && opt->http && opt->socket)
		return cli_misuse(cli,
				  "--http listens on ports, --unix on a socket: say one of them");
	cli->stays = true;
	if (status == CLI_OK)
		status = cli_open(cli, CLI_PROJECT);
	if (status != CLI_OK)
		return status;
	if (!connects && isatty(STDIN_FILENO))
		cli_note(cli, "waiting for a client's messages on standard input; ^D ends");
	r = connects ? serve_http(steal(&cli->rye), &options, &at, &err) :
		       serve_stdio(steal(&cli->rye), &options, &err);
	return r ? cli_fail(cli, &err, NULL) : CLI_OK;
}

int verb_mcp(struct cli *cli)
{
	static const struct cli_word words[] = {
		{ "serve", mcp_serve_word, 0, 0, "[serve]" },
		{ "add", mcp_add_word, 2, -1,
		  "add NAME URL [\"HEADER: VALUE\"...] or add NAME [VAR=VALUE...] -- COMMAND [ARG...]" },
		{ "list", mcp_list_word, 0, 0, "list" },
		{ "refresh", mcp_refresh_word, 1, 1, "refresh NAME" },
		{ "remove", mcp_remove_word, 1, 1, "remove NAME" },
	};

	return cli_words(cli, words, ARRAY_SIZE(words));
}
