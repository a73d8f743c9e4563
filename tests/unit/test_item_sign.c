/* SPDX-License-Identifier: MIT */
/* Signing: bytes, rules, replies and files (docs/items.md). */
#include "item_signed.h"
#include "trust/trust.h"

#include <sys/stat.h>

static struct rye_blob *file(const char *root, const char *path)
{
	char full[500];

	snprintf(full, sizeof(full), "%s/.ai/%s", root, path);
	return place_read(full);
}

static void T02_signature_of_v1(void **state)
{
	static const char hash[] =
		"8ea50ff70d6b3ce8e9ae26c27c00d6037b3b5d900487c1137bfcffe1e2782fae";
	static const char wanted[] =
		"<!-- rye:signed:" STAMP
		":8ea50ff70d6b3ce8e9ae26c27c00d6037b3b5d900487c1137bfcffe1e2782fae:"
		"uNEHpFV-CJWpkQgNgzOQz6bdxYfLt_38wyswM15LzRfKaflCCfKdfzFSp7Fo_wRFaK_Dg_ffXRWKh4yYjH4MDg:"
		"f0ff50dacf109dea -->\n";
	struct rye_blob *v1 = place_read(".ai/knowledge/vec/v1.md");
	auto_key struct key_secret key = { 0 };
	char sig[KEY_SIG_TEXT], hex[SHA_HEX], fields[300], line[SIG_LINE_MAX];
	struct sig_rule rule;

	place_key(0, &key);
	assert_string_equal(key.pub.fp, KEY1);
	assert_int_equal(strncmp(v1->data, wanted, strlen(wanted)), 0);
	sha256_hex(span_of(v1->data + strlen(wanted)), hex);
	assert_string_equal(hex, hash);
	key_sign(&key, span_of(hex), sig);
	snprintf(fields, sizeof(fields), "rye:signed:%s:%s:%s:%s", STAMP, hex, sig, key.pub.fp);
	assert_true(sig_rule_of(RYE_KNOWLEDGE, ".md", &rule));
	assert_int_equal(sig_line_put(rule, line, fields), strlen(wanted));
	assert_string_equal(line, wanted);
	rye_blob_unref(v1);
}

/* A shebang ends up under the lines, where it is text like any other. */
static void T18_shebang_of_javascript(void **state)
{
	struct test_place *p = *state;
	auto_json json_t *reply = NULL;
	struct rye_span text, line;
	struct rye_blob *got;

	place_text(p->project, "tools/a/b.js",
		   "#!/usr/bin/env node\nconst __version__ = \"1.0.0\";\n"
		   "const __tool_type__ = \"javascript\";\nconst __executor_id__ = \"x/y\";\n"
		   "const __category__ = \"a\";\nconst __tool_description__ = \"d\";\n");
	place_open(p, false);
	assert_int_equal(sign(p, RYE_TOOL, "a/b", &reply), RYE_OK);
	got = file(p->project, "tools/a/b.js");
	text = (struct rye_span){ got->data, got->len };
	assert_true(span_line(&text, &line) && span_starts(line, "// rye:signed:"));
	assert_true(span_line(&text, &line) && span_starts(line, "// rye:full:1:"));
	assert_true(span_starts(text, "#!/usr/bin/env node\n"));
	rye_blob_unref(got);
	assert_works(&told_err, place_load(p, RYE_TOOL, "a/b", NULL, &told_err));
}

