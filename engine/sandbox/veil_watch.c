/* SPDX-License-Identifier: MIT */
/*
 * When boxes of before are no longer to be used: a directory that is veiled came, went or was
 * replaced, a mount shows one of them in another place, a private file of the project came. Called
 * by the worker that takes a box, and by the pools' thread. Two that look at once find the same.
 * Lock: watch->lock, for what names were when they were looked at last.
 */
#include "sandbox/sandbox_inner.h"

#include "base/io.h"
#include "hash.h"
#include "scope.h"
#include "space/space.h"

#include <fcntl.h>
#include <poll.h>
#include <time.h>

/* Names of a directory, as they were while its stat was `dir`. */
struct veil_seen {
	struct stat dir;
	struct veil_names names;
	uint64_t changes; /* the watch's, before they were looked at */
	bool known;
};

struct veil_watch {
	const struct spaces *spaces;
	struct privates *privates;
	int mounts; /* the kernel's list: readable with priority once it has changed; -1: none */
	_Atomic uint64_t aliases;
	pthread_mutex_t lock; /* seen, changes */
	struct veil_seen *seen; /* one for each space, and one for git's */
	uint64_t changes; /* of mounts that were heard of */
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
	pthread_mutex_init(&watch->lock, NULL);
	watch->spaces = spaces;
	watch->seen = calloc(spaces->n + 1, sizeof(*watch->seen));
	watch->mounts = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	watch->aliases = stamp_aliases(spaces);
	watch->privates = privates_open(spaces->v[0].root, lasting);
	if (watch->privates && watch->seen)
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
	pthread_mutex_destroy(&watch->lock);
	free(watch->seen);
	free(watch);
}

struct privates *veil_watch_privates(const struct veil_watch *watch)
{
	return watch->privates;
}

const struct spaces *veil_watch_spaces(const struct veil_watch *watch)
{
	return watch->spaces;
}

uint64_t veil_identity(const struct stat *st)
{
	return st->st_dev * 0x9e3779b97f4a7c15ull ^ st->st_ino;
}

/* ---- names of a directory ---- */

static bool seen_recall(struct veil_watch *watch, size_t slot, struct veil_seen *seen)
{
	GUARD(&watch->lock);
	const struct veil_seen *last = &watch->seen[slot];

	seen->changes = watch->changes;
	if (!last->known || !stat_same(&last->dir, &seen->dir))
		return false;
	seen->names = last->names;
	return true;
}

static void seen_keep(struct veil_watch *watch, size_t slot, const struct veil_seen *seen)
{
	GUARD(&watch->lock);
	if (seen->changes == watch->changes)
		watch->seen[slot] = *seen;
}

/* What is mounted over a name leaves the directory as it is. */
static void seen_forget(struct veil_watch *watch)
{
	GUARD(&watch->lock);
	watch->changes++;
	for (size_t i = 0; i <= watch->spaces->n; i++)
		watch->seen[i].known = false;
}

/* A link leads where the directory tells nothing of. */
static void look_at_name(const char *dir, const char *name, unsigned bit, struct veil_seen *seen)
{
	char path[4096];
	struct stat st;
	bool there;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	there = !lstat(path, &st);
	if (there && S_ISLNK(st.st_mode)) {
		seen->known = false;
		there = !stat(path, &st);
	}
	if (there)
		seen->names.there |= bit;
	seen->names.hash = hash_add(seen->names.hash, there ? veil_identity(&st) : 0);
}

static bool tells_changes(const char *dir)
{
	auto_close int fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);

	return fd >= 0 && !io_is_remote(fd);
}

void veil_watch_names(struct veil_watch *watch, size_t slot, const char *dir,
		      const char *const *names, struct veil_names *ret)
{
	struct veil_seen seen = { .known = true };
	struct timespec now;
	bool settled;

	*ret = (struct veil_names){ .hash = 0 };
	if (stat(dir, &seen.dir) < 0)
		return;
	seen.names.hash = veil_identity(&seen.dir);
	if (S_ISDIR(seen.dir.st_mode) && !seen_recall(watch, slot, &seen)) {
		/* before they are looked at: what comes from now on shows in its times */
		clock_gettime(CLOCK_REALTIME, &now);
		settled = stat_settled(&seen.dir, &now);
		for (size_t i = 0; names[i]; i++)
			look_at_name(dir, names[i], 1u << i, &seen);
		if (settled && seen.known && tells_changes(dir))
			seen_keep(watch, slot, &seen);
	}
	*ret = seen.names;
}

/* ---- what all of it comes to ---- */

/*
 * What git is read from: `git config` replaces the file, and the mount over it goes with the old. Of
 * submodules and work trees, what lies in their directories counts.
 */
static uint64_t stamp_git(struct veil_watch *watch)
{
	static const char *const names[] = { "modules", "worktrees",	   "config",
					     "hooks",	"config.worktree", NULL };
	const char *project = watch->spaces->v[0].root;
	struct veil_names found;
	uint64_t hash;
	char path[4096];
	struct stat st;

	snprintf(path, sizeof(path), "%s/.git", project);
	veil_watch_names(watch, watch->spaces->n, path, names, &found);
	hash = found.hash;
	for (size_t i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/.git/%s", project, names[i]);
		if (!(found.there >> i & 1) || stat(path, &st) < 0)
			continue;
		hash = hash_add(hash, (uint64_t)st.st_mtim.tv_sec * 1000000000u +
					      (uint64_t)st.st_mtim.tv_nsec);
	}
	return hash;
}

/* Before all else: it tells of mounts over what was seen. */
static void hear_mounts(struct veil_watch *watch)
{
	struct pollfd mounts = { watch->mounts, POLLPRI, 0 };

	if (watch->mounts >= 0 && (poll(&mounts, 1, 0) <= 0 || !mounts.revents))
		return;
	seen_forget(watch);
	watch->aliases = stamp_aliases(watch->spaces);
}

uint64_t veil_watch_places(struct veil_watch *watch)
{
	hear_mounts(watch);
	return veil_stamp(watch);
}

uint64_t veil_watch_stamp(struct veil_watch *watch)
{
	uint64_t hash = veil_watch_places(watch);

	hash = hash_add(hash, watch->aliases);
	hash = hash_add(hash, stamp_git(watch));
	return hash_add(hash, privates_stamp(watch->privates));
}
