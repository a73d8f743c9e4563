/* SPDX-License-Identifier: MIT */
/* The trust store: the format's cases T37 to T44, scopes, reloading, the listing. */
#include "item_place.h"

#include "trust/trust.h"
#include "trust/trust_inner.h"

#define VECTOR ".ai/config/keys/trusted/" KEY1 ".toml"
#define WHERE "config/keys/trusted/"

static bool trusts(struct test_place *p, const char *fp)
{
	auto_trust struct trust *trust = trust_get(p->trust);

	return trust_find(trust, span_of(fp));
}

/* Why a key file is not trusted; "" when there is none. */
static const char *status_of(struct test_place *p, const char *fp, char text[160])
{
	auto_trust struct trust *trust = trust_get(p->trust);

	*text = 0;
	for (size_t i = 0; i < trust->n_keys; i++)
		if (!strcmp(trust->keys[i].fp, fp))
			snprintf(text, 160, "%s", trust->keys[i].status);
	return text;
}

/* The key file of a seed, signed by another (or NULL), at its place of a space. */
static void put_made(const char *root, unsigned char first, const struct key_secret *signer,
		     const char *where)
{
	auto_key struct key_secret key = { 0 };
	struct trustfile_new what = { .owner = "made",
				      .category = "keys/trusted",
				      .signer = signer,
				      .stamp = "2026-01-02T03:04:05Z" };
	struct rye_blob *text;
	char path[100];

	place_key(first, &key);
	what.key = &key.pub;
	text = trustfile_write(&what);
	snprintf(path, sizeof(path), "%s%s.toml", where, key.pub.fp);
	place_write(root, path, (struct rye_span){ text->data, text->len });
	rye_blob_unref(text);
}

static void fp_of(unsigned char first, char ret[KEY_FP])
{
	auto_key struct key_secret key = { 0 };

	place_key(first, &key);
	memcpy(ret, key.pub.fp, KEY_FP);
}

static void T37_self_signed_vector(void **state)
{
	struct test_place *p = *state;
	struct rye_blob *raw = place_read(VECTOR);
	struct trustfile file;

	assert_works(&told_err, trustfile_read((struct rye_span){ raw->data, raw->len }, KEY1,
					       &file, &told_err));
	assert_string_equal(file.line.hash,
			    "3333c887229840b535095316d43f2ce11de66e19aea0702e7acce90a926b2c2a");
	assert_string_equal(file.line.signer, KEY1);
	assert_true(trustfile_signed_by(&file, file.key.bytes));
	trustfile_done(&file);
	rye_blob_unref(raw);
	place_open(p, false);
	assert_true(trusts(p, KEY1));
}

/* The vector with one text replaced, in user space; the good file in the bundle. */
static void edited(struct test_place *p, const char *from, const char *to, bool good_below)
{
	struct rye_blob *raw = place_read(VECTOR);
	auto_buf struct rye_buf out = RYE_BUF_INIT;
	ssize_t at = span_find((struct rye_span){ raw->data, raw->len }, 0, from);

	assert_true(at >= 0);
	place_make(p);
	buf_add(&out, raw->data, (size_t)at);
	buf_adds(&out, to);
	buf_adds(&out, raw->data + at + strlen(from));
	place_write(p->user, WHERE KEY1 ".toml", (struct rye_span){ out.data, out.len });
	if (good_below)
		place_put(p->system, WHERE KEY1 ".toml", VECTOR);
	rye_blob_unref(raw);
	place_open(p, false);
}

static void T38_owner_edited(void **state)
{
	char text[160];
	struct test_place p;

	edited(&p, "\"local\"", "\"root\"", false);
	assert_false(trusts(&p, KEY1));
	assert_non_null(strstr(status_of(&p, KEY1, text), "changed since it was signed"));
	place_drop(&p);
	edited(&p, "\"local\"", "\"root\"", true);
	assert_true(trusts(&p, KEY1));
	place_drop(&p);
}

