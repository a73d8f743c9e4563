/* SPDX-License-Identifier: MIT */
/*
 * What `ryefs execute --fork` shows while it waits: how far the thread's model is, what it has cost
 * and which tool runs, as its transcript tells it. On a terminal one line that is drawn over and
 * over below what the model says; elsewhere a line for each thing, on standard error.
 *
 * The teller of the call's events prints the model's words and names the thread (forked_print,
 * forked_begun), the main thread does the rest. Lock: `lock`, of what both use.
 */
#include "cli/follow/follow.h"

#include "clock.h"
#include "scope.h"
#include "str.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* While words come the line would flicker. */
#define FORKED_QUIET_MS 300
#define FORKED_STEP (256u << 10)

void forked_open(struct forked *forked, struct cli *cli)
{
	*forked = (struct forked){ .cli = cli,
				   .terminal = isatty(STDERR_FILENO),
				   .asks = isatty(STDERR_FILENO) && isatty(STDIN_FILENO) };
	pthread_mutex_init(&forked->lock, NULL);
}

void forked_close(struct forked *forked)
{
	pthread_mutex_destroy(&forked->lock);
}

/* ---- the line; lock held ---- */

/* Behind words whose line has not ended it stands on the next one, and the cursor where it was. */
#define FORKED_BELOW "\0337\033[B\r"
#define FORKED_BACK "\0338"

static void forked_erase(struct forked *forked)
{
	if (forked->below)
		fputs(FORKED_BELOW "\033[K" FORKED_BACK, stderr);
	else if (forked->cli->in_bar)
		fputs("\r\033[K", stderr);
	fflush(stderr);
	forked->below = forked->cli->in_bar = false;
}

static int forked_width(void)
{
	struct winsize size;

	return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : 80;
}

/* "turn 2: sample_count_words; 1353 tokens in, 68 out, spend 0.0041" */
static void forked_line(const struct forked *forked, char *line, size_t size)
{
	snprintf(line, size, "turn %lld: %s; %lld tokens in, %lld out, spend %.4f",
		 (long long)forked->turn, *forked->tool ? forked->tool : "the model is asked",
		 (long long)forked->input, (long long)forked->output, forked->spend);
}

static void forked_draw(struct forked *forked)
{
	char line[256];

	forked_line(forked, line, sizeof(line));
	forked->below = forked->last && forked->last != '\n';
	forked->cli->in_bar = !forked->below;
	/* down and up again: on the last line of the screen that makes one more */
	fputs(forked->below ? "\033D\033[A" FORKED_BELOW : "\r", stderr);
	fprintf(stderr, "%.*s\033[K%s", forked_width() - 1, line, forked->below ? FORKED_BACK : "");
	fflush(stderr);
}

/* ---- what the transcript says; on the main thread ---- */

/* Elsewhere each thing is told once, as it happens. */
static void forked_tell(const struct forked *forked)
{
	char line[256];

	if (forked->terminal || forked->cli->opt.quiet)
		return;
	forked_line(forked, line, sizeof(line));
	fprintf(stderr, "%s\n", line);
}

/* What it waits for. */
static void forked_wait(struct forked *forked, const json_t *payload)
{
	const json_t *delay = json_object_get(payload, "delay");

	if (!json_flag(payload, "retryable", false) || forked->cli->opt.quiet)
		return;
	forked_erase(forked);
	cli_note(forked->cli, "asked again in %.0f s: %s", json_number_value(delay),
		 json_str(payload, "error"));
}

static void forked_count(struct forked *forked, const json_t *payload)
{
	const json_t *usage = json_object_get(payload, "usage");

	forked->input += json_int(usage, "input_tokens", 0);
	forked->output += json_int(usage, "output_tokens", 0);
	forked->spend += json_number_value(json_object_get(usage, "spend"));
}

