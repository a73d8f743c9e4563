/* SPDX-License-Identifier: MIT */
/*
 * item.h: the one way to an item. rye_load locates, reads once, verifies and parses the same
 * bytes; render, plan and run take a struct rye_item, so unsigned bytes cannot reach them.
 *
 * A loaded item is frozen: readers on any thread need no lock. It keeps the space alive by
 * belonging to the engine that outlives it.
 */
#ifndef RYE_ITEM_ITEM_H
#define RYE_ITEM_ITEM_H

#include "base/json.h"
#include "parse/parse.h"
#include "space/space.h"
#include "trust/verdict.h"

#include <sys/stat.h>

/*
 * A file's bytes and what a parser made of them; says nothing of who signed them.
 *
 *   id       canonical, without extension
 *   ext      of the kind's table, ".py"
 *   abspath  for messages
 *   raw      the file's bytes, exactly
 *   shebang, body  the text without its header lines is these two
 *   meta     the parser's map (docs/items.md), frozen
 */
#define PARSED_ITEM_FIELDS             \
	enum rye_kind kind;            \
	const struct space *space;     \
	char *id;                      \
	const char *ext;               \
	char *abspath;                 \
	struct rye_blob *raw;          \
	struct rye_span shebang, body; \
	struct stat st;                \
	json_t *meta;

struct parsed_item {
	PARSED_ITEM_FIELDS
};

/* Verified: made by load.c alone (tests/lint/items.py), so to have one is to have proof. */
struct rye_item {
	_Atomic unsigned refs;
	union {
		struct parsed_item parsed;
		struct {
			PARSED_ITEM_FIELDS
		};
	};
	char *path; /* below the space's .ai: "tools/a/b.py" */
	struct rye_blob *text; /* what is served and parsed: verified, header lines as they were */
	struct directive_shape shape; /* of a directive's text */
	struct verdict verdict;
	struct rye_err parse; /* RYE_OK, or why meta is partial (never so for a directive) */
};

/*
 * The item, verified and parsed, with a reference for the caller. Fails with RYE_NOT_FOUND
 * ("Tool not found: a/b"), with an integrity code and the message of items 3.4, RYE_UNPARSABLE,
 * RYE_TOO_BIG …; a bad signature in a higher space never falls through to a lower one.
 */
int rye_load(const struct item_env *env, const struct item_ask *ask, struct rye_item **ret,
	     struct rye_err *err);
/* A named file (dependencies, config): same checks; kind says whose rules. */
struct path_ask {
	const struct space *space;
	enum rye_kind kind;
	const char *path; /* below the space's .ai */
	bool unsigned_ok; /* set by item/merged.c alone: without a signature it is taken, with a notice */
	bool passing; /* of very many: what the store holds is worth more than this one */
};
int rye_load_path(const struct item_env *env, const struct path_ask *ask, struct rye_item **ret,
		  struct rye_err *err);

struct rye_item *rye_item_ref(const struct rye_item *item);
void rye_item_unref(struct rye_item *item);

static inline void auto_item_(struct rye_item **held)
{
	rye_item_unref(*held);
}

#define auto_item __attribute__((cleanup(auto_item_)))

/*
 * Locates and verifies without parsing; for listings, verify and info of refused items.
 * Returns 0 with ret->code set whenever the file exists; an error only when it does not.
 */
struct glance {
	struct verdict verdict;
	const struct space *space;
	const char *ext;
	char id[1024], path[1024];
	struct stat st;
	struct rye_err why; /* of the refusal */
};
int item_glance(const struct item_env *env, const struct item_ask *ask, struct glance *ret,
		struct rye_err *err);

#endif
