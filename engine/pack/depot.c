/* SPDX-License-Identifier: MIT */
/*
 * The depot: where each blob of each principal lies. A pack is in the store, synced, before its rows
 * are written in one transaction, so a row never points at nothing; a process that is killed between the two leaves
 * a pack that depot_gc.c finds. Bytes are verified when they come and when they are read.
 */
#include "pack/pack_inner.h"

#include <errno.h>

/* `made` of a pack, which is there before its bytes and its blobs are; `dropped`: objects that go later. */
static const struct board_tables tables = {
	"CREATE TABLE IF NOT EXISTS pack (principal TEXT NOT NULL, name TEXT NOT NULL, "
	"bytes BIGINT NOT NULL, made BIGINT NOT NULL, PRIMARY KEY (principal, name)){rowless};"
	"CREATE TABLE IF NOT EXISTS blob (principal TEXT NOT NULL, sha TEXT NOT NULL, "
	"pack TEXT NOT NULL, off BIGINT NOT NULL, zlen BIGINT NOT NULL, len BIGINT NOT NULL, "
	"raw BIGINT NOT NULL, at BIGINT NOT NULL, size BIGINT NOT NULL, seen BIGINT NOT NULL, "
	"PRIMARY KEY (principal, sha)){rowless};"
	"CREATE INDEX IF NOT EXISTS blob_pack ON blob (principal, pack);"
	"CREATE TABLE IF NOT EXISTS hole (principal TEXT NOT NULL, sha TEXT NOT NULL, "
	"PRIMARY KEY (principal, sha)){rowless};"
	"CREATE TABLE IF NOT EXISTS manifest (principal TEXT NOT NULL, sha TEXT NOT NULL, "
	"made BIGINT NOT NULL, PRIMARY KEY (principal, sha)){rowless};"
	"CREATE INDEX IF NOT EXISTS pack_name ON pack (name);"
	"CREATE INDEX IF NOT EXISTS manifest_sha ON manifest (sha);"
	"CREATE TABLE IF NOT EXISTS dropped (name TEXT PRIMARY KEY, principal TEXT NOT NULL, "
	"since BIGINT NOT NULL){rowless};",
	.last = "dropped",
	.quiet = true,
};

int depot_open_at(const struct depot_place *place, struct depot **ret, struct rye_err *err)
{
	auto_depot struct depot *depot = calloc(1, sizeof(*depot));
	int r;

	if (!depot)
		return rye_fail(err, RYE_IO, "%s: out of memory", place->store);
	r = store_open(place->store, &depot->store, err);
	if (!r)
		r = board_open_tables(place->index, &tables, &depot->index, err);
	if (r)
		return r;
	*ret = steal(&depot);
	return 0;
}

int depot_open(const char *dir, struct depot **ret, struct rye_err *err)
{
	auto_buf struct rye_buf index = RYE_BUF_INIT;
	struct depot_place place = { .store = dir };

	buf_addf(&index, "sqlite:%s/index.db", dir);
	if (index.failed)
		return rye_fail(err, RYE_IO, "%s: out of memory", dir);
	place.index = index.data;
	return depot_open_at(&place, ret, err);
}

void depot_close(struct depot *depot)
{
	if (!depot)
		return;
	board_close(depot->index);
	store_close(depot->store);
	buf_done(&depot->room);
	free(depot);
}

int depot_hold(struct board *index, const char *name, struct rye_err *err)
{
	char key[STORE_NAME_MAX + 16];

	snprintf(key, sizeof(key), "depot:%s", name);
	return board_hold(index, key, err);
}

int row_number(void *arg, const struct board_cells *row)
{
	*(int64_t *)arg = cell_int(row, 0);
	return 0;
}

/* ---- taking packs ---- */

struct taking {
	const char *principal;
	char name[SHA_HEX], object[PACK_NAME_LEN];
	const struct pack_place *places;
	size_t n;
	int64_t bytes, limit;
};

/* RYE_BUDGET when the pack, which is new to this principal, is too much. */
static int check_limit(const struct taking *what, struct board *index, struct rye_err *err)
{
	int64_t used = 0;
	int r = board_step(
		index,
		BOARD_ROWS(row_number, &used,
			   "SELECT COALESCE(SUM(bytes), 0) FROM pack WHERE principal = ?1 AND "
			   "name <> ?2",
			   DB_TEXT(what->principal), DB_TEXT(what->name)),
		NULL, err);

	if (r || what->limit < 0 || used + what->bytes <= what->limit)
		return r;
	rye_fail(err, RYE_BUDGET, "%.1f of %.1f MB of yours are used, %.1f MB more are wanted",
		 (double)used / 1e6, (double)what->limit / 1e6, (double)what->bytes / 1e6);
	err->sys = EDQUOT;
	return -(int)RYE_BUDGET;
}

