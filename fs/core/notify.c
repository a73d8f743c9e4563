/* SPDX-License-Identifier: MIT */
/*
 * notify.c - three lanes of notifications and two clocks.
 *
 * Owns the queues and their threads. Lock order: a lane's lock or a clock's, never both. A
 * notification with a `done` is also on a clock's list. Either the thread that sends it, when the
 * kernel has answered, or the clock's thread, when the clock's patience is over, calls `done`; the
 * first one does. Each list has one patience, so that its first notification is the first one due.
 *
 * Pages of a conversation: the clock's thread does not call `done` before the kernel has begun. The
 * kernel takes no size from a GETATTR that it sent before a notification began, so one that began
 * behind the answer to its WRITE would leave the writer's next read empty, and pages that are not
 * dropped yet would show it NUL bytes.
 *
 * When the answer to a conversation's WRITE is ready, the thread that has it drops the pages itself,
 * since handing that to the lane and back costs more than the rest of a message. The kernel may make
 * it wait for that answer, which the clock's thread gives then, or for that of another request: so
 * one thread at a time does this, and the other loop thread answers.
 */
#include "core/notify.h"

#include "clock.h"
#include "hash.h"
#include "proc.h"
#include "scope.h"

#include <errno.h>
#include <linux/fuse.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

enum job_type { JOB_INODE, JOB_TASK, JOB_AFTER };

/* A task of the content lane may queue another, and that one a third. */
#define AFTER_TURNS 2

/* Notifications of conversations that wait in the kernel for a WRITE's answer at the same time; each
 * ends soon after NOTIFY_PATIENCE_MS. */
#define TALK_LANE_THREADS 8
/* How often the clock's thread waits NOTIFY_PATIENCE_MS for a notification of a conversation to
 * begin. The bound is for a machine that gives the thread that sends it no time for seconds. */
#define NOTIFY_ROUNDS 100
/* How often the other clock's thread waits NOTIFY_AFTER_MS for a lane that the kernel does not hold. */
#define AFTER_ROUNDS (NOTIFY_AFTER_MAX_MS / NOTIFY_AFTER_MS)

/* Queued tasks are found by a hash of theirs; more in one bucket only cost time. */
#define TASK_BUCKETS 256

struct notify_job {
	struct notify_job *next; /* of its lane */
	struct notify_job *waiting; /* of the clock */
	struct notify_job *same; /* of its bucket of tasks; the lane's lock */
	_Atomic unsigned refs;
	_Atomic bool told; /* done was called */
	_Atomic unsigned ends; /* of a JOB_AFTER: which of its ends have come */
	_Atomic pid_t sender; /* the thread that asks the kernel; 0: none yet */
	unsigned rounds; /* of the clock's thread */
	enum job_type type;
	struct node *node; /* kept alive; NULL for conversations */
	fuse_ino_t ino;
	off_t from, len;
	notify_done_fn done;
	void *arg;
	int64_t until;
	notify_task_fn task;
	struct queue *lane; /* of a JOB_AFTER */
	int number;
	char name[]; /* or the task's text */
};

struct queue {
	pthread_mutex_t lock;
	pthread_cond_t more;
	struct notify_job *first, **last;
	struct notify_job *tasks[TASK_BUCKETS];
	unsigned idle; /* a lane's threads that wait for a job */
	bool stop;
	bool asleep; /* the clock's thread: until it is signalled */
	_Atomic pid_t sender; /* a lane's only thread, while it tells the kernel; 0: it does not */
	unsigned started; /* threads that are there; of notify_open and notify_end */
	int patience_ms; /* of a clock */
	pthread_t threads[TALK_LANE_THREADS];
	struct notify *notify;
};

struct notify {
	struct front *front;
	struct queue lanes[LANE__MAX];
	struct queue clock, slow; /* use `waiting` as their link */
	atomic_flag at_once; /* a thread is in notify_talk, in the kernel */
};

static void job_unref(struct notify_job *job)
{
	if (atomic_fetch_sub(&job->refs, 1) != 1)
		return;
	node_unref(job->node);
	free(job);
}

