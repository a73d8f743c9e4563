/* SPDX-License-Identifier: MIT */
/*
 * chain.h: the elements of a run, from the tool to the primitive that carries it out, verified.
 */
#ifndef RYE_CHAIN_CHAIN_H
#define RYE_CHAIN_CHAIN_H

#include "bounds.h"
#include "item/item.h"

/*
 * prim.c: the primitives, by id. What carries one out is `prim_NAME` of run/prim_NAME.c.
 */

/* ROW(NUMBER, name, members of struct prim). A new one is that file and a row. */
#define PRIMS(ROW)                                                                         \
	ROW(GRAPH, graph, .ids = { "rye/core/primitives/graph" }, .names_threads = true)   \
	ROW(HTTP, http, .ids = { "rye/core/primitives/http_client" }, .config_asks = true) \
	ROW(MCP, mcp, .ids = { "rye/core/primitives/mcp" }, .own_output = true)            \
	ROW(MCP_SERVERS, mcp_servers, .ids = { "rye/core/primitives/mcp_servers" })        \
	ROW(REMOTE, remote, .ids = { "rye/core/primitives/remote" })                       \
	ROW(SUBPROCESS, subprocess,                                                        \
	    .ids = { "rye/core/primitives/execute", "rye/core/primitives/subprocess" },    \
	    .starts_command = true)

#define PRIM_NUMBER(number, ...) PRIM_##number,
enum prim_number { PRIMS(PRIM_NUMBER) PRIM__MAX };
#undef PRIM_NUMBER

/* Names of one primitive. */
#define PRIM_IDS 2

struct prim {
	enum prim_number number;
	const char *ids[PRIM_IDS];
	/* It starts the program of config.command: a shell script without one is given to bash. */
	bool starts_command;
	/* Any ${NAME} of the signed config is asked for, not only those of its env. */
	bool config_asks;
	/* It checks output_schema itself: what it describes is a part of the result. */
	bool own_output;
	/* Ids of its threads begin with the item's, not with chance. */
	bool names_threads;
};

const struct prim *prim_find(const char *id); /* NULL: no primitive of ours */

/*
 * chain.c: tool → runtime → primitive (docs/tools.md). Every element is loaded by rye_load, hence
 * verified; the chain holds a reference to each.
 */

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

/* Where what an item names is looked for: from its own space downwards. */
const struct space *chain_search_from(const struct item_env *env, const struct rye_item *item);

/* Spaces, inputs and outputs, versions of each pair. */
int chain_check(const struct chain *chain, struct rye_err *err);

/* New references to arrays: ids; an object for each element; "child -> parent". */
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
