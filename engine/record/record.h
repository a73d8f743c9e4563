/* SPDX-License-Identifier: MIT */
/*
 * record.h: what a thread leaves behind: its row in registry.db, and in its directory thread.json,
 * transcript.jsonl, capabilities.md; the transcript as a knowledge entry; the whole results of its
 * tools. Formats: docs/threads.md. What is signed here is a record, not authority.
 *
 * No locks: one process at a time owns a thread (`.lock` of its directory), and in it one thread at
 * a time calls the functions that take a struct record. Everything read is bounded and untrusted.
 */
#ifndef RYE_RECORD_RECORD_H
#define RYE_RECORD_RECORD_H

#include "base/db.h"
#include "base/json.h"
#include "base/sha.h"
#include "trust/trust.h"

/*
 * registry.c: the shared thread registry, `.ai/state/threads/registry.db`: same file, table and
 * columns as other implementations of the format. A terminal status is never changed into another
 * one; result and final status are written in one UPDATE. Any thread may call these.
 */

int registry_open(const char *path, struct db **ret, struct rye_err *err);
/* One that this version has made, which is not missed with the machine's power: db_open_passing. */
int registry_open_passing(const char *path, struct db **ret, struct rye_err *err);

struct registry_row {
	char thread_id[1025];
	char directive[1040]; /* the item's canonical ref; of a directive's thread its bare id */
	char status[32];
	char created_at[40], updated_at[40], completed_at[40];
	int64_t pid; /* 0 of an ended thread */
	char *result; /* JSON or NULL; only when asked for; free it */
};

struct registry_new {
	const char *id, *directive;
	const char *parent_id, *tool_id; /* or NULL */
	const char *at; /* when; NULL: now */
	int64_t pid; /* that carries it: then it is running; 0: it is created */
};
/* RYE_BUSY with err->sys EEXIST: the id is taken. */
int registry_add(struct db *db, const struct registry_new *what, struct rye_err *err);
int registry_running(struct db *db, const char *id, int64_t pid, struct rye_err *err);
/* Compare-and-set: when another process has finished it before, nothing changes. */
int registry_finish(struct db *db, const char *id, const char *status, const char *result,
		    struct rye_err *err);
int registry_get(struct db *db, const char *id, bool with_result, struct registry_row *ret,
		 struct rye_err *err);
/* The process that carried it, ended or not; 0: unknown. */
int64_t registry_pid(struct db *db, const char *id);
/* Whether it has ended with a result; costs the same whatever its length. */
bool registry_has_result(struct db *db, const char *id);
int registry_delete(struct db *db, const char *id, struct rye_err *err);

typedef int (*registry_fn)(void *arg, const struct registry_row *row);
/* Newest first; only living ones when `active`. */
int registry_each(struct db *db, bool active, registry_fn fn, void *arg, struct rye_err *err);
/* Those of a parent, the first made first. */
int registry_children(struct db *db, const char *parent, registry_fn fn, void *arg,
		      struct rye_err *err);

/* Other numbers after a change by any process. */
int registry_version(struct db *db, int64_t ret[2], struct rye_err *err);

bool registry_terminal(const char *status);

#define REGISTRY_EVENTS "events.jsonl" /* beside it: a line for each change of a row */
/* In a thread's directory, written before its row is: 0 or -errno. Its end, or "spawned": one more child. */
#define REGISTRY_ROW ".row.jsonl"
#define REGISTRY_SPAWNED "spawned"
int registry_row_new(int dir, const struct registry_new *what);
int registry_row_tell(int dir, const char *id, const char *event);
/* registry_again.c: rows by their columns, {id: {directive, status, …, cost}}, as the log in `dir` tells. */
void registry_replay(int dir, json_t *rows);
/* As REGISTRY_ROW tells it; a new reference, NULL: there is none. */
json_t *registry_row_told(int dir, const char *id);
/* Into the registry, with what follows in other rows: a row that is not there is entered, one that is
 * open ends as it is told, one that has ended stays. registry_put: one, which the log is told. */
int registry_put(struct db *db, const char *id, json_t *row, struct rye_err *err);
int registry_fill(struct db *db, json_t *rows, struct rye_err *err);

/* What a model has cost; spend is in currency units. */
struct thread_cost {
	int64_t turns, input_tokens, output_tokens;
	double spend, elapsed_seconds;
};
/* {"turns", "input_tokens", …, "elapsed_seconds"}; a new reference. */
json_t *thread_cost_json(const struct thread_cost *cost);
void thread_cost_read(const json_t *object, struct thread_cost *ret);
void thread_cost_add(struct thread_cost *cost, const struct thread_cost *more);

/* Of a row that is not terminal. */
int registry_snapshot(struct db *db, const char *id, const struct thread_cost *cost,
		      struct rye_err *err);
