/* SPDX-License-Identifier: MIT */
/*
 * The collection of garbage: packs by what is marked, then manifests, then objects that were dropped long enough
 * ago, and those that no row names: a process was killed before it could write one. On the caller's thread.
 */
#include "pack/pack_inner.h"

#include "str.h"

/* Lines of text. */
static int name_row(void *arg, const struct board_cells *row)
{
	struct rye_buf *names = arg;

	buf_addf(names, "%s\n", cell_text(row, 0));
	return names->failed;
}

typedef int (*each_fn)(void *arg, const char *name, struct rye_err *err);

static int each_name(struct rye_buf *names, each_fn fn, void *arg, struct rye_err *err)
{
	char *at = names->data, *end;
	int r = names->failed ? rye_fail(err, RYE_IO, "depot: out of memory") : 0;

	while (!r && at && (end = strchr(at, '\n'))) {
		*end = '\0';
		r = fn(arg, at, err);
		at = end + 1;
	}
	return r;
}

/* ---- manifests ---- */

struct gc_manifests {
	struct sweep sweep;
	struct rye_buf rows; /* JSON, of the dead */
	int64_t n;
};

static int dead_row(void *arg, const struct board_cells *row)
{
	struct gc_manifests *what = arg;
	struct digest name;

	if (!digest_parse(span_of(cell_text(row, 0)), &name) ||
	    digest_set_has(&what->sweep.mark->manifests, &name))
		return 0;
	buf_addf(&what->rows, "%s[\"%s\"]", what->n++ ? "," : "[", cell_text(row, 0));
	return what->rows.failed;
}

static int manifests_in(void *arg, struct board *index, struct rye_err *err)
{
	static const char *const statements[] = {
		"DELETE FROM manifest WHERE principal = ?1 AND sha IN "
		"(SELECT e.value->>0 FROM {rows})",
		"INSERT INTO dropped (name, principal, since) SELECT 'manifests/' || "
		"substr(e.value->>0, 1, 2) || '/' || (e.value->>0), ?1, " DEPOT_NOW " FROM {rows} "
		"WHERE true ON CONFLICT (name) DO NOTHING",
	};
	struct gc_manifests *what = arg;
	const struct depot_mark *mark = what->sweep.mark;
	int r;

	buf_clear(&what->rows);
	what->n = 0;
	r = board_step(index,
		       BOARD_ROWS(dead_row, what,
				  "SELECT sha FROM manifest WHERE principal = ?1 AND made < ?2",
				  DB_TEXT(mark->principal), DB_INT(mark->now - mark->ask->new_s)),
		       NULL, err);
	if (r || !what->n || mark->ask->dry)
		return r;
	buf_addc(&what->rows, ']');
	if (what->rows.failed)
		return rye_fail(err, RYE_IO, "depot: out of memory");
	for (size_t i = 0; !r && i < ARRAY_SIZE(statements); i++)
		r = board_step(index,
			       BOARD_QUERY(statements[i], DB_TEXT(mark->principal),
					   DB_TEXT(what->rows.data)),
			       NULL, err);
	return r;
}

static int gc_manifests(struct depot_mark *mark, struct depot_freed *freed, struct rye_err *err)
{
	struct gc_manifests what = { .sweep = { .mark = mark, .fn = manifests_in } };
	int r = depot_swept(&what.sweep, err);

	if (!r)
		freed->manifests += what.n;
	buf_done(&what.rows);
	return r;
}

/* ---- objects ---- */

struct gc_object {
	struct depot *depot;
	const char *name;
	bool deleted;
};

/*
 * Deleted within the transaction: whatever is about to write an object of this name waits for its
 * end, and whatever has written one has its row.
 */
static int object_in(void *arg, struct board *index, struct rye_err *err)
{
	struct gc_object *what = arg;
	const char *slash = strrchr(what->name, '/');
	int64_t used = 0;
	int r = depot_hold(index, what->name, err);

	if (!r)
		r = board_step(index,
			       BOARD_ROWS(row_number, &used,
					  "SELECT (SELECT COUNT(*) FROM pack WHERE name = ?1) + "
					  "(SELECT COUNT(*) FROM manifest WHERE sha = ?1)",
					  DB_TEXT(slash ? slash + 1 : "")),
			       NULL, err);
	what->deleted = !used;
	if (!r && !used)
		r = store_del(what->depot->store, what->name, err);
	return r ? r :
		   board_step(index,
			      BOARD_QUERY("DELETE FROM dropped WHERE name = ?1",
					  DB_TEXT(what->name)),
			      NULL, err);
}

struct gc_objects {
	struct depot *depot;
	struct depot_freed *freed;
};

