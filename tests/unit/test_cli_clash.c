/* SPDX-License-Identifier: MIT */
/* test_cli_clash.c - names that hide one another, as doctor finds them. */
#include "rye_test.h"

#include "cli/doctor/doctor.h"
#include "str.h"

static const struct cli_verb verb = { .name = "doctor" };

static bool is_control(const char *name, size_t len)
{
	return span_eq((struct rye_span){ name, len }, "prompt.md") ||
	       span_eq((struct rye_span){ name, len }, "run");
}

struct item {
	const char *ref, *space, *path;
};

/* The findings' subjects, joined by blanks. */
static void survey(const struct item *items, size_t n, char ret[256])
{
	struct cli cli = { .verb = &verb, .opt = { .json = true }, .is_control = is_control };
	json_t *list = json_array(), *rows = json_array(), *row;
	struct findings findings = { .cli = &cli, .rows = rows };
	size_t i;

	for (i = 0; i < n; i++) {
		row = json_object();
		json_sets(row, "ref", items[i].ref);
		json_sets(row, "space", items[i].space);
		json_sets(row, "path", items[i].path);
		json_array_append_new(list, row);
	}
	clash_check(&findings, list);
	ret[0] = 0;
	json_array_foreach(rows, i, row) {
		size_t len = strlen(ret);

		snprintf(ret + len, 256 - len, "%s%s", len ? " " : "", json_str(row, "about"));
	}
	json_decref(list);
	json_decref(rows);
}

static void twins_are_of_one_space(void **state)
{
	const struct item items[] = {
		{ "tool:a/x", "project", "/p/a/x.py" },
		{ "tool:a/x", "project", "/p/a/x.yaml" },
		{ "tool:b", "project", "/p/b.py" },
		{ "tool:b", "user", "/u/b.py" },
		{ "knowledge:a/x", "project", "/p/a/x.md" },
	};
	char said[256];

	(void)state;
	survey(items, 5, said);
	assert_string_equal(said, "tool:a/x");
}

static void control_names_below_an_item_are_hidden(void **state)
{
	const struct item items[] = {
		{ "knowledge:x", "project", "/p/x.md" },
		{ "knowledge:x/prompt", "project", "/p/x/prompt.md" }, /* the file's name */
		{ "knowledge:x/run/y", "project", "/p/x/run/y.md" }, /* a directory's name */
		{ "knowledge:x/prompter", "project", "/p/x/prompter.md" },
		{ "knowledge:free/prompt", "project", "/p/free/prompt.md" }, /* no item above */
		{ "knowledge:x/z/info", "project", "/p/x/z/info.yaml" },
	};
	char said[256];

	(void)state;
	survey(items, 6, said);
	assert_string_equal(said, "knowledge:x/prompt knowledge:x/run/y");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(twins_are_of_one_space),
		cmocka_unit_test(control_names_below_an_item_are_hidden),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
