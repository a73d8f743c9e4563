/* SPDX-License-Identifier: MIT */
/*
 * The pools: which parents there are, how many children wait, which call gets one. The pools'
 * thread starts parents, keeps children ready and closes idle pools; a worker that wants a child
 * takes one under the lock or, when one is just being made, waits a moment for it. The thread that
 * drops the last reference to a pool frees it.
 */
#include "warm/warm.h"

#include "base/sha.h"
#include "clock.h"
#include "sandbox/sandbox.h"
#include "scope.h"
#include "warm/warm_inner.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* Milliseconds a call waits for a child that is being forked; a new process takes longer. */
#define PATIENCE_MS 30
/* A fork of a parent makes its pages copy-on-write and flushes TLBs on every processor: while
 * others wait ready, the next one is made when the call that took one is over. */
#define REFILL_MS 4

/*
 * The end of an interpreter keeps a processor for half a millisecond, and a disk is asked to forget
 * its directory: not while the caller goes on with its answer.
 */
#define LINGER_MS 4

/* Spoiled: no call gets its children any more; the pools' thread lets it go. */
enum pool_state { POOL_WANTED, POOL_UP, POOL_SPOILED, POOL_OVER };

/* One row for each sort of long-lived child. */
static const struct warm_protocol *const protocols[] = { &warm_python, &warm_node };

/* NULL: the plan names none of ours, or does not fit it. */
static const struct warm_protocol *protocol_of(const struct plan *plan)
{
	const char *name = program_of(plan)->warm;

	for (size_t i = 0; name && i < ARRAY_SIZE(protocols); i++)
		if (!strcmp(protocols[i]->name, name))
			return protocols[i]->loader_at(plan) ? protocols[i] : NULL;
	return NULL;
}

struct warm_pool {
	const struct warm_protocol *protocol;
	char key[SHA_HEX];
	struct plan plan; /* what the parent is started with; frozen */
	struct program program; /* its own part */
	struct warm_parent parent; /* the pools' thread's alone */
	enum pool_state state;
	struct warm_worker ready[RYE_WARM_READY];
	size_t nready, waiting; /* callers that wait for a child */
	struct warm_texts texts;
	size_t taken; /* children out with callers, and one while it is in the list */
	int64_t used_ms;
	struct warm_pool *next;
};

/* A worker whose call is over; it goes as soon as its control socket is closed. */
struct dropped {
	struct dropped *next;
	struct warm_worker worker;
	bool busy;
	int64_t at_ms;
};

struct warm {
	pthread_mutex_t lock; /* everything below, and the pools but for their parents */
	pthread_cond_t work, ready; /* for the thread; for callers */
	struct warm_pool *pools;
	struct spares spares;
	struct dropped *dropped, **dropped_end; /* oldest first */
	char missed[SHA_HEX]; /* the last key that no pool had */
	char failed[SHA_HEX]; /* the last key whose parent was of no use, and when */
	int64_t failed_ms;
	const struct plan_base *base;
	pthread_t thread;
	bool running, stopping;
	bool bound; /* the thread is, by boxes_bound_thread; its own */
};

int warm_open(const struct plan_base *base, struct warm **ret, struct rye_err *err)
{
	struct warm *warm = calloc(1, sizeof(*warm));

	if (!warm)
		return rye_fail_sys(err, ENOMEM, "warm interpreters");
	warm->base = base;
	warm->dropped_end = &warm->dropped;
	pthread_mutex_init(&warm->lock, NULL);
	clock_cond_init(&warm->work);
	clock_cond_init(&warm->ready);
	*ret = warm;
	return 0;
}

bool warm_is_of_call(const struct plan *plan, const char *row)
{
	const char *params = program_of(plan)->params_env;
	size_t n = params ? strlen(params) : 0;

	return !strncmp(row, "RYE_TOOL_FD=", 12) ||
	       (n && !strncmp(row, params, n) && row[n] == '=');
}

