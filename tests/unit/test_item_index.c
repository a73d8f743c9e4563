/* SPDX-License-Identifier: MIT */
/*
 * The merged index over private spaces: which names exist, which space wins, what is looked
 * at, and how it follows single events. Cases T45 to T52 as far as they are about names.
 */
#include "item_place.h"

#include "space/space.h"

#include <errno.h>

struct bench {
	struct test_place place;
	struct index *index;
};

static void start(struct bench *b)
{
	static const struct log silent = { 0 }; /* lives as long as the index */
	struct index_env env = { 0 };
	struct rye_err err = { 0 };

	place_open(&b->place, false);
	env.spaces = b->place.spaces;
	env.log = &silent;
	if (index_open(&env, &b->index, &err) < 0)
		fail_msg("%s", err.msg);
	index_scan(b->index, 2, false);
}

static void done(struct bench *b)
{
	index_close(b->index);
	place_drop(&b->place);
}

/* The listing as "a/ b.md"; directories end in a slash. */
static void check_list(struct bench *b, enum rye_kind kind, const char *dir, const char *wanted)
{
	auto_buf struct rye_buf buf = RYE_BUF_INIT;
	struct index_list list;

	assert_true(index_list(b->index, kind, dir, &list));
	for (size_t i = 0; i < list.n; i++)
		buf_addf(&buf, "%s%s%s", i ? " " : "", list.v[i].name, list.v[i].is_dir ? "/" : "");
	buf_adds(&buf, "");
	assert_string_equal(buf.data, wanted);
	index_list_done(&list);
}

/* "dir", "item", "file", several joined by "+", or "-" for nothing; id and space behind. */
static void check_find(struct bench *b, enum rye_kind kind, const char *path, const char *wanted)
{
	struct index_found found;
	char text[1200] = "-";

	if (index_find(b->index, kind, path, &found)) {
		bool item = found.is_item_dir || found.is_file;

		snprintf(text, sizeof(text), "%s%s%s%s%s%s%s", found.is_dir ? "dir" : "",
			 found.is_dir && found.is_item_dir ? "+" : "",
			 found.is_item_dir ? "item" : "", found.is_file ? "file" : "",
			 item ? " " : "", item ? found.item.id : "", item ? found.item.ext : "");
		if (item)
			snprintf(text + strlen(text), 8, " %d", found.item.space);
		index_state_done(&found.item.state);
	}
	assert_string_equal(text, wanted);
}

static void merges(void **state)
{
	struct bench b;

	place_make(&b.place);
	place_text(b.place.system, "tools/rye/bash/bash.py", "x");
	place_text(b.place.system, "tools/a/x.py", "x");
	place_text(b.place.user, "tools/a/x.yaml", "x");
	place_text(b.place.user, "tools/a/y.sh", "x");
	place_text(b.place.project, "tools/b/z.js", "x");
	start(&b);
	check_list(&b, RYE_TOOL, "", "a/ b/ rye/");
	/* By id, not by file name: the user's .yaml hides the bundle's .py. */
	check_list(&b, RYE_TOOL, "a", "x.yaml y.sh");
	check_find(&b, RYE_TOOL, "a", "dir");
	check_find(&b, RYE_TOOL, "a/x", "item a/x.yaml 1");
	check_find(&b, RYE_TOOL, "a/x.yaml", "file a/x.yaml 1");
	check_find(&b, RYE_TOOL, "a/x.py", "-");
	check_find(&b, RYE_TOOL, "", "dir");
	check_find(&b, RYE_KNOWLEDGE, "", "dir");
	check_find(&b, RYE_KNOWLEDGE, "a", "-");
	done(&b);
}

static void directory_tools(void **state)
{
	struct bench b;

	place_make(&b.place);
	place_text(b.place.system, "tools/rye/bash/bash.py", "x");
	place_text(b.place.system, "knowledge/k/k.md", "x");
	place_text(b.place.project, "tools/one.py", "x");
	place_text(b.place.project, "tools/one/one.py", "x");
	start(&b);
	check_find(&b, RYE_TOOL, "rye/bash", "dir+item rye/bash/bash.py 2"); /* T46 */
	check_find(&b, RYE_TOOL, "rye/bash/bash", "item rye/bash/bash.py 2"); /* T45 */
	check_find(&b, RYE_TOOL, "rye/bash/bash.py", "file rye/bash/bash.py 2");
	check_find(&b, RYE_TOOL, "rye", "dir");
	/* Literally first. */
	check_find(&b, RYE_TOOL, "one", "dir+item one.py 0");
	check_find(&b, RYE_KNOWLEDGE, "k", "dir");
	done(&b);
}

