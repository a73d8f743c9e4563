/* SPDX-License-Identifier: MIT */
/*
 * ryefs search: the ranked hits of a query, best first, over all kinds and spaces. Reads and
 * verifies every item, since a single command has no index to ask.
 */
#include "cli/cli.h"

#include "scope.h"

#define LIMIT_DEFAULT 20 /* a screen */
#define LIMIT_MAX 100000

static int add_hit(void *arg, const struct rye_hit *hit)
{
	json_t *rows = arg, *row = json_object();
	auto_buf struct rye_buf ref = RYE_BUF_INIT;

	buf_addf(&ref, "%s:%s", rye_kind_name(hit->kind), hit->id);
	json_sets(row, "ref", ref.failed ? hit->id : ref.data);
	json_set(row, "score", json_real(hit->score));
	json_sets(row, "space", hit->space);
	json_sets(row, "title", hit->title ? hit->title : "");
	json_sets(row, "file", hit->name);
	json_array_append_new(rows, row);
	return 0;
}

int verb_search(struct cli *cli)
{
	static const struct out_column columns[] = {
		{ "score", "SCORE", true },
		{ "ref", "ITEM", false },
		{ "space", "SPACE", false },
		{ "title", "TITLE", false },
	};
	long limit = cli->opt.limit ? strtol(cli->opt.limit, NULL, 10) : LIMIT_DEFAULT;
	auto_json json_t *rows = json_array();
	auto_buf struct rye_buf query = RYE_BUF_INIT;
	struct rye_err err = { 0 };
	struct rye_query ask;
	int status;

	if (limit < 1 || limit > LIMIT_MAX)
		return cli_misuse(cli, "--limit %s: wanted a number from 1", cli->opt.limit);
	for (int i = 0; i < cli->argc; i++) {
		buf_adds(&query, i ? " " : "");
		buf_adds(&query, cli->argv[i]);
	}
	status = cli_open(cli, CLI_ANY_PLACE);
	if (status != CLI_OK)
		return status;
	if (query.failed)
		return cli_misuse(cli, "the query is too long");
	ask = (struct rye_query){ query.data, (size_t)limit, add_hit, rows };
	if (rye_search(cli->rye, &ask, &err))
		return cli_fail(cli, &err, NULL);
	out_rows(cli, rows, columns, ARRAY_SIZE(columns));
	if (json_array_size(rows) == 0)
		cli_note(cli, "nothing matches %s", query.data);
	return CLI_OK;
}
