/* SPDX-License-Identifier: MIT */
/*
 * change.c - which names the kernel must forget when an item changes.
 *
 * Owns that rule; no lock, no state. Runs on the engine's threads, maybe inside an operation of
 * ours (rye_touched), so it only queues. Files and names that are not there are dropped from the
 * kernel's dentry cache: if a name only expired, the answer of a LOOKUP that is under way would
 * make the old node valid for an hour again. Directories only expire: the kernel unhashes a dentry
 * that is dropped, and getcwd(2) of a shell in that directory would fail with ENOENT
 * (tests/e2e/content.sh).
 */
#include "change.h"

#include "core/ctl.h"
#include "core/notify.h"
#include "pass/pass.h"
#include "scope.h"
#include "str.h"
#include "views/views.h"

#include <errno.h>
#include <limits.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <string.h>

/* A merged directory as far as the kernel knows it, borrowed; NULL: it does not. */
static struct node *dir_node(struct front *front, enum rye_kind kind, const char *path)
{
	struct tree_key key;

	return tree_merged(kind, path, &key) ? NULL : node_peek(front->nodes, &key);
}

/* The listing of one directory. Of many changes in it all but the first find this task waiting. */
static void listing_task(struct front *front, struct node *none, int kind, const char *path)
{
	auto_node struct node *dir = dir_node(front, kind, path);

	if (dir)
		notify_send_inode(front, dir, 0);
}

static void change_post(struct front *front, notify_task_fn fn, int number, const char *text)
{
	notify_task(front->notify, &(struct notify_task){ fn, NULL, number, text, LANE_CONTENT });
}

/* In the nearest directory above that the kernel knows: the name on the way to path, which it may
 * have cached as absent; the listing too. */
static void drop_path(struct front *front, enum rye_kind kind, const char *path, bool listing)
{
	char dir[TREE_TEXT_MAX];

	if (!*path || strlen(path) >= sizeof(dir))
		return;
	memcpy(dir, path, strlen(path) + 1);
	for (;;) {
		char *slash = strrchr(dir, '/');
		const char *base = slash ? slash + 1 : dir;
		auto_node struct node *parent = NULL;

		if (slash)
			*slash = 0;
		parent = dir_node(front, kind, slash ? dir : "");
		if (parent) {
			notify_send_entry(front, parent, base, false);
			if (listing)
				change_post(front, listing_task, kind, slash ? dir : "");
		}
		if (parent || !slash)
			return;
	}
}

/* Tells the kernel to forget by which name it knows this node. */
static void drop_node(struct front *front, const struct node *node)
{
	const char *query = node->text_len > node->path_len ? node->text + node->path_len + 1 :
							      NULL;
	const char *slash = strrchr(node->text, '/');
	const char *base = node->ctl ? node->ctl->name : slash ? slash + 1 : node->text;
	auto_node struct node *parent = NULL;
	char dir[TREE_TEXT_MAX], name[TREE_TEXT_MAX];
	size_t len = node->ctl ? node->path_len : slash ? (size_t)(slash - node->text) : 0;

	memcpy(dir, node->text, len);
	dir[len] = 0;
	parent = dir_node(front, node->kind, dir);
	if (!parent)
		return;
	snprintf(name, sizeof(name), "%s%s%s", base, query ? "?" : "", query ? query : "");
	notify_send_entry(front, parent, name, S_ISDIR(node->mode));
}

struct scope {
	enum rye_kind kind; /* RYE_KIND__MAX: all */
	const char *path; /* an id, or a directory */
	size_t len;
	bool below; /* whatever lies below path; else what bears its name */
	uint64_t version; /* files of this version stay; 0: none does */
	const char *dropped; /* the file of this name was dropped already, or NULL */
};

static bool is_content(const struct node *node)
{
	return node->sort == TREE_MERGED || node->sort == TREE_QUERY || node->sort == TREE_CTL;
}

/* id.md, id.md?a=b, id itself and what lies in it; or all below a directory. */
static bool in_scope(void *arg, const struct node *node)
{
	const struct scope *scope = arg;
	char next;

	if (!is_content(node))
		return false;
	if (scope->kind == RYE_KIND__MAX)
		return node->sort == TREE_CTL || node->path_len > 0;
	if (node->kind != scope->kind || node->path_len < scope->len ||
	    memcmp(node->text, scope->path, scope->len) != 0)
		return false;
	next = node->text[scope->len];
	if (scope->version && node->sort == TREE_MERGED && node->version == scope->version)
		return false;
	if (scope->dropped && node->sort == TREE_MERGED && S_ISREG(node->mode) &&
	    !strcmp(node->text, scope->dropped))
		return false;
	if (scope->below)
		return next == '/' || scope->len == 0 || (!next && node->sort == TREE_CTL);
	if (!next)
		return true;
	return next == '.' && !strchr(node->text + scope->len, '/');
}

