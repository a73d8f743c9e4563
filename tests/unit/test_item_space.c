/* SPDX-License-Identifier: MIT */
/* Spaces and locating: the format's cases T45 to T54, order of layers, files in the way. */
#include "item_place.h"

#include <errno.h>
#include <sys/stat.h>

static enum rye_code locate(struct test_place *p, enum rye_kind kind, const char *id,
			    struct located *ret)
{
	const struct item_ask ask = { .kind = kind, .id = id };
	struct rye_err err = { 0 };

	space_locate(p->spaces, &ask, ret, &err);
	if (err.code == RYE_OK)
		close(ret->fd);
	return err.code;
}

/* The space in which the item is found, or its error's name. */
static const char *where(struct test_place *p, enum rye_kind kind, const char *id)
{
	struct located at;
	enum rye_code code = locate(p, kind, id, &at);

	return code == RYE_OK ? at.space->full : rye_code_name(code);
}

static void T45_system_item(void **state)
{
	struct test_place p;

	place_make(&p);
	place_text(p.system, "bundles/ryeos/manifest.yaml", "x");
	place_text(p.system, "tools/rye/bash/bash.py", "x");
	place_open(&p, false);
	assert_string_equal(where(&p, RYE_TOOL, "rye/bash/bash"), "system:ryeos");
	place_drop(&p);
}

static void T46_directory_tool(void **state)
{
	struct located at;
	struct test_place p;

	place_make(&p);
	place_text(p.system, "tools/rye/bash/bash.py", "x");
	place_text(p.system, "knowledge/rye/bash/bash.md", "x");
	place_open(&p, false);
	assert_int_equal(locate(&p, RYE_TOOL, "rye/bash", &at), RYE_OK);
	assert_string_equal(at.id, "rye/bash/bash");
	assert_string_equal(at.path, "tools/rye/bash/bash.py");
	assert_int_equal(locate(&p, RYE_KNOWLEDGE, "rye/bash", &at), RYE_NOT_FOUND);
	/* a file of the literal name wins, wherever it lies */
	place_text(p.system, "tools/rye/bash.sh", "x");
	assert_int_equal(locate(&p, RYE_TOOL, "rye/bash", &at), RYE_OK);
	assert_string_equal(at.id, "rye/bash");
	place_drop(&p);
}

static void T47_project_wins(void **state)
{
	struct test_place p;

	place_make(&p);
	place_text(p.system, "tools/a/b.py", "x");
	place_open(&p, false);
	assert_string_equal(where(&p, RYE_TOOL, "a/b"), "system:bundle");
	place_text(p.user, "tools/a/b.toml", "x");
	assert_string_equal(where(&p, RYE_TOOL, "a/b"), "user");
	/* the project's .ai appears only now */
	place_text(p.project, "tools/a/b.json", "x");
	assert_string_equal(where(&p, RYE_TOOL, "a/b"), "project");
	place_drop(&p);
}

static void T48_ids_that_are_no_ids(void **state)
{
	static const char *const ids[] = { "../../etc/passwd",
					   "../../esc",
					   "/abs/path",
					   "a/../b",
					   "a//b",
					   "./a",
					   "a/",
					   "a\\b",
					   "a\nb",
					   "",
					   "." };
	struct test_place p;

	place_make(&p);
	place_text(p.project, "knowledge/a/b.md", "x");
	place_open(&p, false);
	for (size_t i = 0; i < ARRAY_SIZE(ids); i++)
		assert_string_equal(where(&p, RYE_KNOWLEDGE, ids[i]), "invalid");
	assert_string_equal(where(&p, RYE_KNOWLEDGE, "%2e%2e/a"), "not_found");
	place_drop(&p);
}

static void link_to(struct test_place *p, const char *path, const char *target)
{
	char full[300];

	snprintf(full, sizeof(full), "%s/.ai/%s", p->project, path);
	assert_int_equal(symlink(target, full), 0);
}

