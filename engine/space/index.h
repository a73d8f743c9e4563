/* SPDX-License-Identifier: MIT */
/*
 * index.h: the merged view of all spaces in memory: which items exist, which space wins, which
 * directories there are, and what the last verification of each said.
 *
 * An item is a (kind, id); its sources are the files with that id in all spaces, the best first
 * (space, then the kind's order of extensions). A merged directory is shown while an item lies
 * at or beneath it. Names beginning with a dot, __pycache__ and node_modules are not looked at,
 * nor tool files .json and .toml without a signature line: they are data beside the items.
 *
 * Locks: `lock` guards the tree and is held for microseconds only; every space has an update
 * lock that orders walks and single-file updates of that space and is held during their I/O.
 * Update lock first, then `lock`.
 */
#ifndef RYE_SPACE_INDEX_H
#define RYE_SPACE_INDEX_H

#include "base/log.h"
#include "space/space.h"

#include <stdint.h>

struct index;

/* Adds a watch for an open directory: wd ≥ 0, or -errno. */
typedef int (*index_watch_fn)(void *arg, int dirfd);
typedef void (*index_unwatch_fn)(void *arg, int wd);

struct index_env {
	const struct spaces *spaces;
	const struct log *log;
	const char *avoid; /* absolute path never walked into, or NULL */
	index_watch_fn watch; /* NULL: nothing is watched, every lookup checks */
	index_unwatch_fn unwatch;
	void *arg;
};

int index_open(const struct index_env *env, struct index **ret, struct rye_err *err);
void index_close(struct index *index);

/* The last verification's outcome; a copy, release with index_state_done. */
struct index_state {
	bool known;
	enum rye_code code;
	uint64_t size, version;
	int64_t mtime_ns;
	struct rye_blob *reason; /* one line, or NULL */
};

void index_state_done(struct index_state *state);

/* A copy of what is known of one item. */
struct index_item {
	enum rye_kind kind;
	int space; /* of the winner */
	const char *ext; /* of the winner */
	uint64_t gen; /* changes whenever a source does */
	uint64_t shadows; /* bit per space (the first 64) of the other sources */
	bool ambiguous; /* the winning space has the id twice */
	char id[1024];
	struct index_state state;
};

struct index_found {
	bool is_dir, is_item_dir, is_file;
	struct index_item item; /* when is_item_dir or is_file */
};

/* False: nothing of that name. */
bool index_find(struct index *index, enum rye_kind kind, const char *path, struct index_found *ret);
/* By id or directory-tool alias. */
bool index_item(struct index *index, enum rye_kind kind, const char *id, struct index_item *ret);

struct index_source {
	int space;
	const char *ext;
};
/* All sources of an item, the best first; *ret_n of at most `max`. */
size_t index_sources(struct index *index, enum rye_kind kind, const char *id,
		     struct index_source *ret, size_t max);

/* What a verification found; ignored when the item has changed since `gen`. */
struct index_outcome {
	enum rye_code code;
	uint64_t size, version;
	int64_t mtime_ns; /* of the source */
	const char *reason;
};
bool index_publish(struct index *index, const struct index_item *item,
		   const struct index_outcome *outcome);

struct index_name {
	const char *name; /* in the list's memory */
	bool is_dir;
	struct index_state state;
};

struct index_list {
	size_t n;
	struct index_name *v;
	char *names;
};

/* Sorted bytewise; false: no such directory, or out of memory. */
bool index_list(struct index *index, enum rye_kind kind, const char *dir, struct index_list *ret);
void index_list_done(struct index_list *list);

/* ---- going over everything ---- */

struct index_totals {
	size_t items, known; /* key files among them */
	size_t by_code[RYE_CODE__MAX]; /* without key files */
};
void index_totals(struct index *index, struct index_totals *ret);

struct index_ref {
	enum rye_kind kind;
	char id[1024];
};
/*
 * Some items whose verdict is not known, at most `max` (≥ 16), from *cursor on, 0 at first; it
 * is 0 again when the round is over. Those added meanwhile may be missed.
 */
size_t index_unknown(struct index *index, size_t *cursor, struct index_ref *ret, size_t max);

#endif
