/* SPDX-License-Identifier: MIT */
/*
 * formats.h: the formats of items, one row for each extension of a kind, in the order in which a
 * kind's are looked for. base/id.c makes the extensions of it, engine/parse the styles of header
 * lines and the parsers.
 *
 * ROW(KIND, extension, comment of its header lines, language, function of engine/parse)
 * BARE(KIND, extension, comment): signed, but nothing is read from it
 */
#ifndef RYE_BASE_FORMATS_H
#define RYE_BASE_FORMATS_H

#define DIRECTIVE_FORMATS(ROW, BARE) ROW(DIRECTIVE, ".md", HTML, "markdown_xml", parse_directive)

#define TOOL_FORMATS(ROW, BARE)                                  \
	ROW(TOOL, ".py", HASH, "python", parse_python)           \
	ROW(TOOL, ".yaml", HASH, "yaml", parse_yaml_tool)        \
	ROW(TOOL, ".yml", HASH, "yaml", parse_yaml_tool)         \
	ROW(TOOL, ".js", SLASH, "javascript", parse_javascript)  \
	ROW(TOOL, ".mjs", SLASH, "javascript", parse_javascript) \
	ROW(TOOL, ".cjs", SLASH, "javascript", parse_javascript) \
	ROW(TOOL, ".ts", SLASH, "javascript", parse_javascript)  \
	ROW(TOOL, ".sh", HASH, "shell", parse_shell)             \
	BARE(TOOL, ".json", HASH)                                \
	ROW(TOOL, ".toml", HASH, "toml", parse_toml_tool)        \
	ROW(TOOL, ".pl", HASH, "script", parse_script)           \
	ROW(TOOL, ".rb", HASH, "script", parse_script)           \
	ROW(TOOL, ".awk", HASH, "script", parse_script)          \
	ROW(TOOL, ".tcl", HASH, "script", parse_script)

#define KNOWLEDGE_FORMATS(ROW, BARE)                                           \
	ROW(KNOWLEDGE, ".md", HTML, "markdown_frontmatter", parse_knowledge)   \
	ROW(KNOWLEDGE, ".yaml", HTML, "markdown_frontmatter", parse_knowledge) \
	ROW(KNOWLEDGE, ".yml", HTML, "markdown_frontmatter", parse_knowledge)

#define CONFIG_FORMATS(ROW, BARE)                           \
	ROW(CONFIG, ".yaml", HASH, "yaml", parse_yaml_tool) \
	ROW(CONFIG, ".yml", HASH, "yaml", parse_yaml_tool)  \
	ROW(CONFIG, ".toml", HASH, "toml", parse_toml_tool)

#define SKILL_FORMATS(ROW, BARE) ROW(SKILL, ".yaml", HASH, "yaml", parse_yaml_tool)

#define FORMATS(ROW, BARE)           \
	DIRECTIVE_FORMATS(ROW, BARE) \
	TOOL_FORMATS(ROW, BARE)      \
	KNOWLEDGE_FORMATS(ROW, BARE) \
	CONFIG_FORMATS(ROW, BARE)    \
	SKILL_FORMATS(ROW, BARE)

#endif
