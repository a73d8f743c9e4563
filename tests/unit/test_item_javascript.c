/* SPDX-License-Identifier: MIT */
/* Metadata of JavaScript and TypeScript files, case T67. */
#include "clock.h"
#include "bounds.h"
#include "parse/parse.h"

#include "rye_json.h"

static void js(const char *text, const char *want)
{
	parses(parse_javascript, text, want);
}

static void names(void **state)
{
	js("export const __version__ = \"1.0.0\";\nlet __category__ = 'a/b'\nvar __x__=`t`\n",
	   "{\"__version__\": \"1.0.0\", \"__category__\": \"a/b\", \"__x__\": \"t\"}");
	js("const version = '1'; const xconst = 1; const __x = '1'; const ____ = '1'\n", "{}");
	js("const __a__ = 'x'; const __a__ = 'y'; const __a__ = null; const __b__ = null\n",
	   "{\"__a__\": \"y\", \"__b__\": null}");
	js("#!/usr/bin/env node\nconst requires = ['fs.write']\n",
	   "{\"requires\": [\"fs.write\"]}");
}

/* T67: a URL inside CONFIG, a typed and a commented declaration. */
static void T67_declarations(void **state)
{
	js("const CONFIG = { url: \"https://x.org/a\", /* c */ n: 1, // d\n };\n",
	   "{\"CONFIG\": {\"url\": \"https://x.org/a\", \"n\": 1}}");
	js("const __version__: string = \"1\";\n"
	   "export const CONFIG_SCHEMA: Record<string, (a: b) => c> = { type: 'object' } as const\n",
	   "{\"__version__\": \"1\", \"CONFIG_SCHEMA\": {\"type\": \"object\"}}");
	js("// const __version__ = \"0.9\";\n", "{\"__version__\": \"0.9\"}");
	js("export const CONFIG_RESOLVE = [{path: 'a.yaml', mode: 'deep_merge'}];\n",
	   "{\"CONFIG_RESOLVE\": [{\"path\": \"a.yaml\", \"mode\": \"deep_merge\"}]}");
}

static void strings(void **state)
{
	js("const __a__ = \"it's \\\"x\\\" \\n \\x41 \\u00e9 \\u{1F600} \\ud83d\\ude00 \\ud83d\"\n",
	   "{\"__a__\": \"it's \\\"x\\\" \\n A \\u00e9 \\ud83d\\ude00 \\ud83d\\ude00 \\ufffd\"}");
	js("const __a__ = `a\nb`; const __b__ = `x${y}`; const __c__ = 'open\n';\n",
	   "{\"__a__\": \"a\\nb\"}");
	js("const __a__ = 'x' + 'y'; const __b__ = 'x'.trim(); const __c__ = f()\n", "{}");
	js("const __a__ = '\\u12'; const __b__ = '\\q\\\nz'\n", "{\"__b__\": \"qz\"}");
}

static void values(void **state)
{
	js("const CONFIG = [1, -2, 1.5, 0x1f, 1_000, 1e3, .5, true, false, null, undefined,]\n",
	   "{\"CONFIG\": [1, -2, 1.5, 31, 1000, 1000.0, 0.5, true, false, null, null]}");
	js("const CONFIG = { a: { 'b-c': [ { } ], 1: 2, $d: 3, }, }\n",
	   "{\"CONFIG\": {\"a\": {\"b-c\": [{}], \"1\": 2, \"$d\": 3}}}");
	js("const CONFIG = { a, b }; const ENV_CONFIG = { ...x }; const CONFIG_SCHEMA = { f() {} };"
	   "const __l__ = [x]; const __n__ = 0x; const __m__ = nan; const __o__ = 1n",
	   "{}");
}

/* A literal that fails must not make the rest be read again and again. */
static void work_is_bounded(void **state)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	struct rye_err err = { 0 };
	int64_t start = clock_own_us();

	for (int i = 0; i < 100000; i++)
		buf_adds(&text, "const __a__ = /*");
	json_decref(parse_javascript(span_of(text.data), &err));
	assert_int_equal(err.code, RYE_UNPARSABLE);
	buf_clear(&text);
	for (int i = 0; i < 100000; i++)
		buf_adds(&text, "const __a__: const x ");
	json_decref(parse_javascript(span_of(text.data), &err));
	buf_clear(&text);
	buf_adds(&text, "const __a__ = ");
	for (int i = 0; i < 1000000; i++)
		buf_addc(&text, '[');
	json_decref(parse_javascript(span_of(text.data), &err));
	assert_true(clock_own_us() - start < 10 * 1000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names),	   cmocka_unit_test(T67_declarations),
		cmocka_unit_test(strings),	   cmocka_unit_test(values),
		cmocka_unit_test(work_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
