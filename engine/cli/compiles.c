/* SPDX-License-Identifier: MIT */
/*
 * Do Python tools compile? Signing asks no interpreter, so a tool with a wrong colon would be signed and
 * fail at its first call. An interpreter looks at two thousand files at a time, compiles and runs none of
 * them; without one nothing is said.
 */
#include "cli/cli.h"

#include "base/json.h"
#include "scope.h"
#include "str.h"

#include <string.h>

#define FILES_MAX 2000 /* words of a command line */

static const char program[] =
	"import json, sys\n"
	"for path in sys.argv[1:]:\n"
	"    try:\n"
	"        with open(path, 'rb') as stream:\n"
	"            compile(stream.read(), path, 'exec', dont_inherit=True)\n"
	"    except (SyntaxError, ValueError) as error:\n"
	"        line = getattr(error, 'lineno', 1) or 1\n"
	"        print(json.dumps([path, line, str(getattr(error, 'msg', error))]))\n"
	"    except Exception:\n"
	"        pass\n";

static void compiles_tell(struct rye_span line, compiles_fn fn, void *arg)
{
	auto_json json_t *row = json_parse(line, JSON_LOAD_ANY, "python3", NULL);
	const char *path = json_string_value(json_array_get(row, 0));
	const char *what = json_string_value(json_array_get(row, 2));

	if (path && what)
		fn(arg, path, (long)json_integer_value(json_array_get(row, 1)), what);
}

/* Those from `from` on for which there is room in one command line. */
static void compiles_some(const json_t *paths, size_t from, compiles_fn fn, void *arg)
{
	const char *argv[FILES_MAX + 6] = { "python3", "-I", "-S", "-c", program };
	auto_buf struct rye_buf said = RYE_BUF_INIT;
	struct rye_span rest, line;
	size_t n = MIN_OF(json_array_size(paths) - from, (size_t)FILES_MAX);

	for (size_t i = 0; i < n; i++)
		argv[5 + i] = json_string_value(json_array_get(paths, from + i));
	if (outside_read(argv, &said) || !said.len)
		return;
	rest = (struct rye_span){ said.data, said.len };
	while (span_line(&rest, &line))
		compiles_tell(line, fn, arg);
}

void compiles_check(const json_t *paths, compiles_fn fn, void *arg)
{
	for (size_t from = 0; from < json_array_size(paths); from += FILES_MAX)
		compiles_some(paths, from, fn, arg);
}
