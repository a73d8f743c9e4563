/* SPDX-License-Identifier: MIT */
/*
 * chain.h: tool → runtime → primitive (tools 1). Every element is loaded by rye_load, hence
 * verified; the chain holds a reference to each.
 */
#ifndef RYE_PLAN_CHAIN_H
#define RYE_PLAN_CHAIN_H

#include "bounds.h"
#include "item/meta.h"

struct prim;

struct link {
	struct rye_item *item;
	struct tool_meta meta;
};

struct chain_start {
	struct rye_item *item;
	bool ambiguous;
};

struct chain {
	size_t n;
	struct link v[RYE_CHAIN_MAX];
	const struct prim *prim; /* of the last element */
	json_t *warnings; /* array of strings: aliases, notices, ambiguous names */
};

#define auto_chain __attribute__((cleanup(chain_done)))

/*
 * Takes over first->item. On failure ret holds what was built so far (give it to chain_done all
 * the same). Errors: RYE_NO_EXECUTOR, RYE_CHAIN_LOOP, those of rye_load.
 */
int chain_build(const struct item_env *env, struct chain_start *first, struct chain *ret,
		struct rye_err *err);
void chain_done(struct chain *chain);

/* Spaces, inputs and outputs, versions of each pair (tools 1.5). */
int chain_check(const struct chain *chain, struct rye_err *err);

/* New references: ids; objects as tools 1.6; "child -> parent". */
json_t *chain_ids(const struct chain *chain);
json_t *chain_detail(const struct chain *chain);
json_t *chain_pairs(const struct chain *chain);
/* Elements that hide one of the same id in a lower space: [{item_id, space, path}]; or NULL. */
json_t *chain_shadowed(const struct item_env *env, const struct chain *chain);
/* The trace's "resolve" and "verify_integrity" steps are added. */
void chain_trace(const struct item_env *env, const struct chain *chain, json_t *trace);

/* The first element from `at` on whose tool_type is "runtime"; NULL: none. */
const struct link *chain_runtime(const struct chain *chain);

/* -1, 0, 1 as PEP 440 orders releases; false: one of them is no version. */
bool version_compare(const char *a, const char *b, int *ret);

/* chain.json: the resolved chain with spaces, hashes, signers …; a new reference. (chain_view.c) */
json_t *chain_view(const struct item_env *env, const struct rye_item *tool, struct rye_err *err);

#endif
