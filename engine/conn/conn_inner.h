/* SPDX-License-Identifier: MIT */
/*
 * conn_inner.h: what the files of conn/ share.
 */
#ifndef RYE_CONN_CONN_INNER_H
#define RYE_CONN_CONN_INNER_H

#include "conn/conn.h"
#include "process/process.h"

/* What a transport has opened. */
struct ends {
	int in, out; /* may be one descriptor */
	int said; /* its program's standard error, or -1 */
	struct child child; /* pid 0: none */
	char name[64]; /* of the program, for messages */
	struct tunnel *tunnel; /* http/http.h; NULL: none */
};
void ends_close(struct ends *ends);

/*
 * transport.c: a row for each scheme. `rest` is what stands behind the scheme's name.
 */
struct transport {
	const char *scheme; /* "ssh://" */
	const char *wanted; /* what a url of it looks like */
	int (*check)(const char *rest, struct rye_err *err);
	int (*open)(const char *rest, struct ends *ret, struct rye_err *err);
};
extern const struct transport transport_command, transport_http, transport_https, transport_ssh;
/* The row, and where the rest begins; NULL: RYE_INVALID. */
const struct transport *transport_find(const char *url, const char **ret_rest, struct rye_err *err);

/* transport_child.c: a program whose standard input and output are the connection; argv ends in NULL. */
int transport_start(char *const argv[], struct ends *ret, struct rye_err *err);

/*
 * conn_io.c: bytes. `lock` guards the two turns, the frames that wait and the counts; it is not
 * held while any of that is done: a turn is taken, and given back.
 */
struct conn {
	struct ends ends;
	int wake; /* an eventfd: readable once it is stopped */
	bool in_socket, out_socket; /* frozen */
	struct rye_buf
		said; /* the end of what its program said; of the thread that has the reading turn */
	struct frame_reader reader; /* the same thread's, but `most` */
	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t turn;
	bool writing, reading, stopped;
	struct conn_frame *kept; /* that came while a thread sent, n of them */
	size_t n_kept;
	uint32_t most, stream;
	struct conn_counts counts;
};

int conn_write(struct conn *conn, const unsigned char head[FRAME_HEAD], struct rye_span body,
	       struct rye_err *err);
/* One more frame from the other end, with the reading turn. */
int conn_read(struct conn *conn, const struct conn_until *until, struct conn_frame *ret,
	      struct rye_err *err);
bool conn_turn_read(struct conn *conn, bool wait, int64_t until);
void conn_turn_read_end(struct conn *conn);

#endif
