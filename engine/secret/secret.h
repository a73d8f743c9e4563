/* SPDX-License-Identifier: MIT */
/*
 * secret.h: the person's secrets: names and values in one encrypted file of the user space
 * (docs/tools.md, Secrets). Which items ask for a name is decided in plan/asked_env.c.
 */
#ifndef RYE_SECRET_SECRET_H
#define RYE_SECRET_SECRET_H

#include "base/json.h"
#include "trust/trust.h"

struct marks;
struct spaces;

/*
 * secret_name.c, secret_text.c: what the file holds. Pure. Values are an object of strings; members that are
 * anything else, which other programs may have put there, are kept and never given to a tool.
 */

#define SECRET_NAME_MAX 255
#define SECRET_VALUE_MAX (64u << 10)
#define SECRET_COUNT_MAX 256
#define SECRET_TOTAL_MAX (1u << 20)
/* Of the file: what JSON's escapes can make of all values. */
#define SECRET_FILE_MAX (8u << 20)

/* RYE_INVALID, with a sentence that repeats no value: no name or value to keep. */
int secret_name_check(const char *name, struct rye_err *err);
int secret_value_check(struct rye_span value, struct rye_err *err);
/* The value that a tool may get; NULL: none. Borrowed. */
const char *secret_value(const json_t *values, const char *name);

/* Nonce, then ChaCha20-Poly1305 of the canonical JSON. */
int secret_seal(const json_t *values, const unsigned char key[KEY_LEN], struct rye_blob **ret,
		struct rye_err *err);
/* A new object. RYE_IO: another key's, changed, or no such file. No message tells what is in it. */
int secret_unseal(struct rye_span sealed, const unsigned char key[KEY_LEN], json_t **ret,
		  struct rye_err *err);

/*
 * secret_store.c: the file, under a key that is derived from the person's signing key. The lock is
 * flock(2) of its directory, held by the process that changes it; readers take none.
 */

/* All values, a new object; empty when there is no store. */
int secret_load(const struct spaces *spaces, json_t **ret, struct rye_err *err);
/* Notes the files that secret_load reads; marks may be NULL. */
void secret_mark(const struct spaces *spaces, struct marks *marks);
int secret_set(const struct spaces *spaces, const char *name, struct rye_span value,
	       struct rye_err *err);
int secret_list(const struct spaces *spaces, rye_secret_fn fn, void *arg, struct rye_err *err);
int secret_remove(const struct spaces *spaces, const char *name, struct rye_err *err);

/*
 * As keystore_generate; what the old key had sealed is sealed under the new one. Where that cannot be
 * opened, nothing is done, unless it is to be forgotten: then it lies aside as store.enc.old.
 */
int secret_keygen(const struct spaces *spaces, enum rye_keygen how, char ret_fp[KEY_FP],
		  struct rye_err *err);

#endif
