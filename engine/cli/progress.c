/* SPDX-License-Identifier: MIT */
/*
 * A bar on the terminal's last line for work on many items, or how long something is waited for. Nothing
 * is drawn during the first second, more than ten times a second, with -q, or when stderr is not a
 * terminal. stderr's own lock keeps what other threads print there apart from it.
 */
#include "cli/cli.h"

#include "clock.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define QUIET_MS 1000 /* shorter work needs no bar */
#define REDRAW_MS 100
#define BAR_CELLS 30

/* A terminal that cannot erase a line would keep each of them. */
static bool progress_draws(void)
{
	const char *term = getenv("TERM");

	return isatty(STDERR_FILENO) && !(term && !strcmp(term, "dumb"));
}

void progress_start(struct progress *progress, struct cli *cli, const char *what)
{
	*progress = (struct progress){ .cli = !cli->opt.quiet && progress_draws() ? cli : NULL,
				       .what = what,
				       .since_ms = clock_ms() };
}

/* Is it time to draw? */
static bool progress_due(struct progress *progress)
{
	int64_t now = progress->cli ? clock_ms() : 0;

	if (!progress->cli || progress->off || now - progress->since_ms < QUIET_MS ||
	    now - progress->drawn_ms < REDRAW_MS)
		return false;
	progress->drawn_ms = now;
	return true;
}

void progress_step(struct progress *progress, size_t done, size_t total)
{
	static const char full[] = "##############################";
	int cells = total ? (int)(done * BAR_CELLS / total) : 0;

	if (!progress_due(progress))
		return;
	if (cells > BAR_CELLS)
		cells = BAR_CELLS;
	flockfile(stderr);
	progress->cli->in_bar = true;
	fprintf(stderr, "\r%s [%-*.*s] %zu of %zu\033[K", progress->what, BAR_CELLS, cells, full,
		done, total);
	funlockfile(stderr);
}

void progress_wait(struct progress *progress)
{
	flockfile(stderr);
	if (progress_due(progress)) {
		progress->cli->in_bar = true;
		fprintf(stderr, "\r%.60s, %lld s\033[K", progress->what,
			(long long)((clock_ms() - progress->since_ms) / 1000));
	}
	funlockfile(stderr);
}

void progress_end(struct progress *progress)
{
	if (!progress->cli)
		return;
	flockfile(stderr);
	if (progress->cli->in_bar)
		fputs("\r\033[K", stderr);
	progress->cli->in_bar = false;
	funlockfile(stderr);
}

void progress_off(struct progress *progress)
{
	if (!progress->cli)
		return;
	flockfile(stderr);
	progress->off = true;
	progress_end(progress);
	funlockfile(stderr);
}
