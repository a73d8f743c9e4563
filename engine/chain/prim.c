/* SPDX-License-Identifier: MIT */
/*
 * The primitives: where a chain ends and the engine begins. Found by the last element's id. chain.c
 * resolves short names.
 */
#include "chain/chain.h"

#include "scope.h"

#include <string.h>

/* One row for each prim_NAME.c. */
#define PRIMS(ROW)       \
	ROW(graph)       \
	ROW(http)        \
	ROW(mcp)         \
	ROW(mcp_servers) \
	ROW(subprocess)

#define DECLARED(name) extern const struct prim prim_##name;
#define LISTED(name) &prim_##name,

PRIMS(DECLARED)

static const struct prim *const rows[] = { PRIMS(LISTED) };

const struct prim *prim_find(const char *id)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		for (size_t k = 0; k < PRIM_IDS; k++)
			if (rows[i]->ids[k] && !strcmp(rows[i]->ids[k], id))
				return rows[i];
	return NULL;
}