bool warm_key(const struct boxes *boxes, const struct plan *plan, char ret[SHA_HEX])
{
	const struct program *program = program_of(plan);
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	size_t loader = protocol_of(plan)->loader_at(plan);

	buf_addf(&text, "%s%c%s%c%d%d%d%d.%u.", program->path, 0, program->warm, 0,
		 plan->confine.net, plan->confine.write, plan->confine.calls, plan->confine.keys,
		 plan->confine.shown);
	buf_addf(&text, "%" PRIx64 ".", boxes_stamp(boxes));
	for (size_t i = 1; i <= loader; i++)
		buf_add(&text, program->argv[i], strlen(program->argv[i]) + 1);
	json_put(&text, program->preload, false);
	for (size_t i = 0; i < plan->env.n; i++)
		if (!warm_is_of_call(plan, plan->env.v[i]))
			buf_add(&text, plan->env.v[i], strlen(plan->env.v[i]) + 1);
	if (!text.failed)
		sha256_hex((struct rye_span){ text.data, text.len }, ret);
	return !text.failed;
}

/* False: not all of it is there. */
static bool copy_list(char *const *list, char ***ret)
{
	size_t n = 0, i = 0;

	while (list[n])
		n++;
	*ret = calloc(n + 1, sizeof(**ret));
	while (*ret && i < n && ((*ret)[i] = strdup(list[i])))
		i++;
	return *ret && i == n;
}

/* What a pool's parent is started with; false: no memory for all of it. */
static bool copy_program(const struct program *from, struct program *to)
{
	bool argv = copy_list(from->argv, &to->argv);

	to->path = strdup(from->path);
	to->loader = strdup(from->loader);
	to->params_env = from->params_env ? strdup(from->params_env) : NULL;
	to->preload = from->preload ? json_deep_copy(from->preload) : NULL;
	return argv && to->path && to->loader && !to->params_env == !from->params_env &&
	       !to->preload == !from->preload;
}

static struct warm_pool *new_pool(const char *key, const struct plan *plan)
{
	struct warm_pool *pool = calloc(1, sizeof(*pool));

	if (!pool)
		return NULL;
	pool->protocol = protocol_of(plan);
	memcpy(pool->key, key, SHA_HEX);
	pool->parent = (struct warm_parent){ .child = { -1, -1 }, .socket = -1 };
	pool->plan = (struct plan){ .own = &pool->program, .confine = plan->confine };
	pool->taken = 1;
	pool->used_ms = clock_ms();
	env_copy(&pool->plan.env, &plan->env);
	if (copy_program(program_of(plan), &pool->program) && !pool->plan.env.failed)
		return pool;
	program_done(&pool->program);
	plan_done(&pool->plan);
	free(pool);
	return NULL;
}

/* Called without the lock, by the thread that dropped the last reference. */
static void free_pool(struct warm *warm, struct warm_pool *pool)
{
	pool->protocol->stop(warm->base, &pool->parent, false);
	warm_texts_done(&pool->texts);
	program_done(&pool->program);
	plan_done(&pool->plan);
	free(pool);
}

static void close_worker(struct warm_worker *worker)
{
	int fds[] = { worker->control, worker->in, worker->out, worker->err };

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		if (fds[i] >= 0)
			close(fds[i]);
	worker->control = worker->in = worker->out = worker->err = -1;
}

void warm_worker_end(const struct plan_base *base, struct warm_worker *worker, bool busy)
{
	struct ended ended;

	close_worker(worker);
	if (worker->child.pidfd >= 0) {
		spawn_kill(&worker->child); /* what its call left running goes on */
		spawn_reap(&worker->child, &ended);
	}
	if (worker->box)
		box_give(base->boxes, worker->box, busy);
	worker->box = NULL;
	if (worker->tmpdir && !busy)
		tmpdir_remove(worker->tmpdir);
	free(steal(&worker->tmpdir));
}

static struct warm_pool *warm_find(struct warm *warm, const char *key)
{
	for (struct warm_pool *pool = warm->pools; pool; pool = pool->next)
		if (pool->state <= POOL_UP && !strcmp(pool->key, key))
			return pool;
	return NULL;
}

