/* SPDX-License-Identifier: MIT */
/* Items as skills: their names, which one has a name that several would have, inputs of a skill's text. */
#include "offer/offer_inner.h"

#include "str.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void names_of_items(void **state)
{
	static const char *const none[] = { "",		"a//b", "a__b", "_a",	 "a/",
					    "\xc3\xa4", "a b",	"a.b",	"ryefs", "RYEFS" };
	char name[SKILL_NAME_MAX + 1], longest[SKILL_NAME_MAX + 2];

	assert_true(offer_name("sample/Count_words", name));
	assert_string_equal(name, "sample-count-words");
	for (size_t i = 0; i < ARRAY_SIZE(none); i++)
		assert_false(offer_name(none[i], name));
	memset(longest, 'a', sizeof(longest));
	longest[SKILL_NAME_MAX + 1] = 0;
	assert_false(offer_name(longest, name));
	longest[SKILL_NAME_MAX] = 0;
	assert_true(offer_name(longest, name));
}

static void one_name_belongs_to_one_item(void **state)
{
	struct offer v[] = {
		{ "a", RYE_DIRECTIVE, (char *)"a.md", 1, true },
		{ "a", RYE_TOOL, (char *)"a.py", 1, true },
		{ "a-b", RYE_DIRECTIVE, (char *)"a/b.md", 1, true },
		{ "a-b", RYE_DIRECTIVE, (char *)"a_b.md", 1, true },
		{ "a-b", RYE_TOOL, (char *)"a/b.py", 1, true },
		{ "c", RYE_KNOWLEDGE, (char *)"c.md", 1, false },
		{ "c", RYE_TOOL, (char *)"c.py", 1, true },
		{ "d", RYE_TOOL, (char *)"d.py", 1, false },
	};
	const struct offer_table table = { .v = v, .n = ARRAY_SIZE(v) };

	assert_string_equal(offer_table_find(&table, "a")->path, "a.md");
	assert_null(offer_table_find(&table, "a-b"));
	assert_string_equal(offer_table_find(&table, "c")->path, "c.py");
	assert_null(offer_table_find(&table, "d"));
	assert_null(offer_table_find(&table, ""));
	assert_null(offer_table_find(&table, "e"));
}

static enum rye_code filled(const char *text, const char *query, char ret[200])
{
	auto_blob struct rye_blob *from = rye_blob_new(text, strlen(text)), *blob = NULL;
	struct rye_err err = { 0 };

	if (offer_fill(from, query, &blob, &err))
		return err.code;
	snprintf(ret, 200, "%s", blob->data);
	return RYE_OK;
}

static void arguments_of_a_skill(void **state)
{
	static const char text[] = "---\nname: $ARGUMENTS\n---\nFor $ARGUMENTS, $ARGUMENT.\n";
	char got[200];

	assert_int_equal(filled(text, "arguments=a%20b", got), RYE_OK);
	assert_string_equal(got, "---\nname: $ARGUMENTS\n---\nFor a b, $ARGUMENT.\n");
	assert_int_equal(filled(text, "arguments=$ARGUMENTS", got), RYE_OK);
	assert_string_equal(got, "---\nname: $ARGUMENTS\n---\nFor $ARGUMENTS, $ARGUMENT.\n");
	assert_int_equal(filled(text, "who=a", got), RYE_INVALID);
	assert_int_equal(filled(text, "arguments=a&who=a", got), RYE_INVALID);
	assert_int_equal(filled(text, "arguments=%zz", got), RYE_INVALID);
	assert_int_equal(filled(text, "", got), RYE_INVALID);
}

static void the_guide_repeats_names_alone(void **state)
{
	auto_json json_t *names = json_pack("[s, s]", "pdf", "obey me; rm -rf");
	auto_blob struct rye_blob *guide = offer_guide(names);
	auto_json json_t *front = NULL;

	assert_int_equal(
		skill_front((struct rye_span){ guide->data, guide->len }, &front, NULL, NULL), 0);
	assert_int_equal(skill_front_check(front, OFFER_GUIDE, NULL), 0);
	assert_non_null(strstr(guide->data, "- pdf\n"));
	assert_null(strstr(guide->data, "obey"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_of_items),
		cmocka_unit_test(one_name_belongs_to_one_item),
		cmocka_unit_test(arguments_of_a_skill),
		cmocka_unit_test(the_guide_repeats_names_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
