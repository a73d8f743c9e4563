/* SPDX-License-Identifier: MIT */
/*
 * ryefs skill add: a folder is read once, shown with what has changed since it was signed, and after a yes
 * these very bytes are written, listed in a manifest, and signed. Without a terminal the yes is the digest
 * of what was looked at; there is no other.
 */
#include "cli/skill/skill_words.h"

#include "base/io.h"
#include "format/format.h"
#include "memory.h"
#include "scope.h"
#include "str.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

struct skill_adding {
	struct cli *cli;
	struct skill_place place;
	struct folder folder;
	struct skill was; /* as it was signed before; n 0: it was not */
	char name[SKILL_NAME_MAX + 1];
	bool in_place; /* the folder is the one of the workspace */
	char digest[SHA_HEX];
	struct rye_buf text; /* the manifest */
};

static void adding_done(struct skill_adding *adding)
{
	folder_done(&adding->folder);
	skill_done(&adding->was);
	buf_done(&adding->text);
}

/* ---- where from ---- */

/* A directory, or the name of a folder that lies in the workspace already. */
static int adding_open(struct skill_adding *adding, int *ret)
{
	struct cli *cli = adding->cli;
	const char *word = cli->argv[1];
	int fd = open(word, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 && skill_name_ok(span_of(word)))
		fd = skill_open_folder(adding->place.info.fd, word);
	if (fd < 0)
		return cli_complain(cli, CLI_NOT_FOUND, "ryefs skill --help",
				    "%s: wanted a directory with a " SKILL_TEXT
				    ", or the name of one in .ai/skills",
				    word);
	*ret = fd;
	return CLI_OK;
}

static void adding_compare(struct skill_adding *adding, int from)
{
	auto_close int own = skill_open_folder(adding->place.info.fd, adding->name);
	struct stat a, b;

	adding->in_place = own >= 0 && fstat(own, &a) == 0 && fstat(from, &b) == 0 &&
			   a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* What was signed before, if that still verifies. */
static void adding_before(struct skill_adding *adding)
{
	auto_blob struct rye_blob *text = NULL, *bare = NULL;
	auto_json json_t *data = NULL;
	struct rye_err ignored = { 0 };

	if (rye_skill_manifest(adding->cli->rye, adding->place.space, adding->name, &text,
			       &ignored))
		return;
	bare = rye_bare(RYE_SKILL, ".yaml", (struct rye_span){ text->data, text->len });
	if (bare)
		data = parse_yaml((struct rye_span){ bare->data, bare->len }, &ignored);
	if (data && skill_read(data, adding->name, &adding->was, &ignored))
		adding->was = (struct skill){ 0 };
}

/* ---- the manifest ---- */

static bool is_version(const char *text)
{
	for (int i = 0; i < 3; i++) {
		size_t n = strspn(text, "0123456789");

		if (!n || n > 9 || text[n] != (i < 2 ? '.' : 0))
			return false;
		text += n + (i < 2);
	}
	return true;
}

/* What the skill itself says, else what the manifest said before. */
static const char *version_for(const json_t *front, const struct skill *was)
{
	const char *own = json_str(json_object_get(front, "metadata"), "version");

	if (is_version(own))
		return own;
	return was->n && is_version(was->version) ? was->version : "1.0.0";
}

static void put_file(struct rye_buf *text, const struct folder_file *file)
{
	auto_json json_t *path = json_string(file->path);
	char hex[SHA_HEX];

	sha256_hex((struct rye_span){ file->blob->data, file->blob->len }, hex);
	buf_adds(text, "  ");
	json_put(text, path, false);
	buf_addf(text, ": {sha256: \"%s\", size: %zu%s}\n", hex, file->blob->len,
		 file->x ? ", x: true" : "");
}

static int adding_write_manifest(struct skill_adding *adding, const json_t *front,
				 struct rye_err *err)
{
	auto_skill struct skill checked = { 0 };
	auto_json json_t *data = NULL;
	size_t files;

	buf_addf(&adding->text, "name: %s\nversion: \"%s\"\n", adding->name,
		 version_for(front, &adding->was));
	files = adding->text.len;
	buf_adds(&adding->text, "files:\n");
	for (size_t i = 0; i < adding->folder.n; i++)
		put_file(&adding->text, &adding->folder.v[i]);
	if (adding->text.failed)
		return memory_fail(err);
	sha256_hex(span_skip(buf_span(&adding->text), files), adding->digest);
	data = parse_yaml(buf_span(&adding->text), err);
	return data ? skill_read(data, adding->name, &checked, err) : -(int)RYE_UNPARSABLE;
}

static int adding_read(struct skill_adding *adding, int from, struct rye_err *err)
{
	const struct folder_file *text;
	auto_json json_t *front = NULL;
	int r = folder_read(from, adding->cli->opt.deps, &adding->folder, err);

	if (r)
		return r;
	text = folder_find(&adding->folder, SKILL_TEXT);
	if (!text)
		return rye_fail(err, RYE_INVALID, "there is no " SKILL_TEXT " in %s",
				adding->cli->argv[1]);
	r = skill_front((struct rye_span){ text->blob->data, text->blob->len }, &front, NULL, err);
	if (r)
		return r;
	if (!skill_name_ok(span_of(json_str(front, "name"))))
		return rye_fail(err, RYE_INVALID,
				SKILL_TEXT ": name: wants 1 to 64 of a-z, 0-9 and single hyphens");
	snprintf(adding->name, sizeof(adding->name), "%s", json_str(front, "name"));
	r = skill_front_check(front, adding->name, err);
	if (r)
		return r;
	adding_compare(adding, from);
	adding_before(adding);
	return adding_write_manifest(adding, front, err);
}

/* ---- the yes ---- */

static void adding_diff(const struct skill_adding *adding)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	auto_free char *old = NULL;
	const char *argv[] = { "diff", "-ruN", "--", NULL, adding->cli->argv[1], NULL };

	if (adding->in_place || !adding->was.n ||
	    asprintf(&old, "%s/.ai/skills/%s", adding->place.info.root, adding->name) < 0)
		return;
	argv[3] = old;
	if (outside_read(argv, &text) == 1 && text.len)
		out_text(stdout, text.data);
}

