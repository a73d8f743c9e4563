/* SPDX-License-Identifier: MIT */
/*
 * speak.h: what the verbs print, for people and for programs: colours, tables, sentences, questions,
 * progress. Part of cli.h, which includes it.
 */
#ifndef RYE_CLI_SPEAK_H
#define RYE_CLI_SPEAK_H

#include "base/json.h"

#include <rye/rye.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct cli;

/* ---- color.c: of standard output ---- */

enum color { COLOR_END, COLOR_HEAD, COLOR_FAINT, COLOR_GOOD, COLOR_DOUBT, COLOR_BAD, COLOR_PLACE };
/* What is printed before such text, COLOR_END behind it; "" where there are no colours. */
const char *color(const struct cli *cli, enum color which);
/* Does a person read it, so that it may be laid out for one? */
bool color_person(const struct cli *cli);
int color_check(struct cli *cli); /* is --color one that there is? exit status */
void color_diff(const struct cli *cli, FILE *to, const char *text); /* lines of diff -u */

/* ---- speak.c ---- */

struct out_column {
	const char *key, *head; /* the first one's head "": without heads, indented */
	bool right;
	int most; /* a wider cell moves its own line alone; 0: the column is as wide as it wants */
	const char *tint; /* of its cells: the row's member with an enum color; or NULL */
};
/* cli NULL: without colours. */
void out_table(const struct cli *cli, FILE *to, const json_t *rows,
	       const struct out_column *columns, size_t n);

/* "what; did you mean instead?", with the command as it was typed but for that word. */
int cli_misspelt(struct cli *cli, const char *word, const char *instead, const char *what);
struct cli_question {
	const char *text, *mend; /* mend: with --yes, where no terminal can be asked */
	const char *about, *otherwise; /* "NAME", "is as it was": said after a no */
};
/* Asks a person, unless --yes was said. CLI_OK: yes; or an exit status. */
int cli_asks(struct cli *cli, const struct cli_question *question);
/* A remark on stderr, unless -q. */
void cli_note(struct cli *cli, const char *format, ...) RYE_PRINTF(2, 3);

/* Text from files and names, with control characters made visible. */
void out_text(FILE *to, const char *text);
/*
 * What a model has said, in pieces as they come: on a terminal without what would steer it; elsewhere
 * byte for byte. A character that has come in part waits for the rest.
 */
struct said {
	char tail[4];
	size_t n;
};
void said_put(struct said *said, struct rye_span text);
void said_blob(const struct rye_blob *blob); /* all of it, with a newline at its end */
/* One JSON value and a newline; indented when a person reads it. */
void out_json(const json_t *value);
/* {"status": "success", key: value}, or "value sentence" (NULL: nothing) for people. CLI_OK. */
int out_success(struct cli *cli, const char *key, const char *value, const char *sentence);
/* An array of objects: as JSON with --json, else a table; none: remark on an empty one, or NULL. CLI_OK. */
int out_rows(struct cli *cli, const json_t *rows, const struct out_column *columns, size_t n,
	     const char *none);
void ago_spoken(int64_t seconds, char ret[40]); /* "just now", "3 min ago", "5 days ago" */
int64_t ago_of(const char *stamp); /* seconds since a time of a row; -1: it is none */
void out_blob(FILE *to, const struct rye_blob *blob); /* with a newline at its end */

/* ---- progress.c ---- */

/* Draws when it has lasted longer than a second and stderr is a terminal. */
struct progress {
	struct cli *cli;
	const char *what; /* "verifying" */
	int64_t since_ms, drawn_ms;
	bool off; /* something else is printed there now */
};
void progress_start(struct progress *progress, struct cli *cli, const char *what);
void progress_step(struct progress *progress, size_t done, size_t total);
void progress_wait(struct progress *progress); /* of what ends at a time that is not known */
void progress_end(struct progress *progress);
void progress_off(struct progress *progress); /* and nothing more is drawn */

#endif