/* The bound vectors are what signing makes of their own text, byte for byte. */
static void bound_vectors_are_reproduced(void **state)
{
	static const struct {
		const char *file, *path, *id;
		enum rye_kind kind;
	} rows[] = {
		{ "binding/b1.md", "directives/vec/b1.md", "vec/b1", RYE_DIRECTIVE },
		{ "binding/b2.py", "tools/vec/b2.py", "vec/b2", RYE_TOOL },
		{ "binding/b3.md", "knowledge/vec/b3.md", "vec/b3", RYE_KNOWLEDGE },
		{ "binding/b4.js", "tools/vec/b4.js", "vec/b4", RYE_TOOL },
		{ "binding/b8.sh", "tools/vec/b8.sh", "vec/b8", RYE_TOOL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct rye_blob *wanted = place_read(rows[i].file), *got;
		auto_json json_t *reply = NULL;
		struct test_place p;

		place_vectors(&p);
		place_put(p.project, rows[i].path, rows[i].file);
		place_open(&p, false);
		assert_int_equal(sign(&p, rows[i].kind, rows[i].id, &reply), RYE_OK);
		got = file(p.project, rows[i].path);
		assert_string_equal(got->data, wanted->data);
		assert_int_equal(got->len, wanted->len);
		assert_null(json_object_get(reply, "newly_covered"));
		rye_blob_unref(got);
		rye_blob_unref(wanted);
		place_drop(&p);
	}
}

static void T06_signing_writes_LF(void **state)
{
	struct test_place *p = *state;
	auto_json json_t *reply = NULL;
	struct rye_blob *got;

	place_put(p->project, "directives/vec/v2.md", "mutations/v2-crlf.md");
	place_open(p, false);
	assert_int_equal(sign(p, RYE_DIRECTIVE, "vec/v2", &reply), RYE_OK);
	got = file(p->project, "directives/vec/v2.md");
	assert_null(memchr(got->data, '\r', got->len));
	rye_blob_unref(got);
	assert_works(&told_err, place_load(p, RYE_DIRECTIVE, "vec/v2", NULL, &told_err));
	assert_non_null(strstr(json_str(reply, "newly_covered"), "its line ends"));
}

/* Old lines in any of their places go; what stays verifies. */
static void every_vector_can_be_signed_again(void **state)
{
	static const struct {
		const char *file, *path, *id;
		enum rye_kind kind;
	} rows[] = {
		{ "binding/b2-shebang-between.py", "tools/vec/b2.py", "vec/b2", RYE_TOOL },
		{ "binding/b2-shebang-edited.py", "tools/vec/b2.py", "vec/b2", RYE_TOOL },
		{ "binding/b2-resigned-by-reference.py", "tools/vec/b2.py", "vec/b2", RYE_TOOL },
		{ "mutations/v3-sig-before-shebang.py", "tools/vec/v3.py", "vec/v3", RYE_TOOL },
		{ "mutations/v3-sigline-junk.py", "tools/vec/v3.py", "vec/v3", RYE_TOOL },
		{ "mutations/v3-crlf.py", "tools/vec/v3.py", "vec/v3", RYE_TOOL },
		{ "binding/b1-twice.md", "directives/vec/b1.md", "vec/b1", RYE_DIRECTIVE },
		{ "binding/b1-line3.md", "directives/vec/b1.md", "vec/b1", RYE_DIRECTIVE },
		{ "binding/b1-junk.md", "directives/vec/b1.md", "vec/b1", RYE_DIRECTIVE },
		{ "binding/b1-signature-junk.md", "directives/vec/b1.md", "vec/b1", RYE_DIRECTIVE },
		{ "binding/decoy-signed.md", "directives/vec/b1.md", "vec/b1", RYE_DIRECTIVE },
		{ "binding/key3-item.md", "knowledge/vec/b9k.md", "vec/b9k", RYE_KNOWLEDGE },
		{ ".ai/config/vec/v6.yaml", "config/vec/v6.yaml", "vec/v6", RYE_CONFIG },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct rye_item *item = NULL;
		struct rye_err err;

		for (int round = 0; round < 2; round++) {
			auto_json json_t *reply = NULL;
			struct test_place p;

			place_vectors(&p);
			place_put(p.project, rows[i].path, rows[i].file);
			place_open(&p, round);
			if (sign(&p, rows[i].kind, rows[i].id, &reply) != RYE_OK)
				fail_msg("%s: %s", rows[i].file, json_str(reply, "error"));
			if (place_load(&p, rows[i].kind, rows[i].id, &item, &err) != RYE_OK)
				fail_msg("%s: %s", rows[i].file, err.msg);
			assert_true(item->verdict.bound);
			assert_string_equal(item->verdict.notice, "");
			rye_item_unref(item);
			place_drop(&p);
		}
	}
}

static void T24_empty_files(void **state)
{
	struct test_place *p = *state;

	place_text(p->project, "tools/e.py", "");
	place_text(p->project, "config/e.yaml", "");
	place_open(p, false);
	for (int i = 0; i < 2; i++) {
		auto_json json_t *reply = NULL;

		assert_int_equal(sign(p, i ? RYE_CONFIG : RYE_TOOL, "e", &reply), RYE_INVALID);
		assert_string_equal(json_str(reply, "error"),
				    i ? "Config file is empty" : "Tool file is empty");
	}
}

static void T35_without_a_key_pair(void **state)
{
	struct test_place *p = *state;
	struct sign_ask ask = { .kind = RYE_TOOL, .id = "vec/v3" };
	auto_json json_t *reply = NULL;
	struct rye_blob *before, *after;
	struct rye_err err = { 0 };

	place_put(p->project, "tools/vec/v3.py", ".ai/tools/vec/v3.py");
	place_open(p, false);
	before = file(p->project, "tools/vec/v3.py");
	ask.space = &p->spaces->v[0];
	assert_refused(&err, RYE_NO_KEY, sign_request(&p->env, &ask, &reply, &err));
	assert_string_equal(err.msg, "No signing keypair found. Generate one first.\n"
				     "mend with: ryefs keygen");
	after = file(p->project, "tools/vec/v3.py");
	assert_string_equal(before->data, after->data);
	rye_blob_unref(before);
	rye_blob_unref(after);
}

static void reply_of_one(void **state)
{
	struct test_place *p = *state;
	auto_json json_t *reply = NULL;
	const json_t *sig;
	char path[300];

	place_put(p->project, "tools/vec/v3.py", ".ai/tools/vec/v3.py");
	place_open(p, false);
	assert_int_equal(sign(p, RYE_TOOL, "vec/v3", &reply), RYE_OK);
	snprintf(path, sizeof(path), "%s/.ai/tools/vec/v3.py", p->project);
	assert_string_equal(json_str(reply, "status"), "signed");
	assert_string_equal(json_str(reply, "item_id"), "vec/v3");
	assert_string_equal(json_str(reply, "path"), path);
	assert_string_equal(json_str(reply, "location"), "project");
	assert_string_equal(json_str(reply, "message"), "Tool validated and signed.");
	assert_int_equal(json_array_size(json_object_get(reply, "warnings")), 0);
	sig = json_object_get(reply, "signature");
	assert_string_equal(json_str(sig, "timestamp"), STAMP);
	assert_string_equal(json_str(sig, "pubkey_fp"), KEY1);
	assert_int_equal(strlen(json_str(sig, "hash")), 64);
	assert_int_equal(strlen(json_str(sig, "ed25519_sig")), 86);
	assert_non_null(strstr(json_str(reply, "newly_covered"), "shebang"));
}

static void mode_is_kept(void **state)
{
	struct test_place *p = *state;
	auto_json json_t *reply = NULL;
	struct stat st;
	char path[300];

	place_put(p->project, "tools/vec/v3.py", ".ai/tools/vec/v3.py");
	snprintf(path, sizeof(path), "%s/.ai/tools/vec/v3.py", p->project);
	assert_int_equal(chmod(path, 0751), 0);
	place_open(p, false);
	assert_int_equal(sign(p, RYE_TOOL, "vec/v3", &reply), RYE_OK);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0751);
}

