/* SPDX-License-Identifier: MIT */
/*
 * verbs.h: from the verb of a request to what carries it out: one table of verbs, one of kinds
 * for those that run an item. Only exec.c calls in here; what the rows name knows run.h alone.
 */
#ifndef RYE_EXEC_VERBS_H
#define RYE_EXEC_VERBS_H

#include "exec/run.h"

/* The whole way from the verb to a filled reply. */
void verbs_run(struct run *run);

/* Rows: on the run's worker; each leaves a complete reply. */
void prim_fetch(struct run *run);
void prim_sign(struct run *run);
void run_tool(struct run *run);
void run_directive(struct run *run);
void run_knowledge(struct run *run);

#endif
