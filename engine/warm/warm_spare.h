/* SPDX-License-Identifier: MIT */
/*
 * warm_spare.h: processes that are started before they are wanted, for tools that are programs
 * of their own: confined in a box each, with their pipes, waiting for the word. What is done
 * on a list is done with the pools' lock held; making and dropping one takes none.
 */
#ifndef RYE_WARM_WARM_SPARE_H
#define RYE_WARM_WARM_SPARE_H

#include "bounds.h"
#include "process/spawn.h"

struct boxes;

struct spare {
	struct spawn_parked *process;
	struct box *box;
	int in, out, err; /* our ends of its pipes */
};

/* One list for each way to be confined. */
struct spares {
	struct spare_kind {
		struct spare ready[RYE_SPARES];
		size_t n;
		bool missed; /* somebody wanted one before */
		bool kept; /* there shall be some */
		int64_t used_ms;
	} kinds[8];
};

/* eager: the first miss is reason enough to keep some. False: none is ready. */
bool spares_take(struct spares *spares, struct confine confine, bool eager, struct spare *ret);
/* How the next one to be made is confined; false: none is wanted. */
bool spares_lack(const struct spares *spares, struct confine *ret);
void spares_put(struct spares *spares, const struct spare *spare);
void spares_give_up(struct spares *spares, struct confine confine); /* it cannot be made */
/* One that nobody has asked for since `before`; with INT64_MAX: any. False: none. */
bool spares_take_old(struct spares *spares, int64_t before, struct spare *ret);

bool spare_make(struct boxes *boxes, struct confine confine, struct spare *ret);
/* What is left of it, used or not, but for the box of a used one. */
void spare_close(struct spare *spare);
void spare_drop(struct boxes *boxes, struct spare *spare);

#endif
