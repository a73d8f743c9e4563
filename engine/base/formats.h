/* SPDX-License-Identifier: MIT */
/*
 * formats.h: what signed items are written in. One row for each extension of a kind, in the order in which
 * a kind's are looked for: base/id.c makes the extensions of it, engine/parse the styles of header lines
 * and the parsers. Then the words of a tool that mean something here.
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

/*
 * ROW(tool_type, trait). ALONE: other tools run through it, or it does not run at all, so it needs no
 * executor. FOREIGN: nor does it where other software's bundles have it, mostly as configuration that
 * other tools read, as every type that ends in "_provider". RUN: it is run through its executor.
 */
#define TOOL_TYPES(ROW)               \
	ROW("primitive", ALONE)       \
	ROW("runtime", ALONE)         \
	ROW("library", ALONE)         \
	ROW("mcp_server", ALONE)      \
	ROW("config", FOREIGN)        \
	ROW("config-schema", FOREIGN) \
	ROW("configuration", FOREIGN) \
	ROW("extractor", FOREIGN)     \
	ROW("http", FOREIGN)          \
	ROW("parser", FOREIGN)        \
	ROW("provider", FOREIGN)      \
	ROW("sink", FOREIGN)          \
	ROW("bash", RUN)              \
	ROW("graph", RUN)             \
	ROW("javascript", RUN)        \
	ROW("mcp", RUN)               \
	ROW("python", RUN)            \
	ROW("script", RUN)            \
	ROW("typescript", RUN)

/*
 * ROW(capability, what it opens to the tool that requires it: bits of plan/plan.c). Beside these there are
 * rye.*, for calls, and net.*, of which every name opens the network. A capability that opens nothing is
 * read by what calls tools. OPENS_KEYS: no pattern names it.
 */
#define CAPABILITIES(ROW)                               \
	ROW("fs.read", 0)                               \
	ROW("fs.write", OPENS_WRITE)                    \
	ROW("net.http", 0)                              \
	ROW("git.config", OPENS_GIT)                    \
	ROW("env.read", OPENS_ENV)                      \
	ROW("threads.read", OPENS_STATE)                \
	ROW("keys.manage", OPENS_KEYS)                  \
	ROW("secrets.manage", OPENS_KEYS)               \
	ROW("threads.manage", OPENS_KEYS | OPENS_STATE) \
	ROW("shell.execute", 0)

#endif
