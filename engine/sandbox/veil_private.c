/* SPDX-License-Identifier: MIT */
/*
 * Files of the project that hold secrets: `.env` and its kin, private keys. They are looked for when
 * a box is made; an inotify descriptor tells when a name of that sort, or a directory, has come since:
 * then they are looked for again, and boxes that show one of them are not used any more. What cannot
 * be looked into is hidden as a whole, and where there are more than can be hidden there is no box.
 * No process in a box can rename a directory above one of them: a run cannot carry it to where none
 * is looked for, and a later one read it there.
 * Called by workers. Lock: privates->lock, for what was found last; the looking is done without.
 */
#include "sandbox/sandbox_inner.h"

#include "clock.h"
#include "hash.h"
#include "scope.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <time.h>

/* Directories that lie deeper are hidden. */
#define PRIVATE_DEPTH 64
/* The first line of a key stands behind some remarks at most. */
#define PRIVATE_HEAD 4096
/* Without the kernel's word they are looked for so often. */
#define PRIVATE_BLIND_MS 1000
/*
 * One call asks several times, for a warm interpreter, for its box, for another way to start. That there
 * are too many is believed for as long as it took to find out, but no longer than this: a person may have
 * removed some.
 */
#define PRIVATE_TOO_MANY_MS 1000
#define PRIVATE_EVENTS (IN_CREATE | IN_MOVED_TO | IN_CLOSE_WRITE | IN_ONLYDIR | IN_DONT_FOLLOW)

struct privates {
	char *project;
	int inotify; /* -1: they are looked for again after a second */
	_Atomic bool blind; /* the kernel watches no more directories: the same */
	_Atomic uint64_t come; /* how often it told that one may have come */
	pthread_mutex_t lock; /* of all below */
	struct veil_rows found, gits;
	bool known; /* they were found, all of them or too many */
	struct veil_rows first; /* repositories that were there when they were looked for first */
	bool began; /* that was done */
	uint64_t stamp, seen; /* of them; `come` before they were looked for */
	int64_t looked_ms;
	bool many_gits; /* there are more than can be kept as they are */
	bool many; /* there are more than can be hidden … */
	int64_t many_until_ms; /* … which is believed until then */
};

struct privates *privates_open(const char *project, bool watch)
{
	struct privates *privates = calloc(1, sizeof(*privates));

	if (!privates)
		return NULL;
	pthread_mutex_init(&privates->lock, NULL);
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
	veil_rows_done(&privates->found);
	veil_rows_done(&privates->gits);
	veil_rows_done(&privates->first);
	pthread_mutex_destroy(&privates->lock);
	free(privates->project);
	free(privates);
}

/* A pattern has one star, at its beginning or its end, or none. */
static bool matches(const char *name, size_t len, const char *pattern)
{
	size_t n = strlen(pattern);

	if (*pattern == '*')
		return len >= n - 1 && !memcmp(name + len - (n - 1), pattern + 1, n - 1);
	if (pattern[n - 1] == '*')
		return !strncmp(name, pattern, n - 1);
	return !strcmp(name, pattern);
}

static bool matches_one(const char *name, const char *const *patterns)
{
	size_t len = strlen(name);

	for (; *patterns; patterns++)
		if (matches(name, len, *patterns))
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

	enum private_sort sort = matches_one(name, named) ? PRIVATE_NAME :
				 matches_one(name, texts) ? PRIVATE_TEXT :
							    PRIVATE_NONE;

	return sort && matches_one(name, shown) ? PRIVATE_NONE : sort;
}

/* Where no secrets are kept, and what would take long. */
static bool private_skips(const char *name)
{
	static const char *const names[] = { ".",	    "..",    ".git", ".ai", "node_modules",
					     "__pycache__", ".venv", "venv", NULL };

	return matches_one(name, names);
}

/* Its owner can make one readable that cannot be read now. */
static bool is_key_text(int dir, const char *name)
{
	auto_close int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	char head[PRIVATE_HEAD];
	struct stat st;
	ssize_t n = fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode) ? 0 :
								       read(fd, head, sizeof(head));
	static const char key[] = "PRIVATE KEY-----";

	if (fd < 0)
		return errno != ENOENT && errno != ELOOP;
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

