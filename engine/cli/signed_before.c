/* SPDX-License-Identifier: MIT */
/*
 * The bytes of an item as they were when they were last good: looked for in git's history of its
 * file, in an editor's copy beside it, and among the items of that name in other spaces. A version
 * counts when it verifies at its own place: it is put into a project of its own, in a temporary
 * directory, and looked at there. Nothing of the workspace is changed.
 */
#include "cli/cli.h"

#include "base/io.h"
#include "bounds.h"
#include "scope.h"
#include "str.h"

#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#define REVISIONS "50" /* of the file, the newest first; more than a person wants to look at */

/* The project in which a version is tried. */
struct signed_trial {
	struct cli *cli;
	char dir[64];
	const char *below; /* path below .ai */
	const char *ref;
	struct rye *rye;
};

static int trial_remove(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	return remove(path);
}

static void trial_end(struct signed_trial *trial)
{
	if (trial->rye)
		rye_close(trial->rye);
	if (*trial->dir)
		nftw(trial->dir, trial_remove, 8, FTW_DEPTH | FTW_PHYS);
}

static bool trial_begin(struct signed_trial *trial)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(trial->dir, sizeof(trial->dir), "%s/ryefs-diff.XXXXXX",
		 tmp && strlen(tmp) < 40 ? tmp : "/tmp");
	if (mkdtemp(trial->dir))
		return true;
	*trial->dir = 0;
	return false;
}

static bool trial_is_good(void *arg, struct rye_span bytes)
{
	struct signed_trial *trial = arg;
	auto_close int root = open(trial->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	auto_free char *path = NULL, *dir = NULL;
	auto_json json_t *rows = NULL;
	bool good = false;
	json_t *row;
	size_t i;

	if (asprintf(&path, ".ai/%s", trial->below) < 0)
		return false;
	dir = strndup(path, (size_t)(strrchr(path, '/') - path));
	if (root < 0 || !dir || io_mkdirs_at(root, dir, 0700) < 0 ||
	    io_replace_at(root, path, bytes, 0600) < 0)
		return false;
	if (trial->rye)
		rye_close(trial->rye);
	trial->rye = cli_engine_for(trial->cli, trial->dir);
	rows = trial->rye ? ref_verdicts_of(trial->cli, trial->rye, trial->ref, NULL) : NULL;
	json_array_foreach(rows, i, row)
		if (!strcmp(json_str(row, "space"), "project"))
			good = json_flag(row, "ok", false);
	return good;
}

/* ---- where to look ---- */

bool git_revision(const char *path, git_takes_fn *takes, void *arg, struct rye_buf *ret)
{
	auto_free char *dir = strndup(path, (size_t)(strrchr(path, '/') - path));
	auto_free char *name = NULL;
	const char *list[] = { GIT, dir, "rev-list", "-n", REVISIONS, "HEAD", "--", NULL, NULL };
	auto_buf struct rye_buf revisions = RYE_BUF_INIT;
	struct rye_span rest, line;

	/* so it is no pattern to git */
	if (asprintf(&name, ":(literal)%s", strrchr(path, '/') + 1) < 0)
		return false;
	list[ARRAY_SIZE(list) - 2] = name;
	if (!dir || outside_read(list, &revisions) != 0)
		return false;
	rest = buf_span(&revisions);
	while (span_line(&rest, &line)) {
		auto_free char *object = NULL;
		const char *show[] = { GIT, dir, "cat-file", "blob", NULL, NULL };

		if (asprintf(&object, "%.*s:./%s", (int)line.len, line.ptr,
			     strrchr(path, '/') + 1) < 0)
			return false;
		show[ARRAY_SIZE(show) - 2] = object;
		buf_clear(ret);
		if (outside_read(show, ret) == 0 && takes(arg, buf_span(ret)))
			return true;
	}
	return false;
}

/* The blob is released. True: it is what was signed; it is in ret. */
static bool trial_takes(struct signed_trial *trial, struct rye_blob *blob, struct rye_buf *ret)
{
	buf_clear(ret);
	buf_add(ret, blob->data, blob->len);
	rye_blob_unref(blob);
	return trial_is_good(trial, (struct rye_span){ ret->data, ret->len });
}

static bool from_copy(struct signed_trial *trial, const char *path, struct rye_buf *ret)
{
	static const char *const ends[] = { "~", ".orig", ".bak" };

	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		auto_free char *copy = NULL;
		auto_close int fd = -1;
		struct rye_blob *blob = NULL;

		if (asprintf(&copy, "%s%s", path, ends[i]) < 0)
			return false;
		fd = open(copy, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
		if (fd < 0 || io_read_fd(fd, RYE_ITEM_MAX, &blob, NULL) < 0)
			continue;
		if (trial_takes(trial, blob, ret))
			return true;
	}
	return false;
}

static bool from_spaces(struct signed_trial *trial, const char *path, struct rye_buf *ret)
{
	int n = rye_space_count(trial->cli->rye);

	for (int i = 0; i < n; i++) {
		auto_free char *other = NULL;
		struct rye_space_info space;
		struct rye_blob *blob = NULL;

		rye_space_get(trial->cli->rye, i, &space);
		if (space.fd < 0 || asprintf(&other, "%s/.ai/%s", space.root, trial->below) < 0 ||
		    !strcmp(other, path) ||
		    io_read_at(space.fd, trial->below, RYE_ITEM_MAX, &blob) < 0)
			continue;
		if (trial_takes(trial, blob, ret))
			return true;
	}
	return false;
}

bool signed_before(struct cli *cli, const struct signed_file *file, struct rye_buf *ret)
{
	__attribute__((cleanup(trial_end))) struct signed_trial trial = { .cli = cli,
									  .ref = file->ref };
	const char *marker = file->path, *at;

	while ((at = strstr(marker, "/.ai/")))
		marker = at + strlen("/.ai/");
	trial.below = marker;
	if (marker == file->path || !strchr(marker, '/') || !trial_begin(&trial))
		return false;
	return git_revision(file->path, trial_is_good, &trial, ret) ||
	       from_copy(&trial, file->path, ret) || from_spaces(&trial, file->path, ret);
}

#define SIGNED_LABEL "as it was signed"

/* Of two texts, what stands above each. */
struct signed_labels {
	const char *before, *now;
};

static int show_lines(struct cli *cli, struct rye_span before, const char *now,
		      const struct signed_labels *labels, FILE *to)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	char old[OUTSIDE_PATH];
	auto_close int fd = outside_text(before, old);
	const char *argv[] = { "diff",	  "-u",	       "--label", labels->before,
			       "--label", labels->now, "--",	  old,
			       now,	  NULL };
	int status = fd < 0 ? -1 : outside_read(argv, &text);

	if (status < 0 || status > 1)
		return -1;
	if (text.len)
		color_diff(cli, to, text.data);
	return status;
}

