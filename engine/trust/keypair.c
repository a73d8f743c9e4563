/* SPDX-License-Identifier: MIT */
/*
 * Key material: PEM, the two shapes of PKCS#8 that exist for Ed25519, signing and verifying
 * with libsodium (37 us against OpenSSL's 63). Files are keystore.c's business. Every buffer
 * that has held a secret is wiped before its scope ends, on error paths too.
 */
#include "trust/trust.h"

#include "base/sha.h"
#include "str.h"

#include <sodium.h>
#include <stdio.h>

#define DER_MAX 256

static const unsigned char spki_prefix[] = { 0x30, 0x2a, 0x30, 0x05, 0x06, 0x03,
					     0x2b, 0x65, 0x70, 0x03, 0x21, 0x00 };
static const unsigned char pkcs8_prefix[] = { 0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06,
					      0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20 };
static const unsigned char algorithm[] = { 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70 };

struct der {
	unsigned char bytes[DER_MAX];
	size_t len;
};

static void wipe_der(struct der *der)
{
	sodium_memzero(der, sizeof(*der));
}

void key_wipe(struct key_secret *key)
{
	sodium_memzero(key, sizeof(*key));
}

/* ---- PEM ---- */

static int not_pem(struct rye_err *err, const char *label)
{
	return rye_fail(err, RYE_INVALID, "not a %s: wanted -----BEGIN %s----- with an Ed25519 key",
			label, label);
}

/* The base64 between the armour lines of `label`, decoded. pem is stripped already. */
static int pem_der(struct rye_span pem, const char *label, struct der *ret, struct rye_err *err)
{
	char begin[64], end[64];
	size_t n;

	snprintf(begin, sizeof(begin), "-----BEGIN %s-----", label);
	snprintf(end, sizeof(end), "-----END %s-----", label);
	n = strlen(begin) + strlen(end);
	if (pem.len < n || !span_starts(pem, begin) || !span_ends(pem, end))
		return not_pem(err, label);
	if (sodium_base642bin(ret->bytes, sizeof(ret->bytes), pem.ptr + strlen(begin), pem.len - n,
			      "\n\r \t", &ret->len, NULL, sodium_base64_VARIANT_ORIGINAL))
		return not_pem(err, label);
	return 0;
}

/* Stripped, CR LF as LF, one newline at the end: the text that the fingerprint is of. */
static bool keypair_normalise(struct rye_span pem, char ret[KEY_PEM_MAX])
{
	size_t n = 0;

	pem = span_strip_unicode(pem);
	if (pem.len + 2 > KEY_PEM_MAX)
		return false;
	for (size_t i = 0; i < pem.len; i++)
		if (pem.ptr[i] != '\r' || i + 1 == pem.len || pem.ptr[i + 1] != '\n')
			ret[n++] = pem.ptr[i];
	ret[n++] = '\n';
	ret[n] = 0;
	return strlen(ret) == n;
}

static void set_fingerprint(struct key_public *key)
{
	char hex[SHA_HEX];

	sha256_hex(span_of(key->pem), hex);
	memcpy(key->fp, hex, KEY_FP - 1);
	key->fp[KEY_FP - 1] = 0;
}

int key_public_parse(struct rye_span pem, struct key_public *ret, struct rye_err *err)
{
	struct key_public key = { 0 };
	struct der der = { .len = 0 };
	int r;

	/* a CR that is left is no line end: TOML could not hold the text */
	if (!keypair_normalise(pem, key.pem) || strchr(key.pem, '\r'))
		return not_pem(err, "PUBLIC KEY");
	r = pem_der(span_trim(span_of(key.pem)), "PUBLIC KEY", &der, err);
	if (r < 0)
		return r;
	if (der.len != sizeof(spki_prefix) + KEY_LEN ||
	    memcmp(der.bytes, spki_prefix, sizeof(spki_prefix)))
		return not_pem(err, "PUBLIC KEY");
	memcpy(key.bytes, der.bytes + sizeof(spki_prefix), KEY_LEN);
	set_fingerprint(&key);
	*ret = key;
	return 0;
}

static size_t put_armour(const struct der *der, const char *label, char *ret, size_t size)
{
	char base64[512];
	int n;

	sodium_bin2base64(base64, sizeof(base64), der->bytes, der->len,
			  sodium_base64_VARIANT_ORIGINAL);
	n = snprintf(ret, size, "-----BEGIN %s-----\n%s\n-----END %s-----\n", label, base64, label);
	sodium_memzero(base64, sizeof(base64));
	return (size_t)n;
}

void key_public_of(const unsigned char bytes[KEY_LEN], struct key_public *ret)
{
	struct der der = { .len = sizeof(spki_prefix) + KEY_LEN };

	memcpy(der.bytes, spki_prefix, sizeof(spki_prefix));
	memcpy(der.bytes + sizeof(spki_prefix), bytes, KEY_LEN);
	memcpy(ret->bytes, bytes, KEY_LEN);
	put_armour(&der, "PUBLIC KEY", ret->pem, sizeof(ret->pem));
	set_fingerprint(ret);
}

/* ---- PKCS#8 ---- */

struct cursor {
	const unsigned char *at, *end;
};

static bool keypair_eat(struct cursor *c, const unsigned char *bytes, size_t n)
{
	if ((size_t)(c->end - c->at) < n || memcmp(c->at, bytes, n))
		return false;
	c->at += n;
	return true;
}

