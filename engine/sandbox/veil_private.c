/* SPDX-License-Identifier: MIT */
/*
 * Files of the project that hold secrets: `.env` and its kin, private keys. They are looked for
 * whenever a box is made; an inotify descriptor tells when a name of that sort, or a directory, has
 * come since: then they are looked for again, and boxes that show one of them are not used any more.
 * Called by workers. No lock: of two workers that look at once each finds what there is.
 */
#include "sandbox/sandbox_inner.h"

#include "clock.h"
#include "hash.h"
#include "scope.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>

/* So many directories are looked into, so deep, and so many files hidden: a mount each. */
#define PRIVATE_DIRS 1024
#define PRIVATE_DEPTH 8
#define PRIVATE_FILES 256
/* The first line of a key stands behind some remarks at most. */
#define PRIVATE_HEAD 4096
/* Without the kernel's word they are looked for so often. */
#define PRIVATE_BLIND_MS 1000
#define PRIVATE_EVENTS (IN_CREATE | IN_MOVED_TO | IN_CLOSE_WRITE | IN_ONLYDIR | IN_DONT_FOLLOW)

struct privates {
	char *project;
	int inotify; /* -1: they are looked for again after a second */
	_Atomic bool blind; /* the kernel watches no more directories: the same */
	_Atomic uint64_t stamp; /* of what was found last */
	_Atomic int64_t looked_ms;
};

struct privates *privates_open(const char *project, bool watch)
{
	struct privates *privates = calloc(1, sizeof(*privates));

	if (!privates)
		return NULL;
	privates->inotify = watch ? inotify_init1(IN_CLOEXEC | IN_NONBLOCK) : -1;
	privates->blind = privates->inotify < 0;
	privates->project = strdup(project);
	if (privates->project)
		return privates;
	privates_close(privates);
	return NULL;
}

void privates_close(struct privates *privates)
{
	if (!privates)
		return;
	if (privates->inotify >= 0)
		close(privates->inotify);
	free(privates->project);
	free(privates);
}

static bool matches_one(const char *name, const char *const *patterns)
{
	for (; *patterns; patterns++)
		if (fnmatch(*patterns, name, 0) == 0)
			return true;
	return false;
}

enum private_sort { PRIVATE_NONE, PRIVATE_NAME, PRIVATE_TEXT };

/* Is it private by its name, or if its text says so? Examples are to be read. */
static enum private_sort private_sort_of(const char *name)
{
	static const char *const shown[] = { "*.example",  "*.sample", "*.template", "*.dist",
					     "*.defaults", "*.pub",    NULL };
	static const char *const named[] = { ".env",   ".env.*",     ".env-*", ".env_*", ".envrc",
					     "*.env",  "*.p12",	     "*.pfx",  "*.jks",	 "*.ppk",
					     "*.kdbx", "*.keystore", ".netrc", NULL };
	static const char *const texts[] = { "*.pem", "*.key", "id_*", NULL };

	if (matches_one(name, shown))
		return PRIVATE_NONE;
	if (matches_one(name, named))
		return PRIVATE_NAME;
	return matches_one(name, texts) ? PRIVATE_TEXT : PRIVATE_NONE;
}

/* Where no secrets are kept, and what would take long. */
static bool private_skips(const char *name)
{
	static const char *const names[] = { ".",	    "..",    ".git", ".ai", "node_modules",
					     "__pycache__", ".venv", "venv", NULL };

	return matches_one(name, names);
}

static bool is_key_text(int dir, const char *name)
{
	auto_close int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	char head[PRIVATE_HEAD];
	struct stat st;
	ssize_t n = fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode) ? 0 :
								       read(fd, head, sizeof(head));
	static const char key[] = "PRIVATE KEY-----";

	return n > 0 && memmem(head, (size_t)n, key, sizeof(key) - 1);
}

static bool is_private(int dir, const struct dirent *entry)
{
	enum private_sort sort = private_sort_of(entry->d_name);
	struct stat st;

	if (sort == PRIVATE_NONE || fstatat(dir, entry->d_name, &st, 0) || !S_ISREG(st.st_mode))
		return false;
	return sort == PRIVATE_NAME || is_key_text(dir, entry->d_name);
}

struct private_walk {
	struct privates *privates;
	struct veil_rows *rows;
	size_t found;
	char *dirs[PRIVATE_DIRS]; /* below the project, "" itself first */
	int depth[PRIVATE_DIRS];
	size_t n;
};

