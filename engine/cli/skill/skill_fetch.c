/* SPDX-License-Identifier: MIT */
/*
 * A folder of a git repository, as it is in one commit. git does it, in a repository of its own that has
 * no hooks, no submodules and no filters, without a terminal to ask on and with nothing of this process's
 * environment but what it needs; it has so much time and so much room. Everything lies in a stage of the user
 * space's, which goes when this process has ended, however it did. What of the files may be is asked where
 * the folder is read.
 */
#include "cli/skill/skill_words.h"

#include "base/io.h"
#include "memory.h"
#include "scope.h"
#include "str.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#define STAGES ".ai/state/skills"
#define GIT_SECONDS "300"
/* Of one file that git writes: of what is fetched, all of it is one. */
#define GIT_BYTES "1073741824"
#define LISTED_MAX 4

struct fetching {
	struct cli *cli;
	struct skill_source *source;
	struct skill_fetched *to;
	char *home; /* the stage, absolute */
};

/* ---- git ---- */

static const char *const git_bounds[] = {
	"timeout", "--foreground",	 "-k",	     "5",   GIT_SECONDS,
	"prlimit", "--fsize=" GIT_BYTES, "--core=0", "env", "-i",
};

static const char *const git_settings[] = {
	"PATH=/usr/local/bin:/usr/bin:/bin:/run/current-system/sw/bin",
	"LANG=C.UTF-8",
	"GIT_TERMINAL_PROMPT=0",
	"GIT_ASKPASS=false",
	"SSH_ASKPASS_REQUIRE=never",
	"GIT_SSH_COMMAND=ssh -oBatchMode=yes",
	"GIT_ALLOW_PROTOCOL=https:ssh:file",
	"GIT_LFS_SKIP_SMUDGE=1",
	"GIT_LITERAL_PATHSPECS=1",
	"git",
	"-c",
	"core.hooksPath=/dev/null",
	"-c",
	"core.fsmonitor=false",
	"-c",
	"core.attributesFile=/dev/null",
	"-c",
	"core.autocrlf=false",
	"-c",
	"core.symlinks=true",
	"-c",
	"fetch.recurseSubmodules=false",
	"-c",
	"submodule.recurse=false",
	"-c",
	"fetch.fsckObjects=true",
	"-c",
	"gc.auto=0",
	"-c",
	"maintenance.auto=false",
	"-C",
};

/* Of the person's own environment: where git's settings and keys are, and the way out. */
static const char *const git_kept[] = { "HOME",	       "XDG_CONFIG_HOME", "SSH_AUTH_SOCK",
					"https_proxy", "HTTPS_PROXY",	  "no_proxy",
					"NO_PROXY",    "SSL_CERT_FILE",	  "TMPDIR" };

#define WORDS_MAX 12

static int git_kept_words(char *ret[ARRAY_SIZE(git_kept)])
{
	int n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(git_kept); i++) {
		const char *value = getenv(git_kept[i]);

		if (value && asprintf(&ret[n], "%s=%s", git_kept[i], value) >= 0)
			n++;
	}
	return n;
}

/* words: behind `git`, ended by NULL. Its exit status; ret: all that it said. */
static int git_run(const struct fetching *fetch, const char *const words[], struct rye_buf *ret)
{
	const char *argv[ARRAY_SIZE(git_bounds) + ARRAY_SIZE(git_kept) + ARRAY_SIZE(git_settings) +
			 WORDS_MAX + 2];
	char *kept[ARRAY_SIZE(git_kept)] = { 0 };
	int n_kept = git_kept_words(kept), status;
	size_t n = ARRAY_SIZE(git_bounds);

	memcpy(argv, git_bounds, sizeof(git_bounds));
	for (int i = 0; i < n_kept; i++)
		argv[n++] = kept[i];
	memcpy(argv + n, git_settings, sizeof(git_settings));
	n += ARRAY_SIZE(git_settings);
	argv[n++] = fetch->home;
	for (size_t i = 0; i < WORDS_MAX && words[i]; i++)
		argv[n++] = words[i];
	argv[n] = NULL;
	buf_clear(ret);
	status = outside_tells(argv, ret);
	while (n_kept)
		free(kept[--n_kept]);
	return status;
}

#define REPO "--git-dir=repo"

/* What git complained of last, one line; or what can be said without it. */
static int git_fail(const struct fetching *fetch, const struct rye_buf *said, int status)
{
	struct rye_span rest = buf_span(said), line, last = SPAN("git gave no reason");
	auto_free char *why = NULL;

	if (status == 124)
		last = SPAN("it took longer than " GIT_SECONDS " s");
	else if (status < 0 || status == 127)
		last = SPAN("git, timeout and prlimit are needed for that, and one is missing");
	else
		while (span_line(&rest, &line))
			if (span_starts(line, "fatal: ") || span_starts(line, "error: "))
				last = span_skip(line, strlen("fatal: "));
	why = span_dup(last);
	return cli_complain(fetch->cli, CLI_FAILED, NULL, "cannot fetch %s%s%s: %.300s",
			    fetch->source->from, *fetch->source->ref ? "@" : "", fetch->source->ref,
			    why ? why : "");
}

