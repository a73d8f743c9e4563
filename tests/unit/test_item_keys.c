/* SPDX-License-Identifier: MIT */
/* Keys: PEM, PKCS#8 in its two shapes, fingerprints, signatures, the pair on disk. */
#include "item_place.h"

#include "trust/trust.h"

#include <sodium.h>
#include <sys/stat.h>

#define PEM1                                                             \
	"-----BEGIN PUBLIC KEY-----\n"                                   \
	"MCowBQYDK2VwAyEAA6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg=\n" \
	"-----END PUBLIC KEY-----\n"

static void public_key_of_the_vectors(void **state)
{
	struct key_public key, again;
	char hex[65];

	assert_works(&told_err, key_public_parse(SPAN(PEM1), &key, &told_err));
	hex_of(key.bytes, KEY_LEN, hex);
	assert_string_equal(hex,
			    "03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8");
	assert_string_equal(key.fp, KEY1);
	assert_string_equal(key.pem, PEM1);
	assert_int_equal(strlen(key.pem), 113);
	key_public_of(key.bytes, &again);
	assert_string_equal(again.pem, PEM1);
	assert_string_equal(again.fp, KEY1);
}

/* Blanks around and line ends of another system do not change the fingerprint. */
static void fingerprint_is_of_the_normal_text(void **state)
{
	static const char text[] =
		"\n -----BEGIN PUBLIC KEY-----\r\n"
		"MCowBQYDK2VwAyEAA6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg=\r\n"
		"-----END PUBLIC KEY-----\n\n\n";
	struct key_public key;

	assert_works(&told_err, key_public_parse(SPAN(text), &key, &told_err));
	assert_string_equal(key.fp, KEY1);
}

static void texts_that_are_no_public_key(void **state)
{
	static const char *const texts[] = {
		"",
		"-----BEGIN PUBLIC KEY-----",
		"-----BEGIN PUBLIC KEY----------END PUBLIC KEY-----",
		"-----BEGIN PUBLIC KEY-----\nMCow\n-----END PUBLIC KEY-----",
		"-----BEGIN PUBLIC KEY-----\n!!!!\n-----END PUBLIC KEY-----",
		/* X25519 */
		"-----BEGIN PUBLIC KEY-----\n"
		"MCowBQYDK2VuAyEAA6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg=\n"
		"-----END PUBLIC KEY-----",
		/* a CR inside */
		"-----BEGIN PUBLIC KEY-----\n"
		"MCowBQYDK2VwAyEAA6EHv/POEL4d\rcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg=\n"
		"-----END PUBLIC KEY-----",
		"-----BEGIN PRIVATE KEY-----\n"
		"MC4CAQAwBQYDK2VwBCIEIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f\n"
		"-----END PRIVATE KEY-----",
	};
	char big[KEY_PEM_MAX + 10];
	struct key_public key;
	struct rye_err err;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		assert_refused(&err, RYE_INVALID, key_public_parse(span_of(texts[i]), &key, &err));
		assert_non_null(strstr(err.msg, "PUBLIC KEY"));
	}
	memset(big, 'A', sizeof(big));
	assert_refused(&told_err, RYE_INVALID,
		       key_public_parse((struct rye_span){ big, sizeof(big) }, &key, &told_err));
	assert_refused(&told_err, RYE_INVALID,
		       key_public_parse(SPAN("-----BEGIN PUBLIC KEY-----\0-----END PUBLIC "
					     "KEY-----"),
					&key, &told_err));
}

/* DER in PEM armour. */
static void private_pem(const char *hex, char *ret, size_t size)
{
	unsigned char der[200];
	char base64[300];
	size_t n = strlen(hex) / 2;

	assert_int_equal(sodium_hex2bin(der, sizeof(der), hex, 2 * n, NULL, NULL, NULL), 0);
	sodium_bin2base64(base64, sizeof(base64), der, n, sodium_base64_VARIANT_ORIGINAL);
	snprintf(ret, size, "-----BEGIN PRIVATE KEY-----\n%s\n-----END PRIVATE KEY-----\n", base64);
}

#define SEED_HEX "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
#define PUB_HEX "03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8"
#define ALG "300506032b6570"

static void both_shapes_of_private_keys(void **state)
{
	static const char *const good[] = {
		"302e020100" ALG "04220420" SEED_HEX,
		"3051020101" ALG "04220420" SEED_HEX "812100" PUB_HEX,
		"3053020101" ALG "04220420" SEED_HEX "a123032100" PUB_HEX,
		"302e020101" ALG "04220420" SEED_HEX,
		"3053020101" ALG "04220420" SEED_HEX "a000812100" PUB_HEX,
	};
	auto_key struct key_secret key = { 0 };
	char pem[600], again[256];

	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		private_pem(good[i], pem, sizeof(pem));
		assert_works(&told_err, key_secret_parse(span_of(pem), &key, &told_err));
		assert_string_equal(key.pub.fp, KEY1);
	}
	key_secret_pem(&key, again);
	private_pem(good[0], pem, sizeof(pem));
	assert_string_equal(again, pem);
}