static int adding_ask(struct skill_adding *adding)
{
	struct cli *cli = adding->cli;
	const char *expect = cli->opt.expect;
	auto_free char *mend =
		mend_with("ryefs skill add --expect sha256:%s %s", adding->digest, cli->argv[1]);
	const struct cli_question question = { "Sign this skill with your key?", mend, adding->name,
					       "is as it was" };

	if (!cli->opt.quiet || !expect) {
		printf("%s, %zu files%s\n", adding->name, adding->folder.n,
		       adding->was.n ? " (what is signed was looked at before)" : "");
		folder_show(&adding->folder, &adding->was, stdout);
		adding_diff(adding);
		printf("sha256:%s\n", adding->digest);
		fflush(stdout);
	}
	if (!expect && cli->opt.yes)
		return cli_complain(cli, CLI_USAGE, mend,
				    "a plain --yes is no yes to what was not looked at");
	if (!expect)
		return cli_asks(cli, &question);
	if (!strncmp(expect, "sha256:", 7) && !strcmp(expect + 7, adding->digest))
		return CLI_OK;
	return cli_complain(cli, CLI_REFUSED, NULL, "%s is not what was expected: it is sha256:%s",
			    adding->name, adding->digest);
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

/* Whole, then in the place of what was: for a moment it is refused, never half. */
static int put_folder(const struct skill_adding *adding, int skills)
{
	struct skill_stage stage;
	int r = skill_stage(skills, adding->name, &stage);

	if (r)
		return r;
	return skill_stage_end(skills, adding->name, &stage, put_files(&adding->folder, stage.fd));
}

/* Hashes are of bytes: git must change none. */
static void put_attributes(int skills)
{
	io_create_at(skills, ".gitattributes", SPAN("* -text\n"), 0644);
}

static int adding_write(struct skill_adding *adding, struct rye_err *err)
{
	int ai = adding->place.info.fd;
	int r = io_mkdirs_at(ai, "skills", 0755);
	auto_close int skills = r ? r : io_open_mounted(ai, "skills", O_RDONLY | O_DIRECTORY);
	auto_blob struct rye_blob *was = NULL, *said = NULL;
	struct rye_put put = { .kind = RYE_SKILL,
			       .id = adding->name,
			       .ext = ".yaml",
			       .space = adding->place.space,
			       .text = buf_span(&adding->text) };
	char path[SKILL_NAME_MAX + 16];

	snprintf(path, sizeof(path), "skills/%s.yaml", adding->name);
	if (skills < 0)
		return rye_fail_sys(err, -skills, "cannot make .ai/skills");
	put_attributes(skills);
	r = adding->in_place ? 0 : put_folder(adding, skills);
	if (r)
		return rye_fail_sys(err, -r, "cannot write .ai/skills/%s", adding->name);
	if (io_read_at(ai, path, 1u << 24, &was) == 0)
		put.was = (struct rye_span){ was->data, was->len };
	return rye_put(adding->cli->rye, &put, &said, err);
}

int skill_add_word(struct cli *cli)
{
	__attribute__((cleanup(adding_done))) struct skill_adding adding = { .cli = cli };
	struct rye_err err = { 0 };
	auto_close int from = -1;
	int status = cli_open(cli, CLI_PROJECT);

	if (status == CLI_OK)
		status = skill_place(cli, &adding.place);
	if (status == CLI_OK)
		status = adding_open(&adding, &from);
	if (status != CLI_OK)
		return status;
	if (adding_read(&adding, from, &err))
		return cli_fail(cli, &err, NULL);
	status = adding_ask(&adding);
	if (status != CLI_OK)
		return status;
	if (adding_write(&adding, &err))
		return cli_fail(cli, &err, NULL);
	return out_success(cli, "name", adding.name, "is signed");
}
