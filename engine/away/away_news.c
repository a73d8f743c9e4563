/* SPDX-License-Identifier: MIT */
/*
 * What a thread elsewhere has recorded so far, while it goes on: its first records, which a key signs that a receipt of
 * the pinned node names, what it has cost, its limits. They are shown here as those of a thread that runs here; what
 * counts in the end is its last receipt. One thread.
 */
#include "away/away_inner.h"

#include "api/api.h"
#include "base/io.h"
#include "board/board.h"
#include "memory.h"
#include "scope.h"
#include "str.h"

#include <string.h>

/* Of a line: two records of a megabyte each, escaped. */
#define NEWS_LINE_MAX (8u << 20)

/* The key counts for this thread alone. False: nothing is shown that it has signed. */
static bool news_vouch(const struct away *away, const json_t *doc)
{
	const struct receipt_want want = { .node = &away->link.pin.key,
					   .id = away->id,
					   .order = away->order.sha,
					   .begun = true };
	auto_receipt struct receipt receipt = { .gen = 0 };
	const char *text = json_str(doc, "receipt");

	return *text && !receipt_read(span_of(text), &receipt, NULL) &&
	       !receipt_check(&receipt, &want, NULL) && *receipt.signer &&
	       !away_vouch(away, &receipt, NULL);
}

static void news_files(const struct away *away, const json_t *doc)
{
	static const struct {
		const char *name;
		bool vouched; /* it is signed, or goes with what is */
	} rows[] = { { "thread.json", true },
		     { "capabilities.md", true },
		     { RECORD_LIMITS, false } };
	const json_t *files = json_object_get(doc, "files");
	bool vouched = news_vouch(away, doc);

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const json_t *text = json_object_get(files, rows[i].name);

		if (json_is_string(text) && (vouched || !rows[i].vouched))
			io_remember_at(away->ask->dir, rows[i].name,
				       (struct rye_span){ json_string_value(text),
							  json_string_length(text) },
				       0600);
	}
}

static void news_cost(struct away *away, const json_t *cost)
{
	struct thread_cost so_far;
	struct db *registry, *ledger = NULL;

	thread_cost_read(cost, &so_far);
	if (!threads_registry(engine_family(away->rye), true, &registry, NULL))
		registry_snapshot(registry, away->id, &so_far, NULL);
	if (away->order.reserve > 0 && !money_ledger(away, &ledger, NULL))
		money_spent(away, ledger, so_far.spend, NULL);
	db_close(ledger);
}

static void news_line(struct away *away, struct rye_span line)
{
	auto_json json_t *doc = json_parse(line, JSON_LOAD_LAST_WINS, BOARD_NEWS, NULL);

	news_files(away, doc);
	if (json_is_object(json_object_get(doc, "cost")))
		news_cost(away, json_object_get(doc, "cost"));
}

/* What is no news is left out: its end tells everything again. */
int away_news(void *arg, struct rye_span bytes, struct rye_err *err)
{
	struct away *away = arg;
	struct rye_buf *news = &away->news;
	size_t off = 0;
	const char *end;

	if (news->len + bytes.len > NEWS_LINE_MAX)
		return rye_fail(err, RYE_TOO_BIG, "%s: a line of " BOARD_NEWS " has over %u MiB",
				away->remote.name, NEWS_LINE_MAX >> 20);
	buf_addspan(news, bytes);
	if (news->failed)
		return memory_fail(err);
	while ((end = memchr(news->data + off, '\n', news->len - off))) {
		size_t next = (size_t)(end - news->data) + 1;

		news_line(away, (struct rye_span){ news->data + off, next - 1 - off });
		off = next;
	}
	memmove(news->data, news->data + off, news->len - off);
	buf_cut(news, news->len - off);
	return 0;
}