static void notify_job_done(struct notify_job *job)
{
	if (job->done && !atomic_exchange(&job->told, true))
		job->done(job->arg);
}

static fuse_ino_t notify_id_of(const struct front *front, const struct node *node)
{
	return node == front->root ? FUSE_ROOT_ID : node_id(node);
}

/* The calling thread begins to tell the kernel something, which may make it wait, or has told it. */
static void note_sending(struct front *front, bool begins)
{
	struct queue *lanes = front->notify->lanes;

	for (int i = 0; i < LANE_TALK; i++)
		if (pthread_equal(lanes[i].threads[0], pthread_self()))
			lanes[i].sender = begins ? gettid() : 0;
}

void notify_send_entry(struct front *front, struct node *dir, const char *name, bool soft)
{
	struct fuse_session *se = front->session;
	fuse_ino_t ino = notify_id_of(front, dir);

	stats_count(&front->stats, STAT_INVAL);
	note_sending(front, true);
	if (soft && front->expires)
		fuse_lowlevel_notify_expire_entry(se, ino, name, strlen(name), FUSE_LL_EXPIRE_ONLY);
	else
		fuse_lowlevel_notify_inval_entry(se, ino, name, strlen(name));
	note_sending(front, false);
}

static void send_inode(struct front *front, fuse_ino_t ino, off_t from, off_t len)
{
	stats_count(&front->stats, STAT_INVAL);
	note_sending(front, true);
	fuse_lowlevel_notify_inval_inode(front->session, ino, from, len);
	note_sending(front, false);
}

void notify_send_inode(struct front *front, struct node *node, off_t from)
{
	send_inode(front, notify_id_of(front, node), from, 0);
}

void notify_attr(struct front *front, struct node *node)
{
	notify_send_inode(front, node, -1);
}

static void notify_perform(struct front *front, struct notify_job *job)
{
	switch (job->type) {
	case JOB_INODE:
		job->sender = gettid();
		send_inode(front, job->ino, job->from, job->len);
		break;
	case JOB_TASK:
		job->task(front, job->node, job->number, job->name);
		break;
	case JOB_AFTER:
		break;
	}
}

/* ---- tasks that wait: found again by what they are ---- */

static struct notify_job **notify_bucket_of(struct queue *lane, const struct notify_job *job)
{
	uint64_t h = (uintptr_t)job->task ^ (uintptr_t)job->node ^ (unsigned)job->number;

	h = hash_text(h, job->name);
	return &lane->tasks[(h ^ h >> 32) % TASK_BUCKETS];
}

/* Lock held. */
static bool is_queued(struct queue *lane, const struct notify_job *job)
{
	for (const struct notify_job *old = *notify_bucket_of(lane, job); old; old = old->same)
		if (old->task == job->task && old->node == job->node &&
		    old->number == job->number && strcmp(old->name, job->name) == 0)
			return true;
	return false;
}

/* Lock held. */
static void note_queued(struct queue *lane, struct notify_job *job)
{
	struct notify_job **bucket = notify_bucket_of(lane, job);

	job->same = *bucket;
	*bucket = job;
}

/* Lock held. The task begins: an equal one may be queued from now on, for changes that this one
 * does not see. */
static void note_taken(struct queue *lane, struct notify_job *job)
{
	struct notify_job **at = notify_bucket_of(lane, job);

	while (*at != job)
		at = &(*at)->same;
	*at = job->same;
}

/* Takes the next job; waits for one. NULL: the lane ends. */
static struct notify_job *notify_take(struct queue *lane)
{
	struct notify_job *job = NULL;

	GUARD(&lane->lock);
	lane->idle++;
	while (!lane->first && !lane->stop)
		pthread_cond_wait(&lane->more, &lane->lock);
	lane->idle--;
	job = lane->stop ? NULL : lane->first;
	if (job) {
		lane->first = job->next;
		if (!lane->first)
			lane->last = &lane->first;
		if (job->type == JOB_TASK)
			note_taken(lane, job);
	}
	return job;
}

