/* SPDX-License-Identifier: MIT */
/*
 * Manifests on the depot: objects of the store, compressed, which are kept only when all that they name
 * is there; and files of one, put together of their blobs. No lock.
 */
#include "pack/pack_inner.h"

/* Digests that are asked for at once: as many as a list of pieces may have. */
#define KEEP_BATCH 65536

void manifest_object(const char *hex, char ret[MANIFEST_NAME_LEN])
{
	snprintf(ret, MANIFEST_NAME_LEN, "manifests/%.2s/%s", hex, hex);
}

bool line_in_pieces(const struct manifest_line *line)
{
	return line->mode == MANIFEST_PIECES || line->mode == MANIFEST_PIECES_EXEC;
}

int depot_pieces(struct depot *depot, const char *principal, const struct manifest_line *line,
		 struct piece **ret, size_t *ret_n, struct rye_err *err)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	int r = depot_read(depot, principal, &line->sha, &text, err);

	return r ? r : pieces_parse(buf_span(&text), line->size, ret, ret_n, err);
}

/* Digests whose blobs have to be there, and the path of each. */
struct needs {
	struct depot *depot;
	const char *principal;
	struct digest *v;
	const char **paths;
	size_t n;
};

static int needs_ask(struct needs *needs, struct rye_err *err)
{
	auto_free unsigned char *bits = calloc(1, KEEP_BATCH / 8);
	int r;

	if (!bits)
		return rye_fail(err, RYE_IO, "manifest: out of memory");
	r = depot_has(needs->depot, needs->principal, needs->v, needs->n, bits, err);
	if (r)
		return r;
	for (size_t i = 0; i < needs->n; i++)
		if (!(bits[i / 8] & 1 << i % 8))
			return rye_fail(err, RYE_NOT_FOUND,
					"manifest: the bytes of '%s' are not here",
					needs->paths[i]);
	needs->n = 0;
	return 0;
}

static int needs_add(struct needs *needs, const struct digest *sha, const char *path,
		     struct rye_err *err)
{
	needs->v[needs->n] = *sha;
	needs->paths[needs->n++] = path;
	return needs->n == KEEP_BATCH ? needs_ask(needs, err) : 0;
}

static int needs_line(struct needs *needs, const struct manifest_line *line, struct rye_err *err)
{
	auto_free struct piece *pieces = NULL;
	size_t n = 0;
	int r = needs_add(needs, &line->sha, line->path, err);

	if (!r && line_in_pieces(line)) {
		r = depot_pieces(needs->depot, needs->principal, line, &pieces, &n, err);
		if (r)
			rye_wrap(err, "'%s'", line->path);
	}
	for (size_t i = 0; !r && i < n; i++)
		r = needs_add(needs, &pieces[i].sha, line->path, err);
	return r;
}

static int needs_all(struct needs *needs, const struct manifest *manifest,
		     const struct manifest *base, struct rye_err *err)
{
	int r = 0;

	for (size_t i = 0; !r && i < manifest->n; i++) {
		const struct manifest_line *line = &manifest->v[i];
		const struct manifest_line *old = base ? manifest_find(base, line->path) : NULL;

		if (!old || !digest_is(&old->sha, &line->sha))
			r = needs_line(needs, line, err);
	}
	return r ? r : needs_ask(needs, err);
}

int depot_whole(struct depot *depot, const char *principal, const struct manifest *manifest,
		const struct manifest *base, struct rye_err *err)
{
	auto_free struct digest *v = calloc(KEEP_BATCH, sizeof(*v));
	auto_free const char **paths = calloc(KEEP_BATCH, sizeof(*paths));
	struct needs needs = { depot, principal, v, paths, 0 };

	if (!v || !paths)
		return rye_fail(err, RYE_IO, "manifest: out of memory");
	return needs_all(&needs, manifest, base, err);
}

struct keeping {
	const char *principal, *object;
	char hex[SHA_HEX];
};

/* Before its bytes are written: from now on no object of that name is deleted. */
static int keep_row(void *arg, struct board *index, struct rye_err *err)
{
	const struct keeping *what = arg;
	int r = depot_hold(index, what->principal, err);

	if (!r)
		r = depot_undrop(index, what->object, err);
	return r ? r :
		   board_step(index,
			      BOARD_QUERY("INSERT INTO manifest (principal, sha, made) VALUES "
					  "(?1, ?2, " DEPOT_NOW ") ON CONFLICT (principal, sha) "
					  "DO UPDATE SET made = " DEPOT_NOW,
					  DB_TEXT(what->principal), DB_TEXT(what->hex)),
			      NULL, err);
}