static void links_are_not_replaced(void **state)
{
	struct test_place *p = *state;
	auto_json json_t *reply = NULL;
	struct stat st;
	char path[300];

	place_put(p->project, "tools/vec/v3.py", ".ai/tools/vec/v3.py");
	snprintf(path, sizeof(path), "%s/.ai/tools/vec/v3.yaml", p->project);
	place_open(p, false);
	snprintf(path, sizeof(path), "%s/.ai/tools/link.py", p->project);
	assert_int_equal(symlink("vec/v3.py", path), 0);
	assert_int_not_equal(sign(p, RYE_TOOL, "link", &reply), RYE_OK);
	assert_int_equal(lstat(path, &st), 0);
	assert_true(S_ISLNK(st.st_mode));
}

/* ---- rules ---- */

static void expect_error(enum rye_kind kind, const char *path, const char *text, const char *error)
{
	const char *slash = strchr(path, '/');
	auto_json json_t *reply = NULL;
	struct test_place p;
	char id[100];

	snprintf(id, sizeof(id), "%s", slash + 1);
	*strrchr(id, '.') = 0;
	place_vectors(&p);
	if (text)
		place_text(p.project, path, text);
	place_open(&p, false);
	assert_int_not_equal(sign(&p, kind, id, &reply), RYE_OK);
	assert_string_equal(json_str(reply, "error"), error);
	if (!text && kind != RYE_CONFIG)
		assert_string_equal(json_str(reply, "hint"),
				    "Ensure project_path is the parent of the .ai/ directory "
				    "containing this item.");
	place_drop(&p);
}

