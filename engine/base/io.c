/* SPDX-License-Identifier: MIT */
/*
 * System calls the engine makes on user files. Everything resolves beneath a root descriptor:
 * an id, a link or a path from JSON can never name a file outside its space. No lock is held
 * here and none may be held by callers (docs/locks.md).
 */
#include "base/io.h"

#include "mountinfo.h"
#include "scope.h"
#include "str.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

/* FUSE_SUPER_MAGIC of <linux/magic.h>. */
#define FUSE_MAGIC 0x65735546
/* Nanoseconds after which a file's times tell apart any two versions of it … */
#define SETTLED_NS 100000000LL
/* … and on file systems that count whole seconds, of which FAT knows every other one. */
#define SETTLED_WHOLE_NS 3000000000LL

/* ---- openat2 where it is not to be had: in a tool's sandbox, whose filter cannot see modes ---- */

/* Directories between the root and a file, links on the way: the kernel's own number of these. */
#define RESOLVE_DEPTH 128
#define RESOLVE_LINKS 40

/* A walk name by name, each by the descriptor of the one before: what is renamed meanwhile leads
 * nowhere else. */
struct path_walk {
	const struct open_how *how;
	int at[RESOLVE_DEPTH]; /* at[0]: the root */
	size_t n;
	char left[2 * PATH_MAX]; /* of the path */
	int links;
	uint64_t mount;
};

static void path_walk_done(struct path_walk *walk)
{
	while (walk->n)
		close(walk->at[--walk->n]);
}

static int mount_of_fd(int fd, uint64_t *ret)
{
	struct statx st;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &st) < 0)
		return -errno;
	*ret = st.stx_mnt_id;
	return 0;
}

static int resolve_up(struct path_walk *walk)
{
	if (walk->n > 1)
		close(walk->at[--walk->n]);
	else if (walk->how->resolve & RESOLVE_BENEATH)
		return -EXDEV;
	return 0;
}

/* What a link says stands before what is left. */
static int resolve_link(struct path_walk *walk, int link)
{
	char text[PATH_MAX], rest[sizeof(walk->left)];
	ssize_t n = readlinkat(link, "", text, sizeof(text) - 1);

	if (walk->how->resolve & RESOLVE_NO_SYMLINKS || ++walk->links > RESOLVE_LINKS)
		return -ELOOP;
	if (n < 0)
		return -errno;
	text[n] = 0;
	if (text[0] == '/' && walk->how->resolve & RESOLVE_BENEATH)
		return -EXDEV;
	while (text[0] == '/' && walk->n > 1)
		close(walk->at[--walk->n]);
	memcpy(rest, walk->left, sizeof(rest));
	if (snprintf(walk->left, sizeof(walk->left), "%s%s", text, rest) >= (int)sizeof(walk->left))
		return -ENAMETOOLONG;
	return 0;
}

static int resolve_final(const struct path_walk *walk, const char *name)
{
	int fd = openat(walk->at[walk->n - 1], name, (int)walk->how->flags | O_NOFOLLOW | O_CLOEXEC,
			(mode_t)walk->how->mode);

	return fd < 0 ? -errno : fd;
}

