/* SPDX-License-Identifier: MIT */
/*
 * The primitives: where a chain ends and the engine begins. Found by the last element's id. chain.c
 * resolves short names.
 */
#include "chain/chain.h"

#include "scope.h"

#include <string.h>

#define PRIM_ROW(number, name, ...) { PRIM_##number, __VA_ARGS__ },

static const struct prim rows[] = { PRIMS(PRIM_ROW) };

const struct prim *prim_find(const char *id)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		for (size_t k = 0; k < PRIM_IDS; k++)
			if (rows[i].ids[k] && !strcmp(rows[i].ids[k], id))
				return &rows[i];
	return NULL;
}
