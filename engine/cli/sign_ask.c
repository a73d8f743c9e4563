/* SPDX-License-Identifier: MIT */
/*
 * ryefs sign -i: which of the refused items are to be signed. Each is shown as `ryefs diff` shows
 * it, or as it is where nothing signed is known of it, and answered with a letter. Standard input
 * need not be a terminal; where it ends, nothing more is signed.
 */
#include "cli/cli.h"

#include "scope.h"
#include "str.h"

#include <string.h>

#define LINES_SHOWN 40 /* of an item that is new; the rest by `v` */

static void show_whole(const char *path, int lines)
{
	auto_file FILE *in = fopen(path, "re");
	auto_free char *line = NULL;
	size_t size = 0;

	for (int n = 0; in && getline(&line, &size, in) >= 0; n++) {
		if (lines && n == lines) {
			puts("... (v: all of it)");
			return;
		}
		fputs("+", stdout);
		out_text(stdout, line);
	}
}

static void show_change(struct cli *cli, const struct signed_file *file)
{
	int changed = signed_diff(cli, file, stdout);

	if (changed == 0)
		puts("its bytes are those that were signed elsewhere");
	if (changed >= 0)
		return;
	fputs("nothing signed is known of ", stdout);
	out_text(stdout, file->path);
	puts(":");
	show_whole(file->path, LINES_SHOWN);
}

/* 'y', 'n' or 'q'. */
static char ask_letter(const struct signed_file *file)
{
	char answer[16];

	for (;;) {
		fputs("sign ", stdout);
		out_text(stdout, file->ref);
		fputs("? [y]es, [n]o, [v]iew all, [q]uit: ", stdout);
		fflush(stdout);
		if (!fgets(answer, sizeof(answer), stdin)) {
			putchar('\n');
			return 'q';
		}
		if (*answer == 'v')
			show_whole(file->path, 0);
		else if (strchr("ynq", *answer))
			return *answer;
	}
}

/* What cannot be read is neither good nor to be signed. Exit status. */
static int ask_unread(struct cli *cli, const json_t *row)
{
	auto_free char *what = NULL, *mend = told_split(json_str(row, "message"), &what);

	return cli_complain(cli, CLI_DENIED, mend, "%s: %s", json_str(row, "ref"),
			    what ? what : "");
}

int sign_ask(struct cli *cli, const struct rye_batch *batch, sign_ask_fn fn, void *arg)
{
	struct rye_err err = { 0 };
	auto_json json_t *rows = ref_verdicts(cli, batch->pattern, &err);
	const char *space = batch->space == RYE_USER ? "user" : "project";
	size_t good = 0, asked = 0;
	int status = CLI_OK, unread = CLI_OK;

	if (!rows)
		return cli_fail(cli, &err, batch->pattern);
	for (size_t i = 0; i < json_array_size(rows) && status == CLI_OK; i++) {
		const json_t *row = json_array_get(rows, i);
		const struct signed_file file = { json_str(row, "ref"), json_str(row, "path") };
		char letter;

		if (strcmp(json_str(row, "space"), space) != 0)
			continue;
		if (!strcmp(json_str(row, "verdict"), rye_code_name(RYE_DENIED))) {
			unread = ask_unread(cli, row);
			continue;
		}
		if (!json_flag(row, "refused", false)) {
			good++;
			continue;
		}
		asked++;
		show_change(cli, &file);
		letter = ask_letter(&file);
		if (letter == 'q')
			return CLI_OK;
		if (letter == 'y')
			status = fn(arg, file.ref);
	}
	if (!asked && !unread)
		cli_note(cli, "nothing is to be signed: %zu %s good", good,
			 good == 1 ? "is" : "are");
	return status == CLI_OK ? unread : status;
}
