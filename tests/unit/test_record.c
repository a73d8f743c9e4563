/* SPDX-License-Identifier: MIT */
/* What a thread leaves behind: signed documents, the transcript and what breaks it, results. */
#include "record_place.h"
#include "messages_read.h"
#include "told.h"
#include "rye_json.h"

#include "clock.h"
#include "item/item.h"
#include "sign/sign.h"
#include "thread/thread_inner.h"

/* ---- thread.json ---- */

static void file_of(int dir, const char *path, struct rye_blob **ret)
{
	if (io_read_at(dir, path, 1 << 20, ret))
		fail_msg("cannot read %s", path);
}

static void thread_T04_keys_and_their_order(void **state)
{
	auto_json json_t *limits = json_pack("{s:f, s:i}", "spend", 5.0, "turns", 6);
	auto_json json_t *empty = json_array(), *cost = NULL, *doc = NULL;
	auto_json json_t *more = json_pack("{s:s, s:{s:s}, s:s}", "status", "no", "inputs", "who",
					   "B\xc3\xa9", "error", "");
	struct thread_json what = { .directive = "t/hello",
				    .status = "running",
				    .limits = limits,
				    .capabilities = empty,
				    .more = more };
	auto_blob struct rye_blob *blob = NULL;
	struct record_place r;
	char *at;

	record_place_make(&r, RECORD_ID);
	assert_works(&told_err, thread_json_write(&r.record, &what, &told_err));
	file_of(r.dir, "thread.json", &blob);
	at = strstr(blob->data, "  \"_signature\": \"rye:signed:2026-01-02T03:04:05Z:");
	assert_non_null(at);
	*at = 0;
	assert_string_equal(blob->data,
			    "{\n  \"thread_id\": \"t/hello/hello-1\",\n"
			    "  \"directive\": \"t/hello\",\n"
			    "  \"tool_id\": \"rye/agent/threads/thread_directive\",\n"
			    "  \"status\": \"running\",\n"
			    "  \"created_at\": \"2026-01-02T03:04:05.000000+00:00\",\n"
			    "  \"updated_at\": \"2026-01-02T03:04:05.000000+00:00\",\n"
			    "  \"limits\": {\n    \"spend\": 5.0,\n    \"turns\": 6\n  },\n"
			    "  \"inputs\": {\n    \"who\": \"B\\u00e9\"\n  },\n");
	r.now_us += 61000000;
	cost = thread_cost_json(&(struct thread_cost){ 2, 200, 20, 0.1, 61 });
	what.cost = cost;
	what.status = "completed";
	what.transcript_head = "ab";
	assert_works(&told_err, thread_json_write(&r.record, &what, &told_err));
	assert_works(&told_err, thread_json_read(&r.record, &doc, &told_err));
	assert_string_equal(json_str(doc, "created_at"), "2026-01-02T03:04:05.000000+00:00");
	assert_string_equal(json_str(doc, "updated_at"), "2026-01-02T03:05:06.000000+00:00");
	assert_null(json_object_get(json_object_get(doc, "cost"), "_status"));
	assert_null(json_object_get(doc, "capabilities"));
	record_place_drop(&r);
}

/* thread F27: what was put into the parent's file by another gives a child nothing. */
static void thread_F27_edited_documents(void **state)
{
	struct thread_json what = { .directive = "t/hello", .status = "running" };
	auto_json json_t *doc = NULL;
	auto_blob struct rye_blob *blob = NULL;
	struct record_place r;
	struct record other;
	struct rye_err err;
	char *at;

	record_place_make(&r, RECORD_ID);
	other = r.record;
	other.id = "t/hello/hello-2";
	assert_refused(&err, RYE_NOT_FOUND, thread_json_read(&r.record, &doc, &err));
	assert_works(&told_err, thread_json_write(&r.record, &what, &told_err));
	assert_refused(&err, RYE_MOVED, thread_json_read(&other, &doc, &err));
	file_of(r.dir, "thread.json", &blob);
	at = strstr(blob->data, "running");
	at[0] = 'R';
	assert_refused(&err, RYE_MODIFIED,
		       thread_json_parse(&r.record, (struct rye_span){ blob->data, blob->len },
					 &doc, &err));
	at = strstr(blob->data, "_signature");
	at[0] = '-';
	assert_refused(&err, RYE_UNSIGNED,
		       thread_json_parse(&r.record, (struct rye_span){ blob->data, blob->len },
					 &doc, &err));
	assert_refused(&err, RYE_INVALID, thread_json_parse(&r.record, SPAN("{"), &doc, &err));
	record_place_drop(&r);
}

