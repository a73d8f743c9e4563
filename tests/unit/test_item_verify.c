/* SPDX-License-Identifier: MIT */
/*
 * Verification of whole files, numbered as the format's conformance cases. Key 1 is trusted in
 * user space; compat unless a case says otherwise.
 */
#include "item_place.h"

#include "base/id.h"
#include "parse/parse.h"
#include "trust/trust.h"

#include <errno.h>
#include <sys/resource.h>

/* One text at one place; what came of it. */
struct result {
	struct test_place p;
	struct rye_item *item;
	struct rye_err err;
	enum rye_code code;
};

static void load_text(struct result *r, bool compat, const char *path, struct rye_span text)
{
	char id[1100];
	const char *slash = strchr(path, '/');
	enum rye_kind kind = kind_from_dir((struct rye_span){ path, (size_t)(slash - path) });

	*r = (struct result){ 0 };
	snprintf(id, sizeof(id), "%s", slash + 1);
	*strrchr(id, '.') = 0;
	place_vectors(&r->p);
	place_write(r->p.project, path, text);
	place_open(&r->p, compat);
	r->code = place_load(&r->p, kind, id, &r->item, &r->err);
}

static void load(struct result *r, bool compat, const char *path, const char *vector)
{
	struct rye_blob *blob = place_read(vector);

	load_text(r, compat, path, (struct rye_span){ blob->data, blob->len });
	rye_blob_unref(blob);
}

static void done(struct result *r)
{
	rye_item_unref(r->item);
	place_drop(&r->p);
}

static void expect_ok(const char *path, const char *vector, const char *hash)
{
	struct result r;

	load(&r, true, path, vector);
	if (r.code != RYE_OK)
		fail_msg("%s: %s", vector, r.err.msg);
	if (hash)
		assert_string_equal(r.item->verdict.hash, hash);
	done(&r);
}

/* The refusal's first line begins with text; its last one tells what to do. */
static void expect_refused(const char *path, struct rye_span bytes, enum rye_code code,
			   const char *text)
{
	for (int compat = 0; compat < 2; compat++) {
		struct result r;

		load_text(&r, compat, path, bytes);
		if (r.code != code || strncmp(r.err.msg, text, strlen(text)))
			fail_msg("%s, wanted %s: %s", rye_code_name(r.code), text, r.err.msg);
		if (rye_code_integrity(code))
			assert_non_null(strstr(r.err.msg, "\n  mend with: ryefs "));
		done(&r);
	}
}

/* The vector with the first occurrence of one text replaced by another. */
static void expect_edited(const char *path, const char *vector, const char *const edit[2],
			  enum rye_code code, const char *text)
{
	struct rye_blob *blob = place_read(vector);
	auto_buf struct rye_buf out = RYE_BUF_INIT;
	ssize_t at = span_find((struct rye_span){ blob->data, blob->len }, 0, edit[0]);

	assert_true(at >= 0);
	buf_add(&out, blob->data, (size_t)at);
	buf_adds(&out, edit[1]);
	buf_adds(&out, blob->data + at + strlen(edit[0]));
	rye_blob_unref(blob);
	if (code != RYE_OK) {
		expect_refused(path, (struct rye_span){ out.data, out.len }, code, text);
	} else {
		struct result r;

		load_text(&r, true, path, (struct rye_span){ out.data, out.len });
		if (r.code != RYE_OK)
			fail_msg("%s", r.err.msg);
		done(&r);
	}
}

#define EDIT(from, to)         \
	(const char *const[2]) \
	{                      \
		from, to       \
	}

#define V1 "knowledge/vec/v1.md", ".ai/knowledge/vec/v1.md"
#define V1_HASH "8ea50ff70d6b3ce8e9ae26c27c00d6037b3b5d900487c1137bfcffe1e2782fae"
#define V2 "directives/vec/v2.md"
#define V2_HASH "8155612f4b735dde60a59cef9abee0e385476213d646e57771868b50fb6dfc58"
#define V3 "tools/vec/v3.py"

