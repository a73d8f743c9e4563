/* SPDX-License-Identifier: MIT */
/*
 * hand.c - the numbers of the requests in a daemon's hand.
 *
 * Owns a memfd of HAND_PLACES words. A number lies in one of the HAND_NEAR places behind its hash; where all of them
 * are taken it is not kept, and it matters only when the daemon is killed.
 */
#include "loop/hand.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define HAND_PLACES 4096 /* a power of two */
#define HAND_NEAR 16 /* two lines of the cache */
#define HAND_SIZE (HAND_PLACES * sizeof(uint64_t))

struct hand {
	int fd;
	_Atomic uint64_t *places;
};

struct hand *hand_open(int fd)
{
	struct hand *hand = calloc(1, sizeof(*hand));
	struct stat st;
	void *at;

	if (!hand)
		return NULL;
	hand->fd = fd < 0 ? memfd_create("ryefs-hand", MFD_CLOEXEC) : fd;
	if (fd < 0 && hand->fd >= 0 && ftruncate(hand->fd, HAND_SIZE))
		st.st_size = 0;
	if (hand->fd < 0 || fstat(hand->fd, &st) || st.st_size != HAND_SIZE) {
		hand_close(hand);
		return NULL;
	}
	at = mmap(NULL, HAND_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, hand->fd, 0);
	if (at == MAP_FAILED) {
		hand_close(hand);
		return NULL;
	}
	hand->places = at;
	return hand;
}

void hand_close(struct hand *hand)
{
	if (!hand)
		return;
	if (hand->places)
		munmap((void *)hand->places, HAND_SIZE);
	if (hand->fd >= 0)
		close(hand->fd);
	free(hand);
}

int hand_fd(const struct hand *hand)
{
	return hand->fd;
}

static _Atomic uint64_t *hand_place(const struct hand *hand, uint64_t unique, unsigned i)
{
	/* the kernel counts in steps of two: FUSE_REQ_ID_STEP */
	uint64_t at = unique / 2 * HAND_NEAR + i;

	return &hand->places[(at + at / HAND_PLACES) % HAND_PLACES];
}

/* 'was' becomes 'is' in one of its places. */
static void hand_change(struct hand *hand, uint64_t unique, uint64_t was, uint64_t is)
{
	for (unsigned i = 0; i < HAND_NEAR; i++) {
		_Atomic uint64_t *place = hand_place(hand, unique, i);
		uint64_t expected = was;

		if (atomic_load_explicit(place, memory_order_relaxed) == was &&
		    atomic_compare_exchange_strong(place, &expected, is))
			return;
	}
}

void hand_put(struct hand *hand, uint64_t unique)
{
	hand_change(hand, unique, 0, unique);
}

void hand_take(struct hand *hand, uint64_t unique)
{
	hand_change(hand, unique, unique, 0);
}

bool hand_empty(const struct hand *hand)
{
	for (size_t i = 0; i < HAND_PLACES; i++)
		if (atomic_load(&hand->places[i]))
			return false;
	return true;
}

void hand_refuse(struct hand *hand, int device)
{
	for (size_t i = 0; i < HAND_PLACES; i++) {
		uint64_t unique = atomic_exchange(&hand->places[i], 0);
		const struct fuse_out_header out = { .len = sizeof(out),
						     .error = -EIO,
						     .unique = unique };
		ssize_t n = unique ? write(device, &out, sizeof(out)) : 0;

		/* its caller may have gone */
		(void)n;
	}
}
