/* SPDX-License-Identifier: MIT */
/*
 * transcript.jsonl while its thread runs: events and signed checkpoints at its end, and every line of
 * one that is read. The digest of what is there is carried along, so that a checkpoint costs what came
 * since the last one. No lock: the process that holds the thread's `.lock` appends, one thread of it at
 * a time. Behind a checkpoint a thread of the chronicle's waits for the disk and writes the knowledge
 * entry; it is joined before the next one.
 */
#include "record/record_inner.h"

#include "base/io.h"
#include "bounds.h"
#include "clock.h"
#include "memory.h"
#include "scope.h"
#include "str.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>

#define TORN_FILE "transcript.torn"

struct chronicle {
	const struct record *record;
	int fd;
	uint64_t size;
	uint64_t heard; /* of it: the pieces of the answer that comes */
	struct sha_run *run; /* of the first `size` bytes */
	char head[SHA_HEX];
	pthread_t syncer; /* while `syncing`; what follows is its, until it is joined */
	bool syncing;
	int sync_error;
	struct story story; /* to be written behind the sync; directive NULL: none */
	uint64_t story_size; /* of the transcript that it tells */
	struct rye_err story_err;
	struct rye_err lost; /* the last story_err that was not told yet */
};

/* ---- reading ---- */

struct chronicle_each {
	chronicle_fn fn;
	void *arg;
	size_t number; /* of the line */
};

static int each_line(const struct lines *lines, struct rye_span text, struct chronicle_each *each,
		     struct rye_err *err)
{
	struct chronicle_line line = { .text = text, .number = each->number };
	auto_json json_t *doc = NULL;
	int r = record_parse(text, JSON_LOAD_LAST_WINS | JSON_LOAD_NUL, "line", &doc,
			     lines->whole ? err : NULL);

	if (r == -(int)RYE_IO)
		return r;
	/* without its newline: a process was killed while it wrote this */
	if (r && !lines->whole)
		return 0;
	if (r)
		return rye_fail(err, RYE_UNPARSABLE, "Corrupt transcript at line %zu",
				each->number);
	line.timestamp = json_number_value(json_object_get(doc, "timestamp"));
	line.thread_id = json_str(doc, "thread_id");
	line.type = json_str(doc, "event_type");
	line.payload = json_object_get(doc, "payload");
	return each->fn(each->arg, &line);
}

static int each_of(struct lines *lines, struct chronicle_each *each, struct rye_err *err)
{
	struct rye_span text;
	int r = 0, more = 0;

	while (!r && (more = lines_next(lines, &text, err)) > 0) {
		each->number++;
		r = each_line(lines, text, each, err);
	}
	return r ? r : more;
}

int chronicle_each(const struct chronicle_source *source, chronicle_fn fn, void *arg,
		   struct rye_err *err)
{
	__attribute__((cleanup(lines_done))) struct lines lines = { .fd = -1 };
	struct chronicle_each each = { fn, arg, 0 };
	int r = lines_open(&lines, source, err);

	return r ? r : each_of(&lines, &each, err);
}

bool chronicle_point(const json_t *payload, struct chronicle_point *ret)
{
	*ret = (struct chronicle_point){ json_int(payload, "turn", -1),
					 json_int(payload, "byte_offset", -1),
					 json_str(payload, "hash"), json_str(payload, "sig"),
					 json_str(payload, "fp") };
	return ret->turn >= 0 && ret->offset >= 0 && *ret->hash;
}

/* ---- to the disk ---- */

/* What is appended meanwhile is of the next one. */
static void sync_story(struct chronicle *chronicle)
{
	const struct chronicle_source source = { .record = chronicle->record,
						 .upto = chronicle->story_size };

	story_write(chronicle->record, &chronicle->story, &source, &chronicle->story_err);
}

static void *sync_work(void *arg)
{
	struct chronicle *chronicle = arg;

	chronicle->sync_error = fdatasync(chronicle->fd) < 0 ? errno : 0;
	if (chronicle->story.directive)
		sync_story(chronicle);
	return NULL;
}