/* thread F37: the key was lost; a new one is made, and what the old one has signed is still good. */
static void thread_F37_another_key(void **state)
{
	struct thread_json what = { .directive = "t/hello", .status = "running" };
	auto_json json_t *doc = NULL;
	struct record_place r;
	char old[KEY_FP], path[300];

	record_place_make(&r, RECORD_ID);
	memcpy(old, r.key.pub.fp, KEY_FP);
	assert_works(&told_err, thread_json_write(&r.record, &what, &told_err));
	snprintf(path, sizeof(path), "%s/automatic/private_key.pem", r.p.spaces->key_dir);
	assert_int_equal(unlink(path), 0);
	assert_works(&told_err, keystore_automatic(&r.p.env, &r.key, &told_err));
	assert_string_not_equal(r.key.pub.fp, old);
	assert_works(&told_err, thread_json_read(&r.record, &doc, &told_err));
	assert_works(&told_err, thread_json_write(&r.record, &what, &told_err));
	json_decref(steal(&doc));
	assert_works(&told_err, thread_json_read(&r.record, &doc, &told_err));
	record_place_drop(&r);
}

static void secrets_are_not_written(void **state)
{
	auto_json json_t *secrets = json_pack("[s, s]", "sk-12345678", "ab");
	auto_json json_t *out = json_pack("{s:s, s:[s]}", "sk-12345678", "x sk-12345678 y", "ab",
					  "sk-12345678sk-12345678");
	struct thread_json what = { .directive = "t/hello", .status = "done", .outputs = out };
	auto_blob struct rye_blob *blob = NULL;
	struct record_place r;

	record_place_make(&r, RECORD_ID);
	r.record.secrets = secrets;
	same_json(record_redact(&r.record, out),
		  "{\"[redacted]\":\"x [redacted] y\",\"ab\":[\"[redacted][redacted]\"]}");
	assert_works(&told_err, thread_json_write(&r.record, &what, &told_err));
	file_of(r.dir, "thread.json", &blob);
	assert_null(strstr(blob->data, "sk-1"));
	record_place_drop(&r);
}

/* ---- transcript ---- */

static void thread_T05_checkpoint_vector(void **state)
{
	static const char line[] = "{\"timestamp\": 1.5, \"thread_id\": \"x/x-1\", "
				   "\"event_type\": \"cognition_in\", \"payload\": {\"text\": "
				   "\"hi\", \"role\": \"user\"}}\n";
	static const unsigned char seed[KEY_LEN] =
		"\x9d\x61\xb1\x9d\xef\xfd\x5a\x60\xba\x84\x4a\xf4\x92\xec\x2c\xc4"
		"\x44\x49\xc5\x69\x7b\x32\x69\x19\x70\x3b\xac\x03\x1c\xae\x7f\x60";
	auto_blob struct rye_blob *blob = NULL;
	struct chronicle *t = NULL;
	struct record_place r;

	record_place_make(&r, "x/x-1");
	key_secret_seed(seed, &r.key);
	r.now_us = 1500000;
	assert_works(&told_err, chronicle_open(&r.record, &t, &told_err));
	assert_works(&told_err,
		     chronicle_event(t, "cognition_in",
				     json_pack("{s:s, s:s}", "text", "hi", "role", "user"),
				     &told_err));
	assert_int_equal(chronicle_size(t), 114);
	assert_works(&told_err, chronicle_checkpoint(t, 1, &told_err));
	assert_string_equal(chronicle_head(t),
			    "107b0e2c4bd40f6ec56850cad6484b617587fc8f9460852c9118998b61d5ba27");
	chronicle_close(t);
	file_of(r.dir, "transcript.jsonl", &blob);
	assert_memory_equal(blob->data, line, 114);
	assert_non_null(strstr(blob->data, "F9VoKRQGzIQdHHUlixzpLB16eYF6mgPDwTFkjUUXWD-"
					   "9aKMhuQlc67OV1DB7nKg15fnZ1tu05MgtxVhILsJ_AQ"));
	record_place_drop(&r);
}

struct talk {
	struct record_place r;
	struct rye_blob *text;
	char head[SHA_HEX];
};

static int talk_make(void **state)
{
	struct talk *talk = calloc(1, sizeof(*talk));
	struct chronicle *t = NULL;

	record_place_make(&talk->r, RECORD_ID);
	assert_works(&told_err, chronicle_open(&talk->r.record, &t, &told_err));
	record_talk(&talk->r, t);
	snprintf(talk->head, sizeof(talk->head), "%s", chronicle_head(t));
	chronicle_close(t);
	assert_works(&told_err, record_transcript(&talk->r.record, &talk->text, &told_err));
	*state = talk;
	return 0;
}

static int talk_drop(void **state)
{
	struct talk *talk = *state;

	rye_blob_unref(talk->text);
	record_place_drop(&talk->r);
	free(talk);
	return 0;
}

static void check_is(struct talk *talk, struct rye_span text, const char *head, const char *want)
{
	struct chronicle_check check;
	char line[400];

	chronicle_check(&talk->r.record, text, head, &check);
	chronicle_check_line(&check, line, sizeof(line));
	assert_string_equal(line, want);
}

