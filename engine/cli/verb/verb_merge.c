/* SPDX-License-Identifier: MIT */
/*
 * ryefs merge: git's driver for items. Their texts are merged without the header lines; where the
 * result is one side's text, that side's file stays as it is, its signature with it; else the result
 * has none. With --textconv, the text that git shows of an item.
 */
#include "cli/cli.h"

#include "base/id.h"
#include "base/io.h"
#include "bounds.h"
#include "scope.h"
#include "str.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { MERGE_OURS, MERGE_BASE, MERGE_THEIRS, MERGE__SIDES };

struct merge_side {
	struct rye_blob *raw, *bare; /* bare: without header lines */
	int fd; /* a file in memory with bare's text, for git to read */
	char path[OUTSIDE_PATH];
};

static void merge_sides_done(struct merge_side (*sides)[MERGE__SIDES])
{
	for (struct merge_side *side = *sides; side < *sides + MERGE__SIDES; side++) {
		rye_blob_unref(side->raw);
		rye_blob_unref(side->bare);
		if (side->fd >= 0)
			close(side->fd);
	}
}

static struct rye_span merge_span(const struct rye_blob *blob)
{
	return (struct rye_span){ blob->data, blob->len };
}

static bool merge_same(const struct rye_blob *a, const struct rye_blob *b)
{
	return a->len == b->len && !memcmp(a->data, b->data, a->len);
}

/*
 * Without header lines; what is no item's text stays as it is. kind RYE_KIND__MAX: by the end of the name
 * alone, for git shows a text from a file elsewhere; the kinds that share an end share its signature.
 */
static struct rye_blob *bare_of(enum rye_kind kind, const char *path, struct rye_blob *raw)
{
	for (int k = 0; k < RYE_KIND__MAX; k++) {
		const char *ext = kind_extension_of(k, path);
		struct rye_blob *bare = NULL;

		if (ext && (kind == RYE_KIND__MAX || kind == (enum rye_kind)k))
			bare = rye_bare(k, ext, merge_span(raw));
		if (bare)
			return bare;
	}
	return rye_blob_ref(raw);
}

static int merge_read(const char *path, struct rye_blob **ret)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	return fd < 0 ? -errno : io_read_fd(fd, RYE_ITEM_MAX, ret, NULL);
}

static int side_read(struct merge_side *side, const char *from, enum rye_kind kind,
		     const char *path)
{
	int r = merge_read(from, &side->raw);

	if (r < 0)
		return r;
	side->bare = bare_of(kind, path, side->raw);
	side->fd = outside_text(merge_span(side->bare), side->path);
	return side->fd < 0 ? -errno : 0;
}

/* Which side's file is the answer; MERGE__SIDES: neither's. */
static int merge_winner(const struct merge_side *sides, const struct rye_blob *merged)
{
	const struct merge_side *ours = &sides[MERGE_OURS], *theirs = &sides[MERGE_THEIRS];
	bool is_ours = merge_same(merged, ours->bare), is_theirs = merge_same(merged, theirs->bare);

	/* both have it: whose has a signature */
	if (is_ours && (!is_theirs || !merge_same(ours->raw, ours->bare)))
		return MERGE_OURS;
	return is_theirs ? MERGE_THEIRS : MERGE__SIDES;
}

static int merge_write(const char *path, const struct rye_blob *text)
{
	auto_close int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);

	return fd < 0 ? -errno : io_write_all(fd, text->data, text->len);
}

/* What is to be signed, as it can be typed: from anywhere in the project, or where git merges. */
static char *merge_remedy(struct cli *cli, const char *path)
{
	char ref[REF_MAX];
	const char *id;

	ref_from_word(cli, path, ref);
	if (rye_kind_has(id_split(ref, &id), RYE_KIND_MANIFEST))
		return mend_with("ryefs skill add %s", id);
	return mend_with("ryefs sign %s", strncmp(path, ".ai/", 4) ? path : ref);
}

static int merge_end(struct cli *cli, const struct merge_side *sides, const char *path,
		     int conflicts)
{
	auto_free char *mend = merge_remedy(cli, path);
	bool is_signed = false;

	for (int i = 0; i < MERGE__SIDES; i++)
		is_signed |= !merge_same(sides[i].raw, sides[i].bare);
	if (conflicts)
		return cli_complain(cli, CLI_FAILED, mend,
				    "%s has %d conflict%s: settle %s, then sign it", path,
				    conflicts, conflicts > 1 ? "s" : "",
				    conflicts > 1 ? "them" : "it");
	if (is_signed)
		cli_note(cli, "%s is merged, and has no signature yet\n" MEND_WITH "%s", path,
			 mend ? mend : "ryefs sign --all");
	return CLI_OK;
}

static int merge_sides(struct cli *cli, const struct merge_side *sides)
{
	const char *git[] = { "git",	     "merge-file",  "-p", "-L",	    "ours",
			      "-L",	     "base",	    "-L", "theirs", sides[0].path,
			      sides[1].path, sides[2].path, NULL };
	const char *into = cli->argv[1], *path = cli->argv[3];
	auto_buf struct rye_buf merged = RYE_BUF_INIT;
	auto_blob struct rye_blob *text = NULL;
	int conflicts = outside_read(git, &merged), winner, sys;

	/* 127 conflicts and more are 127; what is above failed, as with a file that is no text */
	text = conflicts < 0 || conflicts > 127 ? NULL : buf_blob(&merged);
	if (!text)
		return cli_complain(cli, CLI_FAILED, NULL, "git cannot merge %s", path);
	winner = conflicts ? MERGE__SIDES : merge_winner(sides, text);
	sys = merge_write(into, winner == MERGE__SIDES ? text : sides[winner].raw);
	if (sys < 0)
		return cli_complain(cli, CLI_FAILED, NULL, "cannot write %s: %s", into,
				    strerror(-sys));
	return winner == MERGE__SIDES ? merge_end(cli, sides, path, conflicts) : CLI_OK;
}

static int show_text(struct cli *cli, const char *path)
{
	auto_blob struct rye_blob *raw = NULL, *bare = NULL;
	int sys = merge_read(path, &raw);

	if (sys < 0)
		return cli_complain(cli, CLI_FAILED, NULL, "cannot read %s: %s", path,
				    strerror(-sys));
	bare = bare_of(RYE_KIND__MAX, path, raw);
	fwrite(bare->data, 1, bare->len, stdout);
	return CLI_OK;
}

int verb_merge(struct cli *cli)
{
	static const int order[] = { MERGE_BASE, MERGE_OURS, MERGE_THEIRS };
	__attribute__((cleanup(
		merge_sides_done))) struct merge_side sides[MERGE__SIDES] = { { .fd = -1 },
									      { .fd = -1 },
									      { .fd = -1 } };
	char ref[REF_MAX];
	const char *id;

	if (cli->argc != (cli->opt.text ? 1 : 4))
		return cli_misuse(cli, "wanted: %s", cli->verb->usage);
	if (cli->opt.text)
		return show_text(cli, cli->argv[0]);
	ref_from_word(cli, cli->argv[3], ref);
	for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
		int sys =
			side_read(&sides[order[i]], cli->argv[i], id_kind(ref, &id), cli->argv[3]);

		if (sys < 0)
			return cli_complain(cli, CLI_FAILED, NULL, "cannot read %s: %s",
					    cli->argv[i], strerror(-sys));
	}
	return merge_sides(cli, sides);
}
