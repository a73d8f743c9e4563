/* SPDX-License-Identifier: MIT */
/*
 * store.h: a place for objects that are written once and never changed: packs, by the names that
 * their contents give them. No head, no lock and no queue lies in a store, so all that it has to promise is
 * that an object is whole and durable when `store_put` has returned. What comes back is not believed:
 * the reader verifies it.
 *
 * No locks: any thread may call these; several processes may have one store open.
 */
#ifndef RYE_STORE_STORE_H
#define RYE_STORE_STORE_H

#include "buf.h"

/* Of an object: a pack. One is read into memory whole. */
#define STORE_OBJECT_MAX (16u << 20)
/* Letters of a name: "packs/ab/" and a digest have 73. */
#define STORE_NAME_MAX 128

struct store;

/*
 * where: "dir:PATH" or an absolute path, a directory that is made for its owner alone; or "s3://BUCKET[/PREFIX]?…", whose
 * words are in s3_inner.h. RYE_UNREACHABLE, RYE_DENIED: of the way to the objects, as of the functions below.
 */
int store_open(const char *where, struct store **ret, struct rye_err *err);
void store_close(struct store *store); /* NULL is fine */
/* Can an object be put there, got back and deleted? What is wrong is told to be mended. */
int store_try(const char *where, struct rye_err *err);

/*
 * Names are of [0-9a-z/.-], relative, without "." and ".." and without an empty part: RYE_INVALID else. A name
 * has one content, so an object that is there already is put anew: that mends it if it was damaged.
 */
int store_put(struct store *store, const char *name, struct rye_span bytes, struct rye_err *err);

struct store_range {
	const char *name;
	uint64_t off;
	size_t len; /* exactly; STORE_WHOLE: to the end of it, at most STORE_OBJECT_MAX bytes */
};
#define STORE_WHOLE SIZE_MAX
/* Adds them to *ret. RYE_NOT_FOUND: no such object; RYE_IO: it is shorter. */
int store_get(struct store *store, const struct store_range *range, struct rye_buf *ret,
	      struct rye_err *err);

struct store_object {
	const char *name;
	uint64_t size;
	int64_t made; /* seconds since 1970 */
};
typedef int (*store_fn)(void *arg, const struct store_object *object); /* nonzero stops */
/* In no order; what is put or deleted meanwhile may be told or not. Returns what fn did, or -code. */
int store_list(struct store *store, store_fn fn, void *arg, struct rye_err *err);

/* What is not there is no error. */
int store_del(struct store *store, const char *name, struct rye_err *err);

#endif
