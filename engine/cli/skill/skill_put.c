/* SPDX-License-Identifier: MIT */
/*
 * The yes to a skill, and writing it. It is shown with what has changed since it was signed; without a terminal
 * the yes is the digest of what was looked at. Then the very bytes that were shown are written beside what is
 * there, and change places with it in one step; if the manifest cannot be written they change back.
 */
#include "cli/skill/skill_words.h"

#include "base/io.h"
#include "scope.h"
#include "str.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

/* ---- the yes ---- */

static void adding_diff(const struct skill_adding *adding)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	auto_free char *old = NULL;
	const char *argv[] = { "diff", "-ruN", "--", NULL, adding->path, NULL };

	if (!adding->was.n ||
	    asprintf(&old, "%s/.ai/skills/%s", adding->place.info.root, adding->name) < 0)
		return;
	if (adding->in_place) {
		folder_lines(adding->cli, old, &adding->folder, &adding->was);
		return;
	}
	argv[3] = old;
	if (outside_read(argv, &text) == 1 && text.len)
		out_text(stdout, text.data);
}

static void adding_show(const struct skill_adding *adding)
{
	printf("%s, %zu file%s%s\n", adding->name, adding->folder.n, PLURAL(adding->folder.n),
	       adding->was.n ? " (what is signed was looked at before)" : "");
	if (adding->source) {
		fputs("  from ", stdout);
		out_text(stdout, adding->source->from);
		printf(", commit %s\n", adding->commit);
	}
	if (adding->kept)
		printf("  signed by its author, key %s\n", adding->signer);
	folder_show(&adding->folder, &adding->was, stdout);
	adding_diff(adding);
	printf("sha256:%s\n", adding->digest);
	fflush(stdout);
}

/* Numbers between dots, the first that differs. */
static bool is_lower(const char *now, const char *before)
{
	for (int i = 0; i < 3; i++) {
		char *end, *old_end;
		long a = strtol(now, &end, 10), b = strtol(before, &old_end, 10);

		if (a != b)
			return a < b;
		if (*end != '.' || *old_end != '.')
			return false;
		now = end + 1;
		before = old_end + 1;
	}
	return false;
}

static int ask_lower(const struct skill_adding *adding)
{
	auto_free char *mend = cli_retyped(adding->cli, "skill --yes", NULL, NULL), *now = NULL;
	const struct cli_question question = { "That is a lower version than the signed one. "
					       "Go back to it?",
					       mend, adding->name, "is as it was" };
	const char *at = memmem(adding->text.data, adding->text.len, "\nversion: ", 10);

	if (!adding->was.n || !at)
		return CLI_OK;
	at += strlen("\nversion: ");
	now = strndup(at, strcspn(at, "\n"));
	if (!now || !is_lower(now + (*now == '"'), adding->was.version))
		return CLI_OK;
	cli_note(adding->cli, "version %s, and %s is signed", now, adding->was.version);
	return cli_asks(adding->cli, &question);
}

/* Is the digest one of those that were said, "sha256:A,sha256:B"? */
static bool is_expected(const char *expect, const char digest[SHA_HEX])
{
	for (const char *at = expect; at; at = strchr(at, ',')) {
		at += *at == ',';
		if (!strncmp(at, "sha256:", 7) && !strncmp(at + 7, digest, SHA_HEX - 1) &&
		    strchr(",", at[7 + SHA_HEX - 1]))
			return true;
	}
	return false;
}

bool adding_only_shows(const struct skill_adding *adding)
{
	return adding->digests && !adding->cli->opt.expect && !adding->cli->opt.yes &&
	       !isatty(STDIN_FILENO);
}

int adding_unasked(struct cli *cli, const char *digests)
{
	auto_free char *option = NULL, *mend = NULL;

	if (asprintf(&option, "skill --expect %s", digests) < 0)
		return CLI_FAILED;
	mend = cli_retyped(cli, option, NULL, NULL);
	if (cli->opt.yes)
		return cli_complain(cli, CLI_USAGE, mend,
				    "a plain --yes is no yes to what was not looked at");
	return cli_complain(cli, CLI_DENIED, mend,
			    "it takes a yes, and standard input is not a terminal");
}