static int sync_join(struct chronicle *chronicle, struct rye_err *err)
{
	int error;

	if (chronicle->syncing)
		pthread_join(chronicle->syncer, NULL);
	chronicle->syncing = false;
	/* told once: when there is room again, the thread can go on */
	error = chronicle->sync_error;
	chronicle->sync_error = 0;
	if (chronicle->story_err.code != RYE_OK)
		chronicle->lost = chronicle->story_err;
	chronicle->story_err = (struct rye_err){ .code = RYE_OK };
	chronicle->story = (struct story){ .directive = NULL };
	return error ? rye_fail_sys(err, error, "cannot write %.700s/" TRANSCRIPT_FILE,
				    chronicle->record->id) :
		       0;
}

static int sync_now(struct chronicle *chronicle, struct rye_err *err)
{
	int r = sync_join(chronicle, err);

	if (r)
		return r;
	sync_work(chronicle);
	return sync_join(chronicle, err);
}

/* On a thread of its own, which has the time of the next request for it. */
static int sync_begin(struct chronicle *chronicle, const struct story *story, struct rye_err *err)
{
	int r = sync_join(chronicle, err);

	if (r)
		return r;
	if (story && story_is_due(chronicle->record))
		chronicle->story = *story;
	chronicle->story_size = chronicle->size;
	chronicle->syncing = !pthread_create(&chronicle->syncer, NULL, sync_work, chronicle);
	if (chronicle->syncing)
		return 0;
	sync_work(chronicle);
	return sync_join(chronicle, err);
}

/* ---- opening ---- */

static int find_head(struct chronicle *chronicle, struct rye_span text, size_t number,
		     struct rye_err *err)
{
	auto_json json_t *doc = NULL;
	struct chronicle_point point;
	int r = record_parse(text, JSON_LOAD_LAST_WINS | JSON_LOAD_NUL, "line", &doc, err);

	if (r)
		return r == -(int)RYE_IO ? r :
					   rye_fail(err, RYE_UNPARSABLE,
						    "Corrupt transcript at line %zu", number);
	if (!strcmp(json_str(doc, "event_type"), "checkpoint") &&
	    chronicle_point(json_object_get(doc, "payload"), &point))
		snprintf(chronicle->head, sizeof(chronicle->head), "%s", point.hash);
	return 0;
}

/* What a killed process has left of its last line goes out of the way, and is kept. */
static int drop_torn(struct chronicle *chronicle, struct rye_span text, struct rye_err *err)
{
	int r = record_put(chronicle->record->dir, TORN_FILE, text, err);

	if (!r && ftruncate(chronicle->fd, (off_t)chronicle->size) < 0)
		r = rye_fail_sys(err, errno, "cannot mend %.700s/" TRANSCRIPT_FILE,
				 chronicle->record->id);
	return r;
}

static int take_text(struct chronicle *chronicle, struct rye_err *err)
{
	__attribute__((cleanup(lines_done))) struct lines lines = { .fd = -1 };
	struct rye_span text;
	size_t number = 0;
	int more = 0, r = lines_open(&lines, CHRONICLE_FILE(chronicle->record), err);

	while (!r && (more = lines_next(&lines, &text, err)) > 0) {
		if (!lines.whole)
			return drop_torn(chronicle, text, err);
		sha_run_add(chronicle->run, (struct rye_span){ text.ptr, text.len + 1 });
		chronicle->size = lines.at;
		r = find_head(chronicle, text, ++number, err);
	}
	return r ? r : more;
}

