/* SPDX-License-Identifier: MIT */
/*
 * conn.h: a connection between this program and a node: frames, the ways to open one, and how each
 * end shows its key. Knows nothing of what is asked. For threads that may wait, never a FUSE
 * thread.
 */
#ifndef RYE_CONN_CONN_H
#define RYE_CONN_CONN_H

#include "base/json.h"
#include "trust/trust.h"

#include <stdint.h>

/*
 * frame.c: type u8, stream u32, length u32, both big-endian, then so many bytes.
 *
 * The client asks on a stream, a number of its own above 0 that it has not used before; the node
 * answers on the same one: any number of DATA, then one REPLY or ERR, which ends the stream. Stream 0
 * is the connection itself: an ERR there ends it. Requests may be under way side by side.
 */

#define FRAME_HEAD 9
/* What a server of HTTP is asked to go on with. */
#define CONN_PROTOCOL "ryefs-node"
#define FRAME_MAX (4u << 20)
/* Before AUTH: no stranger makes us allocate more. */
#define FRAME_SHY (64u << 10)

enum frame_type {
	FRAME_HELLO =
		1, /* both, the client first: {version, nonce}; the node's: card, proof, too */
	FRAME_AUTH = 2, /* client: {key, proof} */
	FRAME_READY = 3, /* node, to AUTH: {fp, owner, limits} of the principal */
	FRAME_ERR = 4, /* both: {code, message}; code: the wire name of docs/errors.md */
	FRAME_PING = 5, /* client, up to 64 bytes: REPLY {} comes back */
	FRAME_REPLY = 6, /* node: the JSON object that ends an answer */
	FRAME_DATA = 7, /* node: bytes of an answer */
	FRAME_INFO = 8, /* client: {}; REPLY: what the node offers and the principal uses */

	FRAME_HEADS = 16, /* client: {project}; REPLY: {manifest, number} */
	FRAME_PACK = 17, /* client: bytes of a pack */
	FRAME_MANIFEST = 18, /* client: a manifest, in full or as a difference */
	FRAME_ASK = 19, /* client: digests; DATA: a bit for each: is it there */
	FRAME_GET = 20, /* client: {manifest, base}; DATA: as in MANIFEST; {blobs}; DATA: a pack */
	FRAME_GC = 21, /* client: {dry_run}; REPLY: {freed, used, limit, …} */

	FRAME_ORDER = 32, /* client: a signed order; REPLY: as it stands */
	FRAME_FOLLOW = 33, /* client: {run, file, offset, once}; DATA until it ends */
	FRAME_WORD = 34, /* client: {run, text}; REPLY: {word}, the number of BOARD_ANSWERS */
	FRAME_CANCEL = 35, /* client: {run} */
	FRAME_LIST = 36, /* client: {…}; REPLY: {runs}; {run}: {order}, the envelope of that run */
};

struct conn_frame {
	enum frame_type type; /* any byte may have come */
	uint32_t stream;
	struct rye_blob *body; /* owned; never NULL once it was read */
};
void frame_done(struct conn_frame *frame);
#define auto_frame __attribute__((cleanup(frame_done)))

void frame_head(unsigned char ret[FRAME_HEAD], enum frame_type type, uint32_t stream, size_t len);
static inline struct rye_span frame_span(const struct conn_frame *frame)
{
	return (struct rye_span){ frame->body->data, frame->body->len };
}
/* Its JSON object, a new reference; or NULL. */
json_t *frame_json(const struct conn_frame *frame, struct rye_err *err);

/* Frames out of bytes as they come; begin with zeros and `most`. */
struct frame_reader {
	uint32_t most; /* longest body */
	unsigned char head[FRAME_HEAD];
	size_t have, got; /* bytes of head, of body */
	struct rye_blob *body;
};
void frame_reader_done(struct frame_reader *reader);
/* Where the next bytes belong, and how many at most: never 0. */
char *frame_reader_place(struct frame_reader *reader, size_t *ret_len);
/* So many were put there. 1: *ret is a whole frame; 0: it is not whole yet; or -code. */
int frame_reader_fed(struct frame_reader *reader, size_t n, struct conn_frame *ret,
		     struct rye_err *err);

/* The body of ERR, to free with json_decref; and what one says: returns its -code. */
json_t *frame_fault(const struct rye_err *err);
int frame_fault_read(const struct conn_frame *frame, struct rye_err *err);

/*
 * conn.c: one connection. Frames are written whole whichever threads send; one thread receives.
 * While a sender waits for the other end and no thread receives, what comes is read and kept, so two
 * ends that both send do not wait for each other.
 */

struct conn;

/* By the row of `transports` that the url's scheme names; until: clock_ms. */
int conn_open(const char *url, struct conn **ret, struct rye_err *err);
/* Can the url be opened at all? RYE_INVALID says what is wanted. */
int conn_check(const char *url, struct rye_err *err);
const char *conn_scheme(size_t n); /* "ssh://"; NULL: there are no more */
/* Over descriptors that are there, which it takes over: they become non-blocking. */
int conn_over(int in, int out, struct conn **ret, struct rye_err *err);
/* Ends what was started for it. NULL is fine. */
void conn_close(struct conn *conn);
DEFINE_AUTO(auto_conn_, struct conn *, conn_close)
#define auto_conn __attribute__((cleanup(auto_conn_)))

