/* SPDX-License-Identifier: MIT */
/*
 * The types of orders. The launcher (thread/spawn_runner.c) writes the type, the runner looks it
 * up here; they may be of two versions, so a type that is gone keeps its name for itself.
 */
#include "runner/runner_inner.h"

#include "scope.h"

#include <string.h>

struct orders_row {
	const char *type;
	orders_fn fn;
};

static const struct orders_row orders_rows[] = {
	{ ORDERS_GRAPH, runner_graph },
	{ ORDERS_TOOL, runner_tool },
	{ ORDERS_DIRECTIVE, runner_directive },
	{ ORDERS_REMOTE, runner_remote },
};

orders_fn orders_find(const char *type)
{
	for (size_t i = 0; i < ARRAY_SIZE(orders_rows); i++)
		if (!strcmp(orders_rows[i].type, type))
			return orders_rows[i].fn;
	return NULL;
}
