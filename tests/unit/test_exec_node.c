/* SPDX-License-Identifier: MIT */
/*
 * Tools that Node runs, each case twice: with a process started for the call, and with one that
 * was started before; what a tool sees must be the same.
 */
#include "rye_test.h"

#include "exec_tools.h"

#include <signal.h>

#define HEAD \
	"const __executor_id__ = \"rye/core/runtimes/node/node\";\nconst __category__ = \"t\";\n"

static void put(struct exec_place *p, const char *file, const char *text)
{
	auto_buf struct rye_buf all = RYE_BUF_INIT;

	buf_addf(&all, HEAD "%s", text);
	exec_sign(p->place.project, RYE_TOOL, file, (struct rye_span){ all.data, all.len });
}

static bool is_there(void)
{
	return access("/usr/bin/node", X_OK) == 0 || access("/usr/local/bin/node", X_OK) == 0;
}

static int warm_setup(void **state)
{
	struct exec_place *p = test_calloc(1, sizeof(*p));

	exec_place_make(p);
	p->opt.scan = true;
	exec_place_open(p);
	*state = p;
	if (!is_there())
		return 0;
	put(p, "t/a.mjs", "export default () => ({ success: true });\n");
	exec_until_warm(p, "t/a");
	return 0;
}

/* In a place where processes wait, one of them has to answer. */
static void node_wants(struct exec_place *p, const char *json, const char *want)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	auto_said struct exec_said said = { 0 };

	buf_addf(&text, "%.*s%s\"trace\":true}", (int)strlen(json) - 1, json,
		 json[1] == '}' ? "" : ",");
	for (int i = 0; i < 100; i++) {
		exec_said_done(&said);
		said = exec_run(p, "t/a", text.data);
		exec_check(&said, want);
		if (!p->opt.scan || exec_was_warm(&said))
			return;
		usleep(20000);
	}
	fail_msg("not warm after 100 calls");
}

static void functions_and_programs(void **state)
{
	struct exec_place *p = *state;
	auto_buf struct rye_buf want = RYE_BUF_INIT;

	if (!is_there())
		test_skip("no node");
	put(p, "t/a.mjs",
	    "import { basename } from 'node:path';\n"
	    "export default async (p, q) => ({ p, q, cwd: process.cwd(), argv: process.argv.slice(1),"
	    " env: process.env.RYE_PARAMS, fd: process.env.RYE_TOOL_FD ?? null,"
	    " run: /^\\d+\\.[1-9]/.test(process.env.RYE_RUN), url: basename(import.meta.url) });\n");
	buf_addf(
		&want,
		"{\"status\":\"success\",\"data\":{\"p\":{\"x\":\"é\"},\"q\":\"%s\",\"cwd\":\"%s\","
		"\"argv\":[\"%s/.ai/tools/t/a.mjs\"],\"env\":\"^{\\\"x\\\": \",\"=fd\":null,"
		"\"run\":true,\"url\":\"a.mjs\"}}",
		p->place.project, p->place.project, p->place.project);
	node_wants(p, "{\"x\":\"é\"}", want.data);
	put(p, "t/a.mjs",
	    "let s = ''; process.stdin.on('data', (d) => { s += d }).on('end', () =>"
	    " console.log(JSON.stringify({ s, argv: process.argv.slice(2, 3) })));\n");
	node_wants(p, "{\"a\":1}",
		   "{\"data\":{\"s\":\"{\\\"a\\\": 1}\",\"argv\":[\"--project-path\"]}}");
}

static void faults(void **state)
{
	struct exec_place *p = *state;

	if (!is_there())
		test_skip("no node");
	put(p, "t/a.mjs", "export default () => { throw new Error('no luck') };\n");
	node_wants(p, "{}", "{\"status\":\"error\",\"error\":\"~Error: no luck\"}");
	put(p, "t/a.mjs", "export default () => process.exit(3);\n");
	node_wants(p, "{}", "{\"status\":\"error\",\"data\":{\"return_code\":3}}");
	put(p, "t/a.mjs", "export default () => process.kill(process.pid, 'SIGKILL');\n");
	node_wants(p, "{}", "{\"status\":\"error\"}");
	put(p, "t/a.mjs", "export default () => { for (;;); };\n");
	node_wants(p, "{\"timeout\":1}", "{\"status\":\"error\",\"error\":\"~timed out\"}");
	put(p, "t/a.mjs", "export default () => ({ success: true });\n");
	node_wants(p, "{}", "{\"status\":\"success\"}");
}