static void errors_before_the_rules(void **state)
{
	expect_error(RYE_DIRECTIVE, "directives/x.md", NULL, "Directive not found: x");
	expect_error(RYE_TOOL, "tools/x.py", NULL, "Tool not found: x");
	expect_error(RYE_KNOWLEDGE, "knowledge/x.md", NULL, "Knowledge entry not found: x");
	expect_error(RYE_CONFIG, "config/x.yaml", NULL, "Config not found: x");
	expect_error(RYE_DIRECTIVE, "directives/x.md", "# no xml\n", "Invalid directive structure");
	expect_error(RYE_DIRECTIVE, "directives/x.md",
		     "see <directive> below\n```xml\n<directive></directive>\n```\n",
		     "Invalid directive structure");
	expect_error(RYE_TOOL, "tools/x.json", "{}", "Failed to parse tool file");
	expect_error(RYE_KNOWLEDGE, "knowledge/x.md", "---\nname: x\n---\ntext\n",
		     "Invalid knowledge structure");
	expect_error(RYE_KNOWLEDGE, "knowledge/x.md", "just text\n",
		     "No metadata found. Knowledge entries require a ```yaml fenced code block "
		     "with name, title, version, and entry_type fields.");
	expect_error(RYE_CONFIG, "config/x.toml", "= 1\n", "Failed to parse config file");
	expect_error(RYE_CONFIG, "config/keys/trusted/x.toml", "a = 1\n",
		     "Key files are signed by trusting them: ryefs trust KEY");
}

/* What cannot be read has no fields: the four of every tool, and the executor. */
static void T68_broken_yaml(void **state)
{
	struct test_place *p = *state;
	static const char *const fields[] = { "category", "tool_type", "version", "description",
					      "executor_id" };
	auto_json json_t *reply = NULL;
	const json_t *issues;
	char text[64];

	place_text(p->project, "tools/a/b.yaml", "version: \"1.0.0\"\na: b: c\n");
	place_open(p, false);
	assert_int_equal(sign(p, RYE_TOOL, "a/b", &reply), RYE_UNPARSABLE);
	assert_string_equal(json_str(reply, "error"), "Failed to parse tool file");
	assert_int_equal(json_array_size(json_object_get(reply, "details")), 1);
	issues = json_object_get(reply, "issues");
	assert_int_equal(json_array_size(issues), ARRAY_SIZE(fields));
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		snprintf(text, sizeof(text), "Missing required field: %s", fields[i]);
		assert_string_equal(json_string_value(json_array_get(issues, i)), text);
	}
}

