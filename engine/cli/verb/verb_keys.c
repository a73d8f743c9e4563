/* SPDX-License-Identifier: MIT */
/*
 * ryefs keys: every key file there is, and whether it counts. Reads only; the verdict on a key
 * is the store's (trust/trust.h), which refuses some files that look like keys.
 */
#include "cli/cli.h"

#include "scope.h"

static int add_key(void *arg, const struct rye_key *key)
{
	json_t *rows = arg, *row = json_object();

	json_sets(row, "fingerprint", key->fingerprint);
	json_sets(row, "owner", key->owner ? key->owner : "");
	json_sets(row, "space", key->space ? key->space : "");
	json_sets(row, "status", key->status ? key->status : "");
	json_sets(row, "path", key->path ? key->path : "");
	json_array_append_new(rows, row);
	return 0;
}

int verb_keys(struct cli *cli)
{
	static const struct out_column columns[] = {
		{ "fingerprint", "FINGERPRINT", false },
		{ "owner", "OWNER", false },
		{ "space", "SPACE", false },
		{ "status", "STATUS", false },
		{ "path", "FILE", false },
	};
	auto_json json_t *rows = json_array();
	struct rye_err err = { 0 };

	if (rye_key_list(cli->rye, add_key, rows, &err))
		return cli_fail(cli, &err, NULL);
	return out_rows(cli, rows, columns, ARRAY_SIZE(columns),
			"there are no keys; make one with: ryefs keygen");
}
