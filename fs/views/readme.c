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
		"`ls -l` shows the reason, opening it fails.\n\n"
		"| path | what |\n|---|---|\n"
		"| `directives/` `knowledge/` | rendered, without the signature line |\n"
		"| `tools/` | verified source, byte for byte |\n"
		"| `config/` | configuration, merged and verified |\n"
		"| `search/WORDS/` | ranked results: `ls 'search/deploy kubernetes'` |\n"
		"| `state/threads/` | running and finished threads |\n"
		"| `spaces/` | not listed: the sources themselves, to be edited |\n"
		"| `.ryefs/` | not listed: version, stats.json, errors, log, doctor |\n",
		front->opt->source);
}

static void add_rows(struct text *text, bool root)
{
	size_t n;
	const struct ctl *rows = ctl_rows(&n);

	for (size_t i = 0; i < n; i++)
		if (!rows[i].of == root)
			text_addf(text, "| `%s` | %s |\n", rows[i].name, rows[i].help);
	text_add(text, "\n");
}

static void readme_add_ctls(struct text *text)
{
	add_rows(text, true);
	text_add(text, "Beside every item lies its own directory, named like the item without its\n"
		       "extension:\n\n| file | what |\n|---|---|\n");
	add_rows(text, false);
	text_add(
		text,
		"A message is one JSON object, complete with its closing brace however it is cut; or\n"
		"YAML: all the lines of one write, which ends with a newline, are one mapping\n"
		"(`command: ls -la`, or several lines through `| cat > run` or from a file; bash's own\n"
		"echo and printf write line by line, and each line is a message). A write of an empty\n"
		"line alone is `{}`. At most 16 MiB. What is left unfinished never runs.\n\n");
}

static void add_examples(struct text *text, const struct front *front)
{
	if (front->opt->engine.no_run || front->opt->read_only)
		text_add(text, "Nothing can be run through this mount.\n\n");
	else
		text_add(
			text,
			"```sh\n"
			"echo '{\"command\": \"ls\"}' > tools/rye/bash/run && cat tools/rye/bash/output\n"
			"exec 3<>tools/rye/bash/run; echo '{\"command\": \"ls\"}' >&3; cat <&3\n"
			"```\n\n"
			"The write succeeds if and only if the run did. One open is one conversation.\n");
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
	readme_add_ctls(&text);
	add_examples(&text, front);
	what.blob = text_blob(&text);
	if (!what.blob)
		return ENOMEM;
	return enter_node(front, content_make(front, &what), TIMEOUT_LONG_S, ret);
}
