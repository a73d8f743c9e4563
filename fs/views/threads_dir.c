/* SPDX-License-Identifier: MIT */
/*
 * threads_dir.c - state/threads: one directory per thread, a file per fact.
 *
 * Owns the grammar below state/threads and the nodes of its directories and small files. What
 * blocks is threads_wait.c's, what grows threads_grow.c's, what is written threads_ctl.c's.
 * Every lookup asks the engine anew (timeouts 0): other processes start and end threads too.
 */
#include "views/views.h"

#include "core/enter.h"
#include "core/listing.h"
#include "core/notify.h"
#include "core/reply.h"
#include "hash.h"
#include "views/views_inner.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static int ignore_name(void *arg, const char *name)
{
	(void)arg;
	(void)name;
	return 1;
}

static bool is_thread(struct front *front, const char *id)
{
	struct rye_err err;

	return *id && rye_thread_names(front->rye, id, ignore_name, NULL, &err) == 0;
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

static int add_hash(void *arg, const char *name)
{
	uint64_t *hash = arg;

	*hash = hash_add(*hash, content_hash(name, strlen(name) + 1));
	return 0;
}

/*
 * The kernel keeps a directory's listing for as long as its inode lives, so a directory whose names
 * have changed is a new node: after the next LOOKUP the kernel asks for the listing again.
 */
static uint64_t names_version(struct front *front, const char *path, bool thread)
{
	uint64_t hash = 2;
	struct rye_err err;

	if (!thread)
		return rye_thread_list_number(front->rye) + 1;
	rye_thread_names(front->rye, path, add_hash, &hash, &err);
	return hash ? hash : 1;
}

static const struct node_class threads_class;

static int enter_dir(fuse_req_t req, const struct tree_key *key, bool thread,
		     struct fuse_entry_param *ret)
{
	struct front *front = front_of(req);
	struct node_want want = {
		.key = key,
		.class = &threads_class,
		.version = names_version(front, key->text, thread),
		.mtime = front->started,
		.mode = S_IFDIR | (*key->text ? 0700 : 0755),
		.item = thread,
	};

	return enter_node(front, node_make(front->nodes, &want), 0, ret);
}

static int enter_fact(fuse_req_t req, const struct tree_key *key, const struct thread_name *name,
		      struct fuse_entry_param *ret)
{
	struct front *front = front_of(req);
	struct content_file what = { .key = key, .mode = 0400, .fresh = true };
	struct rye_err err;

	clock_gettime(CLOCK_REALTIME_COARSE, &what.mtime);
	if (rye_thread_file(front->rye, name->id, name->file, &what.blob, &err))
		return err.code == RYE_NOT_FOUND ? enter_nothing(ret, 0) : rye_code_errno(err.code);
	return enter_node(front, content_make(front, &what), 0, ret);
}

static bool is_growing(const char *name)
{
	static const char *const names[] = { "live", "spawn.log", "transcript.jsonl" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(names[i], name))
			return true;
	return false;
}

static int enter_file(fuse_req_t req, const struct tree_key *key, const struct thread_name *name,
		      struct fuse_entry_param *ret)
{
	if (!strcmp(name->file, "wait"))
		return threads_enter_wait(req, key, name, ret);
	if (!strcmp(name->file, "ctl"))
		return threads_enter_ctl(req, key, name, ret);
	if (is_growing(name->file))
		return threads_enter_grow(req, key, name, ret);
	return enter_fact(req, key, name, ret);
}

static int threads_dir_enter(fuse_req_t req, struct node *dir, const char *name,
			     struct fuse_entry_param *ret)
{
	struct front *front = front_of(req);
	struct thread_name what = { dir->text, name };
	struct tree_key key;

	if (!threads_dir_set_path(&key, dir->text, name))
		return ENAMETOOLONG;
	if (dir->item)
		return enter_file(req, &key, &what, ret);
	if (is_thread(front, key.text))
		return enter_dir(req, &key, true, ret);
	if (is_prefix(front, key.text))
		return enter_dir(req, &key, false, ret);
	return enter_nothing(ret, 0);
}

int threads_enter(fuse_req_t req, const struct tree_key *key, struct fuse_entry_param *ret)
{
	return enter_dir(req, key, false, ret);
}

/* ---- listing ---- */

struct collect {
	struct listing *listing;
	const char *path;
};

static int add_component(void *arg, const char *id)
{
	struct collect *collect = arg;
	size_t n = strlen(collect->path);
	char part[256];
	const char *rest = id;

	if (n) {
		if (strncmp(id, collect->path, n) || id[n] != '/')
			return 0;
		rest = id + n + 1;
	}
	snprintf(part, sizeof(part), "%.*s", (int)strcspn(rest, "/"), rest);
	listing_add(collect->listing, part, S_IFDIR, 0);
	return 0;
}

static int add_file(void *arg, const char *name)
{
	struct collect *collect = arg;

	listing_add(collect->listing, name, S_IFREG, 0);
	return 0;
}

static void threads_readdir(fuse_req_t req, struct node *node, size_t size, off_t off, bool plus)
{
	struct front *front = front_of(req);
	struct listing_ask ask = { req, node, size, off, plus };
	auto_listing struct listing *listing = listing_new();
	struct collect collect = { listing, node->text };
	struct rye_err err;

	if (listing && node->item) {
		rye_thread_names(front->rye, node->text, add_file, &collect, &err);
		listing_add(listing, "ctl", S_IFREG, 0);
	} else if (listing) {
		rye_thread_list(front->rye, add_component, &collect, &err);
	}
	if (!listing || !listing_finish(listing))
		reply_errno(req, ENOMEM);
	else
		listing_reply(&ask, listing);
}

static const struct node_class threads_class = {
	.name = "threads",
	.enter = threads_dir_enter,
	.readdir = threads_readdir,
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
