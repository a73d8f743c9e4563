/* SPDX-License-Identifier: MIT */
#pragma once
/* exec_tools.h - signed tools as the conformance cases want them, and checking replies. */
#include "exec_ask.h"

/*
 * Every member of want is in got with that value. A text "~x" wants x somewhere inside, "^x" at
 * the beginning; a member "=name" of want is exactly that value, "!name" must not be there.
 */
static inline bool exec_fits(const json_t *got, const json_t *want)
{
	const char *key, *text = json_string_value(want), *said = json_string_value(got);
	json_t *value;

	if (text && *text == '~')
		return said && strstr(said, text + 1);
	if (text && *text == '^')
		return said && !strncmp(said, text + 1, strlen(text + 1));
	if (!json_is_object(want))
		return json_equal(got, want);
	json_object_foreach((json_t *)want, key, value) {
		const char mark = *key == '=' || *key == '!' ? *key : 0;
		const json_t *member = json_object_get(got, key + !!mark);

		if (mark == '!' ? !!member :
		    mark	? !json_equal(member, value) :
				  !exec_fits(member, value))
			return false;
	}
	return json_is_object(got);
}

static inline void exec_check(const struct exec_said *said, const char *want)
{
	auto_json json_t *wanted = json_loads(want, JSON_ALLOW_NUL, NULL);

	if (!wanted)
		fail_msg("not JSON: %s", want);
	if (!exec_fits(said->reply, wanted)) {
		auto_buf struct rye_buf text = RYE_BUF_INIT;

		json_put(&text, said->reply, false);
		fail_msg("wanted %s, got %.4000s", want, text.data);
	}
}

/* Running the project's tool t/a with these parameters gives a reply that fits. */
static inline void exec_wants(struct exec_place *p, const char *json, const char *want)
{
	auto_said struct exec_said said = exec_run(p, "t/a", json);

	exec_check(&said, want);
}

/* ---- the tools of the conformance cases ---- */

static inline void exec_python(struct exec_place *p, const char *file, const char *runtime,
			       const char *body)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	const char *slash = strrchr(file, '/');

	buf_addf(&text,
		 "__version__ = \"1.0.0\"\n__tool_type__ = \"python\"\n"
		 "__executor_id__ = \"rye/core/runtimes/python/%s\"\n"
		 "__category__ = \"%.*s\"\n__tool_description__ = \"a test\"\n\n%s",
		 runtime, (int)(slash ? slash - file : 0), file, body);
	exec_sign(p->place.project, RYE_TOOL, file, (struct rye_span){ text.data, text.len });
}

/* execute(p, q) whose body is `body`, one or more lines. */
static inline void exec_function(struct exec_place *p, const char *file, const char *body)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;

	buf_adds(&text, "def execute(p, q):\n");
	for (const char *line = body; *line;) {
		size_t n = strcspn(line, "\n");

		buf_addf(&text, "    %.*s\n", (int)n, line);
		line += n + (line[n] == '\n');
	}
	exec_python(p, file, "function", text.data);
}

/* A YAML tool; `more` is YAML text that follows the metadata. */
static inline void exec_yaml(struct exec_place *p, const char *file, const char *executor,
			     const char *more)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	const char *slash = strrchr(file, '/');

	buf_addf(&text,
		 "tool_type: script\nversion: \"1.0.0\"\nexecutor_id: %s\n"
		 "category: %.*s\ndescription: a test\n%s",
		 executor, (int)(slash ? slash - file : 0), file, more);
	exec_sign(p->place.project, RYE_TOOL, file, (struct rye_span){ text.data, text.len });
}

/* /bin/sh -c script through the primitive; `config`: more lines of config, indented by two. */
static inline void exec_shell(struct exec_place *p, const char *file, const char *script,
			      const char *config)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	auto_json json_t *quoted = json_string(script);

	buf_adds(&text, "config:\n  command: /bin/sh\n  args: [\"-c\", ");
	json_put(&text, quoted, false);
	buf_addf(&text, "]\n%s", config);
	exec_yaml(p, file, "rye/core/primitives/execute", text.data);
}

/* ---- places where calls are answered by what was started before them ---- */

/* Was the call answered so? said is of a call with "trace": true. */
static inline bool exec_was_warm(const struct exec_said *said)
{
	return said->trace && strstr(said->trace, "\"warm\": true");
}

static inline void exec_until_warm(struct exec_place *p, const char *id)
{
	for (int i = 0; i < 100; i++) {
		auto_said struct exec_said said = exec_run(p, id, "{\"trace\":true}");

		assert_int_equal(said.code, RYE_OK);
		if (exec_was_warm(&said))
			return;
		usleep(10000);
	}
	fail_msg("%s: not warm after 100 calls", id);
}

static inline int exec_spare_setup(void **state)
{
	struct exec_place *p = test_calloc(1, sizeof(*p));

	exec_place_make(p);
	p->opt.scan = true;
	exec_place_open(p);
	exec_shell(p, "t/up.yaml", "exit 0", "");
	exec_until_warm(p, "t/up");
	*state = p;
	return 0;
}

/* With a program started for the call, and in a process that waits for it. */
#define exec_both(name) \
	exec_test(name), cmocka_unit_test_setup_teardown(name, exec_spare_setup, exec_teardown)