enum appended { APPEND_NOT, APPEND_DONE, APPEND_WAKE };

static enum appended append_job(struct queue *lane, struct notify_job *job)
{
	bool task = job->type == JOB_TASK;

	GUARD(&lane->lock);
	if (lane->stop || (task && is_queued(lane, job)))
		return APPEND_NOT;
	job->next = NULL;
	*lane->last = job;
	lane->last = &job->next;
	if (task)
		note_queued(lane, job);
	return lane->idle ? APPEND_WAKE : APPEND_DONE;
}

/* False: the lane has ended, or has the same task already. The signal comes when the lock is free:
 * the thread that it wakes would wait for it at once. */
static bool lane_append(struct queue *lane, struct notify_job *job)
{
	enum appended appended = append_job(lane, job);

	if (appended == APPEND_WAKE)
		pthread_cond_signal(&lane->more);
	return appended != APPEND_NOT;
}

/* ---- a change that is answered before its lane has told of it ---- */

enum after_end { AFTER_LATE = 1, AFTER_PASSED = 2 };

#define NOTIFY_INC_EPOCH 8 /* of <linux/fuse.h> since Linux 6.16, which we need not be built with */

/* Makes the kernel ask for every name again: it takes no lock for this. Older kernels refuse. */
static void send_epoch(struct front *front)
{
	const struct fuse_out_header all = { .len = sizeof(all), .error = NOTIFY_INC_EPOCH };
	ssize_t n = write(fuse_session_fd(front->session), &all, sizeof(all));

	(void)n;
}

/* Both ends come in any order, and the second one ends what AFTER_LATE began. */
static void after_end(struct front *front, struct notify_job *job, enum after_end end)
{
	if (atomic_fetch_or(&job->ends, end))
		rye_late(front->rye, false);
}

/* On the clock's thread. Until the lane has told, each lookup looks at the disk and is believed
 * once. */
static void after_late(struct front *front, struct notify_job *job)
{
	stats_count(&front->stats, STAT_LATE);
	rye_late(front->rye, true);
	send_epoch(front);
	after_end(front, job, AFTER_LATE);
}

/* ---- the threads ---- */

static void *lane_thread(void *arg)
{
	struct queue *lane = arg;
	struct notify_job *job;

	while ((job = notify_take(lane))) {
		if (job->type == JOB_AFTER && job->number-- > 0 && lane_append(lane, job))
			continue;
		notify_perform(lane->notify->front, job);
		if (job->type == JOB_AFTER)
			after_end(lane->notify->front, job, AFTER_PASSED);
		notify_job_done(job);
		job_unref(job);
	}
	return NULL;
}

static int64_t patience_end(const struct queue *clock)
{
	return clock_ns() + clock->patience_ms * NS_PER_MS;
}

/* The clock's lock held; its list is empty. Between messages the thread looks again by itself for a
 * while: a signal for each would be a change of threads that the caller waits for. */
static void clock_rest(struct queue *clock)
{
	const int64_t until = patience_end(clock);

	while (!clock->stop && clock_cond_wait(&clock->more, &clock->lock, until) == 0)
		;
	clock->asleep = !clock->first;
	while (!clock->stop && !clock->first)
		pthread_cond_wait(&clock->more, &clock->lock);
	clock->asleep = false;
}

/* The clock's lock held. The oldest job, when it is done or its time is over; NULL: the
 * clock ends. */
static struct notify_job *overdue(struct queue *clock)
{
	struct notify_job *job;

	if (!clock->stop && !clock->first)
		clock_rest(clock);
	job = clock->first;
	if (clock->stop)
		return NULL;
	while (!clock->stop && !atomic_load(&job->told) &&
	       clock_cond_wait(&clock->more, &clock->lock, job->until) != ETIMEDOUT)
		;
	clock->first = job->waiting;
	if (!clock->first)
		clock->last = &clock->first;
	return job;
}

