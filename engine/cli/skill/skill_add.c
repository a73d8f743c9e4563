/* SPDX-License-Identifier: MIT */
/*
 * ryefs skill add: a folder becomes a skill. It is one on disk, one of a git repository in some commit, or
 * each of those that skills-lock.json names, one after another.
 */
#include "cli/skill/skill_words.h"

#include "base/io.h"
#include "scope.h"
#include "str.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define LOCK "skills-lock.json"
#define LOCK_MAX (4u << 20) /* and of a manifest */

static int adding_finish(struct skill_adding *adding, int dir)
{
	int status = adding_read(adding, dir);

	if (status == CLI_OK)
		status = adding_ask(adding);
	if (status != CLI_OK || adding_only_shows(adding))
		return status;
	return adding_put(adding);
}

/* A file that a path of a command line names; 0 or -errno. */
static int read_named(const char *path, size_t max, struct rye_blob **ret)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	return fd < 0 ? -errno : io_read_fd(fd, max, ret, &st);
}

/* ---- a directory ---- */

/* Its author's manifest lies beside it: DIR.yaml. */
static struct rye_blob *beside(const char *dir)
{
	struct rye_blob *text = NULL;
	auto_free char *path = NULL;
	size_t n = strlen(dir);

	while (n && dir[n - 1] == '/')
		n--;
	if (n && asprintf(&path, "%.*s.yaml", (int)n, dir) >= 0)
		read_named(path, LOCK_MAX, &text);
	return text;
}

static int add_dir(struct skill_adding *adding)
{
	auto_close int dir = open(adding->word, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	auto_blob struct rye_blob *theirs = NULL;

	if (dir >= 0)
		theirs = beside(adding->word);
	else if (skill_name_ok(span_of(adding->word)))
		dir = skill_open_folder(adding->place.info.fd, adding->word);
	if (dir < 0)
		return cli_complain(adding->cli, CLI_NOT_FOUND, "ryefs skill --help",
				    "%s: wanted a directory with a " SKILL_TEXT
				    ", the name of one in .ai/skills, or github:OWNER/REPO/PATH",
				    adding->word);
	adding->path = adding->word;
	if (theirs)
		adding->theirs = (struct rye_span){ theirs->data, theirs->len };
	return adding_finish(adding, dir);
}

/* ---- a repository ---- */

static int add_fetched(struct skill_adding *adding, struct skill_source *source, const char *name)
{
	auto_skill_fetched struct skill_fetched from = { 0 };
	int status = skill_fetch(adding->cli, source, name, &from);

	if (status != CLI_OK)
		return status;
	adding->source = source;
	adding->commit = from.commit;
	adding->path = from.path;
	adding->theirs = buf_span(&from.manifest);
	return adding_finish(adding, from.dir);
}

/* "file:///dir" where no repository is. */
static const char *plain_dir(const char *word)
{
	const char *path = !strncmp(word, "file:///", 8) ? word + 7 : NULL;
	auto_free char *text = NULL, *git = NULL;
	struct stat st;

	if (!path || strchr(path, '#') || asprintf(&text, "%s/" SKILL_TEXT, path) < 0 ||
	    asprintf(&git, "%s/.git", path) < 0)
		return NULL;
	return stat(text, &st) == 0 && stat(git, &st) < 0 ? path : NULL;
}

static int add_source(struct skill_adding *adding)
{
	auto_skill_source struct skill_source source = { 0 };
	struct rye_err err = { 0 };

	if (skill_source_read(adding->word, &source, &err))
		return cli_fail(adding->cli, &err, NULL);
	return add_fetched(adding, &source, adding->as);
}

/* ---- a lock file ---- */

struct adding_locks {
	const struct skill_adding *like;
	int status;
};

static int add_locked(void *arg, const struct skill_locked *one)
{
	struct adding_locks *locks = arg;
	auto_skill_adding struct skill_adding adding = *locks->like;
	struct skill_locked own = *one;

	adding.as = one->name;
	adding.hash = one->hash;
	own.source.path = strdup(one->source.path);
	if (!own.source.path)
		return -(int)RYE_IO;
	locks->status = add_fetched(&adding, &own.source, one->somewhere ? one->name : NULL);
	free(own.source.path);
	return locks->status == CLI_OK ? 0 : -(int)RYE_CANCELLED;
}

static int add_lock(struct skill_adding *like)
{
	auto_blob struct rye_blob *text = NULL;
	auto_buf struct rye_buf digests = RYE_BUF_INIT;
	struct skill_adding each = *like;
	struct adding_locks locks = { &each, CLI_OK };
	struct rye_err err = { 0 };
	int r = read_named(like->word, LOCK_MAX, &text);

	if (r)
		return cli_complain(like->cli, CLI_NOT_FOUND, NULL, "cannot read %s: %s",
				    like->word, strerrordesc_np(-r));
	each.digests = &digests;
	r = skill_lock_read((struct rye_span){ text->data, text->len }, add_locked, &locks, &err);
	if (r && locks.status == CLI_OK)
		return cli_fail(like->cli, &err, NULL);
	if (r || !digests.len)
		return locks.status;
	return adding_unasked(like->cli, digests.data);
}

static bool is_lock(const char *word)
{
	const char *slash = strrchr(word, '/');

	return !strcmp(slash ? slash + 1 : word, LOCK);
}

int skill_add_word(struct cli *cli)
{
	auto_skill_adding struct skill_adding adding = { .cli = cli, .as = cli->opt.as };
	int status = cli_open(cli, CLI_PROJECT);
	const char *dir;

	if (status == CLI_OK)
		status = skill_place(cli, &adding.place);
	if (status != CLI_OK)
		return status;
	adding.word = cli->argv[1];
	dir = plain_dir(adding.word);
	if (dir)
		adding.word = dir;
	else if (skill_source_is(adding.word))
		return add_source(&adding);
	if (!is_lock(adding.word))
		return add_dir(&adding);
	return adding.as ? cli_misuse(cli, "--as is for one skill, and " LOCK " has names") :
			   add_lock(&adding);
}
