/* SPDX-License-Identifier: MIT */
/*
 * Is a transcript what its thread wrote? Each checkpoint signs all bytes before its own line; so one
 * pass with one digest looks at all of them. Beyond what other implementations of the format ask:
 * checkpoints stand where they say and in order, every event names this thread, and the checkpoint that
 * thread.json names is there, which a file that was cut has lost. Pure but for the trust store.
 */
#include "record/record_inner.h"

#include "memory.h"
#include "scope.h"
#include "sign/sign.h"
#include "str.h"

#include <inttypes.h>
#include <stdio.h>

struct chronicle_audit {
	const struct record *record;
	struct lines lines;
	struct rye_span text; /* all of it, unless it is a file */
	struct rye_span line; /* the one that is looked at */
	chronicle_fn fn; /* gets each line; or NULL */
	void *arg;
	size_t number, corrupt; /* of the line; of the first that is no JSON, or 0 */
	struct sha_run *run; /* of all before it */
	struct chronicle_check *check;
	bool saw_head; /* a checkpoint is the one that was asked for */
	const char *head;
};

/* What may follow the last checkpoint: the runner of another implementation writes it there. */
static bool is_terminal_event(const char *type)
{
	static const char *const types[] = { "thread_completed", "thread_error",
					     "thread_cancelled", "thread_continued",
					     "thread_handoff",	 "thread_resumed",
					     "checkpoint_saved" };

	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if (!strcmp(type, types[i]))
			return true;
	return false;
}

static int audit_fail(struct chronicle_audit *audit, enum rye_code code, const char *what,
		      int64_t turn)
{
	return rye_fail(&audit->check->why, code, "%s at turn %" PRId64, what, turn);
}

/* Where it says that it stands, and over what stands before it. */
static int audit_hash(struct chronicle_audit *audit, const struct chronicle_point *point)
{
	uint64_t offset = audit->lines.begin;
	char hash[SHA_HEX] = "";

	if ((uint64_t)point->offset == offset)
		sha_run_hex(audit->run, hash);
	else if (lines_digest(&audit->lines, audit->text, (uint64_t)point->offset, hash))
		return memory_fail(&audit->check->why);
	if (strcmp(hash, point->hash) != 0)
		return audit_fail(audit, RYE_MODIFIED, "Content hash mismatch", point->turn);
	if ((uint64_t)point->offset != offset)
		return audit_fail(audit, RYE_MODIFIED, "Unsigned content before the checkpoint",
				  point->turn);
	return 0;
}

static int audit_signature(struct chronicle_audit *audit, const struct chronicle_point *point)
{
	const struct signdoc_mark mark = { span_of(point->fp), span_of(point->sig),
					   span_of(point->hash) };
	char ref[RECORD_REF_MAX], what[64];
	int r;

	record_ref(audit->record, TRANSCRIPT_FILE, ref);
	r = signdoc_check(audit->record->trust, ref, &mark, NULL);
	snprintf(what, sizeof(what), "Untrusted signing key %.16s", point->fp);
	if (r == -(int)RYE_UNTRUSTED)
		return audit_fail(audit, RYE_UNTRUSTED, what, point->turn);
	return r ? audit_fail(audit, RYE_BAD_SIGNATURE, "Signature verification failed",
			      point->turn) :
		   0;
}

static int audit_point(struct chronicle_audit *audit, const struct chronicle_point *point)
{
	struct chronicle_check *check = audit->check;
	int r = audit_hash(audit, point);

	if (!r)
		r = audit_signature(audit, point);
	if (!r && check->checkpoints && point->turn < check->turn)
		r = audit_fail(audit, RYE_MODIFIED, "Checkpoint out of order", point->turn);
	if (r)
		return r;
	check->checkpoints++;
	check->turn = point->turn;
	check->tail = false;
	check->signed_len = audit->lines.at;
	snprintf(check->head, sizeof(check->head), "%s", point->hash);
	audit->saw_head |= audit->head && !strcmp(audit->head, check->head);
	/* what was unsigned up to here is covered now */
	check->code = RYE_OK;
	return 0;
}

/* Behind the last checkpoint so far; a later one may still cover it. */
static void audit_event(struct chronicle_audit *audit, const char *type)
{
	audit->check->tail = true;
	if (!is_terminal_event(type))
		audit->check->code = RYE_UNCOVERED;
}