static void others(void **state)
{
	struct bench b;

	place_make(&b.place);
	place_text(b.place.project, "tools/a/lib.so", "x");
	place_text(b.place.project, "tools/a/package.json", "{}");
	place_text(b.place.project, "tools/a/signed.json", "# rye:signed:x\n{}");
	place_text(b.place.project, "tools/a/shebang.toml", "#!/bin/x\n# rye:signed:x\n");
	place_text(b.place.project, "tools/a/plain.toml", "a = 1\n");
	place_text(b.place.project, "tools/a/.hidden.py", "x");
	place_text(b.place.project, "tools/a/__pycache__/x.py", "x");
	place_text(b.place.project, "tools/node_modules/m/x.js", "x");
	place_text(b.place.project, "tools/empty/data.txt", "x");
	place_text(b.place.project, "config/keys/signing/x.yaml", "x");
	place_text(b.place.project, "config/web/plain.toml", "a = 1\n");
	start(&b);
	check_list(&b, RYE_TOOL, "", "a/");
	check_list(&b, RYE_TOOL, "a", "shebang.toml signed.json");
	check_list(&b, RYE_CONFIG, "", "web/");
	check_find(&b, RYE_TOOL, "empty", "-");
	check_find(&b, RYE_CONFIG, "keys/signing/x", "-");
	done(&b);
}

/* T50, T52, and names that differ only a little. */
static void clashes(void **state)
{
	struct bench b;

	place_make(&b.place);
	place_text(b.place.project, "knowledge/dir.md/in.md", "x");
	place_text(b.place.user, "knowledge/both.md/in.md", "x");
	place_text(b.place.project, "knowledge/both.md", "x");
	place_text(b.place.project, "tools/t.py", "x");
	place_text(b.place.project, "tools/t.yaml", "x");
	place_text(b.place.project, "knowledge/a-b.md", "x");
	place_text(b.place.project, "knowledge/a/c.md", "x");
	place_text(b.place.project, "knowledge/a.md", "x");
	start(&b);
	check_list(&b, RYE_KNOWLEDGE, "", "a/ a-b.md a.md both.md dir.md/");
	check_find(&b, RYE_KNOWLEDGE, "dir.md", "dir");
	check_find(&b, RYE_KNOWLEDGE, "dir", "-");
	check_find(&b, RYE_KNOWLEDGE, "both.md", "file both.md 0");
	check_find(&b, RYE_KNOWLEDGE, "a", "dir+item a.md 0");
	check_find(&b, RYE_KNOWLEDGE, "A", "-"); /* T53 */
	check_list(&b, RYE_TOOL, "", "t.py");
	done(&b);
}

/* T49 */
static void links(void **state)
{
	struct bench b;
	char path[400], target[400];

	place_make(&b.place);
	place_text(b.place.project, "knowledge/real.md", "x");
	place_text(b.place.project, "knowledge/d/in.md", "x");
	snprintf(target, sizeof(target), "%s/outside.md", b.place.base);
	snprintf(path, sizeof(path), "%s/.ai/knowledge/out.md", b.place.project);
	assert_int_equal(symlink(target, path), 0);
	snprintf(path, sizeof(path), "%s/.ai/knowledge/etc", b.place.project);
	assert_int_equal(symlink("/etc", path), 0);
	snprintf(path, sizeof(path), "%s/.ai/knowledge/dangling.md", b.place.project);
	assert_int_equal(symlink("nowhere.md", path), 0);
	snprintf(path, sizeof(path), "%s/.ai/knowledge/loop.md", b.place.project);
	assert_int_equal(symlink("loop.md", path), 0);
	snprintf(path, sizeof(path), "%s/.ai/knowledge/inside.md", b.place.project);
	assert_int_equal(symlink("d/in.md", path), 0);
	snprintf(path, sizeof(path), "%s/.ai/knowledge/again", b.place.project);
	assert_int_equal(symlink("d", path), 0);
	snprintf(path, sizeof(path), "%s/.ai/knowledge/d/up", b.place.project);
	assert_int_equal(symlink("../../knowledge", path), 0);
	start(&b);
	/* What leads nowhere or out of the space is an item that is refused, not one left out: the
	 * one of the same id in a lower space must not show in its place. */
	check_list(&b, RYE_KNOWLEDGE, "", "again/ d/ dangling.md inside.md loop.md out.md real.md");
	check_list(&b, RYE_KNOWLEDGE, "again", "in.md");
	check_list(&b, RYE_KNOWLEDGE, "d", "in.md");
	done(&b);
}

