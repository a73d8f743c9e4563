/* SPDX-License-Identifier: MIT */
/*
 * keystore.h: the person's own key pair and the user space's trust store (items 3.3, 3.6):
 * what ryefs keygen, keys, trust and untrust do.
 */
#ifndef RYE_TRUST_KEYSTORE_H
#define RYE_TRUST_KEYSTORE_H

#include "trust/verdict.h"
#include "trust/keypair.h"

/* The signing pair. RYE_NOT_FOUND with the format's text when there is none. */
int keystore_load(const struct spaces *spaces, struct key_secret *ret, struct rye_err *err);
/*
 * The pair that signs what a model wrote, made on first use beside the person's and trusted
 * for that alone (config/keys/automatic/<fp>.toml); the trust snapshot is made anew then.
 */
int keystore_automatic(const struct item_env *env, struct key_secret *ret, struct rye_err *err);

/* A signing and a box pair with the format's names and modes; RYE_INVALID when there is one. */
int keystore_generate(const struct spaces *spaces, bool force, char ret_fp[KEY_FP],
		      struct rye_err *err);

/* The signing pair first, then every key file: the trusted ones, then the others. */
int keystore_list(const struct item_env *env, rye_key_fn fn, void *arg, struct rye_err *err);

/*
 * key: "self", a fingerprint that some space has a file for, or the path of a PEM or trust
 * TOML file. owner NULL: the file's own, else "local". Always into user space; signed by the
 * person's key when there is one. Then the snapshot is made anew.
 */
int keystore_trust(const struct item_env *env, const char *key, const char *owner,
		   char ret_fp[KEY_FP], struct rye_err *err);
/* Only a file of user space can be taken away; elsewhere it says where the key comes from. */
int keystore_untrust(const struct item_env *env, const char *fp, struct rye_err *err);

/* For keytrust.c: the second pair's files alone, made when there are none. */
int keystore_second(const struct spaces *spaces, struct key_secret *ret, bool *ret_new,
		    struct rye_err *err);

#endif