static struct rye_span whole(const struct talk *talk)
{
	return (struct rye_span){ talk->text->data, talk->text->len };
}

/* The last line is a checkpoint over the event that ends the thread. */
static void thread_T07_strictly_whole(void **state)
{
	struct talk *talk = *state;
	struct chronicle_check check;

	chronicle_check(&talk->r.record, whole(talk), talk->head, &check);
	assert_int_equal(check.code, RYE_OK);
	assert_false(check.tail);
	assert_int_equal(check.signed_len, talk->text->len);
	assert_int_equal(check.turn, 2);
	check_is(talk, whole(talk), talk->head, "ok 2 checkpoints");
	check_is(talk, whole(talk), NULL, "ok 2 checkpoints");
	check_is(talk, SPAN(""), NULL, "unsigned");
}

/* The start of the line with this text in it. */
static char *line_with(struct talk *talk, const char *text)
{
	char *at = strstr(talk->text->data, text);

	assert_non_null(at);
	while (at > talk->text->data && at[-1] != '\n')
		at--;
	return at;
}

static void thread_F28_tampered(void **state)
{
	struct talk *talk = *state;
	char *first = line_with(talk, "\"checkpoint\""), *behind = strchr(first, '\n') + 1;
	auto_buf struct rye_buf edited = RYE_BUF_INIT;
	char *bob = strstr(talk->text->data, "Greet");
	struct record other = talk->r.record;
	struct chronicle_check check;

	/* a byte of the first turn */
	*bob = 'g';
	check_is(talk, whole(talk), talk->head, "bad: Content hash mismatch at turn 1");
	*bob = 'G';
	/* a line behind the last checkpoint */
	buf_addspan(&edited, whole(talk));
	buf_addf(&edited, "{\"thread_id\": \"%s\", \"event_type\": \"cognition_in\"}\n", RECORD_ID);
	check_is(talk, (struct rye_span){ edited.data, edited.len }, talk->head,
		 "bad: Unsigned content after last checkpoint (63 bytes after turn 2)");
	/* cut behind an older checkpoint */
	check_is(talk, (struct rye_span){ talk->text->data, (size_t)(behind - talk->text->data) },
		 talk->head, "bad: The checkpoint that thread.json names is not there");
	/* all checkpoints taken out */
	check_is(talk, (struct rye_span){ talk->text->data, (size_t)(first - talk->text->data) },
		 talk->head, "bad: The checkpoint that thread.json names is not there");
	/* another thread's */
	other.id = "t/hello/hello-2";
	chronicle_check(&other, whole(talk), talk->head, &check);
	assert_int_equal(check.code, RYE_MOVED);
	assert_string_equal(check.why.msg, "Event of another thread: t/hello/hello-1");
}

/* Of what stands before the last checkpoint's own line, whatever bit is turned. */
static void every_byte_counts(void **state)
{
	struct talk *talk = *state;
	char *text = talk->text->data, *last = memrchr(text, '\n', talk->text->len - 1);
	struct chronicle_check check;

	for (char *at = text; at <= last; at++) {
		char bit = (char)(1 << (at - text) % 7);

		*at ^= bit;
		chronicle_check(&talk->r.record, whole(talk), talk->head, &check);
		*at ^= bit;
		if (check.code == RYE_OK)
			fail_msg("byte %zd", at - text);
	}
	check_is(talk, whole(talk), talk->head, "ok 2 checkpoints");
}

static void thread_F28_unknown_key(void **state)
{
	struct talk *talk = *state;
	struct chronicle_check check;
	struct chronicle *t = NULL;
	struct record_place *r = &talk->r;
	char want[80];

	place_key(0x55, &r->key);
	assert_works(&told_err, chronicle_open(&r->record, &t, &told_err));
	assert_string_equal(chronicle_head(t), talk->head);
	assert_works(&told_err, chronicle_checkpoint(t, 3, &told_err));
	chronicle_close(t);
	rye_blob_unref(talk->text);
	assert_works(&told_err, record_transcript(&r->record, &talk->text, &told_err));
	chronicle_check(&r->record, whole(talk), NULL, &check);
	assert_int_equal(check.code, RYE_UNTRUSTED);
	snprintf(want, sizeof(want), "Untrusted signing key %s at turn 3", r->key.pub.fp);
	assert_string_equal(check.why.msg, want);
}

