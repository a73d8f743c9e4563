/* SPDX-License-Identifier: MIT */
/* The vectors of the format of threads: canonical JSON, its numbers, its digest, its signature. */
#include "record_place.h"
#include "told.h"
#include "rye_json.h"

#include "sign/sign.h"

static void thread_T05_vectors(void **state)
{
	static const unsigned char seed[KEY_LEN] =
		"\x9d\x61\xb1\x9d\xef\xfd\x5a\x60\xba\x84\x4a\xf4\x92\xec\x2c\xc4"
		"\x44\x49\xc5\x69\x7b\x32\x69\x19\x70\x3b\xac\x03\x1c\xae\x7f\x60";
	static const char text[] =
		"{\"b\":true,\"capabilities\":[\"rye.execute.tool.rye.file-system.*\"],\"cost\":"
		"{\"big\":1e+16,\"elapsed_seconds\":0.30000000000000004,\"f\":2.0,\"spend\":1e-05,"
		"\"turns\":2},\"limits\":{\"spend\":5.0,\"turns\":6},\"n\":null,\"note\":"
		"\"caf\\u00e9 \\u2014 \\ud83d\\ude00 \\\"q\\\" \\\\ /\\n\\t\\u007f\",\"status\":"
		"\"completed\",\"thread_id\":\"t/hello/hello-1\"}";
	auto_json json_t *doc = json_parse(span_of(text), 0, "text", NULL);
	auto_buf struct rye_buf canonical = RYE_BUF_INIT;
	auto_key struct key_secret key = { 0 };
	char hash[SHA_HEX];

	key_secret_seed(seed, &key);
	assert_string_equal(key.pub.fp, "7f2d9ed0b71b8e5a");
	json_canonical(&canonical, doc);
	assert_string_equal(canonical.data, text);
	sha256_hex(span_of(canonical.data), hash);
	assert_string_equal(hash,
			    "f9521a3415015b0b69dbe80ad7a149ff0981620465d62f140e3c76e9b1a33ce9");
	assert_works(&told_err, signdoc_sign(&key, doc, "2026-01-02T03:04:05Z", &told_err));
	assert_string_equal(
		json_str(doc, "_signature"),
		"rye:signed:2026-01-02T03:04:05Z:"
		"f9521a3415015b0b69dbe80ad7a149ff0981620465d62f140e3c76e9b1a33ce9:"
		"t_PyQ5qfCyg57ljtMLS5WM9EOz-6ByNuxdf-624AehWC6Y3xGaZm4Vk3ES3CmUtlpYboBv3xz25KZ74cJzp"
		"gBg:7f2d9ed0b71b8e5a");
}

static void float_spelling(void **state)
{
	static const struct {
		double value;
		const char *want;
	} cases[] = { { 1e-5, "1e-05" },
		      { 0.0001, "0.0001" },
		      { 1e15, "1000000000000000.0" },
		      { 1e16, "1e+16" },
		      { 123456789012345680.0, "1.2345678901234568e+17" },
		      { 100, "100.0" },
		      { -0.0, "-0.0" },
		      { 5e-324, "5e-324" } };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		auto_buf struct rye_buf buf = RYE_BUF_INIT;

		json_python_float(&buf, cases[i].value);
		assert_string_equal(buf.data, cases[i].want);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(thread_T05_vectors),
		cmocka_unit_test(float_spelling),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
