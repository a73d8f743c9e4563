/* SPDX-License-Identifier: MIT */
/*
 * threads_dir.c - state/threads: one directory per thread, a file per fact.
 *
 * Owns the grammar below state/threads and the nodes of its directories and small files. What
 * blocks is threads_wait.c's, what grows threads_grow.c's; what is written is a conversation.
 * Every lookup asks the engine anew (timeouts 0): other processes start and end threads too.
 */
#include "views/views.h"

#include "core/enter.h"
#include "core/listing.h"
#include "core/notify.h"
#include "core/reply.h"
#include "hash.h"
#include "scope.h"
#include "str.h"
#include "talk/talk.h"
#include "views/views_inner.h"

#include <errno.h>
#include <stdio.h>

/* A node's key here: path_len is the length of the thread's id, text has what is below it too. */
struct threads_at {
	struct rye_thread_at at;
	char id[TREE_TEXT_MAX];
};

static void threads_at(const char *text, size_t id_len, struct threads_at *ret)
{
	memcpy(ret->id, text, id_len);
	ret->id[id_len] = 0;
	ret->at = (struct rye_thread_at){
		.id = ret->id,
		.path = text + id_len + (id_len && text[id_len] ? 1 : 0),
	};
}

/* Ids may hold slashes: is this the beginning of one? */
struct prefix {
	const char *path;
	size_t len;
	bool found;
};

static int starts_with_dir(void *arg, const char *id)
{
	struct prefix *prefix = arg;

	prefix->found = !strncmp(id, prefix->path, prefix->len) && id[prefix->len] == '/';
	return prefix->found;
}

static bool is_prefix(struct front *front, const char *path)
{
	struct prefix prefix = { path, strlen(path), false };
	struct rye_err err;

	return rye_thread_list(front->rye, starts_with_dir, &prefix, &err) == 0 && prefix.found;
}

static bool threads_dir_set_path(struct tree_key *key, const char *dir, const char *name)
{
	int n = snprintf(key->text, sizeof(key->text), "%s%s%s", dir, *dir ? "/" : "", name);

	key->sort = TREE_THREADS;
	key->kind = 0;
	key->ctl = NULL;
	if (n < 0 || n >= (int)sizeof(key->text))
		return false;
	key->path_len = key->text_len = (uint16_t)n;
	return true;
}

static struct timespec threads_since(struct front *front, const struct tree_key *key,
				     uint64_t bytes)
{
	uint64_t of = hash_add(hash_text(HASH_BASIS, key->text), bytes);
	uint64_t name = hash_text(HASH_BASIS, key->text);
	struct front_since *place = &front->since[(name ^ name >> 32) % SINCE_PLACES];
	struct timespec at;
	int64_t ns;

	if (atomic_load(&place->of) != of) {
		clock_gettime(CLOCK_REALTIME_COARSE, &at);
		atomic_store(&place->ns, at.tv_sec * INT64_C(1000000000) + at.tv_nsec);
		atomic_store(&place->of, of);
	}
	ns = atomic_load(&place->ns);
	return (struct timespec){ ns / INT64_C(1000000000), ns % INT64_C(1000000000) };
}

struct timespec threads_time(struct front *front, const struct tree_key *key,
			     const struct rye_thread_entry *entry, uint64_t bytes)
{
	return entry->ended ? entry->since : threads_since(front, key, bytes);
}

static const struct node_class threads_class;

/*
 * The kernel keeps a directory's listing for as long as its inode lives, so a directory whose names
 * have changed is a new node: after the next LOOKUP the kernel asks for the listing again.
 */
static int enter_one_thread(fuse_req_t req, const struct tree_key *key,
			    const struct rye_thread_entry *entry, struct fuse_entry_param *ret)
{
	struct front *front = front_of(req);
	const struct node_want want = {
		.key = key,
		.class = &threads_class,
		.version = entry->number ? entry->number : 1,
		.mtime = entry->ended ? entry->since : front->started,
		.mode = S_IFDIR | (*key->text ? 0700 : 0755),
		.item = true,
	};

	return enter_node(front, node_make(front->nodes, &want), 0, ret);
}

