/* SPDX-License-Identifier: MIT */
/*
 * Which key vouches for which. User and system space may bring unsigned or self-signed keys; a
 * signed one needs an unscoped key that is already trusted, found by repeating until nothing
 * changes, so that keys vouching for each other get nowhere. A project's key needs such a signer
 * from outside the project: a clone cannot vouch for itself.
 *
 * Lock: trust_box.lock guards `current` and `generation` alone. Snapshots are never changed.
 */
#include "trust/trust.h"

#include "base/io.h"
#include "memory.h"
#include "scope.h"
#include "space/space.h"
#include "str.h"
#include "trust/trust_inner.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdatomic.h>

/* Key files of one directory; more is not a trust store but an attack on the reader. */
#define FILES_MAX 1024

struct trust_box {
	pthread_mutex_t lock;
	struct trust *current; /* under lock */
	uint64_t generation; /* under lock */
	const struct spaces *spaces;
	const struct log *log;
	struct memo *memo;
	_Atomic uint64_t checks;
};

/* One key file of one space, while a snapshot is being made. */
struct candidate {
	struct trustfile file; /* all zero when it could not be read */
	const struct space *space;
	char fp[KEY_FP], path[64], status[160];
	bool valid, accepted;
};

struct candidates {
	size_t n, size;
	struct candidate *v;
	char *unread; /* struct trust's */
};

static void candidates_done(struct candidates *all)
{
	for (size_t i = 0; i < all->n; i++)
		trustfile_done(&all->v[i].file);
	free(all->v);
	free(all->unread);
}

/* ---- reading ---- */

static struct candidate *add_candidate(struct candidates *all)
{
	if (all->n == all->size) {
		size_t size = all->size ? 2 * all->size : 16;
		struct candidate *v = memory_note(reallocarray(all->v, size, sizeof(*v)));

		if (!v)
			return NULL;
		all->v = v;
		all->size = size;
	}
	all->v[all->n] = (struct candidate){ 0 };
	return &all->v[all->n++];
}

/* Automatic keys sign what a model wrote: without a scope they are no such key. */
static int read_candidate(int dir, const char *name, struct candidate *c)
{
	struct rye_err err = { 0 };
	struct rye_blob *raw = NULL;
	int r = io_read_at(dir, name, TRUSTFILE_MAX, &raw);

	if (r < 0) {
		snprintf(c->status, sizeof(c->status), "cannot be read: %s", strerror(-r));
		return r;
	}
	r = trustfile_read((struct rye_span){ raw->data, raw->len }, c->fp, &c->file, &err);
	rye_blob_unref(raw);
	if (r < 0)
		rye_err_line(&err, c->status, sizeof(c->status));
	else if (strstr(c->path, "/automatic/") && !c->file.n_scope)
		snprintf(c->status, sizeof(c->status), "an automatic key without a scope");
	else
		c->valid = true;
	return 0;
}

/* "<16 hex>.toml", else it is no key file. */
static bool stem_of(const char *name, char ret[KEY_FP])
{
	if (strlen(name) != 21 || !str_ends(name, ".toml") ||
	    !is_hex_lower((struct rye_span){ name, 16 }))
		return false;
	memcpy(ret, name, 16);
	ret[16] = 0;
	return true;
}

static int trust_by_name(const void *a, const void *b)
{
	return strcmp(((const struct candidate *)a)->fp, ((const struct candidate *)b)->fp);
}

static void read_dir(const struct space *space, const char *where, struct candidates *all)
{
	auto_close int fd = -1;
	auto_dir DIR *dir = NULL;
	size_t first = all->n;
	struct dirent *entry;
	int root = space_fd(space);

	if (root >= 0)
		fd = io_open_mounted(root, where, O_RDONLY | O_DIRECTORY);
	if (fd == -EACCES && !all->unread)
		all->unread = space_abspath(space, where);
	if (fd < 0)
		return;
	dir = memory_note(fdopendir(dup(fd)));
	while (dir && all->n - first < FILES_MAX && (entry = readdir(dir))) {
		char fp[KEY_FP];
		struct candidate *c = stem_of(entry->d_name, fp) ? add_candidate(all) : NULL;

		if (!c)
			continue;
		memcpy(c->fp, fp, sizeof(fp));
		c->space = space;
		snprintf(c->path, sizeof(c->path), "%s/%s", where, entry->d_name);
		read_candidate(fd, entry->d_name, c);
	}
	if (all->n > first)
		qsort(all->v + first, all->n - first, sizeof(*all->v), trust_by_name);
}