static void T01_knowledge_verifies(void **state)
{
	struct result r;

	expect_ok(V1, V1_HASH);
	load(&r, false, V1);
	assert_int_equal(r.code, RYE_OK);
	assert_string_equal(r.item->verdict.coverage, "content");
	assert_string_equal(r.item->verdict.fingerprint, KEY1);
	assert_string_equal(r.item->verdict.owner, "local");
	assert_string_equal(r.item->verdict.signed_at, "2026-01-02T03:04:05Z");
	assert_string_equal(r.item->verdict.notice, "");
	assert_true(span_starts(r.item->body, "```yaml"));
	assert_string_equal(json_str(r.item->meta, "name"), "v1");
	done(&r);
}

static void T03_directive_verifies(void **state)
{
	struct result r;

	expect_ok(V2, ".ai/directives/vec/v2.md", V2_HASH);
	load(&r, true, V2, ".ai/directives/vec/v2.md");
	assert_string_equal(r.item->verdict.coverage, "metadata");
	assert_true(span_starts(r.item->body, "# V2"));
	done(&r);
}

static void T04_body_edited_is_told_or_refused(void **state)
{
	struct result r;

	load(&r, true, V2, "mutations/v2-body-edited.md");
	assert_int_equal(r.code, RYE_OK);
	assert_string_equal(r.item->verdict.hash, V2_HASH);
	assert_non_null(strstr(r.item->verdict.notice, "before and after its XML"));
	done(&r);
	load(&r, false, V2, "mutations/v2-body-edited.md");
	assert_int_equal(r.code, RYE_UNCOVERED);
	assert_true(!strncmp(r.err.msg, "Not covered by its signature: /", 31));
	assert_non_null(strstr(r.err.msg, "coverage=compat"));
	assert_true(str_ends(r.err.msg, "\n  mend with: ryefs sign directive:vec/v2"));
	done(&r);
}

/* Unsigned text may follow, but text it is: what a C program shows of it would end there. */
static void T04_a_nul_in_the_body_is_refused_with_compat_too(void **state)
{
	struct rye_blob *blob = place_read(".ai/directives/vec/v2.md");
	auto_buf struct rye_buf out = RYE_BUF_INIT;
	struct result r;

	buf_add(&out, blob->data, blob->len);
	rye_blob_unref(blob);
	buf_adds(&out, "more\n");
	load_text(&r, true, V2, (struct rye_span){ out.data, out.len });
	assert_int_equal(r.code, RYE_OK);
	done(&r);
	buf_add(&out, "a\0b\n", 4);
	load_text(&r, true, V2, (struct rye_span){ out.data, out.len });
	assert_int_equal(r.code, RYE_UNPARSABLE);
	if (!strstr(r.err.msg, "Holds a NUL byte"))
		fail_msg("%s", r.err.msg);
	done(&r);
}

static void T05_xml_edited_is_modified(void **state)
{
	struct rye_blob *blob = place_read("mutations/v2-xml-edited.md");

	expect_refused(V2, (struct rye_span){ blob->data, blob->len }, RYE_MODIFIED,
		       "Content modified since signing: /");
	rye_blob_unref(blob);
}

static void T06_crlf_verifies_in_compat(void **state)
{
	struct result r;

	load(&r, true, V2, "mutations/v2-crlf.md");
	assert_int_equal(r.code, RYE_OK);
	assert_string_equal(r.item->verdict.hash, V2_HASH);
	assert_null(memchr(r.item->text->data, '\r', r.item->text->len));
	assert_non_null(memchr(r.item->raw->data, '\r', r.item->raw->len));
	done(&r);
	load(&r, false, V2, "mutations/v2-crlf.md");
	assert_int_equal(r.code, RYE_UNCOVERED);
	done(&r);
}

