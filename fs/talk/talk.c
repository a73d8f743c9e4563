/* SPDX-License-Identifier: MIT */
/*
 * talk.c - conversations: made at LOOKUP, freed at FORGET, read in between.
 *
 * A node is one conversation because the kernel sends neither OPEN nor CLOSE. What is behind its
 * offsets is transcript.c, what a write does talk_write.c, what the engine does talk_run.c, which
 * requests wait talk_park.c, what a caller finds of its own talk_own.c, the texts talk_reply.c.
 *
 * Lock: the talk's own; it is never held while a request is answered, because the answer can
 * be the kernel's last reference and the FORGET free it.
 */
#include "talk/talk_inner.h"

#include "clock.h"
#include "core/ctl.h"
#include "core/front.h"
#include "core/reply.h"
#include "hash.h"
#include "proc.h"
#include "scope.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

/* ---- the factory ---- */

/* With a request timeout the kernel aborts the whole connection when one request lasts longer; we
 * wait for half of it at most. */
static int64_t kernel_bound_ns(void)
{
	/* a kernel without this file has no request timeout */
	int64_t usual = proc_number("/proc/sys/fs/fuse/default_request_timeout");
	int64_t most = proc_number("/proc/sys/fs/fuse/max_request_timeout");
	int64_t bound = usual > 0 ? usual : most;

	if (bound < 0)
		return 0;
	if (most > 0 && bound > most)
		bound = most;
	return bound * NS_PER_S / 2;
}

static void talks_unref(struct talks *talks)
{
	if (--talks->refs > 0)
		return;
	pthread_cond_destroy(&talks->quiet);
	pthread_mutex_destroy(&talks->lock);
	free(talks);
}

int talks_open(const struct talks_env *env, struct talks **ret)
{
	struct talks *talks = calloc(1, sizeof(*talks));
	int64_t bound = kernel_bound_ns();

	if (!talks)
		return -ENOMEM;
	talks->env = *env;
	clock_gettime(CLOCK_REALTIME, &talks->since);
	talks->refs = 1;
	talks->bound_ns = env->wait_s * NS_PER_S;
	if (bound && (!talks->bound_ns || bound < talks->bound_ns))
		talks->bound_ns = bound;
	pthread_mutex_init(&talks->lock, NULL);
	pthread_cond_init(&talks->quiet, NULL);
	*ret = talks;
	return 0;
}

void talks_close(struct talks *talks)
{
	if (!talks)
		return;
	GUARD(&talks->lock);
	talks->closed = true;
	while (talks->callbacks > 0)
		pthread_cond_wait(&talks->quiet, &talks->lock);
}

void talks_free(struct talks *talks)
{
	if (talks)
		talks_unref(talks);
}

/* ---- one conversation ---- */

enum shows_act shows_go(struct talk *talk, enum shows_event event)
{
	const struct shows_step *step = shows_step(talk->shows, event);

	talk->shows = step->next;
	if (event != SHOWS_WANTED)
		talk->shown = talk->no;
	return step->act;
}

void talk_key(const struct talk_target *target, char *ret, size_t size)
{
	if (target->thread)
		snprintf(ret, size, "thread%s%s ctl", *target->thread ? " " : "s", target->thread);
	else if (target->verb == RYE_REMOTE)
		snprintf(ret, size, "remotes/%s", target->id);
	else if (*target->id)
		snprintf(ret, size, "%s:%s", rye_kind_name(target->kind), target->id);
	else
		snprintf(ret, size, "%s",
			 target->starts ? "state/threads/new" : ctl_of_verb(target->verb)->name);
}

static struct talk *talk_make(const struct talk_target *target)
{
	const char *kind = rye_kind_name(target->kind);
	size_t thread_len = target->thread ? strlen(target->thread) : 0;
	size_t id_len = strlen(target->id), size = (id_len + thread_len) * 2 + strlen(kind) + 32;
	size_t place_len = target->target ? strlen(target->target) + 1 : 0;
	struct talk *talk = calloc(1, sizeof(*talk) + size + place_len);
	char *key;