static void drop_scope(struct front *front, struct scope *scope)
{
	const struct node_search what = { .match = in_scope,
					  .arg = scope,
					  .stem = scope->below ? NULL : scope->path,
					  .kind = (uint8_t)scope->kind };
	size_t n;
	auto_free struct node **found = nodes_collect(front->nodes, &what, &n);

	for (size_t i = 0; i < n; i++) {
		drop_node(front, found[i]);
		if (S_ISDIR(found[i]->mode))
			notify_send_inode(front, found[i], 0);
		node_unref(found[i]);
	}
}

/* ---- tasks: on the notifications' own thread ---- */

/* For followers of .ryefs/changes. path "": anything may have changed. */
static void told_task(struct front *front, struct node *none, int kind, const char *path)
{
	char at[TREE_TEXT_MAX];

	/* no item has such a name; editors' and our own temporary files have */
	if (*path == '.' || strstr(path, "/."))
		return;
	snprintf(at, sizeof(at), "%s%s%s", kind < RYE_KIND__MAX ? rye_kind_dir(kind) : ".",
		 *path ? "/" : "", path);
	journal_change(front->changes, at);
}

/* Queued by the task that has told the kernel of a change, behind what that one has queued: a reader
 * that sees the line sees the change. The lane's own thread need not be woken for it. */
static void post_told(struct front *front, int kind, const char *path)
{
	change_post(front, told_task, kind, path);
}

static void name_task(struct front *front, struct node *none, int kind, const char *path)
{
	drop_path(front, kind, path, true);
	post_told(front, kind, path);
}

/* `rye/bash` may be what the item `rye/bash/bash` is called too. Cuts id; false: it is not. */
static bool to_alias(char *id)
{
	char *slash = strrchr(id, '/'), *before;

	if (!slash)
		return false;
	*slash = 0;
	before = strrchr(id, '/');
	if (strcmp(before ? before + 1 : id, slash + 1) == 0)
		return true;
	*slash = '/';
	return false;
}

/* What bears the id: files, their variants, the directory, which the kernel may have cached as
 * absent. */
static void drop_id(struct front *front, enum rye_kind kind, struct scope *scope)
{
	auto_node struct node *dir = dir_node(front, kind, scope->path);

	scope->kind = kind;
	scope->len = strlen(scope->path);
	if (!dir)
		drop_path(front, kind, scope->path, false);
	drop_scope(front, scope);
}

/* Another file may win now, under a name that the kernel has cached as absent. Its version, when the
 * kernel knows it as it is; else 0. */
static uint64_t drop_winner(struct front *front, enum rye_kind kind, const char *id,
			    const char *winner)
{
	auto_node struct node *node = dir_node(front, kind, winner);
	struct rye_stat st;
	struct rye_err err;

	if (node && rye_lookup(front->rye, kind, id, &st, &err) == 0 && node->version == st.version)
		return st.version;
	drop_path(front, kind, winner, false);
	return 0;
}

/* What a task of an item is about: its kind, and how much of its file's path is the id. */
#define ITEM_NUMBER(kind, len) ((int)(kind) | (int)(len) << 8)

/* The file's own name is dropped whatever is in it now: its bytes are not looked at, since a change
 * may wait for this, and more of them may follow. */
static void drop_file_of_item(struct front *front, enum rye_kind kind, const char *path, char *id)
{
	struct rye_place place;
	struct rye_err err;
	uint64_t version = 0;

	drop_path(front, kind, path, true);
	if (rye_source(front->rye, kind, id, &place, &err) == 0) {
		const char *winner = strchr(place.path, '/') + 1;

		if (strcmp(winner, path) != 0)
			version = drop_winner(front, kind, id, winner);
	}
	drop_id(front, kind, &(struct scope){ .path = id, .version = version, .dropped = path });
	if (to_alias(id))
		drop_id(front, kind, &(struct scope){ .path = id });
}