/* One that only leads to threads. */
static int enter_above(fuse_req_t req, const struct tree_key *key, struct fuse_entry_param *ret)
{
	struct front *front = front_of(req);
	const struct node_want want = {
		.key = key,
		.class = &threads_class,
		.version = rye_thread_list_number(front->rye) + 1,
		.mtime = front->started,
		.mode = S_IFDIR | (*key->text ? 0700 : 0755),
	};

	return enter_node(front, node_make(front->nodes, &want), 0, ret);
}

/* A text that takes long is made once: a later LOOKUP gets the node that has it. */
struct threads_text {
	struct front *front;
	const struct tree_key *key;
	struct node *node;
};

static bool threads_has(void *arg, uint64_t version)
{
	struct threads_text *text = arg;

	text->node = node_find(text->front->nodes, text->key, &content_file, version);
	return text->node;
}

/* Takes over entry->blob. */
static int enter_text(fuse_req_t req, const struct tree_key *key,
		      const struct rye_thread_entry *entry, struct fuse_entry_param *ret)
{
	struct front *front = front_of(req);
	struct content_file what = { .key = key, .mode = 0400, .blob = entry->blob };

	what.version = entry->version;
	what.fresh = !what.version;
	what.mtime = threads_time(front, key, entry,
				  what.version ? what.version :
						 content_hash(what.blob->data, what.blob->len));
	return enter_node(front, content_make(front, &what), 0, ret);
}

/* Takes over entry->blob. */
static int enter_link(fuse_req_t req, const struct tree_key *key,
		      const struct rye_thread_entry *entry, struct fuse_entry_param *ret)
{
	struct front *front = front_of(req);
	struct timespec mtime =
		threads_time(front, key, entry, content_hash(entry->blob->data, entry->blob->len));
	struct node *node = content_make_link(front, key, entry->blob->data, mtime);

	rye_blob_unref(entry->blob);
	return enter_node(front, node, 0, ret);
}

/*
 * What is too big to be shown is a link to its reason, as a refused item is: a listing goes on, opening it is
 * refused. Reasons are below each kind: knowledge/ of the mount, whose root is two directories above
 * state/threads.
 */
static int enter_too_big(fuse_req_t req, const struct tree_key *key, const struct rye_err *err,
			 struct fuse_entry_param *ret)
{
	struct front *front = front_of(req);
	const struct tree_key root = { .sort = TREE_MERGED, .kind = RYE_KNOWLEDGE };
	char why[TREE_WHY_SIZE], target[4096] = "../../";
	size_t n = strlen(target);

	tree_why_target(&root, err->code, err->msg, why);
	for (const char *p = key->text; *p; p++)
		if (*p == '/' && n + 3 + sizeof(why) < sizeof(target) - 16)
			n += (size_t)snprintf(target + n, sizeof(target) - n, "../");
	snprintf(target + n, sizeof(target) - n, "knowledge/%s", why);
	return enter_node(
		front, content_make_link(front, key, target, threads_since(front, key, 0)), 0, ret);
}

/* What is no id is no thread. */
static bool is_nothing(const struct rye_thread_at *at, const struct rye_err *err)
{
	return err->code == RYE_NOT_FOUND || (err->code == RYE_INVALID && !*at->path);
}

