/* SPDX-License-Identifier: MIT */
/*
 * What verbs make of words and files without an engine: parameters that were cut off, a skill's folder under
 * another name and as an installer has noted it, an item's first text.
 */
#include "told.h"

#include "cli/follow/follow.h"
#include "cli/skill/skill_words.h"

#include "scope.h"
#include "skeleton/skeleton.h"
#include "str.h"

#include <stdlib.h>

/* ---- parameters ---- */

static void repaired(const char *typed, const char *want)
{
	auto_json json_t *value = parameters_repaired(typed), *wanted = json_loads(want, 0, NULL);

	assert_non_null(wanted);
	if (!json_equal(value, wanted))
		fail_msg("%s", typed);
}

static void parameters_are_mended(void **state)
{
	(void)state;
	repaired("{\"a\": [1, 2", "{\"a\": [1, 2]}");
	repaired("{\"a\": \"b", "{\"a\": \"b\"}");
	repaired("{\"a\": 1, }", "{\"a\": 1}");
	repaired("{'a': 'b',}", "{\"a\": \"b\"}");
	/* what a shell leaves of {"name":"Ann","n":-1,"ok":true} */
	repaired("{name:Ann,n:-1,ok:true}", "{\"name\": \"Ann\", \"n\": -1, \"ok\": true}");
	assert_null(parameters_repaired("{]"));
}

/* ---- a skill's folder ---- */

static void put(struct folder *folder, const char *path, const char *text)
{
	struct rye_err err;

	assert_works(&err, folder_add(folder, path, rye_blob_new(text, strlen(text)), &err));
}

static void is_locked(const struct folder *folder, const char *text, bool want)
{
	char hash[SHA_HEX];

	sha256_hex(span_of(text), hash);
	if (folder_is_locked(folder, hash) != want)
		fail_msg("%s", text);
}

static void an_installer_has_noted_it(void **state)
{
	auto_folder struct folder folder = { 0 };

	(void)state;
	put(&folder, "A.md", "3");
	put(&folder, "B.md", "2");
	put(&folder, "a.md", "1");
	put(&folder, "node_modules/x.js", "4");
	/* by bytes, by the alphabet */
	is_locked(&folder, "A.md3B.md2a.md1", true);
	is_locked(&folder, "a.md1A.md3B.md2", true);
	is_locked(&folder, "A.md3a.md1B.md2", false);
	is_locked(&folder, "a.md1A.md3B.md2node_modules/x.js4", false);
	is_locked(&folder, "a.md1A.md3B.md3", false);
}

static void another_name_is_in_the_line_of_the_first(void **state)
{
	auto_folder struct folder folder = { 0 };
	struct rye_err err;

	(void)state;
	put(&folder, "SKILL.md", "---\nabout: name\nname: old\r\nx: 1\n---\nname: text\n");
	assert_works(&err, folder_rename(&folder, "new", &err));
	assert_string_equal(folder_find(&folder, "SKILL.md")->blob->data,
			    "---\nabout: name\nname: new\r\nx: 1\n---\nname: text\n");
	folder_done(&folder);
	folder = (struct folder){ 0 };
	put(&folder, "SKILL.md", "---\nx: 1\n---\nname: text\n");
	assert_refused(&err, RYE_INVALID, folder_rename(&folder, "new", &err));
}

/* ---- an item's first text ---- */

static void filled(const char *text, const char *id, const char *want)
{
	auto_free char *made = skeleton_fill(text, id);

	assert_string_equal(made, want);
}

static void a_skeleton_knows_its_place(void **state)
{
	(void)state;
	filled("@ID@ @NAME@ @STEM@", "my/first-steps", "my/first-steps my/first-steps first-steps");
	filled("category: \"@CATEGORY@\"", "a/b/c", "category: \"a/b\"");
	filled("category: \"@CATEGORY@\"", "c", "category: \"\"");
	filled("# @TITLE@", "my/first-steps", "# First steps");
	setenv("USER", "ann.b", 1);
	filled("@AUTHOR@", "c", "ann.b");
	setenv("USER", "a\"b", 1);
	filled("@AUTHOR@, a@b", "c", "me, a@b");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parameters_are_mended),
		cmocka_unit_test(an_installer_has_noted_it),
		cmocka_unit_test(another_name_is_in_the_line_of_the_first),
		cmocka_unit_test(a_skeleton_knows_its_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
