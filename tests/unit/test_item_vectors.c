/* SPDX-License-Identifier: MIT */
/*
 * Every row of the binding vectors (tests/vectors/README.md) in both columns, and the keys'
 * rows. Key 1 is trusted in user space; the file of a row is put at its place of the project.
 */
#include "item_place.h"

enum { OK, NOTICE = 1000 };

struct row {
	const char *file, *path;
	enum rye_kind kind;
	const char *id;
	int strict, compat; /* a code, OK, or NOTICE: accepted with one */
};

#define D(file, id, strict, compat)                                                        \
	{                                                                                  \
		"binding/" file, "directives/" id ".md", RYE_DIRECTIVE, id, strict, compat \
	}
#define T(file, id, ext, strict, compat)                                       \
	{                                                                      \
		"binding/" file, "tools/" id ext, RYE_TOOL, id, strict, compat \
	}
#define K(file, id, strict, compat)                                                       \
	{                                                                                 \
		"binding/" file, "knowledge/" id ".md", RYE_KNOWLEDGE, id, strict, compat \
	}

static const struct row rows[] = {
	D("b1.md", "vec/b1", OK, OK),
	D("b1.md", "vec/b9", RYE_UNCOVERED, RYE_MOVED),
	D("b1.md", "other/b1", RYE_UNCOVERED, RYE_MOVED),
	D("b1-body-edited.md", "vec/b1", RYE_UNCOVERED, NOTICE),
	D("b1-line-deleted.md", "vec/b1", RYE_UNCOVERED, NOTICE),
	D("b1-line3.md", "vec/b1", RYE_UNCOVERED, NOTICE),
	D("b1-twice.md", "vec/b1", RYE_UNCOVERED, NOTICE),
	D("b1-junk.md", "vec/b1", RYE_UNCOVERED, NOTICE),
	D("b1-other-signer.md", "vec/b1", RYE_UNCOVERED, NOTICE),
	D("b1-decoy.md", "vec/b1", RYE_UNCOVERED, NOTICE),
	D("b1-stripped.md", "vec/b1", RYE_UNCOVERED, NOTICE),
	D("b1-version2.md", "vec/b1", RYE_UNCOVERED, NOTICE),
	D("b1-crlf.md", "vec/b1", RYE_UNCOVERED, NOTICE),
	D("b1-provider.md", "vec/b1", OK, OK),
	D("b1-signature-junk.md", "vec/b1", RYE_BAD_LINE, RYE_UNSIGNED),
	D("b1-two-signed.md", "vec/b1", OK, OK),
	K("b1-as-knowledge.md", "vec/b1", RYE_UNCOVERED, NOTICE),
	D("decoy-signed.md", "vec/b1", OK, OK),
	D("v2-decoy.md", "vec/v2", RYE_UNCOVERED, NOTICE),
	D("c1.md", "vec/c1", RYE_UNCOVERED, NOTICE),
	D("c1-widened.md", "vec/c1", RYE_UNCOVERED, RYE_UNPARSABLE),
	T("b2.py", "vec/b2", ".py", OK, OK),
	T("b2.py", "vec/b9", ".py", RYE_UNCOVERED, NOTICE),
	T("b2-shebang-edited.py", "vec/b2", ".py", RYE_UNCOVERED, NOTICE),
	T("b2-shebang-between.py", "vec/b2", ".py", RYE_UNCOVERED, NOTICE),
	T("b2-line-deleted.py", "vec/b2", ".py", RYE_MODIFIED, RYE_MODIFIED),
	T("b2-no-binding.py", "vec/b2", ".py", RYE_UNCOVERED, NOTICE),
	T("b2-no-binding.py", "other/b2", ".py", RYE_UNCOVERED, RYE_MOVED),
	T("b2-no-category.py", "vec/b2", ".py", RYE_UNCOVERED, NOTICE),
	T("b2-resigned-by-reference.py", "vec/b2", ".py", RYE_UNCOVERED, NOTICE),
	T("b2-coding.py", "vec/b2", ".py", RYE_UNCOVERED, NOTICE),
	T("b2-binding-as-signature.py", "vec/b2", ".py", RYE_BAD_SIGNATURE, RYE_BAD_SIGNATURE),
	T("b8.sh", "vec/b8", ".sh", OK, OK),
	T("b8-cr.sh", "vec/b8", ".sh", RYE_UNCOVERED, NOTICE),
	K("b3.md", "vec/b3", OK, OK),
	T("b4.js", "vec/b4", ".js", OK, OK),
	T("swap-v8-as-tool.yaml", "vec/v8", ".yaml", RYE_UNCOVERED, NOTICE),
	T("swap-v1-as-tool.sh", "vec/v1", ".sh", RYE_UNCOVERED, NOTICE),
	K("v1-trailing-bits.md", "vec/v1", RYE_BAD_SIGNATURE, RYE_BAD_SIGNATURE),
	K("v1-s-plus-l.md", "vec/v1", RYE_BAD_SIGNATURE, RYE_BAD_SIGNATURE),
	K("v1-one-pad.md", "vec/v1", OK, OK),
	K("v1-three-pads.md", "vec/v1", RYE_UNSIGNED, RYE_UNSIGNED),
	K("dash.md", "vec/dash", RYE_UNCOVERED, NOTICE),
	K("scoped-transcript.md", "agent/threads/b5", OK, OK),
	K("scoped-knowledge.md", "vec/b6", RYE_UNTRUSTED, RYE_UNTRUSTED),
	T("scoped-tool.py", "vec/b7", ".py", RYE_UNTRUSTED, RYE_UNTRUSTED),
};

