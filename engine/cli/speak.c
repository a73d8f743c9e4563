/* SPDX-License-Identifier: MIT */
/*
 * How the verbs speak: tables and sentences for people, one JSON value for programs (--json),
 * remarks on stderr. Text that comes out of files never reaches a terminal with its control
 * characters. cli_note may be called from engine threads (the log).
 */
#include "cli/cli.h"

#include "clock.h"
#include "scope.h"
#include "str.h"

#include <stdarg.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Newlines stay, they are part of some messages' format, and tabs, which stand in files that are shown. */
void out_text(FILE *to, const char *text)
{
	struct rye_span s = span_of(text);
	uint32_t cp;
	size_t n;

	for (; s.len; s = span_skip(s, n)) {
		n = utf8_next(s, &cp);
		if ((n == 1 && !strchr("\n\t", *s.ptr) && utf8_unseen(cp)) || !n)
			fprintf(to, "\\x%02x", (unsigned char)*s.ptr);
		else if (n > 1 && utf8_unseen(cp))
			fprintf(to, "\\u%04x", cp);
		else
			fwrite(s.ptr, 1, n, to);
		n = n ? n : 1;
	}
}

/* ---- words of models, tools and servers ---- */

/* It would move the cursor, give commands to the terminal, or turn the order of what follows round. */
static bool said_steers(uint32_t cp)
{
	return (cp < 0x20 && cp != '\n' && cp != '\t') || (cp >= 0x7f && cp <= 0x9f) ||
	       cp == 0x61c || cp == 0x200e || cp == 0x200f || (cp >= 0x202a && cp <= 0x202e) ||
	       (cp >= 0x2066 && cp <= 0x2069);
}

/* The bytes that the character wants which begins with this one; 0: none begins so. */
static size_t said_wants(unsigned char byte)
{
	return byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc2 ? 2 : 0;
}

/* One character, or a byte that is none; how many bytes of s, 0: the rest of it has to come. */
static size_t said_next(struct rye_span s)
{
	uint32_t cp;
	size_t n = utf8_next(s, &cp);

	if (!n && s.len < said_wants((unsigned char)*s.ptr))
		return 0;
	if (!n)
		printf("\\x%02x", (unsigned char)*s.ptr);
	else if (!said_steers(cp))
		fwrite(s.ptr, 1, n, stdout);
	else if (cp != '\r')
		printf(cp < 0x100 ? "\\x%02x" : "\\u%04x", cp);
	return n ? n : 1;
}

void said_put(struct said *said, struct rye_span text)
{
	auto_buf struct rye_buf all = RYE_BUF_INIT;
	struct rye_span rest;
	size_t n = 1;

	if (!isatty(STDOUT_FILENO)) {
		fwrite(text.ptr, 1, text.len, stdout);
		return;
	}
	buf_add(&all, said->tail, said->n);
	buf_addspan(&all, text);
	for (rest = buf_span(&all); rest.len && n; rest = span_skip(rest, n))
		n = said_next(rest);
	said->n = MIN_OF(rest.len, sizeof(said->tail));
	memcpy(said->tail, rest.ptr, said->n);
}

void said_blob(const struct rye_blob *blob)
{
	struct said said = { .n = 0 };

	said_put(&said, (struct rye_span){ blob->data, blob->len });
	if (blob->len && blob->data[blob->len - 1] != '\n')
		putchar('\n');
}

static void out_cell(FILE *to, const char *text)
{
	struct rye_span s = span_of(text);
	uint32_t cp;
	size_t n;

	for (; s.len; s = span_skip(s, n)) {
		n = utf8_next(s, &cp);
		if (n && !utf8_unseen(cp))
			fwrite(s.ptr, 1, n, to);
		else
			putc(n == 1 ? ' ' : '?', to);
		n = n ? n : 1;
	}
}

void out_json(const json_t *value)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;

	if (isatty(STDOUT_FILENO))
		json_pretty(&text, value);
	else
		json_put(&text, value, true);
	if (!text.failed)
		said_put(&(struct said){ .n = 0 }, buf_span(&text));
}

void out_blob(FILE *to, const struct rye_blob *blob)
{
	fwrite(blob->data, 1, blob->len, to);
	if (blob->len && blob->data[blob->len - 1] != '\n')
		putc('\n', to);
}

/* A cell's text; numbers are spelt into buf. */
static const char *cell(const json_t *row, const char *key, char buf[32])
{
	const json_t *value = json_object_get(row, key);

	if (json_is_string(value))
		return json_string_value(value);
	if (json_is_integer(value))
		snprintf(buf, 32, "%lld", (long long)json_integer_value(value));
	else if (json_is_real(value))
		snprintf(buf, 32, "%.4f", json_real_value(value));
	else
		snprintf(buf, 32, "%s", json_is_true(value) ? "yes" : "");
	return buf;
}

/* Characters, not bytes; wide ones are rare in ids and cost only alignment. */
static int text_width(const char *text)
{
	return (int)utf8_count(span_of(text));
}

static int column_width(const json_t *rows, const struct out_column *column)
{
	int widest = text_width(column->head);
	const json_t *row;
	char buf[32];
	size_t i;

	json_array_foreach(rows, i, row) {
		int w = text_width(cell(row, column->key, buf));

		if (w > widest && (!column->most || w <= column->most))
			widest = w;
	}
	return widest;
}

