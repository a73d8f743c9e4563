/* SPDX-License-Identifier: MIT */
/* The secrets' file: what is kept comes back, under this key alone, and no message has a value. */
#include "rye_test.h"

#include "item_place.h"

#include "base/io.h"
#include "secret/secret.h"

#include <fcntl.h>

static const unsigned char one[KEY_LEN] = { 1 }, two[KEY_LEN] = { 2 };

static struct rye_span blob_span(const struct rye_blob *blob)
{
	return (struct rye_span){ blob->data, blob->len };
}

static void sealed_and_opened(void **state)
{
	auto_json json_t *values = json_pack("{s:s, s:s}", "B", "2", "A", "one \xc3\xa4\n");
	auto_json json_t *got = NULL;
	auto_json json_t *none = NULL;
	auto_blob struct rye_blob *sealed = NULL;
	struct rye_err err = { 0 };

	(void)state;
	assert_works(&err, secret_seal(values, one, &sealed, &err));
	assert_null(memmem(sealed->data, sealed->len, "one", 3));
	assert_works(&err, secret_unseal(blob_span(sealed), one, &got, &err));
	assert_string_equal(secret_value(got, "A"), "one \xc3\xa4\n");
	assert_refused(&err, RYE_IO, secret_unseal(blob_span(sealed), two, &none, &err));
	for (size_t i = 0; i < sealed->len; i++) {
		sealed->data[i] ^= 1;
		assert_refused(&err, RYE_IO, secret_unseal(blob_span(sealed), one, &none, &err));
		sealed->data[i] ^= 1;
		assert_refused(&err, RYE_IO,
			       secret_unseal((struct rye_span){ sealed->data, i }, one, &none,
					     &err));
	}
}

/* RFC 5869's first step and one block of its second, as other programs make the key. */
static void key_as_the_format_has_it(void **state)
{
	unsigned char key[KEY_LEN];
	char hex[2 * KEY_LEN + 1];

	(void)state;
	key_derive(SPAN("-----BEGIN PRIVATE KEY-----\nx\n-----END PRIVATE KEY-----\n"),
		   "ryeos-secret-store-v1", key);
	hex_of(key, KEY_LEN, hex);
	assert_string_equal(hex,
			    "7216e161bb073d42af1c7a2f9ec1abe3e4e2bbcd24abafd593f5177b20d7820c");
}

static void what_another_program_put_there(void **state)
{
	auto_json json_t *values =
		json_loads("{\"PATH\": \"/x\", \"LD_PRELOAD\": \"x\", \"RYE_A\": \"x\","
			   " \"1A\": \"x\", \"N\": 1, \"E\": \"\","
			   " \"Z\": \"a\\u0000b\", \"OK\": \"v\"}",
			   JSON_ALLOW_NUL, NULL);
	static const char *const refused[] = { "PATH", "LD_PRELOAD", "RYE_A", "1A",
					       "N",    "E",	     "Z",     "NONE" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++)
		assert_null(secret_value(values, refused[i]));
	assert_string_equal(secret_value(values, "OK"), "v");
}

static void what_is_refused(void **state)
{
	static const char *const names[] = { "",     "A-B",	 "1A",		"A=hunter2",
					     "PATH", "LD_AUDIT", "PYTHONPATH",	"RYE_X",
					     "HOME", "BASH_ENV", "NODE_OPTIONS" };
	auto_free char *big = calloc(1, SECRET_VALUE_MAX + 1);
	struct rye_err err = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		assert_refused(&err, RYE_INVALID, secret_name_check(names[i], &err));
		assert_null(strstr(err.msg, "hunter2"));
	}
	assert_works(&err, secret_name_check("GITHUB_TOKEN", &err));
	memset(big, 'x', SECRET_VALUE_MAX + 1);
	assert_works(&err, secret_value_check((struct rye_span){ big, SECRET_VALUE_MAX }, &err));
	assert_refused(&err, RYE_INVALID,
		       secret_value_check((struct rye_span){ big, SECRET_VALUE_MAX + 1 }, &err));
	assert_refused(&err, RYE_INVALID, secret_value_check(SPAN("a\0b"), &err));
	assert_refused(&err, RYE_INVALID, secret_value_check(SPAN("\xff"), &err));
	assert_refused(&err, RYE_INVALID, secret_value_check(SPAN(""), &err));
}

static int count_secret(void *arg, const struct rye_secret *secret)
{
	assert_int_equal(strlen(secret->set_at), strlen("2026-01-02T03:04:05Z"));
	++*(int *)arg;
	return 0;
}

/* "" where there is none */
static void wants_value(struct test_place *p, const char *name, const char *wanted)
{
	auto_json json_t *values = NULL;
	struct rye_err err = { 0 };
	const char *got;

	if (secret_load(p->spaces, &values, &err))
		fail_msg("%s", err.msg);
	got = secret_value(values, name);
	assert_string_equal(got ? got : "", wanted);
}

