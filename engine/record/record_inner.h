/* SPDX-License-Identifier: MIT */
/*
 * record_inner.h: what the files of record/ share.
 */
#ifndef RYE_RECORD_RECORD_INNER_H
#define RYE_RECORD_RECORD_INNER_H

#include "record/record.h"

/* The statuses of registry_terminal, for a statement. */
#define TERMINAL_LIST \
	"('completed','completed_with_errors','error','cancelled','killed','continued')"

/*
 * registry_events.c: when the log of changes has grown to EVENTS_MAX it becomes REGISTRY_EVENTS_OLD,
 * and the next one begins.
 */
#define REGISTRY_EVENTS_OLD "events.old.jsonl"
/*
 * event: the row's new status, or "deleted"; at: the time in the row; directive: of a new row, else
 * NULL. A line that cannot be written is left out.
 */
struct registry_event {
	const char *id, *event, *at, *directive;
};
void registry_tell(struct db *db, const struct registry_event *event);

/* "state:threads/ID/NAME", what a scoped key must be trusted for. */
#define RECORD_REF_MAX 1100
void record_ref(const struct record *record, const char *name, char ret[RECORD_REF_MAX]);

/* json_parse with the code of its error. */
int record_parse(struct rye_span text, int flags, const char *what, json_t **ret,
		 struct rye_err *err);

/* io_replace_at of a file below a directory, its parents made. */
int record_put(int dir, const char *path, struct rye_span bytes, struct rye_err *err);

/* Signs text as the knowledge entry `id` (with a binding line) and puts it at a path below dir. */
struct record_text {
	int dir;
	const char *path, *id;
	struct rye_span text;
};
int record_put_signed(const struct record *record, const struct record_text *what,
		      struct rye_err *err);

/* False: the story was written within the last second, by the clock that it is stamped with. */
bool story_is_due(const struct record *record);

/* Bytes beyond which nothing but the end of a thread is written: what is longer is not read again. */
#define TRANSCRIPT_MAX (RYE_BUF_CAP - (1u << 20))
#define TRANSCRIPT_FILE "transcript.jsonl"
const struct record *chronicle_record(const struct chronicle *chronicle);
/* pairs.c: each call has its one result behind its answer, and what is neither goes. */
void messages_pair(json_t *list);
/* messages.c: false of an answer that was cut, that is a refusal, or whose call could not be read: it
 * was said, and is no part of the conversation. */
bool answer_is_said(const json_t *payload);

/*
 * chronicle_lines.c: a transcript line by line.
 */
struct lines {
	const struct record *record; /* of a file */
	int fd; /* -1: all of it is in rest */
	uint64_t len, left; /* of all of it; of the file, not read yet */
	uint64_t begin, at; /* where the last line begins, where the next one does */
	bool whole; /* the last line has its newline */
	struct rye_span rest;
	char *room; /* of rest, for a file; owned */
	size_t size;
};
/* As far as the file is long now; lines_done also when that fails. A text never does. */
int lines_open(struct lines *lines, const struct chronicle_source *source, struct rye_err *err);
void lines_done(struct lines *lines);
/* 1: a line without its newline, borrowed until the next call; 0: the end; or an error. */
int lines_next(struct lines *lines, struct rye_span *ret, struct rye_err *err);
/* Of the first bytes, which are read again; text: of what is no file. -ENOMEM. */
int lines_digest(const struct lines *lines, struct rye_span text, uint64_t upto, char ret[SHA_HEX]);

/* A call of an answer, which was never begun. */
int chronicle_begin_call(struct chronicle *chronicle, const json_t *block, struct rye_err *err);
/* A call's result that says why there is none: part of the end. */
int chronicle_close_call(struct chronicle *chronicle, const char *id, const char *error,
			 struct rye_err *err);

/* A checkpoint's payload, as far as it has the form; false: it has not. */
struct chronicle_point {
	int64_t turn, offset;
	const char *hash, *sig, *fp;
};
bool chronicle_point(const json_t *payload, struct chronicle_point *ret);

#endif
