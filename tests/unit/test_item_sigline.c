/* SPDX-License-Identifier: MIT */
/* The header lines of every kind and extension, and the hashed regions behind them. */
#include "rye_test.h"

#include "base/id.h"
#include "str.h"
#include "parse/parse.h"

#include <stdio.h>

#define HASH "8ea50ff70d6b3ce8e9ae26c27c00d6037b3b5d900487c1137bfcffe1e2782fae"
#define SIG "uNEHpFV-CJWpkQgNgzOQz6bdxYfLt_38wyswM15LzRfKaflCCfKdfzFSp7Fo_wRFaK_Dg_ffXRWKh4yYjH4MDg"
#define FP "f0ff50dacf109dea"
#define FIELDS "rye:signed:2026-01-02T03:04:05Z:" HASH ":" SIG ":" FP
#define BIND "rye:full:1:" SIG ":" FP

static struct sig_rule rule_of(enum rye_kind kind, const char *ext)
{
	struct sig_rule rule;

	assert_true(sig_rule_of(kind, ext, &rule));
	return rule;
}

static void styles_by_kind_and_extension(void **state)
{
	struct sig_rule rule;

	for (const char *const *ext = kind_extensions(RYE_TOOL); *ext; ext++) {
		bool slash = strstr(*ext, "js") && strcmp(*ext, ".json");

		rule = rule_of(RYE_TOOL, *ext);
		slash = slash || !strcmp(*ext, ".ts");
		assert_int_equal(rule.style, slash ? SIG_SLASH : SIG_HASH);
		assert_int_equal(rule.after_shebang, !slash);
	}
	for (const char *const *ext = kind_extensions(RYE_KNOWLEDGE); *ext; ext++)
		assert_int_equal(rule_of(RYE_KNOWLEDGE, *ext).style, SIG_HTML);
	for (const char *const *ext = kind_extensions(RYE_CONFIG); *ext; ext++) {
		assert_int_equal(rule_of(RYE_CONFIG, *ext).style, SIG_HASH);
		assert_false(rule_of(RYE_CONFIG, *ext).after_shebang);
	}
	assert_int_equal(rule_of(RYE_DIRECTIVE, ".md").style, SIG_HTML);
	assert_int_equal(rule_of(RYE_TOOL, ".PY").style, SIG_HASH);
	assert_false(sig_rule_of(RYE_TOOL, ".php", &rule));
	assert_false(sig_rule_of(RYE_CONFIG, ".js", &rule));
	assert_false(sig_rule_of(RYE_TOOL, "", &rule));
}

struct row {
	enum rye_kind kind;
	const char *ext, *text;
	bool is_signed, junk;
	const char *rest; /* NULL: not looked at */
};

