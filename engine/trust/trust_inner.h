/* SPDX-License-Identifier: MIT */
/*
 * trust_inner.h: what the files of trust/ share.
 */
#ifndef RYE_TRUST_TRUST_INNER_H
#define RYE_TRUST_TRUST_INNER_H

#include "base/json.h"
#include "base/sha.h"
#include "err.h"
#include "parse/parse.h"
#include "trust/trust.h"

#include <sys/types.h>

/*
 * The state of one verification, shared by verify.c and coverage.c only.
 */

struct check {
	const struct item_env *env;
	const struct verify_ask *ask;
	struct verdict *v;
	bool known; /* these bytes were verified, in this very place */
	struct sig_rule rule;
	struct rye_blob *lf; /* raw with LF only; NULL: raw has no CR */
	struct rye_span text; /* what the format's signature speaks of: raw or lf */
	struct sig_head head; /* of text */
	struct sig_head raw; /* of the raw bytes; without CR the same */
	struct trust *trust;
	const struct trust_key *key; /* the signer, once found */
};

/*
 * After the format's own signature was found good: does it, with the binding line, cover these
 * bytes and this place? Sets verdict.bound, .coverage and .notice.
 */
int coverage_check(struct check *c, struct rye_err *err);

/* The shebang that the format's hash leaves out, wherever it stands; or empty. */
struct rye_span coverage_open_shebang(const struct check *c);

/*
 * keystage.c: several files of one directory replaced together. They are written into a
 * directory of their own first; one rename decides, the others follow. A process that ends in
 * between leaves a stage, which the next command finishes or removes.
 */

/* The deciding file, and the ones that follow it. */
#define KEYSTAGE_FIRST "private_key.pem"

struct keystage_file {
	const char *name, *text;
	mode_t mode;
};

/*
 * Both last until dir is closed, and end first what another process has left there: what it had
 * decided is put in place, all else removed, temporary files too. What cannot be done, on a
 * read-only disk for instance, stays. On a file system without flock both go on without the lock.
 */
void keystage_share(int dir); /* to read: no other process replaces files meanwhile */
void keystage_lock(int dir); /* to replace: alone */

/* With the lock; files[0] is KEYSTAGE_FIRST. After an error before the decision all is as it was. */
int keystage_put(int dir, const struct keystage_file *files, size_t n, struct rye_err *err);

/*
 * memo.c: a bounded, thread-safe set of 32-byte digests: which signatures have already been
 * checked and found good. It may forget, it never invents.
 */

struct memo;

struct memo *memo_new(void); /* NULL: out of memory */
void memo_free(struct memo *memo); /* NULL is fine */
bool memo_has(struct memo *memo, const unsigned char digest[SHA_LEN]);
void memo_add(struct memo *memo, const unsigned char digest[SHA_LEN]);

/*
 * refusal.c: the texts of refused items, each ending in the command that mends it.
 */

struct trust;
struct trust_key;

int refuse_unsigned(const struct verify_ask *ask, struct rye_err *err);
int refuse_line(const struct verify_ask *ask, const struct verdict *v, struct rye_err *err);
int refuse_modified(const struct verify_ask *ask, const struct verdict *v, struct rye_span wanted,
		    struct rye_err *err);
int refuse_untrusted(const struct verify_ask *ask, const struct verdict *v,
		     const struct trust *trust, struct rye_err *err);
/* The key is trusted, but not for this item. */
int refuse_scope(const struct verify_ask *ask, const struct verdict *v, const struct trust_key *key,
		 struct rye_err *err);
int refuse_signature(const struct verify_ask *ask, const struct verdict *v, struct rye_err *err);
/* what: the uncovered bytes or the reason; both ways out are told. */
int refuse_uncovered(const struct verify_ask *ask, const struct verdict *v, bool changed,
		     const char *what, struct rye_err *err);
int refuse_moved(const struct verify_ask *ask, const struct verdict *v, const char *where,
		 struct rye_err *err);

/*
 * trustfile.c: one trust-store file (docs/items.md): read, judged in itself, written. Pure.
 */

/* A key file has some hundred bytes; many scopes make it some thousand. */
#define TRUSTFILE_MAX (64u << 10)

struct trustfile {
	struct key_public key;
	char owner[128];
	size_t n_scope;
	char **scope; /* owned; NULL-terminated, or NULL */
	struct stamped line; /* its digest is already compared with the content */
};

/*
 * raw: the file's bytes; stem: its name without ".toml". Refuses (RYE_INVALID) what can never
 * be trusted: broken TOML, another fingerprint in name, text or key, a bad scope, a signature
 * line that is malformed or does not match the content. trust.c judges the signer.
 */
int trustfile_read(struct rye_span raw, const char *stem, struct trustfile *ret,
		   struct rye_err *err);
void trustfile_done(struct trustfile *file);
/* Ed25519 of the file's own signature line under this key. */
bool trustfile_signed_by(const struct trustfile *file, const unsigned char key[KEY_LEN]);

/* "<kind>:<glob>" or "state:<glob>" */
bool trustfile_scope_ok(const char *glob);
/* The file text for a key; scope NULL: unscoped. signer NULL: unsigned. stamp: UTC,
 * 2026-01-02T03:04:05Z. */
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
