/* SPDX-License-Identifier: MIT */
/*
 * Names and links below state/threads: what a model, a provider or a registry that came with a clone
 * calls a thing is one component of a path, and no link leads out of state/threads.
 */
#include "rye_test.h"
#include "rye_json.h"
#include "told.h"

#include "facts/facts_inner.h"
#include "scope.h"

#include <stdio.h>

static void names_are_one_component(void **state)
{
	static const char *const rows[][2] = {
		{ "rye_execute", "rye_execute" },
		{ "", "_" },
		{ ".", "_" },
		{ "..", "_." },
		{ "../x", ".._x" },
		{ "/etc/x", "_etc_x" },
		{ "a\nb\x7f", "a_b_" },
		{ "...", "..." },
	};
	char long_name[300], name[128];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		facts_name(rows[i][0], name);
		if (strcmp(name, rows[i][1]) != 0)
			fail_msg("%s is %s, wanted %s", rows[i][0], name, rows[i][1]);
	}
	memset(long_name, 'x', sizeof(long_name) - 1);
	long_name[sizeof(long_name) - 1] = 0;
	facts_name(long_name, name);
	assert_in_range(strlen(name), 100, 127);
}

static void a_parent_is_a_thread(void **state)
{
	static const char *const bad[] = { "", "..", "../../x", "/etc", "a/../b", "a//b", "a\nb" };
	struct facts_look look = { .id = "a", .thread = THREADS_LOOK_INIT };
	auto_buf struct rye_buf out = RYE_BUF_INIT;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		snprintf(look.thread.links.parent_id, sizeof(look.thread.links.parent_id), "%s",
			 bad[i]);
		assert_refused(&told_err, RYE_NOT_FOUND, fact_parent(&look, &out, &told_err));
		assert_int_equal(out.len, 0);
	}
	snprintf(look.thread.links.parent_id, sizeof(look.thread.links.parent_id), "a/b-1");
	assert_works(&told_err, fact_parent(&look, &out, &told_err));
	assert_string_equal(out.data, "a/b-1");
}

static void a_chain_is_of_threads(void **state)
{
	struct facts_look look = { .id = "a",
				   .thread = { .dir = -1,
					       .links = { .continuation_of = "../x",
							  .continuation_thread_id = "a/b-2",
							  .chain_root_id = "a/b-1" } } };
	json_t *chain = NULL;

	(void)state;
	assert_works(&told_err, fact_chain(&look, &chain, &told_err));
	same_json(chain, "{\"next\": \"a/b-2\", \"root\": \"a/b-1\"}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_one_component),
		cmocka_unit_test(a_parent_is_a_thread),
		cmocka_unit_test(a_chain_is_of_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
