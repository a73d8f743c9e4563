/* SPDX-License-Identifier: MIT */
/*
 * The walk: directories of a space, read by several threads, become entries of the index. A
 * directory is watched before it is read, so that nothing made meanwhile is missed. Opens go
 * beneath the space only, never into FUSE mounts (io_open_mounted) and never where a link
 * leads back to a parent. Caller holds the space's update lock; index->lock is taken here to
 * merge what was read, never while reading.
 */
#include "item/index_walk.h"

#include "base/id.h"
#include "base/io.h"
#include "base/limits.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/vfs.h>

/* Timestamps tick: a change this much later may carry the same time. Coarse ones: seconds. */
#define TICK_NS 20000000ll
#define COARSE_NS 2000000000ll
/* Enough to see a shebang and the beginning of a signature line behind it. */
#define PEEK 512

struct job {
	struct job *next;
	enum rye_kind kind;
	bool linked;
	char path[];
};

struct walk {
	struct index *index;
	const struct walk_opt *opt;
	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t more;
	struct job *jobs;
	int busy;
};

/* The entries of one directory; names in one growing text, by offset while it grows. */
struct batch {
	struct walk_entry *v;
	size_t n, size;
};

static void batch_done(struct batch *batch)
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
	uint64_t hash = 0xcbf29ce484222325ull;
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

/* Changes made by other machines or daemons are not told by inotify. */
static bool is_remote(int fd)
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

/* ---- one entry ---- */

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

static mode_t mode_of(const struct walk_at *at, const char *name, unsigned char type)
{
	struct stat st;

	if (type != DT_UNKNOWN)
		return DTTOIF(type);
	return fstatat(at->fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ? 0 : st.st_mode;
}

static void classify(const struct walk_at *at, const char *name, unsigned char type,
		     struct walk_entry *ret)
{
	char path[sizeof(at->path) + RYE_NAME_MAX + 1];
	mode_t mode;

	*ret = (struct walk_entry){ .name = name };
	if (!name_ok(name))
		return;
	snprintf(path, sizeof(path), "%s/%s", at->path, name);
	mode = mode_of(at, name, type);
	if (!mode)
		return; /* gone since it was seen */
	ret->linked = S_ISLNK(mode);
	if (ret->linked)
		mode = target_mode(at, path);
	ret->ext = walk_ext(at->kind, name);
	if (!S_ISDIR(mode) &&
	    (ret->ext < 0 || (maybe_data(at->kind, name) && !has_header(at, path))))
		return;
	/* A FIFO, a device, a link that leaves the space: an item that is refused. Were it left
	 * out, the one of the same id in a lower space would show in its place. */
	ret->what = S_ISDIR(mode) ? WALK_DIR : WALK_ITEM;
}

void walk_probe(const struct walk_at *at, const char *name, struct walk_entry *ret)
{
	classify(at, name, DT_UNKNOWN, ret);
}

/* ---- one directory ---- */

/* Private keys are nothing a mount shows. */
static bool is_secret(enum rye_kind kind, const char *path)
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
	if (ret->space_fd < 0 || is_secret(kind, path) || is_avoided(index, space, ret->path))
		return -ENOENT;
	ret->fd = io_open_mounted(ret->space_fd, ret->path, O_RDONLY | O_DIRECTORY);
	return ret->fd < 0 ? ret->fd : 0;
}

static bool batch_add(struct batch *batch, const struct walk_entry *entry)
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

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct walk_entry *)a)->name, ((const struct walk_entry *)b)->name);
}

static bool read_entries(const struct walk_at *at, struct batch *batch)
{
	int copy = fcntl(at->fd, F_DUPFD_CLOEXEC, 0);
	auto_dir DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *d;
	bool ok = dir != NULL;

	if (!dir && copy >= 0)
		close(copy);
	while (ok && (d = readdir(dir))) {
		struct walk_entry entry;

		classify(at, d->d_name, d->d_type, &entry);
		if (entry.what != WALK_NOTHING)
			ok = batch_add(batch, &entry);
	}
	if (batch->n > 1)
		qsort(batch->v, batch->n, sizeof(*batch->v), by_name);
	return ok;
}

static const struct walk_entry *batch_find(const struct batch *batch, const char *name)
{
	const struct walk_entry key = { .name = name };

	return batch->n ? bsearch(&key, batch->v, batch->n, sizeof(key), by_name) : NULL;
}

/* ---- merging what was read; index->lock held ---- */

static void drop_missing_files(struct index *index, struct dir *dir, const struct batch *batch,
			       const struct walk_opt *opt)
{
	char name[2 * RYE_NAME_MAX];

	for (uint32_t i = dir->n_nodes; i-- > 0;) {
		struct node *node = dir->nodes[i];
		uint32_t before = dir->n_nodes;

		for (struct file *file = node->files, *next; file; file = next) {
			const struct walk_entry *entry;
			struct tree_file what = { span_of(node->stem), opt->space, file->ext, 0 };

			next = file->next;
			snprintf(name, sizeof(name), "%s%s", node->stem,
				 kind_extensions((enum rye_kind)dir->kind)[file->ext]);
			entry = file->space == opt->space ? batch_find(batch, name) : NULL;
			if (file->space == opt->space && (!entry || entry->what != WALK_ITEM))
				tree_drop(index, dir, &what, opt->out);
			if (dir->n_nodes < before)
				break; /* the node is gone with its last file */
		}
	}
}