	if (!talk)
		return NULL;
	talk->refs = 1;
	talk->attrs_told = true;
	talk->target = *target;
	talk->target.id = memcpy(talk->names, target->id, id_len + 1);
	if (target->thread)
		talk->target.thread =
			memcpy(talk->names + id_len + 1, target->thread, thread_len + 1);
	if (target->target)
		talk->target.target = memcpy(talk->names + size, target->target, place_len);
	talk->key = key = talk->names + id_len + thread_len + 2;
	talk_key(target, key, size - id_len - thread_len - 2);
	pthread_mutex_init(&talk->lock, NULL);
	feed_init(&talk->feed);
	talk->feed.lines = target->thread || target->lines;
	return talk;
}

/* A child of a run may not end or change threads that it did not start. */
bool talk_may(const struct talk *talk, const struct caller *who, char why[CALLER_WHY])
{
	const struct talk_target *of = &talk->target;
	const struct caller_target target = { of->verb, of->kind, of->id,
					      of->thread || of->verb == RYE_REMOTE };

	return caller_may(talk->talks->env.callers, who, &target, why);
}

static struct talk *talk_with(struct talks *talks, const struct talk_target *target,
			      struct caller *who)
{
	struct talk *talk = talk_make(target);
	char why[CALLER_WHY];

	if (!talk)
		return NULL;
	talk->talks = talks;
	talks->refs++;
	talk->no = ++talks->made;
	talk->who = caller_ref(who);
	if (talk_may(talk, who, why))
		return talk;
	talk->refused = strdup(why);
	if (talk->refused)
		return talk;
	talk_unref(talk);
	return NULL;
}

struct talk *talk_new(struct talks *talks, const struct talk_target *target, struct caller *who)
{
	struct talk *talk = talk_with(talks, target, who);

	if (talk)
		talk->text.initial = reply_initial(talk);
	return talk;
}

struct talk *talk_of_call(struct talks *talks, const struct talk_target *target, struct caller *who,
			  struct named_commit *commit)
{
	struct talk *talk = talk_with(talks, target, who);

	if (talk)
		talk->named = commit;
	else
		named_commit_free(commit);
	return talk;
}

struct talk *talk_ref(struct talk *talk)
{
	talk->refs++;
	return talk;
}

void talk_unref(struct talk *talk)
{
	if (--talk->refs > 0)
		return;
	transcript_done(&talk->text);
	feed_done(&talk->feed);
	rye_blob_unref(talk->note);
	caller_unref(talk->speaker);
	caller_unref(talk->who);
	free(talk->failure.bytes);
	free(talk->refused);
	named_commit_free(talk->named);
	pthread_mutex_destroy(&talk->lock);
	talks_unref(talk->talks);
	free(talk);
}

void talk_bind(struct talk *talk, fuse_ino_t ino)
{
	talk->ino = ino;
}

void talk_forget(struct talk *talk)
{
	bool closed;

	{
		GUARD(&talk->talks->lock);
		closed = talk->talks->closed;
	}
	if (!closed)
		own_count(talk, NULL);
	{
		GUARD(&talk->lock);
		talk_start_over(talk);
	}
	talk_unref(talk);
}

/* ---- what it looks like ---- */

static size_t size_now(const struct talk *talk)
{
	struct rye_blob *hint = reply_unfinished(talk);
	size_t size = transcript_size(&talk->text) + (hint ? hint->len : 0);

	rye_blob_unref(hint);
	return size;
}

bool talk_attrs_over(struct talk *talk)
{
	return atomic_exchange(&talk->attrs_told, false);
}

mode_t talk_mode(struct talk *talk)
{
	return talk->refused ? 0 : 0600;
}

void talk_fill_stat(struct talk *talk, struct stat *st)
{
	st->st_mode = S_IFREG | talk_mode(talk);
	talk->told = size_now(talk);
	st->st_size = (off_t)talk->told;
	st->st_blocks = (st->st_size + 511) / 512;
	st->st_atim = st->st_mtim = st->st_ctim = talk->mtime;
}

