/* SPDX-License-Identifier: MIT */
/*
 * caller_last.c - last replies: which process may read one, and for how long.
 *
 * A reply is kept with its writer's chain of ancestors. Its owner is the nearest of them that still
 * lives CALLER_PASS_S after it: what ends soon behind its message (a pipeline's cat, an agent's shell)
 * leaves it to its parent, a process that lived on with it takes it along. Nothing tells later when
 * a process ended, so the parking thread looks when the time is over. A reader gets the reply that is
 * owned by itself or by its nearest ancestor that owns one, the newest if there are several. So two
 * scripts side by side never read each other's replies, and another uid never does
 * (tests/e2e/talk_callers.sh, talk_owners.sh). Number and bytes are bounded: the replies
 * used longest ago are dropped first.
 *
 * Threads of one process share a reply, for a pool may write in one and read in another. Where
 * two threads have a reply each that nothing has read, no rule tells whose task reads: then
 * neither is shown.
 *
 * Lock: callers->lock; the lives of a chain's processes are looked at under it (a kill, and a
 * read of 3 µs if it is there).
 * Blobs are released outside of it.
 */
#include "caller/caller_inner.h"

#include "clock.h"
#include "hash.h"
#include "scope.h"

#include <string.h>

/* Between two looks for owners; so much later than CALLER_PASS_S one may be found. */
#define SETTLE_NS (50 * NS_PER_MS)
/* Owners found under one lock: processes are looked at, 3 µs each. */
#define SETTLED_AT_ONCE 64
#define SWEEP_NS (30 * NS_PER_S)

static unsigned caller_last_bucket_of(const char *key)
{
	uint64_t hash = hash_text(HASH_BASIS, key);

	return (hash ^ hash >> 32) % CALLER_BUCKETS;
}

static bool same_process(const struct process *a, const struct process *b)
{
	return a->pid == b->pid && a->start == b->start;
}

static void skip_dead(struct kept *kept)
{
	while (kept->first < kept->n && !proc_alive(&kept->chain[kept->first]))
		kept->first++;
}

/* When its owner can be told. */
static int64_t settles_at(const struct kept *kept)
{
	return kept->at_ns + CALLER_PASS_S * NS_PER_S;
}

static void settle(struct kept *kept)
{
	skip_dead(kept);
	kept->n = MIN_OF(kept->n, kept->first + 1);
	kept->settled = true;
}

/* Index of the process in the reader's chain, or its length. */
static size_t depth_in(const struct caller *reader, const struct process *process)
{
	size_t i = 0;

	while (i < reader->n && !same_process(&reader->chain[i], process))
		i++;
	return i;
}

/* How far above the reader the owner of chain stands, or reader->n. Skips the dead. */
static size_t owner_depth(const struct process *chain, size_t n, size_t *first,
			  const struct caller *reader)
{
	for (; *first < n; (*first)++) {
		/* processes in the reader's chain live: else it would have another parent */
		size_t depth = depth_in(reader, &chain[*first]);

		if (depth < reader->n)
			return depth;
		if (proc_alive(&chain[*first]))
			return reader->n;
	}
	return reader->n;
}

bool callers_related(struct callers *callers, const struct caller *writer,
		     const struct caller *reader)
{
	size_t first = 0;

	if (writer->uid != reader->uid)
		return false;
	return owner_depth(writer->chain, writer->n, &first, reader) < reader->n;
}

void last_done(struct last *last)
{
	rye_blob_unref(last->reply);
	rye_blob_unref(last->output);
	rye_blob_unref(last->trace);
	rye_blob_unref(last->errors);
	*last = (struct last){ 0 };
}

static struct rye_blob *ref(struct rye_blob *blob)
{
	return blob ? rye_blob_ref(blob) : NULL;
}

static struct last last_ref(const struct last *last)
{
	return (struct last){
		.reply = ref(last->reply),
		.output = ref(last->output),
		.trace = ref(last->trace),
		.errors = ref(last->errors),
		.at = last->at,
		.from = last->from,
	};
}

static size_t size_of(const struct rye_blob *blob)
{
	return blob ? blob->len : 0;
}

/* ---- lists, under the lock ---- */

static void link_use(struct callers *callers, struct kept *kept)
{
	kept->newer = NULL;
	kept->older = callers->newest;
	if (callers->newest)
		callers->newest->newer = kept;
	else
		callers->oldest = kept;
	callers->newest = kept;
}

static void unlink_use(struct callers *callers, struct kept *kept)
{
	if (kept->newer)
		kept->newer->older = kept->older;
	else
		callers->newest = kept->older;
	if (kept->older)
		kept->older->newer = kept->newer;
	else
		callers->oldest = kept->newer;
}