/* Counts a child of `parent`, whose directory is dir or -1, before it is registered; one that then fails
 * counts, too. RYE_BUDGET "Spawn limit exceeded for parent P: N/MAX" when it has had `max`. */
int registry_spawn(struct db *db, int dir, const char *parent, int64_t max, struct rye_err *err);
/* Once the successor runs: links old → next and next → old and the chain's root, and a row that is over
 * becomes `continued`. One transaction. */
int registry_chain(struct db *db, const char *old, const char *next, struct rye_err *err);
/* What rows hold of families and chains; "" absent. */
struct registry_links {
	char parent_id[1025], continuation_of[1025], continuation_thread_id[1025],
		chain_root_id[1025];
	int64_t spawn_count;
	struct thread_cost cost;
};
int registry_links(struct db *db, const char *id, struct registry_links *ret, struct rye_err *err);
/* The last of the chain that it begins or belongs to; its own id when it was never continued. */
int registry_last(struct db *db, const char *id, char ret[1025], struct rye_err *err);

/*
 * Where a thread's files lie and what they are written with; all of it is borrowed and outlives the
 * calls.
 */
struct record {
	int ai; /* descriptor of the project's .ai */
	int dir; /* of state/threads/ID */
	const char *id;
	const char *place; /* of `dir` below .ai/state; NULL: "threads" */
	const struct key_secret *key; /* keystore_automatic's */
	struct trust_box *trust;
	const json_t *secrets; /* strings that are never written: "[redacted]" is; NULL: none */
	int64_t (*now_us)(void *arg); /* wall clock since 1970; NULL: the kernel's */
	void *now_arg;
};

int64_t record_now(const struct record *record);
void record_stamp(const struct record *record, char ret[40]); /* 2026-01-02T03:04:05.1…+00:00 */
/* A new reference; secrets are looked for in all strings and keys. `value` itself if there are none. */
json_t *record_redact(const struct record *record, const json_t *value);

/*
 * What a process notes of a thread for the ones behind it: a document of its directory, signed with record->key, which
 * signs records here. doc: "thread_id" and the signature are added. synced: it outlives a loss of power at once.
 */
int record_note(const struct record *record, const char *name, bool synced, json_t *doc,
		struct rye_err *err);
/* One that is good; a new reference, or NULL. */
json_t *record_noted(const struct record *record, const char *name);

/*
 * How a run elsewhere is followed, {ref, orders}: of the orders of its runner what another one needs. In RECORD_FOLLOWED
 * a byte for each that was begun behind the first.
 */
#define RECORD_FOLLOW ".follow.json"
#define RECORD_FOLLOWED ".followed"

/*
 * Records that another machine has made, whose key nothing here vouches for: in a thread's directory, signed by the
 * key that signs records here, {thread_id, remote, key}. Such a key counts for the records of that thread.
 */
#define RECORD_VOUCHED ".vouched.json"
/* With record->key; pem: the other machine's. */
int record_vouch(const struct record *record, const char *remote, const char *pem,
		 struct rye_err *err);
/* True: there is such a document, and it is good. ret_remote may be NULL; *ret_box, for which it is read, is
 * the caller's (trust_box_free), NULL: out of memory. */
bool record_vouched(const struct record *record, char ret_remote[65], struct trust_box **ret_box);

#define RECORD_LIMITS ".limits" /* in a thread's directory, once one was changed while it ran */

/* thread_json.c: the signed thread.json; written when the thread starts and when it has ended. */
struct thread_json {
	const char *directive, *tool_id, *status;
	char created_at[40]; /* "": now; the first write fills it in */
	/* left out when NULL or empty */
	const char *model;
	const json_t *cost, *limits, *capabilities, *outputs;
	const char *transcript_head; /* chronicle_head() of the final write */
	const json_t *more; /* further members: inputs, parent_id, provider, error … */
};
#define THREAD_TOOL_ID "rye/agent/threads/thread_directive"
int thread_json_write(const struct record *record, struct thread_json *what, struct rye_err *err);
/* One that is over and was read: it has another status now. */
int thread_json_again(const struct record *record, const json_t *old, const char *status,
		      struct rye_err *err);
/*
 * The verified document of record->dir: RYE_UNSIGNED, RYE_MODIFIED, RYE_UNTRUSTED,
 * RYE_BAD_SIGNATURE, or RYE_MOVED when it is another thread's. record->key is not needed.
 */
int thread_json_read(const struct record *record, json_t **ret, struct rye_err *err);
/* The same of bytes in memory. */
int thread_json_parse(const struct record *record, struct rye_span text, json_t **ret,
		      struct rye_err *err);

/*
 * chronicle.c: transcript.jsonl, appended to. An event is one write of one line: when it fails
 * (disk full), the file is cut back to where it was, so that no half line stands before the next.
 */
