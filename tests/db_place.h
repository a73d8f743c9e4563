/* SPDX-License-Identifier: MIT */
#pragma once
/* db_place.h - one database in a temporary directory of its own. */
#include "told.h"

#include "base/db.h"

#include <stdio.h>
#include <unistd.h>

struct db_place {
	char dir[64], path[96];
	struct db *db;
	struct rye_err err;
};

static inline void db_place_make(struct db_place *p, const char *name,
				 int (*open)(const char *path, struct db **ret,
					     struct rye_err *err))
{
	*p = (struct db_place){ .dir = "/tmp/rye-db-XXXXXX" };
	assert_non_null(mkdtemp(p->dir));
	snprintf(p->path, sizeof(p->path), "%s/%s", p->dir, name);
	assert_works(&p->err, open(p->path, &p->db, &p->err));
}

/* The files; the directory stays. */
static inline void db_place_forget(struct db_place *p)
{
	char path[128];

	db_close(p->db);
	for (const char *const *s = (const char *const[]){ "", "-wal", "-shm", NULL }; *s; s++) {
		snprintf(path, sizeof(path), "%s%s", p->path, *s);
		unlink(path);
	}
}

static inline void db_place_drop(struct db_place *p)
{
	db_place_forget(p);
	rmdir(p->dir);
}
