/* SPDX-License-Identifier: MIT */
/*
 * trust.h: are these bytes what their signer signed, for this place, and does that signer
 * count? Keys, the trust store, verification of bytes in memory, and refusals.
 */
#ifndef RYE_TRUST_TRUST_H
#define RYE_TRUST_TRUST_H

#include "base/log.h"
#include "base/sha.h"
#include "err.h"
#include "parse/parse.h"
#include "scope.h"

#include <pthread.h>

/*
 * keypair.c: Ed25519 keys and their text forms. A fingerprint is of the PEM text, not of the key.
 * Secret keys live only in auto_key variables, which wipe themselves.
 */

#define KEY_LEN 32
#define KEY_FP 17 /* 16 hex digits and NUL */
#define KEY_SIG_TEXT 87 /* 64 bytes in unpadded base64url, and NUL */
/* Longest PEM text that is read: any Ed25519 key is far below. */
#define KEY_PEM_MAX 4096

struct key_public {
	unsigned char bytes[KEY_LEN];
	char fp[KEY_FP];
	char pem[KEY_PEM_MAX]; /* normalised: stripped, LF, exactly one newline at the end */
};

/* A key for another purpose than signing, of a private key's text: HKDF-SHA256 without salt. */
void key_derive(struct rye_span pem, const char *info, unsigned char ret[KEY_LEN]);

/* "-----BEGIN PUBLIC KEY-----" with an Ed25519 SPKI inside; else RYE_INVALID. */
int key_public_parse(struct rye_span pem, struct key_public *ret, struct rye_err *err);
/* The one PEM text we write for a key. */
void key_public_of(const unsigned char bytes[KEY_LEN], struct key_public *ret);

struct key_secret {
	unsigned char bytes[64]; /* libsodium's form: seed and public key */
	struct key_public pub;
};

void key_wipe(struct key_secret *key);
#define auto_key __attribute__((cleanup(key_wipe)))

/* PKCS#8 version 1 or 2 in PEM; pub is derived. RYE_INVALID when it is anything else. */
int key_secret_parse(struct rye_span pem, struct key_secret *ret, struct rye_err *err);
void key_secret_seed(const unsigned char seed[KEY_LEN], struct key_secret *ret);
/* PKCS#8 version 1; returns its length. */
size_t key_secret_pem(const struct key_secret *key, char ret[256]);

/* The signature of message as unpadded base64url. */
void key_sign(const struct key_secret *key, struct rye_span message, char ret[KEY_SIG_TEXT]);
/* Base64url of up to two '='; canonical S, no trailing bits, no small-order points. */
bool key_verify(const unsigned char key[KEY_LEN], struct rye_span sig, struct rye_span message);

/*
 * An X25519 pair beside the signing pair, as the format stores it: raw bytes in unpadded
 * base64url, 43 characters and NUL each. The caller wipes ret_secret.
 */
void key_box_pair(char ret_secret[44], char ret_public[44]);

/*
 * stamped.c: a TOML text behind the line of its signature. Pure.
 */

struct stamped {
	bool is_signed;
	char signer[KEY_FP]; /* "" when unsigned */
	char hash[SHA_HEX]; /* of the text behind the line: what is signed */
	char sig[96];
};
/* RYE_INVALID: a malformed line, or one of another text. Whether the key is its own: stamped_by. */
int stamped_read(struct rye_span text, struct stamped *ret, struct rye_err *err);
bool stamped_by(const struct stamped *stamped, const unsigned char key[KEY_LEN]);
/* The text with its line; stamp: UTC, 2026-01-02T03:04:05Z. NULL: out of memory. */
struct rye_blob *stamped_write(struct rye_span text, const struct key_secret *signer,
			       const char *stamp);

/*
 * trust.c: which keys may vouch for what (docs/items.md has the rules for project-space keys and
 * scopes). A snapshot is immutable and refcounted; the box hands out the current one and is the
 * only place that changes. Verification holds a reference, never a lock.
 */

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
	char *unread; /* a directory of keys that may not be read; or NULL */
};

