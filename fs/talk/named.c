/* SPDX-License-Identifier: MIT */
/*
 * named.c - calls by name: what lies in calls/NAME/ and replies/NAME/ of every item and primitive.
 *
 * Owns the table of calls: of each its request, its reply and the drafts that programs write beside
 * it before they rename one. In memory alone and bounded: an item keeps its newest calls, all
 * together NAMED_BYTES, the oldest go first; a draft is forgotten a minute after its last write. A
 * call that runs is never one that goes. What only a node or a file refers to is in no list but its
 * bucket's, and counts for nothing.
 *
 * Lock: the store's, for the table and for the bytes of its files (named_file.c); taken by the FUSE
 * threads, by the engine's thread that ends a run, and by the parking thread, which sweeps.
 */
#include "talk/named.h"

#include "clock.h"
#include "core/listing.h"
#include "hash.h"
#include "scope.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct named_draft {
	struct named_draft *next;
	struct named_file *file; /* a reference */
	char name[];
};

int named_open(const struct named_env *env, struct named **ret)
{
	struct named *named = calloc(1, sizeof(*named));

	if (!named)
		return -ENOMEM;
	named->env = *env;
	TAILQ_INIT(&named->calls);
	pthread_mutex_init(&named->lock, NULL);
	*ret = named;
	return 0;
}

bool named_is_name(const char *name)
{
	size_t len = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				  "0123456789._-");

	return len > 0 && len <= NAMED_NAME_MAX && !name[len] && strcmp(name, ".") != 0 &&
	       strcmp(name, "..") != 0;
}

/* ---- which calls there are ---- */

static struct named_call *call_make(struct named *named, const struct talk_target *target,
				    const char *name)
{
	const char *kind = rye_kind_name(target->kind);
	size_t id = strlen(target->id) + 1, key = id + strlen(kind) + 32;
	struct named_call *call = calloc(1, sizeof(*call) + id + key + strlen(name) + 1);

	if (!call)
		return NULL;
	call->refs = 1;
	call->named = named;
	call->target = (struct talk_target){ .verb = target->verb, .kind = target->kind };
	call->target.id = memcpy(call->text, target->id, id);
	call->key = call->text + id;
	talk_key(target, call->text + id, key);
	call->name = memcpy(call->text + id + key, name, strlen(name) + 1);
	call->hash = hash_text(hash_text(HASH_BASIS, call->key), name);
	return call;
}

/* Lock held. Where one of that name is, or would be; frees what it meets that nothing refers to. */
static struct named_call **call_slot(const struct named_call *like)
{
	struct named *named = like->named;
	struct named_call **at = &named->buckets[(like->hash ^ like->hash >> 32) % NAMED_BUCKETS];

	while (*at) {
		struct named_call *call = *at;

		if (call->hash == like->hash && strcmp(call->key, like->key) == 0 &&
		    strcmp(call->name, like->name) == 0)
			break;
		if (call->refs || call->used) {
			at = &call->next;
		} else {
			*at = call->next;
			free(call);
		}
	}
	return at;
}

struct named_call *named_call_get(struct named *named, const struct talk_target *target,
				  const char *name)
{
	struct named_call *made = call_make(named, target, name), *call = NULL;

	if (!made)
		return NULL;
	{
		GUARD(&named->lock);
		struct named_call **at = call_slot(made);

		if (*at)
			call = named_call_ref(*at);
		else
			*at = made;
	}
	if (!call)
		return made;
	free(made);
	return call;
}

struct named_call *named_call_ref(struct named_call *call)
{
	call->refs++;
	return call;
}

void named_call_unref(void *data)
{
	struct named_call *call = data;

	if (call)
		call->refs--;
}

/* ---- what is in them, lock held ---- */

static void draft_remove(struct named_draft **at)
{
	struct named_draft *draft = *at;

	*at = draft->next;
	named_file_unref(draft->file);
	free(draft);
}

