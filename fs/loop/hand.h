/* SPDX-License-Identifier: MIT */
/*
 * hand.h: the requests that one daemon has read and not answered, by their numbers, in memory that the daemon after
 * it sees as well: what is in the hand of one that was killed is answered by that one. Without it those that
 * wait could not even be killed. No lock: each place is one word.
 */
#ifndef RYE_FS_LOOP_HAND_H
#define RYE_FS_LOOP_HAND_H

#include <stdbool.h>
#include <stdint.h>

struct hand;

/* fd: of another daemon's, taken over; -1: a new one. NULL: it is none, or no memory. */
struct hand *hand_open(int fd);
void hand_close(struct hand *hand); /* NULL is fine */
int hand_fd(const struct hand *hand);

void hand_put(struct hand *hand, uint64_t unique);
/* One that is not there, as an INTERRUPT is not, is passed over. */
void hand_take(struct hand *hand, uint64_t unique);
bool hand_empty(const struct hand *hand);
/* Its daemon has gone: EIO for all that is in it. */
void hand_refuse(struct hand *hand, int device);

#endif