static void T39_signature_line_deleted(void **state)
{
	struct rye_blob *raw = place_read(VECTOR);
	struct rye_span text = { raw->data, raw->len }, line;
	struct test_place p;

	assert_true(span_line(&text, &line));
	place_make(&p);
	place_write(p.user, WHERE KEY1 ".toml", text);
	place_open(&p, false);
	assert_true(trusts(&p, KEY1));
	place_drop(&p);
	/* a line that only looks like one does not pass as none */
	edited(&p, "# rye:signed:2026", "# rye:signed:x026", false);
	assert_false(trusts(&p, KEY1));
	place_drop(&p);
	rye_blob_unref(raw);
}

static void T40_file_name_is_the_fingerprint(void **state)
{
	char text[160];
	struct test_place p;

	place_make(&p);
	place_put(p.user, WHERE KEY2 ".toml", VECTOR);
	place_put(p.user, WHERE "notes.toml", VECTOR);
	place_open(&p, false);
	assert_false(trusts(&p, KEY1) || trusts(&p, KEY2));
	assert_non_null(strstr(status_of(&p, KEY2, text), "its key is " KEY1));
	place_drop(&p);
}

static void T41_signers_of_keys(void **state)
{
	auto_key struct key_secret a = { 0 };
	auto_key struct key_secret b = { 0 };
	char text[160];
	struct test_place p;

	place_key(0x60, &a);
	place_key(0x80, &b);
	/* by an unknown one */
	place_make(&p);
	put_made(p.user, 0x60, &b, WHERE);
	place_open(&p, false);
	assert_false(trusts(&p, a.pub.fp));
	assert_non_null(strstr(status_of(&p, a.pub.fp, text), "cannot vouch"));
	place_drop(&p);
	/* by a known one, and that by another */
	place_make(&p);
	put_made(p.user, 0x60, &b, WHERE);
	put_made(p.system, 0x80, NULL, WHERE);
	place_open(&p, false);
	assert_true(trusts(&p, a.pub.fp) && trusts(&p, b.pub.fp));
	place_drop(&p);
	/* by each other */
	place_make(&p);
	put_made(p.user, 0x60, &b, WHERE);
	put_made(p.user, 0x80, &a, WHERE);
	place_open(&p, false);
	assert_false(trusts(&p, a.pub.fp) || trusts(&p, b.pub.fp));
	place_drop(&p);
}

static void T42_bad_toml_above_a_good_file(void **state)
{
	struct test_place *p = *state;

	place_text(p->project, WHERE KEY1 ".toml", "version = \n");
	place_open(p, false);
	assert_true(trusts(p, KEY1));
}

static void T43_project_keys_need_a_voucher(void **state)
{
	auto_key struct key_secret key1 = { 0 };
	auto_key struct key_secret other = { 0 };
	char fp[KEY_FP], text[160];
	struct test_place p;

	place_key(0, &key1);
	place_key(0x60, &other);
	fp_of(0x80, fp);
	place_vectors(&p);
	put_made(p.project, 0x80, NULL, WHERE);
	place_open(&p, false);
	assert_false(trusts(&p, fp));
	assert_string_equal(status_of(&p, fp, text), "a project cannot vouch for its own keys");
	place_drop(&p);
	/* a voucher that is itself only the project's is none */
	place_vectors(&p);
	put_made(p.project, 0x60, &key1, WHERE);
	put_made(p.project, 0x80, &other, WHERE);
	place_open(&p, false);
	assert_true(trusts(&p, other.pub.fp));
	assert_false(trusts(&p, fp));
	place_drop(&p);
}

static void T44_shipped_key_signed_by_an_unknown_one(void **state)
{
	struct rye_err err;
	struct test_place p;

	place_make(&p);
	place_put(p.system, WHERE "6ea18199041a1ea8.toml", "keys/6ea18199041a1ea8.toml");
	place_put(p.system, "knowledge/rye/primary/execute-semantics.md",
		  "signed/execute-semantics.md");
	place_open(&p, false);
	assert_false(trusts(&p, "6ea18199041a1ea8"));
	assert_int_equal(place_load(&p, RYE_KNOWLEDGE, "rye/primary/execute-semantics", NULL, &err),
			 RYE_UNTRUSTED);
	assert_non_null(strstr(err.msg, "Untrusted key 4b987fd4e40303ac for /"));
	assert_non_null(strstr(err.msg, "Trusted keys: none"));
	place_put(p.user, WHERE "4b987fd4e40303ac.toml", "keys/4b987fd4e40303ac.toml");
	assert_works(&told_err, trust_reload(p.trust, &told_err));
	assert_true(trusts(&p, "6ea18199041a1ea8") && trusts(&p, "4b987fd4e40303ac"));
	place_drop(&p);
}