/* Does the kernel hold the thread that tells it something? Where /proc is not ours, having called
 * the kernel has to do. */
static bool is_held(pid_t sender)
{
	struct proc_stat stat;

	return sender && (proc_stat(sender, &stat) || stat.state == 'D');
}

/* The job's time is over, or it is done. When the kernel waits for a page of a conversation, it has
 * begun. Other notifications may be what a request waits for that their lane waits for in the
 * kernel. */
static bool notify_may_tell(struct notify_job *job)
{
	if (job->told)
		return true;
	if (job->type == JOB_AFTER)
		return ++job->rounds >= AFTER_ROUNDS || is_held(job->lane->sender);
	return job->node || ++job->rounds > NOTIFY_ROUNDS || is_held(job->sender);
}

/* Takes a reference over. */
static void clock_add(struct queue *clock, struct notify_job *job)
{
	job->until = patience_end(clock);
	job->waiting = NULL;
	GUARD(&clock->lock);
	*clock->last = job;
	clock->last = &job->waiting;
	if (clock->asleep)
		pthread_cond_signal(&clock->more);
}

static void notify_watch(struct queue *clock, struct notify_job *job)
{
	atomic_fetch_add(&job->refs, 1);
	clock_add(clock, job);
}

static void *clock_thread(void *arg)
{
	struct queue *clock = arg;

	for (;;) {
		struct notify_job *job = NULL;

		{
			GUARD(&clock->lock);
			job = overdue(clock);
		}
		if (!job)
			return NULL;
		if (!notify_may_tell(job)) {
			clock_add(clock, job);
			continue;
		}
		if (job->type == JOB_AFTER && !job->told)
			after_late(clock->notify->front, job);
		notify_job_done(job);
		job_unref(job);
	}
}

static struct notify_job *job_new(enum job_type type, struct node *node, const char *name)
{
	size_t len = strlen(name);
	struct notify_job *job = calloc(1, sizeof(*job) + len + 1);

	if (!job)
		return NULL;
	job->refs = 1;
	job->type = type;
	job->node = node ? node_ref(node) : NULL;
	memcpy(job->name, name, len);
	return job;
}

static void notify_post(struct notify *notify, enum notify_lane which, struct notify_job *job)
{
	if (job->done)
		notify_watch(job->type == JOB_AFTER ? &notify->slow : &notify->clock, job);
	if (!lane_append(&notify->lanes[which], job)) {
		notify_job_done(job);
		job_unref(job);
	}
}

bool notify_inode_then(struct notify *notify, struct node *node, off_t from, notify_done_fn done,
		       void *arg)
{
	struct notify_job *job = job_new(JOB_INODE, node, "");

	if (!job)
		return false;
	job->ino = notify_id_of(notify->front, node);
	job->from = from;
	job->done = done;
	job->arg = arg;
	notify_post(notify, LANE_FILES, job);
	return true;
}

bool notify_inode(struct notify *notify, struct node *node, off_t from)
{
	return notify_inode_then(notify, node, from, NULL, NULL);
}

static bool queue_is_stopped(struct queue *queue)
{
	GUARD(&queue->lock);
	return queue->stop;
}

/* On the calling thread; false: another one is at it. */
static bool notify_perform_at_once(struct notify *notify, struct notify_job *job)
{
	if (queue_is_stopped(&notify->lanes[LANE_TALK]) ||
	    atomic_flag_test_and_set(&notify->at_once))
		return false;
	if (job->done)
		notify_watch(&notify->clock, job);
	notify_perform(notify->front, job);
	atomic_flag_clear(&notify->at_once);
	notify_job_done(job);
	job_unref(job);
	return true;
}

void notify_talk(void *arg, const struct notify_pages *pages)
{
	struct front *front = arg;
	struct notify *notify = front->notify;
	struct notify_job *job = job_new(JOB_INODE, NULL, "");

	if (!job) {
		if (pages->done)
			pages->done(pages->done_arg);
		return;
	}
	job->ino = pages->ino;
	job->from = pages->from;
	job->len = pages->len;
	job->done = pages->done;
	job->arg = pages->done_arg;
	if (!pages->ready || !notify_perform_at_once(notify, job))
		notify_post(notify, LANE_TALK, job);
}