static mode_t mode_below(struct test_place *p, const char *name)
{
	char path[300];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%s", p->spaces->secret_dir, name);
	assert_int_equal(stat(path, &st), 0);
	return st.st_mode & 07777;
}

static void kept_in_user_space(void **state)
{
	struct rye_err err = { 0 };
	struct test_place p;
	char fp[KEY_FP];
	int n = 0;

	(void)state;
	place_make(&p);
	place_open(&p, false);
	wants_value(&p, "A", "");
	assert_refused(&err, RYE_NO_KEY, secret_set(p.spaces, "A", SPAN("x"), &err));
	assert_works(&err, secret_keygen(p.spaces, RYE_KEY_NEW, fp, &err));
	assert_works(&err, secret_set(p.spaces, "A", SPAN("one"), &err));
	assert_works(&err, secret_set(p.spaces, "B", SPAN("two"), &err));
	assert_works(&err, secret_set(p.spaces, "A", SPAN("three"), &err));
	assert_refused(&err, RYE_INVALID, secret_set(p.spaces, "PATH", SPAN("x"), &err));
	assert_int_equal(mode_below(&p, ""), 0700);
	assert_int_equal(mode_below(&p, "store.enc"), 0600);
	assert_int_equal(mode_below(&p, "dates.json"), 0600);
	assert_works(&err, secret_list(p.spaces, count_secret, &n, &err));
	assert_int_equal(n, 2);
	wants_value(&p, "A", "three");
	assert_works(&err, secret_remove(p.spaces, "A", &err));
	assert_refused(&err, RYE_NOT_FOUND, secret_remove(p.spaces, "A", &err));
	wants_value(&p, "A", "");
	wants_value(&p, "B", "two");
	place_drop(&p);
}

static void copy_file(const char *dir, const char *from, const char *to)
{
	auto_close int fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	auto_blob struct rye_blob *blob = NULL;

	assert_int_equal(io_read_at(fd, from, 1 << 20, &blob), 0);
	assert_int_equal(io_replace_at(fd, to, blob_span(blob), 0600), 0);
}

static void another_signing_key(void **state)
{
	struct rye_err err = { 0 };
	struct test_place p;
	char fp[KEY_FP], other[KEY_FP], path[300];
	json_t *none = NULL;

	(void)state;
	place_make(&p);
	place_open(&p, false);
	assert_works(&err, secret_keygen(p.spaces, RYE_KEY_NEW, fp, &err));
	assert_works(&err, secret_set(p.spaces, "A", SPAN("one"), &err));
	copy_file(p.spaces->secret_dir, "store.enc", "old");
	assert_works(&err, secret_keygen(p.spaces, RYE_KEY_REPLACE, other, &err));
	assert_string_not_equal(fp, other);
	wants_value(&p, "A", "one");
	/* as a process leaves it that is killed right behind the new key's rename */
	copy_file(p.spaces->secret_dir, "store.enc", "store.next");
	copy_file(p.spaces->secret_dir, "old", "store.enc");
	wants_value(&p, "A", "one");
	assert_works(&err, secret_set(p.spaces, "B", SPAN("two"), &err));
	wants_value(&p, "A", "one");
	wants_value(&p, "B", "two");
	snprintf(path, sizeof(path), "%s/store.next", p.spaces->secret_dir);
	assert_int_equal(access(path, F_OK), -1);
	/* and one that belongs to a key that is not there */
	copy_file(p.spaces->secret_dir, "old", "store.enc");
	assert_refused(&err, RYE_IO, secret_load(p.spaces, &none, &err));
	assert_refused(&err, RYE_IO, secret_set(p.spaces, "B", SPAN("hunter2"), &err));
	assert_null(strstr(err.msg, "hunter2"));
	place_drop(&p);
}

static void no_more_than_there_is_room_for(void **state)
{
	struct rye_err err = { 0 };
	struct test_place p;
	char fp[KEY_FP], name[16];

	(void)state;
	place_make(&p);
	place_open(&p, false);
	assert_works(&err, secret_keygen(p.spaces, RYE_KEY_NEW, fp, &err));
	for (int i = 0; i < SECRET_COUNT_MAX; i++) {
		snprintf(name, sizeof(name), "N%d", i);
		assert_works(&err, secret_set(p.spaces, name, SPAN("x"), &err));
	}
	assert_refused(&err, RYE_TOO_BIG, secret_set(p.spaces, "MORE", SPAN("x"), &err));
	assert_works(&err, secret_set(p.spaces, "N0", SPAN("y"), &err));
	wants_value(&p, "N0", "y");
	place_drop(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sealed_and_opened),
		cmocka_unit_test(key_as_the_format_has_it),
		cmocka_unit_test(what_another_program_put_there),
		cmocka_unit_test(what_is_refused),
		cmocka_unit_test(kept_in_user_space),
		cmocka_unit_test(another_signing_key),
		cmocka_unit_test(no_more_than_there_is_room_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