static int audit_tell(struct chronicle_audit *audit, const json_t *doc)
{
	const struct chronicle_line line = {
		.timestamp = json_number_value(json_object_get(doc, "timestamp")),
		.thread_id = json_str(doc, "thread_id"),
		.type = json_str(doc, "event_type"),
		.payload = json_object_get(doc, "payload"),
		.number = audit->number,
		.text = audit->line,
	};

	if (!doc && !audit->corrupt)
		audit->corrupt = audit->number;
	return doc && audit->fn ? audit->fn(audit->arg, &line) : 0;
}

static int audit_line(struct chronicle_audit *audit)
{
	auto_json json_t *doc =
		json_parse(audit->line, JSON_LOAD_LAST_WINS | JSON_LOAD_NUL, "line", NULL);
	const char *type = json_str(doc, "event_type");
	struct chronicle_point point;

	if (doc && strcmp(json_str(doc, "thread_id"), audit->record->id) != 0)
		return rye_fail(&audit->check->why, RYE_MOVED, "Event of another thread: %.300s",
				json_str(doc, "thread_id"));
	if (!strcmp(type, "checkpoint") && chronicle_point(json_object_get(doc, "payload"), &point))
		return audit_point(audit, &point);
	audit_event(audit, type);
	return audit_tell(audit, doc);
}

static int audit_lines(struct chronicle_audit *audit)
{
	int more = 0, r = 0;

	while (!r && (more = lines_next(&audit->lines, &audit->line, &audit->check->why)) > 0 &&
	       audit->lines.whole) {
		audit->number++;
		r = audit_line(audit);
		sha_run_add(audit->run, (struct rye_span){ audit->line.ptr, audit->line.len + 1 });
	}
	/* a line that a killed process has not finished */
	audit->check->tail |= more > 0 && !r;
	return r ? r : MIN_OF(more, 0);
}

static int audit_end(struct chronicle_audit *audit)
{
	struct chronicle_check *check = audit->check;

	if (audit->head && *audit->head && !audit->saw_head)
		return rye_fail(&check->why, RYE_MODIFIED,
				"The checkpoint that thread.json names is not there");
	if (!check->checkpoints)
		return rye_fail(&check->why, RYE_UNSIGNED, "No checkpoint");
	if (check->code != RYE_OK)
		return rye_fail(&check->why, RYE_UNCOVERED,
				"Unsigned content after last checkpoint (%" PRIu64
				" bytes after turn %" PRId64 ")",
				audit->lines.len - check->signed_len, check->turn);
	return 0;
}

static void audit_all(struct chronicle_audit *audit, struct chronicle_check *ret)
{
	unsigned long since = memory_failures();
	int r;

	*ret = (struct chronicle_check){ .code = RYE_OK };
	audit->check = ret;
	audit->run = sha_run_new();
	r = audit->run ? audit_lines(audit) : memory_fail(&ret->why);
	if (!r)
		r = audit_end(audit);
	r = memory_result(since, r, &ret->why);
	ret->code = (enum rye_code) - r;
	sha_run_free(audit->run);
}

void chronicle_check(const struct record *record, struct rye_span text, const char *head,
		     struct chronicle_check *ret)
{
	struct chronicle_audit audit = { .record = record, .text = text, .head = head };

	lines_open(&audit.lines, CHRONICLE_TEXT(text), NULL);
	audit_all(&audit, ret);
}

int chronicle_audit(const struct record *record, const char *head,
		    const struct chronicle_hearer *hearer, struct chronicle_check *ret,
		    struct rye_err *err)
{
	struct chronicle_audit audit = { .record = record,
					 .head = head,
					 .fn = hearer ? hearer->fn : NULL,
					 .arg = hearer ? hearer->arg : NULL };
	int r = lines_open(&audit.lines, CHRONICLE_FILE(record), err);

	if (!r)
		audit_all(&audit, ret);
	lines_done(&audit.lines);
	if (!r && hearer && ret->code == RYE_OK && audit.corrupt)
		r = rye_fail(err, RYE_UNPARSABLE, "Corrupt transcript at line %zu", audit.corrupt);
	return r;
}

void chronicle_check_line(const struct chronicle_check *check, char *line, size_t size)
{
	if (check->code == RYE_OK)
		snprintf(line, size, "ok %zu checkpoint%s", check->checkpoints,
			 PLURAL(check->checkpoints));
	else if (check->code == RYE_UNSIGNED)
		snprintf(line, size, "unsigned");
	else
		snprintf(line, size, "bad: %s", check->why.msg);
}
