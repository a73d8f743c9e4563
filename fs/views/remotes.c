/* SPDX-License-Identifier: MIT */
/*
 * remotes.c - remotes/: other machines, a directory each.
 *
 * Owns the grammar below it: what is known of a remote as files, its threads as links, and below the
 * kinds' directories, which list nothing, the verbs of every item with the target set. Whatever is
 * looked up or listed is read from files here; what connects is a run. Every lookup asks anew
 * (timeouts 0); a listing is remembered while the files that it is made of are what they were. No lock.
 */
#include "views/views.h"

#include "core/ctl.h"
#include "core/enter.h"
#include "core/listing.h"
#include "core/reply.h"
#include "hash.h"
#include "scope.h"
#include "talk/talk.h"
#include "views/views_inner.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define REMOTES_THREADS "threads"
#define REMOTES_FOREIGN "foreign"

/* A path below remotes: its parts. */
struct remotes_at {
	char remote[TREE_NAME_MAX + 1]; /* "": remotes itself */
	const char *rest; /* behind the remote's name: "", or what is below it */
	enum rye_kind kind; /* of whose items: RYE_KIND__MAX: it is none of their directories */
	const char *item; /* kind: below its directory */
};

/* False: longer than any name. */
static bool remotes_split(const char *text, struct remotes_at *ret)
{
	size_t n = strcspn(text, "/");

	*ret = (struct remotes_at){ .kind = RYE_KIND__MAX, .item = "" };
	if (n >= sizeof(ret->remote))
		return false;
	memcpy(ret->remote, text, n);
	ret->rest = text[n] ? text + n + 1 : text + n;
	n = strcspn(ret->rest, "/");
	for (int kind = 0; kind < RYE_KIND__MAX && n; kind++)
		if (rye_kind_has(kind, RYE_KIND_PROCESS | RYE_KIND_FORKS) &&
		    strlen(rye_kind_dir(kind)) == n &&
		    strncmp(rye_kind_dir(kind), ret->rest, n) == 0) {
			ret->kind = (enum rye_kind)kind;
			ret->item = ret->rest[n] ? ret->rest + n + 1 : "";
		}
	return true;
}

/* ---- is it there? ---- */

struct remotes_wanted {
	const char *name;
	bool found;
};

static int remotes_match(void *arg, const char *name)
{
	struct remotes_wanted *wanted = arg;

	wanted->found = !wanted->name || strcmp(name, wanted->name) == 0;
	return wanted->found;
}

/* name NULL: any. */
static bool remotes_has(struct front *front, const char *name)
{
	struct remotes_wanted wanted = { name, false };
	struct rye_err err;

	return rye_remotes(front->rye, remotes_match, &wanted, &err) == 0 && wanted.found;
}

bool remotes_are(struct front *front)
{
	return remotes_has(front, NULL);
}

static bool remotes_has_thread(struct front *front, const char *remote, const char *id)
{
	struct remotes_wanted wanted = { id, false };
	struct rye_err err;

	return rye_remote_threads(front->rye, remote, remotes_match, &wanted, &err) == 0 &&
	       wanted.found;
}

/* ---- nodes ---- */

static const struct node_class remotes_class;

/* A listing is remembered for as long as its node is: where nothing tells whether it is the same, each has its own. */
static uint64_t remotes_version(struct front *front, const char *text, bool item)
{
	struct timespec now;
	struct remotes_at at;
	uint64_t stamp = 0;

	if (remotes_split(text, &at))
		stamp = at.kind < RYE_KIND__MAX ? UINT64_C(1) + item :
						  rye_remote_stamp(front->rye, at.remote);
	if (stamp)
		return stamp;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec + 1;
}

static int enter_dir(fuse_req_t req, const struct tree_key *key, bool item,
		     struct fuse_entry_param *ret)
{
	struct front *front = front_of(req);
	struct node_want want = {
		.key = key,
		.class = &remotes_class,
		.mtime = front->started,
		.mode = S_IFDIR | 0755,
		.item = item,
		.version = remotes_version(front, key->text, item),
	};

	return enter_node(front, node_make(front->nodes, &want), 0, ret);
}

static int enter_file(fuse_req_t req, const struct tree_key *key, const struct remotes_at *at,
		      struct fuse_entry_param *ret)
{
	struct front *front = front_of(req);
	struct content_file what = { .key = key, .mode = 0400, .mtime = front->started };
	struct rye_err err;

