/* SPDX-License-Identifier: MIT */
/*
 * ryefs new: a small item that works, signed, with comments that teach its fields. The text is a row of
 * skeleton.c; it is checked before anything is written, and what is written is signed already. Asks on a
 * terminal for what was not said.
 */
#include "cli/author/author.h"

#include "base/id.h"
#include "base/io.h"
#include "bounds.h"
#include "near.h"
#include "scope.h"
#include "str.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

struct new_wish {
	struct cli *cli;
	char kind[32];
	const struct skeleton *row; /* the first of its kind and language */
	char id[REF_MAX]; /* as it was typed, without kind and end */
	bool asked; /* a person was asked for something */
	enum rye_space space;
	json_t *made; /* {ref, path}, with text where it is only shown */
};

/* ---- what is wanted ---- */

/* What is mistyped at a question is asked for again, so often. */
#define ASKED_AGAIN 3

/* A line from the terminal, without blanks around it. False: nothing was typed, or there is none. */
static bool new_ask(struct new_wish *wish, const char *prompt, char *ret, size_t size)
{
	char line[REF_MAX];
	struct rye_span text;

	if (!isatty(STDIN_FILENO))
		return false;
	wish->asked = true;
	fprintf(stderr, "%s: ", prompt);
	if (!fgets(line, sizeof(line), stdin)) {
		putc('\n', stderr);
		return false;
	}
	text = span_trim(span_of(line));
	snprintf(ret, size, "%.*s", (int)text.len, text.ptr);
	return text.len > 0;
}

static int new_no_kind(struct cli *cli, const char *word)
{
	auto_free char *kinds = skeleton_kinds(), *what = NULL;
	const struct skeleton *rows;
	struct near_word near;
	size_t n;

	if (!kinds)
		return CLI_FAILED;
	if (!word)
		return cli_complain(cli, CLI_USAGE, "ryefs new tool my/hello",
				    "wanted: ryefs new KIND ID, where KIND is %s", kinds);
	near_start(&near, word);
	rows = skeleton_rows(&n);
	for (size_t i = 0; i < n; i++)
		near_offer(&near, rows[i].kind, rows[i].kind);
	if (near.best && cli->argc && cli->argv[0] == word &&
	    asprintf(&what, "\"%s\" is nothing that can be made", word) >= 0)
		return cli_misspelt(cli, word, near.best, what);
	return cli_complain(cli, CLI_USAGE, "ryefs new tool my/hello",
			    "\"%s\" is nothing that can be made: wanted %s", word, kinds);
}

/* "tools" and "tool:my/hello" say tool; the id in the same word is the operand's. */
static int new_read_kind(struct new_wish *wish)
{
	struct cli *cli = wish->cli;
	const char *word = cli->argc ? cli->argv[0] : NULL, *id = NULL;
	auto_free char *kinds = skeleton_kinds(), *prompt = NULL;
	enum rye_kind kind = word ? id_kind(word, &id) : RYE_KIND__MAX;

	if (kind != RYE_KIND__MAX && cli->argc == 1)
		snprintf(wish->kind, sizeof(wish->kind), "%s", rye_kind_name(kind));
	else if (word)
		snprintf(wish->kind, sizeof(wish->kind), "%s", word);
	else if (!kinds || asprintf(&prompt, "kind (%s)", kinds) < 0 ||
		 !new_ask(wish, prompt, wish->kind, sizeof(wish->kind)))
		return new_no_kind(cli, NULL);
	/* an answer may be mistyped */
	for (int i = 0; !word && i < ASKED_AGAIN && !skeleton_find(wish->kind, NULL); i++) {
		new_no_kind(cli, wish->kind);
		if (!new_ask(wish, prompt, wish->kind, sizeof(wish->kind)))
			return CLI_USAGE;
	}
	if (!skeleton_find(wish->kind, NULL))
		return new_no_kind(cli, word ? word : wish->kind);
	return CLI_OK;
}

