/* SPDX-License-Identifier: MIT */
/*
 * The walk: directories of a space, read by several threads (index_walk_dir.c), become entries
 * of the index. A directory is watched before it is read, so that nothing made meanwhile is
 * missed, and none is entered where a link leads back to a parent. Caller holds the space's
 * update lock; index->lock is taken here to merge what was read, never while reading.
 */
#include "space/space_inner.h"

#include "base/id.h"
#include "base/io.h"
#include "bounds.h"
#include "str.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

struct index_walk_job {
	struct index_walk_job *next;
	enum rye_kind kind;
	bool linked;
	char path[];
};

struct index_walk {
	struct index *index;
	const struct walk_opt *opt;
	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t more;
	struct index_walk_job *jobs;
	int busy;
};

/* ---- merging what was read; index->lock held ---- */

static void drop_missing_files(struct index *index, struct dir *dir, const struct walk_batch *batch,
			       const struct walk_opt *opt)
{
	char name[2 * RYE_NAME_MAX];

	for (uint32_t i = dir->n_nodes; i-- > 0;) {
		struct index_node *node = dir->nodes[i];
		uint32_t before = dir->n_nodes;

		for (struct file *file = node->files, *next; file; file = next) {
			const struct walk_entry *entry;
			struct tree_file what = { span_of(node->stem), opt->space, file->ext, 0 };

			next = file->next;
			snprintf(name, sizeof(name), "%s%s", node->stem,
				 kind_extensions((enum rye_kind)dir->kind)[file->ext]);
			entry = file->space == opt->space ? walk_batch_find(batch, name) : NULL;
			if (file->space == opt->space && (!entry || entry->what != WALK_ITEM))
				tree_drop(index, dir, &what, opt->out);
			if (dir->n_nodes < before)
				break; /* the node is gone with its last file */
		}
	}
}

static void drop_missing_dirs(struct index *index, struct dir *dir, const struct walk_batch *batch,
			      const struct walk_opt *opt)
{
	for (uint32_t i = dir->n_dirs; i-- > 0;) {
		struct dir *sub = dir->dirs[i];
		const struct walk_entry *entry = walk_batch_find(batch, sub->path + sub->leaf);

		if (tree_place(sub, opt->space) && (!entry || entry->what != WALK_DIR))
			tree_place_drop(index, sub, opt->space, opt->out);
	}
}

static void put_items(struct index *index, struct dir *dir, const struct walk_batch *batch,
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

static struct dir *index_walk_merge(struct index_walk *walk, const struct index_walk_job *job,
				    const struct walk_batch *batch, const struct self *self)
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
static bool is_loop(struct index_walk *walk, const struct index_walk_job *job,
		    const struct stat *st)
{
	struct index *index = walk->index;
	const char *slash = strrchr(job->path, '/');
	struct rye_span parent = { job->path, slash ? (size_t)(slash - job->path) : 0 };
	bool loop = false;

	if (!job->linked || !*job->path)
		return false;
	GUARD(&index->lock);
	struct dir *dir = tree_dir(index, job->kind, parent);

	loop = index->tops[walk->opt->space].links >= RYE_LINK_DIRS;
	for (; dir && !loop; dir = dir->parent) {
		const struct place *place = tree_place(dir, walk->opt->space);

		loop = place && place->dev == st->st_dev && place->ino == st->st_ino;
	}
	return loop;
}

static int add_watch(struct index_walk *walk, const struct walk_at *at)
{
	struct index *index = walk->index;
	int wd;

	if (!index->env.watch || io_is_remote(at->fd))
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

static void index_walk_push(struct index_walk *walk, enum rye_kind kind, const char *path,
			    bool linked)
{
	size_t len = strlen(path);
	struct index_walk_job *job = malloc(sizeof(*job) + len + 1);

	if (!job) {
		walk->index->lacking = true;
		return;
	}
	job->kind = kind;
	job->linked = linked;
	memcpy(job->path, path, len + 1);
	GUARD(&walk->lock);
	job->next = walk->jobs;
	walk->jobs = job;
	pthread_cond_signal(&walk->more);
}

static int depth_of(const char *path)
{
	int depth = *path != 0;

	for (; *path; path++)
		depth += *path == '/';
	return depth;
}

static bool known(struct index_walk *walk, enum rye_kind kind, const char *path)
{
	struct index *index = walk->index;
	bool known = false;

	GUARD(&index->lock);
	struct dir *dir = tree_dir(index, kind, span_of(path));

	known = dir && tree_place(dir, walk->opt->space);
	return known;
}

static void push_dirs(struct index_walk *walk, const struct index_walk_job *job,
		      const struct walk_batch *batch)
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
			index_walk_push(walk, job->kind, path, job->linked || entry->linked);
	}
}

static void index_walk_drop(struct index_walk *walk, const struct index_walk_job *job)
{
	struct index *index = walk->index;

	GUARD(&index->lock);
	struct dir *dir = tree_dir(index, job->kind, span_of(job->path));

	if (dir)
		tree_place_drop(index, dir, walk->opt->space, walk->opt->out);
}

