/* SPDX-License-Identifier: MIT */
/*
 * fetch and sign (cases T88 and T89): both modes' checks, copies between spaces, what children of
 * runs and the nosign option are refused.
 */
#include "exec_tools.h"

static void fetches(struct exec_place *p, const char *json, const char *want)
{
	auto_said struct exec_said said = exec_prim(p, RYE_FETCH, json);

	exec_check(&said, want);
}

static void T88_modes(void **state)
{
	struct exec_place *p = *state;

	fetches(p, "{\"item_id\":\"tool:a\",\"query\":\"x\"}",
		"{\"error\":\"Provide item_id or query, not both\"}");
	fetches(p, "{}", "{\"error\":\"Provide item_id or query+scope\"}");
	fetches(p, "{\"item_id\":\"tool:a\",\"limit\":3}",
		"{\"error\":\"Invalid params for ID mode: limit\"}");
	fetches(p, "{\"query\":\"a\",\"destination\":\"user\"}",
		"{\"error\":\"Invalid params for query mode: destination\"}");
	fetches(p, "{\"query\":\"a\",\"scope\":\"tool\"}",
		"{\"error\":\"search is not available here\"}");
	fetches(p, "{\"item_id\":\"tool:t/none\"}",
		"{\"status\":\"error\",\"error\":\"Item not found: t/none\",\"item_type\":\"tool\","
		"\"item_id\":\"tool:t/none\",\"item_ref\":\"tool:t/none\"}");
	fetches(p, "{\"item_id\":\"tool:t/a\",\"source\":\"moon\"}",
		"{\"error\":\"Unknown source: 'moon'. Must be project, user or system.\"}");
}

static void by_id(void **state)
{
	struct exec_place *p = *state;
	auto_said struct exec_said said = { 0 };
	const char *content;

	exec_function(p, "t/a.py", "return {}");
	said = exec_prim(p, RYE_FETCH, "{\"item_id\":\"tool:t/a\"}");
	exec_check(&said,
		   "{\"status\":\"success\",\"source\":\"project\",\"mode\":\"id\",\"metadata\":"
		   "{\"name\":\"a\",\"extension\":\".py\",\"version\":\"1.0.0\"}}");
	content = json_str(said.reply, "content");
	assert_int_equal(strncmp(content, "# rye:signed:", 13), 0);
	assert_string_equal(said.output, content);
	fetches(p, "{\"item_id\":\"t/a\"}", "{\"status\":\"success\"}");
	fetches(p, "{\"item_type\":\"tool\",\"item_id\":\"t/a\"}", "{\"status\":\"success\"}");
	fetches(p, "{\"item_id\":\"tool:t/a\",\"source\":\"system\"}",
		"{\"error\":\"Item not found: t/a\"}");
	fetches(p, "{\"item_id\":\"tool:rye/bash\"}",
		"{\"source\":\"system\",\"metadata\":{\"canonical_ref\":\"tool:rye/bash/bash\"}}");
	place_text(p->place.project, "tools/t/bad.py", "x = 1\n");
	fetches(p, "{\"item_id\":\"tool:t/bad\"}", "{\"error_type\":\"integrity\"}");
}

static void T89_copies(void **state)
{
	static const char copy[] =
		"{\"item_id\":\"tool:rye/bash/bash\",\"destination\":\"project\"}";
	static const char edited[] = "__category__ = \"rye/bash\"\n# my own words\n";
	struct exec_place *p = *state;
	auto_buf struct rye_buf want = RYE_BUF_INIT;

	fetches(p, "{\"item_id\":\"tool:rye/bash/bash\",\"destination\":\"system\"}",
		"{\"error\":\"~cannot copy from system to system\"}");
	buf_addf(&want,
		 "{\"status\":\"success\",\"source\":\"system\",\"copied_to\":\"project\","
		 "\"destination_path\":\"%s/.ai/tools/rye/bash/bash.py\"}",
		 p->place.project);
	fetches(p, copy, want.data);
	/* the copy verifies where it lies now, and is used from there */
	fetches(p, "{\"item_id\":\"tool:rye/bash/bash\"}",
		"{\"status\":\"success\",\"source\":\"project\"}");
	exec_sign(p->place.project, RYE_TOOL, "rye/bash/bash.py", span_of(edited));
	fetches(p,
		"{\"item_id\":\"tool:rye/bash/bash\",\"source\":\"system\",\"destination\":"
		"\"project\"}",
		"{\"error\":\"~exists already: say \\\"overwrite\\\": true\"}");
	fetches(p, "{\"item_id\":\"tool:rye/bash/bash\"}", "{\"content\":\"~my own words\"}");
	fetches(p, copy, "{\"error\":\"~cannot copy from project to project\"}");
	fetches(p,
		"{\"item_id\":\"tool:rye/bash/bash\",\"source\":\"system\",\"destination\":\"project\","
		"\"overwrite\":true}",
		"{\"status\":\"success\"}");
	fetches(p, "{\"item_id\":\"tool:rye/bash/bash\",\"destination\":\"user\"}",
		"{\"status\":\"success\",\"copied_to\":\"user\"}");
	exec_shell(p, "t/a.yaml", "echo", "");
	exec_sign(p->place.user, RYE_TOOL, "t/a.py", span_of("__category__ = \"t\"\n"));
	fetches(p, "{\"item_id\":\"tool:t/a\",\"source\":\"project\",\"destination\":\"user\"}",
		"{\"error\":\"~the same id with another extension\"}");
}

static void writes_can_be_switched_off(void **state)
{
	struct exec_place *p = *state;

	p->opt.no_sign = true;
	fetches(p, "{\"item_id\":\"tool:rye/bash/bash\",\"destination\":\"user\"}",
		"{\"error\":\"copying is switched off (nosign)\"}");
	{
		auto_said struct exec_said said =
			exec_prim(p, RYE_SIGN, "{\"item_id\":\"tool:t/a\"}");

		exec_check(&said, "{\"error\":\"signing is switched off (nosign)\"}");
		assert_int_equal(said.code, RYE_DENIED);
	}
	p->opt.no_run = true;
	{
		auto_said struct exec_said said = exec_run(p, "rye/bash/bash", "{}");

		exec_check(&said, "{\"error\":\"running is switched off (norun)\"}");
	}
}

static void signs(void **state)
{
	struct exec_place *p = *state;
	struct {
		const char *json, *want;
	} const rows[] = {
		{ "{\"item_id\":\"tool:t/none\"}", "{\"status\":\"error\"}" },
		{ "{\"item_id\":\"t/*\"}", "{\"error\":\"~a pattern needs its kind\"}" },
		{ "{\"item_id\":\"tool:rye/bash/bash\",\"source\":\"system\"}",
		  "{\"status\":\"error\",\"error\":\"~System space items are immutable\"}" },
		{ "{\"item_id\":\"tool:t/a\",\"source\":\"moon\"}",
		  "{\"error\":\"Unknown source: 'moon'. Must be project or user.\"}" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		auto_said struct exec_said said = exec_prim(p, RYE_SIGN, rows[i].json);

		exec_check(&said, rows[i].want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		exec_test(T88_modes),  exec_test(by_id),
		exec_test(T89_copies), exec_test(writes_can_be_switched_off),
		exec_test(signs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
