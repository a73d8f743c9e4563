/* SPDX-License-Identifier: MIT */
/*
 * The depot: where each blob of each principal lies. A pack is in the store, synced, before its rows
 * are written in one transaction, so a row never points at nothing; a process that is killed between the two leaves
 * a pack that depot_gc.c finds. Bytes are verified when they come and when they are read.
 */
#include "pack/pack_inner.h"

#include <errno.h>

static const char schema[] =
	"CREATE TABLE IF NOT EXISTS pack (principal TEXT NOT NULL, name TEXT NOT NULL, "
	"bytes INTEGER NOT NULL, made INTEGER NOT NULL, PRIMARY KEY (principal, name)) WITHOUT ROWID;"
	"CREATE TABLE IF NOT EXISTS blob (principal TEXT NOT NULL, sha TEXT NOT NULL, "
	"pack TEXT NOT NULL, off INTEGER NOT NULL, zlen INTEGER NOT NULL, len INTEGER NOT NULL, "
	"raw INTEGER NOT NULL, at INTEGER NOT NULL, size INTEGER NOT NULL, seen INTEGER NOT NULL, "
	"PRIMARY KEY (principal, sha)) WITHOUT ROWID;"
	"CREATE INDEX IF NOT EXISTS blob_pack ON blob (principal, pack);"
	"CREATE TABLE IF NOT EXISTS hole (principal TEXT NOT NULL, sha TEXT NOT NULL, "
	"PRIMARY KEY (principal, sha)) WITHOUT ROWID;"
	"CREATE TABLE IF NOT EXISTS manifest (principal TEXT NOT NULL, sha TEXT NOT NULL, "
	"made INTEGER NOT NULL, PRIMARY KEY (principal, sha)) WITHOUT ROWID;"
	"CREATE TABLE IF NOT EXISTS root (principal TEXT NOT NULL, project TEXT NOT NULL, "
	"number INTEGER NOT NULL, sha TEXT NOT NULL, PRIMARY KEY (principal, project, number)) "
	"WITHOUT ROWID;"
	"CREATE TABLE IF NOT EXISTS gone (name TEXT PRIMARY KEY, since INTEGER NOT NULL) "
	"WITHOUT ROWID;";

#define NOW "CAST(strftime('%s', 'now') AS INTEGER)"

int depot_open(const char *dir, struct depot **ret, struct rye_err *err)
{
	auto_depot struct depot *depot = calloc(1, sizeof(*depot));
	auto_buf struct rye_buf path = RYE_BUF_INIT;
	int r;

	buf_addf(&path, "%s/index.db", dir);
	if (!depot || path.failed)
		return rye_fail(err, RYE_IO, "%s: out of memory", dir);
	r = store_open(dir, &depot->store, err);
	if (!r)
		r = db_open(path.data, schema, &depot->db, err);
	if (r)
		return r;
	*ret = steal(&depot);
	return 0;
}

void depot_close(struct depot *depot)
{
	if (!depot)
		return;
	db_close(depot->db);
	store_close(depot->store);
	buf_done(&depot->room);
	free(depot);
}

/* ---- taking packs ---- */

struct taking {
	const char *principal;
	char name[SHA_HEX];
	const struct pack_place *places;
	size_t n;
	int64_t bytes, limit;
};

static int one_number(void *arg, sqlite3_stmt *row)
{
	*(int64_t *)arg = sqlite3_column_int64(row, 0);
	return 0;
}

/* RYE_BUDGET when the pack, which is new to this principal, is too much. */
static int check_limit(const struct taking *what, struct db *db, struct rye_err *err)
{
	int64_t used = 0;
	int r = db_step(
		db,
		DB_ROWS(one_number, &used,
			"SELECT COALESCE(SUM(bytes), 0) FROM pack WHERE principal = ? AND name <> ?",
			DB_TEXT(what->principal), DB_TEXT(what->name)),
		NULL, err);

	if (r || what->limit < 0 || used + what->bytes <= what->limit)
		return r;
	rye_fail(err, RYE_BUDGET, "%.1f of %.1f MB of yours are used, %.1f MB more are wanted",
		 (double)used / 1e6, (double)what->limit / 1e6, (double)what->bytes / 1e6);
	err->sys = EDQUOT;
	return -(int)RYE_BUDGET;
}

static int add_blob(const struct taking *what, const struct pack_place *place, struct db *db,
		    struct rye_err *err)
{
	char sha[SHA_HEX];
	int r;

	digest_hex(&place->sha, sha);
	r = db_step(db,
		    DB_QUERY("INSERT INTO blob VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, " NOW
			     ") ON CONFLICT DO UPDATE SET seen = " NOW,
			     DB_TEXT(what->principal), DB_TEXT(sha), DB_TEXT(what->name),
			     DB_INT(place->off), DB_INT(place->zlen), DB_INT(place->len),
			     DB_INT(place->raw), DB_INT(place->at), DB_INT(place->size)),
		    NULL, err);
	if (!r)
		r = db_step(db,
			    DB_QUERY("DELETE FROM hole WHERE principal = ? AND sha = ?",
				     DB_TEXT(what->principal), DB_TEXT(sha)),
			    NULL, err);
	return r;
}

