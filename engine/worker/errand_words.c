/* SPDX-License-Identifier: MIT */
/*
 * errand_words.c: what is said to a run that goes on. Its worker passes each word on to the run's own runner, as
 * `ctl` of a thread does, and writes down what that answered: the speaker waits for it, and a worker that takes the run
 * up sees by it which words were passed on. On the worker's thread.
 */
#include "worker/worker_inner.h"

#include "base/io.h"
#include "clock.h"
#include "scope.h"
#include "str.h"

#include <fcntl.h>
#include <unistd.h>

/* A file of answers is short: a word is written by a person, or by a program for one. */
#define ANSWERS_MAX (1u << 20)

void errand_words_again(struct errand *errand)
{
	auto_close int dir = threads_dir(errand->threads, errand->order.id, NULL);
	auto_blob struct rye_blob *text = NULL;

	errand->words = 0;
	if (dir < 0 || io_read_at(dir, BOARD_ANSWERS, ANSWERS_MAX, &text))
		return;
	for (size_t i = 0; i < text->len; i++)
		errand->words += text->data[i] == '\n';
}

static void word_answer(struct errand *errand, const char *error)
{
	auto_close int dir = threads_dir(errand->threads, errand->order.id, NULL);
	auto_close int fd = dir < 0 ? -1 :
				      openat(dir, BOARD_ANSWERS,
					     O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW,
					     0600);
	auto_json json_t *doc =
		json_pack("{s:I, s:s}", "word", (json_int_t)errand->words, "error", error);
	auto_buf struct rye_buf line = RYE_BUF_INIT;

	json_put(&line, doc, false);
	if (!line.failed && line.len && line.data[line.len - 1] != '\n')
		buf_adds(&line, "\n");
	if (fd >= 0 && !line.failed)
		(void)!write(fd, line.data, line.len);
}

/* What a person may say there; what concerns the thread here is done here. */
static bool word_is_told(struct rye_span text)
{
	return threads_is_told(text) || span_eq(text, "kill") || span_eq(text, "cancel");
}

/* What it may spend more is counted as what it was ordered with. */
static int word_money(struct errand *errand, const char *text, struct rye_err *err)
{
	static const char spend[] = "limit spend=";

	if (strncmp(text, spend, strlen(spend)) != 0)
		return 0;
	return errand_reserve_more(errand, strtod(text + strlen(spend), NULL), err);
}

static int word_hear(void *arg, const char *text)
{
	struct errand *errand = arg;
	struct rye_err err = { 0 };
	struct rye_span word = span_trim(span_of(text));
	int r;

	errand->words++;
	r = word_is_told(word) ? word_money(errand, text, &err) :
				 rye_fail(&err, RYE_INVALID,
					  "one of say, limit, handoff, cancel, kill is wanted");
	if (!r)
		r = threads_ctl(errand->threads, errand->order.id, word, &err);
	word_answer(errand, r ? err.msg : "");
	errand->look_at = 0; /* it is told at once */
	return 0;
}

int errand_renew(struct errand *errand, struct board_told *ret, struct rye_err *err)
{
	int r = board_renew(errand->worker->board, &errand->worker->seat, &errand->claim, ret, err);

	if (!r)
		errand->renew_at = clock_ms() + errand->worker->seat.lease_ms / 3;
	return r;
}

int errand_hear(struct errand *errand, struct rye_err *err)
{
	struct board_told told;
	int r = errand_renew(errand, &told, err);

	if (r)
		return r;
	/* it goes on: its effects are out already, and what comes of it is kept as late */
	if (told.gone || errand->ended)
		return 0;
	if (told.words > errand->words)
		r = board_words(errand->worker->board, errand->claim.id, errand->words, word_hear,
				errand, err);
	if (told.cancel && !errand->cancelled)
		errand->cancelled =
			!threads_ctl(errand->threads, errand->order.id, SPAN("cancel"), err);
	return r;
}
