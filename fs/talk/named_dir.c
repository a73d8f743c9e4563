/* SPDX-License-Identifier: MIT */
/*
 * named_dir.c - the directories of calls by name, and what changes them.
 *
 * calls/NAME and replies/NAME are there as soon as they are looked up, and for ever one node each:
 * a rename that waits for its run holds the lock of its directory, which is why replies lie in
 * another one. Making, moving and removing is for files in calls/NAME alone. The errnos that make
 * programs write a second time, in call, after a rename are never given to one.
 *
 * No lock, no state: the store's (named.c) is taken by what is called.
 */
#include "talk/named.h"

#include "clock.h"
#include "core/ctl.h"
#include "core/enter.h"
#include "core/listing.h"
#include "core/reply.h"
#include "hash.h"
#include "scope.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

/* calls/ may be written to, replies/ not. */
static bool is_calls(const struct node *dir)
{
	return dir->ctl->mode & S_IWUSR;
}

/* Is it calls/ of the root itself, where the primitives' own lie, too? */
static bool is_top(const struct node *dir)
{
	const struct named_call *call = dir->data;

	return !*call->target.id && dir->text_len == dir->path_len;
}

/* ---- entering ---- */

static int dir_entry(fuse_req_t req, const struct tree_key *key, struct named_call *call,
		     struct fuse_entry_param *ret);

/* The directory of a call, or of a primitive's calls. */
static int dir_enter_below(fuse_req_t req, const struct node *dir, const char *name,
			   struct fuse_entry_param *ret)
{
	const struct named_call *above = dir->data;
	const struct ctl *verb = is_top(dir) ? ctl_root_find(name) : NULL;
	struct talk_target target = above->target;
	struct tree_key key = {
		.sort = TREE_CALL,
		.kind = dir->kind,
		.ctl = dir->ctl,
		.path_len = dir->path_len,
		.text_len = dir->text_len,
	};

	if (verb && !verb->talks)
		verb = NULL;
	if (!verb && !named_is_name(name))
		return 0;
	if (dir->text_len + NAMED_NAME_MAX + 2u > sizeof(key.text))
		return ENAMETOOLONG;
	if (verb)
		target.verb = verb->verb;
	memcpy(key.text, dir->text, dir->text_len);
	key.text[key.text_len++] = dir->text_len > dir->path_len ? '/' : 0;
	key.text_len += (uint16_t)snprintf(key.text + key.text_len, sizeof(key.text) - key.text_len,
					   "%s", name);
	return dir_entry(req, &key, named_call_get(above->named, &target, verb ? "" : name), ret);
}

/* The file of that name in calls/NAME, a reference; NULL: there is none. */
static struct named_file *dir_file(struct named_call *call, const char *name)
{
	return strcmp(name, NAMED_REQUEST) ? named_draft(call, name) : named_request(call);
}

static int named_enter_file(fuse_req_t req, struct named_call *call, const char *name,
			    struct fuse_entry_param *ret)
{
	struct named_file *file = dir_file(call, name);
	int sys = file ? named_open_enter(req, file, !strcmp(name, NAMED_REQUEST), ret) : 0;

	named_file_unref(file);
	return sys;
}

static int enter_in_call(fuse_req_t req, const struct node *dir, const char *name,
			 struct fuse_entry_param *ret)
{
	struct named_call *call = dir->data;
	struct named_file *open = NULL;

	if (is_calls(dir))
		return named_enter_file(req, call, name, ret);
	open = named_draft(call, NAMED_UNFINISHED);
	if (open)
		named_settle(open, NAMED_PAUSE_MS * NS_PER_MS);
	named_file_unref(open);
	if (strcmp(name, "output") == 0)
		return named_text_enter(req, call, NAMED_IS_OUTPUT, ret);
	return strcmp(name, "reply.json") ? 0 : named_text_enter(req, call, NAMED_IS_REPLY, ret);
}

/* What is not there is a negative entry that the kernel may not keep. */
static int dir_enter(fuse_req_t req, struct node *dir, const char *name,
		     struct fuse_entry_param *ret)
{
	const struct named_call *call = dir->data;
	int sys = named_may(req, call, false, NULL);

	*ret = (struct fuse_entry_param){ 0 };
	if (sys)
		return sys;
	return *call->name ? enter_in_call(req, dir, name, ret) :
			     dir_enter_below(req, dir, name, ret);
}

/* ---- attributes, listing ---- */

/* Each asking gets another time: the kernel drops a listing when its directory's time has changed.
 */
static void dir_stat(fuse_req_t req, struct node *dir, struct stat *st)
{
	struct front *front = front_of(req);

	node_stat(front, dir, st);
	st->st_mtim.tv_nsec = (long)(atomic_fetch_add(&front->asked, 1) % 1000000000);
}

