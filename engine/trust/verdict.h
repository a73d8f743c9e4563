/* SPDX-License-Identifier: MIT */
/*
 * verdict.h: what verification needs of an engine, and what it says of a file. Values only: a
 * verdict's strings are its own.
 */
#ifndef RYE_TRUST_VERDICT_H
#define RYE_TRUST_VERDICT_H

#include "base/log.h"
#include "base/sha.h"

struct space;
struct item_store;
struct spaces;
struct trust_box;

/* What an engine is made of as far as items are concerned; frozen after rye_open. */
struct item_env {
	const struct spaces *spaces;
	struct trust_box *trust; /* the current snapshot (trust/trust.h) */
	bool compat, dev_mode;
	struct item_store *store; /* of what was verified (item/item_store.h); or NULL */
	const struct log *log;
};

/* Outcome of verification. Strings belong to the item's (or the caller's) arena of memory. */
struct verdict {
	enum rye_code code; /* RYE_OK: may be served */
	bool dev; /* served in dev mode only: notice says why it would be refused */
	bool bound; /* the binding line covers all bytes, kind and id */
	char hash[SHA_HEX]; /* of the hashed region (items 2.4); "" none, or "unverified" (dev) */
	char sha256[SHA_HEX]; /* of the raw file bytes */
	char fingerprint[17]; /* signer, "" when unsigned */
	char owner[128];
	char signed_at[24];
	char provider[64], provider_user[64];
	char coverage[32]; /* "full", "content", "metadata", "none" */
	char notice[512]; /* what is not covered, or a dev-mode warning; "" when nothing */
};

#endif
