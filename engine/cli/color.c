/* SPDX-License-Identifier: MIT */
/*
 * Colours, and whether a person reads standard output: so it is at a terminal, and with --color=always.
 * Elsewhere nothing is coloured and nothing laid out otherwise, so that what programs read stays as it is.
 */
#include "cli/cli.h"

#include "scope.h"
#include "str.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool color_said(const struct cli *cli, const char *when)
{
	return cli->opt.color && !strcmp(cli->opt.color, when);
}

int color_check(struct cli *cli)
{
	auto_free char *mend = NULL;

	if (!cli->opt.color || color_said(cli, "auto") || color_said(cli, "always") ||
	    color_said(cli, "never"))
		return CLI_OK;
	for (int n = 0; n < cli->n_typed; n++)
		if (str_ends(cli->typed[n], cli->opt.color))
			mend = mend ? mend :
				      cli_retyped(cli, cli->verb->name, cli->typed[n],
						  strncmp(cli->typed[n], "--", 2) ? "auto" :
										    "--color=auto");
	return cli_complain(cli, CLI_USAGE, mend, "--color takes auto, always or never, not \"%s\"",
			    cli->opt.color);
}

bool color_person(const struct cli *cli)
{
	return !cli->opt.json && (color_said(cli, "always") || isatty(STDOUT_FILENO));
}

/* no-color.org: the variable counts when it is not empty. */
static bool color_on(const struct cli *cli)
{
	const char *none = getenv("NO_COLOR"), *term = getenv("TERM");

	if (cli->opt.color && !color_said(cli, "auto"))
		return !cli->opt.json && color_said(cli, "always");
	return color_person(cli) && (!none || !*none) && term && *term && strcmp(term, "dumb") != 0;
}

const char *color(const struct cli *cli, enum color which)
{
	static const char *const codes[] = {
		[COLOR_END] = "\033[0m",    [COLOR_HEAD] = "\033[1m",	[COLOR_FAINT] = "\033[2m",
		[COLOR_GOOD] = "\033[32m",  [COLOR_DOUBT] = "\033[33m", [COLOR_BAD] = "\033[31m",
		[COLOR_PLACE] = "\033[36m",
	};

	return color_on(cli) ? codes[which] : "";
}

static enum color color_of_line(struct rye_span line)
{
	static const struct {
		const char *begin;
		enum color color;
	} rows[] = {
		{ "+++", COLOR_HEAD }, { "---", COLOR_HEAD }, { "@@", COLOR_PLACE },
		{ "+", COLOR_GOOD },   { "-", COLOR_BAD },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (span_starts(line, rows[i].begin))
			return rows[i].color;
	return COLOR_END;
}

void color_diff(const struct cli *cli, FILE *to, const char *text)
{
	struct rye_span rest = span_of(text), line;

	if (to != stdout || !color_on(cli)) {
		out_text(to, text);
		return;
	}
	while (span_line(&rest, &line)) {
		auto_free char *copy = span_dup(line);
		enum color which = color_of_line(line);

		fputs(which ? color(cli, which) : "", to);
		out_text(to, copy ? copy : "");
		fprintf(to, "%s\n", which ? color(cli, COLOR_END) : "");
	}
}