/* The thread itself, or what its directory or state/threads has of that name; ENOENT: nothing. */
static int enter_entry(fuse_req_t req, const struct tree_key *key, struct fuse_entry_param *ret)
{
	struct front *front = front_of(req);
	struct threads_text text = { front, key, NULL };
	struct rye_thread_entry entry;
	struct thread_name name;
	struct threads_at at;
	struct rye_err err;

	threads_at(key->text, key->path_len, &at);
	at.at.has = threads_has;
	at.at.arg = &text;
	name = (struct thread_name){ at.id, at.at.path };
	if (rye_thread_entry(front->rye, &at.at, &entry, &err)) {
		if (is_nothing(&at.at, &err))
			return ENOENT;
		content_complain(req, key->text, err.msg);
		return err.code == RYE_TOO_BIG ? enter_too_big(req, key, &err, ret) :
						 rye_code_errno(err.code);
	}
	if (text.node)
		return enter_node(front, text.node, 0, ret);
	switch (entry.sort) {
	case RYE_THREAD_DIR:
		return enter_one_thread(req, key, &entry, ret);
	case RYE_THREAD_GROWS:
		return threads_enter_grow(req, key, &name, &entry, ret);
	case RYE_THREAD_LINK:
		return enter_link(req, key, &entry, ret);
	case RYE_THREAD_FILE:
		break;
	}
	if (strcmp(at.at.path, THREADS_CANCEL) != 0)
		return enter_text(req, key, &entry, ret);
	rye_blob_unref(entry.blob);
	return threads_enter_cancel(req, key, ret);
}

/* Each line that is written there starts a thread. */
static int enter_new(fuse_req_t req, const struct tree_key *key, struct fuse_entry_param *ret)
{
	const struct talk_target target = { RYE_EXECUTE, RYE_KIND__MAX, "", true, NULL };

	return content_enter_talk(req, key, &target, ret);
}

/* Each write is a verb for that thread, or for all. */
static int enter_ctl_of(fuse_req_t req, const struct tree_key *key, const char *id,
			struct fuse_entry_param *ret)
{
	const struct talk_target target = { RYE_EXECUTE, RYE_KIND__MAX, "", false, id };

	return content_enter_talk(req, key, &target, ret);
}

/* Names that are not the engine's: what waits and what is written to. False: none of them. */
static bool enter_control(fuse_req_t req, const struct tree_key *key, const char *name,
			  struct fuse_entry_param *ret, int *ret_sys)
{
	struct threads_at at;

	threads_at(key->text, key->path_len, &at);
	if (strcmp(at.at.path, name) != 0)
		return false;
	if (!strcmp(name, "ctl"))
		*ret_sys = enter_ctl_of(req, key, at.id, ret);
	else if (key->path_len && !strcmp(name, "wait"))
		*ret_sys = threads_enter_wait(req, key, &(struct thread_name){ at.id, name }, ret);
	else if (!key->path_len && !strcmp(name, "new"))
		*ret_sys = enter_new(req, key, ret);
	else
		return false;
	return true;
}

/* A name of a thread's own files wins over a thread below it. */
static int threads_dir_enter(fuse_req_t req, struct node *dir, const char *name,
			     struct fuse_entry_param *ret)
{
	struct front *front = front_of(req);
	bool root = !*dir->text, thread = dir->item && dir->path_len;
	struct tree_key key;
	int sys = ENOENT;

	if (!threads_dir_set_path(&key, dir->text, name))
		return ENAMETOOLONG;
	if (root || dir->item) {
		key.path_len = dir->path_len;
		if (enter_control(req, &key, name, ret, &sys))
			return sys;
		sys = enter_entry(req, &key, ret);
	}
	key.path_len = key.text_len;
	if (sys == ENOENT && (!dir->item || thread)) {
		sys = enter_entry(req, &key, ret);
		if (sys == ENOENT && is_prefix(front, key.text))
			return enter_above(req, &key, ret);
	}
	return sys == ENOENT ? enter_nothing(ret, 0) : sys;
}

/* Nothing of it may be remembered, so the kernel would ask for each name again anyway. */
static int threads_dir_enter_listed(fuse_req_t req, struct node *dir, const char *name,
				    struct fuse_entry_param *ret)
{
	(void)req;
	(void)dir;
	(void)name;
	return enter_nothing(ret, 0);
}

int threads_enter(fuse_req_t req, const struct tree_key *key, struct fuse_entry_param *ret)
{
	return enter_above(req, key, ret);
}

/* ---- listing ---- */

struct collect {
	struct listing *listing;
	const char *path;
};

static int add_component(void *arg, const char *id)
{
	struct collect *collect = arg;
	const char *rest = path_below(id, collect->path);
	char part[256];

	if (!rest || !*rest)
		return 0;
	snprintf(part, sizeof(part), "%.*s", (int)strcspn(rest, "/"), rest);
	listing_add(collect->listing, part, S_IFDIR, 0);
	return 0;
}

