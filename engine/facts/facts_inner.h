/* SPDX-License-Identifier: MIT */
/*
 * facts_inner.h: what the files of facts/ share. A directory below a thread is a JSON object: its
 * members are directories when they are objects, files or links when they are strings.
 */
#ifndef RYE_FACTS_FACTS_INNER_H
#define RYE_FACTS_FACTS_INNER_H

#include "base/json.h"
#include "facts/facts.h"
#include "policy/policy.h"
#include "record/record.h"

#include <pthread.h>
#include <sys/stat.h>

/* One look at one thread, or at state/threads. */
struct facts_look {
	struct facts *facts;
	const char *id; /* "": state/threads itself */
	struct threads_look thread; /* not of state/threads itself */
	unsigned has; /* enum facts_need */
	const json_t *doc; /* thread.json as it is, unverified, of `thread`; NULL: none */
	struct trust_box *vouched; /* of a thread whose records another machine has made; or NULL */
};

#define FACTS_LOOK_INIT ((struct facts_look){ .thread = THREADS_LOOK_INIT })

/* What there must be for a row to be there. */
enum facts_need {
	NEEDS_RECORD = 1, /* thread.json: a directive's thread */
	NEEDS_STORY = 2, /* a transcript */
	NEEDS_OFFER = 4, /* capabilities.md */
	NEEDS_END = 8, /* a terminal status */
	NEEDS_PARENT = 16,
	NEEDS_REQUEST = 32, /* inputs in thread.json, request.json or spawn_params.json */
	NEEDS_WARNINGS = 64,
	NEEDS_ARTIFACTS = 128,
	NEEDS_CHANGES = 256, /* changes.json */
};

typedef int (*facts_text_fn)(const struct facts_look *look, struct rye_buf *out,
			     struct rye_err *err);
typedef int (*facts_tree_fn)(const struct facts_look *look, json_t **ret, struct rye_err *err);
/* A leaf's bytes, of its string. */
typedef int (*facts_leaf_fn)(const struct facts_look *look, const char *value, struct rye_buf *out,
			     struct rye_err *err);
/* Of all that a text or a tree is made of; 0: it cannot be told from what it was. */
typedef uint64_t (*facts_state_fn)(const struct facts_look *look);

/* One name in a thread's directory, or in state/threads. */
struct facts_row {
	const char *name;
	unsigned needs;
	enum rye_thread_sort sort; /* of a directory: of its leaves */
	facts_text_fn text; /* a link's: the thread's id */
	facts_tree_fn tree; /* a directory; a new reference to a frozen document */
	facts_leaf_fn leaf; /* NULL: the string itself */
	facts_state_fn state; /* of what takes long to make; NULL: it is made each time */
};

/* facts_number of a directory of links; kept with them, for a lookup of each name asks for it. */
uint64_t facts_root_number(const struct facts_look *look, const char *path);
extern const struct facts_row facts_root_rows[]; /* facts_root.c; ends with a row without a name */

/* The rows that have a tree and its state. */
#define FACTS_KEPT 4

/* A tree of the thread that was looked at last: a listing asks for it with each of its names. */
struct facts_kept {
	const struct facts_row *row; /* NULL: the place is free */
	char id[THREAD_ID_MAX];
	uint64_t state;
	uint64_t number; /* of the tree's own names */
	json_t *tree;
};

struct facts {
	struct facts_env env;
	pthread_mutex_t lock;
	struct facts_kept kept[FACTS_KEPT]; /* facts.c */
	/* of one transcript, the last that was read: facts_story.c */
	struct stat story_stat;
	json_t *story;
	/* of the registry as it was at that version: facts_root.c */
	int64_t root_version[2];
	json_t *root;
};

/* One component of a path, of whatever a model or a provider calls a thing. */
void facts_name(const char *text, char ret[128]);
/* The thread's record for the functions of record.h that only read; ai: a descriptor, or -1. */
struct record facts_record(const struct facts_look *look, int ai);
int facts_ai(const struct facts *facts, struct rye_err *err); /* a new descriptor */
/* Below .ai: the file that there is when the thread has artifacts. */
void facts_artifacts_path(const struct facts_look *look, struct rye_buf *out);

/*
 * For a facts_state_fn: the state with that of a file in the directory. 0: it has changed just now, and
 * a later change may bear the same stamp.
 */
uint64_t facts_file_state(uint64_t state, int dir, const char *path);

/* facts_record.c */
int fact_model(const struct facts_look *look, struct rye_buf *out, struct rye_err *err);
int fact_provider(const struct facts_look *look, struct rye_buf *out, struct rye_err *err);
int fact_inputs(const struct facts_look *look, struct rye_buf *out, struct rye_err *err);
int fact_result(const struct facts_look *look, struct rye_buf *out, struct rye_err *err);
int fact_cost(const struct facts_look *look, struct rye_buf *out, struct rye_err *err);
int fact_limits(const struct facts_look *look, struct rye_buf *out, struct rye_err *err);
int fact_budget(const struct facts_look *look, struct rye_buf *out, struct rye_err *err);
int fact_capabilities(const struct facts_look *look, struct rye_buf *out, struct rye_err *err);
int fact_warnings(const struct facts_look *look, struct rye_buf *out, struct rye_err *err);
int fact_integrity(const struct facts_look *look, struct rye_buf *out, struct rye_err *err);
uint64_t fact_integrity_state(const struct facts_look *look);
int fact_outputs(const struct facts_look *look, json_t **ret, struct rye_err *err);
/* The ledger when there is one; NULL: none. */
int facts_ledger(const struct facts *facts, struct db **ret, struct rye_err *err);

/* facts_changes.c: what a run elsewhere has changed */
uint64_t fact_changes_state(const struct facts_look *look);
int fact_changes(const struct facts_look *look, json_t **ret, struct rye_err *err);
int fact_change(const struct facts_look *look, const char *value, struct rye_buf *out,
		struct rye_err *err);

/* facts_story.c: of the transcript */
int fact_prompt(const struct facts_look *look, struct rye_buf *out, struct rye_err *err);
int fact_system(const struct facts_look *look, struct rye_buf *out, struct rye_err *err);
int fact_messages(const struct facts_look *look, struct rye_buf *out, struct rye_err *err);
int fact_transcript(const struct facts_look *look, struct rye_buf *out, struct rye_err *err);
int fact_turns(const struct facts_look *look, json_t **ret, struct rye_err *err);
/* The text of the last answer that has one; "" none. */
void facts_last_answer(const struct facts_look *look, struct rye_buf *out);
uint64_t fact_messages_state(const struct facts_look *look);
uint64_t fact_transcript_state(const struct facts_look *look);

/* facts_family.c: other threads, tools, artifacts */
int fact_parent(const struct facts_look *look, struct rye_buf *out, struct rye_err *err);
int fact_chain(const struct facts_look *look, json_t **ret, struct rye_err *err);
int fact_children(const struct facts_look *look, json_t **ret, struct rye_err *err);
uint64_t fact_children_state(const struct facts_look *look);
int fact_tools(const struct facts_look *look, json_t **ret, struct rye_err *err);
uint64_t fact_tools_state(const struct facts_look *look);
int fact_artifacts(const struct facts_look *look, json_t **ret, struct rye_err *err);
uint64_t fact_artifacts_state(const struct facts_look *look);
int fact_artifact(const struct facts_look *look, const char *value, struct rye_buf *out,
		  struct rye_err *err);

#endif