static void T49_links(void **state)
{
	struct test_place *p = *state;
	struct rye_err err;

	place_text(p->project, "knowledge/real.md", "x");
	place_text(p->user, "knowledge/outside.md", "x");
	link_to(p, "knowledge/inside.md", "real.md");
	link_to(p, "knowledge/out.md", "../../../user/.ai/knowledge/outside.md");
	link_to(p, "knowledge/abs.md", "/etc/hostname");
	link_to(p, "knowledge/etc", "/etc");
	link_to(p, "knowledge/dangling.md", "nothing.md");
	link_to(p, "knowledge/loop.md", "loop.md");
	place_open(p, false);
	assert_string_equal(where(p, RYE_KNOWLEDGE, "inside"), "project");
	assert_int_equal(place_load(p, RYE_KNOWLEDGE, "out", NULL, &err), RYE_DENIED);
	assert_true(!strncmp(err.msg, "Symlink escape: /", 17));
	assert_string_equal(where(p, RYE_KNOWLEDGE, "abs"), "denied");
	assert_string_equal(where(p, RYE_KNOWLEDGE, "etc/hostname"), "denied");
	assert_string_equal(where(p, RYE_KNOWLEDGE, "dangling"), "denied");
	assert_int_equal(place_load(p, RYE_KNOWLEDGE, "loop", NULL, &err), RYE_CHAIN_LOOP);
	assert_int_equal(err.sys, ELOOP);
}

static void T50_directory_with_an_extension(void **state)
{
	struct test_place p;

	place_make(&p);
	place_text(p.project, "knowledge/dir.md/x.md", "x");
	place_open(&p, false);
	assert_string_equal(where(&p, RYE_KNOWLEDGE, "dir"), "not_found");
	assert_string_equal(where(&p, RYE_KNOWLEDGE, "dir.md/x"), "project");
	place_drop(&p);
}

static void T51_names_are_bytes(void **state)
{
	struct test_place p;

	place_make(&p);
	place_text(p.project, "knowledge/日本/\xc3\xa9.v1.md", "x");
	place_open(&p, false);
	assert_string_equal(where(&p, RYE_KNOWLEDGE, "日本/\xc3\xa9.v1"), "project");
	assert_string_equal(where(&p, RYE_KNOWLEDGE, "日本/e\xcc\x81.v1"), "not_found");
	place_drop(&p);
}

static void T52_extension_order(void **state)
{
	static const char *const exts[] = { ".tcl", ".awk", ".rb",  ".pl", ".toml", ".json", ".sh",
					    ".ts",  ".cjs", ".mjs", ".js", ".yml",  ".yaml", ".py" };
	struct located at;
	struct test_place p;
	char path[64];

	place_make(&p);
	place_open(&p, false);
	for (size_t i = 0; i < ARRAY_SIZE(exts); i++) {
		snprintf(path, sizeof(path), "tools/x%s", exts[i]);
		place_text(p.project, path, "x");
		assert_int_equal(locate(&p, RYE_TOOL, "x", &at), RYE_OK);
		assert_string_equal(at.ext, exts[i]);
		assert_int_equal(at.ambiguous, i > 0);
	}
	place_drop(&p);
}

static void T53_ids_are_exact(void **state)
{
	struct test_place p;

	place_make(&p);
	place_text(p.project, "knowledge/my/k.md", "x");
	place_open(&p, false);
	assert_string_equal(where(&p, RYE_KNOWLEDGE, "my/k"), "project");
	assert_string_equal(where(&p, RYE_KNOWLEDGE, "my/K"), "not_found");
	assert_string_equal(where(&p, RYE_KNOWLEDGE, "my/k.md"), "not_found");
	place_drop(&p);
}

static void T54_chains_go_downwards(void **state)
{
	struct item_ask ask = { .kind = RYE_TOOL, .id = "run" };
	struct rye_err err = { 0 };
	struct located at;
	struct test_place p;

	place_make(&p);
	place_text(p.project, "tools/run.py", "x");
	place_open(&p, false);
	ask.from = &p.spaces->v[1];
	assert_refused(&err, RYE_NOT_FOUND, space_locate(p.spaces, &ask, &at, &err));
	assert_string_equal(err.msg, "Tool not found: run");
	place_text(p.system, "tools/run.py", "x");
	assert_works(&err, space_locate(p.spaces, &ask, &at, &err));
	assert_int_equal(at.space->type, RYE_SYSTEM);
	close(at.fd);
	ask.from = NULL;
	ask.only = &p.spaces->v[1];
	assert_refused(&err, RYE_NOT_FOUND, space_locate(p.spaces, &ask, &at, &err));
	place_drop(&p);
}

