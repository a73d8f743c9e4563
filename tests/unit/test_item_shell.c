/* SPDX-License-Identifier: MIT */
/* Metadata of shell tools: leading comment lines. */
#include "parse/parse.h"

#include "rye_json.h"

#define BASH "\"executor_id\": \"rye/core/runtimes/bash/bash\""

static void sh(const char *text, const char *want)
{
	parses(parse_shell, text, want);
}

static void assignments(void **state)
{
	sh("#!/bin/bash\n# __version__ = \"1.0.0\"\n#__category__ = 'a/b' # c\n\n"
	   "# __executor_id__ = None\necho\n# __x__ = 1\n",
	   "{\"__version__\": \"1.0.0\", \"__category__\": \"a/b\", \"__executor_id__\": null}");
	sh("# __requires__ = [\n#   \"fs.write\",\n#   'net.http', ]\n# __a__ = 1\n",
	   "{\"__requires__\": [\"fs.write\", \"net.http\"], \"__a__\": 1, " BASH "}");
	sh("# __a__ = f()\n# __b__ == 1\n# x = 1\n# __c__ = 1 2\n", "{" BASH "}");
	faults(parse_shell, "# __a__ = 'open\n# __b__ = 1\n", "unterminated string", "{" BASH "}");
}

static void yaml_keys(void **state)
{
	sh("#!/bin/sh\n# version: 1.0.0\n# description: Says hi: there\n# requires: [a.b]\n",
	   "{\"version\": \"1.0.0\", \"requires\": [\"a.b\"], " BASH "}");
	sh("# description: \"Says: hi\"\n# Usage: x\n# note: y\n# timeout: 5\n",
	   "{\"description\": \"Says: hi\", \"timeout\": 5, " BASH "}");
	sh("# executor_id: my/runtime\n# parameters:\n#   - name: n\n#     type: integer\n"
	   "# requires:\n# - a\n# - b\n# tags: []\n",
	   "{\"executor_id\": \"my/runtime\", \"parameters\": [{\"name\": \"n\", \"type\": "
	   "\"integer\"}], \"requires\": [\"a\", \"b\"], \"tags\": []}");
}

static void other_languages(void **state)
{
	parses(parse_script,
	       "#!/usr/bin/awk -f\n# version: 1.0.0\n# frozen_string_literal: true\n{ print }\n",
	       "{\"version\": \"1.0.0\", \"executor_id\": \"rye/core/runtimes/script/script\"}");
	parses(parse_script, "# __executor_id__ = 'my/runtime'\n",
	       "{\"__executor_id__\": \"my/runtime\"}");
}

static void none(void **state)
{
	sh("", "{" BASH "}");
	sh("echo '# __version__ = 1'\n# version: 2\n", "{" BASH "}");
	sh("#!/bin/bash\r\n# version: 1.0.0\r\n", "{\"version\": \"1.0.0\", " BASH "}");
	faults(parse_shell, "# \xff", "Not valid UTF-8", "!");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(assignments),
		cmocka_unit_test(yaml_keys),
		cmocka_unit_test(other_languages),
		cmocka_unit_test(none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
