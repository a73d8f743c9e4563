/* SPDX-License-Identifier: MIT */
/*
 * errand_news.c: what a model's thread has recorded while it goes on, as lines of BOARD_NEWS, which its asker
 * follows: first the records that it began with, under a receipt that names the key which signs them; then what it
 * has cost and its limits, whenever they change. On the worker's thread.
 */
#include "worker/worker_inner.h"

#include "base/io.h"
#include "bounds.h"
#include "hash.h"
#include "memory.h"
#include "scope.h"
#include "str.h"

#include <string.h>

/* Of a record that is told before the end; a longer one comes with the end alone. */
#define NEWS_FILE_MAX (1u << 20)
#define NEWS_PART (1u << 20)

/* *ret_hash: 0: it is not there, or is too long. */
static json_t *news_file(int dir, const char *name, uint64_t *ret_hash)
{
	auto_blob struct rye_blob *text = NULL;

	*ret_hash = 0;
	if (io_read_at(dir, name, NEWS_FILE_MAX, &text))
		return NULL;
	*ret_hash = hash_bytes(HASH_BASIS, text->data, text->len);
	return json_stringn(text->data, text->len);
}

static void put_file(json_t *doc, const char *name, json_t *text)
{
	json_t *files = json_object_get(doc, "files");

	if (!files && json_set(doc, "files", json_object()))
		files = json_object_get(doc, "files");
	json_set(files, name, text);
}

/* Its transcript was begun behind both files. */
static int put_begun(struct errand *errand, const struct threads_look *look, json_t *doc,
		     struct rye_err *err)
{
	static const char *const names[] = { "thread.json", "capabilities.md" };
	uint64_t hash;
	int r;

	if (errand->news.begun || !look->read.record)
		return 0;
	r = errand_receipt_begun(errand, look->read.record, err);
	if (r)
		return r;
	json_sets(doc, "receipt", errand->receipt.data);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		json_t *text = news_file(look->dir, names[i], &hash);

		if (text)
			put_file(doc, names[i], text);
	}
	errand->news.begun = true;
	return 0;
}

static void put_changed(struct errand_news *news, const struct threads_look *look, json_t *doc)
{
	uint64_t limits;
	json_t *text = news_file(look->dir, RECORD_LIMITS, &limits);

	if (text && limits != news->limits)
		put_file(doc, RECORD_LIMITS, text);
	else
		json_decref(text);
	news->limits = limits;
	if (look->links.cost.turns == news->cost.turns &&
	    look->links.cost.spend <= news->cost.spend)
		return;
	news->cost = look->links.cost;
	json_set(doc, "cost", thread_cost_json(&news->cost));
}

static int news_make(struct errand *errand, struct rye_err *err)
{
	__attribute__((cleanup(threads_look_done))) struct threads_look look = THREADS_LOOK_INIT;
	unsigned long since = memory_failures();
	auto_json json_t *doc = json_object();
	int r = threads_look(errand->threads, errand->order.id, HAS_RECORD, &look, err);

	if (!r)
		r = put_begun(errand, &look, doc, err);
	if (r)
		return r;
	put_changed(&errand->news, &look, doc);
	if (json_object_size(doc)) {
		json_put(&errand->news.line, doc, false);
		buf_addc(&errand->news.line, '\n');
	}
	return memory_check(since, err);
}

/* A line is told whole and stays the same until it is: the answer of the board may be lost. */
static int news_tell(struct errand *errand, struct rye_err *err)
{
	struct errand_news *news = &errand->news;
	const struct board_part part = { errand->claim.id, BOARD_NEWS, news->at };
	int r;

	if (!news->line.len)
		return 0;
	r = board_write(errand->worker->board, &errand->claim, &part, buf_span(&news->line), err);
	if (r)
		return r;
	news->at += (int64_t)news->line.len;
	buf_clear(&news->line);
	return 0;
}

int errand_news(struct errand *errand, struct rye_err *err)
{
	struct errand_news *news = &errand->news;
	bool same = news->story == errand->story && news->answers == errand->answers;
	int r = 0;

	if (!errand->order.fork || !errand->story)
		return 0;
	if (!news->line.len && !same) {
		news->story = errand->story;
		news->answers = errand->answers;
		r = news_make(errand, err);
	}
	return r ? r : news_tell(errand, err);
}

int errand_news_again(struct errand *errand, struct rye_err *err)
{
	for (;;) {
		const struct board_part part = { errand->claim.id, BOARD_NEWS, errand->news.at };
		auto_buf struct rye_buf bytes = RYE_BUF_INIT;
		int r = board_read(errand->worker->board, &part, NEWS_PART, &bytes, err);

		if (r || !bytes.len)
			return r;
		errand->news.at += (int64_t)bytes.len;
	}
}
