/* SPDX-License-Identifier: MIT */
/*
 * table.c - runs one .test file through a table_NAME.c (see table.h).
 *
 * Prints TAP, one line a group, so that every group counts as a test; the
 * comment above it is its name. A file without groups, or one whose last group
 * is short, is a failure.
 */
#include "table/table.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Longer than any line a person would write by hand. */
#define LINE_MAX_BYTES 16384

struct group {
	char line[3][LINE_MAX_BYTES];
	char title[80]; /* the last comment line */
	int have; /* lines read so far */
	int first; /* where it begins in the file */
};

static int unhex(const char *s)
{
	char pair[3] = { s[0], s[0] ? s[1] : 0, 0 };
	char *end;
	long v = strtol(pair, &end, 16);

	return end == pair + 2 ? (int)v : -1;
}

/* Replaces one escape at s[1]; returns how many bytes of source it took. */
static size_t unescape_one(const char *s, char *out)
{
	static const char from[] = "nt\\\"0r";
	static const char to[] = "\n\t\\\"\0\r";
	const char *at = s[1] ? strchr(from, s[1]) : NULL;

	if (s[0] == '\\' && at) {
		*out = to[at - from];
		return 2;
	}
	if (s[0] == '\\' && s[1] == 'x' && unhex(s + 2) >= 0) {
		*out = (char)unhex(s + 2);
		return 4;
	}
	*out = s[0];
	return 1;
}

static struct table_text unescape(char *s)
{
	size_t n = 0;

	if (strcmp(s, "-") == 0)
		*s = 0;
	for (size_t i = 0; s[i]; n++) {
		char c;

		i += unescape_one(s + i, &c);
		s[n] = c;
	}
	s[n] = 0;
	return (struct table_text){ .bytes = s, .len = n };
}

static bool run_group(struct group *g, int number)
{
	static const size_t out_size = LINE_MAX_BYTES;
	char *shown = strdup(g->line[0]);
	char *out = calloc(1, out_size);
	bool ok = false;

	if (shown && out) {
		struct table_text input = unescape(g->line[0]);
		struct table_text context = unescape(g->line[1]);

		table_answer(input, context, out, out_size);
		ok = strcmp(out, g->line[2]) == 0;
	}
	printf("%s %d - %s (line %d): %.60s\n", ok ? "ok" : "not ok", number, g->title, g->first,
	       shown);
	if (!ok)
		printf("# input   %s\n# wanted  %s\n# got     %s\n", shown, g->line[2], out);
	free(shown);
	free(out);
	return ok;
}

static int run_file(FILE *f)
{
	struct group *g = calloc(1, sizeof(*g));
	char line[LINE_MAX_BYTES];
	int groups = 0, failed = 0;

	for (int n = 1; g && fgets(line, sizeof(line), f); n++) {
		line[strcspn(line, "\n")] = 0;
		if (!g->have && line[0] == '#')
			snprintf(g->title, sizeof(g->title), "%.79s", line + 1 + (line[1] == ' '));
		if (!g->have && (!line[0] || line[0] == '#'))
			continue;
		if (!g->have)
			g->first = n;
		memcpy(g->line[g->have++], line, strlen(line) + 1);
		if (g->have < 3)
			continue;
		failed += !run_group(g, ++groups);
		g->have = 0;
	}
	if (!g || g->have)
		printf("not ok %d - line %d: the last group is short\n", ++groups,
		       g ? g->first : 0);
	printf("1..%d\n", groups);
	failed += !g || g->have;
	free(g);
	return groups && !failed ? 0 : 1;
}

int main(int argc, char **argv)
{
	FILE *f = argc == 2 ? fopen(argv[1], "r") : NULL;
	int rc;

	if (!f) {
		fprintf(stderr, "cannot read %s\n", argc == 2 ? argv[1] : "(no .test file named)");
		return 1;
	}
	rc = run_file(f);
	fclose(f);
	return rc;
}