void notify_task(struct notify *notify, const struct notify_task *task)
{
	struct notify_job *job = job_new(JOB_TASK, task->node, task->text);

	if (!job)
		return;
	job->task = task->fn;
	job->number = task->number;
	notify_post(notify, task->lane, job);
}

void notify_after(struct notify *notify, enum notify_lane lane, notify_done_fn done, void *arg)
{
	struct notify_job *job = job_new(JOB_AFTER, NULL, "");

	if (!job) {
		done(arg);
		return;
	}
	job->number = AFTER_TURNS;
	job->lane = &notify->lanes[lane];
	job->done = done;
	job->arg = arg;
	notify_post(notify, lane, job);
}

static void queue_init(struct queue *queue, struct notify *notify)
{
	queue->notify = notify;
	queue->last = &queue->first;
	pthread_mutex_init(&queue->lock, NULL);
	clock_cond_init(&queue->more);
}

static int queue_start(struct queue *queue, void *(*fn)(void *), unsigned threads)
{
	int r = 0;

	while (!r && queue->started < threads) {
		r = pthread_create(&queue->threads[queue->started], NULL, fn, queue);
		queue->started += !r;
	}
	return -r;
}

int notify_open(struct front *front, struct notify **ret)
{
	struct notify *notify = calloc(1, sizeof(*notify));
	int r = 0;

	if (!notify)
		return -ENOMEM;
	notify->front = front;
	atomic_flag_clear(&notify->at_once);
	queue_init(&notify->clock, notify);
	queue_init(&notify->slow, notify);
	notify->clock.patience_ms = NOTIFY_PATIENCE_MS;
	notify->slow.patience_ms = NOTIFY_AFTER_MS;
	for (int i = 0; i < LANE__MAX; i++)
		queue_init(&notify->lanes[i], notify);
	r = queue_start(&notify->lanes[LANE_CONTENT], lane_thread, 1);
	if (!r)
		r = queue_start(&notify->lanes[LANE_FILES], lane_thread, 1);
	if (!r)
		r = queue_start(&notify->lanes[LANE_TALK], lane_thread, TALK_LANE_THREADS);
	if (!r)
		r = queue_start(&notify->clock, clock_thread, 1);
	if (!r)
		r = queue_start(&notify->slow, clock_thread, 1);
	if (r) {
		notify_end(notify);
		notify_free(notify);
		return r;
	}
	*ret = notify;
	return 0;
}

static void notify_stop(struct queue *queue)
{
	GUARD(&queue->lock);
	queue->stop = true;
	pthread_cond_broadcast(&queue->more);
}

/* Jobs that are still queued when the thread has ended. */
static void notify_drain(struct queue *queue, bool clock)
{
	struct notify_job *job = queue->first;

	while (job) {
		struct notify_job *next = clock ? job->waiting : job->next;

		notify_job_done(job);
		job_unref(job);
		job = next;
	}
	queue->first = NULL;
	queue->last = &queue->first;
}

void notify_end(struct notify *notify)
{
	struct queue *all[] = { &notify->lanes[LANE_CONTENT], &notify->lanes[LANE_FILES],
				&notify->lanes[LANE_TALK], &notify->clock, &notify->slow };

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		notify_stop(all[i]);
	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		while (all[i]->started)
			pthread_join(all[i]->threads[--all[i]->started], NULL);
		notify_drain(all[i], all[i]->patience_ms > 0);
	}
}

static void queue_done(struct queue *queue)
{
	pthread_cond_destroy(&queue->more);
	pthread_mutex_destroy(&queue->lock);
}

void notify_free(struct notify *notify)
{
	if (!notify)
		return;
	for (int i = 0; i < LANE__MAX; i++)
		queue_done(&notify->lanes[i]);
	queue_done(&notify->clock);
	queue_done(&notify->slow);
	free(notify);
}