static void read_all(const struct spaces *spaces, struct candidates *all)
{
	static const char *const places[] = { "config/keys/trusted", "config/keys/automatic",
					      "trusted_keys" };

	for (size_t i = 0; i < spaces->n; i++)
		for (size_t k = 0; k < ARRAY_SIZE(places); k++)
			read_dir(&spaces->v[i], places[k], all);
}

/* ---- judging ---- */

static bool is_outside(const struct candidate *c)
{
	return c->space->type != RYE_PROJECT;
}

/*
 * The key bytes with which fp may vouch: some accepted file outside the project, and none of
 * its files there limits it (which file wins must not depend on the order of acceptance).
 */
static const unsigned char *voucher(const struct candidates *all, const char *fp)
{
	const unsigned char *found = NULL;

	for (size_t i = 0; i < all->n; i++) {
		const struct candidate *c = &all->v[i];

		if (!is_outside(c) || strcmp(c->fp, fp))
			continue;
		if (c->file.n_scope)
			return NULL;
		if (c->accepted)
			found = c->file.key.bytes;
	}
	return found;
}

static bool is_acceptable(const struct candidates *all, const struct candidate *c)
{
	const unsigned char *key;

	if (is_outside(c) && !c->file.line.is_signed)
		return true;
	if (is_outside(c) && !strcmp(c->file.line.signer, c->fp))
		return trustfile_signed_by(&c->file, c->file.key.bytes);
	if (!c->file.line.is_signed || !strcmp(c->file.line.signer, c->fp))
		return false;
	key = voucher(all, c->file.line.signer);
	return key && trustfile_signed_by(&c->file, key);
}

/* A file of user or system space, good or bad, decides alone about its fingerprint. */
static bool decided_outside(const struct candidates *all, const char *fp)
{
	for (size_t i = 0; i < all->n; i++)
		if (is_outside(&all->v[i]) && !strcmp(all->v[i].fp, fp))
			return true;
	return false;
}

static bool accept_some(struct candidates *all, bool project)
{
	bool changed = false;

	for (size_t i = 0; i < all->n; i++) {
		struct candidate *c = &all->v[i];

		if (!c->valid || c->accepted || project == is_outside(c))
			continue;
		if (project && decided_outside(all, c->fp))
			continue;
		c->accepted = is_acceptable(all, c);
		changed = changed || c->accepted;
	}
	return changed;
}

static void trust_explain(const struct candidates *all, struct candidate *c)
{
	const char *signer = c->file.line.signer;

	if (!c->valid)
		return;
	if (!is_outside(c) && decided_outside(all, c->fp))
		snprintf(c->status, sizeof(c->status), "the user's or system's file decides");
	else if (!is_outside(c) && (!*signer || !strcmp(signer, c->fp)))
		snprintf(c->status, sizeof(c->status), "a project cannot vouch for its own keys");
	else if (voucher(all, signer) || !strcmp(signer, c->fp))
		snprintf(c->status, sizeof(c->status), "its signature is wrong");
	else
		snprintf(c->status, sizeof(c->status), "signed by %s, which cannot vouch for keys",
			 signer);
}

static void trust_judge(struct candidates *all)
{
	while (accept_some(all, false))
		;
	accept_some(all, true);
	for (size_t i = 0; i < all->n; i++) {
		struct candidate *c = &all->v[i];

		if (c->accepted)
			snprintf(c->status, sizeof(c->status), "trusted");
		else
			trust_explain(all, c);
		for (size_t k = 0; c->accepted && k < i; k++)
			if (all->v[k].accepted && !strcmp(all->v[k].fp, c->fp)) {
				c->accepted = false;
				snprintf(c->status, sizeof(c->status), "another file of it wins");
			}
	}
}

/* ---- snapshots ---- */

static void trust_take_key(struct candidate *c, struct trust_key *key)
{
	*key = (struct trust_key){ .space = c->space,
				   .n_scope = c->file.n_scope,
				   .scope = steal(&c->file.scope),
				   .trusted = c->accepted };
	c->file.n_scope = 0;
	memcpy(key->fp, c->fp, sizeof(key->fp));
	memcpy(key->owner, c->file.owner, sizeof(key->owner));
	memcpy(key->bytes, c->file.key.bytes, KEY_LEN);
	memcpy(key->path, c->path, sizeof(key->path));
	memcpy(key->status, c->status, sizeof(key->status));
}