/* Not for want of a directory: what is known of it stays until it can be read. */
static bool is_short(int sys)
{
	return sys == ENOMEM || sys == EMFILE || sys == ENFILE;
}

void walk_doubt(struct index *index, enum rye_kind kind, const char *path, int wd,
		const struct walk_opt *opt)
{
	GUARD(&index->lock);
	struct dir *dir = tree_dir_make(index, kind, span_of(path));
	struct place *place = dir ? tree_place_make(index, dir, opt->space) : NULL;

	if (!place)
		return;
	if (wd >= 0)
		tree_place_watch(index, place, wd);
	tree_place_watch(index, place, -1);
	place->stamp = 0;
	tree_forget_below(index, dir, opt->out);
}

static void do_job(struct index_walk *walk, const struct index_walk_job *job)
{
	struct walk_at at = { .fd = -1 };
	struct self self = { .wd = -1, .linked = job->linked };
	struct walk_batch batch = { 0 };
	int r = walk_open(walk->index, walk->opt->space, job->kind, job->path, &at);
	auto_close int fd = r ? -1 : at.fd;

	if (!r && (fstat(fd, &self.st) || is_loop(walk, job, &self.st)))
		r = -ENOENT;
	if (!r) {
		self.wd = add_watch(walk, &at);
		self.stamp = walk_stamp(&self.st);
		r = walk_read(&at, &batch);
	}
	if (is_short(-r)) {
		walk->index->lacking = true;
	} else if (r == -EIO) {
		walk_doubt(walk->index, job->kind, job->path, self.wd, walk->opt);
	} else if (!r) {
		{
			GUARD(&walk->index->lock);
			index_walk_merge(walk, job, &batch, &self);
		}
		push_dirs(walk, job, &batch);
	} else {
		index_walk_drop(walk, job);
	}
	walk_batch_done(&batch);
}

/* The next job, waiting for other threads to find one; NULL: all is done. */
static struct index_walk_job *index_walk_take(struct index_walk *walk)
{
	struct index_walk_job *job = NULL;

	GUARD(&walk->lock);
	while (!walk->jobs && walk->busy)
		pthread_cond_wait(&walk->more, &walk->lock);
	job = walk->jobs;
	if (job) {
		walk->jobs = job->next;
		walk->busy++;
	}
	return job;
}

static void *index_walk_work(void *arg)
{
	struct index_walk *walk = arg;
	struct index_walk_job *job;

	while ((job = index_walk_take(walk))) {
		do_job(walk, job);
		free(job);
		GUARD(&walk->lock);
		if (!--walk->busy && !walk->jobs)
			pthread_cond_broadcast(&walk->more);
	}
	return NULL;
}

#define WALK_THREADS_MAX 16

static void index_walk_run(struct index_walk *walk)
{
	pthread_t threads[WALK_THREADS_MAX];
	int n = 0, wanted = walk->opt->out ? 1 : walk->opt->threads;

	while (n < wanted - 1 && n < WALK_THREADS_MAX &&
	       pthread_create(&threads[n], NULL, index_walk_work, walk) == 0)
		n++;
	index_walk_work(walk);
	while (n > 0)
		pthread_join(threads[--n], NULL);
	pthread_cond_destroy(&walk->more);
	pthread_mutex_destroy(&walk->lock);
}

static void walk_init(struct index_walk *walk, struct index *index, const struct walk_opt *opt)
{
	*walk = (struct index_walk){ .index = index, .opt = opt };
	pthread_mutex_init(&walk->lock, NULL);
	pthread_cond_init(&walk->more, NULL);
}

void walk_dir(struct index *index, enum rye_kind kind, const char *path, const struct walk_opt *opt)
{
	struct index_walk walk;

	walk_init(&walk, index, opt);
	index_walk_push(&walk, kind, path, false);
	index_walk_run(&walk);
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
	remote = !index->env.watch || (root >= 0 && io_is_remote(root)) ||
		 (ai >= 0 && io_is_remote(ai));
	if (!remote && root >= 0)
		wd_root = index->env.watch(index->env.arg, root);
	if (!remote && ai >= 0)
		wd_ai = index->env.watch(index->env.arg, ai);
	GUARD(&index->lock);
	struct top *top = &index->tops[space];

	top->wd_root = wd_root;
	top->wd_ai = wd_ai;
	top->lost = root < 0;
	top->blind = remote || (ai < 0 ? root >= 0 && wd_root < 0 : wd_ai < 0);
}

void walk_space(struct index *index, const struct walk_opt *opt)
{
	struct index_walk walk;

	watch_top(index, opt->space);
	walk_init(&walk, index, opt);
	for (int kind = 0; kind < RYE_KIND__MAX; kind++)
		index_walk_push(&walk, (enum rye_kind)kind, "", false);
	index_walk_run(&walk);
}
