/* SPDX-License-Identifier: MIT */
/*
 * Keys, signing and verifying of many, and the merged config view, through the engine's public
 * functions: from an empty user space to a workspace that is served.
 */
#include "item_place.h"

struct bench {
	struct test_place place;
	struct rye *rye;
};

#define TOOL                                                                                 \
	"__version__ = \"1.0.0\"\n__tool_type__ = \"python\"\n__executor_id__ = "            \
	"\"rye/core/runtimes/python/script\"\n__category__ = \"a\"\n__tool_description__ = " \
	"\"t\"\n"
#define KNOWLEDGE                                                                         \
	"```yaml\nname: k\ntitle: K\nversion: \"1.0.0\"\nentry_type: note\ncategory: a\n" \
	"```\n\nText\n"

static void start(struct bench *b, struct rye_options opt)
{
	b->rye = place_engine(&b->place, opt);
}

static void done(struct bench *b)
{
	rye_close(b->rye);
	place_drop(&b->place);
}

static int bench_make(void **state)
{
	struct bench *b = test_calloc(1, sizeof(*b));

	place_make(&b->place);
	*state = b;
	return 0;
}

static int bench_drop(void **state)
{
	done(*state);
	test_free(*state);
	return 0;
}

static int count(void *arg, const struct rye_verdict *verdict, size_t n, size_t total)
{
	int *counts = arg;

	assert_true(n <= total);
	if (verdict)
		counts[verdict->code]++;
	return 0;
}

static enum rye_code verdict(struct bench *b, enum rye_kind kind, const char *path)
{
	struct rye_err err = { 0 };
	struct rye_stat st;

	if (rye_lookup(b->rye, kind, path, &st, &err))
		fail_msg("%s", err.msg);
	return st.verdict;
}

static void own_key(struct bench *b)
{
	struct rye_err err = { 0 };
	char fp[17], again[17];

	if (rye_key_generate(b->rye, RYE_KEY_NEW, fp, &err) ||
	    rye_key_trust(b->rye, "self", "me", NULL, again, &err))
		fail_msg("%s", err.msg);
	assert_string_equal(fp, again);
}

static void sign_and_verify(void **state)
{
	int counts[RYE_CODE__MAX] = { 0 };
	struct rye_batch batch = { NULL, RYE_PROJECT, count, counts };
	struct rye_err err = { 0 };
	struct bench b;

	place_make(&b.place);
	place_text(b.place.project, "tools/a/t.py", TOOL);
	place_text(b.place.project, "knowledge/a/k.md", KNOWLEDGE);
	start(&b, (struct rye_options){ .scan = true });
	own_key(&b);
	assert_int_equal(verdict(&b, RYE_TOOL, "a/t.py"), RYE_UNSIGNED);
	assert_works(&err, rye_verify_all(b.rye, &batch, &err));
	assert_int_equal(counts[RYE_UNSIGNED], 2);
	memset(counts, 0, sizeof(counts));
	batch.pattern = "tool:*";
	if (rye_sign_all(b.rye, &batch, &err))
		fail_msg("%s", err.msg);
	assert_int_equal(counts[RYE_OK], 1);
	/* At once, without waiting to be told. */
	assert_int_equal(verdict(&b, RYE_TOOL, "a/t.py"), RYE_OK);
	assert_int_equal(verdict(&b, RYE_KNOWLEDGE, "a/k.md"), RYE_UNSIGNED);
	memset(counts, 0, sizeof(counts));
	batch.pattern = "tool:a/t";
	assert_works(&err, rye_verify_all(b.rye, &batch, &err));
	assert_int_equal(counts[RYE_OK], 1);
	batch.pattern = "tool:zz*";
	assert_refused(&err, RYE_NOT_FOUND, rye_verify_all(b.rye, &batch, &err));
	assert_string_equal(err.msg, "No tools found matching pattern: zz*");
	batch.pattern = "nothing";
	/* without a kind the id alone counts */
	assert_refused(&err, RYE_NOT_FOUND, rye_verify_all(b.rye, &batch, &err));
	batch.pattern = "tools:*";
	assert_refused(&err, RYE_INVALID, rye_verify_all(b.rye, &batch, &err));
	done(&b);
}

