/* SPDX-License-Identifier: MIT */
/*
 * views.h: the files that are made: items, control files, search, threads, .ryefs.
 */
#ifndef RYE_FS_VIEWS_VIEWS_H
#define RYE_FS_VIEWS_VIEWS_H

#include "core/front.h"

#include <rye/rye.h>

/*
 * catalogue.c: index.md and index.json in the root.
 */

/* Their worker. 0 or -errno. */
int catalogues_open(struct front *front, struct catalogues **ret);
void catalogues_stop(struct catalogues *catalogues); /* after parking_close; NULL is fine */
void catalogues_free(struct catalogues *catalogues);
/* Answers a LOOKUP of one of them, now or when it is made. */
void catalogue_lookup(fuse_req_t req, enum tree_sort sort);

/*
 * dot_ryefs.c: .ryefs: version, stats.json, errors, log, doctor.
 */

struct front;
struct text;

/* How requests come, of stats.json: "on", "off", or why not by io_uring; a word that lasts. */
const char *dot_uring(const struct front *front);
const char *dot_name(size_t i); /* name of its i-th file; NULL behind the last */
/* "1 204 items served, 3 refused (2 changed since signing, 1 unsigned); see ls -l" */
void dot_summary(const struct rye_counts *counts, struct text *text);
/*
 * Adds lead and the command that mends most of what is refused, with the key to trust if it is
 * but one, and the project where that command would not find it; false: nothing does. May wait for
 * items to be verified.
 */
bool dot_remedy(struct front *front, const struct rye_counts *counts, const char *lead,
		struct text *text);

/*
 * fixed.c: directories whose names are known beforehand, the root among them.
 */

/* NULL: out of memory. */
struct node *fixed_root(struct front *front);

/*
 * journal.c: texts that grow, newest line last, the last JOURNAL_MAX bytes at least: .ryefs/log, what
 * the engine and the front had to say; .ryefs/changes, what has changed below the kinds' directories.
 * Each has a lock of its own, taken last.
 */

struct journal;

/* A day of warnings; twice as much is kept before the older half goes. */
#define JOURNAL_MAX (256u << 10)

/* name: in .ryefs. echo: lines go to stderr too (foreground). debug: the least important ones as
 * well. */
struct journal_how {
	const char *name;
	bool echo, debug;
};
int journal_open(const struct journal_how *how, struct journal **ret); /* 0 or -errno */
void journal_close(struct journal *journal);
/* Each further line of journal_log goes to fn as well, on the same thread. Before there are others. */
void journal_copy(struct journal *journal, void (*fn)(void *arg, const char *line, size_t n),
		  void *arg);
/* From now on the kernel is told when the file grows. */
void journal_bind(struct journal *journal, struct front *front);
/* An rye_log_fn; arg: the journal. */
void journal_log(void *arg, enum rye_level level, const char *module, const char *line);
struct rye_blob *journal_text(struct journal *journal); /* a new reference; NULL: no memory */
/* What the kernel may be told: its pages are none that lack a byte before this one. */
size_t journal_size(struct journal *journal);
/* "2026-01-02T03:04:05Z tools/web/fetch.py": something has changed at this path of the mount. */
void journal_change(struct journal *journal, const char *path);

/*
 * search_dir.c: search/QUERY/: ranked results as symbolic links. What a directory answers with
 * is found by a worker (search_work.c): until then requests wait, FUSE threads do not.
 */

/* "01-tool:rye:bash": place, kind, id in one name. False: too long. */
bool search_name(size_t rank, enum rye_kind kind, const char *id, char ret[256]);

struct searches;
struct results;

/* The worker of a mount. 0 or -errno. */
int searches_open(struct front *front, struct searches **ret);
/* After parking_close, before the session ends: gives up what runs, joins. NULL is fine. */
void searches_stop(struct searches *searches);
void searches_free(struct searches *searches); /* after the nodes are gone; NULL is fine */

/* ---- between search_dir.c and search_work.c ---- */

/* A request about a directory of results. */
struct search_query_ask {
	fuse_req_t req;
	struct node *dir;
	const char *name; /* LOOKUP of it; NULL: READDIR */
	size_t size;
	off_t off;
	bool plus;
};

/* The node's data: results that no request has asked for yet. NULL: out of memory. */
struct results *results_new(struct searches *searches, const char *query);
void results_drop(void *results);
/* Answers now or when the worker has found them: search_answer, or an errno. */
void results_ask(struct results *results, const struct search_query_ask *ask);

/* Hits, once they are found. */
size_t results_count(const struct results *results);
const char *results_name(const struct results *results, size_t i);
const char *results_target(const struct results *results, size_t i);

/* search_dir.c: the results are there; exactly one answer. No lock is held. */
void search_answer(const struct search_query_ask *ask);

/*
 * skills_dir.c: skills/.
 */

/* Something has changed that skills are made of; only queues. */
void skills_changed(struct front *front, bool folders);

/*
 * remotes.c: remotes/, as remotes of the configuration are known here: from files alone, no connection.
 * Keys of sort TREE_REMOTES, text: the path below it.
 */
int remotes_enter(fuse_req_t req, const struct tree_key *key, struct fuse_entry_param *ret);
bool remotes_are(struct front *front); /* is one configured? */

/*
 * threads_dir.c: state/threads. enter_table.c hands the key TREE_THREADS here; everything below is
 * made of node classes of this part alone (keys of sort TREE_THREADS, text: the path below
 * state/threads), so no other file needs to know them.
 */

/* The directory state/threads itself. */
int threads_enter(fuse_req_t req, const struct tree_key *key, struct fuse_entry_param *ret);
/* RYE_CHANGE_THREAD: on an engine thread, holding nothing; may only queue (notify.h). */
void threads_changed(struct front *front, const char *id);

#endif
