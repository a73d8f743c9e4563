/* SPDX-License-Identifier: MIT */
/*
 * ryefs remote list, status: what is configured and pinned, from files alone; and what each says now,
 * asked one after the other.
 */
#include "cli/remote/remote_words.h"

#include "api/api.h"
#include "remote/remote.h"
#include "scope.h"

#include <string.h>

/* As of the last contact; nothing is asked. */
static void put_contact(const struct item_env *env, const char *name, json_t *row)
{
	auto_json json_t *contact = contact_read(env, name);
	const json_t *error = json_object_get(contact, "error");
	char text[400];

	if (!contact)
		snprintf(text, sizeof(text), "never reached");
	else if (error)
		snprintf(text, sizeof(text), "failed at %.19sZ: %.300s",
			 json_str(contact, "failed"), json_str(error, "message"));
	else
		snprintf(text, sizeof(text), "reached at %.19sZ", json_str(contact, "reached"));
	text[strcspn(text, "\n")] = 0;
	json_sets(row, "contact", text);
}

static json_t *remote_row(const struct item_env *env, const char *name)
{
	auto_remote struct remote remote = { 0 };
	auto_pin struct pin pin = { 0 };
	struct rye_err err = { 0 };
	json_t *row = json_pack("{s:s}", "name", name);

	if (remote_find(env, name, &remote, &err)) {
		json_sets(row, "url", "");
		json_sets(row, "key", "");
		json_sets(row, "contact", err.msg);
		return row;
	}
	json_sets(row, "url", remote.url);
	json_sets(row, "key",
		  !pin_load(env, name, &pin, &err) ? pin.key.fp :
		  err.code == RYE_NOT_FOUND	   ? "unpinned" :
						     err.msg);
	put_contact(env, name, row);
	return row;
}

int remote_list_word(struct cli *cli)
{
	static const struct out_column columns[] = {
		{ "name", "NAME", false },
		{ "key", "KEY", false },
		{ "url", "URL", false, 40 },
		{ "contact", "LAST", false },
	};
	auto_json json_t *names = NULL, *rows = json_array();
	struct rye_err err = { 0 };
	int status = cli_open(cli, CLI_ANY_PLACE);
	json_t *name;
	size_t i;

	if (status != CLI_OK)
		return status;
	if (remote_names(engine_items(cli->rye), &names, &err))
		return cli_fail(cli, &err, NULL);
	json_array_foreach(names, i, name)
		json_array_append_new(rows,
				      remote_row(engine_items(cli->rye), json_string_value(name)));
	return out_rows(cli, rows, columns, ARRAY_SIZE(columns),
			"there are no remotes; add one with: ryefs remote add NAME "
			"ssh://USER@HOST");
}

/* Its row is added; exit status, the reason told. */
static int show_status(struct cli *cli, const char *name, json_t *rows)
{
	const struct item_env *env = engine_items(cli->rye);
	auto_remote struct remote remote = { 0 };
	auto_json json_t *info = NULL;
	struct rye_err err = { 0 };
	char line[200];
	int r = remote_find(env, name, &remote, &err);

	if (!r)
		r = remote_look(env, &remote, &info, &err);
	if (r < 0) {
		json_array_append_new(rows, json_pack("{s:s, s:s, s:s}", "name", name, "code",
						      rye_code_name(err.code), "error", err.msg));
		return cli->opt.json ? (int)exit_of(err.code) : cli_fail(cli, &err, NULL);
	}
	remote_sentence(info, line, sizeof(line));
	json_array_append_new(rows, json_pack("{s:s, s:s, s:O}", "name", name, "status", line,
					      "info", info));
	if (!cli->opt.json)
		printf("%s: %s\n", name, line);
	return CLI_OK;
}

int remote_status_word(struct cli *cli)
{
	auto_json json_t *names = NULL, *rows = json_array();
	struct rye_err err = { 0 };
	int status = cli_open(cli, CLI_ANY_PLACE), worst = CLI_OK;
	json_t *name;
	size_t i;

	if (status != CLI_OK)
		return status;
	if (cli->argc > 1)
		names = json_pack("[s]", cli->argv[1]);
	else if (remote_names(engine_items(cli->rye), &names, &err))
		return cli_fail(cli, &err, NULL);
	json_array_foreach(names, i, name) {
		status = show_status(cli, json_string_value(name), rows);
		worst = worst == CLI_OK ? status : worst;
	}
	if (cli->opt.json)
		out_json(rows);
	else if (!json_array_size(names))
		cli_note(cli, "there are no remotes; add one with: ryefs remote add NAME "
			      "ssh://USER@HOST");
	return worst;
}