static void drop_missing_dirs(struct index *index, struct dir *dir, const struct batch *batch,
			      const struct walk_opt *opt)
{
	for (uint32_t i = dir->n_dirs; i-- > 0;) {
		struct dir *sub = dir->dirs[i];
		const struct walk_entry *entry = batch_find(batch, sub->path + sub->leaf);

		if (tree_place(sub, opt->space) && (!entry || entry->what != WALK_DIR))
			tree_place_drop(index, sub, opt->space, opt->out);
	}
}

static void put_items(struct index *index, struct dir *dir, const struct batch *batch,
		      const struct walk_opt *opt)
{
	for (size_t i = 0; i < batch->n; i++) {
		const struct walk_entry *entry = &batch->v[i];
		struct tree_file what = { span_of(entry->name), opt->space, entry->ext,
					  entry->linked };

		if (entry->what != WALK_ITEM)
			continue;
		what.stem.len -= strlen(kind_extensions((enum rye_kind)dir->kind)[entry->ext]);
		tree_put(index, dir, &what, opt->forget, opt->out);
	}
}

/* What was learned of the directory itself. */
struct self {
	struct stat st;
	uint64_t stamp;
	int wd;
	bool linked;
};

static struct dir *merge(struct walk *walk, const struct job *job, const struct batch *batch,
			 const struct self *self)
{
	struct index *index = walk->index;
	const struct walk_opt *opt = walk->opt;
	struct dir *dir = tree_dir_make(index, job->kind, span_of(job->path));
	struct place *place = dir ? tree_place_make(index, dir, opt->space) : NULL;

	if (!place)
		return NULL;
	tree_place_watch(index, place, self->wd);
	place->stamp = self->stamp;
	place->dev = self->st.st_dev;
	place->ino = self->st.st_ino;
	index->tops[opt->space].links += self->linked - place->linked;
	place->linked = self->linked;
	drop_missing_files(index, dir, batch, opt);
	drop_missing_dirs(index, dir, batch, opt);
	put_items(index, dir, batch, opt);
	return dir;
}

/* A link to one of its own parents, or too many links: the index lock is taken here. */
static bool is_loop(struct walk *walk, const struct job *job, const struct stat *st)
{
	struct index *index = walk->index;
	const char *slash = strrchr(job->path, '/');
	struct rye_span parent = { job->path, slash ? (size_t)(slash - job->path) : 0 };
	bool loop = false;

	if (!job->linked || !*job->path)
		return false;
	WITH_LOCK(&index->lock) {
		struct dir *dir = tree_dir(index, job->kind, parent);

		loop = index->tops[walk->opt->space].links >= RYE_LINK_DIRS;
		for (; dir && !loop; dir = dir->parent) {
			const struct place *place = tree_place(dir, walk->opt->space);

			loop = place && place->dev == st->st_dev && place->ino == st->st_ino;
		}
	}
	return loop;
}

static int add_watch(struct walk *walk, const struct walk_at *at)
{
	struct index *index = walk->index;
	int wd;

	if (!index->env.watch || is_remote(at->fd))
		return -1;
	wd = index->env.watch(index->env.arg, at->fd);
	if ((wd == -ENOSPC || wd == -EMFILE) &&
	    !__atomic_exchange_n(&index->no_watches, true, __ATOMIC_RELAXED))
		log_line(index->env.log, RYE_LOG_WARN, "index",
			 "no inotify watches left (see fs.inotify): "
			 "what lies below %s/.ai/%s is checked at every lookup",
			 index->env.spaces->v[walk->opt->space].root, at->path);
	return wd < 0 ? -1 : wd;
}

/* ---- the queue ---- */

static void push(struct walk *walk, enum rye_kind kind, const char *path, bool linked)
{
	size_t len = strlen(path);
	struct job *job = malloc(sizeof(*job) + len + 1);

	if (!job)
		return;
	job->kind = kind;
	job->linked = linked;
	memcpy(job->path, path, len + 1);
	WITH_LOCK(&walk->lock) {
		job->next = walk->jobs;
		walk->jobs = job;
		pthread_cond_signal(&walk->more);
	}
}

static int depth_of(const char *path)
{
	int depth = *path != 0;

	for (; *path; path++)
		depth += *path == '/';
	return depth;
}

static bool known(struct walk *walk, enum rye_kind kind, const char *path)
{
	struct index *index = walk->index;
	bool known = false;

	WITH_LOCK(&index->lock) {
		struct dir *dir = tree_dir(index, kind, span_of(path));

		known = dir && tree_place(dir, walk->opt->space);
	}
	return known;
}