/* Lines moved about within what is signed, signatures of other bytes. */
static void checkpoints_stand_where_they_say(void **state)
{
	struct talk *talk = *state;
	char *second =
		strstr(line_with(talk, "\"checkpoint\"") + 1, "\"event_type\": \"checkpoint\"");
	auto_buf struct rye_buf edited = RYE_BUF_INIT;
	char *sig = strstr(talk->text->data, "\"sig\": \"") + 8;

	assert_non_null(second = strstr(second + 1, "\"event_type\": \"checkpoint\""));
	while (second[-1] != '\n')
		second--;
	buf_add(&edited, talk->text->data, (size_t)(second - talk->text->data));
	buf_addf(&edited, "{\"thread_id\": \"%s\", \"event_type\": \"x\"}\n", RECORD_ID);
	buf_adds(&edited, second);
	check_is(talk, (struct rye_span){ edited.data, edited.len }, NULL,
		 "bad: Unsigned content before the checkpoint at turn 2");
	*sig = *sig == 'A' ? 'B' : 'A';
	check_is(talk, whole(talk), NULL, "bad: Signature verification failed at turn 1");
}

/* thread T06: another implementation ends a thread behind the last checkpoint, and twice. */
static void thread_T06_foreign_ends(void **state)
{
	struct talk *talk = *state;
	auto_buf struct rye_buf edited = RYE_BUF_INIT;
	struct chronicle_check check;

	buf_addspan(&edited, whole(talk));
	for (int i = 0; i < 2; i++)
		buf_addf(&edited,
			 "{\"timestamp\": 1.5, \"thread_id\": \"%s\", \"event_type\": "
			 "\"thread_completed\", \"payload\": {\"cost\": {\"_status\": \"x\"}}}\n",
			 RECORD_ID);
	buf_adds(&edited, "{\"torn");
	chronicle_check(&talk->r.record, (struct rye_span){ edited.data, edited.len }, talk->head,
			&check);
	assert_int_equal(check.code, RYE_OK);
	assert_true(check.tail);
	assert_int_equal(check.signed_len, talk->text->len);
}

/* thread F21: a line that its process did not finish is put away; the next one stands alone. */
static void thread_F21_torn_line(void **state)
{
	struct talk *talk = *state;
	int dir = talk->r.dir, fd = openat(dir, "transcript.jsonl", O_WRONLY | O_APPEND);
	auto_blob struct rye_blob *torn = NULL;
	struct chronicle *t = NULL;

	assert_int_equal(write(fd, "{\"time", 6), 6);
	close(fd);
	assert_works(&told_err, chronicle_open(&talk->r.record, &t, &told_err));
	assert_int_equal(chronicle_size(t), talk->text->len);
	file_of(dir, "transcript.torn", &torn);
	assert_string_equal(torn->data, "{\"time");
	assert_works(&told_err, chronicle_event(t, "thread_error", json_object(), &told_err));
	assert_works(&told_err, chronicle_checkpoint(t, 2, &told_err));
	chronicle_close(t);
	rye_blob_unref(talk->text);
	assert_works(&told_err, record_transcript(&talk->r.record, &talk->text, &told_err));
	check_is(talk, whole(talk), talk->head, "ok 3 checkpoints");
}

/* thread F36: the clock goes back an hour. */
static void thread_F36_clock_goes_back(void **state)
{
	struct talk *talk = *state;
	struct chronicle *t = NULL;

	talk->r.now_us -= INT64_C(3600000000);
	assert_works(&told_err, chronicle_open(&talk->r.record, &t, &told_err));
	assert_works(&told_err, chronicle_event(t, "thread_resumed", json_object(), &told_err));
	assert_works(&told_err, chronicle_checkpoint(t, 3, &told_err));
	chronicle_close(t);
	rye_blob_unref(talk->text);
	assert_works(&told_err, record_transcript(&talk->r.record, &talk->text, &told_err));
	check_is(talk, whole(talk), talk->head, "ok 3 checkpoints");
}

/* Events go on while a checkpoint's bytes are on their way to the disk. */
static void checkpoints_do_not_wait_for_the_disk(void **state)
{
	struct talk *talk = *state;
	struct chronicle *t = NULL;

	assert_works(&told_err, chronicle_open(&talk->r.record, &t, &told_err));
	for (int turn = 3; turn < 20; turn++) {
		assert_works(&told_err, chronicle_checkpoint_begin(t, turn, NULL, &told_err));
		assert_works(&told_err,
			     chronicle_event(t, "cognition_in",
					     json_pack("{s:s, s:s}", "text", "on", "role", "user"),
					     &told_err));
	}
	assert_works(&told_err, chronicle_checkpoint(t, 20, &told_err));
	assert_works(&told_err, chronicle_checkpoint_begin(t, 21, NULL, &told_err));
	chronicle_close(t);
	rye_blob_unref(talk->text);
	assert_works(&told_err, record_transcript(&talk->r.record, &talk->text, &told_err));
	check_is(talk, whole(talk), talk->head, "ok 21 checkpoints");
}

/* ---- messages ---- */