static void check_row(const struct row *row, bool compat, int wanted)
{
	struct rye_item *item = NULL;
	struct rye_err err;
	struct test_place p;
	int got;

	place_vectors(&p);
	place_put(p.user, "config/keys/trusted/" KEY2 ".toml", "binding/" KEY2 ".toml");
	place_put(p.project, row->path, row->file);
	place_open(&p, compat);
	got = (int)place_load(&p, row->kind, row->id, &item, &err);
	if (got == OK && item->verdict.notice[0])
		got = NOTICE;
	if (got != wanted)
		fail_msg("%s at %s, %s: %d, wanted %d\n%s%s", row->file, row->path,
			 compat ? "compat" : "strict", got, wanted, err.msg,
			 item ? item->verdict.notice : "");
	rye_item_unref(item);
	place_drop(&p);
}

static void strict_column(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		check_row(&rows[i], false, rows[i].strict);
}

static void compat_column(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		check_row(&rows[i], true, rows[i].compat);
}

/* ---- keys ---- */

/* Where a key file lies, and what the item signed by it gives. */
struct key_row {
	const char *user, *project; /* files of binding/, or NULL */
	const char *fp;
	const char *file, *path;
	enum rye_kind kind;
	const char *id;
	int code;
};

#define K3(user, project, code)                                                      \
	{                                                                            \
		user, project, KEY3, "binding/key3-item.md", "knowledge/vec/b9k.md", \
			RYE_KNOWLEDGE, "vec/b9k", code                               \
	}
#define K2(user, project, file, path, kind, id)                                     \
	{                                                                           \
		user, project, KEY2, "binding/" file, path, kind, id, RYE_UNTRUSTED \
	}
static const struct key_row key_rows[] = {
	K2(KEY2 ".toml", "key2-project-selfsigned.toml", "scoped-tool.py", "tools/vec/b7.py",
	   RYE_TOOL, "vec/b7"),
	K2("key2-scope-misplaced.toml", NULL, "scoped-tool.py", "tools/vec/b7.py", RYE_TOOL,
	   "vec/b7"),
	K2("key2-scope-misplaced.toml", NULL, "scoped-transcript.md",
	   "knowledge/agent/threads/b5.md", RYE_KNOWLEDGE, "agent/threads/b5"),
	K2("key2-scope-misplaced.toml", NULL, "scoped-knowledge.md", "knowledge/vec/b6.md",
	   RYE_KNOWLEDGE, "vec/b6"),
	K2("key2-scope-empty.toml", NULL, "scoped-transcript.md", "knowledge/agent/threads/b5.md",
	   RYE_KNOWLEDGE, "agent/threads/b5"),
	K2("key2-scope-empty.toml", NULL, "scoped-tool.py", "tools/vec/b7.py", RYE_TOOL, "vec/b7"),
	K2("key2-scope-string.toml", NULL, "scoped-transcript.md", "knowledge/agent/threads/b5.md",
	   RYE_KNOWLEDGE, "agent/threads/b5"),
	K2("key2-scope-string.toml", NULL, "scoped-knowledge.md", "knowledge/vec/b6.md",
	   RYE_KNOWLEDGE, "vec/b6"),
	K3(NULL, NULL, RYE_UNTRUSTED),
	K3(NULL, "key3-unsigned.toml", RYE_UNTRUSTED),
	K3(NULL, "key3-selfsigned.toml", RYE_UNTRUSTED),
	K3(NULL, "key3-by-key2.toml", RYE_UNTRUSTED),
	K3(NULL, "key3-by-key1.toml", OK),
	K3("key3-unsigned.toml", NULL, OK),
	K3("key3-selfsigned.toml", NULL, OK),
	K3("key3-by-key1.toml", NULL, OK),
	K3("key3-by-key2.toml", NULL, RYE_UNTRUSTED),
};

static void put_key(const char *root, const char *fp, const char *file)
{
	char path[100], vector[100];

	snprintf(path, sizeof(path), "config/keys/trusted/%s.toml", fp);
	snprintf(vector, sizeof(vector), "binding/%s", file);
	place_put(root, path, vector);
}

static void check_key(const struct key_row *row, bool compat)
{
	struct rye_err err;
	struct test_place p;
	enum rye_code got;

	place_vectors(&p);
	put_key(p.user, KEY2, KEY2 ".toml");
	if (row->user)
		put_key(p.user, row->fp, row->user);
	if (row->project)
		put_key(p.project, row->fp, row->project);
	place_put(p.project, row->path, row->file);
	place_open(&p, compat);
	got = place_load(&p, row->kind, row->id, NULL, &err);
	if ((int)got != row->code)
		fail_msg("user %s, project %s, %s: %s, wanted %s\n%s", row->user, row->project,
			 row->file, rye_code_name(got), rye_code_name((enum rye_code)row->code),
			 err.msg);
	place_drop(&p);
}

static void key_files(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(key_rows); i++) {
		check_key(&key_rows[i], false);
		check_key(&key_rows[i], true);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(strict_column),
		cmocka_unit_test(compat_column),
		cmocka_unit_test(key_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
