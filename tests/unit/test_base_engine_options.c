/* SPDX-License-Identifier: MIT */
/* Every member of struct rye_options survives a copy and the way into another process. */
#include "rye_test.h"

#include "scope.h"
#include "base/engine_options.h"

#include <string.h>

static void no_log(void *arg, enum rye_level level, const char *module, const char *line)
{
	(void)arg;
	(void)level;
	(void)module;
	(void)line;
}

/*
 * By position, so that a new member stops the compiler here: it belongs into the table of
 * engine_options.c and, with a value that is not its default, below.
 */
#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wmissing-field-initializers"
static const struct rye_options all = {
	"/project", "/user", "/a:/b", "ONE:TWO",       true,   true,   true,	     true, true,
	true,	    7,	     027,     RYE_SANDBOX_OFF, "/mnt", no_log, (void *)&all,
};
#pragma GCC diagnostic pop

static void text_is(const char **got, const char *want, bool own)
{
	assert_string_equal(*got, want);
	assert_int_equal(*got != want, own);
	*got = want;
}

/* Texts are compared as such, then everything else as bytes. */
static void is_all(struct rye_options *got, bool own)
{
	text_is(&got->project, all.project, own);
	text_is(&got->user_base, all.user_base, own);
	text_is(&got->system_roots, all.system_roots, own);
	text_is(&got->env_names, all.env_names, own);
	text_is(&got->mountpoint, all.mountpoint, own);
	assert_memory_equal(got, &all, sizeof(all));
}

static void a_copy_has_everything(void **state)
{
	struct rye_options own, seen;

	(void)state;
	assert_true(options_copy(&all, &own));
	memcpy(&seen, &own, sizeof(seen));
	is_all(&seen, true);
	options_free(&own);
}

static void another_process_gets_everything(void **state)
{
	auto_json json_t *doc = options_to_json(&all);
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	auto_json json_t *read = NULL;
	struct rye_options got;

	(void)state;
	json_put(&text, doc, true);
	read = json_loads(text.data, 0, NULL);
	memset(&got, 0xaa, sizeof(got));
	options_from_json(read, &got);
	assert_null(got.log);
	assert_null(got.log_arg);
	got.log = all.log;
	got.log_arg = all.log_arg;
	is_all(&got, true);
}

static void what_is_not_set_stays_so(void **state)
{
	const struct rye_options none = { .project = "/p" };
	auto_json json_t *doc = options_to_json(&none);
	struct rye_options got, own;

	(void)state;
	options_from_json(doc, &got);
	assert_string_equal(got.project, "/p");
	assert_null(got.user_base);
	assert_null(got.mountpoint);
	assert_false(got.no_sign || got.no_run || got.compat);
	assert_true(options_copy(&none, &own));
	assert_null(own.env_names);
	options_free(&own);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_copy_has_everything),
		cmocka_unit_test(another_process_gets_everything),
		cmocka_unit_test(what_is_not_set_stays_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
