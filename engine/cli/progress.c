/* SPDX-License-Identifier: MIT */
/*
 * A bar on the terminal's last line for work on many items. Nothing is drawn during the first
 * second, more than ten times a second, with -q, or when stderr is not a terminal.
 */
#include "cli/cli.h"

#include "clock.h"

#include <unistd.h>

#define QUIET_MS 1000 /* shorter work needs no bar */
#define REDRAW_MS 100
#define BAR_CELLS 30

void progress_start(struct progress *progress, struct cli *cli, const char *what)
{
	progress->cli = !cli->opt.quiet && isatty(STDERR_FILENO) ? cli : NULL;
	progress->what = what;
	progress->since_ms = clock_ms();
	progress->drawn_ms = 0;
}

void progress_step(struct progress *progress, size_t done, size_t total)
{
	static const char full[] = "##############################";
	int64_t now = progress->cli ? clock_ms() : 0;
	int cells = total ? (int)(done * BAR_CELLS / total) : 0;

	if (!progress->cli || now - progress->since_ms < QUIET_MS ||
	    now - progress->drawn_ms < REDRAW_MS)
		return;
	if (cells > BAR_CELLS)
		cells = BAR_CELLS;
	progress->drawn_ms = now;
	progress->cli->in_bar = true;
	fprintf(stderr, "\r%s [%-*.*s] %zu of %zu\033[K", progress->what, BAR_CELLS, cells, full,
		done, total);
}

void progress_end(struct progress *progress)
{
	if (progress->cli && progress->cli->in_bar)
		fputs("\r\033[K", stderr);
	if (progress->cli)
		progress->cli->in_bar = false;
}