static void broken_private_keys(void **state)
{
	static const char *const bad[] = {
		"302e020102" ALG "04220420" SEED_HEX, /* version */
		"302e020100300506032b656e04220420" SEED_HEX, /* X25519 */
		"302d020100" ALG "04220420" SEED_HEX, /* lengths */
		"302e020100" ALG "04210420" SEED_HEX,
		"302e020100" ALG "0422041f" SEED_HEX,
		"302e020100" ALG "04220420" SEED_HEX "00", /* behind the end */
		"3051020100" ALG "04220420" SEED_HEX "812100" PUB_HEX, /* v1 with a public key */
		"3051020101" ALG "04220420" SEED_HEX "812101" PUB_HEX, /* unused bits */
		"3051020101" ALG "04220420" SEED_HEX "812100" SEED_HEX, /* another key's */
		"30",
		"3000",
		"308180",
	};
	auto_key struct key_secret key = { 0 };
	char pem[600];

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		private_pem(bad[i], pem, sizeof(pem));
		if (key_secret_parse(span_of(pem), &key, NULL) != -RYE_INVALID)
			fail_msg("%s", bad[i]);
	}
}

static void T34_signature_over_a_digest(void **state)
{
	auto_key struct key_secret key = { 0 };
	const struct rye_span digest =
		SPAN("781b4793af1217e93a85034cadb69ca1388b87de31952705e40e1bfed469caa0");
	char sig[KEY_SIG_TEXT], hex[SHA_HEX];

	sha256_hex(SPAN("{\"f\":0.5,\"l\":[1,\"2\"],\"n\":1,\"status\":\"completed\",\"thread_"
			"id\":\"a/b-1\",\"u\":\"\\u00e9\",\"x\":null}"),
		   hex);
	assert_true(span_eq(digest, hex));
	place_key(0, &key);
	key_sign(&key, digest, sig);
	assert_string_equal(sig, "p61eDUPK9A3YWyOEWx-eonXG_u-Hix1cqCpgvRGiCTs5Fa_"
				 "AHHMackWDawjzBsAAVY2_k3kV3MNGlswdRaMqDw");
	assert_true(key_verify(key.pub.bytes, span_of(sig), digest));
	sig[3] ^= 1;
	assert_false(key_verify(key.pub.bytes, span_of(sig), digest));
}

static void secrets_are_wiped(void **state)
{
	static const unsigned char zero[sizeof(struct key_secret)];
	struct key_secret key;

	place_key(7, &key);
	key_wipe(&key);
	assert_memory_equal(&key, zero, sizeof(key));
}

static mode_t mode_of(const char *dir, const char *name)
{
	struct stat st;
	char path[300];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	assert_int_equal(stat(path, &st), 0);
	return st.st_mode & 07777;
}

static void generated_pair(void **state)
{
	auto_key struct key_secret key = { 0 };
	struct rye_err err = { 0 };
	char first[KEY_FP], second[KEY_FP];
	struct test_place p;

	place_make(&p);
	unsetenv("RYE_SIGNING_KEY_DIR");
	place_open(&p, false);
	assert_true(str_ends(p.spaces->key_dir, "/user/.ai/config/keys/signing"));
	assert_refused(&err, RYE_NO_KEY, keystore_load(p.spaces, &key, &err));
	assert_works(&err, keystore_generate(p.spaces, false, NULL, first, &err));
	assert_int_equal(mode_of(p.spaces->key_dir, ""), 0700);
	assert_int_equal(mode_of(p.spaces->key_dir, "private_key.pem"), 0600);
	assert_int_equal(mode_of(p.spaces->key_dir, "public_key.pem"), 0644);
	assert_int_equal(mode_of(p.spaces->key_dir, "box_key.pem"), 0600);
	assert_int_equal(mode_of(p.spaces->key_dir, "box_pub.pem"), 0644);
	assert_works(&err, keystore_load(p.spaces, &key, &err));
	assert_string_equal(key.pub.fp, first);
	assert_refused(&err, RYE_INVALID, keystore_generate(p.spaces, false, NULL, second, &err));
	assert_works(&err, keystore_generate(p.spaces, true, NULL, second, &err));
	assert_string_not_equal(first, second);
	place_drop(&p);
}

/* Half a new pair must not sign with the wrong name. */
static void halves_that_do_not_belong_together(void **state)
{
	auto_key struct key_secret key = { 0 };
	struct rye_err err = { 0 };
	char fp[KEY_FP], path[300];
	struct test_place p;
	int fd;

	place_make(&p);
	place_open(&p, false);
	assert_works(&told_err, keystore_generate(p.spaces, false, NULL, fp, &told_err));
	snprintf(path, sizeof(path), "%s/public_key.pem", p.spaces->key_dir);
	fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	assert_int_equal(io_write_all(fd, PEM1, sizeof(PEM1) - 1), 0);
	close(fd);
	assert_refused(&err, RYE_INVALID, keystore_load(p.spaces, &key, &err));
	assert_non_null(strstr(err.msg, "is not the public half"));
	assert_int_equal(unlink(path), 0);
	assert_works(&err, keystore_load(p.spaces, &key, &err));
	assert_string_equal(key.pub.fp, fp);
	place_drop(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(public_key_of_the_vectors),
		cmocka_unit_test(fingerprint_is_of_the_normal_text),
		cmocka_unit_test(texts_that_are_no_public_key),
		cmocka_unit_test(both_shapes_of_private_keys),
		cmocka_unit_test(broken_private_keys),
		cmocka_unit_test(T34_signature_over_a_digest),
		cmocka_unit_test(secrets_are_wiped),
		cmocka_unit_test(generated_pair),
		cmocka_unit_test(halves_that_do_not_belong_together),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
