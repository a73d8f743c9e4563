/* SPDX-License-Identifier: MIT */
/* Scripts whose signed first line names what runs them (plan/shebang.c). */
#include "rye_test.h"

#include "exec_tools.h"

#include "process/process.h"

static void put(struct exec_place *p, const char *file, const char *text)
{
	exec_sign(p->place.project, RYE_TOOL, file, span_of(text));
}

static bool is_installed(const char *name)
{
	const char *const dirs[] = { "/usr/local/bin", "/usr/bin", "/bin" };
	char path[64];

	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++) {
		snprintf(path, sizeof(path), "%s/%s", dirs[i], name);
		if (access(path, X_OK) == 0)
			return true;
	}
	return false;
}

static void perl_gets_its_parameters(void **state)
{
	struct exec_place *p = *state;
	auto_buf struct rye_buf want = RYE_BUF_INIT;
	auto_said struct exec_said said = { 0 };

	if (!is_installed("perl"))
		test_skip("perl is not installed");
	put(p, "t/a.pl",
	    "#!/usr/bin/perl -w\n# __version__ = \"1.0.0\"\n# __tool_type__ = \"script\"\n"
	    "# __category__ = \"t\"\n# __tool_description__ = \"says it\"\n"
	    "# parameters:\n#   - {name: x, type: string, required: true}\n"
	    "print <STDIN>, \"\\n$ENV{RYE_PARAMS}\\n$ENV{RYE_PROJECT_PATH} @ARGV $^W\\n\", <DATA>;\n"
	    "__DATA__\nand more\n");
	exec_wants(p, "{}", "{\"error\":\"~Missing required parameters: x\"}");
	said = exec_run(p, "t/a", "{\"x\":\"y\"}");
	buf_addf(&want, "{\"x\": \"y\"}\n{\"x\": \"y\"}\n%s  1\nand more\n", p->place.project);
	assert_string_equal(said.output, want.data);
	exec_check(&said, "{\"chain\":[\"t/a\",\"rye/core/runtimes/script/script\","
			  "\"rye/core/primitives/execute\"]}");
}

static void perl_answers_and_fails(void **state)
{
	struct exec_place *p = *state;

	if (!is_installed("perl"))
		test_skip("perl is not installed");
	put(p, "t/a.pl",
	    "#!/usr/bin/env -S perl -w\nprint '{\"success\": true, \"n\": ', 6 * 7, '}';\n");
	exec_wants(p, "{}", "{\"status\":\"success\",\"data\":{\"n\":42}}");
	put(p, "t/a.pl", "#!/usr/bin/env perl\ndie \"no luck\\n\";\n");
	exec_wants(p, "{}", "{\"status\":\"error\",\"error\":\"~no luck\"}");
}

static void awk_reads_its_parameters(void **state)
{
	struct exec_place *p = *state;

	if (!is_installed("awk"))
		test_skip("awk is not installed");
	put(p, "t/a.awk",
	    "#!/usr/bin/awk -f\n# description: counts\n"
	    "{ n += gsub(/o/, \"\") }\nEND { print \"o:\", n }\n");
	exec_wants(p, "{\"text\":\"to be or not\"}", "{\"data\":{\"stdout\":\"o: 3\\n\"}}");
	put(p, "t/a.awk", "#!/usr/bin/env -S awk -f\nBEGIN { exit 3 }\n");
	exec_wants(p, "{}", "{\"status\":\"error\"}");
}

static void ruby_and_tcl(void **state)
{
	struct exec_place *p = *state;

	if (is_installed("ruby")) {
		put(p, "t/b.rb",
		    "#!/usr/bin/env ruby\n# frozen_string_literal: true\n"
		    "require 'json'\nputs JSON.parse(STDIN.read)['x'] * 2\n");
		{
			auto_said struct exec_said said = exec_run(p, "t/b", "{\"x\":\"ab\"}");

			assert_string_equal(said.output, "abab\n");
		}
	}
	if (is_installed("tclsh")) {
		put(p, "t/c.tcl", "#!/usr/bin/env tclsh\nputs [string length [read stdin]]\n");
		{
			auto_said struct exec_said said = exec_run(p, "t/c", "{\"x\":\"ab\"}");

			assert_string_equal(said.output, "11\n");
		}
	}
}

static void a_shell_tool_may_name_it(void **state)
{
	struct exec_place *p = *state;

	put(p, "t/a.sh",
	    "#!/bin/sh -e\n# executor_id: rye/core/runtimes/script/script\n"
	    "cat\nfalse\necho not this\n");
	exec_wants(p, "{\"x\":1}", "{\"status\":\"error\"}");
	put(p, "t/a.sh", "#!/bin/sh\n# executor_id: script/script\necho \"$#\"\n");
	exec_wants(p, "{}", "{\"data\":{\"result\":0}}");
}

