/* SPDX-License-Identifier: MIT */
/*
 * A thread there has handed over: the one that goes on is begun here, as a runner of its own, whose order names the
 * files that the first has left as its project. Both ends know its id by that of the first, so a runner that was killed
 * over this begins the same one. One thread.
 */
#include "away/away_inner.h"

#include "api/api.h"
#include "base/io.h"
#include "fork/fork.h"
#include "memory.h"
#include "policy/policy.h"
#include "scope.h"
#include "str.h"

/* The same again, with what is left of the money. */
static json_t *next_request(const struct away *away, struct db *ledger)
{
	json_t *request = json_deep_copy(away->request);
	json_t *limits = json_object_get(request, "limit_overrides");
	double spent = away->cost.spend, left = MAX_OF(0, away->order.reserve - spent);
	struct budget_row row;

	if (!ledger)
		return request;
	/* a person may have given it more meanwhile */
	if (!budget_get(ledger, away->id, &row, NULL))
		left = MAX_OF(0, row.remaining + row.actual - spent);
	if (!json_is_object(limits) && json_set(request, "limit_overrides", json_object()))
		limits = json_object_get(request, "limit_overrides");
	json_set(limits, "spend", json_real(left));
	return request;
}

/* What the chain has cost so far. */
static json_t *next_before(const struct away *away)
{
	struct thread_cost all;

	thread_cost_read(json_object_get(away->ask->doc, "before"), &all);
	thread_cost_add(&all, &away->cost);
	return thread_cost_json(&all);
}

struct next_funds {
	const struct away *away;
	struct db *ledger;
};

/* What it held of the money is the next one's. */
static int next_fund(void *arg, const char *thread_id, struct rye_err *err)
{
	const struct next_funds *funds = arg;
	const struct away *away = funds->away;
	int r = away->cost.spend > 0 ? money_spent(away, funds->ledger, away->cost.spend, err) : 0;

	return r ? r : budget_pass_on(funds->ledger, away->id, thread_id, err);
}

static int next_start(struct away *away, struct db *ledger, const char *next, struct rye_err *err)
{
	const json_t *doc = away->ask->doc;
	auto_json json_t *request = next_request(away, ledger), *before = next_before(away);
	auto_json json_t *reply = NULL;
	const char *parent = json_str(doc, "parent_id");
	struct next_funds funds = { away, ledger };
	const struct fork_ask ask = { .ref = away->order.ref,
				      .remote = away->remote.name,
				      .id = next,
				      .request = request,
				      .async = true,
				      .wake = -1,
				      .parent_id = *parent ? parent : NULL,
				      .previous_id = away->id,
				      .chain = 1 + (int)json_int(doc, "chain", 0),
				      .before = before,
				      .authority = json_object_get(doc, "authority"),
				      .fund = ledger ? next_fund : NULL,
				      .fund_arg = &funds };

	if (ask.chain > FORK_CHAIN_MAX)
		return rye_fail(err, RYE_BUDGET, "more than %d threads of one chain",
				FORK_CHAIN_MAX);
	/* or an earlier runner of this thread has begun it */
	return fork_start(engine_family(away->rye), &ask, &reply, err);
}

int away_hand_over(struct away *away, struct rye_err *err)
{
	char next[ID_UUID_MAX];
	struct db *ledger = NULL, *registry;
	int r = away->order.reserve > 0 ? money_ledger(away, &ledger, err) : 0;

	fork_next(away->id, next);
	if (!r)
		r = next_start(away, ledger, next, err);
	db_close(ledger);
	if (!r)
		r = threads_registry(engine_family(away->rye), true, &registry, err);
	return r ? r : registry_chain(registry, away->id, next, err);
}

int away_left(const struct away *away, char ret[SHA_HEX], struct rye_err *err)
{
	auto_close int dir =
		threads_dir(engine_family(away->rye), json_str(away->ask->doc, "previous_id"), err);
	auto_receipt struct receipt receipt = { .gen = 0 };
	auto_blob struct rye_blob *text = NULL;
	int r = dir < 0 ? dir : io_read_at(dir, "receipt.json", ORDER_MAX, &text);

	if (dir >= 0 && r)
		return rye_fail_sys(err, -r, "receipt.json");
	if (!r)
		r = receipt_read((struct rye_span){ text->data, text->len }, &receipt, err);
	if (!r)
		memcpy(ret, receipt.manifest, SHA_HEX);
	return r;
}
