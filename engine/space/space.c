/* SPDX-License-Identifier: MIT */
/*
 * Spaces: which there are, their .ai, and writing into it beneath its descriptor. Frozen after
 * spaces_open but for space.fd, which goes once from -1 to a descriptor (compare and swap, no
 * lock) and keeps its number whatever becomes of .ai later. Looking ids up: space_locate.c.
 */
#include "space/space_inner.h"

#include "base/io.h"
#include "base/self.h"
#include "memory.h"
#include "scope.h"
#include "str.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

/* Spaces of one engine: an id that does not exist is looked for in every one of them. */
#define SPACES_MAX 64

/* ---- opening ---- */

static int open_root(const char *root)
{
	auto_free char *path = NULL;

	if (asprintf(&path, "%s/.ai", root) < 0) {
		memory_note(NULL);
		return -1;
	}
	return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

int space_fd(const struct space *space)
{
	_Atomic int *slot = (_Atomic int *)&space->fd;
	int fd = atomic_load(slot), none = -1;

	if (fd >= 0)
		return fd;
	fd = open_root(space->root);
	if (fd < 0)
		return -1;
	if (atomic_compare_exchange_strong(slot, &none, fd))
		return fd;
	close(fd);
	return none;
}

void space_mark(const struct space *space, const char *path, bool follow, struct marks *ret)
{
	auto_free char *ai = NULL;
	int fd = space_fd(space);

	if (fd >= 0) {
		marks_add(ret, fd, path, follow);
		return;
	}
	if (asprintf(&ai, "%s/.ai", space->root) < 0)
		marks_unfit(ret);
	else
		marks_add(ret, AT_FDCWD, ai, true);
}

/*
 * dup3 puts the directory that is there now under the old number, so a thread that has read the
 * number can go on using it. When .ai is gone that is /dev/null, in which no path can be found:
 * the old directory may live on under another name.
 */
bool space_renew(const struct space *space)
{
	int old = space_fd(space);
	auto_close int new = old < 0 ? -1 : open_root(space->root);
	struct stat was, is;

	if (old >= 0 && new < 0)
		new = open("/dev/null", O_PATH | O_CLOEXEC);
	if (new < 0 || fstat(old, &was) < 0 || fstat(new, &is) < 0)
		return false;
	if (was.st_dev == is.st_dev && was.st_ino == is.st_ino)
		return false;
	return dup3(new, old, O_CLOEXEC) >= 0;
}

bool space_again(const struct spaces *spaces, size_t at)
{
	struct stat this, other;

	if (fstat(space_fd(&spaces->v[at]), &this) < 0)
		return false;
	for (size_t i = 0; i < at; i++)
		if (!fstat(space_fd(&spaces->v[i]), &other) && this.st_dev == other.st_dev &&
		    this.st_ino == other.st_ino)
			return true;
	return false;
}

void spaces_close(struct spaces *spaces)
{
	if (!spaces)
		return;
	for (size_t i = 0; i < spaces->n; i++) {
		struct space *space = &spaces->v[i];

		free(space->full);
		free(space->bundle);
		free(space->root);
		if (space->fd >= 0)
			close(space->fd);
	}
	stems_close(spaces->stems);
	free(spaces->key_dir);
	free(spaces->secret_dir);
	free(spaces);
}

static struct space *space_add(struct spaces *spaces, enum rye_space type, const char *root)
{
	static const char *const labels[] = { "project", "user", "system" };
	struct space *space = &spaces->v[spaces->n];
	size_t n = strlen(root);

	while (n > 1 && root[n - 1] == '/')
		n--;
	*space = (struct space){ .type = type, .label = labels[type] };
	space->root = strndup(root, n);
	space->full = strdup(labels[type]);
	atomic_init(&space->fd, space->root ? open_root(space->root) : -1);
	spaces->n++;
	return space->root && space->full ? space : NULL;
}

static bool has_manifest(int bundles, const char *name)
{
	char path[NAME_MAX + sizeof("/manifest.yaml")];

	snprintf(path, sizeof(path), "%s/manifest.yaml", name);
	return *name != '.' && !faccessat(bundles, path, F_OK, 0);
}

/*
 * The one manifest of .ai/bundles names the bundle. Without it, or with several, the directory does:
 * a manifest that is added for another bundle must not rename this one.
 */
static char *bundle_name(const struct space *space)
{
	const char *slash = strrchr(space->root, '/');
	int fd = space->fd < 0 ? -1 : io_open_beneath(space->fd, "bundles", O_RDONLY);
	auto_dir DIR *dir = fd < 0 ? NULL : memory_note(fdopendir(fd));
	auto_free char *only = NULL;
	struct dirent *entry;
	size_t n = 0;

	if (fd >= 0 && !dir)
		close(fd);
	while (dir && (entry = readdir(dir))) {
		if (!has_manifest(dirfd(dir), entry->d_name))
			continue;
		free(only);
		only = memory_note(strdup(entry->d_name));
		n++;
	}
	return n == 1 && only ? steal(&only) : strdup(slash && slash[1] ? slash + 1 : space->root);
}

static bool add_system(struct spaces *spaces, const char *root)
{
	struct space *space = space_add(spaces, RYE_SYSTEM, root);

	if (!space)
		return false;
	space->bundle = bundle_name(space);
	free(space->full);
	space->full = NULL;
	return space->bundle && asprintf(&space->full, "system:%s", space->bundle) >= 0;
}

static int by_bundle(const void *pa, const void *pb)
{
	return strcmp(((const struct space *)pa)->bundle, ((const struct space *)pb)->bundle);
}

static int add_systems(struct spaces *spaces, const char *roots, struct rye_err *err)
{
	auto_free char *copy = strdup(roots);
	size_t first = spaces->n;

	if (!copy)
		return memory_fail(err);
	for (char *save = NULL, *root = strtok_r(copy, ":", &save); root;
	     root = strtok_r(NULL, ":", &save)) {
		if (spaces->n == SPACES_MAX)
			return rye_fail(err, RYE_INVALID, "more than %d spaces", SPACES_MAX);
		if (*root != '/')
			return rye_fail(err, RYE_INVALID, "system root %s: wanted an absolute path",
					root);
		if (access(root, F_OK) < 0)
			return rye_fail_sys(err, errno, "system root %s", root);
		if (!add_system(spaces, root))
			return memory_fail(err);
	}
	qsort(spaces->v + first, spaces->n - first, sizeof(*spaces->v), by_bundle);
	return 0;
}

static bool is_set(const char *text)
{
	return text && *text;
}

static int add_user(struct spaces *spaces, const char *wanted, struct rye_err *err)
{
	auto_free char *base = self_user_base(wanted);
	const char *keys = getenv("RYE_SIGNING_KEY_DIR");
	int n;

	if (!base)
		return rye_fail(
			err, RYE_INVALID,
			"there is no user space: neither USER_SPACE nor HOME is set, and user "
			"%u has no account\n" MEND_WITH SELF_ELSEWHERE,
			(unsigned)getuid());
	if (*base != '/')
		return rye_fail(
			err, RYE_INVALID,
			"user space %.200s: wanted an absolute path\n" MEND_WITH SELF_ELSEWHERE,
			base);
	if (!space_add(spaces, RYE_USER, base))
		return memory_fail(err);
	n = is_set(keys) ? asprintf(&spaces->key_dir, "%s", keys) :
			   asprintf(&spaces->key_dir, "%s/.ai/config/keys/signing", base);
	if (n < 0) {
		spaces->key_dir = NULL;
		return memory_fail(err);
	}
	if (asprintf(&spaces->secret_dir, "%s/.ai/secrets", base) < 0) {
		spaces->secret_dir = NULL;
		return memory_fail(err);
	}
	return 0;
}

static int space_fill(const struct rye_options *opt, struct spaces *spaces, struct rye_err *err)
{
	auto_free char *installed = opt->system_roots ? NULL : self_system_roots();
	const char *roots = opt->system_roots ? opt->system_roots : installed;
	int r;

	if (!space_add(spaces, RYE_PROJECT, opt->project))
		return memory_fail(err);
	r = add_user(spaces, opt->user_base, err);
	if (!r && roots)
		r = add_systems(spaces, roots, err);
	for (size_t i = 0; i < spaces->n; i++)
		spaces->v[i].index = (int)i;
	return r;
}

int spaces_open(const struct rye_options *opt, struct spaces **ret, struct rye_err *err)
{
	struct spaces *spaces;
	int r;

	if (!opt->project || *opt->project != '/')
		return rye_fail(err, RYE_INVALID, "project %s: wanted an absolute path",
				opt->project ? opt->project : "");
	spaces = calloc(1, sizeof(*spaces) + SPACES_MAX * sizeof(struct space));
	if (!spaces)
		return memory_fail(err);
	spaces->stems = stems_open();
	r = spaces->stems ? space_fill(opt, spaces, err) : memory_fail(err);
	if (r < 0)
		spaces_close(spaces);
	else
		*ret = spaces;
	return r;
}

bool spaces_nested(const struct spaces *spaces, const struct space *space)
{
	auto_free char *real = realpath(space->root, NULL);
	auto_free char *project = realpath(spaces->v[0].root, NULL);

	return real && project && path_below(real, project);
}

/* ---- names ---- */

struct rye_span space_category(const char *id)
{
	const char *slash = strrchr(id, '/');

	return (struct rye_span){ id, slash ? (size_t)(slash - id) : 0 };
}

const char *space_stem(const char *id)
{
	const char *slash = strrchr(id, '/');

	return slash ? slash + 1 : id;
}

char *space_abspath(const struct space *space, const char *path)
{
	char *text = NULL;

	return asprintf(&text, "%s/.ai/%s", space->root, path) < 0 ? memory_note(NULL) : text;
}

/* ---- writing ---- */

static int make_ai(const struct space *space)
{
	auto_free char *path = space_abspath(space, "");

	if (!path)
		return -ENOMEM;
	if (space_fd(space) < 0 && mkdir(path, 0755) < 0 && errno != EEXIST)
		return -errno;
	return space_fd(space) < 0 ? -ENOENT : 0;
}

int space_mkdirs(const struct space *space, const char *path)
{
	int r = make_ai(space);

	return r ? r : io_mkdirs_at(space_fd(space), path, 0755);
}

int space_write(const struct space *space, const char *path, struct rye_span bytes, mode_t mode)
{
	const char *slash = strrchr(path, '/');
	auto_free char *dir = memory_note(strndup(path, slash ? (size_t)(slash - path) : 0));
	struct stat st;
	int r = dir ? make_ai(space) : -ENOMEM;

	if (!r && slash)
		r = io_mkdirs_at(space_fd(space), dir, 0755);
	if (r < 0)
		return r;
	if (!fstatat(space_fd(space), path, &st, AT_SYMLINK_NOFOLLOW) && S_ISREG(st.st_mode))
		mode = st.st_mode & 07777;
	return io_replace_at(space_fd(space), path, bytes, mode);
}