static void legacy_directory_is_read(void **state)
{
	char fp[KEY_FP];
	struct test_place p;

	fp_of(0x60, fp);
	place_make(&p);
	put_made(p.user, 0x60, NULL, "trusted_keys/");
	place_open(&p, false);
	assert_true(trusts(&p, fp));
	place_drop(&p);
}

static void automatic_keys_need_a_scope(void **state)
{
	auto_key struct key_secret key = { 0 };
	struct test_place p;
	char fp[KEY_FP];

	fp_of(0x60, fp);
	place_make(&p);
	put_made(p.user, 0x60, NULL, "config/keys/automatic/");
	place_open(&p, false);
	assert_false(trusts(&p, fp));
	assert_works(&told_err, keystore_automatic(&p.env, &key, &told_err));
	assert_true(trusts(&p, key.pub.fp));
	{
		auto_trust struct trust *trust = trust_get(p.trust);
		const struct trust_key *have = trust_find(trust, span_of(key.pub.fp));

		assert_true(trust_covers(have, "knowledge:agent/threads/a/b-1"));
		assert_true(trust_covers(have, "state:threads/a/thread.json"));
		assert_false(trust_covers(have, "knowledge:agent/threadsx"));
		assert_false(trust_covers(have, "tool:agent/threads/a"));
		assert_false(trust_covers(have, "knowledge:a"));
	}
	/* the same pair again, and it never becomes an ordinary key */
	memcpy(fp, key.pub.fp, KEY_FP);
	assert_works(&told_err, keystore_automatic(&p.env, &key, &told_err));
	assert_string_equal(key.pub.fp, fp);
	assert_refused(&told_err, RYE_DENIED,
		       keystore_trust(&p.env, fp, NULL, NULL, fp, &told_err));
	place_drop(&p);
}

static void a_scope_anywhere_makes_a_key_no_voucher(void **state)
{
	struct test_place *p = *state;
	auto_key struct key_secret key2 = { 0 };
	char fp[KEY_FP];

	place_key(0x20, &key2);
	fp_of(0x80, fp);
	place_put(p->user, WHERE KEY2 ".toml", "binding/" KEY2 ".toml");
	put_made(p->system, 0x20, NULL, WHERE);
	put_made(p->user, 0x80, &key2, WHERE);
	place_open(p, false);
	assert_true(trusts(p, KEY2));
	assert_false(trusts(p, fp));
}

/* Key 1 in user space, with one more line. */
static void put_scoped(struct test_place *p, const char *line)
{
	char text[600];

	snprintf(text, sizeof(text),
		 "fingerprint = \"" KEY1 "\"\nowner = \"test\"\n%s\n[public_key]\n"
		 "pem = \"\"\"\n-----BEGIN PUBLIC KEY-----\n"
		 "MCowBQYDK2VwAyEAA6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg=\n"
		 "-----END PUBLIC KEY-----\n\"\"\"\n",
		 line);
	place_text(p->user, WHERE KEY1 ".toml", text);
}

static void a_key_signs_what_its_scope_covers(void **state)
{
	static const struct {
		const char *line;
		enum rye_code tool, knowledge;
	} rows[] = {
		{ "", RYE_OK, RYE_OK },
		{ "scope = [\"tool:vec/*\"]\n", RYE_OK, RYE_UNTRUSTED },
		{ "scope = [\"knowledge:vec/b3\"]\n", RYE_UNTRUSTED, RYE_OK },
	};

	struct test_place *p = *state;

	place_put(p->project, "tools/vec/b2.py", "binding/b2.py");
	place_put(p->project, "knowledge/vec/b3.md", "binding/b3.md");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (i)
			place_close(p);
		put_scoped(p, rows[i].line);
		place_open(p, false);
		assert_int_equal(place_load(p, RYE_TOOL, "vec/b2", NULL, NULL), rows[i].tool);
		assert_int_equal(place_load(p, RYE_KNOWLEDGE, "vec/b3", NULL, NULL),
				 rows[i].knowledge);
	}
}