static size_t touch(struct bench *b, int space, const char *path)
{
	struct index_changes changes = { 0 };
	size_t n;

	index_touch(b->index, space, path, &changes);
	n = changes.n;
	index_changes_done(&changes);
	return n;
}

static void removed(const char *root, const char *path)
{
	char full[700];

	snprintf(full, sizeof(full), "%s/.ai/%s", root, path);
	assert_int_equal(remove(full), 0);
}

static void follows(void **state)
{
	struct bench b;

	place_make(&b.place);
	place_text(b.place.user, "tools/a/x.py", "x");
	start(&b);
	check_list(&b, RYE_TOOL, "a", "x.py");
	/* A shadow appears … */
	place_text(b.place.project, "tools/a/x.yaml", "x");
	assert_true(touch(&b, 0, "tools") > 0);
	check_list(&b, RYE_TOOL, "a", "x.yaml");
	check_find(&b, RYE_TOOL, "a/x", "item a/x.yaml 0");
	/* … and vanishes. */
	removed(b.place.project, "tools/a/x.yaml");
	assert_int_equal(touch(&b, 0, "tools/a/x.yaml"), 1);
	check_list(&b, RYE_TOOL, "a", "x.py");
	removed(b.place.user, "tools/a/x.py");
	/* The file and its directory, which nothing shows any more. */
	assert_int_equal(touch(&b, 1, "tools/a/x.py"), 2);
	check_find(&b, RYE_TOOL, "a", "-");
	check_list(&b, RYE_TOOL, "", "");
	place_text(b.place.user, "tools/a/b/c/y.py", "x");
	assert_int_equal(touch(&b, 1, "tools/a/b"), 4);
	check_list(&b, RYE_TOOL, "a/b/c", "y.py");
	done(&b);
}

/* Without a watch the lookup itself looks. */
static void checks(void **state)
{
	struct index_changes changes = { 0 };
	struct index_item item;
	struct bench b;
	uint64_t gen;

	place_make(&b.place);
	place_text(b.place.project, "tools/a/x.py", "x");
	start(&b);
	assert_true(index_unwatched(b.index, RYE_TOOL, "a/x.py"));
	place_text(b.place.project, "tools/a/new/y.py", "x");
	check_find(&b, RYE_TOOL, "a/new/y.py", "-");
	index_check(b.index, RYE_TOOL, "a/new/y.py", &changes);
	check_find(&b, RYE_TOOL, "a/new/y.py", "file a/new/y.py 0");
	assert_true(index_item(b.index, RYE_TOOL, "a/x", &item));
	gen = item.gen;
	place_text(b.place.project, "tools/a/x.py", "xy");
	index_check(b.index, RYE_TOOL, "a/x", &changes);
	assert_true(index_item(b.index, RYE_TOOL, "a/x", &item));
	assert_true(item.gen != gen);
	removed(b.place.project, "tools/a/x.py");
	index_check(b.index, RYE_TOOL, "a/x.py", &changes);
	check_find(&b, RYE_TOOL, "a/x", "-");
	place_text(b.place.user, "directives/d.md", "x");
	index_check(b.index, RYE_DIRECTIVE, "d.md", &changes);
	check_find(&b, RYE_DIRECTIVE, "d", "item d.md 1");
	assert_true(changes.n > 0);
	index_changes_done(&changes);
	done(&b);
}

static int one_watch(void *arg, int dirfd)
{
	int *left = arg;

	return *left > 0 ? (*left)-- : -ENOSPC;
}

static void no_unwatch(void *arg, int wd)
{
}

static void count_lines(void *arg, enum rye_level level, const char *module, const char *line)
{
	(*(int *)arg)++;
}