/* From any thread: threads that wait, or come later, get RYE_CANCELLED. */
void conn_stop(struct conn *conn);
/* Bodies longer than that are refused; FRAME_MAX at first. */
void conn_limit(struct conn *conn, uint32_t most);

/* RYE_UNREACHABLE: the other end is gone; with what the transport's program said, if there is one. */
int conn_send(struct conn *conn, enum frame_type type, uint32_t stream, struct rye_span body,
	      struct rye_err *err);
int conn_send_json(struct conn *conn, enum frame_type type, uint32_t stream, const json_t *body,
		   struct rye_err *err);
int conn_send_fault(struct conn *conn, uint32_t stream, const struct rye_err *why);
/* until: clock_ms, 0: for as long as it takes. RYE_TIMEOUT: nothing was lost, it can be called again. */
int conn_recv(struct conn *conn, int64_t until, struct conn_frame *ret, struct rye_err *err);
/* The same; also RYE_INTERRUPTED once `also` is readable and no frame is there. */
struct conn_until {
	int64_t ms; /* clock_ms, or 0 */
	int also; /* a descriptor, or -1 */
};
int conn_recv_also(struct conn *conn, const struct conn_until *until, struct conn_frame *ret,
		   struct rye_err *err);

/* A stream number that was not used. */
uint32_t conn_stream(struct conn *conn);
/*
 * Asks and waits for the REPLY, a new reference; of an ERR its code and sentence. data: NULL, or
 * called for each DATA; its result, if not 0, is returned. For the one thread that receives, while it
 * has nothing else under way.
 */
struct conn_ask {
	enum frame_type type;
	const json_t *body;
	int64_t until;
	int (*data)(void *arg, struct rye_span bytes, struct rye_err *err);
	void *arg;
};
int conn_ask(struct conn *conn, const struct conn_ask *ask, json_t **ret, struct rye_err *err);
/* Its second half, of what was sent on that stream. */
int conn_answer(struct conn *conn, const struct conn_ask *ask, uint32_t stream, json_t **ret,
		struct rye_err *err);

/* Since it was opened, heads too. */
struct conn_counts {
	uint64_t sent, received;
};
void conn_counts(struct conn *conn, struct conn_counts *ret);

/*
 * card.c: what a node says of itself, signed by itself: {kind, fp, sign, box, made, sig}.
 */

struct card {
	struct key_public sign; /* its fingerprint is the node's */
	char box[44]; /* X25519, unpadded base64url */
	char made[24];
};
/* The object, a new reference; NULL: out of memory. */
json_t *card_make(const struct key_secret *key, const char *box, const char *made);
/* RYE_INVALID: no card, or not signed by the key in it. */
int card_read(const json_t *doc, struct card *ret, struct rye_err *err);

/*
 * hello.c: whose key each end has. The client's HELLO has a nonce; the node's has one, its card, and
 * a signature over both nonces; AUTH has the client's key and its signature over the same.
 */

#define HELLO_VERSION 1
#define HELLO_NONCE 44

struct hello {
	char client[HELLO_NONCE], node[HELLO_NONCE]; /* the nonces */
	char fp[KEY_FP]; /* of the node */
};
enum hello_side { HELLO_NODE, HELLO_CLIENT };

void hello_nonce(char ret[HELLO_NONCE]);
void hello_prove(const struct hello *hello, enum hello_side side, const struct key_secret *key,
		 char ret[KEY_SIG_TEXT]);
bool hello_proven(const struct hello *hello, enum hello_side side, const unsigned char key[KEY_LEN],
		  const char *proof);
/* The client's part: which node is it, and has it that card's key? */
int hello_node(struct conn *conn, int64_t until, struct hello *ret, struct card *ret_card,
	       struct rye_err *err);
/* And shows our own. *ret: the READY, a new reference. RYE_DENIED: our key is not known there. */
int hello_auth(struct conn *conn, const struct hello *hello, const struct key_secret *key,
	       int64_t until, json_t **ret, struct rye_err *err);
/* The two halves of it: what is asked between them is not waited for twice. */
int hello_show(struct conn *conn, const struct hello *hello, const struct key_secret *key,
	       struct rye_err *err);
int hello_ready(struct conn *conn, int64_t until, json_t **ret, struct rye_err *err);
/* Reads the bodies of the client's frames, for the node. */
int hello_client_read(const struct conn_frame *frame, struct hello *into, struct rye_err *err);
struct hello_auth {
	struct key_public key;
	char proof[KEY_SIG_TEXT];
};
int hello_auth_read(const struct conn_frame *frame, struct hello_auth *ret, struct rye_err *err);

#endif