static void nothing_stays_behind(void **state)
{
	static const char tool[] =
		"import fs from 'node:fs';\nimport { execFileSync } from 'node:child_process';\n"
		"export default () => {\n"
		"  const mark = process.env.TMPDIR + '/x', old = globalThis.left ?? fs.existsSync(mark);\n"
		"  const seen = execFileSync('/bin/ls', ['-l', '/proc/self/fd']).toString();\n"
		"  globalThis.left = true;\n"
		"  fs.writeFileSync(mark, '');\n"
		"  return { old, socket: seen.includes('3 -> socket') };\n};\n";
	struct exec_place *p = *state;

	if (!is_there())
		test_skip("no node");
	put(p, "t/a.mjs", tool);
	for (int i = 0; i < 4; i++)
		node_wants(p, "{}", "{\"data\":{\"old\":false,\"socket\":false}}");
}

/* What an exit does is done before the answer, and what the call left running goes on. */
static void exits(void **state)
{
	struct exec_place *p = *state;

	if (!is_there())
		test_skip("no node");
	put(p, "t/a.mjs",
	    "export default () => { process.on('exit', () => { console.log('bye'); process.exitCode = 5; });"
	    " return { success: true }; };\n");
	node_wants(p, "{}",
		   "{\"status\":\"error\",\"data\":{\"return_code\":5,\"stdout\":\"~bye\"}}");
	put(p, "t/a.mjs",
	    "import { spawn } from 'node:child_process';\n"
	    "export default () => { const c = spawn('sleep', ['2'], { stdio: 'ignore' }); c.unref();"
	    " return { success: true, pid: c.pid }; };\n");
	{
		auto_said struct exec_said said = exec_run(p, "t/a", "{}");
		pid_t pid = (pid_t)json_int(json_object_get(said.reply, "data"), "pid", 0);

		exec_check(&said,
			   "{\"status\":\"success\",\"metadata\":{\"background_children\":1}}");
		usleep(200000); /* nothing ends it meanwhile */
		assert_int_equal(kill(pid, 0), 0);
	}
	put(p, "t/a.mjs", "export default () => ({ success: true });\n");
	{
		auto_said struct exec_said said = exec_run(p, "t/a", "{}");

		exec_check(&said, "{\"metadata\":{\"!background_children\":1}}");
	}
}

static void case_112_configuration_of_a_script(void **state)
{
	struct exec_place *p = *state;

	if (!is_there())
		test_skip("no node");
	place_text(p->place.user, "config/web/z.yaml", "a: {b: 1, c: 2}\n");
	place_text(p->place.project, "config/web/z.yaml", "a: {b: 3}\n");
	put(p, "t/a.mjs",
	    "export const CONFIG_RESOLVE = { path: 'web/z.yaml', mode: 'deep_merge' };\n"
	    "export default (p) => ({ success: true, got: p.resolved_config });\n");
	node_wants(p, "{}", "{\"data\":{\"=got\":{\"a\":{\"b\":3,\"c\":2}}}}");
}

/* What is too long for its socket, and what has died meanwhile, goes to a new process. */
static void otherwise_a_new_process(void **state)
{
	struct exec_place *p = *state;
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	auto_said struct exec_said said = { 0 };

	if (!is_there())
		test_skip("no node");
	buf_adds(&text, "export default () => ({ success: true });\n//");
	for (int i = 0; i < 20000; i++)
		buf_adds(&text, " 0123456789");
	put(p, "t/a.mjs", text.data);
	said = exec_run(p, "t/a", "{\"trace\":true}");
	exec_check(&said, "{\"status\":\"success\"}");
	assert_false(exec_was_warm(&said));
}

#define both(name) exec_test(name), cmocka_unit_test_setup_teardown(name, warm_setup, exec_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		both(functions_and_programs),  both(faults),
		both(nothing_stays_behind),    both(case_112_configuration_of_a_script),
		both(otherwise_a_new_process), both(exits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
