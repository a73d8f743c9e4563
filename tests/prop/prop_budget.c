/* SPDX-License-Identifier: MIT */
/*
 * prop_budget.c - no money is lost or made in the ledger, whatever threads do at the same time.
 *
 * Random families reserve, spend and settle against a model in memory; then many processes do so
 * with one file, some of which die half-way. RYE_SEED replays a run.
 */
#include "db_place.h"
#include "told.h"
#include "random_steps.h"

#include "policy/policy.h"
#include "scope.h"

#include <errno.h>
#include <math.h>
#include <sys/wait.h>

#define ROUNDS 20
#define STEPS 120
#define THREADS 24
#define RACES 200
#define WRITERS 200
#define OPENINGS 20
#define OPENERS 12

static void ledger_make(struct db_place *p)
{
	db_place_make(p, "budget_ledger.db", budget_open);
}

static struct budget_row row_of(struct db *db, const char *id)
{
	struct budget_row row;
	struct rye_err err;

	if (budget_get(db, id, &row, &err))
		fail_msg("%s", err.msg);
	return row;
}

/* ---- one process, and what it should come to ---- */

struct model {
	int parent[THREADS];
	double own[THREADS], hold[THREADS], max[THREADS];
	bool alive[THREADS], there[THREADS];
};

static void name_of(int i, char ret[16])
{
	snprintf(ret, 16, "t%d", i);
}

/* What thread i and all below it have spent. */
static double spent(const struct model *m, int i, bool settled_alone)
{
	double sum = m->own[i];

	for (int k = i + 1; k < THREADS; k++)
		if (m->there[k] && m->parent[k] == i && !(settled_alone && m->alive[k]))
			sum += spent(m, k, settled_alone);
	return sum;
}

/* What living threads hold that no living thread below i holds for them. */
static double held(const struct model *m, int i)
{
	double sum = 0;

	for (int k = i + 1; k < THREADS; k++)
		if (m->there[k] && m->parent[k] == i)
			sum += m->alive[k] ? MAX_OF(m->max[k], spent(m, k, true)) : held(m, k);
	return sum;
}

static void compare(struct db *db, const struct model *m)
{
	char name[16];

	for (int i = 0; i < THREADS; i++) {
		struct budget_row row;

		if (!m->there[i])
			continue;
		name_of(i, name);
		row = row_of(db, name);
		assert_true(fabs(row.actual - spent(m, i, true)) < 1e-6);
		assert_true(fabs(row.tree - spent(m, i, false)) < 1e-6);
		assert_int_equal(!strcmp(row.status, "active"), m->alive[i]);
		if (m->alive[i])
			assert_true(fabs(row.remaining -
					 (m->max[i] - spent(m, i, true) - held(m, i))) < 1e-6);
	}
}

static void step_reserve(struct random *r, struct db *db, struct model *m)
{
	int parent = (int)random_below(r, THREADS - 1);
	int child = parent + 1 + (int)random_below(r, (size_t)(THREADS - 1 - parent));
	double left = m->max[parent] - spent(m, parent, true) - held(m, parent);
	double amount = (double)random_below(r, 1000) / 256;
	char name[16], above[16];
	int got;

	if (!m->there[parent] || m->there[child])
		return;
	name_of(child, name);
	name_of(parent, above);
	got = budget_reserve(db, &(struct budget_ask){ name, above, amount, false }, NULL, NULL);
	assert_int_equal(got, !m->alive[parent] ? -RYE_BUSY : amount > left ? -RYE_BUDGET : 0);
	if (got)
		return;
	m->there[child] = m->alive[child] = true;
	m->parent[child] = parent;
	m->max[child] = amount;
}

static void random_step(struct random *r, struct db *db, struct model *m)
{
	int i = (int)random_below(r, THREADS);
	double amount = (double)random_below(r, 300) / 256;
	char name[16];

	name_of(i, name);
	switch (random_below(r, 4)) {
	case 0:
	case 1:
		step_reserve(r, db, m);
		break;
	case 2:
		if (budget_spend(db, name, amount, NULL) == 0)
			m->own[i] += amount;
		else
			assert_false(m->alive[i]);
		break;
	default:
		if (i && m->there[i]) {
			assert_works(&told_err, budget_settle(db, name, "completed", &told_err));
			m->alive[i] = false;
		}
	}
}

static void families_keep_their_sums(void **state)
{
	struct random r = random_seed();

	for (int round = 0; round < ROUNDS; round++) {
		struct model m = { .max = { 16 } };
		struct db_place p;

		ledger_make(&p);
		m.there[0] = m.alive[0] = true;
		assert_works(&told_err, budget_root(p.db, "t0", 16, &told_err));
		for (int step = 0; step < STEPS; step++)
			random_step(&r, p.db, &m);
		compare(p.db, &m);
		db_place_drop(&p);
	}
}

/* ---- many processes ---- */

static int wait_all(int n)
{
	int good = 0, status;

	while (n--) {
		assert_true(wait(&status) > 0);
		assert_true(WIFEXITED(status));
		assert_true(WEXITSTATUS(status) <= 1);
		good += WEXITSTATUS(status) == 0;
	}
	return good;
}

