/* SPDX-License-Identifier: MIT */
/*
 * trust.h: which keys may vouch for what (items 3, with this project's rules for project-space
 * keys, scopes and cycles). A snapshot is immutable and refcounted; the box hands out the
 * current one and is the only place that changes. Verification holds a reference, never a lock.
 */
#ifndef RYE_TRUST_TRUST_H
#define RYE_TRUST_TRUST_H

#include "base/log.h"
#include "trust/keypair.h"

#include <pthread.h>

struct space;
struct spaces;

struct trust_key {
	char fp[KEY_FP];
	char owner[128];
	unsigned char bytes[KEY_LEN];
	const struct space *space;
	char path[64]; /* below .ai */
	size_t n_scope; /* 0: everything */
	char **scope; /* "<kind>:<glob>" or "state:<glob>" */
	char status[160]; /* "trusted", or why not */
	bool trusted;
};

struct trust {
	_Atomic unsigned refs;
	uint64_t generation; /* of the box, first 1 */
	size_t n, n_keys; /* the first n are trusted and sorted by fp; then the others */
	struct trust_key *keys;
};

struct trust_box; /* the current snapshot, and what Ed25519 has already said yes to */

int trust_box_new(const struct spaces *spaces, const struct log *log, struct trust_box **ret,
		  struct rye_err *err);
void trust_box_free(struct trust_box *box);
/* Reads the key files again. On failure the old snapshot stays. */
int trust_reload(struct trust_box *box, struct rye_err *err);
struct trust *trust_get(struct trust_box *box); /* a reference */
void trust_put(struct trust *trust);

static inline void auto_trust_(struct trust **held)
{
	if (*held)
		trust_put(*held);
}
#define auto_trust __attribute__((cleanup(auto_trust_)))

/* The trusted key of that fingerprint, or NULL. Borrowed from the snapshot. */
const struct trust_key *trust_find(const struct trust *trust, struct rye_span fp);
/* ref: "tool:a/b" or "state:threads/x"; an unscoped key covers everything. */
bool trust_covers(const struct trust_key *key, const char *ref);
/* "fp, fp" of all trusted keys, or "none"; cut with an ellipsis. */
void trust_names(const struct trust *trust, char *text, size_t size);

/* key_verify, remembered: a yes is a pure fact about (key, signature, message). */
bool trust_check(struct trust_box *box, const struct trust_key *key, struct rye_span sig,
		 struct rye_span message);
/* Ed25519 verifications actually done since start. */
uint64_t trust_checks(const struct trust_box *box);

#endif