static int new_read_id(struct new_wish *wish, const char **ret_ext)
{
	struct cli *cli = wish->cli;
	const struct skeleton *row = skeleton_find(wish->kind, NULL);
	bool one = cli->argc == 1 && strchr(cli->argv[0], ':');
	const char *id, *word = cli->argc > 1 ? cli->argv[1] : one ? cli->argv[0] : NULL;
	auto_free char *mend = NULL;
	char typed[REF_MAX], ref[REF_MAX];
	enum rye_kind kind;

	cli->operand = cli->argc - 1;
	if (!word && new_ask(wish, "ID, as my/hello", typed, sizeof(typed)))
		word = typed;
	if (!word) {
		mend = mend_with("ryefs new %s %s", wish->kind,
				 strcmp(wish->kind, "mcp") && strcmp(wish->kind, "skill") ?
					 "my/hello" :
					 "hello");
		return cli_complain(cli, CLI_USAGE, mend, "wanted: ryefs new %s ID", wish->kind);
	}
	/* ".ai/tools/my/hello.py" says it all */
	ref_from_word(cli, word, ref);
	kind = id_kind(ref, &id);
	if (kind != RYE_KIND__MAX && kind != row->item) {
		mend = mend_with("ryefs new %s %s", rye_kind_name(kind), id);
		return cli_complain(cli, CLI_USAGE, mend, "%s is no name of a %s", word,
				    rye_kind_name(row->item));
	}
	*ret_ext = kind_extension_of(row->item, word);
	snprintf(wish->id, sizeof(wish->id), "%s", kind == RYE_KIND__MAX ? ref : id);
	if (kind_extension_of(row->item, wish->id))
		wish->id[strlen(wish->id) - strlen(*ret_ext)] = 0;
	return CLI_OK;
}

static int new_read_lang(struct new_wish *wish, const char *ext)
{
	struct cli *cli = wish->cli;
	const char *lang = cli->opt.lang ? cli->opt.lang : ext;
	auto_free char *langs = skeleton_langs(wish->kind), *prompt = NULL, *mend = NULL;
	char typed[32];

	wish->row = skeleton_find(wish->kind, NULL);
	if (!lang && wish->asked && langs && strstr(langs, " or ") &&
	    asprintf(&prompt, "language (%s; Enter: %s)", langs, wish->row->lang) >= 0 &&
	    new_ask(wish, prompt, typed, sizeof(typed)))
		lang = typed;
	if (lang)
		wish->row = skeleton_find(wish->kind, lang);
	if (wish->row)
		return CLI_OK;
	mend = mend_with("ryefs new %s %s --lang %s", wish->kind, wish->id,
			 skeleton_find(wish->kind, NULL)->lang);
	return cli_complain(cli, CLI_USAGE, mend, "a %s can be begun in %s, not in \"%s\"",
			    wish->kind, langs ? langs : "", lang);
}

/* The id again, put right. */
static int new_other_id(struct new_wish *wish, const char *id, const char *why)
{
	auto_free char *mend =
		mend_with(wish->cli->opt.lang ? "ryefs new %s %s --lang %s" : "ryefs new %s %s",
			  wish->kind, id, wish->cli->opt.lang);

	return cli_complain(wish->cli, CLI_USAGE, mend, "%s", why);
}

/* What cannot be the name of a new one, though signing might let it pass. */
static int new_check_id(struct new_wish *wish)
{
	auto_free char *fit = skeleton_id(wish->row, wish->id), *why = NULL;
	struct rye_err err = { 0 };

	if (fit && !strcmp(fit, wish->id) && id_check(span_of(fit), &err) == 0)
		return CLI_OK;
	if (fit && strlen(fit) > 200)
		return new_other_id(wish, "my/hello", "the ID is too long");
	if (asprintf(&why, "\"%s\" is no good name here: %s", wish->id,
		     skeleton_wanted(wish->row)) < 0)
		return CLI_FAILED;
	return new_other_id(wish, fit ? fit : "hello", why);
}

static int new_read_space(struct new_wish *wish)
{
	const char *space = wish->cli->opt.space ? wish->cli->opt.space : "project";

	wish->space = strcmp(space, "user") ? RYE_PROJECT : RYE_USER;
	if (strcmp(space, "user") && strcmp(space, "project"))
		return cli_misuse(wish->cli, "--space %s: wanted project or user", space);
	return CLI_OK;
}

/* ---- one file ---- */

struct new_file {
	const struct skeleton *row;
	char *id, *text, *below; /* below .ai */
	char ref[REF_MAX];
	bool there; /* a call that was killed has made it, word for word */
};

static void new_file_done(struct new_file *file)
{
	free(file->id);
	free(file->text);
	free(file->below);
}

static const char *new_space_name(const struct new_wish *wish)
{
	return wish->space == RYE_USER ? "user" : "project";
}

static void new_space_info(const struct new_wish *wish, struct rye_space_info *ret)
{
	int n = rye_space_count(wish->cli->rye);

	for (int i = 0; i < n; i++) {
		rye_space_get(wish->cli->rye, i, ret);
		if (ret->type == wish->space)
			return;
	}
	*ret = (struct rye_space_info){ .root = "", .fd = -1 };
}

/* The file of a new item, absolute; to free. */
static char *new_path(const struct new_wish *wish, const struct new_file *file)
{
	struct rye_space_info info;
	char *path = NULL;

	new_space_info(wish, &info);
	return asprintf(&path, "%s/.ai/%s", info.root, file->below) < 0 ? NULL : path;
}

