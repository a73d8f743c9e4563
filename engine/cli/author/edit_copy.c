/* SPDX-License-Identifier: MIT */
/*
 * The copy of an item that `ryefs edit` gives to an editor: without header lines, under the item's own
 * file name, in a private directory of the item's space that is locked as long as the verb works on it.
 * It goes when it was signed, left or dropped. What any other end leaves there, the next call goes on
 * with, so no text is lost. One thread.
 */
#include "cli/author/author.h"

#include "base/id.h"
#include "base/io.h"
#include "bounds.h"
#include "scope.h"
#include "str.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>

#define EDITS "state/edits"
/* Beside the copy: the text that it was begun with, and the one that the difference is shown against. */
#define BASE ".base"
#define BEFORE ".before"

void edit_done(struct edit_copy *edit)
{
	rye_blob_unref(edit->was);
	rye_blob_unref(edit->bare);
	if (edit->dir >= 0)
		close(edit->dir);
	named_item_done(&edit->item);
	free(edit->path);
	free(edit->before);
}

static const char *leaf_of(const struct edit_copy *edit)
{
	return strrchr(edit->item.below, '/') + 1;
}

/* The directory of the copy, below .ai; to free. */
static char *dir_of(const struct edit_copy *edit)
{
	char *dir = NULL;

	return asprintf(&dir, EDITS "/%s", edit->item.below) < 0 ? NULL : dir;
}

/* "cannot write": to read only places a copy in the user space is a way. */
static int edit_cannot(const struct edit_copy *edit, const char *what, int sys)
{
	auto_free char *mend = NULL;

	if ((sys == EROFS || sys == EACCES) && edit->item.space == RYE_PROJECT && edit->item.good)
		mend = mend_with("ryefs fetch --to user %s && ryefs edit --space user %s",
				 edit->item.ref, edit->item.ref);
	return cli_complain(edit->cli, CLI_FAILED, mend, "cannot %s of %s: %s", what,
			    edit->item.file, strerror(sys));
}

/* ---- the directory ---- */

static int edit_locked(const struct edit_copy *edit, const char *dir)
{
	auto_free char *again = cli_retyped(edit->cli, "edit", NULL, NULL), *path = NULL;
	auto_free char *wait = NULL, *mend = NULL;

	if (asprintf(&path, "%.*s%s", (int)(edit->item.below - edit->item.file), edit->item.file,
		     dir) >= 0)
		wait = mend_with("flock %s true", path);
	if (again && wait && asprintf(&mend, "%s && %s", wait, again) < 0)
		mend = NULL;
	return cli_complain(edit->cli, CLI_FAILED, mend, "%s is being edited already",
			    edit->item.ref);
}