/* What is bound begins behind the line's end: a CR before that is of no signer. */
static void a_cr_at_the_signature_line_is_refused(void **state)
{
	struct rye_blob *blob = place_read("binding/b1.md");
	size_t n = strcspn(blob->data, "\n");
	auto_buf struct rye_buf out = RYE_BUF_INIT;
	struct result r;

	load(&r, false, "directives/vec/b1.md", "binding/b1.md");
	assert_int_equal(r.code, RYE_OK);
	done(&r);
	buf_add(&out, blob->data, n);
	buf_addc(&out, '\r');
	buf_add(&out, blob->data + n, blob->len - n);
	rye_blob_unref(blob);
	load_text(&r, false, "directives/vec/b1.md", (struct rye_span){ out.data, out.len });
	assert_int_equal(r.code, RYE_BAD_LINE);
	done(&r);
}

static void T07_bytes_before_the_line_are_unsigned(void **state)
{
	static const char *const files[] = { "mutations/v2-bom.md",
					     "mutations/v2-leading-blank.md" };

	for (int i = 0; i < 2; i++) {
		struct rye_blob *blob = place_read(files[i]);

		expect_refused(V2, (struct rye_span){ blob->data, blob->len }, RYE_UNSIGNED,
			       "Unsigned item: /");
		rye_blob_unref(blob);
	}
}

static void T08_second_line_of_a_directive(void **state)
{
	expect_ok(V2, "mutations/v2-sig-twice.md", V2_HASH);
}

static void T09_padding_is_read(void **state)
{
	expect_ok(V2, "mutations/v2-padded.md", V2_HASH);
}

static void T10_provider_is_told(void **state)
{
	struct result r;

	load(&r, true, V2, "mutations/v2-provider.md");
	assert_int_equal(r.code, RYE_OK);
	assert_string_equal(r.item->verdict.provider, "rye-registry");
	assert_string_equal(r.item->verdict.provider_user, "alice");
	done(&r);
}

static void T11_second_closing_tag_is_modified(void **state)
{
	expect_edited(V2, ".ai/directives/vec/v2.md", EDIT("!\n", "!\n</directive>\n"),
		      RYE_MODIFIED, "Content modified since signing");
}

static void T12_preamble_names_the_element(void **state)
{
	struct rye_span text = SPAN("a <directive x> b\n```xml\n<directive>y</directive>\n```\n");
	struct rye_span region;
	struct sig_rule rule;

	assert_true(sig_rule_of(RYE_DIRECTIVE, ".md", &rule));
	assert_true(digest_region(RYE_DIRECTIVE, rule, text, &region));
	assert_true(span_starts(region, "<directive x> b\n"));
	assert_true(span_ends(region, "</directive>"));
}

static void T13_no_xml_is_no_integrity_error(void **state)
{
	static const char text[] = "<!-- rye:signed:2026-01-02T03:04:05Z:" V1_HASH ":QQ:" KEY1
				   " -->\n# no element\n";

	expect_refused(V2, SPAN(text), RYE_UNPARSABLE, "No XML directive found in content");
	assert_false(rye_code_integrity(RYE_UNPARSABLE));
}

static void T14_tool_with_shebang(void **state)
{
	struct result r;

	load(&r, true, V3, ".ai/tools/vec/v3.py");
	assert_int_equal(r.code, RYE_OK);
	assert_non_null(strstr(r.item->verdict.notice, "shebang"));
	/* the shebang is unsigned: an empty line stands there in what is served */
	assert_true(span_eq(r.item->shebang, "\n"));
	assert_true(span_starts(r.item->body, "\"\"\"v3\"\"\""));
	assert_int_equal(r.item->text->data[0], '\n');
	done(&r);
}