static void T90_glob(void **state)
{
	struct test_place *p = *state;
	auto_json json_t *reply = NULL;
	auto_json json_t *second = NULL;
	const json_t *failed;

	place_text(p->project, "tools/my/a.py", PY("\"1.0.0\"", "\"python\"", EXEC, "\"my\"", ""));
	place_text(p->project, "tools/my/b.py", "x = (\n");
	place_text(p->project, "tools/my/c.sh",
		   "#!/bin/bash\n# version: 1.0.0\n# tool_type: script\n# executor_id: x/y\n"
		   "# category: my\n# description: d\necho\n");
	place_text(p->project, "tools/my/d.sh", "echo\n");
	place_text(p->project, "tools/my/package.json", "{}");
	place_text(p->project, "tools/my/node_modules/e.py", "x = 1\n");
	place_text(p->project, "tools/my/sub/f.py", "x = 1\n");
	place_open(p, false);
	/* completed is what succeeded for all */
	assert_int_equal(sign(p, RYE_TOOL, "my/*", &reply), RYE_INVALID);
	assert_string_equal(json_str(reply, "status"), "error");
	assert_string_equal(json_str(reply, "error"), "Signed 2/4 items, 2 failed");
	assert_string_equal(json_str(reply, "summary"), "Signed 2/4 items, 2 failed");
	assert_int_equal(json_int(reply, "total", 0), 4);
	assert_true(has_text(json_object_get(reply, "signed"), "my/a"));
	assert_true(has_text(json_object_get(reply, "signed"), "my/c"));
	failed = json_object_get(reply, "failed");
	assert_int_equal(json_array_size(failed), 2);
	assert_string_equal(json_str(json_array_get(failed, 0), "item"), "my/b");
	assert_string_equal(json_str(json_array_get(failed, 0), "error"),
			    "Failed to parse tool file");
	failed = json_array_get(failed, 1);
	assert_string_equal(json_str(failed, "item"), "my/d");
	assert_string_equal(json_str(failed, "error"), "Validation failed");
	assert_int_equal(json_array_size(json_object_get(failed, "details")), 2);
	assert_int_equal(sign(p, RYE_TOOL, "my/a*", &second), RYE_OK);
	assert_string_equal(json_str(second, "status"), "completed");
	assert_string_equal(json_str(second, "summary"), "Signed 0/1 items, 1 good already");
	assert_int_equal(json_array_size(json_object_get(second, "failed")), 0);
}

static void globs_without_a_slash(void **state)
{
	struct test_place *p = *state;
	auto_json json_t *reply = NULL;

	place_text(p->project, "tools/a.py", "x = 1\n");
	place_text(p->project, "tools/my/b.py", "x = 1\n");
	place_text(p->project, "tools/my/sub/c.py", "x = 1\n");
	place_text(p->project, "tools/my/sub/dd.py", "x = 1\n");
	place_open(p, false);
	assert_int_equal(sign(p, RYE_TOOL, "?.py", &reply), RYE_INVALID);
	assert_int_equal(json_int(reply, "total", 0), 3);
}

static void T92_system_and_no_match(void **state)
{
	struct test_place *p = *state;
	auto_json json_t *reply = NULL;
	auto_json json_t *second = NULL;
	struct sign_ask ask = { .kind = RYE_KNOWLEDGE, .id = "x" };

	place_open(p, false);
	ask.space = &p->spaces->v[2];
	assert_refused(&told_err, RYE_READ_ONLY, sign_request(&p->env, &ask, &reply, &told_err));
	assert_string_equal(
		json_str(reply, "error"),
		"System space items are immutable and cannot be signed. Copy to project "
		"or user space first.");
	assert_int_equal(sign(p, RYE_KNOWLEDGE, "zz*", &second), RYE_NOT_FOUND);
	assert_string_equal(json_str(second, "error"), "No knowledges found matching pattern: zz*");
}