/* Were it ignored as an unknown member, the key would vouch for everything. */
static void a_misspelt_scope_is_no_trust(void **state)
{
	static const char *const lines[] = { "", "Scope = [\"tool:x/*\"]\n",
					     "SCOPE = [\"tool:x/*\"]\n" };

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		struct test_place p;

		place_make(&p);
		put_scoped(&p, lines[i]);
		place_open(&p, false);
		assert_int_equal(trusts(&p, KEY1), !i);
		place_drop(&p);
	}
}

static int collect(void *arg, const struct rye_key *key)
{
	char *text = arg;
	size_t n = strlen(text);

	snprintf(text + n, 2000 - n, "%s %s %s %s\n", key->fingerprint, key->owner, key->space,
		 key->status);
	return 0;
}

static void listing_tells_why(void **state)
{
	struct test_place *p = *state;
	char text[2000] = "", fp[KEY_FP];

	place_put(p->project, WHERE KEY3 ".toml", "binding/key3-unsigned.toml");
	place_open(p, false);
	assert_works(&told_err, keystore_generate(p->spaces, false, NULL, fp, &told_err));
	assert_works(&told_err, keystore_list(&p->env, collect, text, &told_err));
	assert_true(!strncmp(text, fp, 16));
	assert_non_null(strstr(text, " self user signing\n"));
	assert_non_null(strstr(text, KEY1 " local user trusted\n"));
	assert_non_null(strstr(text, KEY3 " third project a project cannot vouch"));
}

static void trust_and_untrust(void **state)
{
	char fp[KEY_FP], own[KEY_FP], path[200];
	struct rye_err err = { 0 };
	struct test_place p;

	place_make(&p);
	place_put(p.project, WHERE KEY3 ".toml", "binding/key3-unsigned.toml");
	place_put(p.project, WHERE KEY1 ".toml", VECTOR);
	place_open(&p, false);
	assert_refused(&err, RYE_NO_KEY, keystore_trust(&p.env, "self", NULL, NULL, fp, &err));
	assert_works(&err, keystore_generate(p.spaces, false, NULL, own, &err));
	assert_works(&err, keystore_trust(&p.env, "self", NULL, NULL, fp, &err));
	assert_string_equal(fp, own);
	assert_true(trusts(&p, own));
	assert_works(&err, keystore_trust(&p.env, KEY3, NULL, NULL, fp, &err));
	assert_true(trusts(&p, KEY3));
	snprintf(path, sizeof(path), "%s/.ai/" WHERE KEY1 ".toml", p.project);
	assert_works(&err, keystore_trust(&p.env, path, "me", NULL, fp, &err));
	assert_string_equal(fp, KEY1);
	assert_true(trusts(&p, KEY1));
	assert_refused(&err, RYE_NOT_FOUND,
		       keystore_trust(&p.env, "0123456789abcdef", NULL, NULL, fp, &err));
	assert_works(&err, keystore_untrust(&p.env, KEY3, &err));
	assert_false(trusts(&p, KEY3));
	assert_refused(&err, RYE_NOT_FOUND, keystore_untrust(&p.env, KEY3, &err));
	assert_refused(&err, RYE_INVALID, keystore_untrust(&p.env, "../x", &err));
	place_drop(&p);
}

static void trusting_keeps_the_scope(void **state)
{
	char fp[KEY_FP], path[200];
	struct test_place p;

	place_make(&p);
	place_put(p.project, "key.toml", "binding/" KEY2 ".toml");
	place_open(&p, false);
	snprintf(path, sizeof(path), "%s/.ai/key.toml", p.project);
	assert_works(&told_err, keystore_trust(&p.env, path, NULL, NULL, fp, &told_err));
	{
		auto_trust struct trust *trust = trust_get(p.trust);
		const struct trust_key *have = trust_find(trust, SPAN(KEY2));

		assert_non_null(have);
		assert_int_equal(have->n_scope, 2);
		assert_string_equal(have->owner, "automatic");
	}
	place_drop(&p);
}