static int note_pack(const struct taking *what, struct board *index, struct rye_err *err)
{
	return board_step(index,
			  BOARD_QUERY("INSERT INTO pack (principal, name, bytes, made) VALUES "
				      "(?1, ?2, ?3, " DEPOT_NOW ") ON CONFLICT (principal, name) "
				      "DO UPDATE SET made = " DEPOT_NOW,
				      DB_TEXT(what->principal), DB_TEXT(what->name),
				      DB_INT(what->bytes)),
			  NULL, err);
}

/* Before its bytes are written: room for it, and from now on no object of that name is deleted. */
static int take_open(void *arg, struct board *index, struct rye_err *err)
{
	const struct taking *what = arg;
	int r = depot_hold(index, what->principal, err);

	if (!r)
		r = check_limit(what, index, err);
	if (!r)
		r = depot_undrop(index, what->object, err);
	return r ? r : note_pack(what, index, err);
}

/* So many at once: to a database on another machine each question is a way there and back. */
#define ROWS_AT_ONCE 512

static int add_blobs(const struct taking *what, struct rye_span rows, struct board *index,
		     struct rye_err *err)
{
	static const char *const statements[] = {
		"UPDATE blob SET seen = " DEPOT_NOW " WHERE principal = ?1 AND sha IN "
		"(SELECT e.value->>0 FROM {rows}) AND ?3 <> ''",
		"INSERT INTO blob (principal, sha, pack, off, zlen, len, raw, at, size, seen) "
		"SELECT ?1, e.value->>0, ?3, CAST(e.value->>1 AS BIGINT), "
		"CAST(e.value->>2 AS BIGINT), CAST(e.value->>3 AS BIGINT), "
		"CAST(e.value->>4 AS BIGINT), CAST(e.value->>5 AS BIGINT), "
		"CAST(e.value->>6 AS BIGINT), " DEPOT_NOW " FROM {rows} WHERE true "
		"ON CONFLICT (principal, sha) DO NOTHING",
		"DELETE FROM hole WHERE principal = ?1 AND sha IN "
		"(SELECT e.value->>0 FROM {rows}) AND ?3 <> ''",
	};
	int r = 0;

	for (size_t i = 0; !r && i < ARRAY_SIZE(statements); i++)
		r = board_step(index,
			       BOARD_QUERY(statements[i], DB_TEXT(what->principal),
					   DB_TEXT(rows.ptr), DB_TEXT(what->name)),
			       NULL, err);
	return r;
}

void place_row_add(struct rye_buf *rows, const struct pack_place *place)
{
	char sha[SHA_HEX];

	digest_hex(&place->sha, sha);
	buf_addf(rows, "%s[\"%s\",%u,%u,%u,%d,%u,%u]", rows->len ? "," : "[", sha, place->off,
		 place->zlen, place->len, place->raw, place->at, place->size);
}

static int take_rows(void *arg, struct board *index, struct rye_err *err)
{
	const struct taking *what = arg;
	auto_buf struct rye_buf rows = RYE_BUF_INIT;
	int r = depot_hold(index, what->principal, err);

	if (!r)
		r = note_pack(what, index, err);
	for (size_t i = 0; !r && i < what->n; i++) {
		place_row_add(&rows, &what->places[i]);
		if (i + 1 < what->n && (i + 1) % ROWS_AT_ONCE)
			continue;
		buf_addc(&rows, ']');
		r = rows.failed ? rye_fail(err, RYE_IO, "pack: out of memory") :
				  add_blobs(what, buf_span(&rows), index, err);
		buf_clear(&rows);
	}
	return r;
}

/* Its bytes could not be written: what there may be of them goes later. */
static int take_back(void *arg, struct board *index, struct rye_err *err)
{
	const struct taking *what = arg;
	int r = depot_hold(index, what->principal, err);

	return r ? r : depot_drop_pack(index, what->principal, what->name, NULL, err);
}

/* A pack on its way into the store, on a belt. */
struct storing {
	struct store *store;
	struct rye_span pack;
};

static int store_pack(void *arg, void *what, struct rye_err *err)
{
	const struct storing *storing = arg;

	return store_put(storing->store, what, storing->pack, err);
}

