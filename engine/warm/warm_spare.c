/* SPDX-License-Identifier: MIT */
/*
 * Which spare processes there are. The lists belong to the pools' lock (warm.c), whose thread
 * makes new ones while the last one taken is running; a worker that finds none starts a
 * process the ordinary way.
 */
#include "warm/warm.h"

#include "clock.h"
#include "process/process.h"
#include "scope.h"

#include <unistd.h>

static struct spare_kind *kind_of(struct spares *spares, struct confine confine)
{
	return &spares->kinds[confine.net | confine.write << 1 | confine.calls << 2 |
			      confine.shown << 3];
}

bool spares_take(struct spares *spares, struct confine confine, bool eager, struct spare *ret)
{
	struct spare_kind *kind = kind_of(spares, confine);

	kind->used_ms = clock_ms();
	kind->kept |= kind->missed || eager;
	kind->missed = true;
	if (!kind->n)
		return false;
	*ret = kind->ready[--kind->n];
	return true;
}

bool spares_lack(const struct spares *spares, struct confine *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(spares->kinds); i++) {
		if (!spares->kinds[i].kept || spares->kinds[i].n == RYE_SPARES)
			continue;
		*ret = (struct confine){ .net = i & 1,
					 .write = i & 2,
					 .calls = i & 4,
					 .shown = (unsigned char)(i >> 3) };
		return true;
	}
	return false;
}

void spares_put(struct spares *spares, const struct spare *spare)
{
	struct spare_kind *kind = kind_of(spares, spare->box->confine);

	kind->ready[kind->n++] = *spare;
}

void spares_give_up(struct spares *spares, struct confine confine)
{
	struct spare_kind *kind = kind_of(spares, confine);

	kind->kept = kind->missed = false;
}

bool spares_take_old(struct spares *spares, int64_t before, struct spare *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(spares->kinds); i++) {
		struct spare_kind *kind = &spares->kinds[i];

		if (kind->used_ms >= before)
			continue;
		kind->kept = kind->missed = false;
		if (!kind->n)
			continue;
		*ret = kind->ready[--kind->n];
		return true;
	}
	return false;
}

bool spare_make(struct boxes *boxes, struct confine confine, bool bound, struct spare *ret)
{
	struct spare spare = { .in = -1 };
	struct spawn_ask ask = { .extra = -1, .bound = bound };
	struct pipes pipes;

	if (box_take(boxes, confine, &spare.box, NULL))
		return false;
	if (pipes_open(&pipes, true, NULL)) {
		box_give(boxes, spare.box, false);
		return false;
	}
	ask.in = pipes.in[0];
	ask.out = pipes.out[1];
	ask.err = pipes.err[1];
	ask.box = spare.box;
	if (spawn_park(&ask, &spare.process, NULL)) {
		pipes_close(&pipes);
		box_give(boxes, spare.box, false);
		return false;
	}
	pipes_close_child(&pipes);
	spare.in = pipes.in[1];
	spare.out = pipes.out[0];
	spare.err = pipes.err[0];
	*ret = spare;
	return true;
}

void spare_close(struct spare *spare)
{
	int *fds[] = { &spare->in, &spare->out, &spare->err };

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		if (*fds[i] >= 0)
			close(*fds[i]);
		*fds[i] = -1;
	}
	spawn_unpark(spare->process);
	spare->process = NULL;
}

void spare_drop(struct boxes *boxes, struct spare *spare)
{
	spare_close(spare);
	box_give(boxes, spare->box, false);
	spare->box = NULL;
}
