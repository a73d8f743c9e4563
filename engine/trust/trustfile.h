/* SPDX-License-Identifier: MIT */
/* trustfile.h: one trust-store file (items 3.1): read, judged in itself, written. Pure. */
#ifndef RYE_TRUST_TRUSTFILE_H
#define RYE_TRUST_TRUSTFILE_H

#include "base/json.h"
#include "trust/keypair.h"
#include "parse/sigline.h"

/* A key file has some hundred bytes; many scopes make it some thousand. */
#define TRUSTFILE_MAX (64u << 10)

struct trustfile {
	struct key_public key;
	char owner[128];
	size_t n_scope;
	char **scope; /* owned; NULL-terminated, or NULL */
	bool is_signed;
	char signer[KEY_FP]; /* "" when unsigned */
	char hash[65]; /* signed message, already compared with the content */
	char sig[96];
};

/*
 * raw: the file's bytes; stem: its name without ".toml". Refuses (RYE_INVALID) what can never
 * be trusted: broken TOML, another fingerprint in name, text or key, a bad scope, a signature
 * line that is malformed or does not match the content. Who signed is for trust.c to judge.
 */
int trustfile_read(struct rye_span raw, const char *stem, struct trustfile *ret,
		   struct rye_err *err);
void trustfile_done(struct trustfile *file);
/* Ed25519 of the file's own signature line under this key. */
bool trustfile_signed_by(const struct trustfile *file, const unsigned char key[KEY_LEN]);

/* The file text for a key; scope NULL: unscoped. signer NULL: unsigned. stamp as items 2.1. */
struct trustfile_new {
	const struct key_public *key;
	const char *owner;
	const char *category; /* "keys/trusted" */
	const char *const *scope; /* NULL-terminated */
	const struct key_secret *signer;
	const char *stamp;
};
struct rye_blob *trustfile_write(const struct trustfile_new *what);

#endif