/* The primitive, and nosign. */
static void primitive(void **state)
{
	struct bench *b = *state;
	struct rye_request ask = { .verb = RYE_SIGN,
				   .kind = RYE_KIND__MAX,
				   .id = "",
				   .message = SPAN("{\"item_id\": \"knowledge:a/k\"}") };
	struct rye_outcome outcome;
	struct rye_err err = { 0 };
	char fp[17];

	place_text(b->place.project, "knowledge/a/k.md", KNOWLEDGE);
	start(b, (struct rye_options){ .scan = true });
	own_key(b);
	rye_call_sync(b->rye, &ask, &outcome);
	if (outcome.code)
		fail_msg("%s", outcome.reply->data);
	rye_outcome_done(&outcome);
	/* At once, without waiting to be told. */
	assert_int_equal(verdict(b, RYE_KNOWLEDGE, "a/k.md"), RYE_OK);
	rye_close(b->rye);
	start(b, (struct rye_options){ .no_sign = true });
	assert_refused(&err, RYE_DENIED, rye_key_untrust(b->rye, KEY1, &err));
	assert_refused(&err, RYE_DENIED, rye_key_trust(b->rye, KEY1, NULL, NULL, fp, &err));
	assert_refused(&err, RYE_DENIED, rye_key_share(b->rye, fp, &err));
	assert_refused(&err, RYE_DENIED, rye_key_generate(b->rye, RYE_KEY_NEW, fp, &err));
	assert_refused(&err, RYE_DENIED, rye_secret_set(b->rye, "A", SPAN("x"), &err));
	assert_refused(&err, RYE_DENIED, rye_secret_remove(b->rye, "A", &err));
	rye_call_sync(b->rye, &ask, &outcome);
	assert_int_equal(outcome.code, RYE_DENIED);
	rye_outcome_done(&outcome);
}

/* A write through us, before anything has looked at it: what was known is not told any more. */
static void doubt(void **state)
{
	uint64_t loads;
	struct bench b;

	place_make(&b.place);
	place_text(b.place.project, "knowledge/a/k.md", KNOWLEDGE);
	start(&b, (struct rye_options){ .scan = true });
	assert_int_equal(verdict(&b, RYE_KNOWLEDGE, "a/k.md"), RYE_UNSIGNED);
	loads = rye_loads(b.rye);
	assert_true(rye_doubt(b.rye, 0, "knowledge/a/k.md"));
	assert_int_equal(verdict(&b, RYE_KNOWLEDGE, "a/k.md"), RYE_UNSIGNED);
	assert_true(rye_loads(b.rye) > loads);
	assert_true(rye_doubt(b.rye, 0, "knowledge/a/new.md"));
	assert_true(rye_doubt(b.rye, 0, "knowledge/a"));
	assert_true(rye_doubt(b.rye, 0, "knowledge"));
	assert_false(rye_doubt(b.rye, 0, "knowledge/a/k.txt"));
	assert_false(rye_doubt(b.rye, 0, "knowledge/none"));
	assert_false(rye_doubt(b.rye, 0, "state/k.md"));
	assert_false(rye_doubt(b.rye, 99, "knowledge/a/k.md"));
	assert_true(rye_names_item("k.md"));
	assert_false(rye_names_item("k.tmp"));
	done(&b);
}

static void check_text(struct bench *b, const char *id, const char *wanted)
{
	const struct rye_ask ask = { RYE_CONFIG, id, RYE_VIEW_RENDERED, NULL };
	struct rye_blob *blob = NULL;
	struct rye_err err = { 0 };

	if (rye_view(b->rye, &ask, &blob, &err))
		fail_msg("%s", err.msg);
	assert_string_equal(blob->data, wanted);
	rye_blob_unref(blob);
}