void talk_stat(struct talk *talk, struct stat *st)
{
	GUARD(&talk->lock);
	talk_fill_stat(talk, st);
}

/* The kernel asks for 64 KB, for which malloc looks through all that is free. */
char *talk_read_room(const struct talk *talk, size_t off, size_t size)
{
	size_t end = size_now(talk), there = end > off ? end - off : 0;

	return malloc(MAX_OF(MIN_OF(size, there), (size_t)1));
}

/* The transcript, and behind it what an unfinished message still wants. */
size_t talk_fill_read(struct talk *talk, size_t off, char *ret, size_t size)
{
	size_t end = transcript_size(&talk->text), n = transcript_read(&talk->text, off, ret, size);
	struct rye_blob *hint = reply_unfinished(talk);

	if (hint && n < size && off + n >= end && off + n - end < hint->len) {
		size_t from = off + n - end, more = MIN_OF(size - n, hint->len - from);

		memcpy(ret + n, hint->data + from, more);
		n += more;
	}
	rye_blob_unref(hint);
	shows_go(talk, SHOWS_WANTED);
	if (n)
		own_was_read(talk->talks, talk->key, talk->shown);
	talk->cached = MAX_OF(talk->cached, page_floor(off + size + TALK_PAGE - 1));
	return n;
}

/* True: it may not see the reply that the conversation was opened with. */
static bool talk_refuse_disputed(struct talk *talk, fuse_req_t req)
{
	enum shows_act act = SHOWS_GIVE;

	{
		GUARD(&talk->lock);
		if (talk->shows == SHOWS_DISPUTED || talk->shows == SHOWS_REFUSED)
			act = shows_go(talk, SHOWS_WANTED);
	}
	if (act == SHOWS_COMPLAIN)
		reply_complain(talk, talk->who, reply_disputed, NULL);
	if (act != SHOWS_GIVE)
		reply_errno(req, EBUSY);
	return act != SHOWS_GIVE;
}

static bool talk_park_reader(struct talk *talk, struct park *park)
{
	if (!park_wait(park))
		return false;
	park->next = talk->readers;
	talk->readers = park;
	return true;
}

/*
 * The kernel refuses by the mode that it was told, without a word to us. But it asks for the attributes
 * before it does, and for no other reason while they hold (talk_attr_s): so an open, or an access(2), that
 * failed is an attempt, and a stat is none (tests/e2e/talk_owners.sh).
 */
static void talk_getattr_refused(struct talk *talk, fuse_req_t req)
{
	const struct fuse_ctx *ctx = fuse_req_ctx(req);

	/* the process that has looked it up, just before; it is not looked at again: that may wait */
	if (ctx->pid != talk->who->tid || ctx->uid != talk->who->uid)
		return;
	reply_attempt(talk, talk->who, talk->refused);
}

double talk_attr_s(const struct talk *talk)
{
	return talk->refused ? TIMEOUT_LONG_S : TALK_ATTR_S;
}

void talk_getattr(struct talk *talk, fuse_req_t req, bool by_handle, const struct stat *base)
{
	struct park *park = NULL;
	struct stat st = *base;
	bool waits = false;

	if (talk->refused && !by_handle)
		talk_getattr_refused(talk, req);
	{
		GUARD(&talk->lock);
		if (by_handle && talk_waits(talk))
			park = park_new(talk, req, PARK_GETATTR);
		if (park)
			park->st = st;
		waits = park && talk_park_reader(talk, park);
		if (!waits)
			talk_fill_stat(talk, &st);
	}
	if (waits)
		return;
	park_drop(park);
	reply_attr(req, &st, 0);
}