/* Tag and length in the short form, which is all that fits into a key; enters the value. */
static bool keypair_enter(struct cursor *c, unsigned char tag, struct cursor *ret)
{
	size_t left = (size_t)(c->end - c->at);

	if (left < 2 || c->at[0] != tag || c->at[1] > 127 || c->at[1] > left - 2)
		return false;
	*ret = (struct cursor){ c->at + 2, c->at + 2 + c->at[1] };
	c->at = ret->end;
	return true;
}

/* Version 2 may carry the public key, in the implicit or the explicit spelling. */
static bool public_part(struct cursor *c, const unsigned char **ret)
{
	static const unsigned char zero[] = { 0 };
	struct cursor attributes, outer, bits;

	*ret = NULL;
	keypair_enter(c, 0xa0, &attributes);
	if (c->at == c->end)
		return true;
	if (keypair_enter(c, 0xa1, &outer)) {
		if (!keypair_enter(&outer, 0x03, &bits) || outer.at != outer.end)
			return false;
	} else if (!keypair_enter(c, 0x81, &bits)) {
		return false;
	}
	if (c->at != c->end || !keypair_eat(&bits, zero, 1) || bits.end - bits.at != KEY_LEN)
		return false;
	*ret = bits.at;
	return true;
}

static bool pkcs8(const struct der *der, const unsigned char **ret_seed,
		  const unsigned char **ret_public)
{
	static const unsigned char v1[] = { 2, 1, 0 }, v2[] = { 2, 1, 1 };
	struct cursor whole = { der->bytes, der->bytes + der->len }, body, octets, seed;
	bool second = false;

	if (!keypair_enter(&whole, 0x30, &body) || whole.at != whole.end)
		return false;
	if (!keypair_eat(&body, v1, sizeof(v1))) {
		second = keypair_eat(&body, v2, sizeof(v2));
		if (!second)
			return false;
	}
	if (!keypair_eat(&body, algorithm, sizeof(algorithm)) ||
	    !keypair_enter(&body, 0x04, &octets) || !keypair_enter(&octets, 0x04, &seed) ||
	    octets.at != octets.end || seed.end - seed.at != KEY_LEN)
		return false;
	*ret_seed = seed.at;
	*ret_public = NULL;
	return second ? public_part(&body, ret_public) : body.at == body.end;
}

int key_secret_parse(struct rye_span pem, struct key_secret *ret, struct rye_err *err)
{
	__attribute__((cleanup(wipe_der))) struct der der = { .len = 0 };
	const unsigned char *seed, *public;
	int r;

	r = pem_der(span_trim(pem), "PRIVATE KEY", &der, err);
	if (r < 0)
		return r;
	if (!pkcs8(&der, &seed, &public))
		return not_pem(err, "PRIVATE KEY");
	key_secret_seed(seed, ret);
	if (!public || !memcmp(ret->pub.bytes, public, KEY_LEN))
		return 0;
	key_wipe(ret);
	return rye_fail(err, RYE_INVALID, "the private key's public half belongs to another key");
}

void key_secret_seed(const unsigned char seed[KEY_LEN], struct key_secret *ret)
{
	unsigned char public[KEY_LEN];

	crypto_sign_seed_keypair(public, ret->bytes, seed);
	key_public_of(public, &ret->pub);
}

size_t key_secret_pem(const struct key_secret *key, char ret[256])
{
	__attribute__((cleanup(wipe_der))) struct der der = { .len = sizeof(pkcs8_prefix) +
								     KEY_LEN };

	memcpy(der.bytes, pkcs8_prefix, sizeof(pkcs8_prefix));
	memcpy(der.bytes + sizeof(pkcs8_prefix), key->bytes, KEY_LEN);
	return put_armour(&der, "PRIVATE KEY", ret, 256);
}

void key_derive(struct rye_span pem, const char *info, unsigned char ret[KEY_LEN])
{
	static const unsigned char no_salt[32], counter = 1;
	crypto_auth_hmacsha256_state hmac;
	unsigned char drawn[32];

	_Static_assert(KEY_LEN == sizeof(drawn), "one block of HKDF");
	crypto_auth_hmacsha256_init(&hmac, no_salt, sizeof(no_salt));
	crypto_auth_hmacsha256_update(&hmac, (const unsigned char *)pem.ptr, pem.len);
	crypto_auth_hmacsha256_final(&hmac, drawn);
	crypto_auth_hmacsha256_init(&hmac, drawn, sizeof(drawn));
	crypto_auth_hmacsha256_update(&hmac, (const unsigned char *)info, strlen(info));
	crypto_auth_hmacsha256_update(&hmac, &counter, 1);
	crypto_auth_hmacsha256_final(&hmac, ret);
	sodium_memzero(drawn, sizeof(drawn));
	sodium_memzero(&hmac, sizeof(hmac));
}

/* ---- signatures ---- */

void key_sign(const struct key_secret *key, struct rye_span message, char ret[KEY_SIG_TEXT])
{
	unsigned char sig[64];

	crypto_sign_detached(sig, NULL, (const unsigned char *)message.ptr, message.len,
			     key->bytes);
	b64url_of(sig, sizeof(sig), ret);
}

bool key_verify(const unsigned char key[KEY_LEN], struct rye_span sig, struct rye_span message)
{
	unsigned char bytes[64];

	return b64url_to(sig, bytes, sizeof(bytes)) &&
	       !crypto_sign_verify_detached(bytes, (const unsigned char *)message.ptr, message.len,
					    key);
}

void key_box_pair(char ret_secret[44], char ret_public[44])
{
	unsigned char secret[32], public[32];

	crypto_box_keypair(public, secret);
	b64url_of(secret, sizeof(secret), ret_secret);
	b64url_of(public, sizeof(public), ret_public);
	sodium_memzero(secret, sizeof(secret));
}