static void call_set(struct named_call *call, struct rye_blob **at, struct rye_blob *blob)
{
	call->named->bytes -= *at ? (*at)->len : 0;
	rye_blob_unref(*at);
	*at = blob ? rye_blob_ref(blob) : NULL;
	call->named->bytes += blob ? blob->len : 0;
}

static void call_empty(struct named_call *call)
{
	if (!call->used)
		return;
	while (call->drafts)
		draft_remove(&call->drafts);
	call_set(call, &call->request, NULL);
	call_set(call, &call->reply, NULL);
	call_set(call, &call->output, NULL);
	call->number = 0;
	call->used = false;
	TAILQ_REMOVE(&call->named->calls, call, age);
	call->named->n--;
	call->named->bytes -= sizeof(*call);
}

/* Drafts that are too old go; with the last thing that was in it, its place among the others. */
static void call_expire(struct named_call *call)
{
	int64_t now = clock_ns();
	struct named_draft **at = &call->drafts;

	while (*at)
		if (now - (*at)->file->wrote_ns > call->named->env.draft_ns)
			draft_remove(at);
		else
			at = &(*at)->next;
	if (!call->drafts && !call->request && !call->reply && !call->running)
		call_empty(call);
}

/* The oldest that may go, of the calls that one item had or (key NULL) of all; NULL: none. */
static struct named_call *call_oldest(struct named *named, const char *key)
{
	struct named_call *call;

	TAILQ_FOREACH(call, &named->calls, age)
		if (!call->running && !call->drafts &&
		    (!key || (call->number && strcmp(call->key, key) == 0)))
			return call;
	return NULL;
}

bool named_make_room(struct named *named, size_t bytes)
{
	while (named->bytes + bytes > NAMED_BYTES) {
		struct named_call *oldest = call_oldest(named, NULL);

		if (!oldest)
			return false;
		call_empty(oldest);
	}
	return true;
}

/* Of the item, those that are too many. */
static void call_make_way(struct named *named, const char *key)
{
	struct named_call *call, *oldest;
	size_t n = 0;

	TAILQ_FOREACH(call, &named->calls, age)
		n += call->number && strcmp(call->key, key) == 0;
	for (; n > NAMED_OF_ITEM && (oldest = call_oldest(named, key)); n--)
		call_empty(oldest);
}

/* Something will be in it, and it is the newest. False: too many. */
static bool call_use(struct named_call *call)
{
	struct named *named = call->named;

	call_expire(call);
	if (call->used)
		return true;
	if (named->n >= NAMED_CALLS) {
		struct named_call *oldest = call_oldest(named, NULL);

		if (!oldest)
			return false;
		call_empty(oldest);
	}
	call->used = true;
	TAILQ_INSERT_TAIL(&named->calls, call, age);
	named->n++;
	named->bytes += sizeof(*call);
	return true;
}

/* ---- drafts ---- */

static struct named_draft **draft_slot(struct named_call *call, const char *name)
{
	struct named_draft **at = &call->drafts;

	while (*at && strcmp((*at)->name, name) != 0)
		at = &(*at)->next;
	return at;
}

struct named_file *named_draft(struct named_call *call, const char *name)
{
	GUARD(&call->named->lock);
	struct named_draft *draft;

	call_expire(call);
	draft = *draft_slot(call, name);
	return draft ? named_file_ref(draft->file) : NULL;
}

/* Lock held. */
static bool draft_insert(struct named_call *call, struct named_draft *draft)
{
	struct named_draft **at;
	size_t n = 0;

	if (!call_use(call))
		return false;
	at = draft_slot(call, draft->name);
	if (*at)
		draft_remove(at);
	for (const struct named_draft *other = call->drafts; other; other = other->next)
		n++;
	if (n >= NAMED_DRAFTS)
		return false;
	draft->next = call->drafts;
	call->drafts = draft;
	return true;
}

int named_put(struct named_call *call, const char *name, struct named_file *file)
{
	struct named_draft *draft = calloc(1, sizeof(*draft) + strlen(name) + 1);

	if (!draft)
		return ENOMEM;
	draft->file = named_file_ref(file);
	memcpy(draft->name, name, strlen(name));
	GUARD(&call->named->lock);
	if (draft_insert(call, draft))
		return 0;
	draft_remove(&draft);
	return ENOSPC;
}

