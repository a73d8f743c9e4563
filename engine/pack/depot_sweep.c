/* SPDX-License-Identifier: MIT */
/*
 * A principal's packs after marking: rows of blobs that nothing needs go, pack by pack, each in a transaction that
 * looks once more whether a manifest was kept since. Packs of which less than half is needed are put together into new ones,
 * in which each blob is verified. On the caller's thread.
 */
#include "pack/pack_inner.h"

#include "str.h"

/* What a pack has beside its blobs, generously: one of few bytes is not written anew for that. */
#define PACK_REST 128
/* Pushes that never pause would keep it from ending. */
#define AGAIN_MAX 64

static int swept_in(void *arg, struct board *index, struct rye_err *err)
{
	struct sweep *sweep = arg;
	bool fresh = false;
	int r = depot_hold(index, sweep->mark->principal, err);

	if (!r)
		r = depot_mark_fresh(sweep->mark, index, &fresh, err);
	sweep->again = !fresh;
	return r || !fresh ? r : sweep->fn(sweep, index, err);
}

int depot_swept(struct sweep *sweep, struct rye_err *err)
{
	for (int i = 0; i < AGAIN_MAX; i++) {
		int r = board_transaction(sweep->mark->depot->index, swept_in, sweep, err);

		if (r || !sweep->again)
			return r;
		r = depot_mark_new(sweep->mark, sweep->mark->now, err);
		if (r)
			return r;
	}
	return rye_fail(err, RYE_BUSY, "pushes do not pause: what is garbage cannot be told");
}

/* ---- one pack ---- */

struct sweep_pack {
	struct sweep sweep;
	char name[SHA_HEX];
	int64_t bytes;
	/* of its rows, as they were looked at */
	struct pack_place *places;
	bool *dead;
	size_t n, room, n_dead;
	double live; /* bytes of it that are needed */
	/* what became of it */
	int64_t blobs, freed;
};

static void sweep_pack_done(struct sweep_pack *pack)
{
	free(pack->places);
	free(pack->dead);
}
#define auto_sweep_pack __attribute__((cleanup(sweep_pack_done)))

static bool pack_grow(struct sweep_pack *pack)
{
	size_t room = pack->room ? 2 * pack->room : 256;
	struct pack_place *places = realloc(pack->places, room * sizeof(*places));
	bool *dead;

	if (!places)
		return false;
	pack->places = places;
	dead = realloc(pack->dead, room * sizeof(*dead));
	if (!dead)
		return false;
	pack->dead = dead;
	pack->room = room;
	return true;
}

static int look_row(void *arg, const struct board_cells *row)
{
	struct sweep_pack *pack = arg;
	const struct depot_mark *mark = pack->sweep.mark;
	struct pack_place *place;
	bool dead;

	if (pack->n == pack->room && !pack_grow(pack)) {
		pack->room = 0;
		return 1;
	}
	place = &pack->places[pack->n];
	place_read(row, place);
	if (!digest_parse(span_of(cell_text(row, 0)), &place->sha))
		return 0;
	dead = !digest_set_has(&mark->blobs, &place->sha) &&
	       cell_int(row, 7) < mark->now - mark->ask->new_s;
	pack->dead[pack->n++] = dead;
	pack->n_dead += dead;
	if (!dead)
		pack->live += PACK_BLOB_ROW +
			      (place->len ? (double)place->size * place->zlen / place->len : 0);
	return 0;
}

static int pack_look(struct sweep_pack *pack, struct board *index, struct rye_err *err)
{
	int r;

	pack->n = pack->n_dead = 0;
	pack->live = PACK_REST;
	r = board_step(index,
		       BOARD_ROWS(look_row, pack,
				  "SELECT sha, " PLACE_COLUMNS ", seen FROM blob "
				  "WHERE principal = ?1 AND pack = ?2 ORDER BY off, at",
				  DB_TEXT(pack->sweep.mark->principal), DB_TEXT(pack->name)),
		       NULL, err);
	return !r && pack->n > pack->room ? rye_fail(err, RYE_IO, "depot: out of memory") : r;
}

/* What is dead is told to be there no more. */
static int pack_rows(struct sweep *sweep, struct sweep_pack *pack, struct board *index,
		     struct rye_err *err)
{
	auto_buf struct rye_buf rows = RYE_BUF_INIT;
	int gone = 0, r;

