/* SPDX-License-Identifier: MIT */
/*
 * readme.c - README.md in the root: how to use this mount, true for this mount.
 *
 * Owns the page. It is made at lookup from the options and the table of control files, so that
 * it names what is there and nothing else. No lock.
 */
#include "core/ctl.h"
#include "core/enter.h"
#include "core/page.h"
#include "views/views_inner.h"

#include <errno.h>

static void readme_add_tree(struct text *text, const struct front *front)
{
	text_addf(
		text,
		"# ryefs: %s\n\n"
		"This directory is a view of the signed `.ai` items of that project, of your user\n"
		"space and of the installed bundles, merged in this order. Every byte you read here\n"
		"was verified first. An item that is refused is a symbolic link that says why:\n"
		"`ls -l` shows the reason, opening it is \"Permission denied\", for root too.\n\n"
		"**Begin with `index.md`**, the catalogue: every item with one line and its\n"
		"parameters (`index.json`: the same as JSON). Both are not listed and always fresh.\n\n"
		"| path | what |\n|---|---|\n"
		"| `index.md` `index.json` | not listed: the catalogue |\n"
		"| `directives/` `knowledge/` | rendered, without the signature line |\n"
		"| `tools/` | verified source, byte for byte |\n"
		"| `config/` | configuration, merged; what is not signed is shown, and only tools that ask for it read it |\n"
		"| `skills/` | Agent Skills: a directory each, of verified files alone |\n"
		"| `search/WORDS/` | ranked results: `ls 'search/deploy kubernetes'` |\n"
		"| `new/KIND/ID.EXT` | not listed: what an item begins with: `cat new/tool/my/hello.py` |\n"
		"| `state/threads/` | running and finished threads |\n"
		"%s"
		"| `.ryefs/` | not listed: version, stats.json, errors, log, changes, doctor |\n",
		front->opt->source,
		front->opt->spaces == SPACES_NONE ?
			"" :
			"| `spaces/` | not listed: the sources themselves, to be edited |\n");
}

static void add_rows(struct text *text, const struct front *front, bool root)
{
	size_t n;
	const struct ctl *rows = ctl_rows(&n);

	for (size_t i = 0; i < n; i++)
		if (!rows[i].of == root && rows[i].of != RYE_KIND_NONE &&
		    !(rows[i].link && front->opt->spaces == SPACES_NONE))
			text_addf(text, "| `%s` | %s |\n", rows[i].name, rows[i].help);
	text_add(text, "\n");
}

static void readme_add_ctls(struct text *text, const struct front *front)
{
	add_rows(text, front, true);
	text_add(
		text,
		"Beside every item lies its own directory, named like the item without its\n"
		"extension. It is **not listed**, so that `find` and `grep -r` meet every text once,\n"
		"but it is there: of `tools/my/deploy.py`\n\n"
		"    cat tools/my/deploy/schema.json     its parameters\n"
		"    ls tools/my/deploy/                 all of these:\n\n"
		"| file | what |\n|---|---|\n");
	add_rows(text, front, false);
	text_add(
		text,
		"A message is one JSON object, complete with its closing brace however it is cut; or\n"
		"YAML in braces with a newline behind it (`{path: src, force: true}`). Lines of YAML\n"
		"have to come in one write (`cat FILE > run`); a single line runs nothing where others\n"
		"may belong to it. A write of an empty line alone is `{}`. At most 16 MiB. What is left\n"
		"unfinished never runs.\n\n");
}

static void add_running(struct text *text)
{
	text_add(
		text,
		"## Run something, and get your own reply\n\n"
		"```sh\n"
		"echo '{\"command\": \"ls\"}' > tools/rye/bash/run && cat tools/rye/bash/output\n"
		"exec 3<>tools/rye/bash/run; echo '{\"command\": \"ls\"}' >&3; cat <&3\n"
		"```\n\n"
		"The write waits, and succeeds if and only if the run did. By name, `run` and `output`\n"
		"are the last reply to you or a process below you. Several tasks at once: one open is\n"
		"one conversation, so give each its own descriptor, or its own name in `calls/`.\n\n"
		"With file tools alone: write a file, then read a file. NAME is any name you choose\n"
		"(letters, digits, `.`, `_`, `-`), a new one for each task:\n\n"
		"    write  tools/rye/bash/calls/NAME/request.json     {\"command\": \"ls\"}\n"
		"    read   tools/rye/bash/replies/NAME/output         reply.json: the whole reply\n\n"
		"`output` is the text or the data alone; `run` has the chain and the rest.\n\n"
		"Saving is calling: the save fails if the run does, and each save runs once. The\n"
		"reply is not there before the run is over.\n\n");
}

static void add_editing(struct text *text)
{
	text_add(text,
		 "## Change an item\n\n"
		 "Edit the source in `spaces/`, write to `sign`, read `verify`:\n\n"
		 "```sh\n"
		 "$EDITOR spaces/project/knowledge/my/notes.md\n"
		 "echo '{\"item_id\": \"knowledge:my/notes\"}' > sign\n"
		 "cat knowledge/my/notes/verify         # ok …, or why not and what mends it\n"
		 "```\n\n"
		 "With file tools alone `calls/sign/NAME/request.json` is that write.\n"
		 "Until it is signed the item is refused.\n\n");
}

static void add_sandbox(struct text *text, const struct front *front)
{
	text_add(
		text,
		"## In a sandbox\n\n"
		"An agent's shell in a sandbox, or a container, reads everything here, but control\n"
		"files have mode 0000 there. `ryefs execute KIND:ID name=value` runs the same inside,\n"
		"without the mount. This may be a sandbox's working directory: `.git`, `.claude`,\n"
		"`.codex` and other names that sandboxes mount over exist, empty and not listed. One\n"
		"that wants to make yet another name here has to take this directory as read-only\n"
		"(`-o ro`), or one beside it as its working directory.\n\n");
	if (front->opt->spaces != SPACES_NONE)
		text_add(
			text,
			"What lies below `spaces/` is not verified. Agents load CLAUDE.md, GEMINI.md and\n"
			"AGENTS.md from the directories that they edit in: there such a file is whatever\n"
			"somebody has written. `-o spaces=none` leaves `spaces/` out.\n\n");
}

static void add_examples(struct text *text, const struct front *front)
{
	const struct options *opt = front->opt;

	if (opt->engine.no_run || opt->read_only)
		text_add(text, "Nothing can be run through this mount.\n\n");
	else
		add_running(text);
	if (opt->engine.no_sign || opt->read_only)
		text_add(text, "Nothing can be signed through this mount.\n\n");
	else if (opt->spaces == SPACES_RW)
		add_editing(text);
	add_sandbox(text, front);
	text_addf(
		text,
		"`cat 'directives/NAME.md?input=value'` renders with inputs. What went wrong last is\n"
		"in `.ryefs/errors`, what is refused and how to mend it in `.ryefs/doctor`.\n"
		"Coverage is %s%s.\n",
		front->opt->engine.compat ? "compat" : "strict",
		front->opt->engine.dev_mode ? ", and devmode serves what is not signed" : "");
}

int enter_readme(fuse_req_t req, const struct tree_key *key, struct fuse_entry_param *ret)
{
	struct front *front = front_of(req);
	struct content_file what = { .key = key, .mode = 0444, .mtime = front->started };
	struct text text = { 0 };

	readme_add_tree(&text, front);
	readme_add_ctls(&text, front);
	add_examples(&text, front);
	what.blob = text_blob(&text);
	if (!what.blob)
		return ENOMEM;
	return enter_node(front, content_make(front, &what), TIMEOUT_LONG_S, ret);
}
