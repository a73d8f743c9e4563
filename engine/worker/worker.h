/* SPDX-License-Identifier: MIT */
/*
 * worker.h: a worker of a node: takes orders from the board, verifies each by itself, runs it as a thread in
 * a process of its own, tells what comes out, and settles with a receipt. It believes the board nothing but
 * that an order waits: what is run stands in the order, which its asker has signed.
 */
#ifndef RYE_WORKER_WORKER_H
#define RYE_WORKER_WORKER_H

#include "base/log.h"

#include <stdint.h>

/* Of a lease, and how long a silent run may still end; RYE_NODE_LEASE_MS and RYE_NODE_SILENT_MS change them. */
#define WORKER_LEASE_MS 60000
#define WORKER_SILENT_MS 900000

struct worker_ask {
	const char *node; /* its directory */
	int64_t idle_ms; /* it ends when there was nothing to do for so long; 0: never */
	bool sole; /* it ends at once where one works already */
	int stop; /* readable once it is to end: what it has begun goes on, and is taken up by the next; or -1 */
	struct log log;
};
/* On the calling thread, until it ends. RYE_NOT_FOUND: there is no node. */
int worker_serve(const struct worker_ask *ask, struct rye_err *err);

#endif
