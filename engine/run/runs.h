/* SPDX-License-Identifier: MIT */
/*
 * runs.h: the runs that live: which processes are theirs, what their item may call.
 *
 * Lock: `lock` of struct runs guards the list and every field of its members but `session`,
 * which the child itself writes before exec.
 */
#ifndef RYE_RUN_RUNS_H
#define RYE_RUN_RUNS_H

#include "run/call.h"
#include "sandbox/sandbox.h"

struct living {
	uint64_t number; /* never 0 */
	uint64_t parent; /* the run whose child asked, or 0 */
	unsigned depth; /* of runs above it that were known when it began */
	_Atomic pid_t session; /* of its process; 0: none yet */
	struct rye_call *call; /* NULL once it is over */
	json_t *requires_list; /* of its signed item, owned; NULL: nothing may be called */
	struct confine confine;
	struct living *next;
};

struct runs;

struct runs *runs_open(void);
void runs_close(struct runs *runs);
void runs_cancel_all(struct runs *runs);

struct living *runs_begin(struct runs *runs, struct rye_call *call, uint64_t parent);
/* What its item declares, before its process starts. */
void runs_item(struct runs *runs, struct living *living, const json_t *requires_list,
	       struct confine confine);
/* Its processes may outlive it: it stays known while its session has members. */
void runs_end(struct runs *runs, struct living *living);

/* Nearest run these ancestors (from the process itself upwards) or this session belong to. */
uint64_t runs_of(struct runs *runs, const pid_t *chain, size_t n, pid_t session);
/* The process it was started as; 0: no such run, or none yet. */
pid_t runs_leader(struct runs *runs, uint64_t run);
/*
 * Every ancestor run must allow it too. *ret_foreign: the first one that is not of this
 * registry, who has still to be asked. Signing: never.
 */
bool runs_may(struct runs *runs, uint64_t run, enum rye_verb verb, const char *ref,
	      uint64_t *ret_foreign);
/* Appends copies of the run's list and those above it. *ret_foreign as before. */
void runs_lists(struct runs *runs, uint64_t run, json_t *lists, uint64_t *ret_foreign);
/* One list's word: ref NULL means "some item, named later". */
bool runs_allow(const json_t *requires_list, enum rye_verb verb, const char *ref);
/* What a child of that run is confined to; false: no such run. */
bool runs_confine(struct runs *runs, uint64_t run, struct confine *ret);

/* "rye.execute.tool.rye.bash.*" against "rye.execute.tool.rye.bash.bash"; '*' crosses dots. */
bool runs_match(const json_t *requires_list, const char *primary, const char *ref);

#endif