struct chronicle;
struct story;

/* Creates it, or goes on with what is there; a torn last line is moved to transcript.torn. */
int chronicle_open(const struct record *record, struct chronicle **ret, struct rye_err *err);
void chronicle_close(struct chronicle *chronicle); /* NULL is fine */
#define auto_chronicle __attribute__((cleanup(auto_chronicle_)))
DEFINE_AUTO(auto_chronicle_, struct chronicle *, chronicle_close)
/* payload: an object, the caller's reference is taken whatever the outcome. */
int chronicle_event(struct chronicle *chronicle, const char *type, json_t *payload,
		    struct rye_err *err);
/* A signed checkpoint over everything before its line, then fdatasync. At the top of each turn from
 * the second on, and as the very last line, behind the terminal event. */
int chronicle_checkpoint(struct chronicle *chronicle, int64_t turn, struct rye_err *err);
/* The same, but a thread of the chronicle's own does the fdatasync, whose failure the next one tells,
 * and then writes the story, if that is due; NULL: none. Why a story was lost is known, and told once,
 * from the next checkpoint on. */
int chronicle_checkpoint_begin(struct chronicle *chronicle, int64_t turn, const struct story *story,
			       struct rye_err *err);
bool chronicle_story_lost(struct chronicle *chronicle, struct rye_err *ret);
/* The digest in the last checkpoint, "" before the first; for thread.json. */
const char *chronicle_head(const struct chronicle *chronicle);
uint64_t chronicle_size(const struct chronicle *chronicle);

/* Into the transcript of one that is over, behind its last checkpoint: that `next` goes on with it. */
struct resumed {
	const char *next, *directive, *message;
};
int chronicle_resumed(const struct record *record, const struct resumed *what, struct rye_err *err);

/* One event; fields are borrowed, "" or NULL when absent or of another type. */
struct chronicle_line {
	double timestamp;
	const char *thread_id, *type;
	const json_t *payload;
	size_t number; /* 1 is the first line */
	struct rye_span text; /* without its newline */
};
typedef int (*chronicle_fn)(void *arg, const struct chronicle_line *line); /* nonzero stops */
/* A transcript: the first `upto` bytes of the file, however long, of which a line is in memory; or a text. */
struct chronicle_source {
	const struct record *record; /* NULL: the text */
	uint64_t upto;
	struct rye_span text;
};
#define CHRONICLE_FILE(of) (&(const struct chronicle_source){ .record = (of), .upto = UINT64_MAX })
#define CHRONICLE_TEXT(of) (&(const struct chronicle_source){ .text = (of) })
/*
 * Every line; RYE_UNPARSABLE "Corrupt transcript at line N" for one that is no JSON object, except
 * a last one without a newline, which is left out.
 */
int chronicle_each(const struct chronicle_source *source, chronicle_fn fn, void *arg,
		   struct rye_err *err);

/* chronicle_check.c: is a transcript what its thread wrote? Pure but for the trust store. */
struct chronicle_check {
	enum rye_code code; /* RYE_OK: intact, maybe with a tail; RYE_UNSIGNED: no checkpoint */
	size_t checkpoints;
	uint64_t signed_len; /* the end of the last checkpoint's line */
	bool tail; /* known terminal events behind it: not signed, not to be rebuilt from */
	int64_t turn; /* of the last checkpoint */
	char head[SHA_HEX]; /* of the last checkpoint */
	struct rye_err why; /* of code; its message goes behind "bad: " */
};
/* head: transcript_head of the verified thread.json, or NULL: a cut then cannot be told. */
void chronicle_check(const struct record *record, struct rye_span text, const char *head,
		     struct chronicle_check *ret);
/* The same of the file, a line at a time; hearer (or NULL) gets the lines that were looked at, and believes
 * them if ret->code is RYE_OK in the end. Fails where the file cannot be read. */
struct chronicle_hearer {
	chronicle_fn fn;
	void *arg;
};
int chronicle_audit(const struct record *record, const char *head,
		    const struct chronicle_hearer *hearer, struct chronicle_check *ret,
		    struct rye_err *err);
/* "ok 3 checkpoints", "unsigned", "bad: Content hash mismatch at turn 2". */
void chronicle_check_line(const struct chronicle_check *check, char *line, size_t size);

/* seal.c: the same for a transcript that its owner writes itself, .ai/state/PLACE/ID. */
struct seal {
	const struct item_env *items;
	const char *project, *place, *id;
};
/* A checkpoint over all that is there. */
int seal_put(const struct seal *seal, int64_t turn, struct rye_err *err);
/* Fails when what was signed has changed; what has no checkpoint yet may be anything. */
int seal_check(const struct seal *seal, int64_t *ret_turn, struct rye_err *err);

