/* SPDX-License-Identifier: MIT */
/*
 * index_update.h: how the index learns of changes. Called by the watcher's thread, by whoever
 * writes through us, and, for layers that nobody watches, by lookups.
 */
#ifndef RYE_SPACE_INDEX_UPDATE_H
#define RYE_SPACE_INDEX_UPDATE_H

#include "space/index.h"

/* ---- what changed; filled by the updating functions, told by the watcher ---- */

struct index_change {
	int space;
	enum rye_kind kind; /* RYE_KIND__MAX: no item's file */
	char *path; /* below .ai */
	char *id; /* of the item or merged directory; NULL when kind is none */
};

struct index_changes {
	struct index_change *v;
	size_t n, size;
	bool all; /* too many, or nobody knows: everything */
	bool keys; /* something below config/keys: trust has to be read again */
};

void index_changes_done(struct index_changes *changes);

/* ---- building and updating ---- */

/* Walks every space with up to `threads` threads. `forget`: no remembered verdict survives. */
void index_scan(struct index *index, int threads, bool forget);
/* An event of the watched directory: something happened to `name` ("" the directory itself). */
void index_event(struct index *index, int wd, const char *name, struct index_changes *out);
/* The same by place: path below the space's .ai. */
void index_touch(struct index *index, int space, const char *path, struct index_changes *out);
/* Unwatched layers only: looks at the directories on the way to path, and at its file. */
void index_check(struct index *index, enum rye_kind kind, const char *path,
		 struct index_changes *out);
/* Would index_check have something to look at? */
bool index_unwatched(struct index *index, enum rye_kind kind, const char *path);
/* Looks for spaces whose place did not exist or is another now; now and then, from one thread. */
void index_poll(struct index *index, struct index_changes *out);
/* Forgets every verdict (trust has changed). */
void index_forget(struct index *index);

#endif