/* Verified while it is written and synced, which takes as long. What turns out to be bad is taken back. */
static int check_and_store(struct depot *depot, struct rye_span pack, const struct taking *what,
			   struct rye_err *err)
{
	struct storing storing = { depot->store, pack };
	const struct belt_ask ask = { store_pack, free, &storing, PACK_MAX };
	auto_belt struct belt *belt = belt_new(&ask);
	auto_free char *copy = strdup(what->object);
	int r;

	if (!belt || !copy)
		return rye_fail(err, RYE_IO, "pack: out of memory");
	r = belt_put(belt, steal(&copy), pack.len, err);
	if (!r)
		r = pack_check(pack, what->places, what->n, err);
	return r ? r : belt_drain(belt, err);
}

int depot_take(struct depot *depot, const char *principal, struct rye_span pack, int64_t limit,
	       struct rye_err *err)
{
	auto_free struct pack_place *places = NULL;
	struct taking what = { .principal = principal, .bytes = (int64_t)pack.len, .limit = limit };
	struct rye_err mine = { 0 };
	struct digest name;
	int r;

	err = err ? err : &mine;
	r = pack_places(pack, &places, &what.n, &name, err);
	if (r)
		return r;
	what.places = places;
	digest_hex(&name, what.name);
	pack_name(&name, what.object);
	r = board_transaction(depot->index, take_open, &what, err);
	if (r)
		return r;
	r = check_and_store(depot, pack, &what, err);
	if (r) {
		board_transaction(depot->index, take_back, &what, NULL);
		return r;
	}
	return board_transaction(depot->index, take_rows, &what, err);
}

/* ---- asking ---- */

struct having {
	const char *principal;
	const struct digest *v;
	size_t n;
	unsigned char *ret;
};

static int there_row(void *arg, const struct board_cells *row)
{
	struct having *what = arg;
	size_t i = (size_t)cell_int(row, 0);

	if (i < what->n)
		what->ret[i / 8] |= (unsigned char)(1 << i % 8);
	return 0;
}

/*
 * Marked as seen before it is told: then none that is told goes. EXISTS: of a join, SQLite went through all of a
 * principal's blobs, and through the list for each.
 */
static int has_some(struct having *what, struct rye_span rows, struct board *index,
		    struct rye_err *err)
{
	int r = board_step(index,
			   BOARD_QUERY("UPDATE blob SET seen = " DEPOT_NOW
				       " WHERE principal = ?1 AND sha IN "
				       "(SELECT e.value->>1 FROM {rows})",
				       DB_TEXT(what->principal), DB_TEXT(rows.ptr)),
			   NULL, err);

	return r ? r :
		   board_step(index,
			      BOARD_ROWS(there_row, what,
					 "SELECT e.value->>0 FROM {rows} WHERE EXISTS "
					 "(SELECT 1 FROM blob WHERE principal = ?1 AND "
					 "sha = e.value->>1)",
					 DB_TEXT(what->principal), DB_TEXT(rows.ptr)),
			      NULL, err);
}

static int has_rows(void *arg, struct board *index, struct rye_err *err)
{
	struct having *what = arg;
	auto_buf struct rye_buf rows = RYE_BUF_INIT;
	int r = depot_hold(index, what->principal, err);

	memset(what->ret, 0, (what->n + 7) / 8);
	for (size_t i = 0; !r && i < what->n; i++) {
		char sha[SHA_HEX];

		digest_hex(&what->v[i], sha);
		buf_addf(&rows, "%s[%zu,\"%s\"]", rows.len ? "," : "[", i, sha);
		if (i + 1 < what->n && (i + 1) % ROWS_AT_ONCE)
			continue;
		buf_addc(&rows, ']');
		r = rows.failed ? rye_fail(err, RYE_IO, "depot: out of memory") :
				  has_some(what, buf_span(&rows), index, err);
		buf_clear(&rows);
	}
	return r;
}

int depot_has(struct depot *depot, const char *principal, const struct digest *v, size_t n,
	      unsigned char *ret, struct rye_err *err)
{
	struct having what = { principal, v, n, ret };

	return board_transaction(depot->index, has_rows, &what, err);
}

int depot_used(struct depot *depot, const char *principal, struct depot_used *ret,
	       struct rye_err *err)
{
	int r;

