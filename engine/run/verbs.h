/* SPDX-License-Identifier: MIT */
/*
 * verbs.h: the table of verbs of requests, and that of the kinds that run. A new verb is a value
 * of enum rye_verb, a row in verbs.c with the function that carries it out, and a row of the
 * front's table for its control file. No state.
 */
#ifndef RYE_RUN_VERBS_H
#define RYE_RUN_VERBS_H

#include "base/id.h"

struct run; /* run.h */

/* What a child of a run may. */
enum verb_child {
	VERB_CHILD_REQUIRES, /* what the signed `requires` above it name */
	VERB_CHILD_READS, /* everything: it only reads, and asks itself for what does more */
	VERB_CHILD_NEVER,
};

struct verb {
	void (*carry_out)(struct run *run); /* leaves a complete reply */
	bool runs; /* starts something: not with norun */
	bool names; /* the message is a request that names its item; else the item's parameters */
	bool dry_run, async, fork; /* how the item beside the message is to run */
	enum verb_child child;
};

const struct verb *verb_row(enum rye_verb verb);

/* The whole way from the verb to a filled reply; exec.c calls it. */
void verbs_run(struct run *run);

/* Rows: on the run's worker; each leaves a complete reply. */
void prim_fetch(struct run *run);
void prim_sign(struct run *run);
void run_tool(struct run *run);
void run_directive(struct run *run);
void run_knowledge(struct run *run);

#endif