struct trust_box; /* the current snapshot, and what Ed25519 has already said yes to */

int trust_box_new(const struct spaces *spaces, const struct log *log, struct trust_box **ret,
		  struct rye_err *err);
void trust_box_free(struct trust_box *box);
/*
 * A box of its own with the keys that count now and one more, for these scopes alone; it is never reloaded.
 * NULL: out of memory.
 */
struct trust_box *trust_box_with(struct trust_box *box, const struct key_public *key,
				 const char *const scope[2]);
/* Reads the key files again. On failure the old snapshot stays. */
int trust_reload(struct trust_box *box, struct rye_err *err);
struct trust *trust_get(struct trust_box *box); /* a reference */
void trust_put(struct trust *trust);

DEFINE_AUTO(auto_trust_, struct trust *, trust_put)
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

/*
 * What verification needs of an engine, and what it says of a file. Values only: a
 * verdict's strings are its own.
 */

struct item_store;
struct trust_box;
struct item_env;

/* The forms that configuration of ours has: its readers are in rooms above this one. */
struct config_forms {
	/* as JSON Schema; file: below config/; a new reference, NULL: it may be any */
	json_t *(*schema_fn)(const char *file);
	/* appends what its reader refuses of doc, which is to lie in that space, to issues */
	void (*refused_fn)(const struct item_env *env, const struct space *space, const char *file,
			   const json_t *doc, json_t *issues);
};

/* What an engine is made of as far as items are concerned; frozen after rye_open. */
struct item_env {
	const struct spaces *spaces;
	struct trust_box *trust; /* the current snapshot (trust/trust.h) */
	bool compat, dev_mode;
	struct item_store *store; /* of what was verified (item/item_store.c); or NULL */
	struct config_keep *keep; /* of what was merged (item/merged_kept.c); or NULL */
	const struct config_forms *forms; /* asked when configuration is signed; or NULL */
	const struct log *log;
};

/* Outcome of verification. Every text is in the struct itself. */
struct verdict {
	enum rye_code code; /* RYE_OK: may be served */
	bool dev; /* served in dev mode only: notice says why it would be refused */
	bool bound; /* the binding line covers all bytes, kind and id */
	char hash[SHA_HEX]; /* of the hashed region; "" none, or "unverified" (dev) */
	unsigned char sha[SHA_LEN]; /* of the raw file bytes */
	char sha256[SHA_HEX]; /* the same as text */
	char fingerprint[17]; /* signer, "" when unsigned */
	char owner[128];
	char signed_at[24];
	char provider[64], provider_user[64];
	char coverage[32]; /* "full", "content", "metadata", "none" */
	char notice[512]; /* what is not covered, or a dev-mode warning; "" when nothing */
};

/*
 * keystore.c: the person's own key pair and the user space's trust store (docs/items.md): what
 * ryefs keygen, keys, trust and untrust do.
 */

/* The signing pair. RYE_NOT_FOUND with the format's text when there is none. */
int keystore_load(const struct spaces *spaces, struct key_secret *ret, struct rye_err *err);
/* The same for signing: RYE_UNTRUSTED when what it signs would not count. */
int keystore_signer(const struct item_env *env, struct key_secret *ret, struct rye_err *err);
/* key_derive of the pair that is on disk. */
int keystore_derive(const struct spaces *spaces, const char *info, unsigned char ret[KEY_LEN],
		    struct rye_err *err);
/* Finishes or takes back what a killed process began. */
void keystore_settle(const struct spaces *spaces);
/*
 * The pair that signs what a model wrote, made on first use beside the person's and trusted
 * for that alone (config/keys/automatic/<fp>.toml); the trust snapshot is made anew then.
 */
int keystore_automatic(const struct item_env *env, struct key_secret *ret, struct rye_err *err);

/*
 * A signing and a box pair with the format's names and modes; RYE_INVALID when there is one, which
 * `force` replaces: it stays beside them as NAME.old until the next.
 * before: NULL, or called with the new private key right before it takes the old one's place.
 */