/* ---- the pools' thread ---- */

enum chore_kind {
	CHORE_MAKE_SPARE,
	CHORE_DROP_SPARE,
	CHORE_LET_GO, /* of a worker whose call is over */
	CHORE_START, /* a pool's parent */
	CHORE_TEACH,
	CHORE_FORK,
	CHORE_RETIRE, /* a pool that is out of the list */
};

/* One thing to do: chosen and settled with the lock held, done without it. */
struct chore {
	enum chore_kind kind;
	struct warm_pool *pool; /* in the list, which keeps it */
	struct confine confine;
	struct spare spare;
	struct dropped *dropped;
	struct warm_text text;
	struct warm_worker worker;
	bool rehearse, ok;
	struct warm_pool *dead; /* to be freed in the end; NULL: none */
};

/* With the lock held: it goes a little later, on the pools' thread. */
static void drop_later(struct warm *warm, const struct warm_worker *worker, bool busy)
{
	struct dropped *dropped = worker->later;

	*dropped = (struct dropped){ .worker = *worker, .busy = busy, .at_ms = clock_ms() };
	*warm->dropped_end = dropped;
	warm->dropped_end = &dropped->next;
}

/* With the lock held: out of the list; returns the pool when nothing else holds it. */
static struct warm_pool *warm_unlist(struct warm *warm, struct warm_pool *pool)
{
	for (struct warm_pool **at = &warm->pools; *at; at = &(*at)->next) {
		if (*at != pool)
			continue;
		*at = pool->next;
		break;
	}
	pool->state = POOL_OVER;
	pool->taken += pool->nready;
	for (size_t i = 0; i < pool->nready; i++)
		drop_later(warm, &pool->ready[i], false);
	pool->nready = 0;
	pthread_cond_broadcast(&warm->ready);
	return --pool->taken == 0 ? pool : NULL;
}

/* With the lock held: not tried again for a while. */
static struct warm_pool *give_up(struct warm *warm, struct warm_pool *pool)
{
	memcpy(warm->failed, pool->key, SHA_HEX);
	warm->failed_ms = clock_ms();
	return warm_unlist(warm, pool);
}

/* With the lock held. */
static bool warm_is_low(const struct warm_pool *pool)
{
	return pool->state == POOL_UP && pool->nready < pool->protocol->ready;
}

/* With the lock held: the call that wants it is over, and others find a child meanwhile. */
static bool wants_teaching(const struct warm_pool *pool, int64_t now)
{
	return pool->texts.wanted.source && pool->state == POOL_UP && pool->nready &&
	       now - pool->used_ms >= REFILL_MS;
}

static bool wants_filling(const struct warm_pool *pool, int64_t now)
{
	return warm_is_low(pool) &&
	       (pool->waiting || !pool->nready || now - pool->used_ms >= REFILL_MS);
}

/* With the lock held. */
static bool choose_dropped(struct warm *warm, struct chore *ret)
{
	if (!warm->dropped)
		return false;
	ret->kind = CHORE_LET_GO;
	ret->dropped = warm->dropped;
	warm->dropped = warm->dropped->next;
	if (!warm->dropped)
		warm->dropped_end = &warm->dropped;
	return true;
}

static bool choose_spare(struct warm *warm, int64_t before, struct chore *ret)
{
	ret->kind = CHORE_DROP_SPARE;
	return spares_take_old(&warm->spares, before, &ret->spare);
}

static bool choose_for_pool(struct warm *warm, struct warm_pool *pool, int64_t now,
			    struct chore *ret)
{
	ret->pool = pool;
	if (pool->state == POOL_WANTED) {
		ret->kind = CHORE_START;
	} else if (pool->state == POOL_SPOILED ||
		   now - pool->used_ms > pool->protocol->idle_s * 1000LL) {
		ret->kind = CHORE_RETIRE;
		ret->dead = warm_unlist(warm, pool);
	} else if (wants_teaching(pool, now)) {
		ret->kind = CHORE_TEACH;
		warm_texts_take_wanted(&pool->texts, &ret->text);
	} else if (wants_filling(pool, now)) {
		ret->kind = CHORE_FORK;
		/* While others wait ready there is time for it. */
		ret->rehearse = pool->nready > 0 && !pool->waiting;
	} else {
		return false;
	}
	return true;
}

