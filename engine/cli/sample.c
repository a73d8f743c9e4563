/* SPDX-License-Identifier: MIT */
/*
 * One small item of every sort, to look at, run and copy: a directive with inputs, a Python
 * tool, a YAML tool over bash, a knowledge entry. Texts only; verb_init.c writes and signs them.
 */
#include "cli/cli.h"

#include "scope.h"

#define DIRECTIVE                                                                              \
	"# Welcome\n"                                                                          \
	"\n"                                                                                   \
	"Greets somebody and tells how big the project is.\n"                                  \
	"\n"                                                                                   \
	"```xml\n"                                                                             \
	"<directive name=\"welcome\" version=\"1.0.0\">\n"                                     \
	"  <metadata>\n"                                                                       \
	"    <description>Greet somebody and count the words of the project's notes."          \
	"</description>\n"                                                                     \
	"    <category>sample</category>\n"                                                    \
	"    <author>ryefs init</author>\n"                                                    \
	"    <permissions>\n"                                                                  \
	"      <execute><tool>sample/*</tool></execute>\n"                                     \
	"      <fetch><knowledge>sample/*</knowledge></fetch>\n"                               \
	"    </permissions>\n"                                                                 \
	"  </metadata>\n"                                                                      \
	"  <inputs>\n"                                                                         \
	"    <input name=\"who\" type=\"string\" default=\"world\">Whom to greet</input>\n"    \
	"    <input name=\"tone\" type=\"string\" default=\"friendly\">How</input>\n"          \
	"  </inputs>\n"                                                                        \
	"  <outputs>\n"                                                                        \
	"    <output name=\"greeting\" type=\"string\">The greeting that was given</output>\n" \
	"  </outputs>\n"                                                                       \
	"</directive>\n"                                                                       \
	"```\n"                                                                                \
	"\n"                                                                                   \
	"1. Read the knowledge entry sample/house-rules.\n"                                    \
	"2. Run the tool sample/count-words on the text \"{input:who}\".\n"                    \
	"3. Greet {input:who} in a {input:tone} tone and mention the number of words.\n"

#define PYTHON_TOOL                                                                         \
	"\"\"\"Count the words of a text.\"\"\"\n"                                          \
	"\n"                                                                                \
	"__version__ = \"1.0.0\"\n"                                                         \
	"__tool_type__ = \"python\"\n"                                                      \
	"__executor_id__ = \"rye/core/runtimes/python/function\"\n"                         \
	"__category__ = \"sample\"\n"                                                       \
	"__tool_description__ = \"Count the words of a text, longest first\"\n"             \
	"\n"                                                                                \
	"CONFIG_SCHEMA = {\n"                                                               \
	"    \"type\": \"object\",\n"                                                       \
	"    \"properties\": {\n"                                                           \
	"        \"text\": {\"type\": \"string\", \"description\": \"Text to count\"},\n"   \
	"        \"top\": {\"type\": \"integer\", \"default\": 3, \"minimum\": 1,\n"        \
	"                \"description\": \"How many of the longest words to name\"},\n"    \
	"    },\n"                                                                          \
	"    \"required\": [\"text\"],\n"                                                   \
	"}\n"                                                                               \
	"\n"                                                                                \
	"\n"                                                                                \
	"def execute(params, project_path):\n"                                              \
	"    words = params[\"text\"].split()\n"                                            \
	"    if not words:\n"                                                               \
	"        return {\"success\": False, \"error\": \"the text holds no word\"}\n"      \
	"    longest = sorted(set(words), key=lambda w: (-len(w), w))[: params[\"top\"]]\n" \
	"    return {\n"                                                                    \
	"        \"success\": True,\n"                                                      \
	"        \"output\": f\"{len(words)} words; longest: {', '.join(longest)}\",\n"     \
	"        \"count\": len(words),\n"                                                  \
	"        \"longest\": longest,\n"                                                   \
	"    }\n"

#define YAML_TOOL                                                                         \
	"# A tool without a program of its own: a script that bash runs.\n"               \
	"# $0 is this file, $1 the project; the parameters are JSON on standard input.\n" \
	"tool_id: largest-files\n"                                                        \
	"tool_type: bash\n"                                                               \
	"version: \"1.0.0\"\n"                                                            \
	"category: sample\n"                                                              \
	"description: List the five largest files of the project.\n"                      \
	"executor_id: rye/core/runtimes/bash/bash\n"                                      \
	"requires: [shell.execute]\n"                                                     \
	"config:\n"                                                                       \
	"  script: |\n"                                                                   \
	"    find \"$1\" -xdev -type f -not -path '*/.git/*' -printf '%s %P\\n' |\n"      \
	"      sort -rn | head -5\n"

#define KNOWLEDGE                                             \
	"# House rules\n"                                     \
	"\n"                                                  \
	"```yaml\n"                                           \
	"name: house-rules\n"                                 \
	"title: House rules\n"                                \
	"version: \"1.0.0\"\n"                                \
	"entry_type: reference\n"                             \
	"category: sample\n"                                  \
	"tags: [sample, style]\n"                             \
	"```\n"                                               \
	"\n"                                                  \
	"- Say what you are going to do before you do it.\n"  \
	"- One change at a time; run the tests after each.\n" \
	"- A file that nobody signed is a file that nobody read.\n"

static const struct sample rows[] = {
	{ "directives/sample/welcome.md", "directive:sample/welcome", DIRECTIVE },
	{ "tools/sample/count-words.py", "tool:sample/count-words", PYTHON_TOOL },
	{ "tools/sample/largest-files.yaml", "tool:sample/largest-files", YAML_TOOL },
	{ "knowledge/sample/house-rules.md", "knowledge:sample/house-rules", KNOWLEDGE },
};

const struct sample *sample_rows(size_t *ret_n)
{
	*ret_n = ARRAY_SIZE(rows);
	return rows;
}