/* Watches run out: told once, and only what has none is looked at again and again. */
static void few_watches(void **state)
{
	int left = 100, lines = 0;
	const struct log log = { count_lines, &lines };
	struct index_env env = { .log = &log, .watch = one_watch, .unwatch = no_unwatch };
	struct index_changes changes = { 0 };
	struct rye_err err = { 0 };
	struct bench b;

	place_make(&b.place);
	place_text(b.place.project, "tools/a/x.py", "x");
	place_open(&b.place, false);
	env.spaces = b.place.spaces;
	env.arg = &left;
	assert_works(&err, index_open(&env, &b.index, &err));
	index_scan(b.index, 1, false);
	assert_false(index_unwatched(b.index, RYE_TOOL, "a/x.py"));
	left = 0;
	place_text(b.place.project, "tools/b/c/y.py", "x");
	index_touch(b.index, 0, "tools/b", &changes);
	assert_true(index_unwatched(b.index, RYE_TOOL, "b/c/y.py"));
	assert_false(index_unwatched(b.index, RYE_TOOL, "a/x.py"));
	assert_int_equal(lines, 1);
	place_text(b.place.project, "tools/b/c/z.py", "x");
	index_check(b.index, RYE_TOOL, "b/c/z", &changes);
	check_find(&b, RYE_TOOL, "b/c/z", "item b/c/z.py 0");
	index_changes_done(&changes);
	done(&b);
}

static void verdicts(void **state)
{
	struct index_outcome out = { .code = RYE_OK, .size = 7, .version = 9, .mtime_ns = 5 };
	struct index_totals totals;
	struct index_item item;
	struct bench b;

	place_make(&b.place);
	place_text(b.place.project, "tools/x.py", "x");
	start(&b);
	assert_true(index_item(b.index, RYE_TOOL, "x", &item));
	assert_false(item.state.known);
	assert_true(index_publish(b.index, &item, &out));
	assert_true(index_item(b.index, RYE_TOOL, "x", &item));
	assert_true(item.state.known);
	assert_int_equal(item.state.mtime_ns, 5);
	/* What was learnt of old bytes is not taken. */
	assert_true(touch(&b, 0, "tools/x.py") > 0);
	assert_false(index_publish(b.index, &item, &out));
	assert_true(index_item(b.index, RYE_TOOL, "x", &item));
	assert_false(item.state.known);
	/* Another verdict shows in the time though the file is as old as before. */
	out.code = RYE_MODIFIED;
	out.reason = "why";
	assert_true(index_publish(b.index, &item, &out));
	assert_true(index_item(b.index, RYE_TOOL, "x", &item));
	assert_true(item.state.mtime_ns > 5);
	assert_string_equal(item.state.reason->data, "why");
	index_state_done(&item.state);
	index_totals(b.index, &totals);
	assert_int_equal(totals.by_code[RYE_MODIFIED], 1);
	assert_int_equal(totals.known, 1);
	index_forget(b.index);
	index_totals(b.index, &totals);
	assert_int_equal(totals.known, 0);
	assert_int_equal(totals.by_code[RYE_MODIFIED], 0);
	done(&b);
}

/* A project that is cloned anew while it is mounted: no event tells of it. */
static void a_root_goes_and_comes(void **state)
{
	struct index_changes changes = { 0 };
	struct bench b;
	char gone[300];

	place_make(&b.place);
	place_text(b.place.project, "tools/a/x.py", "x");
	start(&b);
	snprintf(gone, sizeof(gone), "%s.gone", b.place.project);
	assert_int_equal(rename(b.place.project, gone), 0);
	index_poll(b.index, &changes);
	check_find(&b, RYE_TOOL, "a/x", "-");
	assert_true(changes.keys);
	index_changes_done(&changes);
	place_text(b.place.project, "tools/a/y.py", "x");
	changes = (struct index_changes){ 0 };
	index_poll(b.index, &changes);
	check_find(&b, RYE_TOOL, "a/x", "-");
	check_find(&b, RYE_TOOL, "a/y", "item a/y.py 0");
	index_changes_done(&changes);
	changes = (struct index_changes){ 0 };
	index_poll(b.index, &changes);
	assert_false(changes.keys);
	index_changes_done(&changes);
	done(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(merges),      cmocka_unit_test(directory_tools),
		cmocka_unit_test(others),      cmocka_unit_test(clashes),
		cmocka_unit_test(links),       cmocka_unit_test(follows),
		cmocka_unit_test(checks),      cmocka_unit_test(verdicts),
		cmocka_unit_test(few_watches), cmocka_unit_test(a_root_goes_and_comes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
