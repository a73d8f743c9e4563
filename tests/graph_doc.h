/* SPDX-License-Identifier: MIT */
#pragma once
/* graph_doc.h - a graph of an item's document, for tests of what can be read. */
#include "base/json.h"
#include "graph/graph.h"

static inline struct graph *graph_of_doc(const json_t *doc, json_t *faults, json_t *warnings)
{
	const struct graph_source source = { .id = "t/g",
					     .config = json_object_get(doc, "config"),
					     .permissions = json_object_get(doc, "permissions"),
					     .env_requires = json_object_get(doc, "env_requires"),
					     .max_steps = 100,
					     .max_concurrency = 10 };

	return graph_read(&source, faults, warnings);
}