static int trusted_first(const void *pa, const void *pb)
{
	const struct trust_key *a = pa, *b = pb;

	return a->trusted != b->trusted ? b->trusted - a->trusted : strcmp(a->fp, b->fp);
}

static struct trust *snapshot(struct candidates *all)
{
	struct trust *trust = calloc(1, sizeof(*trust));

	if (trust && all->n)
		trust->keys = calloc(all->n, sizeof(*trust->keys));
	if (!trust || (all->n && !trust->keys)) {
		free(trust);
		return NULL;
	}
	atomic_init(&trust->refs, 1);
	trust->n_keys = all->n;
	trust->unread = steal(&all->unread);
	for (size_t i = 0; i < all->n; i++) {
		trust->n += all->v[i].accepted;
		trust_take_key(&all->v[i], &trust->keys[i]);
	}
	if (all->n)
		qsort(trust->keys, all->n, sizeof(*trust->keys), trusted_first);
	return trust;
}

void trust_put(struct trust *trust)
{
	if (!trust || atomic_fetch_sub(&trust->refs, 1) != 1)
		return;
	for (size_t i = 0; i < trust->n_keys; i++) {
		for (size_t k = 0; k < trust->keys[i].n_scope; k++)
			free(trust->keys[i].scope[k]);
		free(trust->keys[i].scope);
	}
	free(trust->keys);
	free(trust->unread);
	free(trust);
}

static void trust_warn(const struct trust_box *box, const struct trust *trust)
{
	for (size_t i = trust->n; i < trust->n_keys; i++) {
		const struct trust_key *key = &trust->keys[i];

		/* a project brings its signers' keys along: nothing is wrong with a second file */
		log_line(box->log,
			 trust_find(trust, span_of(key->fp)) ? RYE_LOG_INFO : RYE_LOG_WARN, "trust",
			 "%s key file %s: %s", key->space->full, key->path, key->status);
	}
}

int trust_reload(struct trust_box *box, struct rye_err *err)
{
	__attribute__((cleanup(candidates_done))) struct candidates all = { 0 };
	struct trust *trust, *old = NULL;
	unsigned long since = memory_failures();

	read_all(box->spaces, &all);
	trust_judge(&all);
	/* A store with a key missing would refuse what it vouches for: the old one stays. */
	if (memory_check(since, err))
		return -(int)RYE_IO;
	trust = snapshot(&all);
	if (!trust)
		return memory_fail(err);
	trust_warn(box, trust);
	{
		GUARD(&box->lock);
		trust->generation = ++box->generation;
		old = box->current;
		box->current = trust;
	}
	trust_put(old);
	return 0;
}

int trust_box_new(const struct spaces *spaces, const struct log *log, struct trust_box **ret,
		  struct rye_err *err)
{
	struct trust_box *box = calloc(1, sizeof(*box));
	int r;

	if (!box || sodium_init() < 0) {
		free(box);
		return memory_fail(err);
	}
	pthread_mutex_init(&box->lock, NULL);
	box->spaces = spaces;
	box->log = log;
	box->memo = memo_new();
	r = box->memo ? trust_reload(box, err) : memory_fail(err);
	if (r < 0) {
		trust_box_free(box);
		return r;
	}
	*ret = box;
	return 0;
}

void trust_box_free(struct trust_box *box)
{
	if (!box)
		return;
	trust_put(box->current);
	memo_free(box->memo);
	free(box);
}

/* Its texts are its own. False: out of memory; what was copied is in *to. */
static bool trust_copy_key(const struct trust_key *from, struct trust_key *to)
{
	*to = *from;
	to->scope = calloc(from->n_scope + 1, sizeof(*to->scope));
	to->n_scope = 0;
	while (to->scope && to->n_scope < from->n_scope &&
	       (to->scope[to->n_scope] = strdup(from->scope[to->n_scope])))
		to->n_scope++;
	return to->scope && to->n_scope == from->n_scope;
}

/* The trusted keys, and that one; one that is there already stays as it is. */
static struct trust *trust_and(const struct trust *trust, const struct trust_key *more)
{
	bool there = trust_find(trust, span_of(more->fp)) != NULL, ok = true;
	struct trust *both = calloc(1, sizeof(*both));