static void named_dir_getattr(fuse_req_t req, struct node *dir, bool by_handle)
{
	struct stat st;

	dir_stat(req, dir, &st);
	reply_attr(req, &st, 0);
}

static void list_primitives(struct listing *listing)
{
	size_t n;
	const struct ctl *rows = ctl_rows(&n);

	for (size_t i = 0; i < n; i++)
		if (!rows[i].of && rows[i].talks && rows[i].listed)
			listing_add(listing, rows[i].name, S_IFDIR, 1);
}

static void list_reply(struct named_call *call, struct listing *listing)
{
	struct timespec at;
	auto_blob struct rye_blob *reply = named_text(call, NAMED_IS_REPLY, &at);

	if (!reply)
		return;
	listing_add(listing, "output", S_IFREG, 1);
	listing_add(listing, "reply.json", S_IFREG, 1);
}

static void named_dir_readdir(fuse_req_t req, struct node *dir, size_t size, off_t off, bool plus)
{
	struct named_call *call = dir->data;
	struct listing_ask ask = { req, dir, size, off, plus };
	auto_listing struct listing *listing = listing_new();
	int sys = named_may(req, call, false, NULL);

	if (sys || !listing) {
		reply_errno(req, sys ? sys : ENOMEM);
		return;
	}
	if (!*call->name)
		named_list_calls(call, !is_calls(dir), listing);
	else if (is_calls(dir))
		named_list_drafts(call, listing);
	else
		list_reply(call, listing);
	if (is_top(dir))
		list_primitives(listing);
	if (!listing_finish(listing))
		reply_errno(req, ENOMEM);
	else
		listing_reply(&ask, listing);
}

/* ---- making ---- */

/* 0, or why nothing may be changed in this directory. */
static int may_change(fuse_req_t req, const struct node *dir, bool now, struct caller **ret_who)
{
	const struct named_call *call = dir->data;

	if (!is_calls(dir) || !*call->name)
		return EROFS;
	return named_may(req, call, now, ret_who);
}

/* A draft has its name at once; request.json is there for its writer alone until a message is
 * complete. */
static int dir_make_file(fuse_req_t req, struct node *dir, const struct node_new *what, int flags,
			 struct fuse_entry_param *ret)
{
	struct named_call *call = dir->data;
	bool request = strcmp(what->name, NAMED_REQUEST) == 0;
	struct named_file *file = NULL;
	int sys = may_change(req, dir, false, NULL);

	if (!sys && strlen(what->name) > TREE_NAME_MAX)
		sys = ENAMETOOLONG;
	if (sys)
		return sys;
	file = dir_file(call, what->name);
	if (file && flags & O_EXCL) {
		sys = EEXIST;
	} else if (file && flags & O_TRUNC) {
		named_file_resize(file, 0);
	} else if (!file) {
		file = named_file_new(call, (struct rye_span){ NULL, 0 },
				      request ? 0600 : what->mode & 0777);
		sys = file ? 0 : ENOMEM;
		if (file && !request)
			sys = named_put(call, what->name, file);
	}
	if (!sys)
		sys = named_open_enter(req, file, request, ret);
	named_file_unref(file);
	return sys;
}

/* Names of calls that may not be are told by their own errno; there are no directories in a call,
 * and no links or devices. */
static void dir_make(fuse_req_t req, struct node *dir, const struct node_new *what)
{
	const struct named_call *call = dir->data;
	struct fuse_entry_param entry = { 0 };
	int sys = EPERM;

	if (S_ISREG(what->mode) || !(what->mode & S_IFMT))
		sys = dir_make_file(req, dir, what, O_EXCL, &entry);
	else if (S_ISDIR(what->mode) && !*call->name)
		sys = EINVAL;
	enter_reply(req, sys, &entry, NULL);
}

static void dir_create(fuse_req_t req, struct node *dir, const struct node_new *what,
		       const struct fuse_file_info *fi)
{
	struct fuse_entry_param entry = { 0 };
	int sys = dir_make_file(req, dir, what, fi->flags, &entry);

	enter_reply(req, sys, &entry, fi);
}

static void dir_remove(fuse_req_t req, struct node *dir, const char *name, bool is_dir)
{
	int sys = is_dir ? EROFS : may_change(req, dir, false, NULL);

	reply_errno(req, sys ? sys : named_remove(dir->data, name));
}

/* ---- commits ---- */

/* The draft's text is the next message; draft: its name, when that is to go. */
static void dir_commit(fuse_req_t req, struct named_file *file, enum named_way way,
		       const char *draft, struct caller *writer)
{
	struct named_commit *commit = named_commit_new(file, way, draft, 0);
	auto_blob struct rye_blob *text = commit ? named_file_blob(file) : NULL;
	struct named_wrote wrote = { .sys = ENOMEM };

	if (text)
		named_message((struct rye_span){ text->data, text->len }, &wrote);
	if (wrote.sys) {
		named_fail(req, file->call, &wrote, writer);
		named_commit_free(commit);
		return;
	}
	wrote.request = rye_blob_ref(text);
	named_run(req, commit, &wrote, writer);
}