	if (!pack->n_dead)
		return 0;
	for (size_t i = 0; i < pack->n; i++) {
		char sha[SHA_HEX];

		digest_hex(&pack->places[i].sha, sha);
		if (pack->dead[i])
			buf_addf(&rows, "%s[\"%s\"]", rows.len ? "," : "[", sha);
	}
	buf_addc(&rows, ']');
	if (rows.failed)
		return rye_fail(err, RYE_IO, "depot: out of memory");
	r = board_step(index,
		       BOARD_QUERY("DELETE FROM blob WHERE principal = ?1 AND pack = ?3 AND "
				   "sha IN (SELECT e.value->>0 FROM {rows})",
				   DB_TEXT(sweep->mark->principal), DB_TEXT(rows.data),
				   DB_TEXT(pack->name)),
		       &gone, err);
	pack->blobs = gone;
	return r;
}

static int pack_sweep(void *arg, struct board *index, struct rye_err *err)
{
	struct sweep_pack *pack = arg;
	const struct depot_mark *mark = pack->sweep.mark;
	int r = pack_look(pack, index, err);

	pack->blobs = pack->freed = 0;
	if (r || mark->ask->dry)
		return r;
	r = pack_rows(&pack->sweep, pack, index, err);
	return r ? r : depot_drop_pack(index, mark->principal, pack->name, &pack->freed, err);
}

/* ---- what is left of poor packs, together ---- */

struct sweep_moves {
	struct depot_mark *mark;
	struct depot_freed *freed;
	struct packer *packer;
	struct rye_buf old; /* names of packs, SHA_HEX bytes each, whose blobs are in it */
	/* of the new pack, while its rows move */
	char name[SHA_HEX];
	struct pack_place *places;
	size_t n;
};

/* LIMIT: SQLite makes the list first then, and looks for a blob by its name, not through all of a principal's. */
static int move_rows(const struct sweep_moves *moves, struct board *index, struct rye_err *err)
{
	auto_buf struct rye_buf rows = RYE_BUF_INIT;

	for (size_t i = 0; i < moves->n; i++)
		place_row_add(&rows, &moves->places[i]);
	buf_addc(&rows, ']');
	if (rows.failed)
		return rye_fail(err, RYE_IO, "depot: out of memory");
	return board_step(
		index,
		BOARD_QUERY("UPDATE blob SET pack = ?3, off = CAST(e.value->>1 AS BIGINT), "
			    "zlen = CAST(e.value->>2 AS BIGINT), "
			    "len = CAST(e.value->>3 AS BIGINT), "
			    "raw = CAST(e.value->>4 AS BIGINT), "
			    "at = CAST(e.value->>5 AS BIGINT), "
			    "size = CAST(e.value->>6 AS BIGINT) "
			    "FROM (SELECT e.value FROM {rows} LIMIT ?4) AS e "
			    "WHERE blob.principal = ?1 AND blob.sha = e.value->>0",
			    DB_TEXT(moves->mark->principal), DB_TEXT(rows.data),
			    DB_TEXT(moves->name), DB_INT((int64_t)moves->n)),
		NULL, err);
}

static int move_in(void *arg, struct board *index, struct rye_err *err)
{
	struct sweep_moves *moves = arg;
	const char *principal = moves->mark->principal;
	int64_t bytes;
	int r = depot_hold(index, principal, err);

	if (!r)
		r = move_rows(moves, index, err);
	for (size_t at = 0; !r && at < moves->old.len; at += SHA_HEX) {
		r = depot_drop_pack(index, principal, moves->old.data + at, &bytes, err);
		moves->freed->bytes += r ? 0 : bytes;
		moves->freed->rewritten += !r && bytes;
	}
	return r;
}

/* The packer's blobs as a pack, and their rows to it. */
static int moves_end(struct sweep_moves *moves, struct rye_err *err)
{
	struct depot *depot = moves->mark->depot;
	auto_buf struct rye_buf pack = RYE_BUF_INIT;
	auto_free struct pack_place *places = NULL;
	struct depot_freed before = *moves->freed;
	struct digest name;
	int r;

	if (!packer_count(moves->packer))
		return 0;
	r = packer_end(moves->packer, &pack, &name, err);
	if (!r)
		r = pack_places(buf_span(&pack), &places, &moves->n, &name, err);
	if (!r)
		r = depot_take(depot, moves->mark->principal, buf_span(&pack), -1, err);
	if (r)
		return r;
	digest_hex(&name, moves->name);
	moves->places = places;
	r = board_transaction(depot->index, move_in, moves, err);
	if (r)
		*moves->freed = before;
	else
		moves->freed->bytes -= (int64_t)pack.len;
	buf_clear(&moves->old);
	return r;
}

