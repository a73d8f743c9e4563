/* SPDX-License-Identifier: MIT */
/*
 * ryefs init: a workspace from nothing. Makes what is missing and leaves the rest alone, so
 * it may be run again: directories, a .gitignore for what must not be shared, the user's key,
 * and with --sample a few items, signed.
 */
#include "cli/author/author.h"
#include "cli/cli.h"

#include "base/id.h"
#include "base/io.h"
#include "scope.h"
#include "str.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

/* Of a sample item. */
#define SAMPLE_MAX (64 << 10)

struct verb_init_making {
	struct cli *cli;
	json_t *made, *signed_refs;
	char key[17];
	bool failed;
};

/* Writes the file unless there is one; true when it was made. */
static bool verb_init_make_file(struct verb_init_making *making, int ai, const char *path,
				const char *text)
{
	struct stat st;
	int sys;

	if (fstatat(ai, path, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return false;
	sys = io_replace_at(ai, path, span_of(text), 0644);
	if (sys < 0) {
		cli_note(making->cli, "cannot write .ai/%s: %s", path, strerror(-sys));
		making->failed = true;
		return false;
	}
	json_array_append_new(making->made, json_string(path));
	return true;
}

static void make_gitignore(struct verb_init_making *making)
{
	struct rye_err err = { 0 };
	int r = rye_uncommitted(making->cli->rye, NULL, &err);

	if (r > 0)
		json_array_append_new(making->made, json_string(".gitignore"));
	if (r >= 0)
		return;
	cli_note(making->cli, "cannot write %s", err.msg);
	making->failed = true;
}

static int make_dirs(struct verb_init_making *making, int ai)
{
	static const char *const dirs[] = {
		"directives",	     "tools",	     "knowledge",	 "config",
		"directives/sample", "tools/sample", "knowledge/sample",
	};
	size_t n = making->cli->opt.sample ? ARRAY_SIZE(dirs) : ARRAY_SIZE(dirs) - 3;

	for (size_t i = 0; i < n; i++) {
		int sys = io_mkdirs_at(ai, dirs[i], 0755);

		if (sys < 0)
			return cli_complain(making->cli, CLI_FAILED, NULL, "cannot make .ai/%s: %s",
					    dirs[i], strerror(-sys));
	}
	return CLI_OK;
}

/* A directory, and not what `sign` and `execute` take. True: told. */
static bool is_item(struct cli *cli, const char *dir)
{
	const char *id;

	if (!cli->argc || id_kind(cli->argv[0], &id) == RYE_KIND__MAX || access(dir, F_OK) == 0)
		return false;
	cli_complain(
		cli, CLI_USAGE, "ryefs init",
		"%s names an item: init makes a workspace of a directory, items are files in it",
		cli->argv[0]);
	return true;
}

/* The .ai directory, opened; -1: told why not. */
static int open_ai(struct cli *cli, const char *dir)
{
	auto_close int root = -1;
	int ai;

	if (mkdir(dir, 0755) < 0 && errno != EEXIST) {
		cli_complain(cli, CLI_FAILED, NULL, "cannot make %s: %s", dir, strerror(errno));
		return -1;
	}
	root = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (root < 0 || (mkdirat(root, ".ai", 0755) < 0 && errno != EEXIST))
		ai = -1;
	else
		ai = openat(root, ".ai", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (ai < 0)
		cli_complain(cli, CLI_FAILED, NULL, "cannot make %s/.ai: %s", dir, strerror(errno));
	return ai;
}

static int want_key(struct verb_init_making *making)
{
	struct cli *cli = making->cli;
	struct rye_err err = { 0 };

	if (own_key_is_ready(cli))
		return CLI_OK;
	return own_key_make(cli, RYE_KEY_NEW, making->key, &err) ? cli_fail(cli, &err, NULL) :
								   CLI_OK;
}

/* Without it the key's owner reads all the same; others have to ask for it. */
static void share_key(struct verb_init_making *making)
{
	char path[64], key[17];
	struct rye_err err = { 0 };
	int r = rye_key_share(making->cli->rye, key, &err);

	if (r < 0) {
		cli_note(making->cli, "your public key is not in the project: %s", err.msg);
		return;
	}
	snprintf(path, sizeof(path), "config/keys/trusted/%s.toml", key);
	if (r)
		json_array_append_new(making->made, json_string(path));
}

static int verb_init_take_signed(void *arg, const struct rye_verdict *verdict, size_t done,
				 size_t total)
{
	struct verb_init_making *making = arg;
	char ref[REF_MAX];

	(void)done;
	(void)total;
	if (!verdict)
		return 0;
	ref_of(verdict, ref);
	if (verdict->code == RYE_OK) {
		json_array_append_new(making->signed_refs, json_string(ref));
	} else {
		cli_note(making->cli, "%s is not signed: %s", ref, verdict->message);
		making->failed = true;
	}
	return 0;
}

/* As a call that was killed before it had signed it left it: byte for byte. */
static bool is_left_unsigned(int ai, const struct sample *row)
{
	auto_blob struct rye_blob *text = NULL;

	return io_read_at(ai, row->path, SAMPLE_MAX, &text) == 0 &&
	       span_eq((struct rye_span){ text->data, text->len }, row->text);
}

/* Signs only what was written now, or by a call like this one: a file that was there before may hold what the user has not
 * read. */
static int make_samples(struct verb_init_making *making, int ai)
{
	struct rye_err err = { 0 };
	const struct sample *rows;
	size_t n;

	rows = sample_rows(&n);
	for (size_t i = 0; i < n; i++) {
		struct rye_batch batch = { rows[i].ref, RYE_PROJECT, verb_init_take_signed,
					   making };

		if (!verb_init_make_file(making, ai, rows[i].path, rows[i].text) &&
		    !is_left_unsigned(ai, &rows[i]))
			continue;
		if (rye_sign_all(making->cli->rye, &batch, &err))
			return cli_fail(making->cli, &err, rows[i].ref);
	}
	return CLI_OK;
}

static void verb_init_report(const struct verb_init_making *making)
{
	struct cli *cli = making->cli;
	auto_json json_t *answer = json_object();
	auto_buf struct rye_buf project = RYE_BUF_INIT;
	json_t *item;
	size_t i;

	if (cli->opt.json) {
		json_sets(answer, "status", making->failed ? "error" : "success");
		json_sets(answer, "project", cli->project);
		json_sets(answer, "key", *making->key ? making->key : NULL);
		json_set(answer, "made", json_incref(making->made));
		json_set(answer, "signed", json_incref(making->signed_refs));
		out_json(answer);
		return;
	}
	if (cli->opt.quiet)
		return;
	printf("%s/.ai is a workspace\n", cli->project);
	if (*making->key)
		printf("made your signing key %s and trusted it\n", making->key);
	json_array_foreach(making->signed_refs, i, item)
		printf("signed %s\n", json_string_value(item));
	buf_shell(&project, cli->project);
	printf("next: ryefs %s MOUNTPOINT\n", project.failed ? "." : project.data);
}

/* The directory that is to have the .ai: where its .ai itself was named, or is the one here, the one above. */
static char *init_dir(const struct cli *cli)
{
	const char *dir = cli->argc ? cli->argv[0] : cli->opt.project ? cli->opt.project : ".";
	char *path = realpath(dir, NULL);
	size_t n;

	if (!path)
		path = strdup(dir);
	n = path ? strlen(path) : 0;
	while (n > 1 && path[n - 1] == '/')
		path[--n] = 0;
	if (path && !strcmp(path, ".ai"))
		path[1] = 0;
	else if (path && n > 4 && !strcmp(path + n - 4, "/.ai"))
		path[n - 4] = 0;
	return path;
}

static int init_at(struct cli *cli, const char *dir)
{
	auto_json json_t *made = json_array(), *signed_refs = json_array();
	struct verb_init_making making = { .cli = cli, .made = made, .signed_refs = signed_refs };
	auto_close int ai = open_ai(cli, dir);
	int status = CLI_OK;

	if (ai < 0)
		return CLI_FAILED;
	cli->opt.project = dir;
	status = make_dirs(&making, ai);
	if (status == CLI_OK)
		status = cli_open(cli, CLI_PROJECT);
	if (status == CLI_OK)
		make_gitignore(&making);
	if (status == CLI_OK)
		status = want_key(&making);
	if (status == CLI_OK)
		share_key(&making);
	if (status == CLI_OK)
		merging_set_up(cli, made);
	if (status == CLI_OK && cli->opt.sample)
		status = make_samples(&making, ai);
	if (status == CLI_OK && cli->opt.vscode)
		status = editor_set_up(cli, cli->project, made);
	if (status == CLI_OK && cli->opt.hooks)
		status = merging_hook(cli, made);
	if (status != CLI_OK)
		return status;
	verb_init_report(&making);
	return making.failed ? CLI_FAILED : CLI_OK;
}

int verb_init(struct cli *cli)
{
	auto_free char *dir = init_dir(cli);
	int status = dir ? CLI_OK : CLI_FAILED;

	if (dir)
		status = is_item(cli, dir) ? CLI_USAGE : init_at(cli, dir);
	cli->opt.project = NULL;
	return status;
}
