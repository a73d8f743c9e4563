/* SPDX-License-Identifier: MIT */
/*
 * Where items lay when they were loaded last. A run asks for its tool, the runtime, the primitive and
 * their configuration by name, and each name is looked for in every space, under every extension: more
 * system calls than all else that the engine does for it. What was found then is found again for as
 * long as the watch says that nothing has changed (watch_stamp); where it could not say so, because of
 * a link, a mount, a second name or a directory without a watch, nothing is remembered.
 *
 * Lock: `lock` guards the table. Called by workers and FUSE threads.
 */
#include "item/item_inner.h"

#include "base/id.h"
#include "base/io.h"
#include "bounds.h"
#include "scope.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

/* A tool needs six; the older one of a slot gives way. */
#define RECENT_SLOTS 512

struct recent_place {
	struct recent_ask ask; /* its name is in the text */
	uint64_t stamp;
	const struct space *space;
	struct stat st;
	bool ambiguous;
	bool unseen; /* nothing can be remembered of it: not looked at again before a change */
	const char *path; /* in the text */
	char text[];
};

struct recents {
	struct index *index;
	struct watch *watch;
	pthread_mutex_t lock;
	struct recent_place *slots[RECENT_SLOTS];
};

struct recents *recents_open(struct index *index, struct watch *watch)
{
	struct recents *recents = calloc(1, sizeof(*recents));

	if (!recents)
		return NULL;
	recents->index = index;
	recents->watch = watch;
	pthread_mutex_init(&recents->lock, NULL);
	return recents;
}

void recents_close(struct recents *recents)
{
	if (!recents)
		return;
	for (size_t i = 0; i < RECENT_SLOTS; i++)
		free(recents->slots[i]);
	pthread_mutex_destroy(&recents->lock);
	free(recents);
}

/* The lock is held by those that use it. */
static struct recent_place **recent_slot(struct recents *recents, const struct recent_ask *ask)
{
	uint64_t hash = id_hash(ask->kind, ask->name);

	hash += ((uintptr_t)ask->from >> 4) * 31 + ((uintptr_t)ask->only >> 4) * 37 + ask->is_path;
	return &recents->slots[(hash ^ hash >> 32) % RECENT_SLOTS];
}

static bool recent_is(const struct recent_place *recent, const struct recent_ask *ask)
{
	return recent->ask.kind == ask->kind && recent->ask.from == ask->from &&
	       recent->ask.only == ask->only && recent->ask.is_path == ask->is_path &&
	       !strcmp(recent->ask.name, ask->name);
}

bool recents_find(struct recents *recents, const struct recent_ask *ask, struct recent_found *ret)
{
	bool found;

	ret->stamp = recents && !index_blind(recents->index) ? watch_stamp(recents->watch) : 0;
	if (!ret->stamp)
		return false;
	GUARD(&recents->lock);
	const struct recent_place *recent = *recent_slot(recents, ask);

	found = recent && recent->stamp == ret->stamp && recent_is(recent, ask);
	if (found && recent->unseen) {
		ret->stamp = 0;
		return false;
	}
	if (found) {
		ret->space = recent->space;
		ret->st = recent->st;
		ret->ambiguous = recent->ambiguous;
		snprintf(ret->path, sizeof(ret->path), "%s", recent->path);
	}
	return found;
}

/* ---- what may be remembered ---- */

/* "tools/a/b.py" → "a"; an id → its category. False: not below the kind's directory. */
static bool recent_dir(const struct recent_ask *ask, struct rye_span *ret)
{
	const char *top = rye_kind_dir(ask->kind), *name = ask->name;
	size_t n = strlen(top);

	if (ask->is_path && (strncmp(name, top, n) != 0 || name[n] != '/'))
		return false;
	*ret = space_category(ask->is_path ? name + n + 1 : name);
	return true;
}

/* Would its watch tell of anything that came, went or changed in this directory of a space? One that
 * is not there is told of by the nearest that is. */
static bool dir_is_watched(struct recents *recents, enum rye_kind kind, const struct space *space,
			   struct rye_span dir)
{
	int root = space_fd(space);

	while (root >= 0) {
		char path[RYE_ID_MAX + 64];
		int n = snprintf(path, sizeof(path), "%s/%.*s", rye_kind_dir(kind), (int)dir.len,
				 dir.ptr);
		int fd = n < (int)sizeof(path) ? io_open_plain(root, path, O_PATH | O_DIRECTORY) :
						 -ENAMETOOLONG;

		if (fd >= 0) {
			close(fd);
			return index_watches(recents->index, kind, space->index, dir);
		}
		if (fd != -ENOENT)
			return false;
		if (!dir.len)
			return true;
		while (dir.len && dir.ptr[--dir.len] != '/')
			;
	}
	/* neither is .ai, which its parent's watch tells of */
	return true;
}

static bool all_watched(struct recents *recents, const struct spaces *spaces,
			const struct recent_ask *ask, const struct space *last)
{
	const struct item_ask where = { .from = ask->from, .only = ask->only };
	struct rye_span dir;

	if (!recent_dir(ask, &dir))
		return false;
	for (size_t i = 0; i < spaces->n; i++) {
		if (space_wanted(&where, &spaces->v[i]) &&
		    !dir_is_watched(recents, ask->kind, &spaces->v[i], dir))
			return false;
		if (last == &spaces->v[i])
			break;
	}
	return true;
}

/* No other name, and no link on the way to it, by which it could be written to unseen. */
static bool file_is_plain(const struct recent_found *found)
{
	int fd = found->st.st_nlink == 1 ?
			 io_open_plain(space_fd(found->space), found->path, O_PATH) :
			 -EMLINK;

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

void recents_keep(struct recents *recents, const struct spaces *spaces,
		  const struct recent_ask *ask, const struct recent_found *found)
{
	size_t name = strlen(ask->name) + 1, path = found->space ? strlen(found->path) + 1 : 1;
	struct recent_place *recent = NULL;

	if (!recents || !found->stamp)
		return;
	recent = calloc(1, sizeof(*recent) + name + path);
	if (!recent)
		return;
	memcpy(recent->text, ask->name, name);
	if (found->space)
		memcpy(recent->text + name, found->path, path);
	recent->ask = *ask;
	recent->ask.name = recent->text;
	recent->path = recent->text + name;
	recent->stamp = found->stamp;
	recent->space = found->space;
	recent->st = found->st;
	recent->ambiguous = found->ambiguous;
	recent->unseen = (found->space && !file_is_plain(found)) ||
			 !all_watched(recents, spaces, ask, found->space);
	{
		GUARD(&recents->lock);
		struct recent_place **slot = recent_slot(recents, ask), *old = *slot;

		*slot = recent;
		recent = old;
	}
	free(recent);
}
