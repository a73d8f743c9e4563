/* SPDX-License-Identifier: MIT */
/* Metadata of Python files, cases T66 and 57. */
#include "bounds.h"
#include "parse/parse.h"

#include "rye_json.h"

static void py(const char *text, const char *want)
{
	parses(parse_python, text, want);
}

static void assignments(void **state)
{
	py("__version__ = \"1.0.0\"\nX=1;Y = 'b' ; Z = None\n",
	   "{\"__version__\": \"1.0.0\", \"X\": 1, \"Y\": \"b\", \"Z\": null}");
	py("a = b = 1\na, b = 1, 2\na[0] = 1\na.b = 1\na += 1\na == 1\n", "{}");
	py("T = 1, 'x',\n", "{\"T\": [1, \"x\"]}");
	py("x = \\\n  5\ny = 1 # c\n", "{\"x\": 5, \"y\": 1}");
	py("x = 1\r\ny = '''a\r\nb'''\r\n", "{\"x\": 1, \"y\": \"a\\nb\"}");
	py("import os\nfrom x import (a,\nb)\nz = 1", "{\"z\": 1}");
}

/* T66: annotated, f-string, later expression. */
static void T66_assignments(void **state)
{
	py("x: int = 1\nf = f\"a{1}\"\nv = 'first'\nv = g()\n", "{\"v\": \"first\"}");
	py("v = 1\nv = 2\n", "{\"v\": 2}");
}

/* Case 57: an annotated dunder counts, one inside `if` does not, a broken text says so. */
static void case_57_dunders(void **state)
{
	py("__version__: str = '1'\nCONFIG_SCHEMA: dict[str, \"=\"] = {}\n",
	   "{\"__version__\": \"1\", \"CONFIG_SCHEMA\": {}}");
	py("__version__: Annotated[str, dict(default=\"9\")] = \"1.0.0\"\n"
	   "__a__: f(x=[1], y={'=': 2}) = 3\n__b__: T[a == b]\n",
	   "{\"__version__\": \"1.0.0\", \"__a__\": 3}");
	py("if True:\n    __version__ = '1'\nelse: __a__ = 1; __b__ = 2\n", "{}");
	py("def f():\n  '''doc\n__x__ = 1\n'''\n  __y__ = 1\n__z__ = 1\n", "{\"__z__\": 1}");
	faults(parse_python, "x = (1,\n", "Syntax error: a bracket was never closed", "{}");
	faults(parse_python, "x = 1\ny = 'a\n",
	       "Syntax error: unterminated string literal (line 2)", "{}");
	faults(parse_python, "x = [1)\n", "Syntax error: unmatched bracket (line 1)", "{}");
	faults(parse_python, "\xef\xbb\xbfx = 1\n", "byte order mark", "!");
}

static void strings(void **state)
{
	py("s = 'a' \"b\" r'\\n' u'c'\n", "{\"s\": \"ab\\\\nc\"}");
	py("s = ('a'\n  'b')\n", "{\"s\": \"ab\"}");
	py("s = 'a' 'b' 'c' 'd'\nt = \"\" ''\n", "{\"s\": \"abcd\", \"t\": \"\"}");
	py("s = '\\x41\\u00e9\\U0001F600\\101\\'\\\n'\n", "{\"s\": \"A\\u00e9\\ud83d\\ude00A'\"}");
	py("s = '\\q\\N{BULLET}'\n", "{\"s\": \"\\\\q\\\\N{BULLET}\"}");
	py("s = '\\ud800'\n", "{\"s\": \"\\ufffd\"}");
	py("b = b'\\xff' b'a'\nm = b'a' 'b'\n", "{\"b\": \"\\u00ffa\"}");
	py("s = '''it's \"\" ok'''\n", "{\"s\": \"it's \\\"\\\" ok\"}");
	py("s = 'a' + 'b'\ns2 = 'a'.upper()\ns3 = 'a' % 1\ns4 = x'a'\n", "{}");
}

static void numbers(void **state)
{
	py("a = -1; b = +2; c = 0x_ff; d = 0o17; e = 0b11; f = 1_000\n",
	   "{\"a\": -1, \"b\": 2, \"c\": 255, \"d\": 15, \"e\": 3, \"f\": 1000}");
	py("a = 1.; b = .5; c = 1e3; d = 1E-5; e = -2.5\n",
	   "{\"a\": 1.0, \"b\": 0.5, \"c\": 1000.0, \"d\": 1e-5, \"e\": -2.5}");
	py("a = 1e999; b = 9223372036854775808; c = 2j; d = -1j\n",
	   "{\"a\": \".inf\", \"b\": 9.2233720368547758e18, \"c\": \"2j\", \"d\": \"-1j\"}");
	py("a = 1 + 1; b = 1 if x else 2; c = --1; d = 1.real; e = 12abc\n", "{}");
}

static void containers(void **state)
{
	py("a = [1, 'x', (2,), (3), (), [], {}, {4, 5}, None, True,]\n",
	   "{\"a\": [1, \"x\", [2], 3, [], [], {}, [4, 5], null, true]}");
	py("d = {'a': 1, # c\n  2: 'b', None: 3, True: 4, 1.5: 5, (1, 'x'): 6}\n",
	   "{\"d\": {\"a\": 1, \"2\": \"b\", \"null\": 3, \"true\": 4, \"1.5\": 5, "
	   "\"[1, 'x']\": 6}}");
	py("a = [x]; b = [*c]; d = {**e}; f = {'a': g()}; h = [1 for i in j]; k = (,)\n", "{}");
	py("a = [1,,2]; b = {1: 2, 3}; c = {1, 2: 3}\n", "{}");
}

static void docstrings(void **state)
{
	py("#!/usr/bin/python3\n# c\n\n\"\"\"  Better tools.\n\"\"\"\nx = 1\n",
	   "{\"__docstring__\": \"Better tools.\", \"x\": 1}");
	py("r'a'\n", "{\"__docstring__\": \"a\"}");
	py("b'a'\n", "{}");
	py("x = 1\n'late'\n", "{\"x\": 1}");
	py("'a' % 1\n", "{}");
}

/* Data tables use up their own half of the budget only. */
static void big_tables(void **state)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	struct rye_err err = { 0 };
	json_t *value;

	buf_adds(&text, "T = [");
	for (int i = 0; i < RYE_LITERAL_NODES; i++)
		buf_adds(&text, "0,");
	buf_adds(&text, "]\n__version__ = '1'\n");
	value = parse_python(span_of(text.data), &err);
	assert_int_equal(err.code, RYE_OK);
	same_json(value, "{\"__version__\": \"1\"}");
}

static void nesting(void **state)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;

	buf_adds(&text, "x = ");
	for (int i = 0; i < 100; i++)
		buf_addc(&text, '[');
	for (int i = 0; i < 100; i++)
		buf_addc(&text, ']');
	buf_adds(&text, "\ny = 1\n");
	py(text.data, "{\"y\": 1}");
	buf_clear(&text);
	for (int i = 0; i < 100000; i++)
		buf_addc(&text, '(');
	faults(parse_python, text.data, "too many nested parentheses", "{}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(assignments),	   cmocka_unit_test(T66_assignments),
		cmocka_unit_test(case_57_dunders), cmocka_unit_test(strings),
		cmocka_unit_test(numbers),	   cmocka_unit_test(containers),
		cmocka_unit_test(docstrings),	   cmocka_unit_test(big_tables),
		cmocka_unit_test(nesting),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
