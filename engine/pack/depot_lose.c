/* SPDX-License-Identifier: MIT */
/*
 * Damage: a pack was changed, cut or mixed up. All of it is looked at as soon as one blob of it is found
 * to be bad, since one push has to mend it, and what is bad is no longer said to be there. Rows change in one transaction.
 */
#include "pack/pack_inner.h"

struct losing {
	const char *principal, *pack;
	struct rye_span bytes; /* of the pack */
	struct rye_buf room, shas; /* shas: struct digest, one behind the other */
	/* the frame that is unpacked; none begins at 0 */
	struct rye_span frame;
	uint32_t off;
};

static bool is_bad(struct losing *what, const struct pack_place *place)
{
	struct rye_span blob;

	if (place->off != what->off || place->len != what->frame.len) {
		what->off = 0;
		if (place->off > what->bytes.len || place->zlen > what->bytes.len - place->off ||
		    frame_open((struct rye_span){ what->bytes.ptr + place->off, place->zlen },
			       place, &what->room, &what->frame, NULL))
			return true;
		what->off = place->off;
	}
	return frame_blob(what->frame, place, &blob, NULL);
}

static int check_row(void *arg, const struct board_cells *row)
{
	struct losing *what = arg;
	struct pack_place place = { 0 };
	const char *sha = cell_text(row, 0);

	place_read(row, &place);
	if (!digest_parse((struct rye_span){ sha, strlen(sha) }, &place.sha) ||
	    is_bad(what, &place))
		buf_add(&what->shas, (const char *)&place.sha, sizeof(place.sha));
	return 0;
}

static int lose_one(const struct losing *what, const struct digest *sha, struct board *index,
		    struct rye_err *err)
{
	char hex[SHA_HEX];
	int changes = 0, r;

	digest_hex(sha, hex);
	r = board_step(
		index,
		BOARD_QUERY("DELETE FROM blob WHERE principal = ?1 AND sha = ?2 AND pack = ?3",
			    DB_TEXT(what->principal), DB_TEXT(hex), DB_TEXT(what->pack)),
		&changes, err);
	/* none: it has come again meanwhile, in another pack */
	return r || !changes ?
		       r :
		       board_step(
			       index,
			       BOARD_QUERY(
				       "INSERT INTO hole (principal, sha) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
				       DB_TEXT(what->principal), DB_TEXT(hex)),
			       NULL, err);
}

static int lose_rows(void *arg, struct board *index, struct rye_err *err)
{
	const struct losing *what = arg;
	const struct digest *v = (const void *)what->shas.data;
	size_t n = what->shas.len / sizeof(*v);
	int r = depot_hold(index, what->principal, err);

	for (size_t i = 0; !r && i < n; i++)
		r = lose_one(what, &v[i], index, err);
	/* what is sent anew counts once */
	return r ? r : depot_drop_pack(index, what->principal, what->pack, NULL, err);
}

/* Others that are bad; false: the pack could not be looked at. */
static bool look_at_pack(struct depot *depot, struct losing *what)
{
	auto_buf struct rye_buf bytes = RYE_BUF_INIT;
	char object[PACK_NAME_LEN];
	const struct store_range range = { object, 0, STORE_WHOLE };
	struct digest name;
	int r;

	if (!digest_parse((struct rye_span){ what->pack, strlen(what->pack) }, &name))
		return false;
	pack_name(&name, object);
	r = store_get(depot->store, &range, &bytes, NULL);
	if (r && r != -RYE_NOT_FOUND)
		return false;
	what->bytes = buf_span(&bytes);
	r = board_ask(depot->index,
		      BOARD_ROWS(check_row, what,
				 "SELECT sha, " PLACE_COLUMNS
				 " FROM blob WHERE principal = ?1 AND pack = ?2 ORDER BY off",
				 DB_TEXT(what->principal), DB_TEXT(what->pack)),
		      NULL, NULL);
	what->bytes = what->frame = (struct rye_span){ "", 0 };
	return !r && !what->shas.failed;
}

void depot_lose(struct depot *depot, const char *principal, const struct digest *sha,
		const char *pack)
{
	struct losing what = { .principal = principal, .pack = pack };

	/* the frame that is kept is that of the bad bytes */
	*depot->pack = '\0';
	if (!look_at_pack(depot, &what))
		buf_clear(&what.shas);
	buf_add(&what.shas, (const char *)sha, sizeof(*sha));
	if (!what.shas.failed)
		board_transaction(depot->index, lose_rows, &what, NULL);
	buf_done(&what.room);
	buf_done(&what.shas);
}