static int gc_object(void *arg, const char *name, struct rye_err *err)
{
	const struct gc_objects *objects = arg;
	struct gc_object what = { objects->depot, name, false };
	int r = board_transaction(objects->depot->index, object_in, &what, err);

	objects->freed->objects += !r && what.deleted;
	return r;
}

/* principal NULL: of all. */
static int gc_objects(struct depot *depot, const char *principal, const struct depot_gc *ask,
		      struct depot_freed *freed, struct rye_err *err)
{
	auto_buf struct rye_buf names = RYE_BUF_INIT;
	struct gc_objects objects = { depot, freed };
	int r = board_ask(
		depot->index,
		BOARD_ROWS(name_row, &names,
			   "SELECT name FROM dropped WHERE (?1 = '' OR principal = ?1) AND "
			   "since <= " DEPOT_NOW " - ?2",
			   DB_TEXT(principal ? principal : ""), DB_INT(ask->gone_s)),
		NULL, err);

	return r ? r : each_name(&names, gc_object, &objects, err);
}

int depot_gc(struct depot *depot, const char *principal, const struct depot_gc *ask,
	     struct depot_freed *ret, struct rye_err *err)
{
	struct depot_mark mark = { .depot = depot, .principal = principal, .ask = ask };
	int r = depot_mark(&mark, err);

	if (!r)
		r = depot_sweep(&mark, ret, err);
	if (!r)
		r = gc_manifests(&mark, ret, err);
	depot_mark_done(&mark);
	return r || ask->dry ? r : gc_objects(depot, principal, ask, ret, err);
}

/* ---- the rest ---- */

struct gc_rest {
	struct depot *depot;
	const struct depot_gc *ask;
	int64_t before; /* seconds: what is younger may have its row in a moment */
	struct rye_buf names;
	int64_t n;
};

/* Of ours: "packs/ab/DIGEST", "manifests/ab/DIGEST". */
static int rest_object(void *arg, const struct store_object *object)
{
	struct gc_rest *rest = arg;
	struct digest name;

	if ((!strncmp(object->name, "packs/", 6) || !strncmp(object->name, "manifests/", 10)) &&
	    digest_parse(span_of(strrchr(object->name, '/') + 1), &name) &&
	    object->made < rest->before)
		buf_addf(&rest->names, "%s\n", object->name);
	return rest->names.failed;
}

static int rest_known(void *arg, const char *name, struct rye_err *err)
{
	struct gc_rest *rest = arg;
	const char *slash = strrchr(name, '/');
	int64_t known = 0;
	int r = board_ask(rest->depot->index,
			  BOARD_ROWS(row_number, &known,
				     "SELECT (SELECT COUNT(*) FROM pack WHERE name = ?1) + "
				     "(SELECT COUNT(*) FROM manifest WHERE sha = ?1) + "
				     "(SELECT COUNT(*) FROM dropped WHERE name = ?2)",
				     DB_TEXT(slash ? slash + 1 : ""), DB_TEXT(name)),
			  NULL, err);

	rest->n += !known;
	return r || known || rest->ask->dry ? r : depot_drop(rest->depot->index, "", name, err);
}

int depot_gc_rest(struct depot *depot, const struct depot_gc *ask, struct depot_freed *ret,
		  struct rye_err *err)
{
	struct gc_rest rest = { .depot = depot, .ask = ask };
	int r = board_ask(depot->index,
			  &(struct board_query){ .sql = "SELECT " DEPOT_NOW,
						 .fn = row_number,
						 .arg = &rest.before },
			  NULL, err);

	rest.before -= ask->new_s;
	if (!r)
		r = store_list(depot->store, rest_object, &rest, err);
	if (!r)
		r = each_name(&rest.names, rest_known, &rest, err);
	buf_done(&rest.names);
	return r || ask->dry ? r : gc_objects(depot, NULL, ask, ret, err);
}

int depot_principals(struct depot *depot, rye_name_fn fn, void *arg, struct rye_err *err)
{
	auto_buf struct rye_buf names = RYE_BUF_INIT;
	int r = board_ask(depot->index,
			  &(struct board_query){ .sql = "SELECT principal FROM pack UNION "
							"SELECT principal FROM manifest",
						 .fn = name_row,
						 .arg = &names },
			  NULL, err);
	char *at = names.data, *end;

	while (!r && at && (end = strchr(at, '\n'))) {
		*end = '\0';
		if (fn(arg, at))
			break;
		at = end + 1;
	}
	return !r && names.failed ? rye_fail(err, RYE_IO, "depot: out of memory") : r;
}