/* ---- the commit ---- */

/* Files are to be what the repository has, byte for byte: what it says of its own files does not count. */
static int fetch_attributes(const struct fetching *fetch)
{
	int r = io_mkdirs_at(fetch->to->stage.fd, "repo/info", 0700);

	return r ? r :
		   io_create_at(fetch->to->stage.fd, "repo/info/attributes",
				SPAN("* -text -eol -crlf -ident -filter -working-tree-encoding\n"),
				0600);
}

static int fetch_commit(struct fetching *fetch)
{
	const char *const init[] = { "init", "-q", "--bare", "--template=", "repo", NULL };
	const char *const get[] = { REPO,
				    "fetch",
				    "-q",
				    "--no-tags",
				    "--depth=1",
				    "--",
				    fetch->source->url,
				    *fetch->source->ref ? fetch->source->ref : "HEAD",
				    NULL };
	const char *const name[] = { REPO, "rev-parse",		  "--verify",
				     "-q", "FETCH_HEAD^{commit}", NULL };
	auto_buf struct rye_buf said = RYE_BUF_INIT;
	auto_free char *commit = NULL;
	int status = git_run(fetch, init, &said);

	if (!status && fetch_attributes(fetch))
		status = -1;
	if (!status)
		status = git_run(fetch, get, &said);
	if (!status)
		status = git_run(fetch, name, &said);
	if (status)
		return git_fail(fetch, &said, status);
	commit = span_dup(span_trim(buf_span(&said)));
	if (!commit || !skill_commit_is(commit))
		return git_fail(fetch, &said, 1);
	snprintf(fetch->to->commit, sizeof(fetch->to->commit), "%s", commit);
	return CLI_OK;
}

/* ---- where in it ---- */

/* The next folder with a SKILL.md of git's list, to free; NULL: there are no more. */
static char *next_folder(struct rye_span *rest)
{
	while (rest->len) {
		size_t n = strnlen(rest->ptr, rest->len);
		struct rye_span path = { rest->ptr, n };

		*rest = span_skip(*rest, n < rest->len ? n + 1 : n);
		if (span_eq(path, SKILL_TEXT))
			return strdup("");
		if (!span_ends(path, "/" SKILL_TEXT))
			continue;
		path.len -= strlen("/" SKILL_TEXT);
		if (skill_path_ok(path))
			return span_dup(path);
	}
	return NULL;
}

static bool is_folder_of(const char *path, const char *name)
{
	const char *slash = strrchr(path, '/');

	return !strcmp(slash ? slash + 1 : path, name);
}

/* Another folder of the same commit, as `skill add` takes it; to free. */
static char *word_of_folder(const struct skill_source *source, const char *path)
{
	bool github = span_starts(span_of(source->from), "github:");
	auto_buf struct rye_buf word = RYE_BUF_INIT;

	buf_addf(&word, "%s%s%s%s%s", source->from, github ? "/" : "#", github ? path : source->ref,
		 !github      ? ":" :
		 *source->ref ? "@" :
				"",
		 github ? source->ref : path);
	return buf_steal(&word);
}

/* There is none where it was looked for: the first of those that there are. */
static int fetch_elsewhere(const struct fetching *fetch, const struct rye_buf *list)
{
	const struct skill_source *source = fetch->source;
	struct rye_span rest = buf_span(list);
	auto_buf struct rye_buf found = RYE_BUF_INIT;
	auto_free char *first = NULL, *word = NULL, *mend = NULL;
	size_t n = 0;

	for (char *path; (path = next_folder(&rest)); free(path)) {
		if (n++ >= LISTED_MAX)
			continue;
		buf_addf(&found, "%s%s", found.len ? ", " : "", skill_path_told(path));
		if (!first && *path && strcmp(skill_path_told(path), "a file") != 0)
			first = strdup(path);
	}
	word = first ? word_of_folder(source, first) : NULL;
	mend = word ? mend_with("ryefs skill add %s", word) : NULL;
	return cli_complain(fetch->cli, CLI_NOT_FOUND, mend,
			    "%s has no " SKILL_TEXT " %s%s; it has %zu%s%s%s", source->from,
			    *source->path ? "in " : "at its top", source->path, n, n ? ": in " : "",
			    n ? found.data : "", n > LISTED_MAX ? ", …" : "");
}