static void caller_last_insert(struct callers *callers, struct kept *kept)
{
	struct kept **bucket = &callers->buckets[caller_last_bucket_of(kept->key)];

	kept->next = *bucket;
	kept->link = bucket;
	if (kept->next)
		kept->next->link = &kept->next;
	*bucket = kept;
	link_use(callers, kept);
	callers->count++;
	callers->bytes += kept->bytes;
}

/* Moves it to the list of those to be freed outside the lock. */
static void take_out(struct callers *callers, struct kept *kept, struct kept **trash)
{
	*kept->link = kept->next;
	if (kept->next)
		kept->next->link = kept->link;
	unlink_use(callers, kept);
	callers->count--;
	callers->bytes -= kept->bytes;
	kept->next = *trash;
	*trash = kept;
}

static void free_kept(struct kept *trash)
{
	while (trash) {
		struct kept *next = trash->next;

		last_done(&trash->last);
		free(trash);
		trash = next;
	}
}

void caller_last_clear(struct callers *callers)
{
	struct kept *trash = NULL;

	while (callers->newest)
		take_out(callers, callers->newest, &trash);
	free_kept(trash);
}

/* ---- recording ---- */

static struct kept *make_kept(const struct caller *caller, const char *key, const struct last *last)
{
	struct kept *kept = calloc(1, sizeof(*kept) + strlen(key) + 1);

	if (!kept)
		return NULL;
	memcpy(kept->key, key, strlen(key));
	kept->uid = caller->uid;
	kept->tid = caller->tid;
	kept->unread = last->from != 0;
	kept->at_ns = clock_ns() - last->age_ns;
	kept->n = caller->n;
	memcpy(kept->chain, caller->chain, caller->n * sizeof(caller->chain[0]));
	kept->last = last_ref(last);
	clock_gettime(CLOCK_REALTIME, &kept->last.at);
	kept->bytes = sizeof(*kept) + size_of(last->reply) + size_of(last->output) +
		      size_of(last->trace) + size_of(last->errors);
	return kept;
}

/* Of the same item and process? */
static bool same_writer(const struct kept *a, const struct kept *b)
{
	return a->uid == b->uid && strcmp(a->key, b->key) == 0 &&
	       same_process(&a->chain[0], &b->chain[0]);
}

static bool written_by(const struct kept *kept, const struct caller *caller, const char *key)
{
	return kept->uid == caller->uid && strcmp(kept->key, key) == 0 &&
	       same_process(&kept->chain[0], &caller->chain[0]);
}

/* A reply that comes when its writer has gone, of a run that went on, is whose the earlier one was. */
static void take_owner(struct kept *kept, const struct kept *older)
{
	if (kept && older->settled && kept->gone_ns) {
		kept->first = older->first;
		kept->n = older->n;
		kept->settled = true;
	}
}

/*
 * Is there an older reply of it that take_owner may go by? Only then is the writer looked at, which takes
 * longer than all else here. A second is more than lies between this and the look at older->settled.
 */
static bool has_settled(struct callers *callers, const struct caller *caller, const char *key)
{
	GUARD(&callers->lock);
	const struct kept *kept = callers->buckets[caller_last_bucket_of(key)];
	int64_t now = clock_ns();

	for (; kept; kept = kept->next)
		if (written_by(kept, caller, key) &&
		    (kept->settled || now + NS_PER_S >= settles_at(kept)))
			return true;
	return false;
}

static bool competes(const struct kept *kept, int64_t now)
{
	return kept->unread && now - kept->at_ns < CALLER_UNREAD_S * NS_PER_S;
}

/* The writer's older replies of the item go, but for those that other threads have not read. */
static void take_out_older(struct callers *callers, const struct caller *caller, const char *key,
			   struct kept *kept, struct kept **trash)
{
	struct kept *other = callers->buckets[caller_last_bucket_of(key)], *next;
	int64_t now = clock_ns();

	for (; other; other = next) {
		next = other->next;
		if (!written_by(other, caller, key) ||
		    (other->tid != caller->tid && competes(other, now)))
			continue;
		take_owner(kept, other);
		take_out(callers, other, trash);
	}
}

void callers_record(struct callers *callers, const struct caller *caller, const char *key,
		    const struct last *last)
{
	struct kept *kept = caller->n ? make_kept(caller, key, last) : NULL;
	struct kept *trash = NULL;
	int64_t wake_ns = 0;

	/* a session manager's reply has no owner: not kept */
	if (!caller->n)
		return;
	if (kept && has_settled(callers, caller, key) && !proc_alive(&caller->chain[0]))
		kept->gone_ns = clock_ns();
	{
		GUARD(&callers->lock);
		/* nor is one when memory is short: then there is none, never an older one */
		take_out_older(callers, caller, key, kept, &trash);
		if (kept)
			caller_last_insert(callers, kept);
		if (kept && !callers->awake) {
			callers->awake = true;
			wake_ns = settles_at(kept);
		}
		while (kept && callers->oldest != kept &&
		       (callers->count > CALLER_REPLIES || callers->bytes > CALLER_BYTES))
			take_out(callers, callers->oldest, &trash);
	}
	free_kept(trash);
	if (wake_ns && callers->env.wake)
		callers->env.wake(callers->env.arg, wake_ns);
}

