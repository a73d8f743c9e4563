/* SPDX-License-Identifier: MIT */
/*
 * One directory of a space as the walk reads it: opening it beneath the space and never in a
 * FUSE mount (io_open_mounted), what each name in it is, and whether it is what it was. Takes
 * no lock; of the index it looks at nothing but env, which never changes.
 */
#include "space/space_inner.h"

#include "base/id.h"
#include "base/io.h"
#include "hash.h"
#include "str.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

/* Timestamps tick: a change this much later may carry the same time. Coarse ones: seconds. */
#define TICK_NS 20000000ll
#define COARSE_NS 2000000000ll
/* Enough to see a shebang and the beginning of a signature line behind it. */
#define PEEK 512

void walk_batch_done(struct walk_batch *batch)
{
	for (size_t i = 0; i < batch->n; i++)
		free((char *)batch->v[i].name);
	free(batch->v);
}

uint64_t walk_stamp(const struct stat *st)
{
	const uint64_t parts[] = { st->st_dev,
				   st->st_ino,
				   (uint64_t)st->st_size,
				   (uint64_t)st->st_mtim.tv_sec,
				   (uint64_t)st->st_mtim.tv_nsec,
				   (uint64_t)st->st_ctim.tv_sec,
				   (uint64_t)st->st_ctim.tv_nsec };
	uint64_t hash = HASH_BASIS;
	struct timespec now;
	int64_t age;

	clock_gettime(CLOCK_REALTIME, &now);
	age = (now.tv_sec - st->st_ctim.tv_sec) * 1000000000ll + now.tv_nsec - st->st_ctim.tv_nsec;
	if (age < (st->st_ctim.tv_nsec ? TICK_NS : COARSE_NS))
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		hash = (hash ^ parts[i]) * 0xff51afd7ed558ccdull;
		hash ^= hash >> 32;
	}
	return hash | 1;
}

/* ---- one entry ---- */

/* In the folder of a manifest, whose files may have any name: a directory is walked to be watched. */
static bool is_attached(enum rye_kind kind, const char *path)
{
	return rye_kind_has(kind, RYE_KIND_MANIFEST) && strchr(path, '/');
}

static bool name_ok(const char *name)
{
	/* Dot names are editors' and tools' temporary files; the others hold no items. */
	return *name != '.' && strcmp(name, "__pycache__") != 0 &&
	       strcmp(name, "node_modules") != 0 && !id_check(span_of(name), NULL);
}

int walk_ext(enum rye_kind kind, const char *name)
{
	const char *ext = kind_extension_of(kind, name);
	const char *const *all = kind_extensions(kind);
	int i = 0;

	if (!ext)
		return -1;
	while (strcmp(all[i], ext) != 0)
		i++;
	return i;
}

/* Is there a signature line (after a shebang)? Data files beside tools have none. */
static bool has_header(const struct walk_at *at, const char *path)
{
	auto_close int fd = io_open_mounted(at->space_fd, path, O_RDONLY);
	char text[PEEK];
	ssize_t n = fd < 0 ? -1 : pread(fd, text, sizeof(text), 0);
	struct rye_span rest = { text, n > 0 ? (size_t)n : 0 }, line;

	if (span_starts(rest, "#!") && !span_line(&rest, &line))
		return false;
	return span_starts(rest, "# rye:signed:");
}

static bool maybe_data(enum rye_kind kind, const char *name)
{
	return kind == RYE_TOOL && (str_ends(name, ".json") || str_ends(name, ".toml"));
}

/* Follows a link as far as it stays in the space; 0: it does not, or leads nowhere. */
static mode_t target_mode(const struct walk_at *at, const char *path)
{
	auto_close int fd = io_open_mounted(at->space_fd, path, O_PATH);
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 ? st.st_mode : 0;
}