static void repeated_checks_are_remembered(void **state)
{
	struct test_place *p = *state;
	uint64_t first;

	place_put(p->project, "tools/vec/b2.py", "binding/b2.py");
	place_open(p, false);
	assert_works(&told_err, place_load(p, RYE_TOOL, "vec/b2", NULL, &told_err));
	first = trust_checks(p->trust);
	assert_int_equal(first, 2);
	assert_works(&told_err, place_load(p, RYE_TOOL, "vec/b2", NULL, &told_err));
	assert_int_equal(trust_checks(p->trust), first);
	/* what was checked is not what is trusted */
	assert_works(&told_err, keystore_untrust(&p->env, KEY1, &told_err));
	assert_int_equal(place_load(p, RYE_TOOL, "vec/b2", NULL, NULL), RYE_UNTRUSTED);
}

/* Of bytes that were verified in this place before. */
static struct rye_item *load_known(struct test_place *p, const char *path, const unsigned char *sha)
{
	const struct path_ask ask = { .space = &p->spaces->v[0],
				      .kind = RYE_TOOL,
				      .path = path,
				      .known = sha,
				      .passing = true };
	struct rye_item *item = NULL;
	struct rye_err err = { 0 };

	if (rye_load_path(&p->env, &ask, &item, &err))
		fail_msg("%s", err.msg);
	return item;
}

/* Neither signature is computed again; in compat, where a line that does not hold is no refusal,
 * that of the binding line is. */
static void what_is_known_is_not_computed_again(void **state)
{
	struct test_place *p = *state;
	unsigned char sha[SHA_LEN];

	place_put(p->project, "tools/vec/b2.py", "binding/b2.py");
	for (int i = 0; i < 3; i++) {
		uint64_t before;
		struct rye_item *item;

		if (i)
			place_close(p);
		place_open(p, i == 2);
		before = trust_checks(p->trust);
		item = load_known(p, "tools/vec/b2.py", i ? sha : NULL);
		assert_true(item->verdict.bound);
		assert_int_equal(trust_checks(p->trust) - before, i == 0 ? 2 : i == 1 ? 0 : 1);
		memcpy(sha, item->verdict.sha, SHA_LEN);
		rye_item_unref(item);
	}
}

/* Dev mode serves what it would have refused: that it was served once makes it no better. */
static void what_dev_mode_let_pass_is_not_known(void **state)
{
	struct test_place *p = *state;
	struct rye_blob *blob = place_read("binding/b2.py");
	char *sig = strstr(blob->data, ":" KEY1);
	unsigned char sha[SHA_LEN];
	struct rye_item *item;

	assert_non_null(sig);
	sig[-8] = sig[-8] == 'A' ? 'B' : 'A';
	sha256_of((struct rye_span){ blob->data, blob->len }, sha);
	place_write(p->project, "tools/vec/b2.py", (struct rye_span){ blob->data, blob->len });
	rye_blob_unref(blob);
	place_open(p, false);
	p->env.dev_mode = true;
	item = load_known(p, "tools/vec/b2.py", sha);
	assert_true(item->verdict.dev && !item->verdict.bound);
	rye_item_unref(item);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		place_test(what_is_known_is_not_computed_again),
		place_test(what_dev_mode_let_pass_is_not_known),
		place_test(T37_self_signed_vector),
		cmocka_unit_test(T38_owner_edited),
		cmocka_unit_test(T39_signature_line_deleted),
		cmocka_unit_test(T40_file_name_is_the_fingerprint),
		cmocka_unit_test(T41_signers_of_keys),
		place_test(T42_bad_toml_above_a_good_file),
		cmocka_unit_test(T43_project_keys_need_a_voucher),
		cmocka_unit_test(T44_shipped_key_signed_by_an_unknown_one),
		cmocka_unit_test(legacy_directory_is_read),
		cmocka_unit_test(automatic_keys_need_a_scope),
		place_test(a_scope_anywhere_makes_a_key_no_voucher),
		place_test(a_key_signs_what_its_scope_covers),
		cmocka_unit_test(a_misspelt_scope_is_no_trust),
		place_test(listing_tells_why),
		cmocka_unit_test(trust_and_untrust),
		cmocka_unit_test(trusting_keeps_the_scope),
		place_test(repeated_checks_are_remembered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
