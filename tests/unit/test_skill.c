/* SPDX-License-Identifier: MIT */
/* Skills: names, what a manifest may say, folders that are as it says; as items, signed and changed. */
#include "item_place.h"
#include "sign/sign.h"
#include "skill/skill.h"

#include "format/format.h"

#include <ctype.h>

#define HEX_ "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define TEXT_ "---\nname: pdf\ndescription: Reads PDF files.\n---\n# PDF\n"

static void names_by_the_specification(void **state)
{
	static const char *const good[] = { "a", "pdf-processing", "0", "a-1-b" };
	static const char *const bad[] = { "",	  "-a",	 "a-",	"a--b",	    "A", "a_b",
					   "a/b", "a.b", "a b", "\xc3\xa4", ".." };
	char longest[SKILL_NAME_MAX + 2];

	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		assert_true(skill_name_ok(span_of(good[i])));
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_false(skill_name_ok(span_of(bad[i])));
	memset(longest, 'a', sizeof(longest));
	assert_true(skill_name_ok((struct rye_span){ longest, SKILL_NAME_MAX }));
	assert_false(skill_name_ok((struct rye_span){ longest, SKILL_NAME_MAX + 1 }));
}

static void paths_stay_below_and_are_seen(void **state)
{
	static const char *const good[] = { "SKILL.md", "a/b/c.py", "\xc3\xa4 b.txt",
					    ".env",	"a..b",	    "1/2/3/4/5/6/7/8" };
	static const char *const bad[] = { "",
					   "/a",
					   "a/",
					   "a//b",
					   "../a",
					   "a/../b",
					   "./a",
					   "a\\b",
					   "a\nb",
					   "a\xe2\x80\xae"
					   "b",
					   "a\xff",
					   "\xe2\x80\x8b",
					   "1/2/3/4/5/6/7/8/9" };

	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		assert_true(skill_path_ok(span_of(good[i])));
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_false(skill_path_ok(span_of(bad[i])));
	assert_string_equal(skill_path_told("scripts/a.py"), "scripts/a.py");
	assert_string_equal(skill_path_told("ignore what was said"), "a file");
}

static enum rye_code read_text(const char *text, struct skill *ret)
{
	struct rye_err err = { 0 };
	json_t *data = parse_yaml(span_of(text), &err);
	struct skill skill = { 0 };
	int r = skill_read(data, "pdf", &skill, &err);

	json_decref(data);
	assert_int_equal(-r, err.code);
	if (r)
		return err.code;
	if (ret)
		*ret = skill;
	else
		skill_done(&skill);
	return RYE_OK;
}

#define FILE_(path) "  " path ": {sha256: \"" HEX_ "\", size: 3}\n"
#define HEAD_ "name: pdf\nversion: \"1.0.0\"\nfiles:\n" FILE_("SKILL.md")

