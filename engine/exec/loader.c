/* SPDX-License-Identifier: MIT */
/*
 * A small table of loaded items. What it gives out was verified by rye_load and is frozen; a
 * changed trust store makes all of it stale. The lock is held for table work only. Callers:
 * workers that build chains.
 */
#include "exec/loader.h"

#include "base/auto.h"
#include "base/clock.h"
#include "item/space.h"
#include "item/trust.h"

#include <string.h>
#include <time.h>

/* Runtimes, primitives and the tools of the moment. */
#define ROWS 64
/* Bigger items are read again: memory is for the small ones everybody uses. */
#define SIZE_MAX_KEPT (256 << 10)
/* Nanoseconds after which a file's times tell apart any two versions of it. */
#define SETTLED_NS 100000000LL

/* Milliseconds for which "no other file of that id" is believed: it is worth a warning only. */
#define QUIET_MS 1000

struct row {
	struct rye_item *item;
	uint64_t generation; /* of the trust it was verified with */
	int64_t looked_ms; /* when files of the same id were looked for */
};

struct loader {
	pthread_mutex_t lock; /* rows, next */
	struct row rows[ROWS];
	size_t next; /* to be replaced */
	const struct item_env *env;
};

struct loader *loader_open(const struct item_env *env)
{
	struct loader *loader = calloc(1, sizeof(*loader));

	if (!loader)
		return NULL;
	loader->env = env;
	pthread_mutex_init(&loader->lock, NULL);
	return loader;
}

void loader_close(struct loader *loader)
{
	if (!loader)
		return;
	for (size_t i = 0; i < ROWS; i++)
		rye_item_unref(loader->rows[i].item);
	pthread_mutex_destroy(&loader->lock);
	free(loader);
}

const struct item_env *loader_env(const struct loader *loader)
{
	return loader->env;
}

static uint64_t trust_now(const struct loader *loader)
{
	auto_trust struct trust *trust = trust_get(loader->env->trust);

	return trust->generation;
}

static bool same_time(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

static bool same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       same_time(&a->st_mtim, &b->st_mtim) && same_time(&a->st_ctim, &b->st_ctim);
}

static struct row *find(struct loader *loader, const struct located *at)
{
	for (size_t i = 0; i < ROWS; i++) {
		const struct rye_item *item = loader->rows[i].item;

		if (item && item->space == at->space && !strcmp(item->path, at->path))
			return &loader->rows[i];
	}
	return NULL;
}

/* Whether its neighbours were looked at a moment ago, and there were none. */
static bool is_quiet(struct loader *loader, const char *id)
{
	int64_t now = clock_ms();

	WITH_LOCK(&loader->lock) {
		for (size_t i = 0; i < ROWS; i++)
			if (loader->rows[i].item && !strcmp(loader->rows[i].item->id, id) &&
			    now - loader->rows[i].looked_ms < QUIET_MS)
				return true;
	}
	return false;
}

/* The remembered item of this very file; NULL: none. */
static struct rye_item *recall(struct loader *loader, const struct located *at, bool looked)
{
	uint64_t generation = trust_now(loader);
	struct stat st;

	if (fstat(at->fd, &st) < 0)
		return NULL;
	WITH_LOCK(&loader->lock) {
		struct row *row = find(loader, at);

		if (row && row->generation == generation && same_file(&row->item->st, &st)) {
			if (looked && !at->ambiguous)
				row->looked_ms = clock_ms();
			return rye_item_ref(row->item);
		}
	}
	return NULL;
}

static bool settled(const struct stat *st)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (now.tv_sec - st->st_ctim.tv_sec) * 1000000000LL + now.tv_nsec -
		       st->st_ctim.tv_nsec >
	       SETTLED_NS;
}

static void remember(struct loader *loader, struct rye_item *item, const struct located *at,
		     uint64_t generation)
{
	struct rye_item *old = NULL;

	if (item->st.st_size > SIZE_MAX_KEPT || !settled(&item->st) || at->ambiguous)
		return;
	WITH_LOCK(&loader->lock) {
		struct row *row = find(loader, at);

		if (!row)
			row = &loader->rows[loader->next++ % ROWS];
		old = row->item;
		row->item = rye_item_ref(item);
		row->generation = generation;
		row->looked_ms = clock_ms();
	}
	rye_item_unref(old);
}

int loader_load(struct loader *loader, const struct item_ask *ask, struct rye_item **ret,
		bool *ret_ambiguous, struct rye_err *err)
{
	struct item_ask quiet = *ask;
	struct located at;
	uint64_t generation;
	int r;
	auto_close int fd = -1;

	quiet.quiet = is_quiet(loader, ask->id);
	r = space_locate(loader->env->spaces, &quiet, &at, err);
	if (r)
		return r;
	fd = at.fd;
	*ret_ambiguous = at.ambiguous;
	*ret = recall(loader, &at, !quiet.quiet);
	if (*ret)
		return 0;
	generation = trust_now(loader);
	r = rye_load(loader->env, ask, ret, err);
	/* Another file by now? Then it is not the one that was located. */
	if (!r && (*ret)->space == at.space && !strcmp((*ret)->path, at.path))
		remember(loader, *ret, &at, generation);
	return r;
}