static void T15_open_parts_of_a_tool_are_told(void **state)
{
	static const char *const files[] = { "mutations/v3-sig-before-shebang.py",
					     "mutations/v3-shebang-edited.py",
					     "mutations/v3-sigline-junk.py" };

	for (int i = 0; i < 3; i++) {
		struct result r;

		load(&r, true, V3, files[i]);
		assert_int_equal(r.code, RYE_OK);
		assert_true(r.item->verdict.notice[0] != 0);
		assert_null(strstr(r.item->text->data, "#!/"));
		assert_true(span_starts(r.item->body, i ? "\"\"\"v3" : "\n\"\"\"v3"));
		done(&r);
		load(&r, false, V3, files[i]);
		assert_int_equal(r.code, i == 2 ? RYE_BAD_LINE : RYE_UNCOVERED);
		done(&r);
	}
}

static void T16_tool_content_is_hashed_to_the_byte(void **state)
{
	static const char *const files[] = { "mutations/v3-sig-twice.py",
					     "mutations/v3-no-final-newline.py" };

	for (int i = 0; i < 2; i++) {
		struct rye_blob *blob = place_read(files[i]);

		expect_refused(V3, (struct rye_span){ blob->data, blob->len }, RYE_MODIFIED,
			       "Content modified since signing");
		rye_blob_unref(blob);
	}
}

static void T17_tool_crlf(void **state)
{
	expect_ok(V3, "mutations/v3-crlf.py", NULL);
}

static void T18_javascript_line_comes_first(void **state)
{
	struct rye_blob *blob = place_read(".ai/tools/vec/v4.js");
	auto_buf struct rye_buf out = RYE_BUF_INIT;

	expect_ok("tools/vec/v4.js", ".ai/tools/vec/v4.js", NULL);
	buf_adds(&out, "#!/usr/bin/env node\n");
	buf_add(&out, blob->data, blob->len);
	expect_refused("tools/vec/v4.js", (struct rye_span){ out.data, out.len }, RYE_UNSIGNED,
		       "Unsigned item");
	/* behind the line it is not hashed, so the item still verifies */
	expect_edited("tools/vec/v4.js", ".ai/tools/vec/v4.js",
		      EDIT("dea\nexport", "dea\n#!/usr/bin/node\nexport"), RYE_OK, NULL);
	rye_blob_unref(blob);
}

static void T19_signature_line_only(void **state)
{
	struct rye_blob *blob = place_read(".ai/knowledge/vec/v7.md");

	expect_ok("knowledge/vec/v7.md", ".ai/knowledge/vec/v7.md",
		  "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	expect_refused("knowledge/vec/v7.md", (struct rye_span){ blob->data, blob->len - 1 },
		       RYE_MODIFIED, "Content modified since signing");
	rye_blob_unref(blob);
}

/* A line with something before its closer is no signature line to other software. */
static void text_before_the_closer(void **state)
{
	static const struct {
		const char *end;
		enum rye_code compat, strict;
	} cases[] = {
		{ "0 -->", RYE_UNSIGNED, RYE_BAD_LINE }, { "-->", RYE_UNSIGNED, RYE_BAD_LINE },
		{ "  -->", RYE_UNSIGNED, RYE_BAD_LINE }, { "|a@ -->", RYE_UNSIGNED, RYE_BAD_LINE },
		{ "|a@b -->", RYE_OK, RYE_OK },
	};
	struct rye_blob *blob = place_read(".ai/knowledge/vec/v7.md");

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		for (int compat = 0; compat < 2; compat++) {
			auto_buf struct rye_buf out = RYE_BUF_INIT;
			struct result r;

			buf_add(&out, blob->data, blob->len - strlen(" -->\n"));
			buf_addf(&out, "%s\n", cases[i].end);
			load_text(&r, compat, "knowledge/vec/v7.md",
				  (struct rye_span){ out.data, out.len });
			if (compat)
				assert_int_equal(r.code, cases[i].compat);
			else if (cases[i].strict != RYE_OK)
				assert_int_equal(r.code, cases[i].strict);
			done(&r);
		}
	rye_blob_unref(blob);
}

static void T20_knowledge_in_yaml(void **state)
{
	struct result r;

	load(&r, true, "knowledge/vec/v8.yaml", ".ai/knowledge/vec/v8.yaml");
	assert_int_equal(r.code, RYE_OK);
	assert_string_equal(json_str(r.item->meta, "name"), "v8");
	done(&r);
}