int depot_keep(struct depot *depot, const char *principal, const struct manifest *manifest,
	       const struct manifest *base, struct rye_err *err)
{
	auto_buf struct rye_buf bytes = RYE_BUF_INIT;
	char object[MANIFEST_NAME_LEN];
	struct keeping what = { principal, object, "" };
	int r = depot_whole(depot, principal, manifest, base, err);

	if (!r)
		r = manifest_shrink(NULL, manifest->text, &bytes, err);
	if (r)
		return r;
	digest_hex(&manifest->name, what.hex);
	manifest_object(what.hex, object);
	r = board_transaction(depot->index, keep_row, &what, err);
	return r ? r : store_put(depot->store, object, buf_span(&bytes), err);
}

static int touch_row(void *arg, struct board *index, struct rye_err *err)
{
	const struct keeping *what = arg;
	int r = depot_hold(index, what->principal, err);

	return r ? r :
		   board_step(index,
			      BOARD_QUERY("UPDATE manifest SET made = " DEPOT_NOW
					  " WHERE principal = ?1 AND sha = ?2",
					  DB_TEXT(what->principal), DB_TEXT(what->hex)),
			      NULL, err);
}

int depot_touch(struct depot *depot, const char *principal, const char *manifest,
		struct rye_err *err)
{
	struct keeping what = { .principal = principal };

	snprintf(what.hex, sizeof(what.hex), "%s", manifest);
	return board_transaction(depot->index, touch_row, &what, err);
}

static int found_row(void *arg, const struct board_cells *row)
{
	(void)row;
	*(bool *)arg = true;
	return 1;
}

int depot_has_manifest(struct depot *depot, const char *principal, const char *hex, bool *ret,
		       struct rye_err *err)
{
	*ret = false;
	return board_ask(depot->index,
			 BOARD_ROWS(found_row, ret,
				    "SELECT 1 FROM manifest WHERE principal = ?1 AND sha = ?2",
				    DB_TEXT(principal), DB_TEXT(hex)),
			 NULL, err);
}

int depot_manifest(struct depot *depot, const char *principal, const struct digest *name,
		   struct manifest **ret, struct rye_err *err)
{
	auto_manifest struct manifest *manifest = NULL;
	auto_buf struct rye_buf bytes = RYE_BUF_INIT;
	auto_blob struct rye_blob *text = NULL;
	char object[MANIFEST_NAME_LEN], hex[SHA_HEX];
	const struct store_range range = { object, 0, STORE_WHOLE };
	bool found = false;
	int r;

	digest_hex(name, hex);
	manifest_object(hex, object);
	r = depot_has_manifest(depot, principal, hex, &found, err);
	if (r)
		return r;
	if (!found)
		return rye_fail(err, RYE_NOT_FOUND, "no manifest %s", hex);
	r = store_get(depot->store, &range, &bytes, err);
	if (!r)
		r = manifest_grow(NULL, buf_span(&bytes), &text, err);
	if (!r)
		r = manifest_parse(text, &manifest, err);
	if (r)
		return r;
	if (!digest_is(&manifest->name, name))
		return rye_fail(err, RYE_IO, "manifest %s is no longer what it was", hex);
	*ret = steal(&manifest);
	return 0;
}

static int depot_give(struct depot *depot, const char *principal, const struct digest *sha,
		      depot_bytes_fn fn, void *arg, struct rye_err *err)
{
	auto_buf struct rye_buf blob = RYE_BUF_INIT;
	int r = depot_read(depot, principal, sha, &blob, err);

	return r ? r : fn(arg, buf_span(&blob), err);
}

int depot_file(struct depot *depot, const char *principal, const struct manifest_line *line,
	       depot_bytes_fn fn, void *arg, struct rye_err *err)
{
	auto_free struct piece *pieces = NULL;
	size_t n = 0;
	int r;

	if (!line_in_pieces(line)) {
		r = depot_give(depot, principal, &line->sha, fn, arg, err);
		return r ? rye_wrap(err, "'%s'", line->path) : 0;
	}
	r = depot_pieces(depot, principal, line, &pieces, &n, err);
	for (size_t i = 0; !r && i < n; i++)
		r = depot_give(depot, principal, &pieces[i].sha, fn, arg, err);
	return r ? rye_wrap(err, "'%s'", line->path) : 0;
}
