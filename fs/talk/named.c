/* SPDX-License-Identifier: MIT */
/*
 * named.c - calls by name: what lies in calls/NAME/ and replies/NAME/ of every item and primitive.
 *
 * Owns the table of calls: of each its request, its reply and the drafts that programs write beside
 * it before they rename one. In memory alone and bounded: an item keeps its newest calls, all
 * together NAMED_BYTES, the oldest go first; a draft is forgotten a minute after its last write. A
 * call that runs is never one that goes.
 *
 * Lock: the store's, for the table and for the bytes of its files (named_file.c); taken by the FUSE
 * threads, by the engine's thread that ends a run, and by the parking thread, which sweeps. Blobs
 * and calls are freed outside of it.
 */
#include "talk/talk_inner.h"

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

struct named_call {
	TAILQ_ENTRY(named_call) age; /* all calls, the oldest first */
	struct named_call *next; /* of its bucket, or of what is to be freed */
	struct named_draft *drafts;
	struct rye_blob *request, *reply, *output; /* NULL: not there */
	struct timespec asked, replied;
	uint64_t number; /* of its newest message */
	unsigned running;
	const char *key, *name;
	char text[];
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

void named_empty(struct named_trash *trash)
{
	while (trash->drafts) {
		struct named_draft *draft = trash->drafts;

		trash->drafts = draft->next;
		named_file_unref(draft->file);
		free(draft);
	}
	while (trash->calls) {
		struct named_call *call = trash->calls;

		trash->calls = call->next;
		rye_blob_unref(call->request);
		rye_blob_unref(call->reply);
		rye_blob_unref(call->output);
		free(call);
	}
	for (size_t i = 0; i < ARRAY_SIZE(trash->blobs); i++)
		rye_blob_unref(trash->blobs[i]);
}

/* ---- places ---- */

struct named_place *named_place_new(struct named *named, const struct talk_target *target,
				    const char *name)
{
	const char *kind = rye_kind_name(target->kind);
	size_t id = strlen(target->id) + 1, key = id + strlen(kind) + 32;
	struct named_place *place = calloc(1, sizeof(*place) + id + key + strlen(name) + 1);

	if (!place)
		return NULL;
	*place = (struct named_place){
		.refs = 1,
		.named = named,
		.target = { target->verb, target->kind, place->text },
		.key = place->text + id,
		.name = place->text + id + key,
	};
	memcpy(place->text, target->id, id);
	talk_key(target, place->text + id, key);
	memcpy(place->text + id + key, name, strlen(name) + 1);
	return place;
}

struct named_place *named_place_ref(struct named_place *place)
{
	place->refs++;
	return place;
}

void named_place_unref(void *data)
{
	struct named_place *place = data;

	if (place && --place->refs == 0)
		free(place);
}

bool named_is_name(const char *name)
{
	size_t len = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				  "0123456789._-");

	return len > 0 && len <= NAMED_NAME_MAX && !name[len] && strcmp(name, ".") != 0 &&
	       strcmp(name, "..") != 0;
}

/* ---- the table, lock held ---- */

static size_t blob_bytes(const struct rye_blob *blob)
{
	return blob ? blob->len : 0;
}

static size_t call_bytes(const struct named_call *call)
{
	return sizeof(*call) + blob_bytes(call->request) + blob_bytes(call->reply) +
	       blob_bytes(call->output);
}

static struct named_call **call_slot(struct named *named, const char *key, const char *name)
{
	uint64_t hash = hash_text(HASH_BASIS, key);
	struct named_call **at = &named->buckets[(hash ^ hash >> 32) % NAMED_BUCKETS];

	while (*at && (strcmp((*at)->key, key) != 0 || (name && strcmp((*at)->name, name) != 0)))
		at = &(*at)->next;
	return at;
}

static void call_take_out(struct named *named, struct named_call *call, struct named_trash *trash)
{
	struct named_call **at = call_slot(named, call->key, call->name);

	*at = call->next;
	TAILQ_REMOVE(&named->calls, call, age);
	named->n--;
	named->bytes -= call_bytes(call);
	while (call->drafts) {
		struct named_draft *draft = call->drafts;

		call->drafts = draft->next;
		draft->next = trash->drafts;
		trash->drafts = draft;
	}
	call->next = trash->calls;
	trash->calls = call;
}

static void draft_take_out(struct named_draft **at, struct named_trash *trash)
{
	struct named_draft *draft = *at;

	*at = draft->next;
	draft->next = trash->drafts;
	trash->drafts = draft;
}