static int take_rows(void *arg, struct db *db, struct rye_err *err)
{
	const struct taking *what = arg;
	int r = check_limit(what, db, err);

	if (!r)
		r = db_step(db,
			    DB_QUERY("INSERT INTO pack VALUES (?, ?, ?, " NOW
				     ") ON CONFLICT DO UPDATE SET made = " NOW,
				     DB_TEXT(what->principal), DB_TEXT(what->name),
				     DB_INT(what->bytes)),
			    NULL, err);
	if (!r)
		r = db_step(db, DB_QUERY("DELETE FROM gone WHERE name = ?", DB_TEXT(what->name)),
			    NULL, err);
	for (size_t i = 0; !r && i < what->n; i++)
		r = add_blob(what, &what->places[i], db, err);
	return r;
}

/* Before the bytes are written; what another process takes meanwhile is looked at with the rows. */
static int limit_first(void *arg, struct db *db, struct rye_err *err)
{
	return check_limit(arg, db, err);
}

int depot_take(struct depot *depot, const char *principal, struct rye_span pack, int64_t limit,
	       struct rye_err *err)
{
	auto_free struct pack_place *places = NULL;
	struct taking what = { .principal = principal, .bytes = (int64_t)pack.len, .limit = limit };
	struct rye_err mine = { 0 };
	char object[PACK_NAME_LEN];
	struct digest name;
	int r;

	err = err ? err : &mine;
	r = pack_verify(pack, &places, &what.n, &name, err);
	if (r)
		return r;
	what.places = places;
	digest_hex(&name, what.name);
	pack_name(&name, object);
	r = db_transaction(depot->db, limit_first, &what, err);
	if (!r)
		r = store_put(depot->store, object, pack, err);
	return r ? r : db_transaction(depot->db, take_rows, &what, err);
}

/* ---- asking ---- */

struct having {
	const char *principal;
	const struct digest *v;
	size_t n;
	unsigned char *ret;
};

static int has_rows(void *arg, struct db *db, struct rye_err *err)
{
	const struct having *what = arg;

	memset(what->ret, 0, (what->n + 7) / 8);
	for (size_t i = 0; i < what->n; i++) {
		char sha[SHA_HEX];
		int changes = 0, r;

		digest_hex(&what->v[i], sha);
		r = db_step(db,
			    DB_QUERY("UPDATE blob SET seen = " NOW
				     " WHERE principal = ? AND sha = ?",
				     DB_TEXT(what->principal), DB_TEXT(sha)),
			    &changes, err);
		if (r)
			return r;
		if (changes)
			what->ret[i / 8] |= (unsigned char)(1 << i % 8);
	}
	return 0;
}

int depot_has(struct depot *depot, const char *principal, const struct digest *v, size_t n,
	      unsigned char *ret, struct rye_err *err)
{
	struct having what = { principal, v, n, ret };

	return db_transaction(depot->db, has_rows, &what, err);
}

int depot_used(struct depot *depot, const char *principal, struct depot_used *ret,
	       struct rye_err *err)
{
	int r;

	*ret = (struct depot_used){ 0 };
	r = db_run(depot->db,
		   DB_ROWS(one_number, &ret->bytes,
			   "SELECT COALESCE(SUM(bytes), 0) FROM pack WHERE principal = ?",
			   DB_TEXT(principal)),
		   NULL, err);
	if (!r)
		r = db_run(depot->db,
			   DB_ROWS(one_number, &ret->holes,
				   "SELECT COUNT(*) FROM hole WHERE principal = ?",
				   DB_TEXT(principal)),
			   NULL, err);
	return r;
}

/* ---- reading ---- */

struct finding {
	struct pack_place place;
	char pack[SHA_HEX];
};

void place_read(sqlite3_stmt *row, struct pack_place *ret)
{
	ret->off = (uint32_t)sqlite3_column_int64(row, 1);
	ret->zlen = (uint32_t)sqlite3_column_int64(row, 2);
	ret->len = (uint32_t)sqlite3_column_int64(row, 3);
	ret->raw = sqlite3_column_int64(row, 4);
	ret->at = (uint32_t)sqlite3_column_int64(row, 5);
	ret->size = (uint32_t)sqlite3_column_int64(row, 6);
}

static int place_row(void *arg, sqlite3_stmt *row)
{
	struct finding *found = arg;

	snprintf(found->pack, sizeof(found->pack), "%s", (const char *)sqlite3_column_text(row, 0));
	place_read(row, &found->place);
	return 1;
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

int depot_read(struct depot *depot, const char *principal, const struct digest *sha,
	       struct rye_buf *ret, struct rye_err *err)
{
	struct finding found = { .place.sha = *sha };
	char hex[SHA_HEX];
	struct rye_err why = { 0 };
	struct rye_span blob;
	int r;

	digest_hex(sha, hex);
	r = db_run(depot->db,
		   DB_ROWS(place_row, &found,
			   "SELECT pack, " PLACE_COLUMNS " FROM blob "
			   "WHERE principal = ? AND sha = ?",
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
	if (err_scarce(&why))
		return rye_fail(err, why.code, "%s", why.msg);
	depot_lose(depot, principal, sha, found.pack);
	return rye_fail(err, RYE_IO,
			"blob %s is no longer what it was (%s); the next push sends it anew", hex,
			why.msg);
}
