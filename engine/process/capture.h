/* SPDX-License-Identifier: MIT */
/*
 * capture.h: sees a started process through: feeds its standard input, reads both outputs with
 * a cap, ends its group when time is over or the call was cancelled, and returns when it has
 * ended, not when the last holder of its pipes has (tools 3.1). Waits on descriptors only.
 */
#ifndef RYE_PROCESS_CAPTURE_H
#define RYE_PROCESS_CAPTURE_H

#include "buf.h"
#include "process/events.h"
#include "process/spawn.h"

struct capture_ask {
	struct child child; /* taken over: reaped, pidfd closed. pid < 0: none of ours */
	pid_t group; /* process group to end */
	int control; /* of a warm interpreter: "D<code>\n" or "X<status>\n" ends it; -1: none */
	int in, out, err; /* our ends of its pipes, taken over; in may be -1 */
	struct rye_span input;
	int cancel; /* readable: somebody wants it to end; -1: nobody can */
	int64_t timeout_ms; /* 0: none */
	size_t cap; /* of each output */
	struct events *events; /* told of what it prints; NULL: no listener */
};

struct captured {
	struct rye_buf out, err;
	uint64_t out_bytes, err_bytes; /* that were written; more than .len: truncated */
	struct ended ended;
	bool timed_out, cancelled;
	bool background; /* something of it still holds a pipe */
	int64_t ms;
};

/* Blocking pipes of the child's side, non-blocking of ours; all close-on-exec. */
struct pipes {
	int in[2], out[2], err[2]; /* [0] reads, [1] writes; -1: none */
};
int pipes_open(struct pipes *pipes, bool input, struct rye_err *err);
void pipes_close_child(struct pipes *pipes); /* the three ends the child has */
void pipes_close(struct pipes *pipes);

/* A file without a name that holds this text and nobody can change any more; -errno. */
int sealed_open(const struct rye_blob *text);

void capture(struct capture_ask *ask, struct captured *ret);
void captured_done(struct captured *captured);

#endif
