/* SPDX-License-Identifier: MIT */
/*
 * matrix: input is a target, then words of "fork", "async" and "dry_run"; the context the kind.
 * Expected is "ok", behind it the remote's name if there is one; or the refusal of the request.
 */
#include "run/run_inner.h"

#include "scope.h"

#include "table/table.h"

#include <stdio.h>
#include <string.h>

void table_answer(struct table_text input, struct table_text context, char *out, size_t size)
{
	auto_buf struct rye_buf id = RYE_BUF_INIT, message = RYE_BUF_INIT;
	const char *blank = strchr(input.bytes, ' ');
	const char *words = blank ? blank : "";
	auto_json json_t *doc = json_object();
	struct rye_request ask = { .verb = RYE_EXECUTE, .id = "" };
	struct request request;
	struct rye_err err = { 0 };

	buf_addf(&id, "%s:a/b", context.bytes);
	json_sets(doc, "item_id", id.data);
	json_set(doc, "target",
		 json_stringn(input.bytes, blank ? (size_t)(blank - input.bytes) : input.len));
	json_sets(doc, "thread", strstr(words, " fork") ? "fork" : "inline");
	json_set(doc, "async", json_boolean(strstr(words, " async") != NULL));
	json_set(doc, "dry_run", json_boolean(strstr(words, " dry_run") != NULL));
	json_put(&message, doc, false);
	ask.message = (struct rye_span){ message.data, message.len };
	if (request_read(&ask, "/", &request, &err))
		snprintf(out, size, "%s", err.msg);
	else
		snprintf(out, size, "ok%s%s", *request.remote ? " " : "", request.remote);
	request_done(&request);
}
