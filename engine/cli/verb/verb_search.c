/* SPDX-License-Identifier: MIT */
/*
 * ryefs search: the ranked hits of a query, best first, over all kinds and spaces. Reads and
 * verifies every item, since a single command has no index to ask.
 */
#include "cli/cli.h"

#include "scope.h"

#define LIMIT_DEFAULT 20 /* a screen */
#define LIMIT_MAX 100000

struct verb_search_hits {
	struct progress progress;
	json_t *rows;
};

static void verb_search_read(void *arg, size_t done, size_t total)
{
	struct verb_search_hits *hits = arg;

	progress_step(&hits->progress, done, total);
}

static int add_hit(void *arg, const struct rye_hit *hit)
{
	struct verb_search_hits *hits = arg;
	json_t *row = json_object();
	auto_buf struct rye_buf ref = RYE_BUF_INIT;

	buf_addf(&ref, "%s:%s", rye_kind_name(hit->kind), hit->id);
	json_sets(row, "ref", ref.failed ? hit->id : ref.data);
	json_set(row, "score", json_real(hit->score));
	json_sets(row, "space", hit->space);
	json_sets(row, "title", hit->title ? hit->title : "");
	json_sets(row, "file", hit->name);
	json_array_append_new(hits->rows, row);
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
	struct verb_search_hits hits = { .rows = rows };
	struct rye_query ask;

	if (limit < 1 || limit > LIMIT_MAX)
		return cli_misuse(cli, "--limit %s: wanted a number from 1", cli->opt.limit);
	for (int i = 0; i < cli->argc; i++) {
		buf_adds(&query, i ? " " : "");
		buf_adds(&query, cli->argv[i]);
	}
	if (query.failed)
		return cli_misuse(cli, "the query is too long");
	ask = (struct rye_query){ .text = query.data,
				  .limit = (size_t)limit,
				  .fn = add_hit,
				  .arg = &hits,
				  .progress = verb_search_read };
	progress_start(&hits.progress, cli, "reading");
	rye_search(cli->rye, &ask, &err);
	progress_end(&hits.progress);
	if (err.code)
		return cli_fail(cli, &err, NULL);
	out_rows(cli, rows, columns, ARRAY_SIZE(columns), NULL);
	if (json_array_size(rows) == 0)
		cli_note(cli, "nothing matches %s", query.data);
	return CLI_OK;
}