static void T21_dashed_block_is_open(void **state)
{
	expect_edited("knowledge/vec/dash.md", "binding/dash.md",
		      EDIT("entry_type: reference", "entry_type: reference"), RYE_OK, NULL);
	expect_edited("knowledge/vec/dash.md", "binding/dash.md", EDIT("name: dash", "name: other"),
		      RYE_OK, NULL);
	expect_edited("knowledge/vec/dash.md", "binding/dash.md", EDIT("Text.\n", "Text.\n\n \n"),
		      RYE_OK, NULL);
	expect_edited("knowledge/vec/dash.md", "binding/dash.md", EDIT("Text.", "Text!"),
		      RYE_MODIFIED, "Content modified");
}

static void T22_unknown_extension(void **state)
{
	struct test_place *p = *state;
	struct rye_err err = { 0 };
	struct rye_item *item;

	place_text(p->project, "tools/vec/x.php", "echo 1;\n");
	place_open(p, true);
	assert_refused(
		&err, RYE_INVALID,
		rye_load_path(&p->env,
			      &(struct path_ask){ &p->spaces->v[0], RYE_TOOL, "tools/vec/x.php" },
			      &item, &err));
	assert_string_equal(
		err.msg, "No signature format configured for extension '.php' (kind: tool, file: "
			 "x.php). Add it to the tool extractor's signature_formats or "
			 "signature_format.");
}

static void T23_broken_utf8(void **state)
{
	struct test_place *p = *state;

	expect_refused("tools/vec/a.py", SPAN("# a\xff\n"), RYE_UNPARSABLE,
		       "Not valid UTF-8: /tmp/rye-item-");
	place_write(p->project, "tools/vec/a.py", SPAN("# a\xff\n"));
	place_open(p, true);
	p->env.dev_mode = true;
	assert_int_equal(place_load(p, RYE_TOOL, "vec/a", NULL, NULL), RYE_UNPARSABLE);
}

static void T24_empty_files_are_unsigned(void **state)
{
	static const char *const paths[] = { "directives/e.md", "tools/e.py", "knowledge/e.md",
					     "config/e.yaml" };

	for (int i = 0; i < 4; i++)
		expect_refused(paths[i], SPAN(""), RYE_UNSIGNED, "Unsigned item: /");
}

static void T25_unknown_key_names_the_trusted_ones(void **state)
{
	struct result r;

	expect_edited(V1, EDIT(":" KEY1 " ", ":f0ff50dacf109deb "), RYE_UNTRUSTED,
		      "Untrusted key f0ff50dacf109deb for /");
	load(&r, true, "knowledge/vec/b9k.md", "binding/key3-item.md");
	assert_int_equal(r.code, RYE_UNTRUSTED);
	assert_non_null(strstr(r.err.msg, "\n  Kind: knowledge\n"));
	assert_non_null(strstr(r.err.msg, "\n  Item signed by: " KEY3 "\n"));
	assert_non_null(strstr(r.err.msg, "\n  Trusted keys: " KEY1 "\n"));
	assert_true(str_ends(r.err.msg, "\n  mend with: ryefs trust " KEY3 ".toml"));
	done(&r);
}

static void T26_flipped_signature(void **state)
{
	expect_edited(V1, EDIT(":uNEHpFV", ":vNEHpFV"), RYE_BAD_SIGNATURE,
		      "Ed25519 signature verification failed: /");
}

static void T27_hash_before_key(void **state)
{
	expect_edited(V1, EDIT(":8ea50ff7", ":9ea50ff7"), RYE_MODIFIED, "Content modified");
	expect_edited("knowledge/vec/b9k.md", "binding/key3-item.md", EDIT("Text.", "Text!"),
		      RYE_MODIFIED, "Content modified since signing");
}

static void T28_timestamp_is_not_signed(void **state)
{
	expect_edited(V1, EDIT("2026-01-02", "2031-12-02"), RYE_OK, NULL);
}

