/* SPDX-License-Identifier: MIT */
/*
 * Reply objects and the text that `output` shows: what the reply says, without its envelope
 * (base/plain.c); data is indented. Owned by one worker; no lock. Out of memory on the way to a reply ends in a short one that was made before, never in
 * none and never in a part of one.
 */
#include "run/run_inner.h"

#include "format/format.h"
#include "clock.h"
#include "memory.h"
#include "scope.h"

#include <string.h>

void reply_init(struct reply *reply)
{
	unsigned long since = memory_failures();

	*reply = (struct reply){
		.doc = json_object(),
		.metadata = json_object(),
		.warnings = json_array(),
		.start_us = clock_us(),
		.memory = since,
	};
}

void reply_done(struct reply *reply)
{
	json_decref(reply->doc);
	json_decref(reply->metadata);
	json_decref(reply->warnings);
	json_decref(reply->trace);
	free(reply->output);
	free(reply->line);
	rye_blob_unref(reply->instead);
}

/* A message may hold bytes of a file name or of a tool: never let them spoil the JSON. */
static json_t *text_or_cut(const char *text)
{
	json_t *value = json_string(text);

	return value ? value : json_string("(an error whose text is not UTF-8)");
}

void reply_error(struct reply *reply, const struct rye_err *err, const char *item_id)
{
	reply->code = err->code;
	snprintf(reply->message, sizeof(reply->message), "%s", err->msg);
	json_sets(reply->doc, "status", "error");
	json_set(reply->doc, "error", text_or_cut(err->msg));
	if (rye_code_integrity(err->code))
		json_sets(reply->doc, "error_type", "integrity");
	if (item_id)
		json_set(reply->doc, "item_id", text_or_cut(item_id));
}

void reply_start(struct reply *reply, const char *status, enum rye_kind kind, const char *item_id)
{
	reply->code = RYE_OK;
	json_sets(reply->doc, "status", status);
	if (kind != RYE_KIND__MAX)
		json_sets(reply->doc, "type", rye_kind_name(kind));
	json_sets(reply->doc, "item_id", item_id);
}

void reply_warn(struct reply *reply, const json_t *texts)
{
	if (json_array_size(texts))
		json_array_extend(reply->warnings, (json_t *)texts);
}

static struct rye_blob *make_output(const struct reply *reply)
{
	bool ok = reply->code == RYE_OK;
	auto_json json_t *said = NULL;
	auto_buf struct rye_buf line = RYE_BUF_INIT;

	if (reply->output)
		return rye_blob_new(reply->output, strlen(reply->output));
	said = ok ? plain_data(reply->doc) : plain_text(reply->doc);
	if (json_is_string(said))
		return rye_blob_new(json_string_value(said), json_string_length(said));
	if (!ok && *reply->message) {
		buf_addf(&line, "%s\n", reply->message);
		return buf_blob(&line);
	}
	return json_blob(said ? said : reply->doc, true);
}

static void finish_metadata(struct reply *reply)
{
	int64_t us = clock_us() - reply->start_us;

	json_set(reply->metadata, "duration_ms", json_integer((us + 500) / 1000));
	if (json_array_size(reply->warnings))
		json_object_set(reply->metadata, "warnings", reply->warnings);
	if (reply->trace)
		json_object_set(reply->doc, "trace", reply->trace);
	json_object_set(reply->doc, "metadata", reply->metadata);
}

int reply_lost(struct rye_outcome *ret, struct rye_err *err)
{
	static const char text[] = "out of memory\n";
	static const char lost[] = "{\"status\":\"error\",\"error\":\"out of memory\"}\n";

	*ret = (struct rye_outcome){ .code = RYE_IO, .message = "out of memory" };
	ret->reply = rye_blob_new(lost, sizeof(lost) - 1);
	ret->output = rye_blob_new(text, sizeof(text) - 1);
	return ret->reply && ret->output ? 0 : memory_fail(err);
}

void reply_outcome(struct reply *reply, const struct rye_outcome *lost, struct rye_outcome *ret)
{
	finish_metadata(reply);
	*ret = (struct rye_outcome){ .code = reply->code, .message = reply->message };
	ret->output = reply->line ? rye_blob_new(reply->line, strlen(reply->line)) :
				    make_output(reply);
	ret->reply = reply->line ? rye_blob_ref(ret->output) : json_blob(reply->doc, false);
	if (reply->trace)
		ret->trace = json_blob(reply->trace, true);
	ret->instead = reply->instead ? rye_blob_ref(reply->instead) : NULL;
	if (memory_failures() == reply->memory && ret->reply && ret->output)
		return;
	rye_outcome_done(ret);
	*ret = *lost;
	rye_blob_ref(ret->reply);
	rye_blob_ref(ret->output);
}
