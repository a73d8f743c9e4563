/* SPDX-License-Identifier: MIT */
/*
 * ryefs mcp add, list, refresh, remove: the bundled tool rye/mcp/manager asks the server and writes
 * the items; here a person sees what it found and says yes. What is signed then is what was shown:
 * the manager is given its digest, and refuses where the server says something else by now.
 */
#include "cli/verb/mcp_words.h"
#include "cli/follow/follow.h"

#include "scope.h"
#include "str.h"

#include <string.h>
#include <unistd.h>

#define MANAGER "tool:rye/mcp/manager"

/* ---- asking the manager ---- */

/* One call of the manager; exit status, the reason told. */
static int ask_manager(struct cli *cli, json_t *params, struct called *ret)
{
	auto_json json_t *message =
		json_pack("{s:s, s:O}", "item_id", MANAGER, "parameters", params);
	int status = call_wait(
		cli, &(struct cli_call){ RYE_EXECUTE, message, .doing = "asking the server" }, ret);

	if (status == CLI_OK && ret->signal)
		return 128 + ret->signal;
	if (status == CLI_OK && ret->outcome.code != RYE_OK)
		status = call_fail(cli, ret, MANAGER);
	return status;
}

/* The first call: there is no engine yet. What it answers is the caller's to call_done. */
static int open_manager(struct cli *cli, json_t *params, struct called *ret)
{
	int status = cli_open(cli, CLI_PROJECT);

	return status == CLI_OK ? ask_manager(cli, params, ret) : status;
}

static const json_t *answer_of(const struct called *called)
{
	return json_object_get(called->reply, "data");
}

static json_t *new_params(struct cli *cli, const char *action)
{
	json_t *params = json_pack("{s:s}", "action", action);

	if (cli->opt.space)
		json_sets(params, "scope", cli->opt.space);
	if (cli->argc > 1)
		json_sets(params, "name", cli->argv[1]);
	return params;
}

/* ---- what it was told of the server ---- */

static bool is_url(const char *word)
{
	return !strncmp(word, "http://", 7) || !strncmp(word, "https://", 8);
}

/* "Name: value" */
static int read_header_words(struct cli *cli, json_t *params)
{
	json_t *headers = json_object();

	json_sets(params, "transport", "http");
	json_sets(params, "url", cli->argv[2]);
	json_set(params, "headers", headers);
	for (int i = 3; i < cli->argc; i++) {
		const char *colon = strchr(cli->argv[i], ':');
		auto_free char *name =
			colon ? span_dup((struct rye_span){ cli->argv[i],
							    (size_t)(colon - cli->argv[i]) }) :
				NULL;

		if (!name || !*name)
			return cli_complain(cli, CLI_USAGE, NULL,
					    "%s: a header is written \"NAME: VALUE\"",
					    cli->argv[i]);
		json_sets(headers, name, colon + 1 + strspn(colon + 1, " "));
	}
	return CLI_OK;
}

static bool is_assignment(const char *word)
{
	size_t n = strspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_");

	return n && word[n] == '=';
}

/* [VAR=VALUE...] COMMAND [ARG...], as env(1) takes it. */
static int read_command_words(struct cli *cli, json_t *params)
{
	json_t *env = json_object(), *args = json_array();
	int i = 2;

	json_sets(params, "transport", "stdio");
	json_set(params, "env", env);
	json_set(params, "args", args);
	for (; i < cli->argc && is_assignment(cli->argv[i]); i++) {
		const char *equals = strchr(cli->argv[i], '=');

		json_object_setn_new(env, cli->argv[i], (size_t)(equals - cli->argv[i]),
				     json_string(equals + 1));
	}
	if (i == cli->argc)
		return cli_complain(cli, CLI_USAGE, "ryefs mcp --help",
				    "%s: the command that starts the server is wanted",
				    cli->argv[1]);
	json_sets(params, "command", cli->argv[i]);
	while (++i < cli->argc)
		json_array_append_new(args, json_string(cli->argv[i]));
	return CLI_OK;
}