/* 0: got it; 1: there was not enough; 2: anything else. */
static void racer(const char *path, const char *parent, const char *name)
{
	struct rye_err err = { 0 };
	struct db *db = NULL;
	int r = budget_open(path, &db, &err);

	if (!r)
		r = budget_reserve(db, &(struct budget_ask){ name, parent, 0.6, false }, NULL,
				   &err);
	if (r && r != -RYE_BUDGET)
		fprintf(stderr, "# %s\n", err.msg);
	_exit(!r ? 0 : r == -RYE_BUDGET ? 1 : 2);
}

static void thread_F17_two_children_race(void **state)
{
	struct db_place p;
	char name[32], parent[16];

	ledger_make(&p);
	for (int race = 0; race < RACES; race++) {
		name_of(race, parent);
		assert_works(&told_err, budget_root(p.db, parent, 1.0, &told_err));
		for (int i = 0; i < 2; i++) {
			snprintf(name, sizeof(name), "%s/%d", parent, i);
			if (fork() == 0)
				racer(p.path, parent, name);
		}
		assert_int_equal(wait_all(2), 1);
		assert_true(row_of(p.db, parent).remaining > 0.399);
	}
	db_place_drop(&p);
}

/* Begins when the gate is closed. */
static void opener(const char *path, const int gate[2])
{
	struct rye_err err = { 0 };
	struct db *db = NULL;
	char byte;
	int r = close(gate[1]) || read(gate[0], &byte, 1) != 0 || budget_open(path, &db, &err);

	if (r)
		fprintf(stderr, "# %s\n", err.msg);
	_exit(r ? 2 : 0);
}

/* The file is there for none of them, and all make it at once. */
static void many_make_one_file(void **state)
{
	for (int round = 0; round < OPENINGS; round++) {
		struct db_place p;
		int gate[2];

		ledger_make(&p);
		db_place_forget(&p);
		assert_int_equal(pipe(gate), 0);
		for (int i = 0; i < OPENERS; i++)
			if (fork() == 0)
				opener(p.path, gate);
		close(gate[0]);
		close(gate[1]);
		assert_int_equal(wait_all(OPENERS), OPENERS);
		assert_works(&told_err, budget_open(p.path, &p.db, &told_err));
		db_place_drop(&p);
	}
}

#define COST 0.25
#define TURNS 3

/* Every fourth one dies before it settles; every second one has a child of its own. */
static void writer(const char *path, int i)
{
	struct rye_err err = { 0 };
	struct db *db = NULL;
	char name[16], child[20];
	int r = budget_open(path, &db, &err);

	name_of(i, name);
	snprintf(child, sizeof(child), "%s/c", name);
	if (!r)
		r = budget_reserve(db, &(struct budget_ask){ name, "root", 2, false }, NULL, &err);
	for (int turn = 0; !r && turn < TURNS; turn++)
		r = budget_spend(db, name, COST, &err);
	if (!r && i % 2) {
		r = budget_reserve(db, &(struct budget_ask){ child, name, 1, false }, NULL, &err);
		if (!r)
			r = budget_spend(db, child, COST, &err);
		if (!r)
			r = budget_settle(db, child, "completed", &err);
	}
	if (!r && i % 4)
		r = budget_settle(db, name, "completed", &err);
	if (r)
		fprintf(stderr, "# %s\n", err.msg);
	_exit(r ? 2 : 0);
}

static int settle_lost(void *arg, const struct budget_row *row)
{
	char(*names)[1025] = arg;

	for (int i = 0; i < WRITERS; i++)
		if (!*names[i]) {
			snprintf(names[i], sizeof(names[i]), "%s", row->thread_id);
			return 0;
		}
	return 1;
}

static void many_writers(void **state)
{
	static char lost[WRITERS][1025];
	double want = WRITERS * TURNS * COST + WRITERS / 2 * COST;
	struct db_place p;

	ledger_make(&p);
	assert_works(&told_err, budget_root(p.db, "root", 2 * WRITERS, &told_err));
	for (int i = 0; i < WRITERS; i++)
		if (fork() == 0)
			writer(p.path, i);
	assert_int_equal(wait_all(WRITERS), WRITERS);
	assert_true(fabs(row_of(p.db, "root").tree - want) < 1e-6);
	memset(lost, 0, sizeof(lost));
	assert_works(&told_err, budget_each(p.db, true, settle_lost, lost, &told_err));
	for (int i = 0; i < WRITERS && *lost[i]; i++)
		if (strcmp(lost[i], "root") != 0)
			assert_works(&told_err, budget_settle(p.db, lost[i], "error", &told_err));
	assert_true(fabs(row_of(p.db, "root").actual - want) < 1e-6);
	assert_true(fabs(row_of(p.db, "root").remaining - (2 * WRITERS - want)) < 1e-6);
	db_place_drop(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(families_keep_their_sums),
		cmocka_unit_test(thread_F17_two_children_race),
		cmocka_unit_test(many_make_one_file),
		cmocka_unit_test(many_writers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
