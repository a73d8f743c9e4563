/* SPDX-License-Identifier: MIT */
/*
 * ryefs link: where clients look for skills, a link to skills/ of a mount. The directory as a whole is linked,
 * since only then nothing else is in it; what is there already is never replaced. With
 * --each it is a real directory with a link for each skill, for clients that do not follow the other.
 */
#include "cli/skill/skill_words.h"

#include "base/io.h"
#include "scope.h"
#include "str.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Directories of a project in which clients look; a client that is not named is served by one of them. */
static const struct link_row {
	const char *above, *clients;
} rows[] = {
	{ ".claude", " claude " },
	{ ".agents", " agents codex copilot cursor gemini opencode " },
};

struct linking {
	struct cli *cli;
	int project; /* open */
	char *view; /* MNT/skills */
};

static void linking_done(struct linking *linking)
{
	if (linking->project >= 0)
		close(linking->project);
	free(linking->view);
}

/* ---- which mount ---- */

struct link_search {
	const char *project;
	char *found; /* the first that lies outside of the project */
	size_t n, inside;
};

/* A sandbox that binds the work tree with a dead mount in it does not start: such a one is not meant. */
static int link_on_mount(void *arg, const char *path)
{
	struct link_search *search = arg;
	auto_free char *source = NULL, *below = NULL;

	if (!mounts_holds(path, &source, &below) || strcmp(source, search->project) != 0)
		return 0;
	if (path_below(path, search->project)) {
		search->inside++;
		return 0;
	}
	if (!search->n++)
		search->found = strdup(path);
	return 0;
}

/* A mount beside the project is what is wanted; told with its command. */
static int fail_none(struct cli *cli, const char *project, const char *inside)
{
	auto_free char *mend =
		mend_with("mkdir -p %s-mnt && ryefs %s %s-mnt", project, project, project);

	if (!inside)
		return cli_complain(cli, CLI_NOT_FOUND, mend, "%s is not mounted", project);
	return cli_complain(
		cli, CLI_USAGE, mend,
		"%s lies in the project: a mount that ended there would end every shell of "
		"a sandboxed agent; one outside of %s is wanted",
		inside, project);
}

/* The mountpoint: the one that was named, or the only one of the project; to free, NULL: told. */
static char *find_mount(struct cli *cli, const char *project, int *ret_status)
{
	struct link_search search = { project, NULL, 0, 0 };
	auto_free char *source = NULL, *below = NULL, *mend = NULL;
	const char *word = cli->argc ? cli->argv[0] : NULL;

	if (word && mounts_holds(word, &source, &below) && !*below)
		return realpath(word, NULL);
	if (word) {
		*ret_status = cli_complain(cli, CLI_NOT_FOUND, "ryefs list",
					   "%s is not a mount of ryefs", word);
		return NULL;
	}
	mounts_each(link_on_mount, &search);
	if (search.n == 1)
		return search.found;
	if (search.n && search.found) {
		mend = mend_with("ryefs link %s", search.found);
		*ret_status = cli_complain(cli, CLI_USAGE, mend,
					   "%s is mounted more than once: which mount?", project);
	} else {
		*ret_status = fail_none(cli, project, search.inside ? "its mount" : NULL);
	}
	free(search.found);
	return NULL;
}

static int check_outside(struct cli *cli, const char *project, const char *mount)
{
	return path_below(mount, project) ? fail_none(cli, project, mount) : CLI_OK;
}

/* ---- the links ---- */

static bool leads_to(int dir, const char *name, const char *target)
{
	char text[PATH_MAX];
	ssize_t n = readlinkat(dir, name, text, sizeof(text) - 1);

	text[n < 0 ? 0 : n] = 0;
	return n >= 0 && !strcmp(text, target);
}

