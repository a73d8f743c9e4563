/* SPDX-License-Identifier: MIT */
/*
 * ryefs sign -i: which of the refused items are to be signed. Each is shown as `ryefs diff` shows
 * it, or as it is where nothing signed is known of it, and answered with a letter. Standard input
 * need not be a terminal; where it ends, nothing more is signed.
 */
#include "cli/cli.h"

#include "scope.h"

#include <string.h>

#define LINES_SHOWN 40 /* of an item that is new; the rest by `v` */

struct sign_asking {
	struct cli *cli;
	const char *space; /* "project" or "user" */
	json_t *refs; /* asked for so far, and the pattern's */
	json_t *paths;
	size_t good;
};

static int sign_ask_take(void *arg, const struct rye_verdict *verdict, size_t done, size_t total)
{
	struct sign_asking *asking = arg;
	char ref[REF_MAX];

	(void)done;
	(void)total;
	if (!verdict || !verdict->space || strcmp(verdict->space, asking->space) != 0)
		return 0;
	if (!rye_code_integrity(verdict->code)) {
		asking->good++;
		return 0;
	}
	ref_of(verdict, ref);
	json_array_append_new(asking->refs, json_string(ref));
	json_array_append_new(asking->paths, json_string(verdict->path));
	return 0;
}

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
	printf("nothing signed is known of %s:\n", file->path);
	show_whole(file->path, LINES_SHOWN);
}

/* 'y', 'n' or 'q'. */
static char ask_letter(const struct signed_file *file)
{
	char answer[16];

	for (;;) {
		printf("sign %s? [y]es, [n]o, [v]iew all, [q]uit: ", file->ref);
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

int sign_ask(struct cli *cli, const struct rye_batch *batch, sign_ask_fn fn, void *arg)
{
	auto_json json_t *refs = json_array(), *paths = json_array();
	struct sign_asking asking = { cli, batch->space == RYE_USER ? "user" : "project", refs,
				      paths, 0 };
	const struct rye_batch look = { batch->pattern, batch->space, sign_ask_take, &asking,
					false };
	struct rye_err err = { 0 };
	int status = CLI_OK;

	if (rye_verify_all(cli->rye, &look, &err))
		return cli_fail(cli, &err, batch->pattern);
	for (size_t i = 0; i < json_array_size(refs) && status == CLI_OK; i++) {
		const struct signed_file file = { json_string_value(json_array_get(refs, i)),
						  json_string_value(json_array_get(paths, i)) };
		char letter;

		show_change(cli, &file);
		letter = ask_letter(&file);
		if (letter == 'q')
			break;
		if (letter == 'y')
			status = fn(arg, file.ref);
	}
	if (json_array_size(refs) == 0)
		cli_note(cli, "nothing is to be signed: %zu are good", asking.good);
	return status;
}