/* ---- reading ---- */

static bool is_over(const struct kept *kept, int64_t now)
{
	return kept->first == kept->n ||
	       (kept->gone_ns && now - kept->gone_ns > CALLER_GONE_S * NS_PER_S);
}

static struct kept *nearest(struct callers *callers, const struct caller *reader, const char *key)
{
	struct kept *kept = callers->buckets[caller_last_bucket_of(key)], *best = NULL;
	size_t best_depth = reader->n;
	int64_t now = clock_ns();

	for (; kept; kept = kept->next) {
		size_t depth;

		if (kept->uid != reader->uid || strcmp(kept->key, key) != 0 || is_over(kept, now))
			continue;
		if (!kept->settled && now >= settles_at(kept))
			settle(kept);
		depth = owner_depth(kept->chain, kept->n, &kept->first, reader);
		if (kept->first && !kept->gone_ns)
			kept->gone_ns = now;
		if (depth < best_depth) {
			best_depth = depth;
			best = kept;
		}
	}
	return best;
}

/*
 * The newest, unless other threads of its writer have replies that nothing has read: the only
 * such one is its own thread's to read. Once the process is gone its threads are, too.
 */
static struct kept *settle_dispute(struct kept *newest, pid_t reader, bool *ret_disputed)
{
	struct kept *rival = NULL;
	int64_t now = clock_ns();
	size_t n = 0;

	/* older ones stand behind it */
	for (struct kept *kept = newest->next; kept && newest->first == 0; kept = kept->next)
		if (same_writer(kept, newest) && competes(kept, now)) {
			rival = kept;
			n++;
		}
	if (n == 1 && rival->tid == reader && !competes(newest, now))
		return rival;
	*ret_disputed = n > 0;
	return newest;
}

bool callers_last(struct callers *callers, const struct caller *caller, const char *key,
		  struct last *ret)
{
	bool disputed = false;

	GUARD(&callers->lock);
	struct kept *kept = nearest(callers, caller, key);

	if (!kept)
		return false;
	kept = settle_dispute(kept, caller->tid, &disputed);
	unlink_use(callers, kept);
	link_use(callers, kept);
	*ret = last_ref(&kept->last);
	ret->disputed = disputed;
	return true;
}

void callers_read(struct callers *callers, const char *key, uint64_t from)
{
	GUARD(&callers->lock);
	struct kept *kept = callers->buckets[caller_last_bucket_of(key)];

	for (; kept; kept = kept->next)
		if (kept->last.from == from && strcmp(kept->key, key) == 0)
			kept->unread = false;
}

static void sweep_bucket(struct callers *callers, size_t bucket, struct kept **trash)
{
	int64_t now = clock_ns();
	struct kept *next;

	for (struct kept *kept = callers->buckets[bucket]; kept; kept = next) {
		next = kept->next;
		if (!kept->gone_ns && !proc_alive(&kept->chain[0]))
			kept->gone_ns = now;
		if (kept->gone_ns)
			skip_dead(kept);
		if (is_over(kept, now))
			take_out(callers, kept, trash);
	}
}

/* Lock held. Those whose time is over; when the next one's is, 0: there is none. */
static int64_t settle_due(struct callers *callers)
{
	int64_t now = clock_ns(), next = 0;
	size_t n = 0;

	for (struct kept *kept = callers->newest; kept; kept = kept->older) {
		if (kept->settled)
			continue;
		if (now >= settles_at(kept) && n++ < SETTLED_AT_ONCE)
			settle(kept);
		else if (!next || settles_at(kept) < next)
			next = settles_at(kept);
	}
	/* under load there are replies each moment */
	return next ? MAX_OF(next, now + (n > SETTLED_AT_ONCE ? 1 : SETTLE_NS)) : 0;
}

int64_t callers_sweep(struct callers *callers)
{
	int64_t now = clock_ns(), next;
	bool all;

	{
		GUARD(&callers->lock);
		next = settle_due(callers);
		callers->awake = next;
		all = !callers->swept_ns || now - callers->swept_ns >= SWEEP_NS;
		if (all)
			callers->swept_ns = now;
	}
	for (size_t i = 0; i < CALLER_BUCKETS && all; i++) {
		struct kept *trash = NULL;

		/* bucket by bucket, so that a FUSE thread waits for one bucket at most */
		{
			GUARD(&callers->lock);
			if (callers->buckets[i])
				sweep_bucket(callers, i, &trash);
		}
		free_kept(trash);
	}
	return next;
}
