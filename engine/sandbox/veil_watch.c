/* SPDX-License-Identifier: MIT */
/*
 * When boxes of before are no longer to be used: a directory that is veiled came, went or was
 * replaced, a mount shows one of them in another place, a private file of the project came. Called
 * by the worker that takes a box. No lock: two workers that look at once find the same.
 */
#include "sandbox/sandbox_inner.h"

#include "hash.h"
#include "scope.h"
#include "space/space.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>

struct veil_watch {
	const struct spaces *spaces;
	struct privates *privates;
	int mounts; /* the kernel's list: readable with priority once it has changed; -1: none */
	_Atomic uint64_t aliases;
};

static uint64_t stamp_aliases(const struct spaces *spaces)
{
	__attribute__((cleanup(veil_rows_done))) struct veil_rows rows = { 0 };
	uint64_t hash = HASH_BASIS;

	if (spaces->key_dir)
		veil_rows_add(&rows, VEIL_HIDE, spaces->key_dir);
	if (spaces->secret_dir)
		veil_rows_add(&rows, VEIL_HIDE, spaces->secret_dir);
	veil_rows_aliases(&rows);
	for (size_t i = 0; i < rows.n; i++)
		hash = hash_text(hash, rows.v[i].path);
	return hash;
}

struct veil_watch *veil_watch_open(const struct spaces *spaces, bool lasting)
{
	struct veil_watch *watch = calloc(1, sizeof(*watch));

	if (!watch)
		return NULL;
	watch->spaces = spaces;
	watch->mounts = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	watch->aliases = stamp_aliases(spaces);
	watch->privates = privates_open(spaces->v[0].root, lasting);
	if (watch->privates)
		return watch;
	veil_watch_close(watch);
	return NULL;
}

void veil_watch_close(struct veil_watch *watch)
{
	if (!watch)
		return;
	if (watch->mounts >= 0)
		close(watch->mounts);
	privates_close(watch->privates);
	free(watch);
}

struct privates *veil_watch_privates(const struct veil_watch *watch)
{
	return watch->privates;
}

/* What git is read from: `git config` replaces the file, and the mount over it goes with the old. */
static uint64_t stamp_git(const char *project)
{
	static const char *const names[] = { "",       "/config",  "/config.worktree",
					     "/hooks", "/modules", "/worktrees" };
	uint64_t hash = HASH_BASIS;
	char path[4096];
	struct stat st;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		snprintf(path, sizeof(path), "%s/.git%s", project, names[i]);
		if (stat(path, &st) < 0) {
			hash = hash_add(hash, 0);
			continue;
		}
		hash = hash_add(hash, st.st_ino);
		/* submodules and work trees: what lies in there counts */
		if (i >= ARRAY_SIZE(names) - 2)
			hash = hash_add(hash, (uint64_t)st.st_mtim.tv_sec * 1000000000u +
						      (uint64_t)st.st_mtim.tv_nsec);
	}
	return hash;
}

uint64_t veil_watch_stamp(struct veil_watch *watch)
{
	struct pollfd mounts = { watch->mounts, POLLPRI, 0 };
	uint64_t hash = veil_stamp(watch->spaces);

	if (watch->mounts < 0 || (poll(&mounts, 1, 0) > 0 && mounts.revents))
		watch->aliases = stamp_aliases(watch->spaces);
	hash = hash_add(hash, watch->aliases);
	hash = hash_add(hash, stamp_git(watch->spaces->v[0].root));
	return hash_add(hash, privates_stamp(watch->privates));
}