/* With the lock held: false: nothing is to do now. */
static bool warm_choose(struct warm *warm, struct chore *ret)
{
	int64_t now = clock_ms();

	*ret = (struct chore){ .kind = CHORE_MAKE_SPARE };
	if (spares_lack(&warm->spares, &ret->confine))
		return true;
	if (choose_spare(warm, now - RYE_IDLE_S * 1000LL, ret))
		return true;
	if (warm->dropped && now - warm->dropped->at_ms >= LINGER_MS)
		return choose_dropped(warm, ret);
	for (struct warm_pool *pool = warm->pools; pool; pool = pool->next)
		if (choose_for_pool(warm, pool, now, ret))
			return true;
	return false;
}

/* With the lock held: what is left when no thread looks after it any more; false: nothing. */
static bool choose_last(struct warm *warm, struct chore *ret)
{
	*ret = (struct chore){ .kind = CHORE_RETIRE };
	if (choose_dropped(warm, ret) || choose_spare(warm, INT64_MAX, ret))
		return true;
	ret->kind = CHORE_RETIRE;
	if (!warm->pools)
		return false;
	ret->dead = warm_unlist(warm, warm->pools);
	return true;
}

static bool start_parent(struct warm *warm, struct warm_pool *pool)
{
	struct rye_err err = { 0 };

	if (!pool->protocol->start(warm->base, &pool->plan, &pool->parent, &err))
		return true;
	log_line(warm->base->log, RYE_LOG_WARN, "warm", "no warm interpreter: %s", err.msg);
	return false;
}

/* With the note that will have it let go, for which there may be no memory then. */
static bool fork_worker(struct chore *chore)
{
	struct warm_parent *parent = &chore->pool->parent;
	struct dropped *later = malloc(sizeof(*later));

	if (!later || !chore->pool->protocol->fork(parent, chore->rehearse, &chore->worker)) {
		free(later);
		return false;
	}
	chore->worker.later = later;
	return true;
}

/* Without the lock. */
static void do_chore(struct warm *warm, struct chore *chore)
{
	struct dropped *dropped = chore->dropped;

	chore->ok = true;
	switch (chore->kind) {
	case CHORE_MAKE_SPARE:
		chore->ok =
			spare_make(warm->base->boxes, chore->confine, warm->bound, &chore->spare);
		break;
	case CHORE_DROP_SPARE:
		spare_drop(warm->base->boxes, &chore->spare);
		break;
	case CHORE_LET_GO:
		warm_worker_end(warm->base, &dropped->worker, dropped->busy);
		break;
	case CHORE_START:
		chore->ok = start_parent(warm, chore->pool);
		break;
	case CHORE_TEACH: /* the next child shall know the text that the last one was sent */
		chore->ok = chore->pool->protocol->teach(&chore->pool->parent, &chore->text);
		break;
	case CHORE_FORK:
		chore->ok = fork_worker(chore);
		break;
	case CHORE_RETIRE:
		break;
	}
}

/* With the lock held: a child more, or none any more. */
static void settle_fork(struct warm *warm, struct chore *chore)
{
	struct warm_pool *pool = chore->pool;

	if (!chore->ok)
		return;
	chore->worker.pool = pool;
	pool->ready[pool->nready++] = chore->worker;
	pthread_cond_broadcast(&warm->ready);
}

/* With the lock held. */
static void warm_settle(struct warm *warm, struct chore *chore)
{
	switch (chore->kind) {
	case CHORE_MAKE_SPARE:
		if (chore->ok)
			spares_put(&warm->spares, &chore->spare);
		else
			spares_give_up(&warm->spares, chore->confine);
		return;
	case CHORE_LET_GO:
		if (--chore->dropped->worker.pool->taken == 0)
			chore->dead = chore->dropped->worker.pool;
		return;
	case CHORE_START:
		if (chore->ok)
			chore->pool->state = POOL_UP;
		break;
	case CHORE_TEACH:
		warm_texts_put(&chore->pool->texts, &chore->text);
		break;
	case CHORE_FORK:
		settle_fork(warm, chore);
		break;
	default:
		return;
	}
	if (!chore->ok)
		chore->dead = give_up(warm, chore->pool);
}

