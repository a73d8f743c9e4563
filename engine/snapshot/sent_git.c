/* SPDX-License-Identifier: MIT */
/*
 * What git would add: its files and those that it is not told to ignore. The repository is asked, not
 * believed: programs that its configuration names are not started, mounts below it are left out. No lock.
 */
#include "base/io.h"
#include "process/process.h"
#include "snapshot/snapshot_inner.h"

#include "mountinfo.h"
#include "str.h"

#include <fcntl.h>

/* A repository of 200 000 files takes a second or two from a cold disk. */
#define GIT_MS 60000
#define GIT_MOUNTS 16
/* Bytes of names: of as many files as a manifest has. */
#define GIT_NAMES MANIFEST_MAX

struct sent_git_ask {
	const char *project;
	char excludes[GIT_MOUNTS][1100];
	size_t n;
};

/* A mount of FUSE below the project, as a pattern that git leaves out without a look. */
static int note_mount(void *arg, const struct mountinfo *mount)
{
	struct sent_git_ask *ask = arg;
	const char *below = path_below(mount->point, ask->project);

	if (ask->n < GIT_MOUNTS && mountinfo_is_fuse(mount) && below && *below)
		snprintf(ask->excludes[ask->n++], sizeof(ask->excludes[0]), "--exclude=/%.1000s/",
			 below);
	return ask->n == GIT_MOUNTS;
}

/* Blocks until it has ended; its output, or nothing when it fails. */
static bool git_run(const char *path, char *const argv[], const char *cwd, struct rye_buf *ret)
{
	struct pipes pipes;
	struct capture_ask how = { .in = -1,
				   .control = -1,
				   .cancel = -1,
				   .timeout_ms = GIT_MS,
				   .cap = GIT_NAMES };
	struct spawn_ask start = { .path = path,
				   .argv = argv,
				   .envp = environ,
				   .cwd = cwd,
				   .extra = -1 };
	struct captured got;
	bool ok;

	if (pipes_open(&pipes, false, NULL) || pipes_spawn(&pipes, &start, &how, NULL))
		return false;
	capture(&how, &got);
	ok = !got.ended.code && !got.timed_out && got.out_bytes == got.out.len;
	if (ok)
		buf_addspan(ret, buf_span(&got.out));
	captured_done(&got);
	return ok && !ret->failed;
}

static void take_name(struct sent *sent, int root, const char *path)
{
	struct stat st;

	/* what it knows of and is not there was deleted */
	if (!strncmp(path, ".ai/", 4) || fstatat(root, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	if (S_ISDIR(st.st_mode))
		sent_refuse(sent, path, "a repository within another one is not sent");
	else if (S_ISREG(st.st_mode) || S_ISLNK(st.st_mode))
		sent_add(sent, path);
	else
		sent_refuse(sent, path, "that is no file, directory or link");
}

/* Beneath a `.git`: where there is none, git need not be asked. */
static bool in_repository(const char *project)
{
	auto_buf struct rye_buf path = RYE_BUF_INIT;

	buf_adds(&path, project);
	if (path.failed || getenv("GIT_DIR"))
		return true;
	for (size_t n = path.len; n;) {
		path.len = n;
		buf_adds(&path, "/.git");
		if (path.failed || !access(path.data, F_OK))
			return true;
		while (n && path.data[n - 1] != '/')
			n--;
		while (n && path.data[n - 1] == '/')
			n--;
	}
	return !access("/.git", F_OK);
}

int sent_git(struct sent *sent, const char *project, struct rye_err *err)
{
	static const char *const words[] = {
		"git",	    "-c",	"core.fsmonitor=false", "ls-files", "-z",
		"--cached", "--others", "--exclude-standard"
	};
	auto_close int root = open(project, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	auto_free char *path = env_which("git", "/usr/local/bin:/usr/bin:/bin");
	auto_free struct sent_git_ask *ask = calloc(1, sizeof(*ask));
	char *argv[ARRAY_SIZE(words) + GIT_MOUNTS + 1] = { NULL };
	auto_buf struct rye_buf names = RYE_BUF_INIT;
	size_t n = 0;

	if (root < 0 || !ask)
		return rye_fail(err, RYE_IO, "%s: cannot be listed", project);
	if (!path || !in_repository(project))
		return 0;
	ask->project = project;
	mountinfo_each(note_mount, ask);
	for (; n < ARRAY_SIZE(words); n++)
		argv[n] = (char *)words[n];
	for (size_t i = 0; i < ask->n; i++)
		argv[n++] = ask->excludes[i];
	if (!git_run(path, argv, project, &names))
		return 0;
	for (size_t at = 0; at < names.len; at += strlen(names.data + at) + 1)
		take_name(sent, root, names.data + at);
	return 1;
}
