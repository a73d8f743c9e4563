/* SPDX-License-Identifier: MIT */
/*
 * ryefs diff: what of an item has changed since it was signed, where git, a copy or another space
 * still has it as it was (signed_before.c). Reads only.
 */
#include "cli/cli.h"

#include "base/id.h"
#include "scope.h"

#include <string.h>

struct diff_showing {
	struct cli *cli;
	size_t shown, unknown;
};

static void diff_show(struct diff_showing *showing, const json_t *row)
{
	const struct signed_file file = { json_str(row, "ref"), json_str(row, "path") };
	auto_free char *mend = NULL;
	const char *id;

	if (!strncmp(json_str(row, "space"), "system", 6) || json_flag(row, "ok", false))
		return;
	if (color_person(showing->cli)) {
		fputs(color(showing->cli, COLOR_HEAD), stdout);
		out_text(stdout, file.ref);
		puts(color(showing->cli, COLOR_END));
	}
	fflush(stdout);
	if (rye_kind_has(id_split(file.ref, &id), RYE_KIND_MANIFEST)) {
		showing->unknown++;
		mend = mend_with(strcmp(json_str(row, "space"), "user") ?
					 "ryefs skill diff %s" :
					 "ryefs skill diff --space user %s",
				 id);
		cli_complain(showing->cli, CLI_NOT_FOUND, mend,
			     "%s is a folder: its files are compared with its manifest", file.ref);
		return;
	}
	if (signed_diff(showing->cli, &file, stdout) >= 0) {
		showing->shown++;
		return;
	}
	showing->unknown++;
	mend = mend_with("${PAGER:-less} %s", file.path);
	cli_complain(showing->cli, CLI_NOT_FOUND, mend,
		     "%s: neither git nor a copy has it as it was signed", file.ref);
}

int verb_diff(struct cli *cli)
{
	struct diff_showing showing = { .cli = cli };
	struct rye_err err = { 0 };
	int status = CLI_OK;

	for (int i = 0; i < (cli->argc ? cli->argc : 1) && status == CLI_OK; i++) {
		char ref[REF_MAX];
		const char *pattern = cli->argc ? ref : NULL;
		auto_json json_t *rows = NULL;
		json_t *row;
		size_t n;

		if (pattern)
			status = ref_operand(cli, i, ref);
		if (status == CLI_OK && !(rows = ref_verdicts(cli, pattern, &err)))
			status = cli_fail(cli, &err, pattern);
		json_array_foreach(rows, n, row)
			diff_show(&showing, row);
	}
	if (status == CLI_OK && !showing.shown && !showing.unknown)
		cli_note(cli, "nothing has changed since it was signed");
	return status == CLI_OK && showing.unknown ? CLI_NOT_FOUND : status;
}