static int link_whole(struct linking *linking, const char *path)
{
	struct cli *cli = linking->cli;
	auto_free char *mend = NULL;
	struct stat st;

	if (symlinkat(linking->view, linking->project, path) == 0 ||
	    leads_to(linking->project, path, linking->view))
		return CLI_OK;
	/* goes if it is empty */
	if (errno == EEXIST && unlinkat(linking->project, path, AT_REMOVEDIR) == 0 &&
	    symlinkat(linking->view, linking->project, path) == 0)
		return CLI_OK;
	if (fstatat(linking->project, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return cli_complain(cli, CLI_FAILED, NULL, "cannot make %s: %s", path,
				    strerrordesc_np(errno));
	if (S_ISLNK(st.st_mode)) {
		mend = mend_with("rm %s", path);
		return cli_complain(cli, CLI_FAILED, mend, "%s is a link that leads elsewhere",
				    path);
	}
	return cli_complain(
		cli, CLI_FAILED, NULL,
		"%s is a directory with files that no key has signed; add each skill in it with: "
		"ryefs skill add %s/NAME, move it away, and say this again",
		path, path);
}

/* Links of ours to what is not there any more. */
static void drop_gone_links(const struct linking *linking, int dir, int view)
{
	auto_dir DIR *list = fdopendir(dup(dir));
	const struct dirent *entry;
	struct stat st;

	while (list && (entry = readdir(list))) {
		auto_free char *target = NULL;

		if (asprintf(&target, "%s/%s", linking->view, entry->d_name) < 0) {
			target = NULL;
			continue;
		}
		if (leads_to(dir, entry->d_name, target) &&
		    (fstatat(view, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		     !S_ISDIR(st.st_mode)))
			unlinkat(dir, entry->d_name, 0);
	}
}

static int link_each(struct linking *linking, const char *path)
{
	struct cli *cli = linking->cli;
	int view = open(linking->view, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int made = leads_to(linking->project, path, linking->view) ?
			   unlinkat(linking->project, path, 0) :
			   0;
	auto_close int dir = made || io_mkdirs_at(linking->project, path, 0755) ?
				     -1 :
				     openat(linking->project, path,
					    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	auto_dir DIR *list = view < 0 ? NULL : fdopendir(view);
	const struct dirent *entry;
	size_t others = 0;

	if (dir < 0 || !list)
		return cli_complain(cli, CLI_FAILED, NULL, "cannot open %s: %s",
				    dir < 0 ? path : linking->view, strerrordesc_np(errno));
	drop_gone_links(linking, dir, view);
	while ((entry = readdir(list))) {
		auto_free char *target = NULL;

		if (entry->d_name[0] == '.' || entry->d_type != DT_DIR)
			continue;
		if (asprintf(&target, "%s/%s", linking->view, entry->d_name) < 0)
			return CLI_FAILED;
		others += symlinkat(target, dir, entry->d_name) < 0 &&
			  !leads_to(dir, entry->d_name, target);
	}
	if (others)
		cli_note(cli, "%zu name%s in %s %s; not verified", others, PLURAL(others), path,
			 others == 1 ? "is another's and stays" : "are others' and stay");
	return CLI_OK;
}

static int link_row(struct linking *linking, const struct link_row *row)
{
	auto_free char *path = NULL;
	int r = io_mkdirs_at(linking->project, row->above, 0755);
	int status;

	if (asprintf(&path, "%s/skills", row->above) < 0)
		return CLI_FAILED;
	if (r)
		return cli_complain(linking->cli, CLI_FAILED, NULL, "cannot make %s: %s",
				    row->above, strerrordesc_np(-r));
	status = linking->cli->opt.each ? link_each(linking, path) : link_whole(linking, path);
	if (status != CLI_OK)
		return status;
	return out_success(linking->cli, "link", path,
			   linking->cli->opt.each ? "has a link for each verified skill" :
						    "has verified skills alone");
}

/* What clients read besides, whatever is linked here. */
static void note_home(struct cli *cli)
{
	static const char *const dirs[] = { ".claude/skills", ".agents/skills" };
	const char *home = getenv("HOME");

	for (size_t i = 0; home && i < ARRAY_SIZE(dirs); i++) {
		auto_free char *path = NULL;

		if (asprintf(&path, "%s/%s", home, dirs[i]) >= 0 && access(path, F_OK) == 0)
			cli_note(cli, "~/%s stays unchecked: clients read it, too", dirs[i]);
	}
}

#define EXCLUDE ".git/info/exclude"

/* A colleague has no mount there: what is committed would lead nowhere. */
static void note_git(const struct linking *linking)
{
	auto_blob struct rye_blob *text = NULL;

	if (faccessat(linking->project, ".git/info", F_OK, 0))
		return;
	if (!io_read_at(linking->project, EXCLUDE, 1u << 20, &text) &&
	    strstr(text->data, "/.agents/skills"))
		return;
	cli_note(linking->cli,
		 "links lead to a mount of this machine; to keep them out of git: printf "
		 "'/.claude/skills\\n/.agents/skills\\n' >> " EXCLUDE);
}

static bool is_for(const struct link_row *row, const char *client)
{
	auto_free char *word = NULL;

	return !client || (asprintf(&word, " %s ", client) >= 0 && strstr(row->clients, word));
}

static int link_all(struct linking *linking)
{
	const char *client = linking->cli->opt.client;
	int status = CLI_OK;
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(rows) && status == CLI_OK; i++) {
		if (!is_for(&rows[i], client))
			continue;
		status = link_row(linking, &rows[i]);
		n++;
	}
	if (n)
		return status;
	return cli_misuse(
		linking->cli,
		"--client wants claude, codex, copilot, cursor, gemini, opencode or agents, "
		"not %s",
		client);
}

int verb_link(struct cli *cli)
{
	__attribute__((cleanup(linking_done))) struct linking linking = { cli, -1, NULL };
	auto_free char *project = NULL, *mount = NULL;
	int status = cli_open(cli, CLI_PROJECT);
	struct stat st;

	if (status != CLI_OK)
		return status;
	project = realpath(cli->project, NULL);
	if (project)
		mount = find_mount(cli, project, &status);
	if (status == CLI_OK && mount)
		status = check_outside(cli, project, mount);
	if (status != CLI_OK || !mount)
		return status == CLI_OK ? CLI_FAILED : status;
	if (asprintf(&linking.view, "%s/skills", mount) < 0)
		return CLI_FAILED;
	linking.project = open(project, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (linking.project < 0 || stat(linking.view, &st) < 0)
		return cli_complain(cli, CLI_FAILED, NULL, "cannot open %s: %s",
				    linking.project < 0 ? project : linking.view,
				    strerrordesc_np(errno));
	status = link_all(&linking);
	if (status != CLI_OK)
		return status;
	note_home(cli);
	note_git(&linking);
	return CLI_OK;
}
