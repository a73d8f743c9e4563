/* SPDX-License-Identifier: MIT */
/*
 * test_cli.c - what the verbs share, without an engine: options, the nearest verb, exit
 * statuses, references out of paths, remedies.
 */
#include "rye_test.h"

#include "cli/cli.h"

#include "scope.h"

#include <rye/ryefs.h>

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct cli_verb verb = { .name = "fetch", .usage = "A [B]", .min = 1, .max = 2 };

static int read_words(struct cli *cli, int n, const char *const *words)
{
	static const struct cli empty;

	*cli = empty;
	cli->verb = &verb;
	cli->opt.quiet = true;
	return options_read(cli, n, (char **)words);
}

static void options_are_sorted_from_operands(void **state)
{
	const char *words[] = { "a", "--from", "3", "--json", "-f", "--", "-q" };
	struct cli cli;

	(void)state;
	assert_int_equal(read_words(&cli, 7, words), CLI_OK);
	assert_int_equal(cli.argc, 2);
	assert_string_equal(cli.argv[0], "a");
	assert_string_equal(cli.argv[1], "-q");
	assert_string_equal(cli.opt.from, "3");
	assert_true(cli.opt.json);
	assert_true(cli.opt.force);
}

static void option_values_may_follow_an_equals_sign(void **state)
{
	const char *words[] = { "--from=", "--project=/a=b", "x" };
	struct cli cli;

	(void)state;
	assert_int_equal(read_words(&cli, 3, words), CLI_OK);
	assert_string_equal(cli.opt.from, "");
	assert_string_equal(cli.opt.project, "/a=b");
}

static void wrong_calls_are_refused(void **state)
{
	const char *const calls[][4] = {
		{ "a", "--nothing" }, /* unknown */
		{ "a", "--sample" }, /* another verb's */
		{ "a", "--json=yes" }, /* takes no value */
		{ "a", "-x" },
		{ "a", "--from" }, /* wants one */
		{ NULL }, /* too few */
		{ "a", "b", "c" }, /* too many */
	};
	struct cli cli;

	(void)state;
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		int n = 0;

		while (n < 4 && calls[i][n])
			n++;
		assert_int_equal(read_words(&cli, n, calls[i]), CLI_USAGE);
	}
}

static void help_needs_no_operands(void **state)
{
	const char *words[] = { "--help" };
	struct cli cli;

	(void)state;
	assert_int_equal(read_words(&cli, 1, words), CLI_OK);
	assert_true(cli.opt.help);
}

static void misspelt_verbs_have_a_neighbour(void **state)
{
	(void)state;
	assert_string_equal(rye_cli_suggest("verfy"), "verify");
	assert_string_equal(rye_cli_suggest("sing"), "sign");
	assert_string_equal(rye_cli_suggest("untrsut"), "untrust");
	assert_string_equal(rye_cli_suggest("mout"), "mount");
	assert_string_equal(rye_cli_suggest("exec"), "execute");
	assert_null(rye_cli_suggest("frobnicate"));
	assert_null(rye_cli_suggest("averyveryverylongwordindeed"));
	assert_null(rye_cli_suggest("x"));
	assert_true(rye_cli_knows("sign"));
	assert_true(rye_cli_knows("--version"));
	assert_false(rye_cli_knows("mount"));
	assert_false(rye_cli_knows("sing"));
}

static void codes_have_exit_statuses(void **state)
{
	(void)state;
	assert_int_equal(exit_of(RYE_OK), 0);
	assert_int_equal(exit_of(RYE_TOOL_FAILED), 1);
	assert_int_equal(exit_of(RYE_UNPARSABLE), 1);
	assert_int_equal(exit_of(RYE_INVALID), 2);
	assert_int_equal(exit_of(RYE_NOT_FOUND), 3);
	assert_int_equal(exit_of(RYE_DENIED), 5);
	for (int code = RYE_UNSIGNED; code <= RYE_MOVED; code++)
		assert_int_equal(exit_of((enum rye_code)code), 4);
}

static void remedies_name_the_item(void **state)
{
	auto_free char *text = cli_remedy(RYE_UNTRUSTED, "tool:a");

	(void)state;
	assert_string_equal(
		text, "trust the key: ryefs trust KEY, or sign it yourself: ryefs sign tool:a");
	assert_null(cli_remedy(RYE_DENIED, "tool:a"));
}

static void a_path_becomes_its_reference(void **state)
{
	char dir[] = "/tmp/rye-cli.XXXXXX", path[128], ref[REF_MAX], want[128];
	struct cli cli = { .verb = &verb };

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/.ai", dir);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/.ai/tools", dir);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/.ai/tools/a.b.py", dir);
	fclose(fopen(path, "w"));
	ref_from_word(&cli, path, ref);
	snprintf(want, sizeof(want), "tool:a.b");
	assert_string_equal(ref, want);
	unlink(path);
	ref_from_word(&cli, path, ref); /* not there: taken as it is */
	assert_string_equal(ref, path);
	ref_from_word(&cli, "tool:a/*", ref);
	assert_string_equal(ref, "tool:a/*");
	snprintf(path, sizeof(path), "%s/.ai/tools", dir);
	rmdir(path);
	snprintf(path, sizeof(path), "%s/.ai", dir);
	rmdir(path);
	rmdir(dir);
}

static void count_broken(void *arg, const char *path, long line, const char *what)
{
	(void)path;
	(void)what;
	*(size_t *)arg += line == 1;
}

/* More than fit into one command line. */
static void all_files_are_compiled(void **state)
{
	char path[] = "/tmp/rye_cli_XXXXXX";
	auto_json json_t *paths = json_array();
	auto_close int fd = mkostemp(path, O_CLOEXEC);
	size_t broken = 0;

	(void)state;
	assert_true(fd >= 0 && write(fd, "def f(:\n", 8) == 8);
	for (int i = 0; i < 2001; i++)
		json_array_append_new(paths, json_string(path));
	compiles_check(paths, count_broken, &broken);
	unlink(path);
	if (!broken)
		skip(); /* no python3 */
	assert_int_equal(broken, 2001);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(options_are_sorted_from_operands),
		cmocka_unit_test(option_values_may_follow_an_equals_sign),
		cmocka_unit_test(wrong_calls_are_refused),
		cmocka_unit_test(help_needs_no_operands),
		cmocka_unit_test(misspelt_verbs_have_a_neighbour),
		cmocka_unit_test(codes_have_exit_statuses),
		cmocka_unit_test(remedies_name_the_item),
		cmocka_unit_test(a_path_becomes_its_reference),
		cmocka_unit_test(all_files_are_compiled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
