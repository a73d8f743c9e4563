/* SPDX-License-Identifier: MIT */
/*
 * What a thread elsewhere may spend. Its limits are made here, of its directive and of what is above it, and the
 * order has them as overrides, so that the node holds it to them; its money is a row of the ledger, as that of
 * a thread that runs here. One thread.
 */
#include "away/away_inner.h"

#include "fork/fork.h"
#include "memory.h"
#include "policy/policy.h"
#include "scope.h"
#include "str.h"

#include <string.h>

static const char *money_project(const struct away *away)
{
	return json_str(json_object_get(away->ask->doc, "options"), "project");
}

int money_ledger(const struct away *away, struct db **ret, struct rye_err *err)
{
	const struct registry_ask where = { .project = money_project(away), .create = true };
	struct ledger_ask ask = { .project = where.project, .id = away->id };
	bool anew = false;
	int r = registry_of(&where, &ask.registry, err);

	if (r)
		return r;
	r = ledger_open(&ask, ret, &anew, err);
	db_close(ask.registry);
	return r;
}

static int money_limits(const struct away *away, const struct order *order, struct limits *ret,
			struct rye_err *err)
{
	const json_t *above =
		json_object_get(json_object_get(away->ask->doc, "authority"), "limits");
	struct item_ask what = { 0 };
	auto_item struct rye_item *item = NULL;
	auto_json json_t *config = NULL;
	struct limits parent;
	struct limits_ask ask = {
		.overrides = json_object_get(away->request, "limit_overrides"),
	};
	int r;

	what.kind = id_split(order->ref, &what.id);
	r = rye_load(away->items, &what, &item, err);
	if (!r)
		r = policy_config(away->items, "agent/resilience", &config, err);
	if (!r && above)
		r = limits_read(above, &parent, err);
	if (r)
		return r;
	ask.directive = meta_get(item, "limits");
	ask.defaults = json_object_get(json_object_get(config, "limits"), "defaults");
	ask.parent = above ? &parent : NULL;
	return limits_resolve(&ask, ret, err);
}

/* Of a root thread it may have; of a child that of its parent, or less. */
static int money_take(const struct away *away, const struct limits *limits, double *ret,
		      struct rye_err *err)
{
	const char *parent = json_str(away->ask->doc, "parent_id");
	const struct budget_ask ask = { .child = away->id,
					.parent = parent,
					.amount = limits->value[LIMIT_SPEND],
					.half = !limits->spend_declared };
	struct db *db = NULL;
	int r = money_ledger(away, &db, err);

	*ret = ask.amount;
	if (!r)
		r = *parent ? budget_reserve(db, &ask, ret, err) :
			      budget_root(db, away->id, ask.amount, err);
	db_close(db);
	return r ? rye_wrap(err, "Budget reservation failed") : 0;
}

int money_hold(struct away *away, struct order *order, struct rye_err *err)
{
	unsigned long since = memory_failures();
	struct limits limits;
	int r;

	if (!order->fork)
		return 0;
	r = money_limits(away, order, &limits, err);
	if (!r && limits.set[LIMIT_SPEND])
		r = money_take(away, &limits, &order->reserve, err);
	if (r)
		return r;
	limits.value[LIMIT_SPEND] = order->reserve;
	away->limits = json_object();
	for (int i = 0; i < LIMIT__MAX; i++)
		if (limits.set[i])
			json_set(away->limits, limit_name((enum limit)i),
				 json_real(limits.value[i]));
	order->limit_overrides = away->limits;
	return memory_check(since, err);
}

int money_change(const struct away *away, double most, struct rye_err *err)
{
	struct db *db = NULL;
	int r = away->order.reserve > 0 ? money_ledger(away, &db, err) : 0;

	if (!r && db)
		r = budget_change(db, away->id, most, err);
	db_close(db);
	return r;
}

int money_spent(const struct away *away, struct db *db, double spend, struct rye_err *err)
{
	struct budget_row row;
	int r = budget_get(db, away->id, &row, err);

	return r ? r : budget_spend(db, away->id, spend - row.actual, err);
}

void money_settle(const struct away *away, const char *status)
{
	struct rye_err err = { 0 };
	struct db *db = NULL;
	int r = away->order.reserve > 0 ? money_ledger(away, &db, &err) : 0;
	struct budget_row row;

	/* one that was begun elsewhere has held nothing here */
	if (!r && db && budget_get(db, away->id, &row, NULL))
		r = budget_root(db, away->id, away->order.reserve, &err);
	/* one that has handed over has told what it spent by then */
	if (!r && db && away->cost.spend > 0 && !away->handed)
		r = money_spent(away, db, away->cost.spend, &err);
	if (!r && db)
		r = budget_settle(db, away->id, status, &err);
	db_close(db);
	if (r)
		fprintf(stderr, "what it has spent is not in the ledger: %s\n", err.msg);
}