/* ---- asking the person ---- */

/* Whole for programs, for a person what has become of it. */
static int tell_server(struct cli *cli, const json_t *answer, const char *sentence)
{
	if (!cli->opt.json)
		return out_success(cli, "server", json_str(answer, "server"), sentence);
	out_json(answer);
	return CLI_OK;
}

struct mcp_found {
	const json_t *answer;
	void (*show)(const json_t *answer);
	const char *question;
};

/* What was shown is signed after a yes. */
static int accept_found(struct cli *cli, json_t *params, const struct mcp_found *found)
{
	auto_free char *mend = cli_retyped(cli, "mcp --yes", NULL, NULL);
	const struct cli_question question = { found->question, mend, cli->argv[1],
					       "is as it was" };
	auto_called struct called called = { .signal = 0 };
	char sentence[128];
	json_int_t count;
	int status;

	if (!cli->opt.quiet || !cli->opt.yes)
		found->show(found->answer);
	status = cli_asks(cli, &question);
	json_set(params, "accept", json_true());
	json_sets(params, "digest", json_str(found->answer, "digest"));
	if (status == CLI_OK)
		status = ask_manager(cli, params, &called);
	if (status != CLI_OK)
		return status;
	count = json_int(answer_of(&called), "tool_count", 0);
	snprintf(sentence, sizeof(sentence), "is signed, with %lld tool%s", (long long)count,
		 PLURAL(count));
	return tell_server(cli, answer_of(&called), sentence);
}

/* ---- the words ---- */

int mcp_add_word(struct cli *cli)
{
	auto_json json_t *params = new_params(cli, "add");
	auto_called struct called called = { .signal = 0 };
	int status = is_url(cli->argv[2]) ? read_header_words(cli, params) :
					    read_command_words(cli, params);

	if (status == CLI_OK)
		status = open_manager(cli, params, &called);
	if (status != CLI_OK)
		return status;
	return accept_found(
		cli, params,
		&(struct mcp_found){ answer_of(&called), mcp_show_found,
				     "Sign the server and these tools with your key?" });
}

int mcp_refresh_word(struct cli *cli)
{
	auto_json json_t *params = new_params(cli, "refresh");
	auto_called struct called called = { .signal = 0 };
	int status = open_manager(cli, params, &called);
	const json_t *answer = answer_of(&called);

	if (status != CLI_OK)
		return status;
	if (json_array_size(json_object_get(answer, "changes")))
		return accept_found(cli, params,
				    &(struct mcp_found){ answer, mcp_show_changes,
							 "Sign what has changed with your key?" });
	if (cli->opt.json)
		out_json(answer);
	else
		cli_note(cli, "%s: nothing has changed", json_str(answer, "server"));
	return CLI_OK;
}

int mcp_remove_word(struct cli *cli)
{
	auto_json json_t *params = new_params(cli, "remove");
	auto_called struct called called = { .signal = 0 };
	char sentence[128];
	int status;
	size_t n;

	json_set(params, "accept", json_true());
	status = open_manager(cli, params, &called);
	if (status != CLI_OK)
		return status;
	n = json_array_size(json_object_get(answer_of(&called), "removed"));
	snprintf(sentence, sizeof(sentence), "is removed, %zu file%s", n, PLURAL(n));
	return tell_server(cli, answer_of(&called), sentence);
}

int mcp_list_word(struct cli *cli)
{
	static const struct out_column columns[] = {
		{ "name", "NAME", false }, { "scope", "SPACE", false },
		{ "era", "ERA", false },   { "tool_count", "TOOLS", true },
		{ "runs", "RUNS", false },
	};
	auto_json json_t *params = json_pack("{s:s}", "action", "list");
	auto_called struct called called = { .signal = 0 };
	int status = open_manager(cli, params, &called);

	if (status != CLI_OK)
		return status;
	return out_rows(cli, json_object_get(answer_of(&called), "servers"), columns,
			ARRAY_SIZE(columns),
			"there are no servers; add one with: ryefs mcp add NAME URL");
}
