/* SPDX-License-Identifier: MIT */
/*
 * Background verification. Workers share one cursor over the index and take a handful of items
 * at a time; when the cursor is back at the start the round is over, and the work is done when
 * a round found nothing unknown. `lock` guards the state below; it is not held while verifying.
 */
#include "api/api_inner.h"

#include "clock.h"
#include "memory.h"
#include "scope.h"

#include <stdatomic.h>
#include <unistd.h>

#define WORKERS_MAX 8
#define HANDFUL 32
/* Items that never become known (a file that vanished unseen) end the work, too. */
#define ROUNDS_MAX 4
/* A burst of edits is verified once, after it. */
#define SETTLE_MS 50
/* Between an item and the next one while lookups come. */
#define ROOM_US 300

struct prefetch {
	struct prefetch_env env;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	pthread_t workers[WORKERS_MAX];
	int n_workers, busy, rounds;
	size_t cursor, found; /* of the round under way */
	bool todo, in_round, stop, done;
	int64_t not_before_ms; /* a kick's settling time */
	int64_t poll_ms; /* when to poll again */
};

enum prefetch_act { ACT_STOP, ACT_VERIFY, ACT_POLL };

/* The round is over; is there to be another? */
static void end_round(struct prefetch *p)
{
	p->in_round = false;
	if (p->found && ++p->rounds < ROUNDS_MAX)
		return;
	p->todo = false;
	p->done = true;
}

/* One thing to do, or false after a sleep; lock held. */
static bool prefetch_choose(struct prefetch *p, struct index_ref *refs, size_t *ret_n,
			    enum prefetch_act *ret)
{
	int64_t now = clock_ms();

	if (p->stop) {
		*ret = ACT_STOP;
		return true;
	}
	if (now >= p->poll_ms) {
		p->poll_ms = now + PREFETCH_POLL_S * 1000;
		*ret = ACT_POLL;
		return true;
	}
	if (!p->todo || now < p->not_before_ms) {
		clock_cond_wait(&p->wake, &p->lock,
				(p->todo ? p->not_before_ms : p->poll_ms) * NS_PER_MS);
		return false;
	}
	if (p->in_round && !p->cursor) {
		/* What other workers still verify would be found unknown again. */
		if (p->busy)
			clock_cond_wait(&p->wake, &p->lock, (now + SETTLE_MS) * NS_PER_MS);
		else
			end_round(p);
		return false;
	}
	if (!p->in_round)
		p->found = 0;
	p->in_round = true;
	*ret = ACT_VERIFY;
	*ret_n = index_unknown(p->env.index, &p->cursor, refs, HANDFUL);
	p->found += *ret_n;
	p->busy += *ret_n > 0;
	return *ret_n > 0;
}

/*
 * A reader's request would find these threads on every processor, and wait for one: so each item
 * waits until no lookup has come for a moment. A lower class of the scheduler's would not do: such
 * a thread keeps the locks that it shares with those that answer, of the index, the store and malloc,
 * for as long as others leave it no time, hundreds of ms on a busy machine (tests/e2e/fresh.sh).
 */
static void prefetch_yield(struct prefetch *p, uint64_t *asked)
{
	uint64_t now = atomic_load(p->env.asked);

	if (now != *asked)
		usleep(ROOM_US);
	*asked = now;
}

static void prefetch_verify(struct prefetch *p, const struct index_ref *refs, size_t n)
{
	uint64_t asked = atomic_load(p->env.asked);

	for (size_t i = 0; i < n; i++) {
		struct index_item item;

		prefetch_yield(p, &asked);
		if (!index_item(p->env.index, refs[i].kind, refs[i].id, &item))
			continue;
		cache_know(p->env.cache, &item, NULL);
		index_state_done(&item.state);
	}
	GUARD(&p->lock);
	if (!--p->busy)
		pthread_cond_broadcast(&p->wake);
}

static void *prefetch_work(void *arg)
{
	struct prefetch *p = arg;
	auto_free struct index_ref *refs = calloc(HANDFUL, sizeof(*refs));
	enum prefetch_act act = refs ? ACT_VERIFY : ACT_STOP;
	size_t n = 0;

	while (act != ACT_STOP) {
		bool chosen = false;

		{
			GUARD(&p->lock);
			chosen = prefetch_choose(p, refs, &n, &act);
		}
		if (chosen && act == ACT_VERIFY)
			prefetch_verify(p, refs, n);
		else if (chosen && act == ACT_POLL)
			p->env.poll(p->env.arg);
		else if (!chosen)
			act = ACT_VERIFY;
	}
	return NULL;
}

int prefetch_open(const struct prefetch_env *env, struct prefetch **ret, struct rye_err *err)
{
	struct prefetch *p = calloc(1, sizeof(*p));

	if (!p)
		return memory_fail(err);
	p->env = *env;
	p->todo = true;
	p->poll_ms = clock_ms() + PREFETCH_POLL_S * 1000;
	pthread_mutex_init(&p->lock, NULL);
	clock_cond_init(&p->wake);
	while (p->n_workers < env->threads && p->n_workers < WORKERS_MAX &&
	       pthread_create(&p->workers[p->n_workers], NULL, prefetch_work, p) == 0)
		p->n_workers++;
	if (!p->n_workers) {
		prefetch_close(p);
		return rye_fail(err, RYE_IO, "cannot start the prefetcher's threads");
	}
	*ret = p;
	return 0;
}

void prefetch_stop(struct prefetch *p)
{
	if (!p)
		return;
	{
		GUARD(&p->lock);
		p->stop = true;
		pthread_cond_broadcast(&p->wake);
	}
	while (p->n_workers)
		pthread_join(p->workers[--p->n_workers], NULL);
}

void prefetch_close(struct prefetch *p)
{
	if (!p)
		return;
	prefetch_stop(p);
	pthread_cond_destroy(&p->wake);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

void prefetch_kick(struct prefetch *p)
{
	GUARD(&p->lock);
	/* the workers that wait for changes to settle look at the time themselves */
	if (!p->todo)
		pthread_cond_broadcast(&p->wake);
	p->todo = true;
	p->rounds = 0;
	p->not_before_ms = clock_ms() + SETTLE_MS;
}

bool prefetch_done(struct prefetch *p)
{
	bool done = false;

	GUARD(&p->lock);
	done = p->done;
	return done;
}