	if (rye_remote_file(front->rye, at->remote, at->rest, &what.blob, &err)) {
		if (err.code == RYE_NOT_FOUND)
			return enter_nothing(ret, 0);
		content_complain(req, key->text, err.msg);
		return rye_code_errno(err.code);
	}
	return enter_node(front, content_make(front, &what), 0, ret);
}

/* Their ids are UUIDs, so none has a slash. */
static int enter_thread(fuse_req_t req, const struct tree_key *key, const struct remotes_at *at,
			struct fuse_entry_param *ret)
{
	struct front *front = front_of(req);
	const char *id = at->rest + sizeof(REMOTES_THREADS);
	char target[TREE_NAME_MAX + 64];

	if (!remotes_has_thread(front, at->remote, id))
		return enter_nothing(ret, 0);
	snprintf(target, sizeof(target), "../../../state/threads/%s", id);
	return enter_node(front, content_make_link(front, key, target, front->started), 0, ret);
}

/* What is written to them goes to the remote, by the run of it: looking them up asks nothing of it. */
static const char *const remotes_talks[] = { "ctl", "push" };

static bool remotes_talk(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(remotes_talks); i++)
		if (!strcmp(name, remotes_talks[i]))
			return true;
	return false;
}

static int enter_own_talk(fuse_req_t req, struct tree_key *key, const struct remotes_at *at,
			  struct fuse_entry_param *ret)
{
	char id[2 * TREE_NAME_MAX + 4];
	const struct talk_target target = { .verb = RYE_REMOTE,
					    .kind = RYE_KIND__MAX,
					    .id = id,
					    .lines = strcmp(at->rest, "ctl") == 0 };

	snprintf(id, sizeof(id), "%s/%s", at->remote, at->rest);
	key->ctl = ctl_of_verb(RYE_REMOTE);
	return content_enter_talk(req, key, &target, ret);
}

/* A verb of the item whose directory this is, or what its caller was answered last. */
static int remotes_enter_ctl(fuse_req_t req, struct tree_key *key, const struct remotes_at *at,
			     const struct rye_stat *st, struct fuse_entry_param *ret)
{
	char place[TREE_NAME_MAX + 16];
	const struct talk_target target = { .verb = key->ctl->verb,
					    .kind = at->kind,
					    .id = st->id,
					    .target = place };

	snprintf(place, sizeof(place), "remote:%s", at->remote);
	key->kind = (uint8_t)at->kind;
	return key->ctl->talks ? content_enter_talk(req, key, &target, ret) :
				 ctl_enter_own(req, key, st, ret);
}

static const struct ctl *remotes_ctl(enum rye_kind kind, const char *name)
{
	const struct ctl *ctl = ctl_find(kind, name);

	return ctl && (ctl->talks || strcmp(name, "output") == 0) ? ctl : NULL;
}

static int enter_item(fuse_req_t req, struct tree_key *key, const struct remotes_at *at,
		      struct fuse_entry_param *ret)
{
	struct front *front = front_of(req);
	const char *slash = strrchr(at->item, '/');
	char above[TREE_TEXT_MAX];
	struct rye_stat st;
	struct rye_err err;

	snprintf(above, sizeof(above), "%.*s", slash ? (int)(slash - at->item) : 0, at->item);
	key->ctl = slash ? remotes_ctl(at->kind, slash + 1) : NULL;
	if (key->ctl && rye_lookup(front->rye, at->kind, above, &st, &err) == 0 && st.is_item_dir)
		return remotes_enter_ctl(req, key, at, &st, ret);
	key->ctl = NULL;
	if (*at->item && rye_lookup(front->rye, at->kind, at->item, &st, &err))
		return err.code == RYE_NOT_FOUND ? enter_nothing(ret, 0) : rye_code_errno(err.code);
	if (*at->item && !st.is_dir && !st.is_item_dir)
		return enter_nothing(ret, 0);
	return enter_dir(req, key, *at->item && st.is_item_dir, ret);
}

static int enter_below(fuse_req_t req, struct tree_key *key, const struct remotes_at *at,
		       struct fuse_entry_param *ret)
{
	if (!*at->rest || strcmp(at->rest, REMOTES_THREADS) == 0 ||
	    strcmp(at->rest, REMOTES_FOREIGN) == 0)
		return enter_dir(req, key, false, ret);
	if (remotes_talk(at->rest))
		return enter_own_talk(req, key, at, ret);
	if (strncmp(at->rest, REMOTES_THREADS "/", sizeof(REMOTES_THREADS)) == 0)
		return enter_thread(req, key, at, ret);
	if (at->kind < RYE_KIND__MAX)
		return enter_item(req, key, at, ret);
	return enter_file(req, key, at, ret);
}

