/* SPDX-License-Identifier: MIT */
/* ryefs remote push: the project's files to a remote, and what was left out. */
#include "cli/remote/remote_words.h"

#include "api/api.h"
#include "remote/remote.h"
#include "scope.h"

static void put_push(struct cli *cli, const json_t *doc)
{
	const json_t *refused = json_object_get(doc, "refused");
	const json_t *row;
	size_t i;

	json_array_foreach((json_t *)refused, i, row)
		cli_note(cli, "not sent: %s: %s", json_str(row, "path"), json_str(row, "reason"));
	printf("%s: %lld files, %lld new, %.2f MB sent; %s is at number %lld, %.12s\n",
	       json_str(doc, "remote"), (long long)json_int(doc, "files", 0),
	       (long long)json_int(doc, "new_blobs", 0), (double)json_int(doc, "sent", 0) / 1e6,
	       json_str(doc, "project"), (long long)json_int(doc, "number", 0),
	       json_str(doc, "manifest"));
}

int remote_push_word(struct cli *cli)
{
	auto_remote struct remote remote = { 0 };
	auto_remote_link struct remote_link link = { 0 };
	auto_json json_t *doc = NULL;
	struct rye_err err = { 0 };
	int status = cli_open(cli, CLI_ANY_PLACE);
	const struct item_env *env;
	int r;

	if (status != CLI_OK)
		return status;
	env = engine_items(cli->rye);
	r = remote_find(env, cli->argv[1], &remote, &err);
	if (!r)
		r = remote_open_conn(env, &remote, &link, &err);
	if (!r)
		r = remote_push(env, &remote, link.conn, cli->opt.force, &doc, &err);
	if (r)
		return cli_fail(cli, &err, NULL);
	if (cli->opt.json)
		out_json(doc);
	else
		put_push(cli, doc);
	return CLI_OK;
}