/* Without --expect: by a person, or of what is signed already by a plain yes. */
static int ask_person(const struct skill_adding *adding)
{
	struct cli *cli = adding->cli;
	const struct cli_question question = { "Sign this skill with your key?", NULL, adding->name,
					       "is as it was" };
	bool update = !strcmp(cli->argv[0], "update");
	char digest[SHA_HEX + 8];

	snprintf(digest, sizeof(digest), "sha256:%s", adding->digest);
	if (cli->opt.yes ? !update : !isatty(STDIN_FILENO))
		return adding_unasked(cli, digest);
	return cli_asks(cli, &question);
}

int adding_ask(struct skill_adding *adding)
{
	struct cli *cli = adding->cli;
	const char *expect = cli->opt.expect;
	int status = CLI_OK;

	if (!cli->opt.quiet || !expect)
		adding_show(adding);
	if (adding_only_shows(adding)) {
		buf_addf(adding->digests, "%ssha256:%s", adding->digests->len ? "," : "",
			 adding->digest);
		return CLI_OK;
	}
	if (!expect)
		status = ask_person(adding);
	else if (!is_expected(expect, adding->digest))
		return cli_complain(cli, CLI_REFUSED, NULL,
				    "%s is not what was expected: it is sha256:%s", adding->name,
				    adding->digest);
	return status == CLI_OK ? ask_lower(adding) : status;
}

/* ---- writing ---- */

static int put_files(const struct folder *folder, int dir)
{
	int r = 0;

	for (size_t i = 0; i < folder->n && !r; i++) {
		const struct folder_file *file = &folder->v[i];
		const char *slash = strrchr(file->path, '/');
		auto_free char *above = slash ? strndup(file->path, (size_t)(slash - file->path)) :
						NULL;

		if (slash)
			r = above ? io_mkdirs_at(dir, above, 0755) : -ENOMEM;
		if (!r)
			r = io_create_at(dir, file->path,
					 (struct rye_span){ file->blob->data, file->blob->len },
					 file->x ? 0755 : 0644);
	}
	return r;
}

/* Hashes are of bytes: git must change none. */
static void put_attributes(int skills)
{
	io_create_at(skills, ".gitattributes", SPAN("* -text\n"), 0644);
}

static int put_manifest(const struct skill_adding *adding, struct rye_err *err)
{
	const struct rye_blob *was = adding->manifest;
	auto_blob struct rye_blob *said = NULL;
	const struct rye_put put = {
		.kind = RYE_SKILL,
		.id = adding->name,
		.ext = ".yaml",
		.space = adding->place.space,
		.text = buf_span(&adding->text),
		.was = { was ? was->data : NULL, was ? was->len : 0 },
		.bare = adding->kept,
	};

	return rye_put(adding->cli->rye, &put, &said, err);
}

static int put_both(const struct skill_adding *adding, int skills, struct rye_err *err)
{
	struct skill_stage stage = { .fd = -1 };
	int sys = skill_stage(skills, adding->name, &stage), r;

	if (sys)
		return rye_fail_sys(err, -sys, "cannot write .ai/skills/%s", adding->name);
	sys = put_files(&adding->folder, stage.fd);
	if (!sys)
		sys = skill_stage_swap(skills, adding->name, &stage);
	r = sys ? rye_fail_sys(err, -sys, "cannot write .ai/skills/%s", adding->name) :
		  put_manifest(adding, err);
	if (r && !sys)
		skill_stage_unswap(skills, adding->name, &stage);
	skill_stage_end(skills, &stage);
	return r;
}

int adding_put(struct skill_adding *adding)
{
	int ai = adding->place.info.fd, r = io_mkdirs_at(ai, "skills", 0755);
	auto_close int skills = r ? r : io_open_mounted(ai, "skills", O_RDONLY | O_DIRECTORY);
	struct rye_err err = { 0 };

	if (skills < 0) {
		rye_fail_sys(&err, -skills, "cannot make .ai/skills");
		return cli_fail(adding->cli, &err, NULL);
	}
	put_attributes(skills);
	r = adding->in_place ? put_manifest(adding, &err) : put_both(adding, skills, &err);
	if (r)
		return cli_fail(adding->cli, &err, NULL);
	return adding->silent ? CLI_OK :
				out_success(adding->cli, "name", adding->name, "is signed");
}
