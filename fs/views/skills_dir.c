/* SPDX-License-Identifier: MIT */
/*
 * skills_dir.c - skills/: a real directory for each Agent Skill, with what its manifest lists.
 *
 * Clients scan whole directories and follow no links: so directories and files are what they seem,
 * and a refused skill is a link to its reason, which ends no scan. The engine is asked at each lookup
 * (timeouts 0), so no name can outlive a verdict; only listings are kept by the kernel, and dropped
 * when something has changed. No lock, no state.
 */
#include "views/views.h"

#include "core/enter.h"
#include "core/listing.h"
#include "core/notify.h"
#include "core/reply.h"
#include "scope.h"
#include "views/views_inner.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

/* "pdf/scripts/x.py": the skill's name, and the path in its folder. */
struct skills_at {
	char name[TREE_NAME_MAX + 1];
	const char *path;
};

static bool skills_at(const char *text, struct skills_at *ret)
{
	size_t n = strcspn(text, "/");

	if (n >= sizeof(ret->name))
		return false;
	memcpy(ret->name, text, n);
	ret->name[n] = 0;
	ret->path = text + n + (text[n] == '/');
	return true;
}

/* ---- directories ---- */

struct skills_filling {
	const struct node *node;
	struct listing *listing;
};

/* Told without a node: the kernel would ask for it again at once, and of a file the bytes have to be read. */
static void skills_add(const struct skills_filling *filling, const char *name, mode_t type)
{
	const struct node *node = filling->node;
	const struct tree_dir where = { (enum tree_sort)node->sort, node->kind, false, node->text };
	struct tree_key key;

	if (tree_step(&where, name, &key) == 0)
		listing_add(filling->listing, name, type, tree_ino(&key));
}

static int skills_on_skill(void *arg, const char *name, bool refused)
{
	skills_add(arg, name, refused ? S_IFLNK : S_IFDIR);
	return 0;
}

static void skills_on_name(void *arg, const char *name, bool is_dir)
{
	skills_add(arg, name, is_dir ? S_IFDIR : S_IFREG);
}

static int skills_fill(struct front *front, const struct node *node, struct listing *listing,
		       struct rye_err *err)
{
	struct skills_filling filling = { node, listing };
	struct rye_skill skill;
	struct skills_at at;
	int r;

	if (!*node->text)
		return rye_offer_list(front->offers, skills_on_skill, &filling, err);
	if (!skills_at(node->text, &at))
		return 0;
	r = rye_offer_find(front->offers, at.name, &skill, err);
	/* one that is gone or refused by now lists nothing */
	if (r || skill.verdict != RYE_OK)
		return r == -(int)RYE_NOT_FOUND ? 0 : r;
	return rye_offer_names(front->offers, &skill, at.path, skills_on_name, &filling, err);
}

static struct listing *skills_list(struct front *front, const struct node *node,
				   struct rye_err *err)
{
	auto_listing struct listing *listing = listing_new();

	*err = (struct rye_err){ .code = RYE_IO, .sys = ENOMEM };
	if (!listing || skills_fill(front, node, listing, err))
		return NULL;
	*err = (struct rye_err){ .code = RYE_IO, .sys = ENOMEM };
	return listing_finish(listing) ? steal(&listing) : NULL;
}

/* What reads to the end asks once more: all of it stays until then, too. */
static void skills_readdir(fuse_req_t req, struct node *node, size_t size, off_t off, bool plus)
{
	struct front *front = front_of(req);
	struct listing_ask ask = { req, node, size, off, plus };
	auto_node struct node *held = node_ref(node);
	struct listing *listing = off ? shelf_take(front->shelf, node) : NULL;
	struct rye_err err;

	if (!listing)
		listing = skills_list(front, node, &err);
	if (!listing)
		reply_rye(req, &err);
	else if (listing_reply(&ask, listing) && off)
		listing_free(listing);
	else
		shelf_put(front->shelf, held, listing);
}

/* Where no watch tells of changes the kernel drops a listing when the time of its directory differs. */
static void skills_getattr(fuse_req_t req, struct node *node, bool by_handle)
{
	struct front *front = front_of(req);
	struct rye_stat now = { .mtime = front->started };
	struct skills_at at;
	struct stat st;

	(void)by_handle;
	node_stat(front, node, &st);
	if (skills_at(node->text, &at))
		st.st_mtim =
			content_mtime(front, &now, !rye_unwatched(front->rye, RYE_SKILL, at.name));
	reply_attr(req, &st, 0);
}

static struct aside_lane skills_lane(struct front *front, const struct node *node,
				     struct rye_span what)
{
	char name[TREE_NAME_MAX + 1];

	if (*node->text)
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(node->text, "/"), node->text);
	else
		snprintf(name, sizeof(name), "%.*s", (int)what.len, what.len ? what.ptr : "");
	return content_lane(front, RYE_SKILL, name);
}