static const struct row rows[] = {
	{ RYE_TOOL, ".py", "# " FIELDS "\nx\n", true, false, "x\n" },
	{ RYE_TOOL, ".py", "#!/bin/x\n# " FIELDS "\nx", true, false, "x" },
	{ RYE_TOOL, ".py", "# " FIELDS "\n#!/bin/x\nx", true, false, "#!/bin/x\nx" },
	{ RYE_TOOL, ".py", "#! /bin/x\n# " FIELDS "\nx", false },
	{ RYE_TOOL, ".py", "#!/bin/x", false, false, "#!/bin/x" },
	{ RYE_TOOL, ".py", "#!/a\n#!/b\n# " FIELDS "\n", false },
	{ RYE_TOOL, ".py", "# " FIELDS, true, false, "" },
	{ RYE_TOOL, ".py", "# " FIELDS " \nx", true, true },
	{ RYE_TOOL, ".py", "# " FIELDS "\r\nx", true, true },
	{ RYE_TOOL, ".py", "# " FIELDS "0\nx", true, true },
	{ RYE_TOOL, ".py", "# " FIELDS "|a@b\nx", true, false },
	{ RYE_TOOL, ".py", "# " FIELDS "|a@\nx", true, true },
	{ RYE_TOOL, ".py", "# " FIELDS "|a@b c\nx", true, true },
	{ RYE_TOOL, ".py", "#  " FIELDS "\nx", false },
	{ RYE_TOOL, ".py", " # " FIELDS "\nx", false },
	{ RYE_TOOL, ".py", "// " FIELDS "\nx", false },
	{ RYE_TOOL, ".py", "<!-- " FIELDS " -->\nx", false },
	{ RYE_TOOL, ".js", "// " FIELDS "\nx", true, false, "x" },
	{ RYE_TOOL, ".js", "#!/bin/x\n// " FIELDS "\nx", false },
	{ RYE_CONFIG, ".yaml", "# " FIELDS "\nx", true, false, "x" },
	{ RYE_CONFIG, ".yaml", "#!/bin/x\n# " FIELDS "\nx", false },
	{ RYE_KNOWLEDGE, ".md", "<!-- " FIELDS " -->\nx", true, false, "x" },
	{ RYE_KNOWLEDGE, ".md", "<!-- " FIELDS "-->\nx", true, true },
	{ RYE_KNOWLEDGE, ".md", "<!-- " FIELDS " -->x\ny", true, true, "y" },
	{ RYE_KNOWLEDGE, ".md", "\xef\xbb\xbf<!-- " FIELDS " -->\nx", false },
	{ RYE_KNOWLEDGE, ".md", "\n<!-- " FIELDS " -->\nx", false },
	{ RYE_KNOWLEDGE, ".md", "<!-- " FIELDS "\nopen -->\nx", false },
	{ RYE_KNOWLEDGE, ".md", "<!-- " FIELDS "|a@b\nopen -->\nx", false },
	{ RYE_KNOWLEDGE, ".md", "<!-- " FIELDS " x\nopen -->\nx", false },
	{ RYE_KNOWLEDGE, ".yaml", "# " FIELDS "\nx", false },
	/* the binding line is cut only directly underneath and only in its form */
	{ RYE_TOOL, ".py", "# " FIELDS "\n# " BIND "\nx", true, false, "x" },
	{ RYE_TOOL, ".py", "# " FIELDS "\n\n# " BIND "\nx", true, false, "\n# " BIND "\nx" },
	{ RYE_TOOL, ".py", "# " BIND "\nx", false, false, "# " BIND "\nx" },
	{ RYE_TOOL, ".py", "# " FIELDS "\n# " BIND, true, false, "# " BIND },
	{ RYE_TOOL, ".py", "# " FIELDS "\n# " BIND " \nx", true, false, "# " BIND " \nx" },
	{ RYE_KNOWLEDGE, ".md", "<!-- " FIELDS " -->\n<!-- " BIND " -->\nx", true, false, "x" },
	{ RYE_KNOWLEDGE, ".md", "<!-- " FIELDS " -->\n# " BIND "\nx", true, false,
	  "# " BIND "\nx" },
};

static void recognition(void **state)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *row = &rows[i];
		struct sig_head head;

		sig_head_of(rule_of(row->kind, row->ext), span_of(row->text), &head);
		if ((head.line.len > 0) != row->is_signed || head.junk != row->junk ||
		    (row->rest && row->is_signed && !span_eq(head.rest, row->rest)))
			fail_msg("%s", row->text);
		if (row->is_signed) {
			assert_true(span_eq(head.hash, HASH));
			assert_true(span_eq(head.fp, FP));
			assert_true(span_eq(head.stamp, "2026-01-02T03:04:05Z"));
		} else {
			/* without header lines the text is all there */
			assert_int_equal(head.shebang.len + head.rest.len, strlen(row->text));
		}
	}
}