static int remotes_enter_name(fuse_req_t req, struct node *dir, const char *name,
			      struct fuse_entry_param *ret)
{
	struct tree_key key = { .sort = TREE_REMOTES };
	int n = snprintf(key.text, sizeof(key.text), "%s%s%s", dir->text, *dir->text ? "/" : "",
			 name);
	struct remotes_at at;

	if (n < 0 || n >= (int)sizeof(key.text))
		return ENAMETOOLONG;
	key.path_len = key.text_len = (uint16_t)n;
	if (!remotes_split(key.text, &at) || !remotes_has(front_of(req), at.remote))
		return enter_nothing(ret, 0);
	return enter_below(req, &key, &at, ret);
}

int remotes_enter(fuse_req_t req, const struct tree_key *key, struct fuse_entry_param *ret)
{
	return remotes_are(front_of(req)) ? enter_dir(req, key, false, ret) : enter_nothing(ret, 0);
}

/* ---- listing ---- */

static int add_dir(void *arg, const char *name)
{
	listing_add(arg, name, S_IFDIR, 0);
	return 0;
}

static int add_file(void *arg, const char *name)
{
	listing_add(arg, name, S_IFREG, 0);
	return 0;
}

static int add_link(void *arg, const char *name)
{
	listing_add(arg, name, S_IFLNK, 0);
	return 0;
}

/* Items are in the kinds' own directories: a walk over the mount meets each of them once. */
static void remotes_list(struct front *front, const struct node *node, struct listing *listing)
{
	struct remotes_at at;
	struct rye_err err;

	if (!remotes_split(node->text, &at))
		return;
	if (!*at.remote) {
		rye_remotes(front->rye, add_dir, listing, &err);
	} else if (!*at.rest) {
		listing_add(listing, REMOTES_THREADS, S_IFDIR, 0);
		listing_add(listing, REMOTES_FOREIGN, S_IFDIR, 0);
		for (size_t i = 0; i < ARRAY_SIZE(remotes_talks); i++)
			add_file(listing, remotes_talks[i]);
		rye_remote_names(front->rye, at.remote, add_file, listing, &err);
	} else if (strcmp(at.rest, REMOTES_THREADS) == 0) {
		rye_remote_threads(front->rye, at.remote, add_link, listing, &err);
	} else if (strcmp(at.rest, REMOTES_FOREIGN) == 0) {
		rye_remote_foreign(front->rye, at.remote, add_file, listing, &err);
	}
}

static void remotes_readdir(fuse_req_t req, struct node *node, size_t size, off_t off, bool plus)
{
	struct listing_ask ask = { req, node, size, off, plus };
	auto_listing struct listing *listing = listing_new();

	if (listing)
		remotes_list(front_of(req), node, listing);
	if (!listing || !listing_finish(listing))
		reply_errno(req, ENOMEM);
	else
		listing_reply(&ask, listing);
}

/* READDIRPLUS: nothing of it may be remembered, so the kernel would ask for each name again anyway. */
static int remotes_enter_listed(fuse_req_t req, struct node *dir, const char *name,
				struct fuse_entry_param *ret)
{
	(void)req;
	(void)dir;
	(void)name;
	return enter_nothing(ret, 0);
}

static struct aside_lane remotes_lane(struct front *front, const struct node *node,
				      struct rye_span what)
{
	(void)front;
	(void)what;
	return (struct aside_lane){ ASIDE_OWN, hash_text(HASH_BASIS + TREE_REMOTES, node->text) };
}

/* cp is no push: when a copied file is complete no file system without a close can know. */
static void remotes_create(fuse_req_t req, struct node *dir, const struct node_new *what,
			   const struct fuse_file_info *fi)
{
	(void)fi;
	(void)what;
	content_complain(
		req, *dir->text ? dir->text : "remotes",
		"a copy is no push: when a copied file is complete cannot be known; write {} to "
		"remotes/NAME/push");
	reply_errno(req, EROFS);
}

static const struct node_changes remotes_changes = { .create = remotes_create };

static const struct node_class remotes_aside = {
	.lane = remotes_lane,
	.enter = remotes_enter_name,
	.enter_listed = remotes_enter_listed,
	.readdir = remotes_readdir,
	.changes = &remotes_changes,
};

static const struct node_class remotes_class = {
	.name = "remotes",
	.aside = &remotes_aside,
};