/* The bytes wait on a descriptor: what lies under the name by then does not matter. */
static void what_was_verified_runs(void **state)
{
	struct exec_place *p = *state;

	put(p, "t/a.sh",
	    "#!/bin/sh\n# executor_id: rye/core/runtimes/script/script\n"
	    "rm \"$RYE_PROJECT_PATH/.ai/tools/t/a.sh\" && cat \"$0\"\n");
	exec_wants(p, "{}", "{\"data\":{\"stdout\":\"^#!/bin/sh\\n# rye:signed:\"}}");
}

static void only_the_system_has_interpreters(void **state)
{
	static const char wanted[] = "{\"error\":\"~is not on the system's PATH\"}";
	struct exec_place *p = *state;
	auto_buf struct rye_buf text = RYE_BUF_INIT;

	put(p, "t/a.pl", "print 1;\n");
	exec_wants(p, "{}", "{\"error\":\"~no signed first line says what runs it\"}");
	put(p, "t/a.pl", "#!/usr/bin/env\nprint 1;\n");
	exec_wants(p, "{}", "{\"error\":\"~no signed first line says what runs it\"}");
	put(p, "t/a.pl", "#!/usr/bin/env X=1 perl\nprint 1;\n");
	exec_wants(p, "{}", "{\"error\":\"~no signed first line says what runs it\"}");
	put(p, "t/a.pl", "#!/usr/bin/env no-such-thing\nprint 1;\n");
	exec_wants(p, "{}", "{\"error\":\"~interpreter no-such-thing not found\"}");
	put(p, "t/a.pl", "#!/usr/bin/no-such-thing\nprint 1;\n");
	exec_wants(p, "{}", "{\"error\":\"~interpreter /usr/bin/no-such-thing not found\"}");
	put(p, "t/a.pl", "#!/usr/bin/../../bin/sh\necho 1\n");
	exec_wants(p, "{}", wanted);
	put(p, "t/a.pl", "#!/usr/bin/env bin/sh\necho 1\n");
	exec_wants(p, "{}", wanted);
	buf_addf(&text, "#!%s/sh\necho 1\n", p->place.project);
	put(p, "t/a.pl", text.data);
	exec_wants(p, "{}", wanted);
	put(p, "t/a.yaml", "tool_type: script\nexecutor_id: rye/core/runtimes/script/script\n");
	exec_wants(p, "{}", "{\"error\":\"~no signed first line says what runs it\"}");
}

static void other_languages_have_their_own(void **state)
{
	struct exec_place *p = *state;

	put(p, "t/b.py", "#!/bin/sh\n__executor_id__ = \"rye/core/runtimes/script/script\"\n");
	{
		auto_said struct exec_said said = exec_run(p, "t/b", "{}");

		exec_check(&said, "{\"error\":\"rye/core/runtimes/script/script cannot run .py "
				  "files: t/b\"}");
	}
}

/* A directory is no program, nor is what may not be executed. */
static void the_first_program_of_a_path(void **state)
{
	const struct exec_place *p = *state;
	auto_buf struct rye_buf list = RYE_BUF_INIT;
	auto_free char *found = NULL;

	for (int i = 0; i < 3; i++) {
		auto_buf struct rye_buf file = RYE_BUF_INIT;

		buf_addf(&file, "%s/bin%d", p->place.project, i);
		assert_int_equal(mkdir(file.data, 0700), 0);
		buf_addf(&list, "%s%s", i ? ":" : "", file.data);
		buf_adds(&file, "/prog");
		if (i)
			close(open(file.data, O_WRONLY | O_CREAT | O_CLOEXEC,
				   i == 1 ? 0600 : 0700));
		else
			assert_int_equal(mkdir(file.data, 0700), 0);
	}
	found = env_which("prog", list.data);
	assert_true(found && str_ends(found, "/bin2/prog"));
	assert_null(env_which("other", list.data));
	assert_null(env_which("bin2/prog", p->place.project));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		exec_test(perl_gets_its_parameters),
		exec_test(perl_answers_and_fails),
		exec_test(awk_reads_its_parameters),
		exec_test(ruby_and_tcl),
		exec_test(a_shell_tool_may_name_it),
		exec_test(what_was_verified_runs),
		exec_test(only_the_system_has_interpreters),
		exec_test(other_languages_have_their_own),
		exec_test(the_first_program_of_a_path),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
