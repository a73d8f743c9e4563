/* SPDX-License-Identifier: MIT */
/*
 * Which files of one stem a directory has: an id may have any extension of its kind, and a run asks for
 * six of them. While the directory's times are what they were, so are its names, and none is asked for
 * again. Only times that are old enough are believed, of file systems that tell each change themselves;
 * they are taken before the names are looked at, so a change in between makes them others.
 *
 * `lock` guards the rows and is held for table work only. Called by all threads that look ids up.
 */
#include "space/space_inner.h"

#include "base/id.h"
#include "base/io.h"
#include "hash.h"
#include "scope.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

/* A tool needs four; the older one of a slot gives way. */
#define STEM_SLOTS 512
/* Longer ones are asked for each time. */
#define STEM_MAX 47

struct stem_row {
	uint64_t stamp; /* walk_stamp of the directory; 0: the row is free */
	unsigned present;
	enum rye_kind kind;
	char stem[STEM_MAX + 1];
};

struct stems {
	pthread_mutex_t lock;
	struct stem_row rows[STEM_SLOTS];
};

struct stems *stems_open(void)
{
	struct stems *stems = calloc(1, sizeof(*stems));

	if (stems)
		pthread_mutex_init(&stems->lock, NULL);
	return stems;
}

void stems_close(struct stems *stems)
{
	if (stems)
		pthread_mutex_destroy(&stems->lock);
	free(stems);
}

/* lock held */
static struct stem_row *stem_slot(struct stems *stems, const struct stem_row *row)
{
	uint64_t hash = hash_text(hash_add(hash_add(HASH_BASIS, row->stamp), row->kind), row->stem);

	return &stems->rows[(hash ^ hash >> 32) % STEM_SLOTS];
}

static bool stems_find(struct stems *stems, struct stem_row *row)
{
	GUARD(&stems->lock);
	const struct stem_row *slot = stem_slot(stems, row);

	if (slot->stamp != row->stamp || slot->kind != row->kind ||
	    strcmp(slot->stem, row->stem) != 0)
		return false;
	row->present = slot->present;
	return true;
}

static void stems_keep(struct stems *stems, const struct stem_row *row)
{
	GUARD(&stems->lock);
	*stem_slot(stems, row) = *row;
}

static struct stem_names stem_look(int dir, enum rye_kind kind, const char *stem)
{
	const char *const *exts = kind_extensions(kind);
	struct stem_names ret = { 0, 0 };

	for (size_t i = 0; exts[i]; i++) {
		char name[RYE_ID_MAX + 32];
		struct stat st;

		snprintf(name, sizeof(name), "%s%s", stem, exts[i]);
		if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
			ret.seen |= 1u << i;
		else if (errno != ENOENT && errno != ENAMETOOLONG)
			ret.untold |= 1u << i;
	}
	return ret;
}

struct stem_names stem_present(struct stems *stems, int dir, enum rye_kind kind, const char *stem)
{
	struct stem_row row = { .kind = kind };
	struct stem_names ret = { 0, 0 };
	struct stat st;

	if (strlen(stem) <= STEM_MAX && fstat(dir, &st) == 0)
		row.stamp = walk_stamp(&st);
	if (row.stamp)
		memcpy(row.stem, stem, strlen(stem) + 1);
	if (row.stamp && stems_find(stems, &row))
		return (struct stem_names){ row.present, 0 };
	ret = stem_look(dir, kind, stem);
	row.present = ret.seen;
	if (!ret.untold && row.stamp && !io_is_remote(dir))
		stems_keep(stems, &row);
	return ret;
}