static const struct node_class skills_aside = {
	.lane = skills_lane,
	.enter = enter_name,
	.getattr = skills_getattr,
	.readdir = skills_readdir,
};

static const struct node_class skills_class = {
	.name = "skills",
	.aside = &skills_aside,
	.enter = enter_now,
};

static struct node *skills_make_dir(struct front *front, const struct tree_key *key)
{
	const struct node_want want = {
		.key = key,
		.class = &skills_class,
		.version = 1,
		.mtime = front->started,
		.mode = S_IFDIR | 0755,
	};

	return node_make(front->nodes, &want);
}

int enter_skills(fuse_req_t req, const struct tree_key *key, struct fuse_entry_param *ret)
{
	struct front *front = front_of(req);

	return enter_node(front, skills_make_dir(front, key), TIMEOUT_LONG_S, ret);
}

/* ---- what is in a folder ---- */

static int skills_enter_file(fuse_req_t req, const struct tree_key *key,
			     const struct rye_skill *skill, const char *path,
			     struct fuse_entry_param *ret)
{
	struct front *front = front_of(req);
	struct content_file what = { .key = key, .mtime = skill->mtime };
	struct rye_skill_file file;
	struct rye_err err;
	int r = rye_offer_read(front->offers, skill, path, &file, &err);

	if (r == -(int)RYE_INVALID) /* inputs in its name */
		content_complain(req, key->text, err.msg);
	/* changed this moment: its skill is refused at the next look, and a scan goes on */
	if (r == -(int)RYE_MODIFIED)
		content_complain(req, key->text, err.msg);
	if (r == -(int)RYE_MODIFIED || r == -(int)RYE_NOT_FOUND)
		return enter_nothing(ret, 0);
	if (r)
		return rye_code_errno(err.code);
	if (file.is_dir)
		return enter_node(front, skills_make_dir(front, key), 0, ret);
	what.text = file.text;
	what.version = file.version;
	what.mode = file.x ? 0555 : 0444;
	return enter_node(front, content_make(front, &what), 0, ret);
}

int enter_skill(fuse_req_t req, const struct tree_key *key, struct fuse_entry_param *ret)
{
	struct front *front = front_of(req);
	struct rye_stat st = { 0 };
	struct rye_skill skill;
	struct skills_at at;
	struct rye_err err;
	int r;

	if (!skills_at(key->text, &at))
		return enter_nothing(ret, 0);
	r = rye_offer_find(front->offers, at.name, &skill, &err);
	if (r == -(int)RYE_NOT_FOUND)
		return enter_nothing(ret, 0);
	if (r)
		return rye_code_errno(err.code);
	if (skill.verdict == RYE_OK)
		return skills_enter_file(req, key, &skill, at.path, ret);
	if (*at.path)
		return enter_nothing(ret, 0);
	st.mtime = skill.mtime.tv_sec ? skill.mtime : front->started;
	return enter_node(front, content_refuse(front, key, &st, skill.verdict, skill.reason), 0,
			  ret);
}

/* ---- changes ---- */

static bool is_skills_dir(void *arg, const struct node *node)
{
	(void)arg;
	return (node->sort == TREE_SKILLS || node->sort == TREE_SKILL) && S_ISDIR(node->mode);
}

/* Which names a changed skill had is not known any more: all listings of this view go. */
static void skills_folders_told(struct front *front)
{
	const struct node_search what = { .match = is_skills_dir };
	size_t n;
	auto_free struct node **found = nodes_collect(front->nodes, &what, &n);

	for (size_t i = 0; i < n; i++) {
		notify_send_inode(front, found[i], 0);
		node_unref(found[i]);
	}
}

/* An item that is shown as a skill comes and goes as a name, its folder is always the same. */
static void skills_names_told(struct front *front)
{
	struct tree_dir dir = { .sort = TREE_ROOT, .path = "" };
	auto_node struct node *top = NULL;
	struct tree_key key;

	if (!tree_step(&dir, "skills", &key))
		top = node_peek(front->nodes, &key);
	if (top)
		notify_send_inode(front, top, 0);
}

static void skills_task(struct front *front, struct node *none, int folders, const char *text)
{
	(void)none;
	(void)text;
	/* what changes from here on has a task of its own */
	atomic_store(&front->skills_told[folders], false);
	if (folders)
		skills_folders_told(front);
	else
		skills_names_told(front);
}

void skills_changed(struct front *front, bool folders)
{
	rye_offers_stale(front->offers);
	if (!atomic_exchange(&front->skills_told[folders], true))
		notify_task(front->notify,
			    &(struct notify_task){ skills_task, NULL, folders, "", LANE_CONTENT });
}