/* path: of another end, or NULL */
static int new_exists(const struct new_wish *wish, const struct new_file *file, const char *path)
{
	auto_free char *own = new_path(wish, file);
	bool user = wish->space == RYE_USER;
	auto_free char *mend = NULL;
	const char *id;

	/* of a skill the folder is what there is to edit */
	if (rye_kind_has(id_split(file->ref, &id), RYE_KIND_MANIFEST))
		mend = mend_with(user ? "${EDITOR:-vi} %s && ryefs skill add --space user %s" :
					"${EDITOR:-vi} %s && ryefs skill add %s",
				 own ? own : "", id);
	else
		mend = mend_with(user ? "ryefs edit --space user %s" : "ryefs edit %s", file->ref);
	return cli_complain(wish->cli, CLI_USAGE, mend, "%s is there already: %s", file->ref,
			    path ? path :
			    own	 ? own :
				   "");
}

/* Is the file at path what this very row makes? */
static bool new_is_same(const struct new_wish *wish, const struct new_file *file)
{
	auto_blob struct rye_blob *now = NULL, *bare = NULL;
	struct rye_space_info info;

	new_space_info(wish, &info);
	if (info.fd < 0 || io_read_at(info.fd, file->below, RYE_ITEM_MAX, &now) < 0)
		return false;
	bare = rye_bare(file->row->item, file->row->ext, (struct rye_span){ now->data, now->len });
	return bare && !strcmp(bare->data, file->text);
}

/* Of any end: what is there in this space stays. */
static int new_look(struct new_wish *wish, struct new_file *file)
{
	auto_json json_t *rows = ref_verdicts(wish->cli, file->ref, NULL);
	const json_t *row = json_find(rows, "space", new_space_name(wish));

	file->there = row && new_is_same(wish, file);
	return row && !file->there ? new_exists(wish, file, json_str(row, "path")) : CLI_OK;
}

/* In another space it is hidden, or hides. */
static void new_note_hidden(const struct new_wish *wish, const struct new_file *file)
{
	auto_json json_t *rows = ref_verdicts(wish->cli, file->ref, NULL);
	const json_t *row;
	size_t i;

	json_array_foreach(rows, i, row)
		if (strcmp(json_str(row, "space"), new_space_name(wish)) != 0)
			note_hidden(wish->cli, file->ref, json_str(row, "space"),
				    new_space_name(wish));
}

static int new_put(struct new_wish *wish, const struct new_file *file, bool dry)
{
	const struct rye_put put = { .kind = file->row->item,
				     .id = file->id,
				     .ext = file->row->ext,
				     .space = wish->space,
				     .text = span_of(file->text),
				     .dry = dry };
	auto_blob struct rye_blob *said = NULL;
	auto_free char *other = NULL, *mend = NULL;
	struct rye_err err = { 0 };

	if (file->row->item == RYE_SKILL)
		return skill_new(wish->cli, wish->space, file->text, dry);
	if (rye_put(wish->cli->rye, &put, &said, &err)) {
		if (err.code == RYE_BUSY)
			return new_exists(wish, file, NULL);
		if ((err.sys == EROFS || err.sys == EACCES || err.code == RYE_READ_ONLY ||
		     err.code == RYE_DENIED) &&
		    wish->space == RYE_PROJECT)
			mend = cli_retyped(wish->cli, "new --space user", NULL, NULL);
		return mend ? cli_complain(wish->cli, CLI_DENIED, mend, "%s", err.msg) :
			      cli_fail(wish->cli, &err, file->ref);
	}
	/* a name that means something else somewhere */
	if (dry && said &&
	    asprintf(&other, "%s%s%s", wish->id, file->row->item == RYE_DIRECTIVE ? "_" : "-",
		     wish->kind) >= 0) {
		said->data[strcspn(said->data, "\n")] = 0;
		return new_other_id(wish, other, said->data);
	}
	return CLI_OK;
}

static int new_make_file(struct new_wish *wish, const struct skeleton *row, struct new_file *ret)
{
	ret->row = row;
	ret->id = skeleton_fill(row->id, wish->id);
	ret->text = skeleton_fill(row->text, wish->id);
	if (!ret->id || !ret->text ||
	    asprintf(&ret->below, "%s/%s%s", rye_kind_dir(row->item), ret->id, row->ext) < 0)
		return cli_complain(wish->cli, CLI_FAILED, NULL, "out of memory");
	snprintf(ret->ref, sizeof(ret->ref), "%s:%s", rye_kind_name(row->item), ret->id);
	return CLI_OK;
}

/* ---- all files of one item ---- */