static void item_task(struct front *front, struct node *none, int number, const char *path)
{
	auto_free char *id = strndup(path, (size_t)(number >> 8));

	if (id)
		drop_file_of_item(front, number & 0xff, path, id);
	post_told(front, number & 0xff, path);
}

/* A kind's directory came or went. */
static void kind_task(struct front *front, struct node *none, int kind, const char *path)
{
	struct scope scope = { .kind = kind, .path = path, .below = true };

	drop_scope(front, &scope);
	post_told(front, kind, path);
}

/* The root lists remotes where the configuration names some. */
static void root_task(struct front *front, struct node *none, int unused, const char *text)
{
	notify_send_inode(front, front->root, 0);
}

/* Only the kernel knows which absent names it has cached: it forgets them with the dentry of the
 * kind's directory. The lstat looks that directory up at once, so that getcwd(2) of a shell below
 * it works again. */
static void everything_task(struct front *front, struct node *none, int unused, const char *text)
{
	struct scope scope = { .kind = RYE_KIND__MAX };
	char path[PATH_MAX];
	struct stat st;

	root_task(front, none, unused, text);
	drop_scope(front, &scope);
	for (int kind = 0; kind < RYE_KIND__MAX; kind++) {
		notify_send_entry(front, front->root, rye_kind_dir(kind), false);
		snprintf(path, sizeof(path), "%s/%s", front->opt->mountpoint, rye_kind_dir(kind));
		if (lstat(path, &st))
			break;
	}
	post_told(front, RYE_KIND__MAX, "");
}

/* path is below .ai: "tools/web/fetch.py". */
static void path_changed(struct front *front, const struct rye_change *change)
{
	const char *below = strchr(change->path, '/');
	enum rye_kind kind = change->kind;

	if (kind == RYE_KIND__MAX)
		for (int k = 0; k < RYE_KIND__MAX; k++)
			if (path_below(change->path, rye_kind_dir(k)))
				kind = k;
	if (kind == RYE_KIND__MAX)
		return;
	below = below ? below + 1 : "";
	if (kind == RYE_CONFIG)
		change_post(front, root_task, 0, "");
	if (change->kind != RYE_KIND__MAX && change->id && *change->id &&
	    !strncmp(below, change->id, strlen(change->id)))
		change_post(front, item_task, ITEM_NUMBER(kind, strlen(change->id)), below);
	else /* what was an item's below a name that is nothing now is told of by itself */
		change_post(front, *below ? name_task : kind_task, kind, below);
	if (rye_kind_has(kind, RYE_KIND_MANIFEST | RYE_KIND_RUNS))
		skills_changed(front, rye_kind_has(kind, RYE_KIND_MANIFEST));
}

static void change_told(void *arg)
{
	sem_post(arg);
}

/* On a worker of the engine, never on a thread that the kernel waits for. The lane of files, too:
 * below spaces/ a write by the name of before would go into a file that was replaced. */
static void wait_told(struct front *front)
{
	static const enum notify_lane lanes[] = { LANE_CONTENT, LANE_FILES };
	sem_t told;

	sem_init(&told, 0, 0);
	for (size_t i = 0; i < ARRAY_SIZE(lanes); i++) {
		notify_after(front->notify, lanes[i], change_told, &told);
		while (sem_wait(&told) && errno == EINTR)
			;
	}
	sem_destroy(&told);
}

static void send_root_name(void *arg, const char *name)
{
	struct front *front = arg;

	notify_send_entry(front, front->root, name, false);
}

static void epoch_task(struct front *front, struct node *node, int number, const char *text)
{
	(void)node;
	(void)number;
	(void)text;
	tree_root_names(true, front, send_root_name);
	notify_send_inode(front, front->root, 0);
}

void change_epoch(struct front *front)
{
	change_post(front, epoch_task, 0, "");
}

void change_seen(void *arg, const struct rye_change *change)
{
	struct front *front = arg;

	atomic_fetch_add(&front->generation, 1);
	switch (change->type) {
	case RYE_CHANGE_PATH:
		path_changed(front, change);
		pass_changed(front, change->space, change->path);
		break;
	case RYE_CHANGE_ALL:
		change_post(front, everything_task, 0, "");
		skills_changed(front, true);
		pass_changed(front, -1, "");
		break;
	case RYE_CHANGE_THREAD:
		threads_changed(front, change->path);
		break;
	case RYE_CHANGE_WAIT:
		wait_told(front);
		break;
	}
}