static void messages_again(void **state)
{
	struct talk *talk = *state;
	json_t *list = NULL;

	assert_works(&told_err, messages_of(whole(talk), &list, &told_err));
	same_json(list, "[{\"role\":\"user\",\"content\":\"Greet Bob.\"},"
			"{\"role\":\"assistant\",\"content\":\"I look.\",\"tool_calls\":["
			"{\"name\":\"rye_read\",\"id\":\"c0\",\"input\":{\"path\":\"a\"}}]},"
			"{\"role\":\"tool\",\"tool_call_id\":\"c0\",\"content\":\"Bob \xc3\xa9 ``` "
			"x\"},{\"role\":\"assistant\",\"content\":\"Hello, Bob.\"}]");
	talk->text->data[3] = 0x01;
	assert_refused(&told_err, RYE_UNPARSABLE, messages_of(whole(talk), &list, &told_err));
}

static void calls_without_a_result(void **state)
{
	static const char text[] =
		"{\"event_type\":\"tool_call_start\",\"payload\":{\"call_id\":\"a\"}}\n"
		"{\"event_type\":\"tool_call_start\",\"payload\":{\"call_id\":\"b\"}}\n"
		"{\"event_type\":\"tool_call_result\",\"payload\":{\"call_id\":\"a\"}}\n";
	struct talk *talk = *state;
	struct chronicle *t = NULL;
	auto_blob struct rye_blob *blob = NULL;

	assert_works(&told_err, chronicle_open(&talk->r.record, &t, &told_err));
	assert_int_equal(chronicle_close_calls(t, CHRONICLE_TEXT(span_of(text)), "low", NULL), 1);
	chronicle_close(t);
	assert_works(&told_err, record_transcript(&talk->r.record, &blob, &told_err));
	assert_non_null(strstr(blob->data, "\"call_id\": \"b\", \"output\": \"\", \"error\": "
					   "\"interrupted: low."));
}

/* The answer is sent again as it came: the calls that were not begun have results, too. */
static void calls_that_were_not_begun(void **state)
{
	static const char text[] =
		"{\"event_type\":\"cognition_out\",\"payload\":{\"raw\":{\"blocks\":["
		"{\"kind\":\"tool_call\",\"id\":\"a\",\"name\":\"ls\",\"arguments\":{}},"
		"{\"kind\":\"text\"},"
		"{\"kind\":\"tool_call\",\"id\":\"b\",\"name\":\"ls\",\"arguments\":{}},"
		"{\"kind\":\"tool_call\",\"id\":\"c\",\"name\":\"ls\",\"arguments\":{\"p\":1}}]}}}\n"
		"{\"event_type\":\"tool_call_start\",\"payload\":{\"call_id\":\"a\"}}\n"
		"{\"event_type\":\"tool_call_result\",\"payload\":{\"call_id\":\"a\"}}\n"
		"{\"event_type\":\"tool_call_start\",\"payload\":{\"call_id\":\"b\"}}\n";
	struct talk *talk = *state;
	struct chronicle *t = NULL;
	auto_blob struct rye_blob *blob = NULL;

	assert_works(&told_err, chronicle_open(&talk->r.record, &t, &told_err));
	assert_int_equal(chronicle_close_calls(t, CHRONICLE_TEXT(span_of(text)), "lost", NULL), 2);
	chronicle_close(t);
	assert_works(&told_err, record_transcript(&talk->r.record, &blob, &told_err));
	assert_non_null(strstr(blob->data, "\"call_id\": \"b\", \"output\": \"\", \"error\": "
					   "\"interrupted: lost. It may have happened"));
	assert_non_null(strstr(blob->data, "{\"tool\": \"ls\", \"call_id\": \"c\", \"input\": "
					   "{\"p\": 1}}"));
	assert_non_null(strstr(blob->data, "\"call_id\": \"c\", \"output\": \"\", \"error\": "
					   "\"not executed: lost\""));
}

/* ---- signed texts ---- */

static void offered_tools(void **state)
{
	struct talk *talk = *state;
	auto_json json_t *tools = json_loads("[{\"name\":\"rye_read\",\"description\":\"d\xc3\xa9 "
					     "```\",\"_item_id\":\"rye/read\"}]",
					     0, NULL);
	auto_json json_t *caps = json_loads("[\"rye.execute.tool.a.b\",\"rye.execute.tool.c\","
					    "\"rye.fetch.knowledge\",\"rye.sign.*\"]",
					    0, NULL);
	auto_json json_t *again = NULL;
	auto_blob struct rye_blob *blob = NULL;
	struct record other = talk->r.record;
	struct rye_err err;

	assert_works(&told_err, capabilities_md_write(&talk->r.record, tools, caps, &told_err));
	assert_works(&err, capabilities_md_read(&talk->r.record, &again, &err));
	assert_true(json_equal(tools, again));
	file_of(talk->r.dir, "capabilities.md", &blob);
	assert_non_null(strstr(blob->data, "## Capabilities Tree\n\n```\n"
					   "├── execute\n│   └── tool\n│       ├── a.b\n"
					   "│       └── c\n├── fetch\n│   └── knowledge (none)\n"
					   "└── sign\n    └── * (none)\n```\n"));
	other.id = "t/hello/hello-2";
	assert_refused(&err, RYE_UNCOVERED,
		       capabilities_md_parse(&other, (struct rye_span){ blob->data, blob->len },
					     &again, &err));
}