/* Drafts that are too old, and the call itself when nothing is left of it. */
static void call_expire(struct named *named, struct named_call *call, struct named_trash *trash)
{
	int64_t now = clock_ns();
	struct named_draft **at = &call->drafts;

	while (*at)
		if (now - (*at)->file->wrote_ns > named->env.draft_ns)
			draft_take_out(at, trash);
		else
			at = &(*at)->next;
	if (!call->drafts && !call->request && !call->reply && !call->running)
		call_take_out(named, call, trash);
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

static size_t call_count(struct named *named, const char *key)
{
	struct named_call *call = *call_slot(named, key, NULL);
	size_t n = 0;

	for (; call; call = call->next)
		n += call->number && strcmp(call->key, key) == 0;
	return n;
}

bool named_make_room(struct named *named, size_t bytes, struct named_trash *trash)
{
	while (named->bytes + bytes > NAMED_BYTES) {
		struct named_call *oldest = call_oldest(named, NULL);

		if (!oldest)
			return false;
		call_take_out(named, oldest, trash);
	}
	return true;
}

/* Of the item, those that are too many. */
static void call_make_way(struct named *named, const char *key, struct named_trash *trash)
{
	struct named_call *oldest = NULL;

	while (call_count(named, key) > NAMED_OF_ITEM && (oldest = call_oldest(named, key)))
		call_take_out(named, oldest, trash);
}

/* With what is too old gone from it; NULL: there is none. */
static struct named_call *call_find(const struct named_place *place, struct named_trash *trash)
{
	struct named *named = place->named;
	struct named_call *call = *call_slot(named, place->key, place->name);

	if (call)
		call_expire(named, call, trash);
	return *call_slot(named, place->key, place->name);
}

/* NULL: too many, or out of memory. */
static struct named_call *call_obtain(const struct named_place *place, struct named_trash *trash)
{
	struct named *named = place->named;
	struct named_call *call = call_find(place, trash);
	size_t key = strlen(place->key) + 1, name = strlen(place->name) + 1;

	if (call)
		return call;
	if (named->n >= NAMED_CALLS) {
		struct named_call *oldest = call_oldest(named, NULL);

		if (!oldest)
			return NULL;
		call_take_out(named, oldest, trash);
	}
	call = calloc(1, sizeof(*call) + key + name);
	if (!call)
		return NULL;
	memcpy(call->text, place->key, key);
	memcpy(call->text + key, place->name, name);
	call->key = call->text;
	call->name = call->text + key;
	*call_slot(named, place->key, place->name) = call;
	TAILQ_INSERT_TAIL(&named->calls, call, age);
	named->n++;
	named->bytes += call_bytes(call);
	return call;
}

/* ---- drafts ---- */

static struct named_draft **draft_slot(struct named_call *call, const char *name)
{
	struct named_draft **at = &call->drafts;

	while (*at && strcmp((*at)->name, name) != 0)
		at = &(*at)->next;
	return at;
}

struct named_file *named_draft(const struct named_place *place, const char *name)
{
	struct named_trash trash = { 0 };
	struct named_file *file = NULL;

	{
		GUARD(&place->named->lock);
		struct named_call *call = call_find(place, &trash);
		struct named_draft *draft = call ? *draft_slot(call, name) : NULL;

		if (draft)
			file = named_file_ref(draft->file);
	}
	named_empty(&trash);
	return file;
}

/* Lock held. Takes draft over. */
static bool draft_insert(const struct named_place *place, struct named_draft *draft,
			 struct named_trash *trash)
{
	struct named_call *call = call_obtain(place, trash);
	struct named_draft **at, *other;
	size_t n = 0;

	if (call) {
		at = draft_slot(call, draft->name);
		if (*at)
			draft_take_out(at, trash);
		for (other = call->drafts; other; other = other->next)
			n++;
	}
	draft->next = NULL;
	if (!call || n >= NAMED_DRAFTS) {
		draft->next = trash->drafts;
		trash->drafts = draft;
		return false;
	}
	draft->next = call->drafts;
	call->drafts = draft;
	return true;
}

int named_put(const struct named_place *place, const char *name, struct named_file *file)
{
	struct named_draft *draft = calloc(1, sizeof(*draft) + strlen(name) + 1);
	struct named_trash trash = { 0 };
	bool put = false;

	if (!draft)
		return ENOMEM;
	draft->file = named_file_ref(file);
	memcpy(draft->name, name, strlen(name));
	{
		GUARD(&place->named->lock);
		put = draft_insert(place, draft, &trash);
	}
	named_empty(&trash);
	return put ? 0 : ENOSPC;
}

int named_remove(const struct named_place *place, const char *name)
{
	struct named_trash trash = { 0 };
	bool was = false;

	{
		GUARD(&place->named->lock);
		struct named_call *call = call_find(place, &trash);
		struct named_draft **at = call ? draft_slot(call, name) : NULL;

		if (at && *at) {
			draft_take_out(at, &trash);
			was = true;
		} else if (call && call->request && strcmp(name, NAMED_REQUEST) == 0) {
			place->named->bytes -= call->request->len;
			trash.blobs[0] = steal(&call->request);
			was = true;
		}
		if (was)
			call_expire(place->named, call, &trash);
	}
	named_empty(&trash);
	return was ? 0 : ENOENT;
}

/* ---- requests and replies ---- */

struct rye_blob *named_text(const struct named_place *place, enum named_what what,
			    struct timespec *ret_at)
{
	struct named_trash trash = { 0 };
	struct rye_blob *blob = NULL;

	{
		GUARD(&place->named->lock);
		struct named_call *call = call_find(place, &trash);

		if (call) {
			blob = what == NAMED_IS_REQUEST ? call->request :
			       what == NAMED_IS_REPLY	? call->reply :
							  call->output;
			*ret_at = what == NAMED_IS_REQUEST ? call->asked : call->replied;
		}
		if (blob)
			rye_blob_ref(blob);
	}
	named_empty(&trash);
	return blob;
}

/* Lock held. The text is replaced, its old one goes. */
static void call_set(struct named *named, struct rye_blob **at, struct rye_blob *blob,
		     struct rye_blob **trash)
{
	named->bytes -= blob_bytes(*at);
	*trash = *at;
	*at = blob ? rye_blob_ref(blob) : NULL;
	named->bytes += blob_bytes(blob);
}

uint64_t named_begin(const struct named_place *place, struct rye_blob *request)
{
	struct named *named = place->named;
	struct named_trash trash = { 0 };
	uint64_t number = 0;

	{
		GUARD(&named->lock);
		struct named_call *call = NULL;
		struct named_draft **unfinished;

		if (named_make_room(named, blob_bytes(request), &trash))
			call = call_obtain(place, &trash);
		if (call) {
			number = call->number = ++named->made;
			call->running++;
			call_make_way(named, place->key, &trash);
			unfinished = draft_slot(call, NAMED_UNFINISHED);
			if (*unfinished)
				draft_take_out(unfinished, &trash);
			clock_gettime(CLOCK_REALTIME, &call->asked);
			TAILQ_REMOVE(&named->calls, call, age);
			TAILQ_INSERT_TAIL(&named->calls, call, age);
			if (request)
				call_set(named, &call->request, request, &trash.blobs[0]);
			call_set(named, &call->reply, NULL, &trash.blobs[1]);
			call_set(named, &call->output, NULL, &trash.blobs[2]);
		}
	}
	named_empty(&trash);
	return number;
}

void named_end(const struct named_place *place, uint64_t number, const struct last *last)
{
	struct named *named = place->named;
	struct named_trash trash = { 0 };

	{
		GUARD(&named->lock);
		struct named_call *call = *call_slot(named, place->key, place->name);

		if (call && last && call->number == number) {
			clock_gettime(CLOCK_REALTIME, &call->replied);
			call_set(named, &call->reply, last->reply, &trash.blobs[0]);
			call_set(named, &call->output, last->output, &trash.blobs[1]);
		}
		/* only now may this one go, for its own reply's sake last of all */
		named_make_room(named, 0, &trash);
		if (call)
			call->running--;
	}
	named_empty(&trash);
}

void named_replace(const struct named_place *place, uint64_t number, struct rye_blob *request)
{
	struct named_trash trash = { 0 };

	{
		GUARD(&place->named->lock);
		struct named_call *call = *call_slot(place->named, place->key, place->name);

		if (call && call->number == number && call->request)
			call_set(place->named, &call->request, request, &trash.blobs[0]);
	}
	named_empty(&trash);
}

uint64_t named_newest(const struct named_place *place)
{
	GUARD(&place->named->lock);
	struct named_call *call = *call_slot(place->named, place->key, place->name);

	return call ? call->number : 0;
}

/* ---- listing ---- */

void named_list_calls(const struct named_place *place, bool replied, struct listing *listing)
{
	GUARD(&place->named->lock);
	struct named_call *call = *call_slot(place->named, place->key, NULL);

	for (; call; call = call->next)
		if (strcmp(call->key, place->key) == 0 && (!replied || call->reply))
			listing_add(listing, call->name, S_IFDIR, 1);
}

void named_list_drafts(const struct named_place *place, struct listing *listing)
{
	struct named_trash trash = { 0 };

	{
		GUARD(&place->named->lock);
		struct named_call *call = call_find(place, &trash);
		struct named_draft *draft = call ? call->drafts : NULL;

		if (call && call->request)
			listing_add(listing, NAMED_REQUEST, S_IFREG, 1);
		for (; draft; draft = draft->next)
			if (*draft->name)
				listing_add(listing, draft->name, S_IFREG, 1);
	}
	named_empty(&trash);
}

/* ---- time ---- */

void named_sweep(struct named *named)
{
	struct named_trash trash = { 0 };

	{
		GUARD(&named->lock);
		struct named_call *call = TAILQ_FIRST(&named->calls), *next;

		for (; call; call = next) {
			next = TAILQ_NEXT(call, age);
			call_expire(named, call, &trash);
		}
	}
	named_empty(&trash);
}

void named_free(struct named *named)
{
	struct named_trash trash = { 0 };

	if (!named)
		return;
	while (!TAILQ_EMPTY(&named->calls))
		call_take_out(named, TAILQ_FIRST(&named->calls), &trash);
	named_empty(&trash);
	pthread_mutex_destroy(&named->lock);
	free(named);
}