struct heard {
	size_t calls, good, total;
};

static int hear(void *arg, const struct rye_verdict *verdict, size_t done, size_t total)
{
	struct heard *heard = arg;

	heard->calls++;
	heard->good += verdict->code == RYE_OK;
	heard->total = total;
	assert_int_equal(done, heard->calls);
	assert_true(verdict->path[0] == '/');
	return 0;
}

static void whole_space(void **state)
{
	struct test_place *p = *state;
	struct heard heard = { 0 };
	char fp[KEY_FP];
	struct sign_many many = { .fn = hear, .arg = &heard };

	place_put(p->project, "tools/vec/b2.py", "binding/b2.py");
	place_put(p->project, "directives/vec/b1.md", "binding/b1.md");
	place_put(p->project, "knowledge/agent/threads/b5.md", "binding/scoped-transcript.md");
	place_put(p->project, "config/keys/trusted/" KEY3 ".toml", "binding/key3-unsigned.toml");
	place_text(p->project, "knowledge/plain.md", "text\n");
	place_open(p, false);
	many.space = &p->spaces->v[0];
	assert_refused(&told_err, RYE_NO_KEY, sign_many(&p->env, &many, &told_err));
	assert_works(&told_err, keystore_generate(p->spaces, false, NULL, fp, &told_err));
	assert_works(&told_err, keystore_trust(&p->env, "self", NULL, NULL, fp, &told_err));
	assert_works(&told_err, sign_many(&p->env, &many, &told_err));
	assert_int_equal(heard.calls, 3);
	assert_int_equal(heard.good, 2);
	assert_int_equal(heard.total, 3);
	many.pattern = "tool:vec/*";
	heard = (struct heard){ 0 };
	assert_works(&told_err, sign_many(&p->env, &many, &told_err));
	assert_int_equal(heard.good, 1);
	/* a plain id is that item alone */
	place_put(p->project, "tools/other/b2.py", "binding/b2.py");
	many.pattern = "tool:vec/b2";
	heard = (struct heard){ 0 };
	assert_works(&told_err, sign_many(&p->env, &many, &told_err));
	assert_int_equal(heard.total, 1);
	many.pattern = "tool:b2";
	assert_refused(&told_err, RYE_NOT_FOUND, sign_many(&p->env, &many, &told_err));
	many.pattern = "config:**/*";
	assert_refused(&told_err, RYE_NOT_FOUND, sign_many(&p->env, &many, &told_err));
	/* without a kind a pattern speaks of all of them */
	many.pattern = "vec/*";
	heard = (struct heard){ 0 };
	assert_works(&told_err, sign_many(&p->env, &many, &told_err));
	assert_int_equal(heard.good, 2);
	many.pattern = "vec/b2";
	assert_refused(&told_err, RYE_NOT_FOUND, sign_many(&p->env, &many, &told_err));
	many.pattern = "tols:vec/*";
	assert_refused(&told_err, RYE_NOT_FOUND, sign_many(&p->env, &many, &told_err));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(T02_signature_of_v1),
		place_test(T18_shebang_of_javascript),
		cmocka_unit_test(bound_vectors_are_reproduced),
		place_test(T06_signing_writes_LF),
		cmocka_unit_test(every_vector_can_be_signed_again),
		place_test(T24_empty_files),
		place_test(T35_without_a_key_pair),
		place_test(reply_of_one),
		place_test(mode_is_kept),
		place_test(links_are_not_replaced),
		cmocka_unit_test(errors_before_the_rules),
		place_test(T68_broken_yaml),
		place_test(T90_glob),
		place_test(globs_without_a_slash),
		place_test(T92_system_and_no_match),
		place_test(whole_space),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