static void T29_malformed_fields_are_unsigned(void **state)
{
	static const char *const edits[][2] = {
		{ ":8ea50ff7", ":8EA50ff7" },
		{ ":" KEY1 " ", ":f0ff50dacf109de " },
		{ "05Z:", "05+00:00:" },
		{ V1_HASH ":uNEHpFV-CJWpkQgNgzOQz6bdxYfLt_38wyswM15LzRfKaflCCfKdfzFSp7Fo_wRFaK_Dg_"
			  "ffXRWKh4yYjH4MDg:" KEY1,
		  "placeholder:unsigned:unsigned" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(edits); i++)
		expect_edited(V1, edits[i], RYE_UNSIGNED, "Unsigned item: /");
}

static void T30_dev_mode_softens_integrity_only(void **state)
{
	struct test_place *p = *state;
	struct rye_item *item;

	place_put(p->project, V2, "mutations/v2-xml-edited.md");
	place_put(p->project, "tools/vec/b2.py", "binding/b2-line-deleted.py");
	place_put(p->project, "config/vec/v6.yaml", ".ai/config/vec/v6.yaml");
	place_put(p->system, "tools/sys/b2.py", "binding/b2-line-deleted.py");
	place_open(p, false);
	p->env.dev_mode = true;
	assert_works(&told_err, place_load(p, RYE_DIRECTIVE, "vec/v2", &item, &told_err));
	assert_true(item->verdict.dev);
	assert_string_equal(item->verdict.hash, "unverified");
	assert_true(!strncmp(item->verdict.notice, "[DEV MODE] Content modified", 27));
	assert_true(str_ends(item->verdict.notice, " — executing anyway"));
	rye_item_unref(item);
	assert_works(&told_err, place_load(p, RYE_TOOL, "vec/b2", &item, &told_err));
	assert_true(item->verdict.dev && !item->verdict.bound);
	/* it is the person's own file: its shebang stays */
	assert_true(span_starts(item->shebang, "#!/"));
	rye_item_unref(item);
	assert_int_equal(place_load(p, RYE_TOOL, "sys/b2", NULL, NULL), RYE_MODIFIED);
	assert_int_equal(place_load(p, RYE_CONFIG, "vec/v6", NULL, NULL), RYE_UNCOVERED);
}

static void T33_moved_directive(void **state)
{
	struct result r;

	load(&r, true, "directives/other/v2.md", ".ai/directives/vec/v2.md");
	assert_int_equal(r.code, RYE_MOVED);
	assert_true(!strncmp(r.err.msg, "Item moved since signing: /", 27));
	assert_non_null(strstr(r.err.msg, "category 'vec'"));
	done(&r);
	load(&r, false, "knowledge/vec/w.md", ".ai/knowledge/vec/v1.md");
	assert_int_equal(r.code, RYE_UNCOVERED);
	assert_true(!strncmp(r.err.msg, "Changed, moved or renamed since signing: /", 42));
	done(&r);
}

/* 200 MiB, and one line of 100 MiB: refused by their size, no memory is taken. */
static void T36_too_big(void **state)
{
	struct test_place *p = *state;
	static const off_t sizes[] = { 200 << 20, 100 << 20 };
	struct rusage before, after;
	struct rye_err err;
	char path[256];

	place_text(p->project, "knowledge/big.md", "x");
	place_open(p, true);
	snprintf(path, sizeof(path), "%s/.ai/knowledge/big.md", p->project);
	getrusage(RUSAGE_SELF, &before);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		assert_int_equal(truncate(path, sizes[i]), 0);
		assert_int_equal(place_load(p, RYE_KNOWLEDGE, "big", NULL, &err), RYE_TOO_BIG);
		assert_non_null(strstr(err.msg, "16 MiB"));
	}
	getrusage(RUSAGE_SELF, &after);
	assert_true(after.ru_maxrss - before.ru_maxrss < 20 << 10);
	assert_int_equal(rye_code_errno(RYE_TOO_BIG), EFBIG);
}

