/* SPDX-License-Identifier: MIT */
/*
 * Orders of the type "graph": an execute request whose item is a state graph. The run has the name
 * of the thread (run/prim_graph.c), and the row says more than a tool's: whether the graph passed
 * over errors.
 */
#include "runner/runner_inner.h"

#include "scope.h"

#include <string.h>

static const char *graph_row_status(const struct runner_wait *wait)
{
	const struct rye_blob *reply = wait->outcome.reply;
	auto_json json_t *doc = NULL;

	if (wait->outcome.code != RYE_OK)
		return wait_status(wait);
	doc = json_parse((struct rye_span){ reply->data, reply->len }, JSON_LOAD_LAST_WINS, "reply",
			 NULL);
	return strcmp(json_str(json_object_get(doc, "data"), "status"), "completed_with_errors") ?
		       "completed" :
		       "completed_with_errors";
}

int runner_graph(const struct orders *orders)
{
	return runner_execute(orders, graph_row_status);
}
