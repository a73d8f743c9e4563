/* SPDX-License-Identifier: MIT */
/*
 * ryefs keys: every key file there is, and whether it counts. Reads only; the verdict on a key
 * is the store's (trust/trust.h), which refuses some files that look like keys.
 */
#include "cli/cli.h"

#include "scope.h"

#include <string.h>

/* For people: "trusted for knowledge:notes"; of what cannot be read a line. */
static void keys_narrow(json_t *rows)
{
	json_t *row;
	size_t i;

	json_array_foreach(rows, i, row) {
		const char *scope = json_str(row, "scope");
		auto_free char *text = NULL;

		if (strchr(json_str(row, "status"), '\n'))
			json_set(row, "status",
				 json_stringn(json_str(row, "status"),
					      strcspn(json_str(row, "status"), "\n")));
		if (*scope && asprintf(&text, "%s for %s", json_str(row, "status"), scope) >= 0)
			json_sets(row, "status", text);
	}
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
	struct rye_err err = { 0 };
	auto_json json_t *rows = key_rows(cli, &err);

	if (!rows)
		return cli_fail(cli, &err, NULL);
	if (!cli->opt.json)
		keys_narrow(rows);
	return out_rows(cli, rows, columns, ARRAY_SIZE(columns),
			"there are no keys; make one with: ryefs keygen");
}