static void work_off(struct warm *warm, struct chore *chore)
{
	do_chore(warm, chore);
	{
		GUARD(&warm->lock);
		warm_settle(warm, chore);
	}
	if (chore->dead)
		free_pool(warm, chore->dead);
	free(chore->dropped);
}

/* With the lock held: how long nothing is to do, unless `work` is signalled. */
static int64_t warm_pause_ms(const struct warm *warm)
{
	if (warm->dropped)
		return LINGER_MS;
	for (const struct warm_pool *pool = warm->pools; pool; pool = pool->next)
		if (warm_is_low(pool) || pool->texts.wanted.source)
			return REFILL_MS;
	return RYE_IDLE_S * 1000LL / 2;
}

static bool next_chore(struct warm *warm, struct chore *ret)
{
	GUARD(&warm->lock);
	while (!warm->stopping) {
		if (warm_choose(warm, ret))
			return true;
		clock_cond_wait(&warm->work, &warm->lock,
				clock_ns() + warm_pause_ms(warm) * NS_PER_MS);
	}
	return false;
}

static void *warm_keep(void *arg)
{
	struct warm *warm = arg;
	struct chore chore;

	warm->bound = boxes_bound_thread(warm->base->boxes);
	while (next_chore(warm, &chore))
		work_off(warm, &chore);
	return NULL;
}

/* With the lock held. */
static void warm_ensure_thread(struct warm *warm)
{
	if (!warm->running) {
		HOLD_SIGNALS();
		warm->running = pthread_create(&warm->thread, NULL, warm_keep, warm) == 0;
	}
	pthread_cond_signal(&warm->work);
}

/* ---- callers ---- */

/* With the lock held: a place for one more pool, the one unused longest giving way. */
static bool make_room(struct warm *warm)
{
	struct warm_pool *oldest = NULL;
	size_t n = 0;

	for (struct warm_pool *pool = warm->pools; pool; pool = pool->next) {
		n++;
		if (pool->state == POOL_UP && (!oldest || pool->used_ms < oldest->used_ms))
			oldest = pool;
	}
	if (n < RYE_WARM_POOLS)
		return true;
	/* The thread sees that it is idle and lets it go. */
	if (oldest && clock_ms() - oldest->used_ms > 1000)
		oldest->used_ms = 0;
	return false;
}

/* With the lock held. A process that answers one call and ends needs no pool. */
static void warm_miss(struct warm *warm, const char *key, const struct plan *plan)
{
	bool again = !strcmp(warm->missed, key);
	bool bad = !strcmp(warm->failed, key) && clock_ms() - warm->failed_ms < RYE_IDLE_S * 1000LL;
	struct warm_pool *pool;

	memcpy(warm->missed, key, SHA_HEX);
	if (warm->stopping || bad || (!again && !warm->base->opt->scan) || !make_room(warm))
		return;
	pool = new_pool(key, plan);
	if (!pool)
		return;
	pool->next = warm->pools;
	warm->pools = pool;
	warm_ensure_thread(warm);
}

/* With the lock held: waits a moment for the child that is being made. */
static bool wait_ready(struct warm *warm, struct warm_pool *pool)
{
	int64_t end = clock_ns() + PATIENCE_MS * NS_PER_MS;
	int r = 0;

	pool->taken++;
	pool->waiting++;
	while (!r && pool->state == POOL_UP && !pool->nready)
		r = clock_cond_wait(&warm->ready, &warm->lock, end);
	pool->waiting--;
	pool->taken--;
	return pool->state == POOL_UP && pool->nready;
}

/* With the lock held: a child that knows the text, else the one made last; of those that are
 * started one by one the first, which is up by now. */