static void malformed_bindings(void **state)
{
	static const char *const lines[] = {
		"rye:full:2:" SIG ":" FP,
		"rye:full:1:" SIG "==:" FP,
		"rye:full:1:" SIG "A:" FP,
		"rye:full:1:" SIG ":" FP "0",
		"rye:full:1:" SIG "",
		"rye:full:1:" SIG ":F" FP,
		"rye:full:1:" SIG ":" FP "|a@b",
		("rye:full:1::" FP),
	};
	struct sig_rule rule = rule_of(RYE_TOOL, ".py");
	char text[600];

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct sig_head head;

		snprintf(text, sizeof(text), "# " FIELDS "\n# %s\nx", lines[i]);
		sig_head_of(rule, span_of(text), &head);
		assert_int_equal(head.binding, BINDING_MALFORMED);
		assert_int_equal(head.bind_line.len, 0);
		assert_true(span_starts(head.rest, "# rye:full:"));
	}
}

/* Cutting for the hash is wider than recognising: older marks go too. */
static void cutting(void **state)
{
	static const struct {
		enum rye_kind kind;
		const char *ext, *text, *rest;
	} cuts[] = {
		{ RYE_TOOL, ".py", "# rye:validated:x\ny", "y" },
		{ RYE_TOOL, ".py", "# kiwi-mcp:signed:x\ny", "y" },
		{ RYE_TOOL, ".py", "# rye:signed:\ny", "# rye:signed:\ny" },
		{ RYE_TOOL, ".py", "# rye:signed:x", "# rye:signed:x" },
		{ RYE_TOOL, ".py", "# rye:signed:x\n# rye:signed:y\nz", "# rye:signed:y\nz" },
		{ RYE_TOOL, ".py", "#!/a\n# rye:signed:x\nz", "z" },
		{ RYE_TOOL, ".js", "#!/a\n// rye:signed:x\nz", "z" },
		{ RYE_KNOWLEDGE, ".md", "<!-- rye:signed:x-->\nz", "z" },
		{ RYE_KNOWLEDGE, ".md", "<!-- kiwi-mcp:validated:x y\nz -->\nz", "z" },
		{ RYE_KNOWLEDGE, ".md", "<!-- rye:signed:x> -->\nz", "<!-- rye:signed:x> -->\nz" },
		{ RYE_KNOWLEDGE, ".md", "<!-- rye:signed:x -->z", "<!-- rye:signed:x -->z" },
		{ RYE_KNOWLEDGE, ".md", "<!-- rye:signed:-->\nz", "<!-- rye:signed:-->\nz" },
	};

	for (size_t i = 0; i < sizeof(cuts) / sizeof(cuts[0]); i++) {
		struct sig_cut cut;

		sig_cut_of(rule_of(cuts[i].kind, cuts[i].ext), span_of(cuts[i].text), &cut);
		if (!span_eq(cut.rest, cuts[i].rest))
			fail_msg("%s: %.*s", cuts[i].text, (int)cut.rest.len, cut.rest.ptr);
	}
}

