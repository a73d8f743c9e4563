/* SPDX-License-Identifier: MIT */
/*
 * The frames of a pull: manifests, and packs of blobs, which are taken into a depot here: that verifies each, and
 * after a cut they need not come again. No lock: one thread has the connection.
 */
#include "remote/remote_inner.h"

#include "clock.h"
#include "memory.h"
#include "str.h"

#define PULL_MS 300000
/* Bytes and number of blobs that are asked for at once: with what a pack has besides, they fit into one. */
#define PULL_BYTES (PACK_MAX - (1u << 20))
#define PULL_COUNT 4096

static int pull_keep(void *arg, struct rye_span bytes, struct rye_err *err)
{
	struct rye_buf *into = arg;

	buf_addspan(into, bytes);
	return into->failed ? rye_fail(err, RYE_TOO_BIG, "the node sends more than was asked for") :
			      0;
}

static int pull_ask(struct conn *conn, const json_t *body, struct rye_buf *ret, struct rye_err *err)
{
	auto_json json_t *reply = NULL;
	const struct conn_ask ask = { .type = FRAME_GET,
				      .body = body,
				      .until = clock_ms() + PULL_MS,
				      .data = pull_keep,
				      .arg = ret };

	return body ? conn_ask(conn, &ask, &reply, err) : memory_fail(err);
}

int pull_manifest(struct conn *conn, const char *sha, const struct manifest *base,
		  struct manifest **ret, struct rye_err *err)
{
	auto_json json_t *body = json_pack("{s:s}", "manifest", sha);
	auto_buf struct rye_buf bytes = { .cap = MANIFEST_MAX };
	auto_manifest struct manifest *manifest = NULL;
	auto_blob struct rye_blob *text = NULL;
	char hex[SHA_HEX];
	int r;

	if (base) {
		digest_hex(&base->name, hex);
		json_sets(body, "base", hex);
	}
	r = pull_ask(conn, body, &bytes, err);
	if (!r)
		r = manifest_grow(base ? base->text : NULL, buf_span(&bytes), &text, err);
	if (!r)
		r = manifest_parse(text, &manifest, err);
	if (r)
		return r;
	digest_hex(&manifest->name, hex);
	if (strcmp(hex, sha) != 0)
		return rye_fail(err, RYE_MODIFIED,
				"the manifest is not the one that was asked for");
	*ret = steal(&manifest);
	return 0;
}

/* ---- blobs ---- */

struct pulling {
	struct conn *conn;
	struct depot *depot;
	json_t *blobs; /* asked for next */
	uint64_t bytes;
};

static int pull_flush(struct pulling *pulling, struct rye_err *err)
{
	auto_json json_t *body = json_pack("{s:O}", "blobs", pulling->blobs);
	auto_buf struct rye_buf pack = { .cap = PACK_MAX };
	int r;

	if (!json_array_size(pulling->blobs))
		return 0;
	r = pull_ask(pulling->conn, body, &pack, err);
	if (!r)
		r = depot_take(pulling->depot, PULL_OWNER, buf_span(&pack), -1, err);
	json_array_clear(pulling->blobs);
	pulling->bytes = 0;
	return r;
}

static int pull_add(struct pulling *pulling, const struct digest *sha, uint64_t size,
		    struct rye_err *err)
{
	unsigned char there = 0;
	char hex[SHA_HEX];
	int r = depot_has(pulling->depot, PULL_OWNER, sha, 1, &there, err);

	if (!r && !there &&
	    (pulling->bytes + size > PULL_BYTES || json_array_size(pulling->blobs) >= PULL_COUNT))
		r = pull_flush(pulling, err);
	if (r || there)
		return r;
	digest_hex(sha, hex);
	if (json_lists(pulling->blobs, hex))
		return 0;
	pulling->bytes += size;
	return json_array_append_new(pulling->blobs, json_string(hex)) ? memory_fail(err) : 0;
}

static bool in_pieces(const struct manifest_line *line)
{
	return line->mode == MANIFEST_PIECES || line->mode == MANIFEST_PIECES_EXEC;
}

/* Of a file in pieces its list, whose lines are shorter than 80 bytes, of pieces of at least 512 KiB. */
static int pull_whole(struct pulling *pulling, const struct manifest *manifest, struct rye_err *err)
{
	int r = 0;

	for (size_t i = 0; !r && i < manifest->n; i++) {
		const struct manifest_line *line = &manifest->v[i];

		r = pull_add(pulling, &line->sha,
			     in_pieces(line) ? (line->size / (512u << 10) + 1) * 80 : line->size,
			     err);
	}
	return r ? r : pull_flush(pulling, err);
}

static int pull_pieces(struct pulling *pulling, const struct manifest_line *line,
		       struct rye_err *err)
{
	auto_buf struct rye_buf list = RYE_BUF_INIT;
	auto_free struct piece *pieces = NULL;
	size_t n = 0;
	int r = depot_read(pulling->depot, PULL_OWNER, &line->sha, &list, err);

	if (!r)
		r = pieces_parse(buf_span(&list), line->size, &pieces, &n, err);
	for (size_t i = 0; !r && i < n; i++)
		r = pull_add(pulling, &pieces[i].sha, pieces[i].size, err);
	return r;
}

int pull_blobs(struct conn *conn, struct depot *depot, const struct manifest *manifest,
	       struct rye_err *err)
{
	auto_json json_t *blobs = json_array();
	struct pulling pulling = { .conn = conn, .depot = depot, .blobs = blobs };
	int r = blobs ? pull_whole(&pulling, manifest, err) : memory_fail(err);

	for (size_t i = 0; !r && i < manifest->n; i++)
		if (in_pieces(&manifest->v[i]))
			r = pull_pieces(&pulling, &manifest->v[i], err);
	return r ? r : pull_flush(&pulling, err);
}
