/* SPDX-License-Identifier: MIT */
/*
 * named.h: calls by name: calls/NAME/ and replies/NAME/, for programs that have only file tools.
 * named.c keeps them, named_file.c is one file's bytes and the message in them, named_commit.c makes
 * a message a run, named_dir.c and named_open.c are the nodes. A run of theirs is that of a
 * conversation which has no file.
 */
#ifndef RYE_FS_TALK_NAMED_H
#define RYE_FS_TALK_NAMED_H

#include "talk/named_file.h"

#define NAMED_REQUEST "request.json"
#define NAMED_NAME_MAX 64
/* The newest calls that an item keeps: more than an agent has on its way at once. */
#define NAMED_OF_ITEM 64
#define NAMED_CALLS 4096 /* of all items */
/* Of all items: four of the longest messages. */
#define NAMED_BYTES (64u << 20)
/* In one directory: an editor has its copy, its backup and its journal. */
#define NAMED_DRAFTS 32
#define NAMED_DRAFT_S 60
#define NAMED_BUCKETS 256
/* Longest pause, in ms, between two pieces of one message before it counts as unfinished. */
#define NAMED_PAUSE_MS 2000
/* The name of the draft that is an unfinished request.json: no program can say it. */
#define NAMED_UNFINISHED ""

struct named_env {
	struct talks *talks; /* for what is told of a message that nothing has finished; or NULL */
	int64_t draft_ns; /* a draft lives so long after its last write */
};

TAILQ_HEAD(named_list, named_call);

struct named {
	struct named_env env;
	_Atomic uint64_t files; /* made so far */
	_Atomic size_t bytes; /* more only with the lock */
	pthread_mutex_t lock;
	struct named_list calls; /* the lock's, like all that follows; in use, the oldest first */
	struct named_call *buckets[NAMED_BUCKETS];
	size_t n; /* in use */
	uint64_t made; /* messages so far */
};

/* One call of one item; or, with the name "", the directory of all its calls. While a node or a file
 * has it, it is the only one of its name; what is in it stays without them. */
struct named_call {
	_Atomic unsigned refs; /* 0 and not in use: the next look into its bucket frees it */
	struct named *named; /* immutable, like the next four */
	struct talk_target target; /* its id points into text, as key and name do */
	const char *key, *name;
	uint64_t hash;
	/* the store's lock: */
	struct named_call *next; /* of its bucket */
	TAILQ_ENTRY(named_call) age; /* if in use */
	bool used; /* something is in it, or was a moment ago */
	struct named_draft *drafts;
	struct rye_blob *request, *reply, *output; /* NULL: not there */
	struct timespec asked, replied;
	uint64_t number; /* of its newest message; 0: none */
	unsigned running;
	char text[];
};

/* named.c, no lock held */
int named_open(const struct named_env *env, struct named **ret); /* 0 or -errno */
/* A reference; NULL: out of memory. */
struct named_call *named_call_get(struct named *named, const struct talk_target *target,
				  const char *name);
struct named_call *named_call_ref(struct named_call *call);
void named_call_unref(void *call); /* any lock; NULL is fine */
bool named_is_name(const char *name); /* may a call be called so? */
struct named_file *named_draft(struct named_call *call, const char *name); /* or NULL */
/* The name is that of the file from now on; what had it before is gone. 0 or an errno. */
int named_put(struct named_call *call, const char *name, struct named_file *file);
int named_remove(struct named_call *call, const char *name); /* 0 or ENOENT */
enum named_what { NAMED_IS_REQUEST, NAMED_IS_REPLY, NAMED_IS_OUTPUT };
/* A new reference, and since when it is there; NULL: it is not there (yet). */
struct rye_blob *named_text(struct named_call *call, enum named_what what, struct timespec *ret_at);
/* A message begins: the reply of the one before is gone. Its number, for the next three; 0: there
 * is no room. request NULL: it was none. */
uint64_t named_begin(struct named_call *call, struct rye_blob *request);
/* Its reply is there, if it is the newest; last NULL: there will be none. Once. */
void named_end(struct named_call *call, uint64_t number, const struct last *last);
/* What is read back of it, if it is the newest. */
void named_replace(struct named_call *call, uint64_t number, struct rye_blob *request);
struct listing;
void named_list_calls(const struct named_call *call, bool replied, struct listing *listing);
void named_list_drafts(struct named_call *call, struct listing *listing);
/* Lock held. False: no room for so many bytes more. */
bool named_make_room(struct named *named, size_t bytes);

/* named_commit.c: from a message to its run. All of them answer req, now or later. */
enum named_way { NAMED_RENAME, NAMED_LINK, NAMED_WRITE };
/* Of the file's call; draft: its name, if that goes (NAMED_RENAME). NULL: out of memory. */
struct named_commit *named_commit_new(struct named_file *file, enum named_way way,
				      const char *draft, size_t count);
/* commit, wrote's feed and blob are taken over. */
void named_run(fuse_req_t req, struct named_commit *commit, struct named_wrote *wrote,
	       struct caller *writer);
void named_fail(fuse_req_t req, struct named_call *call, const struct named_wrote *wrote,
		struct caller *writer);
/* Why nothing is run: the call's reply, and a line of .ryefs/errors. */
void named_tell(struct talks *talks, struct named_call *call, struct caller *writer,
		const char *why);

/* named_open.c */
struct node;
struct node_changes;
/* 0, and the caller; or why it may not use the calls of that item, told in its .ryefs/errors: an
 * errno. A look at the caller made less than CALLER_FRESH_MS ago will do, unless it is `now`. */
int named_may(fuse_req_t req, const struct named_call *call, bool now, struct caller **ret_who);
/* The entry of a file, with a node of its own if it is request.json. 0 or an errno. */
int named_open_enter(fuse_req_t req, struct named_file *file, bool request,
		     struct fuse_entry_param *ret);
int named_text_enter(fuse_req_t req, struct named_call *call, enum named_what what,
		     struct fuse_entry_param *ret);
/* The file of that node, borrowed; NULL: it is none of ours. */
struct named_file *named_file_of(const struct node *node);
/* An unfinished message for which nothing came for so long has an error as its reply. */
void named_settle(struct named_file *file, int64_t pause_ns);
/* Answers a LINK that was the commit of this call. */
void named_reply_link(fuse_req_t req, struct named_call *call);
/* named_dir.c */
struct aside_lane named_lane(const struct named_call *call);
extern const struct node_changes named_changes;

#endif