static json_t *meta_of(const char *vector)
{
	json_t *meta;
	struct result r;

	load(&r, true, V2, vector);
	assert_int_equal(r.code, RYE_OK);
	meta = json_deep_copy(r.item->meta);
	done(&r);
	return meta;
}

static void T64_crlf_is_lf_to_the_parser(void **state)
{
	auto_json json_t *lf = meta_of(".ai/directives/vec/v2.md");
	auto_json json_t *crlf = meta_of("mutations/v2-crlf.md");

	assert_true(json_object_size(lf) > 3);
	assert_true(json_equal(lf, crlf));
}

/* Read as metadata with a warning in compat, refused as uncovered in strict. */
static void T65_dashed_block(void **state)
{
	struct result r;

	load(&r, true, "knowledge/vec/dash.md", "binding/dash.md");
	assert_int_equal(r.code, RYE_OK);
	assert_string_equal(json_str(r.item->meta, "name"), "dash");
	assert_non_null(strstr(r.item->verdict.notice, "---"));
	done(&r);
	load(&r, false, "knowledge/vec/dash.md", "binding/dash.md");
	assert_int_equal(r.code, RYE_UNCOVERED);
	done(&r);
}

static void bound_text_is_raw_text(void **state)
{
	struct result r;

	load(&r, false, "tools/vec/b2.py", "binding/b2.py");
	assert_int_equal(r.code, RYE_OK);
	assert_true(r.item->verdict.bound);
	assert_string_equal(r.item->verdict.coverage, "full");
	assert_ptr_equal(r.item->text, r.item->raw);
	assert_true(span_eq(r.item->shebang, "#!/usr/bin/env python3\n"));
	assert_true(span_starts(r.item->body, "\"\"\"b2\"\"\"\n"));
	done(&r);
	load(&r, true, "directives/vec/b1.md", "binding/b1.md");
	assert_true(span_starts(r.item->body, "# B1\n"));
	done(&r);
	/* only the two header lines are cut */
	load(&r, false, "directives/vec/b1.md", "binding/b1-two-signed.md");
	assert_true(span_starts(r.item->body, "<!-- rye:full:1:"));
	done(&r);
}

static void decoys_grant_nothing(void **state)
{
	static const struct {
		const char *file, *path;
		bool compat;
	} rows[] = { { "binding/decoy-signed.md", "directives/vec/b1.md", false },
		     { "binding/decoy-signed.md", "directives/vec/b1.md", true },
		     { "binding/b1-decoy.md", "directives/vec/b1.md", true },
		     { "binding/v2-decoy.md", "directives/vec/v2.md", true },
		     { "binding/c1.md", "directives/vec/c1.md", true } };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct result r;

		load(&r, rows[i].compat, rows[i].path, rows[i].file);
		assert_int_equal(r.code, RYE_OK);
		assert_null(json_object_get(r.item->meta, "permissions"));
		assert_int_equal(json_object_size(json_object_get(r.item->meta, "templates")), 0);
		done(&r);
	}
}

static void CR_is_LF_in_what_runs(void **state)
{
	struct result r;

	load(&r, true, "tools/vec/b8.sh", "binding/b8-cr.sh");
	assert_int_equal(r.code, RYE_OK);
	assert_non_null(strstr(r.item->text->data, "# guard follows\nexit 3\n"));
	done(&r);
}

/* Text hidden in the signature's comment would be served without being hashed. */
static void comment_over_several_lines_is_unsigned(void **state)
{
	expect_edited(V1, EDIT(KEY1 " -->\n", KEY1 "\nevil -->\n"), RYE_UNSIGNED, "Unsigned item");
	expect_edited(V1, EDIT(KEY1 " -->\n", KEY1 " x\nevil -->\n"), RYE_UNSIGNED,
		      "Unsigned item");
}

