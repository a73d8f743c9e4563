/* SPDX-License-Identifier: MIT */
/*
 * ryefs node admit, list, remove: what a node's owner says about keys. There is no other way to be
 * admitted.
 */
#include "cli/remote/remote_words.h"

#include "door/door.h"
#include "scope.h"
#include "str.h"

#include <string.h>

/* NAME=VALUE words behind the key; exit status. */
static int read_limits(struct cli *cli, json_t *set)
{
	for (int i = 2; i < cli->argc; i++) {
		const char *equals = strchr(cli->argv[i], '=');
		auto_free char *name =
			equals ? span_dup((struct rye_span){ cli->argv[i],
							     (size_t)(equals - cli->argv[i]) }) :
				 NULL;

		if (!name || !*name)
			return cli_misuse(cli, "%s: wanted is NAME=VALUE, as jobs=4", cli->argv[i]);
		json_sets(set, name, equals + 1);
	}
	if (cli->opt.owner)
		json_sets(set, "owner", cli->opt.owner);
	return CLI_OK;
}

int node_admit_word(struct cli *cli)
{
	auto_node struct node_dir *node = NULL;
	auto_principal struct principal who = { 0 };
	auto_json json_t *set = json_object();
	struct rye_err err = { 0 };
	int status = read_limits(cli, set);

	if (status == CLI_OK)
		status = node_use(cli, NULL, &node);
	if (status != CLI_OK)
		return status;
	if (principal_admit(node, cli->argv[1], set, &who, &err))
		return cli_fail(cli, &err, NULL);
	return out_success(cli, "fingerprint", who.key.fp, "is admitted");
}

static void add_sizes(json_t *rows)
{
	json_t *row;
	size_t i;

	json_array_foreach(rows, i, row) {
		char text[32];

		if (!json_object_get(row, "bytes"))
			continue;
		snprintf(text, sizeof(text), "%.4g G",
			 (double)json_int(row, "bytes", 0) / (double)(1 << 30));
		json_sets(row, "room", text);
		snprintf(text, sizeof(text), "%lld", (long long)json_int(row, "jobs", 0));
		json_sets(row, "runs", text);
	}
}

int node_list_word(struct cli *cli)
{
	static const struct out_column columns[] = {
		{ "fingerprint", "KEY", false }, { "owner", "OWNER", false },
		{ "runs", "RUNS", true },	 { "room", "ROOM", true },
		{ "status", "STATUS", false },
	};
	auto_node struct node_dir *node = NULL;
	auto_json json_t *rows = NULL;
	struct rye_err err = { 0 };
	int status = node_use(cli, NULL, &node);

	if (status != CLI_OK)
		return status;
	if (principal_list(node, &rows, &err))
		return cli_fail(cli, &err, NULL);
	if (!cli->opt.json)
		add_sizes(rows);
	return out_rows(cli, rows, columns, ARRAY_SIZE(columns),
			"no key is known here; admit one with: ryefs node admit KEY");
}

int node_remove_word(struct cli *cli)
{
	auto_node struct node_dir *node = NULL;
	struct rye_err err = { 0 };
	int status = node_use(cli, NULL, &node);

	if (status != CLI_OK)
		return status;
	if (principal_remove(node, cli->argv[1], &err) || principal_leave(node, cli->argv[1], &err))
		return cli_fail(cli, &err, NULL);
	return out_success(cli, "fingerprint", cli->argv[1],
			   "is not known any more; what it has pushed goes with ryefs node gc");
}