static void take_ready(struct warm_pool *pool, const struct plan *plan, struct warm_worker *ret)
{
	const struct program *program = program_of(plan);
	const char *name = pool->protocol->text_name(plan);
	const struct warm_text *text = name ? warm_texts_find(&pool->texts, program->source, name) :
					      NULL;
	unsigned number = text ? text->number : 0;
	size_t at = pool->nready - 1;

	while (at && !warm_text_known(number, pool->ready[at].taught))
		at--;
	if (!warm_text_known(number, pool->ready[at].taught)) {
		at = pool->nready - 1;
		number = 0;
	}
	if (pool->ready[0].box)
		at = 0;
	*ret = pool->ready[at];
	ret->text = number;
	pool->nready--;
	memmove(&pool->ready[at], &pool->ready[at + 1],
		(pool->nready - at) * sizeof(pool->ready[0]));
}

bool warm_take(struct warm *warm, const struct plan *plan, struct warm_worker *ret)
{
	char key[SHA_HEX];
	struct warm_pool *pool, *dead = NULL;
	bool got = false;

	if (!warm || !protocol_of(plan) || !warm_key(warm->base->boxes, plan, key))
		return false;
	{
		GUARD(&warm->lock);
		pool = warm_find(warm, key);
		if (!pool)
			warm_miss(warm, key, plan);
		got = pool && pool->state == POOL_UP && (pool->nready || wait_ready(warm, pool));
		if (got) {
			take_ready(pool, plan, ret);
			pool->taken++;
			pool->used_ms = clock_ms();
			if (!pool->nready)
				pthread_cond_signal(&warm->work);
		} else if (pool && !pool->taken) {
			dead = pool;
		}
	}
	if (dead)
		free_pool(warm, dead);
	return got;
}

bool warm_send(struct warm_worker *worker, const struct warm_job *job)
{
	return worker->pool->protocol->send(worker, job);
}

void warm_look(struct warm *warm, const struct warm_worker *worker)
{
	struct warm_pool *pool = worker->pool;

	if (worker->box || !box_littered(pool->parent.box))
		return;
	GUARD(&warm->lock);
	if (pool->state == POOL_UP)
		pool->state = POOL_SPOILED;
	pthread_cond_broadcast(&warm->ready);
	pthread_cond_signal(&warm->work);
}

bool warm_take_spare(struct warm *warm, struct confine confine, struct spare *ret)
{
	bool got = false;

	{
		GUARD(&warm->lock);
		got = !warm->stopping && !confine.keys &&
		      spares_take(&warm->spares, confine, warm->base->opt->scan, ret);
		if (!got)
			warm_ensure_thread(warm);
	}
	/*
	 * /tmp may have been cleaned since, or a directory that has to be veiled was made.
	 */
	if (got && !box_is_whole(warm->base->boxes, ret->box)) {
		spare_drop(warm->base->boxes, ret);
		got = false;
	}
	return got;
}

void warm_wake(struct warm *warm)
{
	/* Without the lock, which the thread would have to wait for: it looks again by itself. */
	pthread_cond_signal(&warm->work);
}

void warm_drop(struct warm *warm, struct warm_worker *worker, bool busy)
{
	GUARD(&warm->lock);
	drop_later(warm, worker, busy);
	pthread_cond_signal(&warm->work);
}

static bool last_chore(struct warm *warm, struct chore *ret)
{
	GUARD(&warm->lock);
	return choose_last(warm, ret);
}

void warm_close(struct warm *warm)
{
	struct chore chore;

	if (!warm)
		return;
	{
		GUARD(&warm->lock);
		warm->stopping = true;
		pthread_cond_signal(&warm->work);
	}
	if (warm->running)
		pthread_join(warm->thread, NULL);
	while (last_chore(warm, &chore))
		work_off(warm, &chore);
	pthread_cond_destroy(&warm->work);
	pthread_cond_destroy(&warm->ready);
	pthread_mutex_destroy(&warm->lock);
	free(warm);
}