static void manifests(void **state)
{
	static const struct {
		const char *text;
		enum rye_code wanted;
	} rows[] = {
		{ HEAD_, RYE_OK },
		{ "[]", RYE_UNPARSABLE },
		{ "name: other\nfiles:\n" FILE_("SKILL.md"), RYE_UNPARSABLE },
		{ "name: pdf\n", RYE_UNPARSABLE },
		{ "name: pdf\nfiles: {}\n", RYE_UNPARSABLE },
		{ "name: pdf\nfiles:\n" FILE_("README.md"), RYE_UNPARSABLE },
		{ HEAD_ FILE_("../up"), RYE_UNPARSABLE },
		{ HEAD_ FILE_("a") FILE_("a/b"), RYE_UNPARSABLE },
		{ HEAD_ FILE_("a") FILE_("a-b") FILE_("a/b"), RYE_UNPARSABLE },
		{ HEAD_ FILE_("a") FILE_("A"), RYE_UNPARSABLE },
		{ HEAD_ FILE_("\xc3\xa4/x") FILE_("\xc3\x84/X"), RYE_UNPARSABLE },
		{ HEAD_ FILE_("skill.md"), RYE_UNPARSABLE },
		{ HEAD_ FILE_("A/b") FILE_("a/c"), RYE_OK },
		{ HEAD_ "  b: {size: 3}\n", RYE_UNPARSABLE },
		{ HEAD_ "  b: {sha256: \"" HEX_ "\"}\n", RYE_UNPARSABLE },
		{ HEAD_ "  b: {sha256: \"" HEX_ "\", size: -1}\n", RYE_UNPARSABLE },
		{ HEAD_ "  b: {sha256: \"" HEX_ "\", size: 1, x: 1}\n", RYE_UNPARSABLE },
		{ HEAD_ "  b: {sha256: \"" HEX_ "\", size: 33554433}\n", RYE_TOO_BIG },
		{ HEAD_ "  b: {sha256: \"" HEX_ "\", size: 33554432}\n"
			"  c: {sha256: \"" HEX_ "\", size: 33554432}\n",
		  RYE_TOO_BIG },
		{ "name: pdf\nfiles: {SKILL.md: {sha256: \"" HEX_ "\", size: 1048577}}\n",
		  RYE_TOO_BIG },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (read_text(rows[i].text, NULL) != rows[i].wanted)
			fail_msg("row %zu", i);
}

/* "URL PATH REF" of a word, or "-" where it is refused. */
static void source_is(const char *word, const char *wanted)
{
	struct skill_source source = { 0 };
	struct rye_err err = { 0 };
	char got[400] = "-";

	if (!skill_source_read(word, &source, &err))
		snprintf(got, sizeof(got), "%s [%s] [%s]", source.url, source.path, source.ref);
	else
		assert_int_equal(err.code, RYE_INVALID);
	skill_source_done(&source);
	if (strcmp(got, wanted) != 0)
		fail_msg("%s: %s", word, got);
}

static void sources_are_words_for_git(void **state)
{
	static const char *const rows[][2] = {
		{ "github:acme/skills", "https://github.com/acme/skills.git [] []" },
		{ "github:acme/skills.git/a/b@v1/x",
		  "https://github.com/acme/skills.git [a/b] [v1/x]" },
		{ "https://h/x.git", "https://h/x.git [] []" },
		{ "https://h/x.git#main:a/b", "https://h/x.git [a/b] [main]" },
		{ "ssh://git@h:22/x#:a", "ssh://git@h:22/x [a] []" },
		{ "git@h.org:a/b.git#v1", "git@h.org:a/b.git [] [v1]" },
		{ "file:///srv/x", "file:///srv/x [] []" },
		{ "github:acme", "-" },
		{ "github:-a/b", "-" },
		{ "github:a/../b", "-" },
		{ "github:a/b/../c", "-" },
		{ "github:a/b@-x", "-" },
		{ "github:a/b@x:y", "-" },
		{ "github:a/b@x..y", "-" },
		{ "github:a/b@", "-" },
		{ "http://h/x", "-" },
		{ "ext::sh -c id", "-" },
		{ "https://user:word@h/x", "-" },
		{ "https://token@h/x", "-" },
		{ "ssh://u:word@h/x", "-" },
		{ "https://h/x y", "-" },
		{ "https://h/x#--upload-pack=id", "-" },
		{ "-oProxyCommand=id@h:x", "-" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		source_is(rows[i][0], rows[i][1]);
	assert_true(skill_source_is("github:x") && skill_source_is("a@b:c") &&
		    skill_source_is("http://h"));
	assert_false(skill_source_is("dir/sub") || skill_source_is("pdf") ||
		     skill_source_is("a:b/c"));
}

static int lock_row(void *arg, const struct skill_locked *one)
{
	struct rye_buf *out = arg;

	buf_addf(out, "%s %s [%s] [%s]%s;", one->name, one->source.from, one->source.path,
		 one->source.ref, one->somewhere ? " ?" : "");
	return 0;
}

#define LOCKED_(name, more) "\"" name "\": {" more ", \"computedHash\": \"" HEX_ "\"}"

static void lock_is(const char *rows, const char *wanted)
{
	struct rye_buf text = RYE_BUF_INIT, got = RYE_BUF_INIT;
	struct rye_err err = { 0 };

	buf_addf(&text, "{\"version\": 1, \"skills\": {%s}}", rows);
	if (skill_lock_read(buf_span(&text), lock_row, &got, &err)) {
		assert_int_equal(err.code, RYE_UNPARSABLE);
		buf_clear(&got);
		buf_adds(&got, "-");
	}
	if (strcmp(got.data, wanted) != 0)
		fail_msg("%s: %s", rows, got.data);
	buf_done(&text);
	buf_done(&got);
}

static void locks_of_installers(void **state)
{
	struct rye_err err = { 0 };

	lock_is(LOCKED_("a", "\"source\": \"x/y\", \"sourceType\": \"github\", "
			     "\"skillPath\": \"s/a/SKILL.md\", \"ref\": \"main\""),
		"a github:x/y [s/a] [main];");
	lock_is(LOCKED_("a", "\"source\": \"x/y\", \"sourceType\": \"github\""),
		"a github:x/y [] [] ?;");
	lock_is(LOCKED_("a", "\"source\": \"https://h/y.git\", \"sourceType\": \"git\", "
			     "\"skillPath\": \"SKILL.md\", \"commit\": "
			     "\"0123456789012345678901234567890123456789\""),
		"a https://h/y.git [] [0123456789012345678901234567890123456789];");
	lock_is(LOCKED_("a", "\"source\": \"./x\", \"sourceType\": \"local\""), "-");
	lock_is(LOCKED_("A", "\"source\": \"x/y\", \"sourceType\": \"github\""), "-");
	lock_is(LOCKED_("a", "\"source\": \"x\", \"sourceType\": \"github\""), "-");
	lock_is(LOCKED_("a", "\"source\": \"https://h/y.git\", \"sourceType\": \"git\", "
			     "\"commit\": \"HEAD\""),
		"-");
	lock_is("\"a\": {\"source\": \"x/y\", \"sourceType\": \"github\"}", "-");
	skill_lock_read(span_of("{\"version\": 2, \"skills\": {}}"), lock_row, NULL, &err);
	assert_int_equal(err.code, RYE_UNPARSABLE);
}

static void files_are_found_by_path(void **state)
{
	struct skill skill;

	assert_int_equal(read_text(HEAD_ FILE_("scripts/x.py") FILE_("b"), &skill), RYE_OK);
	assert_int_equal(skill.n, 3);
	assert_int_equal(skill.bytes, 9);
	assert_string_equal(skill_find(&skill, "scripts/x.py")->path, "scripts/x.py");
	assert_null(skill_find(&skill, "scripts"));
	assert_string_equal(skill_below(&skill, "scripts")->path, "scripts/x.py");
	assert_null(skill_below(&skill, "script"));
	skill_done(&skill);
}

static void metadata_of_the_text(void **state)
{
	static const char *const bad[] = {
		"",
		"name: pdf",
		"---\nname: pdf\ndescription: x\n",
		" ---\nname: pdf\n---\n",
		"---\n[a]\n---\n",
		"---\nname: other\ndescription: x\n---\n",
		"---\nname: pdf\n---\n",
		"---\nname: pdf\ndescription: ' '\n---\n",
	};
	json_t *front = NULL;
	struct rye_span body;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		int r = skill_front(span_of(bad[i]), &front, NULL, &told_err);

		if (!r)
			r = skill_front_check(front, "pdf", &told_err);
		json_decref(front);
		front = NULL;
		assert_int_equal(r, -(int)RYE_UNPARSABLE);
	}
	assert_works(&told_err, skill_front(SPAN("---\r\nname: pdf\r\ndescription: x\r\n---\r\nB"),
					    &front, &body, &told_err));
	assert_works(&told_err, skill_front_check(front, "pdf", &told_err));
	assert_true(span_eq(body, "B"));
	json_decref(front);
}

/* ---- as items ---- */

/* ret_paths: below .ai */
static void put_skill(struct test_place *p, const char *name, const char *script,
		      char ret_paths[3][80])
{
	char hex[2][SHA_HEX], text[600], about[200];

	snprintf(about, sizeof(about), "---\nname: %s\ndescription: Reads PDF files.\n---\n# PDF\n",
		 name);
	sha256_hex(span_of(about), hex[0]);
	sha256_hex(span_of(script), hex[1]);
	snprintf(ret_paths[0], 80, "skills/%s/SKILL.md", name);
	snprintf(ret_paths[1], 80, "skills/%s/scripts/x.sh", name);
	snprintf(ret_paths[2], 80, "skills/%s.yaml", name);
	place_text(p->project, ret_paths[0], about);
	place_text(p->project, ret_paths[1], script);
	snprintf(text, sizeof(text),
		 "name: %s\nversion: \"1.0.0\"\nfiles:\n  SKILL.md: {sha256: \"%s\", size: %zu}\n"
		 "  scripts/x.sh: {sha256: \"%s\", size: %zu, x: true}\n",
		 name, hex[0], strlen(about), hex[1], strlen(script));
	place_text(p->project, ret_paths[2], text);
}

static void put_manifest(struct test_place *p, const char *script)
{
	char paths[3][80];

	put_skill(p, "pdf", script, paths);
}

static enum rye_code sign_skill(struct test_place *p, const char *name)
{
	auto_key struct key_secret key = { 0 };
	const struct sign_ask ask = { .kind = RYE_SKILL,
				      .id = name,
				      .space = &p->spaces->v[0],
				      .key = &key };
	json_t *reply = NULL;
	int r;

	place_key(0, &key);
	r = sign_request(&p->env, &ask, &reply, &told_err);
	json_decref(reply);
	return -r;
}

static enum rye_code sign_pdf(struct test_place *p)
{
	return sign_skill(p, "pdf");
}

/* The manifest by itself, and with what it lists. */
static enum rye_code whole_of(struct test_place *p, const char *name)
{
	struct rye_item *item = NULL;
	enum rye_code code = place_load(p, RYE_SKILL, name, &item, &told_err);
	bool linked;
	int r = code ? 0 : item_check_attached(&p->env, item, &linked, &told_err);

	rye_item_unref(item);
	return code ? code : (enum rye_code) - r;
}

static enum rye_code whole(struct test_place *p)
{
	return whole_of(p, "pdf");
}

static void a_skill_is_its_manifest_and_its_files(void **state)
{
	struct test_place *p = *state;

	put_manifest(p, "echo hi\n");
	place_open(p, false);
	assert_int_equal(whole(p), RYE_UNSIGNED);
	assert_int_equal(sign_pdf(p), RYE_OK);
	assert_int_equal(whole(p), RYE_OK);
	place_text(p->project, "skills/pdf/unlisted", "what lies there is not shown");
	assert_int_equal(whole(p), RYE_OK);
	place_text(p->project, "skills/pdf/scripts/x.sh", "echo ho\n");
	assert_int_equal(whole(p), RYE_MODIFIED);
	assert_non_null(strstr(told_err.msg, "scripts/x.sh has changed"));
	assert_non_null(strstr(told_err.msg, "ryefs skill diff pdf"));
	assert_int_equal(sign_pdf(p), RYE_MODIFIED);
	place_text(p->project, "skills/pdf/scripts/x.sh", "echo hi\n");
	assert_int_equal(whole(p), RYE_OK);
}

/* Every bit of every listed file. */
static void each_flipped_bit_refuses_it(void **state)
{
	static const char *const files[] = { "skills/pdf/SKILL.md", "skills/pdf/scripts/x.sh" };
	struct test_place *p = *state;

	put_manifest(p, "echo hi\n");
	place_open(p, false);
	assert_int_equal(sign_pdf(p), RYE_OK);
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		const char *text = i ? "echo hi\n" : TEXT_;
		char copy[200];

		for (size_t bit = 0; bit < 8 * strlen(text); bit++) {
			snprintf(copy, sizeof(copy), "%s", text);
			copy[bit / 8] ^= (char)(1 << bit % 8);
			place_write(p->project, files[i], (struct rye_span){ copy, strlen(text) });
			if (whole(p) != RYE_MODIFIED)
				fail_msg("%s, bit %zu", files[i], bit);
		}
		place_text(p->project, files[i], text);
		assert_int_equal(whole(p), RYE_OK);
	}
}

static size_t read_whole(struct test_place *p, const char *below, char *ret, size_t size)
{
	char path[400];
	FILE *in;
	size_t n;

	snprintf(path, sizeof(path), "%s/.ai/%s", p->project, below);
	in = fopen(path, "r");
	assert_non_null(in);
	n = fread(ret, 1, size, in);
	fclose(in);
	assert_true(n > 0 && n < size);
	return n;
}

/* The format's signature is not over its time, which is told and decides nothing: "# rye:signed:2026-…Z:". */
static bool is_time(const char *text, size_t at)
{
	static const char mark[] = "# rye:signed:";

	return !strncmp(text, mark, strlen(mark)) && at >= strlen(mark) && at < strlen(mark) + 20 &&
	       isdigit((unsigned char)text[at]);
}

/* The bits of a file of the skill, every step-th from `from` on; how many were tried. */
static size_t flip(struct test_place *p, const char *name, const char *path, size_t from,
		   size_t step)
{
	char was[2000], now[2000];
	size_t n = read_whole(p, path, was, sizeof(was)), tried = 0;

	for (size_t bit = from; bit < 8 * n; bit += step, tried++) {
		memcpy(now, was, n);
		now[bit / 8] ^= (char)(1 << bit % 8);
		place_write(p->project, path, (struct rye_span){ now, n });
		if (whole_of(p, name) == RYE_OK && !is_time(was, bit / 8))
			fail_msg("%s, bit %zu: it is served", path, bit);
	}
	place_write(p->project, path, (struct rye_span){ was, n });
	return tried;
}

/*
 * Of 50 skills, of each of their files, the manifests too: every 31st bit, from another one on in each, so
 * that all are tried together; of one manifest every bit.
 */
static void flipped_bits_refuse_each_of_fifty(void **state)
{
	struct test_place *p = *state;
	char paths[50][3][80], name[16];
	size_t tried = 0;

	for (size_t i = 0; i < 50; i++) {
		snprintf(name, sizeof(name), "many-%zu", i);
		put_skill(p, name, "echo many\n", paths[i]);
	}
	place_open(p, false);
	for (size_t i = 0; i < 50; i++) {
		snprintf(name, sizeof(name), "many-%zu", i);
		assert_int_equal(sign_skill(p, name), RYE_OK);
		for (size_t k = 0; k < 3; k++)
			tried += flip(p, name, paths[i][k], i % 31, 31);
		if (!i)
			tried += flip(p, name, paths[i][2], 0, 1);
		assert_int_equal(whole_of(p, name), RYE_OK);
	}
	print_message("# %zu bits\n", tried);
	assert_true(tried > 10000);
}

static void what_is_no_regular_file_refuses_it(void **state)
{
	struct test_place *p = *state;
	char path[300], other[300];

	put_manifest(p, "echo hi\n");
	place_open(p, false);
	assert_int_equal(sign_pdf(p), RYE_OK);
	snprintf(path, sizeof(path), "%s/.ai/skills/pdf/scripts/x.sh", p->project);
	snprintf(other, sizeof(other), "%s/.ai/skills/pdf/other", p->project);
	assert_int_equal(rename(path, other), 0);
	assert_int_equal(whole(p), RYE_MODIFIED);
	assert_int_equal(symlink("../other", path), 0);
	assert_int_equal(whole(p), RYE_MODIFIED);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(whole(p), RYE_MODIFIED);
}

/* An unsigned folder of a stronger space hides the one below, and is none. */
static void a_stronger_folder_hides_it(void **state)
{
	struct test_place *p = *state;
	char from[300], to[300];

	put_manifest(p, "echo hi\n");
	place_open(p, false);
	assert_int_equal(sign_pdf(p), RYE_OK);
	snprintf(from, sizeof(from), "%s/.ai/skills", p->project);
	snprintf(to, sizeof(to), "%s/.ai/skills", p->user);
	assert_int_equal(rename(from, to), 0);
	place_close(p);
	place_open(p, false);
	assert_int_equal(whole(p), RYE_OK);
	place_text(p->project, "skills/pdf/SKILL.md", TEXT_);
	assert_int_equal(whole(p), RYE_UNSIGNED);
}

/* As another implementation signs it: which name the manifest has is not covered then. */
static void both_lines_are_needed(void **state)
{
	struct test_place *p = *state;
	auto_key struct key_secret key = { 0 };
	char path[300], bytes[2000] = "", sig[KEY_SIG_TEXT], hex[SHA_HEX], fields[300];
	char line[SIG_LINE_MAX], text[3000];
	struct sig_rule rule;
	FILE *in;

	put_manifest(p, "echo hi\n");
	snprintf(path, sizeof(path), "%s/.ai/skills/pdf.yaml", p->project);
	in = fopen(path, "r");
	assert_non_null(in);
	assert_true(fread(bytes, 1, sizeof(bytes) - 1, in) > 0);
	fclose(in);
	place_key(0, &key);
	sha256_hex(span_of(bytes), hex);
	key_sign(&key, span_of(hex), sig);
	snprintf(fields, sizeof(fields), "rye:signed:2026-01-02T03:04:05Z:%s:%s:%s", hex, sig,
		 key.pub.fp);
	assert_true(sig_rule_of(RYE_SKILL, ".yaml", &rule));
	sig_line_put(rule, line, fields);
	snprintf(text, sizeof(text), "%s%s", line, bytes);
	place_text(p->project, "skills/pdf.yaml", text);
	place_open(p, false);
	assert_int_equal(whole(p), RYE_UNCOVERED);
	place_close(p);
	place_open(p, true);
	assert_int_equal(whole(p), RYE_UNCOVERED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_by_the_specification),
		cmocka_unit_test(paths_stay_below_and_are_seen),
		cmocka_unit_test(manifests),
		cmocka_unit_test(sources_are_words_for_git),
		cmocka_unit_test(locks_of_installers),
		cmocka_unit_test(files_are_found_by_path),
		cmocka_unit_test(metadata_of_the_text),
		place_test(a_skill_is_its_manifest_and_its_files),
		place_test(each_flipped_bit_refuses_it),
		place_test(flipped_bits_refuse_each_of_fifty),
		place_test(what_is_no_regular_file_refuses_it),
		place_test(a_stronger_folder_hides_it),
		place_test(both_lines_are_needed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
