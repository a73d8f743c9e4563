/* SPDX-License-Identifier: MIT */
/*
 * What a principal needs of the depot: every blob of every manifest that is in use or new. A manifest that should be
 * there and cannot be read ends it: what it names is not known, so nothing may go. On the caller's thread.
 */
#include "pack/pack_inner.h"

#include "str.h"

/* Digests of manifests, one behind the other, in the order in which they were told. */
static int mark_root(void *arg, const char *manifest)
{
	struct depot_mark *mark = arg;
	struct digest name;

	if (digest_parse(span_of(manifest), &name))
		buf_add(&mark->waiting, (const char *)&name, sizeof(name));
	return mark->waiting.failed;
}

/* Whether it is new; or -code. */
static int mark_add(struct digest_set *set, const struct digest *sha, struct rye_err *err)
{
	int is_new = digest_set_add(set, sha);

	return is_new < 0 ? rye_fail(err, RYE_IO, "depot: out of memory") : is_new;
}

static int mark_row(void *arg, const struct board_cells *row)
{
	return mark_root(arg, cell_text(row, 0));
}

/* A list that is not there names nothing: what heals it asks for its pieces, too. */
static int mark_pieces(struct depot_mark *mark, const struct manifest_line *line,
		       struct rye_err *err)
{
	auto_free struct piece *pieces = NULL;
	struct rye_err why = { 0 };
	size_t n = 0;
	int r = mark_add(&mark->lists, &line->sha, err);

	if (r <= 0)
		return r;
	r = depot_pieces(mark->depot, mark->principal, line, &pieces, &n, &why);

	if (r == -(int)RYE_NOT_FOUND)
		return 0;
	if (r && err)
		*err = why;
	for (size_t i = 0; r >= 0 && i < n; i++)
		r = mark_add(&mark->blobs, &pieces[i].sha, err);
	return MIN_OF(r, 0);
}

static int mark_lines(struct depot_mark *mark, const struct manifest *manifest, struct rye_err *err)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && i < manifest->n; i++) {
		const struct manifest_line *line = &manifest->v[i];

		r = mark_add(&mark->blobs, &line->sha, err);
		if (r >= 0 && line_in_pieces(line))
			r = mark_pieces(mark, line, err);
	}
	return MIN_OF(r, 0);
}

/*
 * One that was pushed to another node of the same board is not here, and needs nothing of what is. One that is no
 * root yet may be about to be written: what it needs was told to be there just now, or is needed by the root before it.
 */
static int mark_manifest(struct depot_mark *mark, const struct digest *name, struct rye_err *err)
{
	auto_manifest struct manifest *manifest = NULL;
	struct rye_err why = { 0 };
	char hex[SHA_HEX];
	bool there;
	int r = mark_add(&mark->manifests, name, err);

	if (r <= 0)
		return r;
	digest_hex(name, hex);
	r = depot_has_manifest(mark->depot, mark->principal, hex, &there, err);
	if (r || !there)
		return r;
	r = depot_manifest(mark->depot, mark->principal, name, &manifest, &why);
	if (r == -(int)RYE_NOT_FOUND && !mark->roots)
		return 0;
	if (r && err)
		*err = why;
	return r ? r : mark_lines(mark, manifest, err);
}

static int mark_waiting(struct depot_mark *mark, struct rye_err *err)
{
	auto_buf struct rye_buf waiting = mark->waiting;
	const struct digest *v = (const void *)waiting.data;
	int r = waiting.failed ? rye_fail(err, RYE_IO, "depot: out of memory") : 0;

	mark->waiting = RYE_BUF_INIT;
	for (size_t i = 0; !r && i < waiting.len / sizeof(*v); i++)
		r = mark_manifest(mark, &v[i], err);
	return r ? rye_wrap(err, "nothing was freed") : 0;
}

int depot_mark(struct depot_mark *mark, struct rye_err *err)
{
	const struct depot_gc *ask = mark->ask;
	int r = board_ask(mark->depot->index,
			  &(struct board_query){ .sql = "SELECT " DEPOT_NOW,
						 .fn = row_number,
						 .arg = &mark->now },
			  NULL, err);

	if (!r)
		r = ask->roots(ask->arg, mark->principal, mark_root, mark, err);
	mark->roots = true;
	if (!r)
		r = mark_waiting(mark, err);
	mark->roots = false;
	return r ? r : depot_mark_new(mark, mark->now - ask->new_s, err);
}

int depot_mark_new(struct depot_mark *mark, int64_t since, struct rye_err *err)
{
	int r = board_ask(mark->depot->index,
			  BOARD_ROWS(mark_row, mark,
				     "SELECT sha FROM manifest WHERE principal = ?1 AND made >= ?2",
				     DB_TEXT(mark->principal), DB_INT(since)),
			  NULL, err);

	return r ? r : mark_waiting(mark, err);
}

struct unmarked {
	const struct depot_mark *mark;
	bool any;
};

static int unmarked_row(void *arg, const struct board_cells *row)
{
	struct unmarked *what = arg;
	struct digest name;

	what->any = digest_parse(span_of(cell_text(row, 0)), &name) &&
		    !digest_set_has(&what->mark->manifests, &name);
	return what->any;
}

int depot_mark_fresh(const struct depot_mark *mark, struct board *index, bool *ret,
		     struct rye_err *err)
{
	struct unmarked what = { mark, false };
	int r = board_step(
		index,
		BOARD_ROWS(unmarked_row, &what,
			   "SELECT sha FROM manifest WHERE principal = ?1 AND made >= ?2",
			   DB_TEXT(mark->principal), DB_INT(mark->now)),
		NULL, err);

	*ret = !what.any;
	return r;
}

void depot_mark_done(struct depot_mark *mark)
{
	digest_set_done(&mark->blobs);
	digest_set_done(&mark->lists);
	digest_set_done(&mark->manifests);
	buf_done(&mark->waiting);
}