static void check_said(struct bench *b, const char *id, enum rye_view view, const char *part)
{
	struct rye_ask ask = { RYE_CONFIG, id, view, NULL };
	struct rye_blob *blob = NULL;

	assert_works(&told_err, rye_view(b->rye, &ask, &blob, &told_err));
	if (!strstr(blob->data, part))
		assert_string_equal(blob->data, part);
	rye_blob_unref(blob);
}

/* Unsigned configuration: merged where only tools read it, refused where it decides. */
static void config(void **state)
{
	struct bench b;
	struct rye_stat st;

	place_vectors(&b.place);
	place_text(b.place.user, "config/web/web.yaml",
		   "a: {b: 1, c: [1, 2], e: yes}\nu: 1.0\nextends: x\n");
	place_text(b.place.project, "config/web/web.yaml", "a:\n  b: 2\n  d: \"no\"\nc: null\n");
	place_text(b.place.project, "config/web/one.yaml", "# kept\nx: 1\n");
	place_text(b.place.user, "config/t/t.toml", "a = 1\n[s]\nx = \"1\"\n");
	place_text(b.place.project, "config/t/t.toml", "[s]\ny = [1.5, true]\n");
	place_text(b.place.project, "config/agent/agent.yaml", "limits: {}\n");
	start(&b, (struct rye_options){ .scan = true });
	check_text(&b, "web/web",
		   "a:\n  b: 2\n  c: [1, 2]\n  e: true\n  d: \"no\"\nu: 1.0\nc: null\n");
	check_text(&b, "web/one", "# kept\nx: 1\n");
	check_text(&b, "t/t", "a = 1\n[s]\nx = \"1\"\ny = [1.5, true]\n");
	check_said(&b, "web/one", RYE_VIEW_VERIFY, "ok unsigned\n");
	check_said(&b, "web/one", RYE_VIEW_INFO, "\"verdict\": \"unsigned\"");
	assert_int_equal(verdict(&b, RYE_CONFIG, "agent/agent.yaml"), RYE_UNSIGNED);
	assert_int_equal(verdict(&b, RYE_CONFIG, "keys/trusted/" KEY1 ".toml"), RYE_OK);
	/* One layer that does not verify refuses the whole. */
	place_put(b.place.user, "config/vec/v6.yaml", ".ai/config/vec/v6.yaml");
	rye_touched(b.rye, 1, "config/vec");
	assert_int_equal(verdict(&b, RYE_CONFIG, "vec/v6.yaml"), RYE_UNCOVERED);
	place_text(b.place.project, "config/vec/v6.yaml", "mine: 1\n");
	rye_touched(b.rye, 0, "config/vec");
	assert_int_equal(verdict(&b, RYE_CONFIG, "vec/v6.yaml"), RYE_UNCOVERED);
	/* Nor is a layer left out that cannot be read. */
	place_text(b.place.project, "config/t/t.toml", "[s\n");
	rye_touched(b.rye, 0, "config/t/t.toml");
	assert_int_equal(verdict(&b, RYE_CONFIG, "t/t.toml"), RYE_UNPARSABLE);
	/* The reader of a merged entry sees a change of any layer. */
	assert_works(&told_err, rye_lookup(b.rye, RYE_CONFIG, "web/web.yaml", &st, &told_err));
	place_text(b.place.user, "config/web/web.yaml", "u: 2\n");
	rye_touched(b.rye, 1, "config/web/web.yaml");
	check_text(&b, "web/web", "u: 2\na:\n  b: 2\n  d: \"no\"\nc: null\n");
	done(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sign_and_verify),
		cmocka_unit_test_setup_teardown(primitive, bench_make, bench_drop),
		cmocka_unit_test(doubt),
		cmocka_unit_test(config),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