static void glance_tells_without_failing(void **state)
{
	struct test_place *p = *state;
	const struct item_ask ask = { .kind = RYE_DIRECTIVE, .id = "vec/v2" };
	struct glance glance;
	struct rye_err err = { 0 };

	place_put(p->project, V2, "mutations/v2-xml-edited.md");
	place_open(p, false);
	assert_works(&err, item_glance(&p->env, &ask, &glance, &err));
	assert_int_equal(glance.verdict.code, RYE_MODIFIED);
	assert_int_equal(glance.why.code, RYE_MODIFIED);
	assert_string_equal(glance.path, V2);
	assert_string_equal(glance.verdict.fingerprint, KEY1);
	assert_true(glance.st.st_size > 0);
}

static void long_paths_keep_the_fix(void **state)
{
	char id[700] = "", fix[800], path[800];
	struct result r;

	for (int i = 0; i < 3; i++) {
		memset(id + strlen(id), 'a' + i, 200);
		strncat(id, i < 2 ? "/" : "", 2);
	}
	snprintf(path, sizeof(path), "knowledge/%s.md", id);
	load_text(&r, false, path, SPAN("text\n"));
	assert_int_equal(r.code, RYE_UNSIGNED);
	snprintf(fix, sizeof(fix), "\n  mend with: ryefs sign knowledge:%s", id);
	assert_true(str_ends(r.err.msg, fix));
	done(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(T01_knowledge_verifies),
		cmocka_unit_test(T03_directive_verifies),
		cmocka_unit_test(T04_a_nul_in_the_body_is_refused_with_compat_too),
		cmocka_unit_test(T04_body_edited_is_told_or_refused),
		cmocka_unit_test(T05_xml_edited_is_modified),
		cmocka_unit_test(T06_crlf_verifies_in_compat),
		cmocka_unit_test(a_cr_at_the_signature_line_is_refused),
		cmocka_unit_test(T07_bytes_before_the_line_are_unsigned),
		cmocka_unit_test(T08_second_line_of_a_directive),
		cmocka_unit_test(T09_padding_is_read),
		cmocka_unit_test(T10_provider_is_told),
		cmocka_unit_test(T11_second_closing_tag_is_modified),
		cmocka_unit_test(T12_preamble_names_the_element),
		cmocka_unit_test(T13_no_xml_is_no_integrity_error),
		cmocka_unit_test(T14_tool_with_shebang),
		cmocka_unit_test(T15_open_parts_of_a_tool_are_told),
		cmocka_unit_test(T16_tool_content_is_hashed_to_the_byte),
		cmocka_unit_test(T17_tool_crlf),
		cmocka_unit_test(T18_javascript_line_comes_first),
		cmocka_unit_test(T19_signature_line_only),
		cmocka_unit_test(text_before_the_closer),
		cmocka_unit_test(T20_knowledge_in_yaml),
		cmocka_unit_test(T21_dashed_block_is_open),
		place_test(T22_unknown_extension),
		place_test(T23_broken_utf8),
		cmocka_unit_test(T24_empty_files_are_unsigned),
		cmocka_unit_test(T25_unknown_key_names_the_trusted_ones),
		cmocka_unit_test(T26_flipped_signature),
		cmocka_unit_test(T27_hash_before_key),
		cmocka_unit_test(T28_timestamp_is_not_signed),
		cmocka_unit_test(T29_malformed_fields_are_unsigned),
		place_test(T30_dev_mode_softens_integrity_only),
		cmocka_unit_test(T33_moved_directive),
		place_test(T36_too_big),
		cmocka_unit_test(T64_crlf_is_lf_to_the_parser),
		cmocka_unit_test(T65_dashed_block),
		cmocka_unit_test(bound_text_is_raw_text),
		cmocka_unit_test(decoys_grant_nothing),
		cmocka_unit_test(CR_is_LF_in_what_runs),
		cmocka_unit_test(comment_over_several_lines_is_unsigned),
		place_test(glance_tells_without_failing),
		cmocka_unit_test(long_paths_keep_the_fix),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