/* Sets source->path, if it is not set, to that of a folder of this name, if there is one alone. */
static int fetch_where(struct fetching *fetch, const char *name)
{
	const char *const ls[] = { REPO,	  "ls-tree",	     "-r", "-z",
				   "--name-only", fetch->to->commit, NULL };
	auto_buf struct rye_buf list = RYE_BUF_INIT;
	struct rye_span rest;
	bool there = false;
	int status = git_run(fetch, ls, &list);

	if (status)
		return git_fail(fetch, &list, status);
	rest = buf_span(&list);
	for (char *path; (path = next_folder(&rest)); free(path)) {
		if (!strcmp(path, fetch->source->path)) {
			there = true;
		} else if (name && !*fetch->source->path && is_folder_of(path, name)) {
			free(fetch->source->path);
			fetch->source->path = strdup(path);
			there = fetch->source->path;
		}
	}
	return there ? CLI_OK : fetch_elsewhere(fetch, &list);
}

/* ---- its files ---- */

static void fetch_manifest(struct fetching *fetch)
{
	auto_free char *name = NULL;
	const char *show[] = { REPO, "cat-file", "blob", NULL, NULL };

	if (!*fetch->source->path ||
	    asprintf(&name, "%s:%s.yaml", fetch->to->commit, fetch->source->path) < 0)
		return;
	show[3] = name;
	if (git_run(fetch, show, &fetch->to->manifest))
		buf_clear(&fetch->to->manifest);
}

static int fetch_files(struct fetching *fetch)
{
	const char *path = fetch->source->path;
	const char *const out[] = { REPO, "--work-tree=tree", "checkout", "-q", fetch->to->commit,
				    "--", *path ? path : ".", NULL };
	auto_buf struct rye_buf said = RYE_BUF_INIT;
	auto_close int tree = -1;
	int status, r = io_mkdirs_at(fetch->to->stage.fd, "tree", 0700);

	if (r)
		return cli_complain(fetch->cli, CLI_FAILED, NULL, "cannot make a directory: %s",
				    strerrordesc_np(-r));
	status = git_run(fetch, out, &said);
	if (status)
		return git_fail(fetch, &said, status);
	tree = io_open_beneath(fetch->to->stage.fd, "tree", O_RDONLY | O_DIRECTORY);
	r = tree < 0 ? tree : io_open_beneath(tree, *path ? path : ".", O_RDONLY | O_DIRECTORY);
	if (r < 0)
		return cli_complain(fetch->cli, CLI_NOT_FOUND, NULL, "%s is no directory of %s: %s",
				    path, fetch->source->from, strerrordesc_np(-r));
	fetch->to->dir = r;
	if (asprintf(&fetch->to->path, "%s/tree/%s", fetch->home, path) < 0) {
		fetch->to->path = NULL;
		return CLI_FAILED;
	}
	fetch_manifest(fetch);
	return CLI_OK;
}

static int fetch_stage(struct fetching *fetch)
{
	auto_free char *base = cli_user_base(fetch->cli), *real = NULL;
	int r = base ? io_open_dir(base, STAGES, true) : -ENOENT;

	fetch->to->stages = r;
	if (r >= 0)
		r = skill_stage(fetch->to->stages, "fetch", &fetch->to->stage);
	if (r < 0) {
		fetch->to->stage.fd = -1;
		return cli_complain(fetch->cli, CLI_FAILED, NULL,
				    "cannot make a directory in " STAGES " of the user space: %s",
				    strerrordesc_np(-r));
	}
	real = realpath(base, NULL);
	if (!real || asprintf(&fetch->home, "%s/" STAGES "/%s", real, fetch->to->stage.name) < 0) {
		fetch->home = NULL;
		return CLI_FAILED;
	}
	return CLI_OK;
}

int skill_fetch(struct cli *cli, struct skill_source *source, const char *name,
		struct skill_fetched *ret)
{
	struct fetching fetch = { cli, source, ret, NULL };
	int status;

	*ret = (struct skill_fetched){ .stage = { .fd = -1 }, .stages = -1, .dir = -1 };
	status = fetch_stage(&fetch);
	if (status == CLI_OK)
		status = fetch_commit(&fetch);
	if (status == CLI_OK)
		status = fetch_where(&fetch, name);
	if (status == CLI_OK)
		status = fetch_files(&fetch);
	free(fetch.home);
	return status;
}

void skill_fetched_done(struct skill_fetched *fetched)
{
	if (fetched->dir >= 0)
		close(fetched->dir);
	if (fetched->stages >= 0) {
		skill_stage_end(fetched->stages, &fetched->stage);
		close(fetched->stages);
	}
	free(fetched->path);
	buf_done(&fetched->manifest);
	*fetched = (struct skill_fetched){ .stage = { .fd = -1 }, .stages = -1, .dir = -1 };
}