/* Takes over path. */
static void walk_later(struct private_walk *walk, char *path, int depth)
{
	if (!path) {
		walk->rows->failed = true;
		return;
	}
	walk->depth[walk->n] = depth;
	walk->dirs[walk->n++] = path;
}

static bool is_directory(int dir, const struct dirent *entry)
{
	struct stat st;

	return entry->d_type == DT_DIR ||
	       (entry->d_type == DT_UNKNOWN &&
		fstatat(dir, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode));
}

static void walk_entry(struct private_walk *walk, int dir, size_t at, const struct dirent *entry)
{
	const char *base = walk->dirs[at];
	auto_free char *path = NULL;

	if (asprintf(&path, "%s%s%s", base, *base ? "/" : "", entry->d_name) < 0) {
		walk->rows->failed = true;
		return;
	}
	if (is_directory(dir, entry)) {
		if (!private_skips(entry->d_name) && walk->n < PRIVATE_DIRS &&
		    walk->depth[at] < PRIVATE_DEPTH)
			walk_later(walk, steal(&path), walk->depth[at] + 1);
	} else if (walk->found < PRIVATE_FILES && is_private(dir, entry)) {
		veil_rows_below(walk->rows, VEIL_HIDE, walk->privates->project, path);
		walk->found++;
	}
}

/* Other file systems are not gone into: one may be ours, or a dead server's. */
static int private_walk_open(struct private_walk *walk, int root, const char *path)
{
	const struct open_how how = { .flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC,
				      .resolve = RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS };
	char proc[40];
	int fd = (int)syscall(SYS_openat2, root, *path ? path : ".", &how, sizeof(how));

	/* before it is read: what comes from now on is told */
	snprintf(proc, sizeof(proc), "/proc/self/fd/%d/.", fd);
	if (fd >= 0 && !walk->privates->blind &&
	    inotify_add_watch(walk->privates->inotify, proc, PRIVATE_EVENTS) < 0)
		walk->privates->blind = true;
	return fd;
}

static void private_walk_dir(struct private_walk *walk, int root, size_t at)
{
	int fd = private_walk_open(walk, root, walk->dirs[at]);
	auto_dir DIR *list = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	if (fd >= 0 && !list)
		close(fd);
	while (list && !walk->rows->failed && (entry = readdir(list)))
		walk_entry(walk, fd, at, entry);
}

void privates_rows(struct privates *privates, struct veil_rows *rows)
{
	auto_close int root = open(privates->project, O_PATH | O_DIRECTORY | O_CLOEXEC);
	auto_free struct private_walk *walk = calloc(1, sizeof(*walk));

	if (!walk) {
		rows->failed = true;
		return;
	}
	walk->privates = privates;
	walk->rows = rows;
	walk_later(walk, strdup(""), 0);
	for (size_t i = 0; root >= 0 && i < walk->n && !rows->failed; i++)
		private_walk_dir(walk, root, i);
	for (size_t i = 0; i < walk->n; i++)
		free(walk->dirs[i]);
}

static bool has_come(const struct inotify_event *event)
{
	if (event->mask & IN_Q_OVERFLOW)
		return true;
	if (!event->len)
		return false;
	if (event->mask & IN_ISDIR)
		return !private_skips(event->name);
	return private_sort_of(event->name) != PRIVATE_NONE;
}

/* True: something came since it was asked last. */
static bool privates_moved(struct privates *privates)
{
	_Alignas(struct inotify_event) char text[4096];
	bool come = false;
	ssize_t n;

	if (privates->blind)
		return clock_ms() - privates->looked_ms >= PRIVATE_BLIND_MS;
	while ((n = read(privates->inotify, text, sizeof(text))) > 0) {
		for (char *at = text; at < text + n;) {
			const struct inotify_event *event = (const void *)at;

			come |= has_come(event);
			at += sizeof(*event) + event->len;
		}
	}
	return come || !privates->looked_ms;
}

uint64_t privates_stamp(struct privates *privates)
{
	__attribute__((cleanup(veil_rows_done))) struct veil_rows rows = { 0 };
	uint64_t hash = HASH_BASIS;
	struct stat st;

	if (!privates_moved(privates))
		return privates->stamp;
	privates->looked_ms = clock_ms();
	privates_rows(privates, &rows);
	for (size_t i = 0; i < rows.n; i++) {
		hash = hash_text(hash, rows.v[i].path);
		if (stat(rows.v[i].path, &st) == 0)
			hash = hash_add(hash, st.st_ino);
	}
	return privates->stamp = hash;
}