struct keystore_before {
	int (*fn)(void *arg, struct rye_span pem, struct rye_err *err);
	void *arg;
};
int keystore_generate(const struct spaces *spaces, bool force, const struct keystore_before *before,
		      char ret_fp[KEY_FP], struct rye_err *err);

/* The signing pair first, then every key file: the trusted ones, then the others. */
int keystore_list(const struct item_env *env, rye_key_fn fn, void *arg, struct rye_err *err);

/*
 * key: "self", a fingerprint that some space has a file for, or the path of a PEM or trust
 * TOML file. owner NULL: the file's own, else "local"; scope: patterns with commas between them, NULL:
 * the file's own. Always into user space; signed by the person's key when there is one. Then the
 * snapshot is made anew.
 */
int keystore_trust(const struct item_env *env, const char *key, const char *owner,
		   const char *scope, char ret_fp[KEY_FP], struct rye_err *err);
/* The key of such a file, which need not be trusted; owner: the file's, or "". */
int keystore_read(const char *path, struct key_public *ret, char owner[128], struct rye_err *err);
/*
 * A signer's public key into the project, where the reader of a copy finds it to trust it; there
 * it counts for nothing by itself. 1: written; 0: it is there, or there is no such project.
 */
int keystore_share(const struct item_env *env, const struct space *space,
		   const struct key_public *key, struct rye_err *err);
/* Only a file of user space can be taken away; elsewhere it says where the key comes from. */
int keystore_untrust(const struct item_env *env, const char *fp, struct rye_err *err);

/* For keytrust.c: the second pair's files alone, made when there are none. */
int keystore_second(const struct spaces *spaces, struct key_secret *ret, bool *ret_new,
		    struct rye_err *err);

/*
 * reason.c: a refusal in one line, with the command that mends it (docs/files.md). Pure.
 */

/* A symbolic link shows it behind ".why/EKEYREJECTED: ", 255 bytes in all. */
#define REASON_MAX 208

struct reason {
	enum rye_kind kind;
	const char *id, *root; /* root: of its space */
	enum rye_space space; /* items of bundles are not signed by their users */
};

/* The command: "ryefs sign tool:a/b", "ryefs sign --space user tool:a/b"; "" when there is none. */
void reason_remedy(const struct reason *about, const struct rye_err *err, char *line, size_t size);
/*
 * "what; mend with: command", cut to REASON_MAX. Of the id at most 80 bytes of [A-Za-z0-9._/-]: of
 * one that has others nothing.
 */
void reason_line(const struct reason *about, const struct rye_err *err, char line[REASON_MAX]);

/*
 * verify.c: are these bytes what their signer signed, for this place? Takes the steps that
 * docs/items.md lists under Verification. Works on bytes in memory; opens nothing.
 */

struct verify_ask {
	enum rye_kind kind;
	const char *id, *ext; /* the place */
	const char *path; /* absolute, for messages */
	struct rye_span raw;
	bool compat;
	bool unsigned_ok; /* config: no signature line is a notice, a wrong one stays wrong */
	const unsigned char *known; /* SHA-256 of bytes verified here before, or NULL */
	bool bundled; /* of a bundle: its user cannot sign it */
	bool users; /* of the user space, which `ryefs sign` has to be told */
	bool dev; /* integrity refusals become warnings (never for system items and config) */
};

struct verified {
	struct verdict verdict; /* filled whatever the outcome */
	bool known; /* the very bytes of ask->known: their signature was not computed again */
	/*
	 * What to serve and parse: the caller's reference, or NULL when it is raw itself. A new
	 * text where compat read CR as LF or put an empty line for an unsigned shebang. Without
	 * its header lines it is shebang followed by body.
	 */
	struct rye_blob *text;
	struct rye_span shebang, body; /* in text, or in raw */
	struct directive_shape shape; /* of a directive: within its body */
};

/*
 * 0 when the bytes may be served. On refusal *err has the format's message and
 * ret->verdict.code == err->code; nothing but the verdict is set then.
 */
int verify_bytes(const struct item_env *env, const struct verify_ask *ask, struct verified *ret,
		 struct rye_err *err);

#endif