static void push_dirs(struct walk *walk, const struct job *job, const struct batch *batch)
{
	char path[RYE_ID_MAX + 1];

	if (depth_of(job->path) >= RYE_DEPTH_MAX)
		return;
	for (size_t i = 0; i < batch->n; i++) {
		const struct walk_entry *entry = &batch->v[i];
		int n;

		if (entry->what != WALK_DIR)
			continue;
		n = snprintf(path, sizeof(path), "%s%s%s", job->path, *job->path ? "/" : "",
			     entry->name);
		if (n > 0 && (size_t)n < sizeof(path) &&
		    (walk->opt->deep || !known(walk, job->kind, path)))
			push(walk, job->kind, path, job->linked || entry->linked);
	}
}

static void drop(struct walk *walk, const struct job *job)
{
	struct index *index = walk->index;

	WITH_LOCK(&index->lock) {
		struct dir *dir = tree_dir(index, job->kind, span_of(job->path));

		if (dir)
			tree_place_drop(index, dir, walk->opt->space, walk->opt->out);
	}
}

static void do_job(struct walk *walk, const struct job *job)
{
	struct walk_at at = { .fd = -1 };
	struct self self = { .wd = -1, .linked = job->linked };
	struct batch batch = { 0 };
	int r = walk_open(walk->index, walk->opt->space, job->kind, job->path, &at);
	auto_close int fd = r ? -1 : at.fd;
	bool ok = fd >= 0 && fstat(fd, &self.st) == 0 && !is_loop(walk, job, &self.st);

	if (ok) {
		self.wd = add_watch(walk, &at);
		self.stamp = walk_stamp(&self.st);
		ok = read_entries(&at, &batch);
	}
	if (ok) {
		WITH_LOCK(&walk->index->lock)
			merge(walk, job, &batch, &self);
		push_dirs(walk, job, &batch);
	} else {
		drop(walk, job);
	}
	batch_done(&batch);
}

/* The next job, waiting for other threads to find one; NULL: all is done. */
static struct job *take(struct walk *walk)
{
	struct job *job = NULL;

	WITH_LOCK(&walk->lock) {
		while (!walk->jobs && walk->busy)
			pthread_cond_wait(&walk->more, &walk->lock);
		job = walk->jobs;
		if (job) {
			walk->jobs = job->next;
			walk->busy++;
		}
	}
	return job;
}

static void *work(void *arg)
{
	struct walk *walk = arg;
	struct job *job;

	while ((job = take(walk))) {
		do_job(walk, job);
		free(job);
		WITH_LOCK(&walk->lock) {
			if (!--walk->busy && !walk->jobs)
				pthread_cond_broadcast(&walk->more);
		}
	}
	return NULL;
}

#define WALK_THREADS_MAX 16

static void run(struct walk *walk)
{
	pthread_t threads[WALK_THREADS_MAX];
	int n = 0, wanted = walk->opt->out ? 1 : walk->opt->threads;

	while (n < wanted - 1 && n < WALK_THREADS_MAX &&
	       pthread_create(&threads[n], NULL, work, walk) == 0)
		n++;
	work(walk);
	while (n > 0)
		pthread_join(threads[--n], NULL);
	pthread_cond_destroy(&walk->more);
	pthread_mutex_destroy(&walk->lock);
}

static void walk_init(struct walk *walk, struct index *index, const struct walk_opt *opt)
{
	*walk = (struct walk){ .index = index, .opt = opt };
	pthread_mutex_init(&walk->lock, NULL);
	pthread_cond_init(&walk->more, NULL);
}

void walk_dir(struct index *index, enum rye_kind kind, const char *path, const struct walk_opt *opt)
{
	struct walk walk;

	walk_init(&walk, index, opt);
	push(&walk, kind, path, false);
	run(&walk);
}

/* ---- a whole space ---- */

/* Watches .ai for kinds that appear, and its parent for .ai itself. */
static void watch_top(struct index *index, int space)
{
	const struct space *what = &index->env.spaces->v[space];
	auto_close int root = open(what->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	auto_close int ai = -1;
	int fd = space_fd(what), wd_root = -1, wd_ai = -1;
	bool remote;

	if (fd >= 0)
		ai = io_open_beneath(fd, ".", O_RDONLY | O_DIRECTORY);
	remote = !index->env.watch || (root >= 0 && is_remote(root)) || (ai >= 0 && is_remote(ai));
	if (!remote && root >= 0)
		wd_root = index->env.watch(index->env.arg, root);
	if (!remote && ai >= 0)
		wd_ai = index->env.watch(index->env.arg, ai);
	WITH_LOCK(&index->lock) {
		struct top *top = &index->tops[space];

		top->wd_root = wd_root;
		top->wd_ai = wd_ai;
		top->lost = root < 0;
		top->blind = remote || (ai < 0 ? root >= 0 && wd_root < 0 : wd_ai < 0);
	}
}

void walk_space(struct index *index, const struct walk_opt *opt)
{
	struct walk walk;

	watch_top(index, opt->space);
	walk_init(&walk, index, opt);
	for (int kind = 0; kind < RYE_KIND__MAX; kind++)
		push(&walk, (enum rye_kind)kind, "", false);
	run(&walk);
}
