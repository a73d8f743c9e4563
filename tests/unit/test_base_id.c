/* SPDX-License-Identifier: MIT */
/* Ids, references, kinds: docs/items.md, case T48. */
#include "base/id.h"
#include "bounds.h"
#include "str.h"

#include "rye_test.h"

static bool good(const char *id)
{
	struct rye_err err = { 0 };
	int r = id_check(span_of(id), &err);

	assert_int_equal(r, r ? -(int)RYE_INVALID : 0);
	assert_true(!r || !strncmp(err.msg, "Invalid item_id: ", 17));
	assert_true(utf8_valid(span_of(err.msg)));
	return !r;
}

static void T48_ids_that_are_no_ids(void **state)
{
	static const char *const bad[] = {
		"",	      "../../etc/passwd",
		"../../esc",  "/abs/path",
		"a/../b",     "a//b",
		"./a",	      "a/",
		"a\\b",	      ".",
		"..",	      "a/..",
		"a/.",	      "/",
		"a\nb",	      "a\x7f",
		"a\x1b[0m",   "\xff",
		"a\xc2\x9bm", "\xed\xa0\x80",
	};
	static const char *const fine[] = { "a",	 "a/b/c",   "%2e%2e",  "x.config-schema",
					    "日本/é.v1", "...",	    ".hidden", "a b",
					    "a:b",	 "\xc2\xa0" };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(good(bad[i]));
	for (size_t i = 0; i < sizeof(fine) / sizeof(fine[0]); i++)
		assert_true(good(fine[i]));
	assert_int_equal(id_check((struct rye_span){ "a\0b", 3 }, NULL), -(int)RYE_INVALID);
}

static void lengths(void **state)
{
	char id[RYE_ID_MAX + 2];

	memset(id, 'a', sizeof(id));
	id[RYE_NAME_MAX] = 0;
	assert_true(good(id));
	id[RYE_NAME_MAX] = 'a';
	id[RYE_NAME_MAX + 1] = 0;
	assert_false(good(id));
	for (size_t i = 0; i < sizeof(id); i++)
		id[i] = i % 2 ? '/' : 'a';
	id[RYE_ID_MAX - 1] = 0;
	assert_true(good(id));
	id[RYE_ID_MAX - 1] = '/';
	id[RYE_ID_MAX] = 'a';
	id[RYE_ID_MAX + 1] = 0;
	assert_false(good(id));
}

static void references(void **state)
{
	const char *id;

	assert_int_equal(id_split("tool:a/b", &id), RYE_TOOL);
	assert_string_equal(id, "a/b");
	assert_int_equal(id_split("config:", &id), RYE_CONFIG);
	assert_string_equal(id, "");
	assert_int_equal(id_split("knowledge: x", &id), RYE_KNOWLEDGE);
	assert_string_equal(id, " x");
	assert_int_equal(id_split("directive:a:b", &id), RYE_DIRECTIVE);
	assert_string_equal(id, "a:b");
	assert_int_equal(id_split("Tool:a", &id), RYE_KIND__MAX);
	assert_string_equal(id, "Tool:a");
	assert_int_equal(id_split("tool", &id), RYE_KIND__MAX);
	assert_int_equal(id_split("tools:a", &id), RYE_KIND__MAX);
}

static void kinds(void **state)
{
	for (int kind = 0; kind < RYE_KIND__MAX; kind++) {
		assert_int_equal(kind_from_name(rye_kind_name(kind)), kind);
		assert_int_equal(kind_from_dir(span_of(rye_kind_dir(kind))), kind);
	}
	assert_int_equal(kind_from_name("tools"), RYE_KIND__MAX);
	assert_int_equal(kind_from_dir(SPAN("tool")), RYE_KIND__MAX);
	assert_string_equal(kind_title(RYE_KNOWLEDGE), "Knowledge");
	assert_string_equal(rye_kind_name(RYE_KIND__MAX), "");
	assert_string_equal(kind_extension_of(RYE_TOOL, "a.b.py"), ".py");
	assert_null(kind_extension_of(RYE_TOOL, ".py"));
	assert_null(kind_extension_of(RYE_TOOL, "a.md"));
	assert_null(kind_extension_of(RYE_TOOL, "a.PY"));
	assert_string_equal(kind_extensions(RYE_TOOL)[0], ".py");
	assert_string_equal(kind_extensions(RYE_KNOWLEDGE)[1], ".yaml");
}

static void traits(void **state)
{
	assert_true(rye_kind_has(RYE_TOOL, RYE_KIND_PROCESS) &&
		    rye_kind_has(RYE_TOOL, RYE_KIND_PARAMETERS));
	assert_true(rye_kind_has(RYE_DIRECTIVE, RYE_KIND_FORKS) &&
		    rye_kind_has(RYE_DIRECTIVE, RYE_KIND_INPUTS));
	assert_true(rye_kind_has(RYE_KNOWLEDGE, RYE_KIND_RUNS));
	assert_false(rye_kind_has(RYE_KNOWLEDGE, RYE_KIND_PARAMETERS));
	assert_false(rye_kind_has(RYE_CONFIG, RYE_KIND_RUNS));
	assert_false(rye_kind_has(RYE_KIND__MAX, RYE_KIND_RUNS));
	assert_int_equal(kinds_with(RYE_KIND_ELEMENT | RYE_KIND_FRONT),
			 1u << RYE_DIRECTIVE | 1u << RYE_KNOWLEDGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(T48_ids_that_are_no_ids),
		cmocka_unit_test(lengths),
		cmocka_unit_test(references),
		cmocka_unit_test(kinds),
		cmocka_unit_test(traits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