/* Another call may remove it between the look and the lock: then it is made again. */
static int edit_open(struct edit_copy *edit)
{
	auto_free char *dir = dir_of(edit);
	struct stat st;
	int r;

	for (int i = 0; dir && i < 8; i++) {
		r = io_mkdirs_at(edit->item.space_fd, dir, 0700);
		if (r >= 0)
			r = io_open_mounted(edit->item.space_fd, dir, O_RDONLY | O_DIRECTORY);
		if (r < 0)
			return edit_cannot(edit, "make a copy", -r);
		edit->dir = r;
		if (flock(edit->dir, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
			return edit_locked(edit, dir);
		if (fstat(edit->dir, &st) == 0 && st.st_nlink)
			return CLI_OK;
		close(steal_fd(&edit->dir));
	}
	return edit_cannot(edit, "make a copy", EAGAIN);
}

void edit_drop(struct edit_copy *edit)
{
	auto_free char *dir = dir_of(edit);
	size_t stays = strlen(EDITS);

	if (!dir || edit->dir < 0)
		return;
	io_remove_tree(edit->item.space_fd, dir, 4);
	for (char *slash; (slash = strrchr(dir, '/')) && (size_t)(slash - dir) >= stays;) {
		*slash = 0;
		if (unlinkat(edit->item.space_fd, dir, AT_REMOVEDIR) < 0)
			return;
	}
}

/* ---- the texts ---- */

static int edit_write(const struct edit_copy *edit, const char *name, struct rye_span text)
{
	int r = io_replace_at(edit->dir, name, text, 0600);

	return r < 0 ? edit_cannot(edit, "make a copy", -r) : CLI_OK;
}

static struct rye_span blob_span(const struct rye_blob *blob)
{
	return (struct rye_span){ blob->data, blob->len };
}

/* What was signed, where that is known of a file that does not verify; else what is there. */
static int write_before(const struct edit_copy *edit)
{
	const struct signed_file file = { edit->item.ref, edit->item.file };
	auto_buf struct rye_buf signed_text = RYE_BUF_INIT;
	auto_blob struct rye_blob *bare = NULL;

	if (!edit->item.good && signed_before(edit->cli, &file, &signed_text))
		bare = rye_bare(edit->item.kind, edit->item.ext, buf_span(&signed_text));
	return edit_write(edit, BEFORE, blob_span(bare ? bare : edit->bare));
}

static int read_file(struct edit_copy *edit)
{
	const struct named_item *item = &edit->item;
	int status = named_item_read(edit->cli, item, &edit->was);

	if (status != CLI_OK)
		return status;
	edit->bare = rye_bare(item->kind, item->ext, blob_span(edit->was));
	return edit->bare ? CLI_OK : cli_complain(edit->cli, CLI_FAILED, NULL, "out of memory");
}

/* The copy is there already: what its author has seen may be another text than the file's. */
static void edit_resume(struct edit_copy *edit)
{
	auto_blob struct rye_blob *base = NULL;

	edit->stale = io_read_at(edit->dir, BASE, RYE_ITEM_MAX, &base) < 0 ||
		      base->len != edit->bare->len ||
		      memcmp(base->data, edit->bare->data, base->len) != 0;
	cli_note(edit->cli, "going on with the text that was left in %s", edit->path);
	if (edit->stale)
		cli_note(
			edit->cli,
			"%s was changed since that was begun: the difference shows what it would take back",
			edit->item.file);
}

int edit_begin(struct edit_copy *edit)
{
	auto_free char *dir = dir_of(edit);
	int status = read_file(edit), root = (int)(edit->item.below - edit->item.file);

	if (status == CLI_OK)
		status = edit_open(edit);
	if (status != CLI_OK)
		return status;
	if (!dir ||
	    asprintf(&edit->path, "%.*s%s/%s", root, edit->item.file, dir, leaf_of(edit)) < 0 ||
	    asprintf(&edit->before, "%.*s%s/" BEFORE, root, edit->item.file, dir) < 0)
		return CLI_FAILED;
	status = write_before(edit);
	if (status == CLI_OK &&
	    faccessat(edit->dir, leaf_of(edit), F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
		edit_resume(edit);
		return CLI_OK;
	}
	/* the copy last: with it there is something to go on with */
	if (status == CLI_OK)
		status = edit_write(edit, BASE, blob_span(edit->bare));
	if (status == CLI_OK)
		status = edit_write(edit, leaf_of(edit), blob_span(edit->bare));
	if (status != CLI_OK)
		edit_drop(edit);
	return status;
}

struct rye_blob *edit_text(const struct edit_copy *edit)
{
	struct rye_blob *text = NULL;
	int r = io_read_at(edit->dir, leaf_of(edit), RYE_ITEM_MAX, &text);

	if (r < 0)
		cli_complain(edit->cli, CLI_FAILED, NULL, "cannot read %s: %s", edit->path,
			     strerror(-r));
	return r < 0 ? NULL : text;
}

bool edit_show(const struct edit_copy *edit, FILE *to)
{
	const char *argv[] = { "diff",	   "-u",
			       "--label",  edit->item.good ? "as it is" : "as it was",
			       "--label",  edit->item.file,
			       "--",	   edit->before,
			       edit->path, NULL };
	auto_buf struct rye_buf text = RYE_BUF_INIT;

	outside_read(argv, &text);
	if (text.len)
		out_text(to, text.data);
	return text.len;
}