void talk_read(struct talk *talk, fuse_req_t req, size_t size, off_t off)
{
	auto_free char *data = NULL;
	struct park *park = NULL;
	bool waits = false;
	size_t len = 0;

	if (talk->refused || off < 0) {
		reply_errno(req, talk->refused ? EACCES : EINVAL);
		return;
	}
	if (talk_refuse_disputed(talk, req))
		return;
	{
		GUARD(&talk->lock);
		if (talk_waits(talk) && (size_t)off >= transcript_size(&talk->text))
			park = park_new(talk, req, PARK_READ);
		if (park) {
			park->off = (size_t)off;
			park->size = size;
		}
		waits = park && talk_park_reader(talk, park);
		if (!waits)
			data = talk_read_room(talk, (size_t)off, size);
		if (data)
			len = talk_fill_read(talk, (size_t)off, data, size);
	}
	if (waits)
		return;
	park_drop(park);
	if (data)
		reply_bytes(req, data, len);
	else
		reply_errno(req, ENOMEM);
}

void talk_truncate(struct talk *talk, off_t size)
{
	if (size != 0 || talk->refused)
		return;
	GUARD(&talk->lock);
	if (talk_waits(talk))
		return;
	shows_go(talk, SHOWS_EMPTIED);
	transcript_cut(&talk->text, 0);
	talk_start_over(talk);
	talk_forget_failure(talk);
	talk->cached = 0;
	talk->told = 0;
	talk->expect = 0;
}

/* ---- whose turn it is ---- */

struct aside_lane talk_item_lane(const struct talks *talks, enum rye_kind kind, const char *id)
{
	int space = kind < RYE_KIND__MAX ? rye_space_of(talks->env.rye, kind, id) : -1;

	return (struct aside_lane){ ASIDE_ITEMS, (uint64_t)(space + 1) };
}

struct aside_lane talk_lane(const struct talk *talk, struct rye_span bytes)
{
	const char *thread = talk->target.thread;
	size_t n = 0;

	if (!thread)
		return talk_item_lane(talk->talks, talk->target.kind, talk->target.id);
	if (rye_thread_told(bytes))
		return (struct aside_lane){ ASIDE_WORDS, hash_text(HASH_BASIS, thread) };
	while (n < bytes.len && (unsigned char)bytes.ptr[n] > ' ')
		n++;
	return (struct aside_lane){ ASIDE_VERBS,
				    hash_bytes(hash_text(HASH_BASIS, thread), bytes.ptr, n) };
}

void talk_late(struct talk *talk, fuse_req_t req)
{
	struct caller *writer = caller_examine(talk->talks->env.callers, fuse_req_ctx(req)->pid,
					       fuse_req_ctx(req)->uid);

	if (writer)
		reply_complain(talk, writer,
			       "earlier words for this thread are not answered yet: this one was "
			       "not said; say it again, or end the thread: write kill",
			       NULL);
	caller_unref(writer);
	reply_errno(req, ETIMEDOUT);
}

/* ---- the outbox ---- */

void outbox_init(struct outbox *out)
{
	memset(out, 0, offsetof(struct outbox, complaint) + 1);
	out->answers = NULL;
	out->last = &out->answers;
}

struct node_answer *talk_here(const struct talk *talk, const struct park *park)
{
	if (park && talk->here.park == park && pthread_equal(talk->here.thread, pthread_self()))
		return talk->here.answer;
	return NULL;
}

void outbox_answer(struct outbox *out, struct park *park)
{
	struct talk *talk = park->talk;

	park->later = talk_here(talk, park);
	park->next = NULL;
	*out->last = park;
	out->last = &park->next;
}

static void send_broken(struct talk *talk, struct outbox *out)
{
	if (out->broken)
		reply_record(talk, out->speaker, out->complaint,
			     &(struct last){ .reply = out->broken });
	reply_complain(talk, out->speaker, out->complaint, NULL);
	rye_blob_unref(out->broken);
	caller_unref(out->speaker);
}

void outbox_send(struct talk *talk, struct outbox *out)
{
	struct talks *talks = talk->talks;

	if (out->start) {
		run_start(out->start);
		run_unref(out->start);
	}
	if (out->invalidate)
		talks->env.invalidate(talks->env.arg, &out->inval);
	if (out->speaker)
		send_broken(talk, out);
	while (out->answers) {
		struct park *park = out->answers;

		out->answers = park->next;
		/* none may overtake it */
		if (out->answers)
			park->later = NULL;
		park_answer(park);
	}
}