/* One that is damaged is lost by being read, and goes with its pack. */
static int moves_blob(struct sweep_moves *moves, const struct digest *sha, struct rye_err *err)
{
	auto_buf struct rye_buf bytes = RYE_BUF_INIT;
	struct rye_err why = { 0 };
	int r = depot_read(moves->mark->depot, moves->mark->principal, sha, &bytes, &why);

	if (r == -(int)RYE_IO || r == -(int)RYE_NOT_FOUND)
		return 0;
	if (r && err)
		*err = why;
	return r ? r : packer_add(moves->packer, sha, buf_span(&bytes), err);
}

static int moves_pack(struct sweep_moves *moves, const struct sweep_pack *pack, struct rye_err *err)
{
	int r = 0;

	buf_add(&moves->old, pack->name, SHA_HEX);
	for (size_t i = 0; !r && i < pack->n; i++) {
		if (pack->dead[i])
			continue;
		if (!packer_has_room(moves->packer, pack->places[i].size)) {
			r = moves_end(moves, err);
			buf_add(&moves->old, pack->name, SHA_HEX);
		}
		if (!r)
			r = moves_blob(moves, &pack->places[i].sha, err);
	}
	return r || !moves->old.failed ? r : rye_fail(err, RYE_IO, "depot: out of memory");
}

/* ---- all of them ---- */

struct old_packs {
	struct rye_buf names; /* SHA_HEX bytes each */
	struct rye_buf bytes; /* int64_t each */
};

static int old_row(void *arg, const struct board_cells *row)
{
	struct old_packs *old = arg;
	char name[SHA_HEX] = "";
	int64_t bytes = cell_int(row, 1);

	cell_copy(row, 0, name, sizeof(name));
	buf_add(&old->names, name, sizeof(name));
	buf_add(&old->bytes, (const char *)&bytes, sizeof(bytes));
	return 0;
}

static int sweep_one(struct sweep_moves *moves, const char *name, int64_t bytes,
		     struct rye_err *err)
{
	auto_sweep_pack struct sweep_pack pack = { .sweep = { .mark = moves->mark,
							      .fn = pack_sweep },
						   .bytes = bytes };
	struct depot_freed *freed = moves->freed;
	bool dry = moves->mark->ask->dry, poor;
	int r;

	snprintf(pack.name, sizeof(pack.name), "%s", name);
	r = depot_swept(&pack.sweep, err);
	if (r)
		return r;
	poor = pack.n > pack.n_dead && 2 * pack.live < (double)bytes;
	freed->blobs += dry ? (int64_t)pack.n_dead : pack.blobs;
	freed->packs += dry ? pack.n == pack.n_dead : pack.freed > 0;
	freed->bytes += !dry		      ? pack.freed :
			pack.n == pack.n_dead ? bytes :
			poor		      ? bytes - (int64_t)pack.live :
						0;
	if (dry)
		freed->rewritten += poor;
	return dry || !poor ? 0 : moves_pack(moves, &pack, err);
}

int depot_sweep(struct depot_mark *mark, struct depot_freed *freed, struct rye_err *err)
{
	auto_packer struct packer *packer = packer_new();
	struct sweep_moves moves = { .mark = mark, .freed = freed, .packer = packer };
	struct old_packs old = { .names = RYE_BUF_INIT };
	int r;

	if (!packer)
		return rye_fail(err, RYE_IO, "depot: out of memory");
	r = board_ask(mark->depot->index,
		      BOARD_ROWS(old_row, &old,
				 "SELECT name, bytes FROM pack WHERE principal = ?1 AND made < ?2 "
				 "ORDER BY made, name",
				 DB_TEXT(mark->principal), DB_INT(mark->now - mark->ask->new_s)),
		      NULL, err);
	if (!r && (old.names.failed || old.bytes.failed))
		r = rye_fail(err, RYE_IO, "depot: out of memory");
	for (size_t i = 0; !r && i < old.names.len / SHA_HEX; i++)
		r = sweep_one(&moves, old.names.data + i * SHA_HEX,
			      ((const int64_t *)(const void *)old.bytes.data)[i], err);
	if (!r)
		r = moves_end(&moves, err);
	buf_done(&old.names);
	buf_done(&old.bytes);
	buf_done(&moves.old);
	return r;
}
