/* SPDX-License-Identifier: MIT */
/*
 * Packs while files are still read: small blobs are gathered on the caller's thread, a batch of them is
 * compressed on the first belt, a pack that is full is sent on the second. Each part belongs to one of these threads;
 * the caller has all of it when both belts are drained.
 */
#include "snapshot/snapshot_inner.h"

/* Of a batch: as much as a frame of a pack has, and not too many files without a byte. */
#define BATCH_BYTES PACK_FRAME_MAX
#define BATCH_ROWS 512
/* What may wait: batches to be compressed, and one pack, to be sent. */
#define PRESS_BYTES (4u << 20)
#define SEND_BYTES PACK_MAX

struct packing_row {
	struct digest sha;
	size_t len;
};

/* Without rows: the pack ends here. */
struct packing_batch {
	struct packing_row rows[BATCH_ROWS];
	size_t n;
	struct rye_buf bytes;
};

struct packing {
	packing_fn fn;
	void *arg;
	struct digest_set seen; /* the caller's, as what follows */
	struct packing_batch *batch;
	size_t taken;
	struct packer *packer; /* the first belt's */
	struct belt *press, *send;
};

static void batch_drop(void *what)
{
	struct packing_batch *batch = what;

	buf_done(&batch->bytes);
	free(batch);
}

static void pack_drop(void *what)
{
	buf_done(what);
	free(what);
}

/* ---- on the belts ---- */

static int send_one(void *arg, void *what, struct rye_err *err)
{
	const struct packing *packing = arg;

	return packing->fn(packing->arg, buf_span(what), err);
}

static int packing_end(struct packing *packing, struct rye_err *err)
{
	struct rye_buf *pack;
	struct digest name;
	int r;

	if (!packer_count(packing->packer))
		return 0;
	pack = calloc(1, sizeof(*pack));
	if (!pack)
		return rye_fail(err, RYE_IO, "push: out of memory");
	r = packer_end(packing->packer, pack, &name, err);
	if (r) {
		pack_drop(pack);
		return r;
	}
	return belt_put(packing->send, pack, pack->len, err);
}

static int press_one(void *arg, void *what, struct rye_err *err)
{
	struct packing *packing = arg;
	const struct packing_batch *batch = what;
	struct rye_span rest = buf_span(&batch->bytes);
	int r = batch->n ? 0 : packing_end(packing, err);

	for (size_t i = 0; !r && i < batch->n; i++) {
		const struct packing_row *row = &batch->rows[i];

		if (!packer_has_room(packing->packer, row->len))
			r = packing_end(packing, err);
		if (!r)
			r = packer_add(packing->packer, &row->sha,
				       (struct rye_span){ rest.ptr, row->len }, err);
		rest.ptr += row->len;
	}
	return r;
}

/* ---- on the caller's thread ---- */

static bool packing_seed(struct packing *packing, const struct manifest *base)
{
	for (size_t i = 0; base && i < base->n; i++)
		if (digest_set_add(&packing->seen, &base->v[i].sha) < 0)
			return false;
	return true;
}

struct packing *packing_new(const struct manifest *base, packing_fn fn, void *arg)
{
	struct packing *packing = calloc(1, sizeof(*packing));

	if (!packing)
		return NULL;
	packing->fn = fn;
	packing->arg = arg;
	if (packing_seed(packing, base))
		return packing;
	packing_free(packing);
	return NULL;
}

/* With the first batch: most pushes have none, and two threads cost as much as all of such a push. */
static bool packing_belts(struct packing *packing)
{
	const struct belt_ask press = { press_one, batch_drop, packing, PRESS_BYTES };
	const struct belt_ask send = { send_one, pack_drop, packing, SEND_BYTES };

	if (!packing->packer)
		packing->packer = packer_new();
	if (!packing->send)
		packing->send = belt_new(&send);
	if (!packing->press)
		packing->press = belt_new(&press);
	return packing->packer && packing->send && packing->press;
}

static int batch_end(struct packing *packing, struct rye_err *err)
{
	size_t len;

	if (!packing->batch)
		return 0;
	if (!packing_belts(packing))
		return rye_fail(err, RYE_IO, "push: out of memory");
	len = packing->batch->bytes.len;
	return belt_put(packing->press, steal(&packing->batch), len, err);
}

int packing_take(struct packing *packing, const struct digest *sha, struct rye_span bytes,
		 struct rye_err *err)
{
	int is_new = digest_set_add(&packing->seen, sha), r = 0;
	struct packing_batch *batch;

	if (!is_new)
		return 0;
	if (packing->batch && packing->batch->bytes.len + bytes.len > BATCH_BYTES)
		r = batch_end(packing, err);
	if (r)
		return r;
	if (!packing->batch)
		packing->batch = calloc(1, sizeof(*packing->batch));
	batch = packing->batch;
	if (!batch || is_new < 0)
		return rye_fail(err, RYE_IO, "push: out of memory");
	if (!batch->n)
		buf_reserve(&batch->bytes, MAX_OF(bytes.len, BATCH_BYTES - 1));
	batch->rows[batch->n++] = (struct packing_row){ *sha, bytes.len };
	buf_addspan(&batch->bytes, bytes);
	packing->taken++;
	if (batch->bytes.failed)
		return rye_fail(err, RYE_IO, "push: out of memory");
	return batch->n == BATCH_ROWS ? batch_end(packing, err) : 0;
}

bool packing_has(const struct packing *packing, const struct digest *sha)
{
	return digest_set_has(&packing->seen, sha);
}

size_t packing_count(const struct packing *packing)
{
	return packing->taken;
}

int packing_flush(struct packing *packing, struct rye_err *err)
{
	struct packing_batch *end;
	int r = batch_end(packing, err);

	if (r || !packing->press)
		return r;
	end = calloc(1, sizeof(*end));
	if (!end)
		return rye_fail(err, RYE_IO, "push: out of memory");
	r = belt_put(packing->press, end, 0, err);
	if (!r)
		r = belt_drain(packing->press, err);
	return r ? r : belt_drain(packing->send, err);
}

void packing_free(struct packing *packing)
{
	if (!packing)
		return;
	belt_free(packing->press);
	belt_free(packing->send);
	packer_free(packing->packer);
	if (packing->batch)
		batch_drop(packing->batch);
	digest_set_done(&packing->seen);
	free(packing);
}
