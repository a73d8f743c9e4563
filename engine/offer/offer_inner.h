/* SPDX-License-Identifier: MIT */
/*
 * offer_inner.h: what the files of offer/ share. All of it is over rye.h: an item's text comes here
 * verified, as everybody else gets it.
 */
#ifndef RYE_OFFER_OFFER_INNER_H
#define RYE_OFFER_OFFER_INNER_H

#include "base/json.h"
#include "scope.h"
#include "skill/skill.h"

#include <rye/rye.h>

/* ---- offer_name.c ---- */

/* The name of an item as a skill: "sample/count_words" → "sample-count-words". False: it has none. */
bool offer_name(const char *id, char ret[SKILL_NAME_MAX + 1]);

/* ---- offer_table.c: which items are shown as skills, by their names ---- */

struct offer {
	char name[SKILL_NAME_MAX + 1]; /* "": it can have none, and is not shown */
	enum rye_kind kind;
	char *path; /* its file, below the kind's directory */
	uint64_t version; /* of which `wanted` is so */
	bool wanted; /* it is of a kind that always is, or its metadata says so */
};

/* Frozen once filled. */
struct offer_table {
	_Atomic unsigned refs;
	struct offer *v; /* by name, then as kinds count */
	size_t n, size;
};

struct offer_table *offer_table_ref(struct offer_table *table); /* NULL is fine to both */
void offer_table_unref(struct offer_table *table);
DEFINE_AUTO(auto_offers_, struct offer_table *, offer_table_unref)
#define auto_offers __attribute__((cleanup(auto_offers_)))
/* was: the table of before, or NULL, whose items are not looked into again where they have not changed. */
int offer_table_fill(struct rye *rye, bool bundles, const struct offer_table *was,
		     struct offer_table **ret, struct rye_err *err);
/* The one that has the name; NULL: none, or two of the same kind would. */
const struct offer *offer_table_find(const struct offer_table *table, const char *name);

/* ---- offer_clash.c ---- */

/* Those of a table that are not shown; what fn has stopped with. */
int offer_table_clashes(struct rye_offers *offers, const struct offer_table *table, rye_clash_fn fn,
			void *arg);

/* ---- offer_text.c ---- */

/* The SKILL.md of an item; query: its inputs, or NULL. */
int offer_text(struct rye *rye, const struct rye_skill *skill, const char *name, const char *query,
	       struct rye_blob **ret, struct rye_err *err);
/* The SKILL.md of a skill with $ARGUMENTS filled in. */
int offer_fill(const struct rye_blob *text, const char *query, struct rye_blob **ret,
	       struct rye_err *err);

/* ---- offer_guide.c ---- */

#define OFFER_GUIDE "ryefs"
/* The SKILL.md of `ryefs`. refused: names of skills. */
struct rye_blob *offer_guide(const json_t *refused);

#endif