struct private_dir {
	char *path; /* below the project; of the first one "" */
	size_t above; /* the one that it lies in */
	int depth;
	bool holds; /* something below it is hidden */
};

struct private_walk {
	struct privates *privates;
	struct veil_rows rows, gits;
	bool many, many_gits; /* not all are in them */
	struct private_dir *dirs;
	size_t n, size;
};

static void private_walk_done(struct private_walk *walk)
{
	for (size_t i = 0; i < walk->n; i++)
		free(walk->dirs[i].path);
	free(walk->dirs);
	veil_rows_done(&walk->rows);
	veil_rows_done(&walk->gits);
}

/* Takes over path. */
static void walk_later(struct private_walk *walk, char *path, size_t above)
{
	walk->many |= walk->n == PRIVATE_DIRS;
	if (path && walk->n == walk->size && !walk->many) {
		size_t size = walk->size ? walk->size * 2 : 256;
		struct private_dir *dirs = realloc(walk->dirs, size * sizeof(*dirs));

		walk->dirs = dirs ? dirs : walk->dirs;
		walk->size = dirs ? size : walk->size;
	}
	if (!path || (walk->n == walk->size && !walk->many))
		veil_rows_fail(&walk->rows, ENOMEM);
	if (walk->rows.failed || walk->n == PRIVATE_DIRS) {
		free(path);
		return;
	}
	walk->dirs[walk->n] =
		(struct private_dir){ .path = path,
				      .above = above,
				      .depth = walk->n ? walk->dirs[above].depth + 1 : 0 };
	walk->n++;
}

/* What lies in the directory `in`, or that one itself. */
static void walk_hide(struct private_walk *walk, size_t in, const char *path)
{
	if (walk->rows.n == PRIVATE_FILES) {
		walk->many = true;
		return;
	}
	veil_rows_below(&walk->rows, VEIL_HIDE, walk->privates->project, path);
	for (size_t i = in; i && !walk->dirs[i].holds; i = walk->dirs[i].above)
		walk->dirs[i].holds = true;
}

/* Those further up come first: each is a mount of its own in what is mounted already. */
static void walk_anchor(struct private_walk *walk)
{
	for (size_t i = 1; i < walk->n; i++)
		if (walk->dirs[i].holds)
			veil_rows_below(&walk->rows, VEIL_ANCHOR, walk->privates->project,
					walk->dirs[i].path);
}

static bool is_directory(int dir, const struct dirent *entry)
{
	struct stat st;

	return entry->d_type == DT_DIR ||
	       (entry->d_type == DT_UNKNOWN &&
		fstatat(dir, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode));
}

/* ---- repositories below the project's own ---- */

#define GIT_NAME ".git"

/*
 * A file leads to a submodule or a work tree, which `git status` above goes into. A directory that came later is
 * a tool's to make and to remove; one that was there is a person's.
 */
static bool git_counts(struct privates *privates, const char *path, bool below)
{
	GUARD(&privates->lock);
	return !below || !privates->began || veil_rows_has(&privates->first, VEIL_FREEZE, path);
}

static void walk_git(struct private_walk *walk, int dir, size_t at, const struct dirent *entry)
{
	bool below = is_directory(dir, entry);
	auto_free char *path = NULL;
	struct stat st;

	if (!below && (fstatat(dir, GIT_NAME, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode)))
		return;
	if (asprintf(&path, "%s/" GIT_NAME, walk->dirs[at].path) < 0) {
		veil_rows_fail(&walk->rows, ENOMEM);
		return;
	}
	if (!git_counts(walk->privates, path, below))
		return;
	if (walk->gits.n == PRIVATE_GITS) {
		walk->many_gits = true;
		return;
	}
	veil_rows_add(&walk->gits, VEIL_FREEZE, path);
	if (walk->gits.failed)
		veil_rows_fail(&walk->rows, ENOMEM);
}