int signed_lines(struct cli *cli, struct rye_span before, const char *now, const char *name,
		 FILE *to)
{
	return show_lines(cli, before, now, &(struct signed_labels){ SIGNED_LABEL, name }, to);
}

/* "2026-01-02T03:04:05Z:HASH:…" of a text that bears a signature; len 0: it bears none. */
static struct rye_span signed_line(struct rye_span text)
{
	static const char mark[] = "rye:signed:";
	ssize_t at = span_find(text, 0, mark);
	struct rye_span line = { "", 0 };

	if (at >= 0) {
		text = span_skip(text, (size_t)at + strlen(mark));
		span_line(&text, &line);
	}
	return line;
}

/* What was signed last may be neither committed nor copied: then it is not that which is shown. */
static void signed_label(const struct signed_file *file, struct rye_span before, char ret[96])
{
	auto_blob struct rye_blob *text = NULL;
	struct rye_span now = { "", 0 }, was = signed_line(before);
	auto_close int fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd >= 0 && io_read_fd(fd, RYE_ITEM_MAX, &text, NULL) == 0)
		now = signed_line((struct rye_span){ text->data, text->len });
	if (!now.len || (now.len == was.len && !memcmp(now.ptr, was.ptr, now.len)))
		snprintf(ret, 96, SIGNED_LABEL);
	else
		snprintf(ret, 96, SIGNED_LABEL " at %.*s; it was signed again since",
			 (int)(was.len < 20 ? was.len : 20), was.ptr);
}

int signed_diff(struct cli *cli, const struct signed_file *file, FILE *to)
{
	auto_buf struct rye_buf before = RYE_BUF_INIT;
	char label[96];

	if (!signed_before(cli, file, &before))
		return -1;
	signed_label(file, buf_span(&before), label);
	return show_lines(cli, buf_span(&before), file->path,
			  &(struct signed_labels){ label, file->path }, to);
}