/* The story behind a checkpoint is there, or was not due, when the transcript is closed. */
static void checkpoint_with(struct talk *talk, const struct story *what)
{
	struct chronicle *t = NULL;
	struct rye_err err = { 0 };

	assert_works(&told_err, chronicle_open(&talk->r.record, &t, &told_err));
	assert_works(&told_err, chronicle_checkpoint_begin(t, 30, what, &told_err));
	assert_works(&told_err, chronicle_checkpoint(t, 31, &told_err));
	assert_false(chronicle_story_lost(t, &err));
	chronicle_close(t);
}

/* A checkpoint is none the worse for it. */
static void a_story_that_is_lost_is_told_once(void **state)
{
	struct talk *talk = *state;
	const struct story what = { .directive = "t/hello", .status = "running" };
	struct record nowhere = talk->r.record;
	struct chronicle *t = NULL;
	struct rye_err err = { 0 };

	nowhere.ai = -1;
	assert_works(&told_err, chronicle_open(&nowhere, &t, &told_err));
	assert_works(&told_err, chronicle_checkpoint_begin(t, 32, &what, &told_err));
	assert_false(chronicle_story_lost(t, &err));
	assert_works(&told_err, chronicle_checkpoint_begin(t, 33, NULL, &told_err));
	assert_true(chronicle_story_lost(t, &err));
	assert_non_null(strstr(err.msg, "knowledge/agent/threads/"));
	assert_false(chronicle_story_lost(t, &err));
	chronicle_close(t);
}

static void a_story_is_a_knowledge_entry(void **state)
{
	struct talk *talk = *state;
	auto_json json_t *caps = json_pack("[s]", "rye.fetch.*");
	struct story what = { .directive = "t/hello",
			      .status = "completed",
			      .model = "m: 1",
			      .cost = { 2, 200, 20, 0.1, 61 },
			      .capabilities = caps };
	auto_blob struct rye_blob *blob = NULL;
	auto_item struct rye_item *item = NULL;
	const int64_t began = time(NULL);

	assert_works(&told_err,
		     story_write(&talk->r.record, &what, CHRONICLE_TEXT(whole(talk)), &told_err));
	assert_works(&told_err, place_load(&talk->r.p, RYE_KNOWLEDGE, "agent/threads/" RECORD_ID,
					   &item, &told_err));
	assert_true(item->verdict.bound);
	assert_string_equal(json_str(item->meta, "entry_type"), "thread_transcript");
	assert_string_equal(json_str(item->meta, "thread_id"), RECORD_ID);
	assert_string_equal(json_str(item->meta, "model"), "m: 1");
	assert_string_equal(json_str(item->meta, "duration"), "1.0m");
	assert_string_equal(json_str(item->meta, "created_at"), "2026-01-02T03:04:06Z");
	blob = rye_blob_ref(item->text);
	assert_non_null(strstr(blob->data,
			       "\n# t/hello\n\n## System Prompt (custom)\n\nBe brief."
			       "\n\n---\n\n## Input — Turn 1\n\nGreet Bob.\n\n"
			       "### Response — Turn 1\n\nI look.\n\n"
			       "> *one*\n>\n> *two*\n\n### Tool: rye_read\n\n"
			       "```json\n{\n  \"path\": \"a\"\n}\n```\n\n"
			       "### Result\n\n````\nBob é ``` x\n````\n\n"
			       "### Response — Turn 3\n\nHello, Bob.\n\n---\n\n"
			       "**Completed** -- 2 turns, 220 tokens, $0.1000, 1.0m\n"));
	talk->r.now_us = began * 1000000; /* not yet: it was written just now */
	what.status = "running";
	checkpoint_with(talk, &what);
	rye_item_unref(steal(&item));
	place_load(&talk->r.p, RYE_KNOWLEDGE, "agent/threads/" RECORD_ID, &item, NULL);
	assert_string_equal(json_str(item->meta, "status"), "completed");
	talk->r.now_us += INT64_C(600000000);
	checkpoint_with(talk, &what);
	rye_item_unref(steal(&item));
	place_load(&talk->r.p, RYE_KNOWLEDGE, "agent/threads/" RECORD_ID, &item, NULL);
	assert_string_equal(json_str(item->meta, "status"), "running");
}

