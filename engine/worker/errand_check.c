/* SPDX-License-Identifier: MIT */
/*
 * errand_check.c: what a worker makes sure of before anything of an order is run: its signature, by the key that
 * this node's own file of the principal names, its node and its date; that the board's row says the same;
 * the money. A door that was deceived, or a hand in the database, gets nothing run by it.
 */
#include "worker/worker_inner.h"

#include "scope.h"
#include "str.h"

#include <time.h>

/* The row is another order's, or another principal's. */
static int row_agrees(const struct errand *errand, struct rye_err *err)
{
	const struct order *order = &errand->order;

	if (strcmp(order->id, errand->claim.id) != 0 ||
	    strcmp(order->sha, errand->claim.sha) != 0 ||
	    strcmp(order->asker, errand->claim.principal) != 0)
		return rye_fail(err, RYE_BAD_SIGNATURE,
				"the row of run %s does not say what its order says",
				errand->claim.id);
	if (errand->claim.gen > 1 && !order->again)
		return rye_fail(err, RYE_STATE,
				"run %s was begun before, and its order does not allow it again",
				errand->claim.id);
	return 0;
}

/* The row's labels say where it is offered; the order's own, where its asker wants it. */
static int labels_agree(const struct errand *errand, struct rye_err *err)
{
	const json_t *have = errand->worker->node->labels;
	json_t *label;
	size_t i;

	json_array_foreach((json_t *)errand->order.labels, i, label)
		if (!json_lists(have, json_string_value(label)))
			return rye_fail(err, RYE_DENIED,
					"the order is for workers with the label %s",
					json_string_value(label));
	return 0;
}

/* So much more, on the board and on this machine; or on neither. */
static int reserve_spend(struct errand *errand, const struct principal *who, double spend,
			 struct rye_err *err)
{
	struct board_used more = { .spend = spend }, back = { .spend = -spend };
	int r = spend > 0 ? board_spend(errand->worker->board, who->key.fp, &more,
					who->spend_month > 0 ? who->spend_month : -1, err) :
			    0;

	if (r)
		return r;
	r = executed_spend(errand->worker->executed, who->key.fp, &more, who, err);
	if (!r)
		errand->reserved += spend;
	else if (spend > 0)
		board_spend(errand->worker->board, who->key.fp, &back, -1, NULL);
	return r;
}

/* Counted before it is begun; what it has not used goes back with the receipt. */
static int errand_reserve(struct errand *errand, const struct principal *who, struct rye_err *err)
{
	struct board_used used;
	int r = 0;

	if (who->seconds)
		r = board_account(errand->worker->board, who->key.fp, NULL, &used, err);
	if (!r && who->seconds && used.seconds >= (double)who->seconds)
		return rye_fail(err, RYE_BUDGET, "%.0f of %lld seconds of this month are used",
				used.seconds, (long long)who->seconds);
	return r ? r : reserve_spend(errand, who, errand->order.reserve, err);
}

int errand_reserve_more(struct errand *errand, double most, struct rye_err *err)
{
	auto_principal struct principal who = { 0 };
	int r = principal_load(errand->worker->node, errand->order.asker, &who, err);

	return r || !(most > errand->reserved) ?
		       r :
		       reserve_spend(errand, &who, most - errand->reserved, err);
}

/* The envelope that was signed, with what is sealed beside it put back. */
static int errand_read(struct errand *errand, struct rye_err *err)
{
	int r = order_read((struct rye_span){ errand->body->data, errand->body->len },
			   &errand->order, err);

	if (!r && errand->sealed)
		errand->order.sealed = errand->sealed->data;
	return r;
}

int errand_check(struct errand *errand, bool begun, struct principal *who, struct rye_err *err)
{
	struct order_want want = { .node = errand->worker->node->card.sign.fp,
				   .now = (int64_t)time(NULL) };
	int r = errand_read(errand, err);

	if (!r)
		r = principal_load(errand->worker->node, errand->order.asker, who, err);
	if (r)
		return r;
	want.key = who->key.bytes;
	r = order_check(&errand->order, &want, err);
	if (!r)
		r = row_agrees(errand, err);
	if (!r)
		r = labels_agree(errand, err);
	if (r || !begun)
		return r ? r : errand_reserve(errand, who, err);
	/* its worker has reserved it before it began it */
	errand->reserved = errand->order.reserve;
	return 0;
}