static void walk_entry(struct private_walk *walk, int dir, size_t at, const struct dirent *entry)
{
	const char *base = walk->dirs[at].path;
	bool below = is_directory(dir, entry);
	auto_free char *path = NULL;

	if (*base && !strcmp(entry->d_name, GIT_NAME))
		walk_git(walk, dir, at, entry);
	if (below ? private_skips(entry->d_name) : !is_private(dir, entry))
		return;
	if (asprintf(&path, "%s%s%s", base, *base ? "/" : "", entry->d_name) < 0)
		veil_rows_fail(&walk->rows, ENOMEM);
	else if (below && walk->dirs[at].depth < PRIVATE_DEPTH)
		walk_later(walk, steal(&path), at);
	else
		walk_hide(walk, at, path);
}

/*
 * Other file systems are not gone into: one may be ours, or a dead server's. -1: it is none of ours, or
 * hidden: its owner, a tool that may write, can make it readable again.
 */
static int private_walk_open(struct private_walk *walk, int root, size_t at)
{
	const struct open_how how = { .flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC,
				      .resolve = RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS };
	const struct private_dir *dir = &walk->dirs[at];
	auto_close int fd =
		(int)syscall(SYS_openat2, root, at ? dir->path : ".", &how, sizeof(how));
	int sys = fd < 0 || faccessat(fd, ".", X_OK, 0) ? errno : 0;

	if (sys == EACCES || sys == EPERM || sys == ENAMETOOLONG)
		walk_hide(walk, dir->above, dir->path);
	else if (sys && sys != ENOENT && sys != ENOTDIR && sys != ELOOP && sys != EXDEV)
		veil_rows_fail(&walk->rows, sys);
	return sys ? -1 : steal_fd(&fd);
}

static void private_walk_dir(struct private_walk *walk, int root, size_t at)
{
	int fd = private_walk_open(walk, root, at);
	auto_dir DIR *list = NULL;
	struct dirent *entry;
	char proc[40];

	if (fd < 0)
		return;
	/* before it is read: what comes from now on is told */
	snprintf(proc, sizeof(proc), "/proc/self/fd/%d/.", fd);
	if (!walk->privates->blind &&
	    inotify_add_watch(walk->privates->inotify, proc, PRIVATE_EVENTS) < 0)
		walk->privates->blind = true;
	list = fdopendir(fd);
	if (!list) {
		veil_rows_fail(&walk->rows, errno);
		close(fd);
	}
	while (list && !walk->rows.failed && (entry = readdir(list)))
		walk_entry(walk, fd, at, entry);
}

static uint64_t stamp_of(const struct private_walk *walk)
{
	const struct veil_rows *rows = &walk->rows;
	uint64_t hash = HASH_BASIS;
	struct stat st;

	for (size_t i = 0; i < rows->n; i++) {
		if (rows->v[i].how != VEIL_HIDE)
			continue;
		hash = hash_text(hash, rows->v[i].path);
		if (stat(rows->v[i].path, &st) == 0)
			hash = hash_add(hash, st.st_ino);
	}
	for (size_t i = 0; i < walk->gits.n; i++)
		hash = hash_text(hash, walk->gits.v[i].path);
	return hash;
}

static bool has_come(const struct inotify_event *event)
{
	if (event->mask & IN_Q_OVERFLOW)
		return true;
	if (!event->len)
		return false;
	if (event->mask & IN_ISDIR)
		return !private_skips(event->name);
	return private_sort_of(event->name) != PRIVATE_NONE || !strcmp(event->name, GIT_NAME);
}

/* Asks the kernel what has come. */
static void privates_hear(struct privates *privates)
{
	_Alignas(struct inotify_event) char text[4096];
	bool come = false;
	ssize_t n;

	while ((n = read(privates->inotify, text, sizeof(text))) > 0) {
		for (char *at = text; at < text + n;) {
			const struct inotify_event *event = (const void *)at;

			come |= has_come(event);
			at += sizeof(*event) + event->len;
		}
	}
	if (come)
		privates->come++;
}