	if (both)
		both->keys = calloc(trust->n + 1, sizeof(*both->keys));
	if (!both || !both->keys) {
		free(both);
		return NULL;
	}
	atomic_init(&both->refs, 1);
	both->generation = trust->generation;
	for (size_t i = 0; ok && i < trust->n; i++)
		ok = trust_copy_key(&trust->keys[i], &both->keys[both->n_keys++]);
	if (ok && !there)
		ok = trust_copy_key(more, &both->keys[both->n_keys++]);
	both->n = both->n_keys;
	qsort(both->keys, both->n, sizeof(*both->keys), trusted_first);
	if (!ok)
		trust_put(steal(&both));
	return both;
}

struct trust_box *trust_box_with(struct trust_box *box, const struct key_public *key,
				 const char *const scope[2])
{
	struct trust_key more = { .scope = (char **)scope, .n_scope = 2, .trusted = true };
	struct trust_box *both = memory_note(calloc(1, sizeof(*both)));
	auto_trust struct trust *now = trust_get(box);

	if (!both)
		return NULL;
	memcpy(more.fp, key->fp, sizeof(more.fp));
	memcpy(more.bytes, key->bytes, sizeof(more.bytes));
	pthread_mutex_init(&both->lock, NULL);
	both->spaces = box->spaces;
	both->log = box->log;
	both->memo = memo_new();
	both->current = trust_and(now, &more);
	if (both->memo && both->current)
		return both;
	if (both->memo)
		memo_free(both->memo);
	trust_put(both->current);
	free(both);
	return NULL;
}

struct trust *trust_get(struct trust_box *box)
{
	struct trust *trust = NULL;

	GUARD(&box->lock);
	trust = box->current;
	atomic_fetch_add(&trust->refs, 1);
	return trust;
}

/* ---- questions ---- */

const struct trust_key *trust_find(const struct trust *trust, struct rye_span fp)
{
	size_t low = 0, high = trust->n;

	while (low < high && fp.len == KEY_FP - 1) {
		size_t mid = low + (high - low) / 2;
		int order = memcmp(trust->keys[mid].fp, fp.ptr, KEY_FP - 1);

		if (!order)
			return &trust->keys[mid];
		if (order < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return NULL;
}

bool trust_covers(const struct trust_key *key, const char *ref)
{
	for (size_t i = 0; i < key->n_scope; i++)
		if (glob_match(key->scope[i], ref))
			return true;
	return !key->n_scope;
}

void trust_names(const struct trust *trust, char *text, size_t size)
{
	size_t n = 0;

	snprintf(text, size, "%s", trust->n ? "" : "none");
	for (size_t i = 0; i < trust->n; i++) {
		if (n + 2 * KEY_FP + 8 > size) {
			snprintf(text + n, size - n, ", …");
			return;
		}
		n += (size_t)snprintf(text + n, size - n, "%s%s", n ? ", " : "", trust->keys[i].fp);
	}
}

/* One digest over key, signature and message; lengths keep the parts apart. */
static void trust_fact(const struct trust_key *key, struct rye_span sig, struct rye_span message,
		       unsigned char ret[SHA_LEN])
{
	uint64_t lengths[2] = { sig.len, message.len };
	char parts[KEY_LEN + sizeof(lengths) + 512];
	size_t n = KEY_LEN + sizeof(lengths);

	memcpy(parts, key->bytes, KEY_LEN);
	memcpy(parts + KEY_LEN, lengths, sizeof(lengths));
	memcpy(parts + n, sig.ptr, sig.len);
	memcpy(parts + n + sig.len, message.ptr, message.len);
	sha256_of((struct rye_span){ parts, n + sig.len + message.len }, ret);
}

bool trust_check(struct trust_box *box, const struct trust_key *key, struct rye_span sig,
		 struct rye_span message)
{
	/* longer ones are rare (an id of several hundred bytes) and not worth remembering */
	bool remember = sig.len <= 100 && message.len <= 400;
	unsigned char digest[SHA_LEN];

	if (remember) {
		trust_fact(key, sig, message, digest);
		if (memo_has(box->memo, digest))
			return true;
	}
	atomic_fetch_add(&box->checks, 1);
	if (!key_verify(key->bytes, sig, message))
		return false;
	if (remember)
		memo_add(box->memo, digest);
	return true;
}

uint64_t trust_checks(const struct trust_box *box)
{
	return atomic_load(&((struct trust_box *)box)->checks);
}