/* 0: gone since it was seen. A disk that fails says nothing of the kind. */
static int mode_of(const struct walk_at *at, const char *name, unsigned char type, mode_t *ret)
{
	struct stat st;

	*ret = 0;
	if (type != DT_UNKNOWN)
		*ret = DTTOIF(type);
	else if (fstatat(at->fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		*ret = st.st_mode;
	else if (errno == EIO)
		return -EIO;
	return 0;
}

static int index_walk_dir_classify(const struct walk_at *at, const char *name, unsigned char type,
				   struct walk_entry *ret)
{
	char path[sizeof(at->path) + RYE_NAME_MAX + 1];
	bool attached = is_attached(at->kind, at->path);
	mode_t mode;
	int r;

	*ret = (struct walk_entry){ .name = name };
	if (attached ? !strcmp(name, ".") || !strcmp(name, "..") || id_check(span_of(name), NULL) :
		       !name_ok(name))
		return 0;
	snprintf(path, sizeof(path), "%s/%s", at->path, name);
	r = mode_of(at, name, type, &mode);
	if (r || !mode)
		return r;
	ret->linked = S_ISLNK(mode);
	if (attached) {
		ret->what = S_ISDIR(mode) ? WALK_DIR : WALK_NOTHING;
		return 0;
	}
	if (ret->linked)
		mode = target_mode(at, path);
	ret->ext = walk_ext(at->kind, name);
	if (!S_ISDIR(mode) &&
	    (ret->ext < 0 || (maybe_data(at->kind, name) && !has_header(at, path))))
		return 0;
	/* A FIFO, a device, a link that leaves the space: an item that is refused. Were it left
	 * out, the one of the same id in a lower space would show in its place. */
	ret->what = S_ISDIR(mode) ? WALK_DIR : WALK_ITEM;
	return 0;
}

int walk_probe(const struct walk_at *at, const char *name, struct walk_entry *ret)
{
	return index_walk_dir_classify(at, name, DT_UNKNOWN, ret);
}

/* ---- one directory ---- */

/* Private keys are nothing a mount shows. */
bool walk_is_secret(enum rye_kind kind, const char *path)
{
	return kind == RYE_CONFIG && !strcmp(path, "keys/signing");
}

static bool is_avoided(const struct index *index, int space, const char *path)
{
	const char *avoid = index->env.avoid, *root = index->env.spaces->v[space].root;
	size_t n = strlen(root);

	return avoid && !strncmp(avoid, root, n) && !strncmp(avoid + n, "/.ai/", 5) &&
	       !strcmp(avoid + n + 5, path);
}

int walk_open(struct index *index, int space, enum rye_kind kind, const char *path,
	      struct walk_at *ret)
{
	int n = snprintf(ret->path, sizeof(ret->path), "%s%s%s", rye_kind_dir(kind),
			 *path ? "/" : "", path);

	ret->kind = kind;
	ret->space_fd = space_fd(&index->env.spaces->v[space]);
	if (n < 0 || (size_t)n >= sizeof(ret->path))
		return -ENAMETOOLONG;
	if (ret->space_fd < 0 || walk_is_secret(kind, path) || is_avoided(index, space, ret->path))
		return -ENOENT;
	ret->fd = io_open_mounted(ret->space_fd, ret->path, O_RDONLY | O_DIRECTORY);
	return ret->fd < 0 ? ret->fd : 0;
}

static bool batch_add(struct walk_batch *batch, const struct walk_entry *entry)
{
	size_t size = batch->size ? batch->size * 2 : 32;
	struct walk_entry *v = batch->v;

	if (batch->n == batch->size) {
		v = realloc(v, size * sizeof(*v));
		if (!v)
			return false;
		batch->v = v;
		batch->size = size;
	}
	batch->v[batch->n] = *entry;
	batch->v[batch->n].name = strdup(entry->name);
	if (!batch->v[batch->n].name)
		return false;
	batch->n++;
	return true;
}

static int index_walk_dir_by_name(const void *a, const void *b)
{
	return strcmp(((const struct walk_entry *)a)->name, ((const struct walk_entry *)b)->name);
}

int walk_read(const struct walk_at *at, struct walk_batch *batch)
{
	int copy = fcntl(at->fd, F_DUPFD_CLOEXEC, 0);
	auto_dir DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *d;
	int r = dir ? 0 : -errno;

	if (!dir && copy >= 0)
		close(copy);
	while (dir && !r) {
		struct walk_entry entry;

		errno = 0; /* only so its end is told from a fault of the disk */
		d = readdir(dir);
		if (!d) {
			r = -errno;
			break;
		}

		r = index_walk_dir_classify(at, d->d_name, d->d_type, &entry);
		if (!r && entry.what != WALK_NOTHING && !batch_add(batch, &entry))
			r = -ENOMEM;
	}
	if (batch->n > 1)
		qsort(batch->v, batch->n, sizeof(*batch->v), index_walk_dir_by_name);
	return r;
}

const struct walk_entry *walk_batch_find(const struct walk_batch *batch, const char *name)
{
	const struct walk_entry key = { .name = name };

	return batch->n ? bsearch(&key, batch->v, batch->n, sizeof(key), index_walk_dir_by_name) :
			  NULL;
}