/* One name, which is no dots. 1: *ret is what was asked for; 0: on with what is left. */
static int resolve_name(struct path_walk *walk, const char *name, int *ret)
{
	bool last = !walk->left[strspn(walk->left, "/")], slash = *walk->left == '/';
	auto_close int fd = openat(walk->at[walk->n - 1], name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	uint64_t mount = walk->mount;
	struct stat st;
	int r = 0;

	if (fd < 0 && errno == ENOENT && last && !slash && walk->how->flags & O_CREAT) {
		*ret = resolve_final(walk, name);
		return 1;
	}
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (walk->how->resolve & RESOLVE_NO_XDEV)
		r = mount_of_fd(fd, &mount);
	if (r || mount != walk->mount)
		return r ? r : -EXDEV;
	if (S_ISLNK(st.st_mode) && (!last || slash || !(walk->how->flags & O_NOFOLLOW)))
		return resolve_link(walk, fd);
	if (last && !slash) {
		*ret = resolve_final(walk, name);
		return 1;
	}
	if (!S_ISDIR(st.st_mode))
		return -ENOTDIR;
	if (walk->n == RESOLVE_DEPTH)
		return -ENAMETOOLONG;
	walk->at[walk->n++] = steal_fd(&fd);
	return 0;
}

static int resolve_walk(struct path_walk *walk, int *ret)
{
	int r = 0;

	while (!r && walk->left[strspn(walk->left, "/")]) {
		char *name = walk->left + strspn(walk->left, "/"), one[NAME_MAX + 1];
		size_t n = strcspn(name, "/");

		if (n > NAME_MAX)
			return -ENAMETOOLONG;
		memcpy(one, name, n);
		one[n] = 0;
		memmove(walk->left, name + n, strlen(name + n) + 1);
		if (!strcmp(one, ".."))
			r = resolve_up(walk);
		else if (strcmp(one, ".") != 0)
			r = resolve_name(walk, one, ret);
	}
	if (!r)
		*ret = resolve_final(walk, ".");
	return r < 0 ? r : 0;
}

int io_resolve(int root, const char *path, const struct open_how *how)
{
	__attribute__((cleanup(path_walk_done))) struct path_walk walk = { .how = how };
	bool whole = *path == '/';
	int fd = -1, r;

	if (whole && how->resolve & RESOLVE_BENEATH)
		return -EXDEV;
	if (!*path)
		return -ENOENT;
	if (strlen(path) >= PATH_MAX)
		return -ENAMETOOLONG;
	memcpy(walk.left, path, strlen(path) + 1);
	walk.at[0] = openat(root, whole ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (walk.at[0] < 0)
		return -errno;
	walk.n = 1;
	r = mount_of_fd(walk.at[0], &walk.mount);
	if (!r)
		r = resolve_walk(&walk, &fd);
	return r ? r : fd;
}

/* ---- opening ---- */

/* O_TMPFILE contains O_DIRECTORY: a mask test would take every directory for one. */
static bool opens_new(uint64_t flags)
{
	return (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE;
}

static int open_how(int root, const char *path, uint64_t flags, uint64_t resolve)
{
	struct open_how how = {
		.flags = flags | O_CLOEXEC | (flags & O_PATH ? 0 : O_NONBLOCK | O_NOCTTY),
		.mode = opens_new(flags) ? 0666 : 0,
		.resolve = resolve,
	};
	int fd;

	/* EAGAIN: a rename elsewhere raced the walk; the kernel asks to try again. */
	for (int i = 0; i < 32; i++) {
		fd = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
		if (fd >= 0 || errno != EAGAIN)
			break;
	}
	/* in the sandbox of a tool */
	if (fd < 0 && errno == ENOSYS)
		return io_resolve(root, path, &how);
	return fd >= 0 ? fd : -errno;
}

int io_open_beneath(int root, const char *path, uint64_t flags)
{
	return open_how(root, *path ? path : ".", flags,
			RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV);
}

int io_append_beneath(int root, const char *path)
{
	auto_close int fd = open_how(root, path, O_WRONLY | O_APPEND | O_CREAT,
				     RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV);
	struct stat st;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return -errno;
	return S_ISREG(st.st_mode) ? steal_fd(&fd) : -EINVAL;
}

struct dev_ask {
	dev_t dev;
	bool fuse;
};

static int note_dev(void *arg, const struct mountinfo *mount)
{
	struct dev_ask *ask = arg;

	if (mount->dev == ask->dev)
		ask->fuse = mountinfo_is_fuse(mount);
	return 0;
}

/* Is the mount with this st_dev a FUSE mount? Unknown counts as yes: never walk into one. */
static bool dev_is_fuse(dev_t dev)
{
	struct dev_ask ask = { dev, true };

	mountinfo_each(note_dev, &ask);
	return ask.fuse;
}

bool io_is_fuse(const char *path)
{
	struct statfs fs;

	return statfs(path, &fs) == 0 && fs.f_type == FUSE_MAGIC;
}

int io_open_mounted(int root, const char *path, uint64_t flags)
{
	auto_close int probe = -1;
	struct stat st;
	int fd = io_open_beneath(root, path, flags);

	if (fd != -EXDEV)
		return fd;
	/* O_PATH does not ask the file system itself: safe even on a mount of our own. */
	probe = open_how(root, path, O_PATH, RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS);
	if (probe < 0)
		return probe;
	if (fstat(probe, &st) < 0)
		return -errno;
	if (dev_is_fuse(st.st_dev))
		return -EXDEV;
	return open_how(root, path, flags, RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS);
}

/* "//", "/./", "/../", or one of them at the end. */
static bool is_spelt_oddly(const char *path)
{
	for (const char *at = strchr(path, '/'); at; at = strchr(at + 1, '/')) {
		size_t n = strcspn(at + 1, "/");

		if (!n || (n < 3 && strspn(at + 1, ".") >= n))
			return true;
	}
	return *path != '/';
}

char *io_real_path(const char *path)
{
	int fd = is_spelt_oddly(path) ? -EINVAL :
					open_how(AT_FDCWD, path, O_PATH, RESOLVE_NO_SYMLINKS);

	if (fd < 0)
		return realpath(path, NULL);
	close(fd);
	return strdup(path);
}

static int read_whole(int fd, size_t size, size_t max, struct rye_blob **ret)
{
	struct rye_blob *blob = rye_blob_new(NULL, size);
	size_t got = 0;

	if (!blob)
		return -ENOMEM;
	while (got < size) {
		ssize_t n = pread(fd, blob->data + got, size - got, (off_t)got);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		got += (size_t)n;
	}
	if (got < size || got > max) {
		rye_blob_unref(blob);
		return got > max ? -EFBIG : -EAGAIN;
	}
	*ret = blob;
	return 0;
}

static bool is_same_time(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

bool stat_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       is_same_time(&a->st_mtim, &b->st_mtim) && is_same_time(&a->st_ctim, &b->st_ctim);
}

bool stat_settled(const struct stat *st, const struct timespec *then)
{
	return (then->tv_sec - st->st_ctim.tv_sec) * 1000000000LL + then->tv_nsec -
		       st->st_ctim.tv_nsec >
	       (st->st_ctim.tv_nsec ? SETTLED_NS : SETTLED_WHOLE_NS);
}

bool io_is_remote(int fd)
{
	static const uint32_t remote[] = {
		0x6969 /* NFS */,	 0x65735546 /* FUSE */,	  0xff534d42 /* CIFS */,
		0xfe534d42 /* SMB2 */,	 0x517b /* SMB */,	  0x01021997 /* 9P */,
		0x00c36400 /* Ceph */,	 0x5346414f /* AFS */,	  0x6b414653 /* kAFS */,
		0x73757245 /* Coda */,	 0x0bd00bd0 /* Lustre */, 0x47504653 /* GPFS */,
		0x786f4256 /* vboxsf */,
	};
	struct statfs fs;

	if (fstatfs(fd, &fs) < 0)
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(remote); i++)
		if ((uint32_t)fs.f_type == remote[i])
			return true;
	return false;
}

int io_read_fd(int fd, size_t max, struct rye_blob **ret, struct stat *ret_st)
{
	struct stat before, after;
	struct rye_blob *blob = NULL;
	int r = -EAGAIN;

	for (int attempt = 0; attempt < 8 && r == -EAGAIN; attempt++) {
		if (fstat(fd, &before) < 0)
			return -errno;
		if (!S_ISREG(before.st_mode))
			return S_ISDIR(before.st_mode) ? -EISDIR : -EINVAL;
		if ((uint64_t)before.st_size > max)
			return -EFBIG;
		r = read_whole(fd, (size_t)before.st_size, max, &blob);
		if (r < 0)
			continue;
		if (fstat(fd, &after) < 0 || !stat_same(&before, &after)) {
			rye_blob_unref(blob);
			r = -EAGAIN;
		}
	}
	if (r < 0)
		return r;
	*ret = blob;
	if (ret_st)
		*ret_st = after;
	return 0;
}

int io_read_at(int root, const char *path, size_t max, struct rye_blob **ret)
{
	auto_close int fd = io_open_mounted(root, path, O_RDONLY);

	return fd < 0 ? fd : io_read_fd(fd, max, ret, NULL);
}

int io_write_all(int fd, const char *ptr, size_t len)
{
	while (len) {
		ssize_t n = write(fd, ptr, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		ptr += n;
		len -= (size_t)n;
	}
	return 0;
}

int io_mkdirs_at(int root, const char *path, mode_t mode)
{
	auto_free char *copy = strdup(path);
	auto_close int dir = dup(root);

	if (!copy || dir < 0)
		return copy ? -errno : -ENOMEM;
	for (char *save = NULL, *part = strtok_r(copy, "/", &save); part;
	     part = strtok_r(NULL, "/", &save)) {
		int next;

		if (mkdirat(dir, part, mode) < 0 && errno != EEXIST)
			return -errno;
		next = io_open_mounted(dir, part, O_RDONLY | O_DIRECTORY);
		if (next < 0)
			return next;
		close(dir);
		dir = next;
	}
	return 0;
}

int io_open_dir(const char *root, const char *path, bool create)
{
	auto_close int base = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int r;

	if (base < 0)
		return -errno;
	r = create ? io_mkdirs_at(base, path, 0700) : 0;
	return r < 0 ? r : io_open_mounted(base, path, O_RDONLY | O_DIRECTORY);
}

int io_cloexec(int fd)
{
	int flags = fcntl(fd, F_GETFD);

	return flags < 0 || fcntl(fd, F_SETFD, flags | FD_CLOEXEC) < 0 ? -errno : 0;
}

/*
 * Putting a file in another one's place, in one step, and telling what a process that was killed on
 * the way has left of that. The only lock is the one of the temporary file.
 */

#define TEMPORARY ".rye-%016llx.tmp"
#define TEMPORARY_LEN 25

/*
 * A temporary file, locked by its maker until it has its real name: one whose lock is free belongs to
 * a process that was killed (io_is_left). A process that looks just now may remove it before it is
 * locked; then another one is made.
 */
static int make_temporary(int dir, char name[TEMPORARY_LEN + 1])
{
	for (int i = 0; i < 8; i++) {
		auto_close int fd = -1;
		unsigned long long random = 0;
		struct stat st;

		if (getrandom(&random, sizeof(random), 0) < 0)
			return -errno;
		snprintf(name, TEMPORARY_LEN + 1, TEMPORARY, random);
		fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
		if (fd < 0)
			return -errno;
		/* a file system without locks goes without */
		while (flock(fd, LOCK_EX) < 0 && errno == EINTR)
			;
		if (fstat(fd, &st) == 0 && st.st_nlink)
			return steal_fd(&fd);
	}
	return -EAGAIN;
}

bool io_is_left(int dir, const char *name, bool drop)
{
	auto_close int fd = -1;
	struct stat st;

	if (strlen(name) != TEMPORARY_LEN || strncmp(name, ".rye-", 5) || !str_ends(name, ".tmp"))
		return false;
	fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
	    flock(fd, LOCK_EX | LOCK_NB) < 0)
		return false;
	return !drop || unlinkat(dir, name, 0) == 0;
}

enum put_how { PUT_REPLACE, PUT_BEFORE, PUT_ONCE, PUT_UNSYNCED };

static int fill_temporary(int fd, struct rye_span bytes, mode_t mode, enum put_how how)
{
	int r = io_write_all(fd, bytes.ptr, bytes.len);

	if (!r && fchmod(fd, mode & 07777) < 0)
		r = -errno;
	if (!r && how != PUT_UNSYNCED && fsync(fd) < 0)
		r = -errno;
	return r;
}

/* RENAME_NOREPLACE, also where the file system has none: its links do not replace either. */
static int name_once(int dir, const char *name, const char *leaf)
{
	if (renameat2(dir, name, dir, leaf, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -errno;
	if (linkat(dir, name, dir, leaf, 0) < 0)
		return -errno;
	unlinkat(dir, name, 0);
	return 0;
}

static int put_at(int dirfd, const char *path, struct rye_span bytes, mode_t mode, enum put_how how)
{
	const char *slash = strrchr(path, '/'), *leaf = slash ? slash + 1 : path;
	auto_free char *parent = strndup(path, slash ? (size_t)(slash - path) : 0);
	auto_close int dir = -1, fd = -1;
	char name[TEMPORARY_LEN + 1];
	int r;

	if (!parent)
		return -ENOMEM;
	dir = io_open_mounted(dirfd, parent, O_RDONLY | O_DIRECTORY);
	if (dir < 0)
		return dir;
	fd = make_temporary(dir, name);
	if (fd < 0)
		return fd;
	r = fill_temporary(fd, bytes, mode, how);
	if (!r && how == PUT_ONCE)
		r = name_once(dir, name, leaf);
	else if (!r && renameat(dir, name, dir, leaf) < 0)
		r = -errno;
	if (r)
		unlinkat(dir, name, 0);
	if (!r && how != PUT_UNSYNCED && how != PUT_BEFORE && fsync(dir) < 0 && errno != EINVAL)
		r = -errno;
	return r;
}

int io_replace_at(int dirfd, const char *path, struct rye_span bytes, mode_t mode)
{
	return put_at(dirfd, path, bytes, mode, PUT_REPLACE);
}

int io_replace_before_at(int dirfd, const char *path, struct rye_span bytes, mode_t mode)
{
	return put_at(dirfd, path, bytes, mode, PUT_BEFORE);
}

int io_remember_at(int dirfd, const char *path, struct rye_span bytes, mode_t mode)
{
	return put_at(dirfd, path, bytes, mode, PUT_UNSYNCED);
}

int io_create_at(int dirfd, const char *path, struct rye_span bytes, mode_t mode)
{
	return put_at(dirfd, path, bytes, mode, PUT_ONCE);
}

/* By descriptor: a link that takes the directory's place meanwhile is not followed. */
static int open_for_removal(int dirfd, const char *name)
{
	auto_close int at = openat(dirfd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	char path[40];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", at);
	if (at < 0 || chmod(path, 0700) < 0)
		return -1;
	return openat(at, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

void io_remove_tree(int dirfd, const char *name, int depth)
{
	auto_dir DIR *dir = NULL;
	struct dirent *entry;
	int fd;

	if (unlinkat(dirfd, name, 0) == 0 || (errno != EISDIR && errno != EPERM) || depth < 0)
		return;
	fd = open_for_removal(dirfd, name);
	dir = fd < 0 ? NULL : fdopendir(fd);
	while (dir && (entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			io_remove_tree(fd, entry->d_name, depth - 1);
	unlinkat(dirfd, name, AT_REMOVEDIR);
}

/* ---- marks ---- */

/* A plan stands on some twenty; what stands on more is rare, and made anew. */
#define MARKS_MAX 96

void marks_done(struct marks *marks)
{
	for (size_t i = 0; i < marks->n; i++)
		free(marks->v[i].path);
	free(marks->v);
	*marks = (struct marks){ .v = NULL };
}

void marks_unfit(struct marks *marks)
{
	if (!marks)
		return;
	marks_done(marks);
	marks->unfit = true;
}

static bool is_nothing(int sys)
{
	return sys == ENOENT || sys == ENOTDIR || sys == ENAMETOOLONG;
}

/* False: neither what lies there nor that nothing does can be told. */
static bool mark_look(struct io_mark *mark)
{
	auto_close int fd = openat(mark->root, mark->path,
				   O_PATH | O_CLOEXEC | (mark->follow ? 0 : O_NOFOLLOW));
	struct timespec now;

	mark->there = fd >= 0;
	memset(&mark->st, 0, sizeof(mark->st));
	if (fd < 0)
		return is_nothing(errno);
	clock_gettime(CLOCK_REALTIME, &now);
	return !fstat(fd, &mark->st) && !S_ISLNK(mark->st.st_mode) && !io_is_remote(fd) &&
	       stat_settled(&mark->st, &now);
}

/* Of a place where nothing lies: its first directory that is missing, which many may share. */
static void shorten_path(const struct io_mark *mark)
{
	for (char *at = mark->path; (at = strchr(at + 1, '/'));) {
		struct stat st;

		*at = '\0';
		if (fstatat(mark->root, mark->path, &st, 0) < 0 && errno == ENOENT)
			return;
		*at = '/';
	}
}

static bool is_same_place(const struct io_mark *a, const struct io_mark *b)
{
	return a->root == b->root && a->follow == b->follow && !strcmp(a->path, b->path);
}

static bool is_same_mark(const struct io_mark *a, const struct io_mark *b)
{
	return is_same_place(a, b) && a->there == b->there && stat_same(&a->st, &b->st);
}

/* Takes the path over. */
static void marks_put(struct marks *marks, struct io_mark *mark)
{
	auto_free char *path = mark->path;
	struct io_mark *more;

	for (size_t i = 0; i < marks->n; i++) {
		if (!is_same_place(&marks->v[i], mark))
			continue;
		if (!is_same_mark(&marks->v[i], mark))
			marks_unfit(marks);
		return;
	}
	more = marks->n < MARKS_MAX ? realloc(marks->v, (marks->n + 1) * sizeof(*more)) : NULL;
	if (!more) {
		marks_unfit(marks);
		return;
	}
	marks->v = more;
	more[marks->n] = *mark;
	more[marks->n++].path = steal(&path);
}

static void add_mark(struct marks *marks, struct io_mark *mark, const struct stat *is)
{
	if (!mark->path || !mark_look(mark) ||
	    (is && (!mark->there || !stat_same(&mark->st, is)))) {
		free(mark->path);
		marks_unfit(marks);
		return;
	}
	if (!mark->there)
		shorten_path(mark);
	marks_put(marks, mark);
}

void marks_add(struct marks *marks, int root, const char *path, bool follow)
{
	struct io_mark mark = { .root = root, .follow = follow };

	if (!marks || marks->unfit)
		return;
	mark.path = strdup(path);
	add_mark(marks, &mark, NULL);
}

void marks_add_read(struct marks *marks, int root, const char *path, const struct stat *is)
{
	struct io_mark mark = { .root = root };

	if (!marks || marks->unfit)
		return;
	mark.path = strdup(path);
	add_mark(marks, &mark, is);
}

static bool mark_holds(const struct io_mark *mark)
{
	struct stat st;

	if (fstatat(mark->root, mark->path, &st, mark->follow ? 0 : AT_SYMLINK_NOFOLLOW) < 0)
		return !mark->there && is_nothing(errno);
	return mark->there && stat_same(&st, &mark->st);
}

bool marks_hold(const struct marks *marks)
{
	for (size_t i = 0; i < marks->n; i++)
		if (!mark_holds(&marks->v[i]))
			return false;
	return !marks->unfit;
}

bool marks_same(const struct marks *a, const struct marks *b)
{
	bool same = a->n == b->n && !a->unfit && !b->unfit;

	for (size_t i = 0; same && i < a->n; i++)
		same = is_same_mark(&a->v[i], &b->v[i]);
	return same;
}