	*ret = (struct depot_used){ 0 };
	r = board_ask(depot->index,
		      BOARD_ROWS(row_number, &ret->bytes,
				 "SELECT COALESCE(SUM(bytes), 0) FROM pack WHERE principal = ?1",
				 DB_TEXT(principal)),
		      NULL, err);
	if (!r)
		r = board_ask(depot->index,
			      BOARD_ROWS(row_number, &ret->holes,
					 "SELECT COUNT(*) FROM hole WHERE principal = ?1",
					 DB_TEXT(principal)),
			      NULL, err);
	return r;
}

/* ---- reading ---- */

struct finding {
	struct pack_place place;
	char pack[SHA_HEX];
};

void place_read(const struct board_cells *row, struct pack_place *ret)
{
	ret->off = (uint32_t)cell_int(row, 1);
	ret->zlen = (uint32_t)cell_int(row, 2);
	ret->len = (uint32_t)cell_int(row, 3);
	ret->raw = cell_int(row, 4);
	ret->at = (uint32_t)cell_int(row, 5);
	ret->size = (uint32_t)cell_int(row, 6);
}

static int place_row(void *arg, const struct board_cells *row)
{
	struct finding *found = arg;

	cell_copy(row, 0, found->pack, sizeof(found->pack));
	place_read(row, &found->place);
	return 1;
}

/* What is so of the bytes, not of the way to them. */
static bool is_damage(const struct rye_err *why)
{
	return !err_scarce(why) && why->code != RYE_UNREACHABLE && why->code != RYE_TIMEOUT &&
	       why->code != RYE_DENIED && why->code != RYE_UNSUPPORTED;
}

/* The frame into the depot's, if it is not there already. */
static int open_frame(struct depot *depot, const struct finding *found, struct rye_err *err)
{
	auto_buf struct rye_buf bytes = RYE_BUF_INIT;
	char object[PACK_NAME_LEN];
	const struct store_range range = { object, found->place.off, found->place.zlen };
	struct digest name;
	int r;

	if (!strcmp(depot->pack, found->pack) && depot->off == found->place.off &&
	    depot->frame.len == found->place.len)
		return 0;
	*depot->pack = '\0';
	if (!digest_parse((struct rye_span){ found->pack, strlen(found->pack) }, &name))
		return rye_fail(err, RYE_IO, "the depot names no pack: '%s'", found->pack);
	pack_name(&name, object);
	r = store_get(depot->store, &range, &bytes, err);
	if (!r)
		r = frame_open(buf_span(&bytes), &found->place, &depot->room, &depot->frame, err);
	if (r)
		return r;
	if (found->place.raw) {
		/* it lies where it was read to */
		buf_done(&depot->room);
		depot->room = bytes;
		bytes = RYE_BUF_INIT;
		depot->frame = buf_span(&depot->room);
	}
	memcpy(depot->pack, found->pack, sizeof(depot->pack));
	depot->off = found->place.off;
	return 0;
}

void depot_until(struct depot *depot, const _Atomic bool *stop)
{
	depot->stop = stop;
}

int depot_read(struct depot *depot, const char *principal, const struct digest *sha,
	       struct rye_buf *ret, struct rye_err *err)
{
	struct finding found = { .place.sha = *sha };
	char hex[SHA_HEX];
	struct rye_err why = { 0 };
	struct rye_span blob;
	int r;

	if (depot->stop && *depot->stop)
		return rye_fail(err, RYE_CANCELLED, "it is not wanted any more");
	digest_hex(sha, hex);
	r = board_ask(depot->index,
		      BOARD_ROWS(place_row, &found,
				 "SELECT pack, " PLACE_COLUMNS " FROM blob "
				 "WHERE principal = ?1 AND sha = ?2",
				 DB_TEXT(principal), DB_TEXT(hex)),
		      NULL, err);
	if (r)
		return r;
	if (!*found.pack)
		return rye_fail(err, RYE_NOT_FOUND, "no blob %s", hex);
	r = open_frame(depot, &found, &why);
	if (!r)
		r = frame_blob(depot->frame, &found.place, &blob, &why);
	if (!r) {
		buf_addspan(ret, blob);
		return ret->failed ? rye_fail(err, RYE_IO, "%s: out of memory", hex) : 0;
	}
	if (!is_damage(&why))
		return rye_fail(err, why.code, "%s", why.msg);
	depot_lose(depot, principal, sha, found.pack);
	return rye_fail(err, RYE_IO,
			"blob %s is no longer what it was (%s); the next push sends it anew", hex,
			why.msg);
}