static bool privates_known(struct privates *privates)
{
	GUARD(&privates->lock);
	if (privates->known && privates->many)
		return clock_ms() < privates->many_until_ms;
	if (!privates->known || privates->blind)
		return privates->known && clock_ms() - privates->looked_ms < PRIVATE_BLIND_MS;
	return privates->seen == privates->come;
}

/* How long it took. */
static int64_t privates_walk(struct privates *privates, struct private_walk *walk)
{
	auto_close int root = open(privates->project, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int64_t began_ms = clock_own_us() / 1000; /* other programs do not make it longer */

	walk_later(walk, strdup(""), 0);
	for (size_t i = 0; root >= 0 && i < walk->n && !walk->rows.failed; i++)
		private_walk_dir(walk, root, i);
	walk_anchor(walk);
	return clock_own_us() / 1000 - began_ms;
}

static void rows_swap(struct veil_rows *a, struct veil_rows *b)
{
	struct veil_rows was = *a;

	*a = *b;
	*b = was;
}

/* Lock held. */
static void privates_began(struct privates *privates)
{
	const struct veil_rows *gits = &privates->gits;

	for (size_t i = 0; i < gits->n && !privates->began; i++)
		veil_rows_add(&privates->first, VEIL_FREEZE, gits->v[i].path);
	privates->began = true;
}

/* Finds them, unless nothing has come. 0, or why it cannot. */
static int privates_look(struct privates *privates)
{
	__attribute__((cleanup(private_walk_done))) struct private_walk walk = { privates };
	int64_t now = clock_ms(), took_ms;
	uint64_t come, stamp;

	privates_hear(privates);
	if (privates_known(privates))
		return 0;
	come = privates->come;
	took_ms = privates_walk(privates, &walk);
	if (walk.rows.failed)
		return walk.rows.sys;
	stamp = stamp_of(&walk);
	GUARD(&privates->lock);
	if (privates->known && come < privates->seen)
		return 0;
	rows_swap(&privates->found, &walk.rows);
	rows_swap(&privates->gits, &walk.gits);
	privates_began(privates);
	privates->known = true;
	privates->many = walk.many;
	privates->many_gits = walk.many_gits;
	privates->many_until_ms = clock_ms() + MIN_OF(took_ms, PRIVATE_TOO_MANY_MS);
	privates->stamp = stamp;
	privates->seen = come;
	privates->looked_ms = now;
	return 0;
}

/* What was found of both sorts; gits: the caller's. */
static void privates_take(struct privates *privates, const struct veil_want *want, bool hides,
			  struct veil_rows *rows, struct veil_rows *gits)
{
	GUARD(&privates->lock);
	if (hides && privates->many)
		veil_rows_fail(rows, E2BIG);
	for (size_t i = 0; hides && i < privates->found.n && !rows->failed; i++) {
		const struct veil_row *row = &privates->found.v[i];

		if (want->write || row->how == VEIL_HIDE)
			veil_rows_add(rows, row->how, row->path);
	}
	if (privates->many_gits)
		veil_rows_fail(gits, VEIL_GITS);
	for (size_t i = 0; i < privates->gits.n; i++)
		veil_rows_add(gits, VEIL_FREEZE, privates->gits.v[i].path);
}

void privates_rows(struct privates *privates, const struct veil_want *want, struct veil_rows *rows)
{
	__attribute__((cleanup(veil_rows_done))) struct veil_rows found = { 0 };
	bool hides = !(want->shown & SHOW_ENV), gits = want->write && !(want->shown & SHOW_GIT);
	int sys = hides || gits ? privates_look(privates) : 0;

	if (sys)
		veil_rows_fail(rows, sys);
	privates_take(privates, want, hides, rows, &found);
	if (gits && found.failed)
		veil_rows_fail(rows, found.sys ? found.sys : ENOMEM);
	for (size_t i = 0; gits && i < found.n && !rows->failed; i++)
		veil_rows_git(rows, privates->project, found.v[i].path);
}

uint64_t privates_stamp(struct privates *privates)
{
	int sys = privates_look(privates);

	GUARD(&privates->lock);
	return sys || privates->many ? 0 : privates->stamp;
}