int chronicle_open(const struct record *record, struct chronicle **ret, struct rye_err *err)
{
	auto_chronicle struct chronicle *chronicle = calloc(1, sizeof(*chronicle));
	int r;

	if (!chronicle)
		return memory_fail(err);
	chronicle->record = record;
	chronicle->fd = -1;
	chronicle->run = sha_run_new();
	if (!chronicle->run)
		return memory_fail(err);
	chronicle->fd = openat(record->dir, TRANSCRIPT_FILE,
			       O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (chronicle->fd < 0)
		return rye_fail_sys(err, errno, "%.700s/" TRANSCRIPT_FILE, record->id);
	r = take_text(chronicle, err);
	if (!r)
		*ret = steal(&chronicle);
	return r;
}

void chronicle_close(struct chronicle *chronicle)
{
	if (!chronicle)
		return;
	sync_join(chronicle, NULL);
	if (chronicle->fd >= 0)
		close(chronicle->fd);
	sha_run_free(chronicle->run);
	free(chronicle);
}

const struct record *chronicle_record(const struct chronicle *chronicle)
{
	return chronicle->record;
}

const char *chronicle_head(const struct chronicle *chronicle)
{
	return chronicle->head;
}

uint64_t chronicle_size(const struct chronicle *chronicle)
{
	return chronicle->size;
}

/* ---- appending ---- */

/* The whole line or nothing of it. */
static int append_line(struct chronicle *chronicle, struct rye_span line, struct rye_err *err)
{
	int r = io_write_all(chronicle->fd, line.ptr, line.len);

	if (!r) {
		sha_run_add(chronicle->run, line);
		chronicle->size += line.len;
		return 0;
	}
	/* If this fails as well, the next process that opens it takes the torn line out. */
	if (ftruncate(chronicle->fd, (off_t)chronicle->size) < 0)
		r = -EIO;
	return rye_fail_sys(err, -r, "cannot write %.700s/" TRANSCRIPT_FILE, chronicle->record->id);
}

static bool is_ending(const char *type)
{
	return !strncmp(type, "thread_", strlen("thread_")) || !strcmp(type, "checkpoint");
}

/* What is longer is itself what there is no room for; else the transcript is full of many. */
#define EVENT_LONG (1u << 20)

static const char *event_name(const char *type)
{
	static const struct {
		const char *type, *name;
	} names[] = {
		{ "cognition_in", "a message" },
		{ "cognition_out", "the model's answer" },
		{ "token_delta", "the model's answer" },
		{ "tool_call_result", "a tool's result" },
		{ "tool_call_start", "a call of the model's" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(type, names[i].type))
			return names[i].name;
	return "an event";
}

/* len 0: it is longer than can be written at all */
static int append_refuse(const struct chronicle *chronicle, const char *type, uint64_t len,
			 struct rye_err *err)
{
	const char *id = chronicle->record->id;
	unsigned limit = TRANSCRIPT_MAX >> 20;

	if (len && len < EVENT_LONG)
		return rye_fail(err, RYE_TOO_BIG,
				"%.300s/" TRANSCRIPT_FILE " has the %u MiB that a thread "
				"writes at most; " MEND_WITH "ryefs threads resume %.300s go on",
				id, limit, id);
	return rye_fail(err, RYE_TOO_BIG,
			"%s is too long: it takes %s%u MiB of " TRANSCRIPT_FILE
			", for the whole of "
			"which a thread has %u; the directive has to ask for less at once",
			event_name(type), len ? "" : "more than ",
			(unsigned)((len ? len : RYE_BUF_CAP) >> 20), limit);
}

#define ENDING_MAX (64u << 10)

static int append_event(struct chronicle *chronicle, const char *type, json_t *payload, bool ending,
			struct rye_err *err)
{
	unsigned long since = memory_failures();
	const struct record *record = chronicle->record;
	uint64_t before = strcmp(type, "token_delta") != 0 ? 0 : chronicle->heard;
	auto_buf struct rye_buf line = RYE_BUF_INIT;
	auto_json json_t *doc = json_object();
	uint64_t room;
	int r;

	json_set(doc, "timestamp", json_real((double)record_now(record) / 1e6));
	json_sets(doc, "thread_id", record->id);
	json_sets(doc, "event_type", type);
	json_object_set_new(doc, "payload", record_redact(record, payload));
	json_python_dumps(&line, doc);
	buf_addc(&line, '\n');
	if (memory_check(since, err))
		return -(int)RYE_IO;
	/* of a longer one, which another program has written, the end can be told all the same */
	room = ending ? MAX_OF((uint64_t)RYE_BUF_CAP, chronicle->size + ENDING_MAX) :
			TRANSCRIPT_MAX;
	if (line.failed || chronicle->size + line.len > room)
		return append_refuse(chronicle, type, line.failed ? 0 : before + line.len, err);
	r = append_line(chronicle, (struct rye_span){ line.data, line.len }, err);
	chronicle->heard = strcmp(type, "token_delta") != 0 ? 0 : before + line.len;
	return r;
}

int chronicle_event(struct chronicle *chronicle, const char *type, json_t *payload,
		    struct rye_err *err)
{
	auto_json json_t *held = payload;

	if (!json_is_object(held))
		return memory_fail(err);
	return append_event(chronicle, type, held, is_ending(type), err);
}

int chronicle_begin_call(struct chronicle *chronicle, const json_t *block, struct rye_err *err)
{
	return chronicle_event(chronicle, "tool_call_start",
			       json_pack("{s:s, s:s, s:O?}", "tool", json_str(block, "name"),
					 "call_id", json_str(block, "id"), "input",
					 json_object_get(block, "arguments")),
			       err);
}

int chronicle_close_call(struct chronicle *chronicle, const char *id, const char *error,
			 struct rye_err *err)
{
	auto_json json_t *payload =
		json_pack("{s:s, s:s, s:s}", "call_id", id, "output", "", "error", error);

	return payload ? append_event(chronicle, "tool_call_result", payload, true, err) :
			 memory_fail(err);
}

static int append_checkpoint(struct chronicle *chronicle, int64_t turn, struct rye_err *err)
{
	const struct record *record = chronicle->record;
	char hash[SHA_HEX], sig[KEY_SIG_TEXT], stamp[24];
	int r;

	sha_run_hex(chronicle->run, hash);
	key_sign(record->key, span_of(hash), sig);
	clock_stamp((time_t)(record_now(record) / 1000000), stamp);
	r = chronicle_event(chronicle, "checkpoint",
			    json_pack("{s:I, s:I, s:s, s:s, s:s, s:s}", "turn", (json_int_t)turn,
				      "byte_offset", (json_int_t)chronicle->size, "hash", hash,
				      "sig", sig, "fp", record->key->pub.fp, "ts", stamp),
			    err);
	if (r)
		return r;
	memcpy(chronicle->head, hash, sizeof(hash));
	return 0;
}

int chronicle_checkpoint(struct chronicle *chronicle, int64_t turn, struct rye_err *err)
{
	int r = append_checkpoint(chronicle, turn, err);

	return r ? r : sync_now(chronicle, err);
}

int chronicle_checkpoint_begin(struct chronicle *chronicle, int64_t turn, const struct story *story,
			       struct rye_err *err)
{
	int r = append_checkpoint(chronicle, turn, err);

	return r ? r : sync_begin(chronicle, story, err);
}

bool chronicle_story_lost(struct chronicle *chronicle, struct rye_err *ret)
{
	*ret = chronicle->lost;
	chronicle->lost = (struct rye_err){ .code = RYE_OK };
	return ret->code != RYE_OK;
}

int chronicle_resumed(const struct record *record, const struct resumed *what, struct rye_err *err)
{
	auto_chronicle struct chronicle *chronicle = NULL;
	char preview[201];
	int r;

	if (faccessat(record->dir, TRANSCRIPT_FILE, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		return rye_fail_sys(err, errno, "%.700s/" TRANSCRIPT_FILE, record->id);
	r = chronicle_open(record, &chronicle, err);
	if (r)
		return r;
	utf8_cut(what->message, preview, sizeof(preview));
	return chronicle_event(chronicle, "thread_resumed",
			       json_pack("{s:s, s:s, s:s}", "new_thread_id", what->next,
					 "directive", what->directive, "message_preview", preview),
			       err);
}
