/* SPDX-License-Identifier: MIT */
/*
 * Objects of the store whose rows have gone: they are noted with the time, and deleted when that is long
 * enough ago, since a process may have read the rows before. Rows and objects of a name are held by one
 * transaction at a time, so none is deleted that is wanted again.
 */
#include "pack/pack_inner.h"

#include "str.h"

int depot_drop(struct board *index, const char *principal, const char *object, struct rye_err *err)
{
	return board_step(index,
			  BOARD_QUERY("INSERT INTO dropped (name, principal, since) VALUES "
				      "(?1, ?2, " DEPOT_NOW ") ON CONFLICT (name) DO NOTHING",
				      DB_TEXT(object), DB_TEXT(principal)),
			  NULL, err);
}

int depot_undrop(struct board *index, const char *object, struct rye_err *err)
{
	int r = depot_hold(index, object, err);

	return r ? r :
		   board_step(index,
			      BOARD_QUERY("DELETE FROM dropped WHERE name = ?1", DB_TEXT(object)),
			      NULL, err);
}

int depot_drop_pack(struct board *index, const char *principal, const char *pack, int64_t *ret,
		    struct rye_err *err)
{
	char object[PACK_NAME_LEN];
	int64_t bytes = 0;
	struct digest name;
	int r = board_step(
		index,
		BOARD_ROWS(row_number, &bytes,
			   "DELETE FROM pack WHERE principal = ?1 AND name = ?2 AND NOT EXISTS "
			   "(SELECT 1 FROM blob WHERE principal = ?1 AND pack = ?2) "
			   "RETURNING bytes",
			   DB_TEXT(principal), DB_TEXT(pack)),
		NULL, err);

	if (ret)
		*ret = bytes;
	if (r || !bytes || !digest_parse(span_of(pack), &name))
		return r;
	pack_name(&name, object);
	return depot_drop(index, principal, object, err);
}
