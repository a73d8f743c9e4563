/* SPDX-License-Identifier: MIT */
/*
 * ctl.h: the table of control and derived files: those of items' directories and the primitives at
 * the root. A new one is a row of CTL_FILES (a verb: in rye/rows.h) and, where it has code of its
 * own, one file with the function that the row names. The table is constant: no lock.
 */
#ifndef RYE_FS_CORE_CTL_H
#define RYE_FS_CORE_CTL_H

#include <rye/rye.h>

#include <fuse_lowlevel.h>
#include <sys/types.h>

struct caller; /* caller.h */
struct talks; /* talk.h */
struct tree_key; /* tree.h */

/*
 * The lookup of a row's file: fills *ret with an entry whose node has one more kernel reference and
 * returns 0, or a positive errno. st is of the item whose directory the file is in, borrowed; NULL
 * at the root.
 */
typedef int ctl_enter_fn(fuse_req_t req, const struct tree_key *key, const struct rye_stat *st,
			 struct fuse_entry_param *ret);

/* Where the bytes of such a file come from. */
struct own_origin {
	struct timespec at; /* since when they are so */
	uint64_t from; /* the conversation whose reply it is, for own_was_read; 0: none */
	bool disputed; /* they are a sentence, and a read is EBUSY */
};

/*
 * The bytes of a file that is the caller's own: a new reference, NULL when out of memory. key: of
 * the item ("tool:a/b").
 */
typedef struct rye_blob *ctl_own_fn(struct talks *talks, const struct caller *who, const char *key,
				    struct own_origin *ret);

struct ctl {
	const char *name;
	unsigned of; /* enum rye_trait: in directories of kinds with one of them; 0: at the root */
	mode_t mode; /* permission bits */
	bool link; /* a symbolic link, else a file */
	bool listed;
	bool inputs; /* there, too, by a name with inputs behind a question mark */
	/* depends on other items too: a change of those is not notified under this item's name */
	bool others;
	bool talks; /* a conversation, of the verb */
	enum rye_verb verb;
	unsigned ways; /* of the verb: enum rye_way */
	enum rye_view view; /* of a VIEW */
	const char *help; /* one line, shown by README.md of the mount */
};

const struct ctl *ctl_find(enum rye_kind kind, const char *name); /* NULL: none */
const struct ctl *ctl_root_find(const char *name); /* the same, at the root */
const struct ctl *ctl_rows(size_t *ret_n); /* all of both */
bool ctl_is_name(const char *name, size_t len); /* in some item's directory */
/* The row of the same name. */
const struct ctl *ctl_of_verb(enum rye_verb verb);

/* ---- the rows ---- */

/*
 * One for each file; the functions that it names are declared by it.
 *
 * ENTER(function, name, traits, mode, …): function is a ctl_enter_fn.
 * VIEW(view, …): the engine makes it, RYE_VIEW_view. OWN(function, …): the bytes are the caller's
 * own, a ctl_own_fn. traits: the kinds that have one of them have such a file beside each item; 0:
 * it is at the root. Behind the mode: other members of struct ctl.
 */
#define CTL_FILES(ENTER, VIEW, OWN)                                                                 \
	ENTER(ctl_enter_named, "calls", RYE_KIND_RUNS, 0700,                                        \
	      .help = "calls/NAME/request.json: saving parameters there runs it")                   \
	VIEW(CHAIN, "chain.json", RYE_KIND_PROCESS, 0444, .listed = true, .others = true,           \
	     .help = "the resolved chain: spaces, hashes, signers, environment")                    \
	VIEW(DATA, "data.json", RYE_KIND_FRONT, 0444, .listed = true,                               \
	     .help = "front matter and body, parsed")                                               \
	VIEW(INFO, "info.json", RYE_KIND_RUNS | RYE_KIND_MANIFEST, 0444, .listed = true,            \
	     .others = true,                                                                        \
	     .help = "id, space, path, signer, hash, verdict, coverage, version, what it shadows")  \
	OWN(own_output, "output", RYE_KIND_RUNS, 0400, .listed = true,                              \
	    .help = "your own last reply as plain text")                                            \
	VIEW(PROMPT, "prompt.md", RYE_KIND_INPUTS, 0444, .listed = true, .inputs = true,            \
	     .others = true, .help = "what a model would be sent")                                  \
	ENTER(ctl_enter_named, "replies", RYE_KIND_RUNS, 0500,                                      \
	      .help = "replies/NAME/output, reply.json: the reply of calls/NAME, "                  \
		      "for any process of yours")                                                   \
	VIEW(SCHEMA, "schema.json", RYE_KIND_PARAMETERS, 0444, .listed = true,                      \
	     .help = "JSON Schema of the parameters")                                               \
	ENTER(ctl_enter_source, "source", RYE_KIND_RUNS, 0777, .link = true, .listed = true,        \
	      .help = "link to the source in spaces/")                                              \
	OWN(own_trace, "trace.json", RYE_KIND_PROCESS, 0400, .listed = true,                        \
	    .help = "steps of your own last run, when its request said \"trace\": true")            \
	VIEW(VERIFY, "verify", RYE_KIND_RUNS | RYE_KIND_MANIFEST, 0444, .listed = true,             \
	     .help = "one line: ok, or the reason of the refusal and what mends it")                \
	ENTER(ctl_enter_named, "calls", 0, 0700,                                                    \
	      .help = "calls/NAME/request.json for execute, calls/fetch/NAME/…, calls/sign/NAME/…") \
	ENTER(ctl_enter_named, "replies", 0, 0500,                                                  \
	      .help = "their replies: replies/NAME/output, replies/sign/NAME/output")               \
	ENTER(ctl_enter_talk, "load", 0, 0600, .verb = RYE_FETCH, .ways = RYE_WAY_READS,            \
	      .talks = true, .help = "another name of fetch")

#define CTL_DECLARE_ENTER(function, ...) ctl_enter_fn function;
#define CTL_DECLARE_VIEW(...)
#define CTL_DECLARE_OWN(function, ...) ctl_own_fn function;
CTL_FILES(CTL_DECLARE_ENTER, CTL_DECLARE_VIEW, CTL_DECLARE_OWN)
#undef CTL_DECLARE_OWN
#undef CTL_DECLARE_VIEW
#undef CTL_DECLARE_ENTER

/* Of the rows VIEW and OWN. */
int ctl_enter_view(fuse_req_t req, const struct tree_key *key, const struct rye_stat *st,
		   struct fuse_entry_param *ret);
int ctl_enter_own(fuse_req_t req, const struct tree_key *key, const struct rye_stat *st,
		  struct fuse_entry_param *ret);

/* .ryefs/errors; key: CTL_ERRORS_KEY */
struct rye_blob *own_errors(struct talks *talks, const struct caller *who, const char *key,
			    struct own_origin *ret);
/* A read of it was refused, for it is disputed: a line for .ryefs/errors. */
void own_refused(struct talks *talks, struct caller *who, const char *key);
/* Its bytes were given to a reader. */
void own_was_read(struct talks *talks, const char *key, uint64_t from);
#define CTL_ERRORS_KEY "errors"

#endif
