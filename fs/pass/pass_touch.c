/* SPDX-License-Identifier: MIT */
/*
 * pass_touch.c - telling the engine of changes below spaces/, and when a change is answered.
 *
 * What a caller reads in the merged trees after its call returned must be what the call made of it.
 * So the FUSE thread that made the change has the engine forget what it knew of the item, and the
 * answer waits until the content lane (core/notify.h) has had the engine look at the name and has
 * told the kernel to forget it. For the bytes of one file this is needed once: as long as no process
 * looks at the merged trees and the engine reads no item, nothing is remembered anew. inotify is too
 * late for that, and does not see a write end: our own backing descriptors stay open.
 *
 * Owns no state and no lock. Nothing waits in here.
 */
#include "pass/pass.h"

#include "core/notify.h"
#include "core/reply.h"
#include "scope.h"

#include <limits.h>
#include <stdatomic.h>
#include <string.h>

#define TOUCH_PATH_MAX (PATH_MAX + TREE_NAME_MAX + 2)

/* The path of a node below its space's .ai; false: it is not there (any more). */
static bool touch_node_path(struct front *front, const struct node *node, char ret[TOUCH_PATH_MAX])
{
	struct rye_space_info info;
	char proc[PASS_PROC_MAX], root[PATH_MAX];
	ssize_t n, len;

	rye_space_get(front->rye, pass_of(node)->space, &info);
	pass_proc(info.fd, proc);
	len = readlink(proc, root, sizeof(root) - 1);
	pass_proc(pass_of(node)->fd, proc);
	n = readlink(proc, ret, PATH_MAX - 1);
	if (len < 0 || n < len || memcmp(ret, root, (size_t)len) != 0)
		return false;
	ret[n] = 0;
	if (ret[len] == '/')
		len++;
	else if (ret[len])
		return false;
	memmove(ret, ret + len, (size_t)(n - len) + 1);
	return true;
}

static bool touch_path(struct front *front, const struct node *node, const char *name,
		       char ret[TOUCH_PATH_MAX])
{
	size_t n;

	if (!touch_node_path(front, node, ret))
		return false;
	n = strlen(ret);
	if (name)
		snprintf(ret + n, TOUCH_PATH_MAX - n, "%s%s", n ? "/" : "", name);
	return true;
}

typedef bool (*touch_fn)(struct rye *rye, int space, const char *path);

/* Each path that changes with the node, or the one of a name in it. True: fn said so of one. Of a file
 * that has none of the names by which the kernel knows it, /proc tells what others made of it. */
static bool touch_each(struct front *front, struct node *node, const char *name, touch_fn fn)
{
	int space = pass_of(node)->space;
	struct pass_at at = { 0 };
	char path[TOUCH_PATH_MAX];
	bool found = false, any = false;

	while (!name && pass_names_next(node, &at))
		if (touch_path(front, at.dir, at.name, path)) {
			any |= fn(front->rye, space, path);
			found = true;
		}
	if (!found && touch_path(front, node, name, path))
		any = fn(front->rye, space, path);
	return any;
}

static bool touch_tell(struct rye *rye, int space, const char *path)
{
	rye_touched(rye, space, path);
	return true;
}

static void touch_task(struct front *front, struct node *node, int unused, const char *name)
{
	touch_each(front, node, *name ? name : NULL, touch_tell);
}

/* A file written in many pieces is told once per turn of the thread. */
static void touch_post(struct front *front, struct node *node, const char *name)
{
	notify_task(front->notify,
		    &(struct notify_task){ touch_task, node, 0, name ? name : "", LANE_CONTENT });
}

static bool touch_is_plain(const struct node *node, const char *name)
{
	enum pass_zone zone = pass_of(node)->zone;

	return (name && !pass_zone(zone, name, &zone)) || zone == ZONE_PLAIN;
}

static bool touch_has_told(const struct node *node, const struct pass_told *now)
{
	struct pass_node *pass = pass_of(node);

	GUARD(&pass->pass->lock);
	return pass->told.looks == now->looks && pass->told.loads == now->loads;
}

/* True: the kernel may have learnt something since the last time. */
static bool touch_note_told(struct node *node, const struct pass_told *now)
{
	struct pass_node *pass = pass_of(node);
	bool more;

	GUARD(&pass->pass->lock);
	more = pass->told.looks != now->looks;
	pass->told = *now;
	return more;
}

static struct pass_told touch_now(struct front *front)
{
	return (struct pass_told){ atomic_load(&front->looks), rye_loads(front->rye) };
}

bool pass_touch(struct front *front, struct node *node, const char *name)
{
	const struct pass_told now = touch_now(front);
	bool shows;

	/* an editor's temporary file: nothing stands on it, and the watch tells of it */
	if (!name && pass_of(node)->zone == ZONE_PLAIN && pass_of(node)->beside)
		return false;
	if (touch_is_plain(node, name) || (!name && touch_has_told(node, &now))) {
		touch_post(front, node, name);
		return false;
	}
	shows = touch_each(front, node, name, rye_doubt);
	touch_post(front, node, name);
	if (shows)
		atomic_fetch_add(&front->generation, 1);
	return (name || touch_note_told(node, &now)) && shows;
}

bool pass_touch_file(struct front *front, struct node *dir, const char *name)
{
	if (rye_names_item(name))
		return pass_touch(front, dir, name);
	/* an editor's temporary or backup file: nothing of the merged trees stands on it */
	if (pass_of(dir)->zone != ZONE_ITEMS)
		touch_post(front, dir, name);
	return false;
}

void pass_told(struct front *front, struct node *node)
{
	const struct pass_told now = touch_now(front);

	touch_note_told(node, &now);
}

/* ---- answers ---- */

static void pass_answer_later(void *arg)
{
	auto_free struct pass_answer *answer = arg;

	answer->send(answer);
}

void pass_answer(struct front *front, const struct pass_answer *answer, bool wait)
{
	struct pass_answer *later = wait ? malloc(sizeof(*later)) : NULL;

	/* the change is made, also where memory is short */
	if (!later) {
		answer->send(answer);
		return;
	}
	*later = *answer;
	notify_after(front->notify, LANE_CONTENT, pass_answer_later, later);
}

void pass_send_done(const struct pass_answer *answer)
{
	reply_errno(answer->req, 0);
}

void pass_send_written(const struct pass_answer *answer)
{
	reply_written(answer->req, answer->n);
}

void pass_send_attr(const struct pass_answer *answer)
{
	reply_attr(answer->req, &answer->attr.st, answer->attr.timeout_s);
}

void pass_send_found(const struct pass_answer *answer)
{
	struct pass_found found = answer->found;

	pass_reply_entry(answer->req, &found);
}
