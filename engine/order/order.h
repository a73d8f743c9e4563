/* SPDX-License-Identifier: MIT */
/*
 * order.h: what is asked of another machine, signed by the asker, and what came of it, signed by the
 * worker. Both are JSON whose canonical form is signed; how they travel and where they wait is
 * the business of others. Pure but for the random numbers of ids and seals: no I/O, no lock, no state.
 */
#ifndef RYE_ORDER_ORDER_H
#define RYE_ORDER_ORDER_H

#include "base/id.h"
#include "base/json.h"
#include "trust/trust.h"

#include <rye/rye.h>

/* An envelope is one frame's payload, which has 4 MiB; what is bigger is pushed as a file. */
#define ORDER_MAX ((4u << 20) - 4096)
#define ORDER_SECRETS_MAX 64 /* names in one order */
#define ORDER_DAYS 7 /* between `made` and `not_after`, at most */
#define ORDER_SKEW_S 300 /* by which two machines' clocks may differ */

/*
 * order.c: the order. Texts and documents are borrowed by order_sign; of a read one they are `envelope`'s.
 */
struct order {
	char id[ID_UUID_MAX]; /* made by the asker: the thread's, there and here */
	char node[KEY_FP]; /* it is for this one: the fingerprint of the card that is pinned */
	char asker[KEY_FP]; /* the key that signs it */
	char project[ID_NAME_MAX + 1]; /* id_is_name, as secrets and labels */
	char manifest[SHA_HEX]; /* of what the run finds as its project; "": nothing was pushed */
	char ref[RYE_REF_MAX]; /* "tool:a/b" */
	char item_sha[SHA_HEX]; /* of the item's file as the asker has verified it */
	bool fork; /* a directive's thread with a model; false: run, and its reply */
	bool again; /* the item says `idempotent: true`: a lost run may be begun again */
	char model[129]; /* "": what is configured there */
	char previous[ID_UUID_MAX]; /* the run that a model goes on with; "": none */
	double reserve; /* dollars that the asker's ledger holds for it */
	int64_t made, not_after; /* seconds since 1970 */
	/* NULL: empty */
	const json_t *parameters, *limit_overrides; /* objects */
	const json_t
		*items; /* {path below .ai: text}: files of the asker's user space that it needs */
	const json_t *before; /* what the threads that handed over to it have cost */
	const json_t *above; /* a list of capabilities for each thread above it */
	const json_t
		*message; /* what is said to the model that goes on: a list of at most one text */
	const json_t *signers; /* PEM texts of keys that the asker vouches for in this run */
	const json_t *secrets, *labels; /* names */
	json_t *doc, *envelope; /* of one that was signed, was read; order_done */
	char sha[SHA_HEX]; /* of the canonical form */
	char signature[KEY_SIG_TEXT];
	const char *sealed; /* the values of `secrets` (order_seal.c), or NULL */
};
#define auto_order __attribute__((cleanup(order_done)))
void order_done(struct order *order);

/*
 * Signs what is filled in: asker, doc, sha and signature are set. RYE_INVALID names the member that
 * no node would take. An order that was signed once is sent as it is, however often.
 */
int order_sign(struct order *order, const struct key_secret *key, struct rye_err *err);
/* The envelope, one line: {"order":…,"sealed":…,"signature":…}. */
int order_put(const struct order *order, struct rye_buf *ret, struct rye_err *err);
/* Takes an envelope apart. The signature is not looked at: order_check does that. */
int order_read(struct rye_span envelope, struct order *ret, struct rye_err *err);

struct order_want {
	const unsigned char
		*key; /* KEY_LEN bytes: the asker's, as this node's own file of principals has it */
	const char *node; /* our fingerprint */
	int64_t now; /* seconds since 1970 */
};
/* Signed by that key, for this node, and neither over nor of the future. */
int order_check(const struct order *order, const struct order_want *want, struct rye_err *err);

/*
 * order_seal.c: secrets on their way: a sealed box to the node's X25519 key, in which the order's id and
 * digest stand, so that one that was taken from another order does not open.
 */
/* box: the public half, of the card. values: {NAME: text}. *ret is the caller's (free). */
int order_seal(const struct order *order, const json_t *values, const char *box, char **ret,
	       struct rye_err *err);
/* Only names that the order lists; RYE_DENIED for another order's, RYE_INVALID for a damaged one. */
int order_unseal(const struct order *order, const unsigned char box_secret[KEY_LEN], json_t **ret,
		 struct rye_err *err);

/*
 * receipt.c: what came of it. A worker signs with a key of its own, for which the node's key vouches.
 */
struct receipt {
	char id[ID_UUID_MAX]; /* of the order, which is the run's */
	char order[SHA_HEX]; /* digest of the order */
	char node[KEY_FP], worker[KEY_FP];
	int64_t gen; /* which attempt: 1 but for idempotent items */
	char status[32]; /* as in a thread's row; "refused" where it was not begun; RECEIPT_BEGUN */
	char result[SHA_HEX]; /* of result.json; "": there is none */
	char manifest[SHA_HEX]; /* of the project as the run left it; "": nothing was kept of it */
	char transcript_head[SHA_HEX]; /* of the last checkpoint; "" */
	char signer[44]; /* the key that has signed the records of a model's thread, base64url; "" */
	char began[40], ended[40]; /* as clock_iso_us */
	const json_t *cost; /* object, or NULL: none */
	char code[32]; /* of docs/errors.md, where it was refused; "" */
	char reason[512]; /* one sentence where it was refused or has failed; "" */
	json_t *doc, *envelope; /* as of an order; receipt_done */
	char key[KEY_PEM_MAX]; /* the worker's */
	char vouched[KEY_SIG_TEXT];
	char signature[KEY_SIG_TEXT];
};
/* The status of one of a run that goes on: it is the end of none. */
#define RECEIPT_BEGUN "running"
#define auto_receipt __attribute__((cleanup(receipt_done)))
void receipt_done(struct receipt *receipt);

/* The node's word for a worker's key. */
void receipt_vouch(const struct key_secret *node, const struct key_public *worker,
		   char ret[KEY_SIG_TEXT]);
/* One line: {"key":…,"receipt":…,"signature":…,"vouched":…}; worker and doc of *receipt are set. */
int receipt_sign(struct receipt *receipt, const struct key_secret *worker, const char *vouched,
		 struct rye_buf *ret, struct rye_err *err);
int receipt_read(struct rye_span envelope, struct receipt *ret, struct rye_err *err);

struct receipt_want {
	const struct key_public *node; /* pinned */
	const char *id, *order; /* of the order that was sent, and its digest */
	bool begun; /* RECEIPT_BEGUN, and no other */
};
/* Signed by a worker of that node, for this order. RYE_UNTRUSTED, RYE_BAD_SIGNATURE, RYE_MOVED. */
int receipt_check(const struct receipt *receipt, const struct receipt_want *want,
		  struct rye_err *err);

#endif