/* Moves a draft, or request.json, which is a draft from then on. 0 or an errno. */
static int dir_move(struct named_call *call, const char *name, const char *new_name)
{
	struct named_file *file = dir_file(call, name);
	int sys = file ? named_put(call, new_name, file) : ENOENT;

	if (!sys)
		sys = named_remove(call, name);
	named_file_unref(file);
	return sys;
}

static void dir_rename(fuse_req_t req, const struct node_rename *what)
{
	struct named_call *call = what->from->data;
	struct caller *writer = NULL;
	struct named_file *file = NULL;
	bool commits = strcmp(what->new_name, NAMED_REQUEST) == 0;
	int sys = may_change(req, what->from, true, &writer);

	/* the kernel has looked that the new name is free, when it should be */
	if (!sys && (what->from != what->to || what->flags & ~(unsigned)RENAME_NOREPLACE))
		sys = EINVAL;
	if (!sys && commits)
		file = named_draft(call, what->name);
	if (!sys && commits && !file)
		sys = ENOENT;
	if (!sys && !commits)
		sys = dir_move(call, what->name, what->new_name);
	if (file)
		dir_commit(req, file, NAMED_RENAME, what->name, writer);
	else
		reply_errno(req, sys);
	named_file_unref(file);
	caller_unref(writer);
}

static void dir_link(fuse_req_t req, struct node *node, struct node *dir, const char *name)
{
	struct named_file *file = named_file_of(node);
	struct named_call *call = dir->data;
	struct fuse_entry_param entry = { 0 };
	struct caller *writer = NULL;
	int sys = may_change(req, dir, true, &writer);

	if (!sys && (!file || file->call != call))
		sys = EINVAL;
	if (!sys && strcmp(name, NAMED_REQUEST) == 0) {
		dir_commit(req, file, NAMED_LINK, "", writer);
	} else {
		if (!sys)
			sys = named_put(call, name, file);
		if (!sys)
			sys = named_enter_file(req, call, name, &entry);
		if (!sys && !entry.ino)
			sys = ENOENT;
		enter_reply(req, sys, &entry, NULL);
	}
	caller_unref(writer);
}

const struct node_changes named_changes = {
	.make = dir_make,
	.create = dir_create,
	.remove = dir_remove,
	.rename = dir_rename,
	.link = dir_link,
};

struct aside_lane named_lane(const struct named_call *call)
{
	const struct talk_target *target = &call->target;

	return talk_item_lane(call->named->env.talks, target->kind, target->id);
}

/* May the caller? For a child of a run that is asked of the spaces. */
static struct aside_lane named_dir_lane(struct front *front, const struct node *node,
					struct rye_span what)
{
	return named_lane(node->data);
}

static const struct node_class named_dir_aside = {
	.lane = named_dir_lane,
	.enter = dir_enter,
	.getattr = named_dir_getattr,
	.readdir = named_dir_readdir,
	.changes = &named_changes,
};

static const struct node_class named_dir_class = {
	.name = "named-dir",
	.aside = &named_dir_aside,
	.drop = named_call_unref,
};

/* Takes the call over. */
static int dir_entry(fuse_req_t req, const struct tree_key *key, struct named_call *call,
		     struct fuse_entry_param *ret)
{
	struct front *front = front_of(req);
	struct node_want want = {
		.key = key,
		.class = &named_dir_class,
		.data = call,
		.version = 1,
		.mtime = front->started,
		.mode = S_IFDIR | key->ctl->mode,
	};
	struct node *node;

	if (!call)
		return ENOMEM;
	/* the same path may be another item's one day */
	want.version = hash_text(HASH_BASIS, call->key);
	node = node_make(front->nodes, &want);
	if (!node)
		return ENOMEM;
	node_entry(front, node, 0, ret);
	dir_stat(req, node, &ret->attr);
	ret->attr_timeout = 0;
	return 0;
}

int ctl_enter_named(fuse_req_t req, const struct tree_key *key, const struct rye_stat *st,
		    struct fuse_entry_param *ret)
{
	struct front *front = front_of(req);
	struct talk_target target = { st ? RYE_RUN : RYE_EXECUTE, st ? key->kind : RYE_KIND__MAX,
				      st ? st->id : "" };
	struct named_call *call = named_call_get(front->named, &target, "");
	int sys = call ? named_may(req, call, true, NULL) : ENOMEM;

	if (!sys)
		return dir_entry(req, key, call, ret);
	named_call_unref(call);
	return sys;
}

int named_start(struct front *front, struct named **ret)
{
	const struct named_env env = { front->talks, NAMED_DRAFT_S * NS_PER_S };

	return named_open(&env, ret);
}