static int add_thread_entry(void *arg, const char *name, enum rye_thread_sort sort)
{
	static const mode_t types[] = {
		[RYE_THREAD_FILE] = S_IFREG,
		[RYE_THREAD_DIR] = S_IFDIR,
		[RYE_THREAD_LINK] = S_IFLNK,
		[RYE_THREAD_GROWS] = S_IFREG,
	};
	struct collect *collect = arg;

	listing_add(collect->listing, name, types[sort], 0);
	return 0;
}

/* NULL: short of memory. */
static struct listing *threads_dir_build(struct front *front, const struct node *node)
{
	auto_listing struct listing *listing = listing_new();
	struct collect collect = { listing, node->text };
	bool root = !*node->text;
	struct threads_at at;
	struct rye_err err;

	threads_at(node->text, node->item ? node->path_len : 0, &at);
	if (listing && (root || node->item))
		rye_thread_entries(front->rye, &at.at, add_thread_entry, &collect, &err);
	if (listing && (root || (node->item && node->path_len == node->text_len)))
		listing_add(listing, "ctl", S_IFREG, 0);
	if (listing && root)
		listing_add(listing, "new", S_IFREG, 0);
	if (listing && !node->item)
		rye_thread_list(front->rye, add_component, &collect, &err);
	return listing && listing_finish(listing) ? steal(&listing) : NULL;
}

static void threads_readdir(fuse_req_t req, struct node *node, size_t size, off_t off, bool plus)
{
	struct front *front = front_of(req);
	struct listing_ask ask = { req, node, size, off, plus };
	/* the answer may be the last that keeps the node alive */
	auto_node struct node *held = node_ref(node);
	struct listing *listing = off ? shelf_take(front->shelf, node) : NULL;

	if (!listing)
		listing = threads_dir_build(front, node);
	if (!listing)
		reply_errno(req, ENOMEM);
	else if (listing_reply(&ask, listing))
		listing_free(listing);
	else
		shelf_put(front->shelf, held, listing);
}

/* What is quick does not stand behind what takes apart a long transcript. */
static bool is_quick(const struct node *node, struct rye_span what)
{
	static const char *const controls[] = { "ctl", "new", "wait" };

	for (size_t i = 0; i < ARRAY_SIZE(controls); i++)
		if (what.len == strlen(controls[i]) && !memcmp(what.ptr, controls[i], what.len))
			return true;
	return S_ISDIR(node->mode) && !node->item;
}

struct aside_lane threads_lane(struct front *front, const struct node *node, struct rye_span what)
{
	static const char cancel[] = THREADS_CANCEL;
	uint64_t key = hash_bytes(HASH_BASIS, node->text, node->path_len);

	if (what.len == sizeof(cancel) - 1 && !memcmp(what.ptr, cancel, what.len))
		return (struct aside_lane){ ASIDE_VERBS, hash_bytes(key, what.ptr, what.len) };
	if (is_quick(node, what))
		return (struct aside_lane){ ASIDE_THREADS, 0 };
	return (struct aside_lane){ ASIDE_FACTS, key };
}

static const struct node_class threads_aside = {
	.lane = threads_lane,
	.enter = threads_dir_enter,
	.enter_listed = threads_dir_enter_listed,
	.readdir = threads_readdir,
	.changes = &threads_changes,
};

static const struct node_class threads_class = {
	.name = "threads",
	.aside = &threads_aside,
};

static void forget_listing(struct front *front, const char *path)
{
	struct tree_key key;
	auto_node struct node *node = NULL;

	if (threads_dir_set_path(&key, "", path))
		node = node_peek(front->nodes, &key);
	if (node)
		notify_inode(front->notify, node, 0);
}

/* For processes whose working directory this is: the kernel asks for their next listing again. */
void threads_changed(struct front *front, const char *id)
{
	forget_listing(front, "");
	forget_listing(front, id);
}
