/* SPDX-License-Identifier: MIT */
/*
 * keypair.h: Ed25519 keys and their text forms (items 2.5, 3.6). A fingerprint is of the PEM
 * text, not of the key. Secret keys live only in auto_key variables, which wipe themselves.
 */
#ifndef RYE_TRUST_KEYPAIR_H
#define RYE_TRUST_KEYPAIR_H

#include "scope.h"
#include "err.h"

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

#endif