static void cleaned_results(void **state)
{
	auto_json json_t *reply = json_loads(
		"{\"status\":\"success\",\"chain\":[1],\"chain_detail\":[{}],\"metadata\":{},"
		"\"path\":\"p\",\"source\":1,"
		"\"resolved_env_keys\":[],\"item_id\":\"rye/x\",\"data\":{\"content\":"
		"\"# rye:signed:x\\n# rye:full:1:y\\nprint()\\n\",\"path\":\"kept\"}}",
		0, NULL);
	auto_json json_t *text = json_string("plain");
	json_t *cleaned = guard_clean(reply), *bare = guard_clean(text);

	same_json(cleaned, "{\"content\":\"print()\\n\",\"path\":\"kept\"}");
	same_json(bare, "\"plain\"");
}

static size_t files_seen;

static int count_file(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	files_seen += type == FTW_F;
	return 0;
}

static size_t count_files(const char *root)
{
	files_seen = 0;
	assert_int_equal(nftw(root, count_file, 8, FTW_PHYS), 0);
	return files_seen;
}

static char *test_long(size_t n)
{
	char *text = malloc(n + 1);

	memset(text, 'w', n);
	text[n] = 0;
	return text;
}

/* thread T25: head and tail within the limit and where the rest is; stored once. */
static void thread_T25_large_results(void **state)
{
	struct talk *talk = *state;
	char *big = malloc((1 << 20) + 1), path[300];
	auto_json json_t *result = json_object(), *entries = NULL, *back = NULL;
	auto_buf struct rye_buf out = RYE_BUF_INIT;
	auto_blob struct rye_blob *blob = NULL;
	struct guard_ask ask = { .artifact = { "c0", "rye_read", 1, 0 }, .result = result };

	for (int i = 0; i < 1 << 20; i++)
		big[i] = "abcdefghi\n"[i % 10];
	memcpy(big, "HEAD", 4);
	memcpy(big + (1 << 20) - 4, "TAIL", 4);
	big[1 << 20] = 0;
	json_sets(result, "status", "success");
	json_sets(result, "content", big);
	assert_works(&told_err, guard_put(&talk->r.record, &ask, &out, &told_err));
	assert_true(out.len <= GUARD_LIMIT && out.len > GUARD_LIMIT - 200);
	assert_non_null(strstr(out.data, "HEADefghi"));
	assert_non_null(strstr(out.data, "TAIL\""));
	assert_non_null(strstr(out.data, "\"status\":\"success\""));
	assert_non_null(strstr(out.data, "the whole result is .ai/state/objects/blobs/"));
	snprintf(path, sizeof(path), "%s/.ai/state/objects/blobs", talk->r.p.project);
	assert_int_equal(count_files(path), 1);
	buf_clear(&out);
	ask.context_used = 0.8;
	ask.where = "state/threads/x/artifacts";
	assert_works(&told_err, guard_put(&talk->r.record, &ask, &out, &told_err));
	assert_true(out.len <= GUARD_LIMIT_FULL);
	assert_non_null(strstr(out.data, "state/threads/x/artifacts/1.0.c0]"));
	assert_int_equal(count_files(path), 1);
	assert_works(&told_err, artifact_index(&talk->r.record, &entries, &told_err));
	assert_int_equal(json_object_size(entries), 2);
	assert_works(&told_err, record_artifact(&talk->r.record, "c0", &blob, &told_err));
	back = json_parse((struct rye_span){ blob->data, blob->len }, 0, "blob", NULL);
	assert_true(json_equal(back, result));
	assert_refused(&told_err, RYE_NOT_FOUND,
		       record_artifact(&talk->r.record, "c1", &blob, &told_err));
	free(big);
}

/* A long answer is in the store, and comes back as it was; bytes that are not its digest's are none. */
static void long_answers(void **state)
{
	struct talk *talk = *state;
	auto_free char *words = test_long(ANSWER_INLINE);
	auto_json json_t *answer = json_pack("{s:s, s:s, s:{s:i}, s:[{s:s, s:s}]}", "role",
					     "assistant", "wire", "w", "usage", "output", 7,
					     "blocks", "kind", "text", "text", words);
	auto_json json_t *shorter = json_pack("{s:s, s:[]}", "role", "assistant", "blocks");
	auto_json json_t *kept = NULL, *same = NULL, *again = NULL;
	json_t *none = NULL;
	struct rye_err err = { 0 };

	assert_works(&err, answer_keep(&talk->r.record, 3, answer, &kept, &err));
	assert_null(json_object_get(kept, "blocks"));
	assert_string_equal(json_str(kept, "wire"), "w");
	assert_int_equal(json_int(json_object_get(kept, "usage"), "output", 0), 7);
	assert_works(&err, answer_whole(&talk->r.record, kept, &again, &err));
	json_object_del(again, "artifact");
	assert_true(json_equal(again, answer));
	assert_works(&err, answer_keep(&talk->r.record, 4, shorter, &same, &err));
	assert_ptr_equal(same, shorter);
	json_object_set_new(kept, "artifact", json_string("../../../../config/keys/x"));
	assert_refused(&err, RYE_INVALID, answer_whole(&talk->r.record, kept, &none, &err));
	json_object_set_new(
		kept, "artifact",
		json_string("107b0e2c4bd40f6ec56850cad6484b617587fc8f9460852c9118998b61d5ba27"));
	assert_refused(&err, RYE_NOT_FOUND, answer_whole(&talk->r.record, kept, &none, &err));
	assert_null(none);
}