int named_remove(struct named_call *call, const char *name)
{
	GUARD(&call->named->lock);
	struct named_draft **at;

	call_expire(call);
	at = draft_slot(call, name);
	if (*at)
		draft_remove(at);
	else if (call->request && strcmp(name, NAMED_REQUEST) == 0)
		call_set(call, &call->request, NULL);
	else
		return ENOENT;
	call_expire(call);
	return 0;
}

/* ---- requests and replies ---- */

struct rye_blob *named_text(struct named_call *call, enum named_what what, struct timespec *ret_at)
{
	GUARD(&call->named->lock);
	struct rye_blob *blob;

	call_expire(call);
	blob = what == NAMED_IS_REQUEST ? call->request :
	       what == NAMED_IS_REPLY	? call->reply :
					  call->output;
	*ret_at = what == NAMED_IS_REQUEST ? call->asked : call->replied;
	return blob ? rye_blob_ref(blob) : NULL;
}

uint64_t named_begin(struct named_call *call, struct rye_blob *request)
{
	struct named *named = call->named;
	struct named_draft **unfinished;

	GUARD(&named->lock);
	if (!named_make_room(named, request ? request->len : 0) || !call_use(call))
		return 0;
	call->number = ++named->made;
	call->running++;
	call_make_way(named, call->key);
	unfinished = draft_slot(call, NAMED_UNFINISHED);
	if (*unfinished)
		draft_remove(unfinished);
	clock_gettime(CLOCK_REALTIME, &call->asked);
	TAILQ_REMOVE(&named->calls, call, age);
	TAILQ_INSERT_TAIL(&named->calls, call, age);
	if (request)
		call_set(call, &call->request, request);
	call_set(call, &call->reply, NULL);
	call_set(call, &call->output, NULL);
	return call->number;
}

void named_end(struct named_call *call, uint64_t number, const struct last *last)
{
	GUARD(&call->named->lock);
	if (last && call->number == number) {
		clock_gettime(CLOCK_REALTIME, &call->replied);
		call_set(call, &call->reply, last->reply);
		call_set(call, &call->output, last->output);
	}
	/* only now may this one go, for its own reply's sake last of all */
	named_make_room(call->named, 0);
	call->running--;
}

void named_replace(struct named_call *call, uint64_t number, struct rye_blob *request)
{
	GUARD(&call->named->lock);
	if (call->number == number && call->request)
		call_set(call, &call->request, request);
}

/* ---- listing ---- */

void named_list_calls(const struct named_call *of, bool replied, struct listing *listing)
{
	struct named_call *call;

	GUARD(&of->named->lock);
	TAILQ_FOREACH(call, &of->named->calls, age)
		if (strcmp(call->key, of->key) == 0 && (!replied || call->reply))
			listing_add(listing, call->name, S_IFDIR, 1);
}

void named_list_drafts(struct named_call *call, struct listing *listing)
{
	GUARD(&call->named->lock);
	call_expire(call);
	if (call->request)
		listing_add(listing, NAMED_REQUEST, S_IFREG, 1);
	for (const struct named_draft *draft = call->drafts; draft; draft = draft->next)
		if (*draft->name)
			listing_add(listing, draft->name, S_IFREG, 1);
}

/* ---- time ---- */

void named_sweep(struct named *named)
{
	struct named_call *call, *next;

	GUARD(&named->lock);
	for (call = TAILQ_FIRST(&named->calls); call; call = next) {
		next = TAILQ_NEXT(call, age);
		call_expire(call);
	}
}

void named_free(struct named *named)
{
	if (!named)
		return;
	for (size_t i = 0; i < NAMED_BUCKETS; i++)
		while (named->buckets[i]) {
			struct named_call *call = named->buckets[i];

			named->buckets[i] = call->next;
			call_empty(call);
			free(call);
		}
	pthread_mutex_destroy(&named->lock);
	free(named);
}