/* One cell of a line, and the color that it has there. */
struct put_cell {
	const char *text;
	const char *tint, *end; /* printed before and behind it */
	int room;
	bool right, last;
};

static void put_cell(FILE *to, const struct put_cell *cell)
{
	int width = text_width(cell->text), pad = cell->room > width ? cell->room - width : 0;

	if (cell->right)
		fprintf(to, "%*s", pad, "");
	fputs(cell->tint, to);
	out_cell(to, cell->text);
	fputs(cell->end, to);
	if (cell->last)
		putc('\n', to);
	else
		fprintf(to, "%*s", cell->right ? 2 : pad + 2, "");
}

static const char *row_tint(const struct cli *cli, const json_t *row,
			    const struct out_column *column)
{
	enum color which = COLOR_END;

	if (!row)
		which = COLOR_HEAD;
	else if (column->tint)
		which = (enum color)json_int(row, column->tint, COLOR_END);
	return cli && which ? color(cli, which) : "";
}

/* row NULL: the heads. */
static void out_line(const struct cli *cli, FILE *to, const json_t *row,
		     const struct out_column *column, struct put_cell *at)
{
	char buf[32];

	at->text = row ? cell(row, column->key, buf) : column->head;
	at->tint = row_tint(cli, row, column);
	at->end = *at->tint ? color(cli, COLOR_END) : "";
	at->right = column->right;
	put_cell(to, at);
}

void out_table(const struct cli *cli, FILE *to, const json_t *rows,
	       const struct out_column *columns, size_t n)
{
	bool heads = *columns->head;
	struct put_cell at[8] = { 0 };
	const json_t *row;
	size_t i;

	for (size_t c = 0; c < n; c++)
		at[c] = (struct put_cell){ .room = column_width(rows, &columns[c]),
					   .last = c + 1 == n };
	for (size_t c = 0; c < n && heads; c++)
		out_line(cli, to, NULL, &columns[c], &at[c]);
	json_array_foreach(rows, i, row) {
		fputs(heads ? "" : "  ", to);
		for (size_t c = 0; c < n; c++)
			out_line(cli, to, row, &columns[c], &at[c]);
	}
}

int out_rows(struct cli *cli, const json_t *rows, const struct out_column *columns, size_t n,
	     const char *none)
{
	if (cli->opt.json)
		out_json(rows);
	else if (json_array_size(rows))
		out_table(cli, stdout, rows, columns, n);
	if (json_array_size(rows) == 0 && none)
		cli_note(cli, "%s", none);
	return CLI_OK;
}

int out_success(struct cli *cli, const char *key, const char *value, const char *sentence)
{
	auto_json json_t *answer = json_object();

	if (cli->opt.json) {
		json_sets(answer, "status", "success");
		json_sets(answer, key, value);
		out_json(answer);
	} else if (sentence) {
		out_text(stdout, value);
		printf(" %s\n", sentence);
	}
	return CLI_OK;
}

int cli_asks(struct cli *cli, const struct cli_question *question)
{
	char answer[16];

	if (cli->opt.yes)
		return CLI_OK;
	if (!isatty(STDIN_FILENO))
		return cli_complain(cli, CLI_DENIED, question->mend,
				    "it takes a yes, and standard input is not a terminal");
	out_text(stderr, question->text);
	fputs(" [y/N] ", stderr);
	if (fgets(answer, sizeof(answer), stdin) &&
	    (!strcasecmp(answer, "y\n") || !strcasecmp(answer, "yes\n")))
		return CLI_OK;
	return cli_complain(cli, CLI_DENIED, NULL, "%s %s", question->about, question->otherwise);
}

void cli_note(struct cli *cli, const char *format, ...)
{
	char message[1024];
	va_list args;

	if (cli->opt.quiet)
		return;
	va_start(args, format);
	vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	flockfile(stderr);
	if (cli->in_bar)
		fputs("\r\033[K", stderr);
	out_text(stderr, message);
	putc('\n', stderr);
	funlockfile(stderr);
}

/* ---- how long ago ---- */

#define MINUTE 60
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)

void ago_spoken(int64_t seconds, char ret[40])
{
	static const struct {
		int64_t below, unit;
		const char *one, *many;
	} rows[] = {
		{ HOUR, MINUTE, "min", "min" },
		{ DAY, HOUR, "hour", "hours" },
		{ INT64_MAX, DAY, "day", "days" },
	};
	size_t i = 0;
	long long n;

	if (seconds < MINUTE) {
		snprintf(ret, 40, seconds < 10 ? "just now" : "%lld s ago", (long long)seconds);
		return;
	}
	while (seconds >= rows[i].below)
		i++;
	n = seconds / rows[i].unit;
	snprintf(ret, 40, "%lld %s ago", n, n == 1 ? rows[i].one : rows[i].many);
}

int64_t ago_of(const char *stamp)
{
	struct timespec at, now;

	if (!stamp || !clock_iso_read(stamp, &at))
		return -1;
	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec > at.tv_sec ? now.tv_sec - at.tv_sec : 0;
}