static void results_of_all_shapes(void **state)
{
	struct talk *talk = *state;
	auto_json json_t *numbers = json_array(), *word = NULL, *shapes = NULL;
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	json_t *shape;
	size_t i;

	for (int n = 0; n < 3000; n++) {
		json_array_append_new(numbers, json_integer(n));
		buf_adds(&text, "\xc3\xa9");
	}
	word = json_string(text.data);
	shapes = json_pack("[O, {s:O, s:{s:O}}, {s:s, s:O}, O, [O, O]]", numbers, "a", numbers, "b",
			   "c", word, "k", "\xc3\xa9x", "m", word, word, word, word);
	json_array_foreach(shapes, i, shape) {
		struct guard_ask ask = { .artifact = { "../x", "t", 1, i }, .result = shape };
		auto_buf struct rye_buf out = RYE_BUF_INIT;

		assert_works(&told_err, guard_put(&talk->r.record, &ask, &out, &told_err));
		assert_true(out.len <= GUARD_LIMIT);
		assert_true(utf8_valid((struct rye_span){ out.data, out.len }));
	}
}

static void damaged_artifacts(void **state)
{
	struct talk *talk = *state;
	auto_json json_t *value = json_pack("{s:s}", "a", "b"), *entries = NULL;
	auto_blob struct rye_blob *blob = NULL;
	char key[ARTIFACT_KEY_MAX], path[200];
	const char *hash;
	struct rye_err err;

	assert_works(&told_err, artifact_put(&talk->r.record, &(struct artifact){ "c", "t", 1, 0 },
					     value, key, &told_err));
	assert_works(&told_err, artifact_index(&talk->r.record, &entries, &told_err));
	hash = json_str(json_object_get(entries, key), "blob_hash");
	snprintf(path, sizeof(path), "state/objects/blobs/%.2s/%.2s/%s", hash, hash + 2, hash);
	place_text(talk->r.p.project, path, "other bytes");
	assert_refused(&err, RYE_MODIFIED, record_artifact(&talk->r.record, key, &blob, &err));
	place_text(talk->r.p.project, "state/objects/refs/artifacts/" RECORD_ID ".json", "{}");
	assert_refused(&err, RYE_INVALID, record_artifact(&talk->r.record, key, &blob, &err));
}

/* ---- names ---- */

static void thread_T02_names(void **state)
{
	char id[THREAD_ID_MAX], longer[300];

	thread_id_at("t/H/H", 1739820456123456, 0, id);
	assert_string_equal(id, "t/H/H-1739820456");
	thread_id_at("H/H", 1739820456123456, 1, id);
	assert_string_equal(id, "H/H-1739820456123");
	thread_id_at("H/H", 1739820456123456, 3, id);
	assert_string_equal(id, "H/H-1739820456125");
	assert_works(&told_err, thread_id_check(id, &told_err));
	memset(longer, 'x', 250);
	longer[250] = 0;
	thread_id_at(longer, 1739820456123456, 3, id);
	assert_refused(&told_err, RYE_INVALID, thread_id_check(id, &told_err));
}

#define TALK(name) cmocka_unit_test_setup_teardown(name, talk_make, talk_drop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(thread_T04_keys_and_their_order),
		cmocka_unit_test(thread_F27_edited_documents),
		cmocka_unit_test(thread_F37_another_key),
		cmocka_unit_test(secrets_are_not_written),
		cmocka_unit_test(thread_T05_checkpoint_vector),
		TALK(thread_T07_strictly_whole),
		TALK(thread_F28_tampered),
		TALK(every_byte_counts),
		TALK(thread_F28_unknown_key),
		TALK(checkpoints_do_not_wait_for_the_disk),
		TALK(checkpoints_stand_where_they_say),
		TALK(thread_T06_foreign_ends),
		TALK(thread_F21_torn_line),
		TALK(thread_F36_clock_goes_back),
		TALK(messages_again),
		TALK(calls_without_a_result),
		TALK(calls_that_were_not_begun),
		TALK(offered_tools),
		TALK(a_story_that_is_lost_is_told_once),
		TALK(a_story_is_a_knowledge_entry),
		cmocka_unit_test(cleaned_results),
		TALK(thread_T25_large_results),
		TALK(long_answers),
		TALK(results_of_all_shapes),
		TALK(damaged_artifacts),
		cmocka_unit_test(thread_T02_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