static void forked_event(struct forked *forked, const char *type, const json_t *payload)
{
	if (!strcmp(type, "cognition_in")) {
		forked->turn = forked->answers + 1;
		*forked->tool = 0;
		forked_tell(forked);
	} else if (!strcmp(type, "cognition_out") || !strcmp(type, "error_classified")) {
		forked_count(forked, payload);
		forked->answers += json_object_get(payload, "finish_reason") != NULL;
		if (!strcmp(type, "error_classified"))
			forked_wait(forked, payload);
	} else if (!strcmp(type, "tool_call_start")) {
		snprintf(forked->tool, sizeof(forked->tool), "%.*s", (int)sizeof(forked->tool) - 1,
			 json_str(payload, "tool"));
		for (char *p = forked->tool; *p; p++)
			if ((unsigned char)*p <= ' ' || (unsigned char)*p > '~')
				*p = '?'; /* the model's word, not one of the tools' names */
		forked_tell(forked);
	}
}

/* Whole lines alone. */
static void forked_read(struct forked *forked)
{
	const struct rye_thread_part part = { forked->id, "transcript.jsonl", forked->off,
					      FORKED_STEP };
	auto_blob struct rye_blob *text = NULL;
	struct rye_span rest, line;
	const char *end;
	uint64_t size;

	if (rye_thread_read(forked->cli->rye, &part, &text, &size, NULL))
		return;
	end = memrchr(text->data, '\n', text->len);
	rest = (struct rye_span){ text->data, end ? (size_t)(end + 1 - text->data) : 0 };
	forked->off += rest.len;
	while (rest.len && span_line(&rest, &line)) {
		auto_json json_t *event = json_loadb(line.ptr, line.len, JSON_ALLOW_NUL, NULL);

		forked_event(forked, json_str(event, "event_type"),
			     json_object_get(event, "payload"));
	}
}

/* ---- what the two threads call ---- */

void forked_begun(struct forked *forked, struct rye_span id)
{
	GUARD(&forked->lock);
	snprintf(forked->id, sizeof(forked->id), "%.*s",
		 (int)MIN_OF(id.len, sizeof(forked->id) - 1), id.ptr);
}

void forked_print(struct forked *forked, struct rye_span text)
{
	GUARD(&forked->lock);
	forked_erase(forked);
	if (text.len)
		forked->last = text.ptr[text.len - 1];
	forked->text_ms = clock_ms();
	said_put(&forked->said, text);
	fflush(stdout);
}

/* Has it begun? Its id stays then as it is. */
static bool forked_known(struct forked *forked)
{
	GUARD(&forked->lock);
	return *forked->id;
}

bool forked_step(void *arg)
{
	struct forked *forked = arg;

	if (!forked_known(forked))
		return true;
	forked_read(forked);
	if (!forked->terminal || forked->cli->opt.quiet || !forked->turn || forked->asked)
		return true;
	GUARD(&forked->lock);
	if (clock_ms() - forked->text_ms >= FORKED_QUIET_MS)
		forked_draw(forked);
	return true;
}

void forked_end(struct forked *forked)
{
	if (forked_known(forked))
		forked_read(forked);
	GUARD(&forked->lock);
	forked_erase(forked);
}

bool forked_signal(struct forked *forked)
{
	struct rye_err err = { 0 };

	if (!forked->asks || !forked_known(forked))
		return false;
	if (forked->asked) {
		fputc('\n', stderr);
		forked->cancelled = true;
		return !rye_thread_ctl(forked->cli->rye, forked->id, span_of("cancel"), NULL, &err);
	}
	forked->asked = true;
	GUARD(&forked->lock);
	forked_erase(forked);
	fprintf(stderr,
		"\nthe thread is at work: ^C again cancels it, Enter leaves it to itself\n");
	return true;
}

bool forked_left(struct forked *forked)
{
	char line[256];

	return read(STDIN_FILENO, line, sizeof(line)) > 0 && line[0] == '\n';
}