#define FILES_MAX 2 /* of an MCP server: it and its tool */

struct new_files {
	struct new_file v[FILES_MAX];
	size_t n, made;
};

static void new_files_done(struct new_files *files)
{
	for (size_t i = 0; i < files->n; i++)
		new_file_done(&files->v[i]);
}

/* What was made goes, since the rest could not be. */
static void new_unmake(struct new_wish *wish, const struct new_files *files)
{
	struct rye_space_info info;

	new_space_info(wish, &info);
	for (size_t i = 0; i < files->made; i++)
		if (!files->v[i].there && info.fd >= 0)
			unlinkat(info.fd, files->v[i].below, 0);
}

static void new_note_made(struct new_wish *wish, const struct new_file *file)
{
	auto_free char *path = new_path(wish, file);
	json_t *row = json_object();

	json_sets(row, "ref", file->ref);
	json_sets(row, "path", path);
	if (wish->cli->opt.dry_run)
		json_sets(row, "text", file->text);
	else
		new_note_hidden(wish, file);
	json_array_append_new(wish->made, row);
}

static int new_plan(struct new_wish *wish, struct new_files *files)
{
	size_t n, there = 0;
	const struct skeleton *end = skeleton_rows(&n), *row = wish->row;
	int status = CLI_OK;

	for (end += n; row < end && !strcmp(row->kind, wish->kind) &&
		       !strcmp(row->lang, wish->row->lang) && status == CLI_OK;
	     row++) {
		struct new_file *file = &files->v[files->n++];

		status = new_make_file(wish, row, file);
		if (status == CLI_OK)
			status = new_look(wish, file);
		if (status == CLI_OK && !file->there)
			status = new_put(wish, file, true);
		there += file->there;
	}
	if (status == CLI_OK && there == files->n)
		return new_exists(wish, &files->v[0], NULL);
	return status;
}

static int new_write(struct new_wish *wish, struct new_files *files)
{
	int status = CLI_OK;

	for (size_t i = 0; i < files->n && status == CLI_OK; i++) {
		if (!files->v[i].there && !wish->cli->opt.dry_run)
			status = new_put(wish, &files->v[i], false);
		if (status == CLI_OK) {
			new_note_made(wish, &files->v[i]);
			files->made = i + 1;
		}
	}
	if (status != CLI_OK)
		new_unmake(wish, files);
	return status;
}

/* ---- the answer ---- */

/* The command that tries it; to free. */
static char *new_next(const struct new_wish *wish, const struct new_files *files)
{
	const char *next = files->v[files->n - 1].row->next;
	auto_free char *text = skeleton_fill(next ? next : "", wish->id);

	return text ? mend_here(wish->cli, text) : NULL;
}

static void new_tell(const struct new_wish *wish, const struct new_files *files)
{
	auto_free char *next = new_next(wish, files);
	struct cli *cli = wish->cli;
	const json_t *row;
	size_t i;

	if (cli->opt.json) {
		auto_json json_t *answer = json_object();

		json_sets(answer, "status", "success");
		json_set(answer, cli->opt.dry_run ? "would_make" : "made", json_incref(wish->made));
		json_sets(answer, "next", next);
		out_json(answer);
		return;
	}
	json_array_foreach(wish->made, i, row) {
		if (cli->opt.dry_run)
			fputs(json_str(row, "text"), stdout);
		else if (!cli->opt.quiet) {
			fputs("signed ", stdout);
			out_text(stdout, json_str(row, "ref"));
			fputs(": ", stdout);
			out_text(stdout, json_str(row, "path"));
			putchar('\n');
		}
	}
	if (!cli->opt.quiet && !cli->opt.dry_run && next)
		printf("next: %s\n", next);
}

int verb_new(struct cli *cli)
{
	auto_json json_t *made = json_array();
	__attribute__((cleanup(new_files_done))) struct new_files files = { .n = 0 };
	struct new_wish wish = { .cli = cli, .made = made };
	const char *ext = NULL;
	int status = new_read_kind(&wish);

	if (status == CLI_OK)
		status = new_read_space(&wish);
	if (status == CLI_OK)
		status = new_read_id(&wish, &ext);
	if (status == CLI_OK)
		status = new_read_lang(&wish, ext);
	if (status == CLI_OK)
		status = new_check_id(&wish);
	if (status == CLI_OK)
		status = cli_open(cli, wish.space == RYE_PROJECT ? CLI_PROJECT : CLI_ANY_PLACE);
	if (status == CLI_OK)
		status = new_plan(&wish, &files);
	if (status == CLI_OK)
		status = new_write(&wish, &files);
	if (status == CLI_OK)
		new_tell(&wish, &files);
	return status;
}