static void fifo_in_the_way(void **state)
{
	struct rye_err err;
	struct test_place p;
	char path[300];

	place_make(&p);
	place_text(p.project, "tools/a/x.py", "x");
	place_text(p.system, "tools/a/f.py", "x");
	snprintf(path, sizeof(path), "%s/.ai/tools/a/f.yaml", p.project);
	assert_int_equal(mkfifo(path, 0600), 0);
	place_open(&p, false);
	assert_int_equal(place_load(&p, RYE_TOOL, "a/f", NULL, &err), RYE_INVALID);
	assert_true(str_ends(err.msg, "tools/a/f.yaml is a FIFO, wanted a regular file"));
	place_drop(&p);
}

static void bundles_by_name(void **state)
{
	struct rye_options opt = { 0 };
	struct spaces *spaces;
	struct rye_err err = { 0 };
	struct test_place p;
	char roots[400];

	place_make(&p);
	place_text(p.system, "bundles/zeta/manifest.yaml", "x");
	place_text(p.system, "bundles/README", "x");
	place_text(p.system, "bundles/alpha/notes", "x");
	place_text(p.user, "x", "x");
	snprintf(roots, sizeof(roots), "%s:%s/:%s", p.system, p.user, p.base);
	opt = (struct rye_options){ .project = p.project, .system_roots = roots };
	assert_works(&err, spaces_open(&opt, &spaces, &err));
	assert_int_equal(spaces->n, 5);
	assert_string_equal(spaces->v[1].root, p.user);
	assert_string_equal(spaces->v[2].bundle, strrchr(p.base, '/') + 1);
	assert_string_equal(spaces->v[3].full, "system:user");
	assert_string_equal(spaces->v[4].full, "system:zeta");
	assert_int_equal(spaces->v[4].index, 4);
	spaces_close(spaces);
	/* of two manifests neither is the bundle's */
	place_text(p.system, "bundles/alpha/manifest.yaml", "x");
	assert_works(&err, spaces_open(&opt, &spaces, &err));
	assert_string_equal(spaces->v[2].full, "system:bundle");
	spaces_close(spaces);
	opt.system_roots = "/no/such/place";
	assert_refused(&err, RYE_NOT_FOUND, spaces_open(&opt, &spaces, &err));
	assert_non_null(strstr(err.msg, "/no/such/place"));
	opt.project = "relative";
	assert_refused(&err, RYE_INVALID, spaces_open(&opt, &spaces, &err));
	place_drop(&p);
}

static void user_space_from_the_environment(void **state)
{
	struct rye_options opt = { .system_roots = "" };
	struct spaces *spaces;
	struct test_place p;
	char wanted[200];

	place_make(&p);
	opt.project = p.project;
	setenv("USER_SPACE", "~/sub", 1);
	assert_works(&told_err, spaces_open(&opt, &spaces, &told_err));
	snprintf(wanted, sizeof(wanted), "%s/sub", p.user);
	assert_string_equal(spaces->v[1].root, wanted);
	assert_int_equal(spaces->n, 2);
	spaces_close(spaces);
	setenv("USER_SPACE", "", 1);
	assert_works(&told_err, spaces_open(&opt, &spaces, &told_err));
	assert_string_equal(spaces->v[1].root, p.user);
	spaces_close(spaces);
	place_drop(&p);
}

static void categories(void **state)
{
	assert_true(span_eq(space_category("a/b/c"), "a/b"));
	assert_true(span_eq(space_category("c"), ""));
	assert_string_equal(space_stem("a/b/c.d"), "c.d");
	assert_string_equal(space_stem("c"), "c");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(T45_system_item),
		cmocka_unit_test(T46_directory_tool),
		cmocka_unit_test(T47_project_wins),
		cmocka_unit_test(T48_ids_that_are_no_ids),
		place_test(T49_links),
		cmocka_unit_test(T50_directory_with_an_extension),
		cmocka_unit_test(T51_names_are_bytes),
		cmocka_unit_test(T52_extension_order),
		cmocka_unit_test(T53_ids_are_exact),
		cmocka_unit_test(T54_chains_go_downwards),
		cmocka_unit_test(fifo_in_the_way),
		cmocka_unit_test(bundles_by_name),
		cmocka_unit_test(user_space_from_the_environment),
		cmocka_unit_test(categories),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