/* One line is taken, whatever the comment that it opens goes on to hide. */
static void unclosed_lines(void **state)
{
	static const struct {
		enum rye_kind kind;
		const char *ext, *text, *line;
	} all[] = {
		{ RYE_KNOWLEDGE, ".md", "<!-- rye:signed:x\nz", "<!-- rye:signed:x\n" },
		{ RYE_DIRECTIVE, ".md", "<!-- kiwi-mcp:validated:x\nz -->\n",
		  "<!-- kiwi-mcp:validated:x\n" },
		{ RYE_KNOWLEDGE, ".md", "<!-- rye:signed:x", "<!-- rye:signed:x" },
		{ RYE_KNOWLEDGE, ".md", "<!-- rye:signed:x -->\nz", "" },
		{ RYE_KNOWLEDGE, ".md", "<!-- rye:signed:x-->z", "" },
		{ RYE_KNOWLEDGE, ".md", "<!-- a note\nz -->\n", "" },
		{ RYE_KNOWLEDGE, ".md", "z\n<!-- rye:signed:x\n", "" },
		{ RYE_KNOWLEDGE, ".md", "", "" },
		{ RYE_TOOL, ".py", "# rye:signed:x\nz", "" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		if (!span_eq(sig_unclosed_at(rule_of(all[i].kind, all[i].ext),
					     span_of(all[i].text)),
			     all[i].line))
			fail_msg("%s", all[i].text);
}

static void regions(void **state)
{
	static const struct {
		enum rye_kind kind;
		const char *ext, *text, *region; /* NULL: none */
	} all[] = {
		{ RYE_TOOL, ".py", "#!/a\n# rye:signed:x\nz\n", "z\n" },
		{ RYE_TOOL, ".py", "# rye:signed:x\n#!/a\nz", "z" },
		{ RYE_TOOL, ".py", "#!/a\n# rye:signed:x\n#!/b\nz", "#!/b\nz" },
		{ RYE_TOOL, ".py", "", "" },
		{ RYE_CONFIG, ".yaml", "# rye:signed:x\n#!/a\nz", "z" },
		{ RYE_KNOWLEDGE, ".md", "<!-- rye:signed:x -->\n\n z \n", "\n z \n" },
		{ RYE_KNOWLEDGE, ".md", "<!-- rye:signed:x -->\n---\na\n---\n\n b\xc2\xa0\n", "b" },
		{ RYE_KNOWLEDGE, ".md", "---\na: b---c\n---\n", "c\n---" },
		{ RYE_KNOWLEDGE, ".md", "--- no end\n", "--- no end\n" },
		{ RYE_KNOWLEDGE, ".md", "----", "----" },
		{ RYE_KNOWLEDGE, ".md", "------", "" },
		{ RYE_KNOWLEDGE, ".md", "#!/a\nz", "#!/a\nz" },
		{ RYE_DIRECTIVE, ".md", "a<directive>b</directive>c</directive>d",
		  "<directive>b</directive>c</directive>" },
		{ RYE_DIRECTIVE, ".md", "<directive\n a='1'></directive>",
		  "<directive\n a='1'></directive>" },
		{ RYE_DIRECTIVE, ".md", "<directive </directive>", NULL },
		{ RYE_DIRECTIVE, ".md", "</directive><directive>", NULL },
		{ RYE_DIRECTIVE, ".md", "<directive", NULL },
		{ RYE_DIRECTIVE, ".md", "<directives></directive>", "<directives></directive>" },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct rye_span region = { 0 };
		bool found = digest_region(all[i].kind, rule_of(all[i].kind, all[i].ext),
					   span_of(all[i].text), &region);

		if (found != (all[i].region != NULL) || (found && !span_eq(region, all[i].region)))
			fail_msg("%s: %.*s", all[i].text, (int)region.len, region.ptr);
	}
}

static void newlines(void **state)
{
	static const char *const pairs[][2] = { { "a\r\nb\rc\n\r", "a\nb\nc\n\n" },
						{ "\r\r\n\n", "\n\n\n" },
						{ "", "" },
						{ "\r", "\n" } };

	for (int i = 0; i < 4; i++) {
		struct rye_blob *lf = digest_newlines(span_of(pairs[i][0]));

		assert_string_equal(lf->data, pairs[i][1]);
		assert_int_equal(lf->len, strlen(pairs[i][1]));
		rye_blob_unref(lf);
	}
}

static void binding_message(void **state)
{
	struct digest_place place = { RYE_TOOL, "vec/b2", ".py" };
	struct sig_head head = { .shebang = SPAN("a"), .rest = SPAN("bc") };
	char message[DIGEST_BINDING_MAX], longest[1200];

	assert_int_equal(digest_binding(&place, &head, message), 11 + 15 + 64);
	assert_string_equal(message,
			    "rye-full-1\ntool:vec/b2.py\n"
			    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = 0;
	place.id = longest;
	assert_int_equal(digest_binding(&place, &head, message), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(styles_by_kind_and_extension),
		cmocka_unit_test(recognition),
		cmocka_unit_test(malformed_bindings),
		cmocka_unit_test(cutting),
		cmocka_unit_test(unclosed_lines),
		cmocka_unit_test(regions),
		cmocka_unit_test(newlines),
		cmocka_unit_test(binding_message),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