/*
 * messages.c: the conversation again, of the lines of a transcript: [{role, content, tool_calls: [{name, id,
 * input}]?, tool_call_id?}]; replay: with a provider's own form, `raw`, and `is_error`, and one result for each
 * call. Of lines of RYE_BUF_CAP at most. NULL: no memory; `end` frees.
 */
struct messages;
struct messages *messages_begin(bool replay);
int messages_event(void *messages, const struct chronicle_line *line);
int messages_end(struct messages *messages, json_t **ret, struct rye_err *err);
/*
 * The newest ones of at most `tokens` (four bytes each), from a user's message on; calls and results stay
 * together. If what follows the last of these is too long, turns in between are left out. A new array.
 */
json_t *messages_trim(const json_t *messages, int64_t tokens);
/* pairs.c: results for calls of a thread that is over and that have none, as events: "interrupted: WHY …" of
 * one that was begun, "not executed: WHY" of the others of the last answer. How many. */
int chronicle_close_calls(struct chronicle *chronicle, const struct chronicle_source *source,
			  const char *why, struct rye_err *err);

/*
 * capabilities_md.c: capabilities.md, the tools that were offered and a tree of the capabilities;
 * signed as knowledge:agent/threads/ID/capabilities.
 */
int capabilities_md_write(const struct record *record, const json_t *tools,
			  const json_t *capabilities, struct rye_err *err);
/* Verified; the array of tool definitions. */
int capabilities_md_read(const struct record *record, json_t **ret_tools, struct rye_err *err);
/* The same of bytes in memory. */
int capabilities_md_parse(const struct record *record, struct rye_span text, json_t **ret_tools,
			  struct rye_err *err);

/*
 * story.c: the transcript as a knowledge entry, knowledge/agent/threads/ID.md; written at most once
 * a second while the thread runs, and at its end.
 */
struct story {
	const char *directive, *status, *model; /* model may be NULL */
	struct thread_cost cost;
	const json_t *capabilities; /* may be NULL */
};
/* RYE_TOO_BIG: what was said in it alone has more than RYE_BUF_CAP. */
int story_write(const struct record *record, const struct story *what,
		const struct chronicle_source *source, struct rye_err *err);
/* Unsigned; for the view of a thread that has none. */
int story_put(struct rye_buf *out, const char *id, const struct story *what,
	      const struct chronicle_source *source, struct rye_err *err);

/* artifact.c: results of tools and long answers, whole, in the store .ai/state/objects. */
struct artifact {
	const char *call_id, *tool_name;
	int64_t turn;
	size_t n; /* of the call in its turn */
};
#define ARTIFACT_KEY_MAX 300
/* The same bytes are stored once. ret_key: of the index; "<turn>.<n>.<call_id>" if call_id is taken. */
int artifact_put(const struct record *record, const struct artifact *what, const json_t *result,
		 char ret_key[ARTIFACT_KEY_MAX], struct rye_err *err);
/* {key: {blob_hash, content_hash, tool_name}}; empty when the thread stored none. */
int artifact_index(const struct record *record, json_t **ret, struct rye_err *err);
/* Its bytes, checked against their name, by what the index has as blob_hash. */
int artifact_blob(const struct record *record, const char *hash, struct rye_blob **ret,
		  struct rye_err *err);

/* A model's answer as a transcript has it: a new reference to it or, when it is longer than ANSWER_INLINE
 * bytes, all but its `blocks`, with the digest of the whole as `artifact`. */
#define ANSWER_INLINE (64u << 10)
int answer_keep(const struct record *record, int64_t turn, const json_t *answer, json_t **ret,
		struct rye_err *err);
/* Checked against the digest. */
int answer_whole(const struct record *record, const json_t *kept, json_t **ret,
		 struct rye_err *err);

int gitignore_complete(int ai, struct rye_buf *lacking); /* NULL: adds it; 1: something lacked */
/* guard.c: what a model is given of a result: what it says, without header lines. New. Pure. */
json_t *guard_clean(const json_t *envelope);

/* Bytes at least that a tool or a server sent and no process has kept; 0: all are there. */
size_t guard_lost(const json_t *envelope);
#define GUARD_LIMIT 2400 /* bytes */
#define GUARD_LIMIT_FULL 1200 /* when three quarters of the context are used */
struct guard_ask {
	struct artifact artifact;
	const json_t *result; /* cleaned */
	size_t lost; /* guard_lost of the reply */
	double context_used; /* 0 to 1 */
	bool whole; /* <runtime truncate_tool_results="false"/> */
	const char *where; /* a directory with the artifacts by key, for the note; NULL: the blob's */
};
/* Appends what the model sees: the text of the result, else JSON, or its head and tail within the limit with the
 * place of the whole, which is then stored as an artifact. */
int guard_put(const struct record *record, const struct guard_ask *ask, struct rye_buf *out,
	      struct rye_err *err);

#endif
