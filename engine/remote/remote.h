/* SPDX-License-Identifier: MIT */
/*
 * remote.h: other machines as this workspace knows them: their names and addresses, which are signed
 * configuration; the keys that a person has pinned; connections to them. For threads that may wait.
 */
#ifndef RYE_REMOTE_REMOTE_H
#define RYE_REMOTE_REMOTE_H

#include "base/id.h"
#include "conn/conn.h"
#include "item/item.h"

/*
 * remote.c: config/remotes/remotes.yaml, merged over the spaces, of signed files alone:
 *   remotes: {NAME: {url, project_path, timeout, push: [RULE], secrets: [NAME], labels: [TEXT]}}
 */

/* A request to connect is given up after so long. */
#define REMOTE_CONNECT_MS 20000
/* Entries, and rules, names and labels of one. */
#define REMOTES_MAX 100
#define REMOTE_LIST_MAX 1000

struct remote {
	char name[ID_NAME_MAX + 1];
	char *url;
	char *project; /* its name there (`project_path`); the project directory's name if it says nothing */
	int timeout_s; /* of a request; 0: it does not say */
	json_t *push; /* rules: what is sent; NULL: it does not say. Arrays of texts, owned */
	json_t *secrets; /* names that may be sent there; empty */
	json_t *labels; /* of workers; empty */
};
void remote_done(struct remote *remote);
#define auto_remote __attribute__((cleanup(remote_done)))

/* [A-Za-z0-9._-]{1,64}, not "." or ".."; nor "remotes", whose pin would be the configuration. */
bool remote_name_ok(const char *name);
/* RYE_INVALID: "No remote 'x'; there are: …". Looks at files alone, starts nothing. */
int remote_find(const struct item_env *env, const char *name, struct remote *ret,
		struct rye_err *err);
/* One entry of the map, for remote_find and its tests. */
int remote_read(const char *name, const json_t *entry, struct remote *ret, struct rye_err *err);
/* The names, sorted; a new array. Empty: none is configured. */
int remote_names(const struct item_env *env, json_t **ret, struct rye_err *err);

/*
 * pin.c: which key a remote has to show: config/remotes/NAME.toml of the user space, signed by the
 * person. It vouches for what lies below state/remotes/NAME and for nothing else.
 */

struct pin {
	struct key_public key;
	char box[44]; /* what is sealed for the remote is sealed to it */
	char *url; /* that it was pinned for: another address is asked about again */
	char pinned[24]; /* when */
};
void pin_done(struct pin *pin);
#define auto_pin __attribute__((cleanup(pin_done)))

/* RYE_NOT_FOUND: it is not pinned. Refused as any item is whose signature does not hold. */
int pin_load(const struct item_env *env, const char *name, struct pin *ret, struct rye_err *err);
/* Of a parsed file. */
int pin_read(const char *name, const json_t *doc, struct pin *ret, struct rye_err *err);
int pin_write(const struct item_env *env, const char *name, const char *url,
	      const struct card *card, struct rye_err *err);
int pin_remove(const struct item_env *env, const char *name, struct rye_err *err);

/*
 * remote_open.c: a connection to a remote, both ends known: the node has the pinned key, and we are one
 * of its principals. Every failure comes within REMOTE_CONNECT_MS, its sentence begins with the name:
 * RYE_UNREACHABLE, RYE_KEY_CHANGED, RYE_DENIED (our key is not known there), RYE_NOT_FOUND (unpinned).
 */
struct remote_link {
	struct conn *conn; /* the caller's */
	struct pin pin;
	json_t *ready; /* {fp, owner, limits}: what it knows of us */
	json_t *heads; /* of remote_open_push: what the project's name stood for then; or NULL */
};
void remote_link_done(struct remote_link *link); /* closes it */
#define auto_remote_link __attribute__((cleanup(remote_link_done)))
int remote_open_conn(const struct item_env *env, const struct remote *remote,
		     struct remote_link *ret, struct rye_err *err);
/* The same where a push follows: what it asks first goes with the greeting, a way less there and back. */
int remote_open_push(const struct item_env *env, const struct remote *remote,
		     struct remote_link *ret, struct rye_err *err);
/* The card that is shown at the address, of any key: for `remote add` alone. */
int remote_card(const char *name, const char *url, struct card *ret, struct rye_err *err);

/* remote_look.c: connects, and what INFO tells, a new reference; ret may be NULL. */
int remote_look(const struct item_env *env, const struct remote *remote, json_t **ret,
		struct rye_err *err);
/* "reachable, pinned, knows me, 4 workers" */
void remote_sentence(const json_t *info, char *ret, size_t size);

/*
 * contact.c: what was seen of a remote last, in the project's .ai/state/remotes/NAME/contact.json:
 * {reached, failed, error, info}. Written by remote_open_conn and behind each INFO; a view reads it.
 */
/* The directory of a remote's files, made for its owner alone; its descriptor, or -errno. */
int remote_state_dir(const struct item_env *env, const char *name, bool create);
json_t *contact_read(const struct item_env *env, const char *name); /* NULL: never */
/* why NULL: it was reached; info NULL: nothing new. Times are added. */
void contact_note(const struct item_env *env, const char *name, const struct rye_err *why,
		  const json_t *info);

/*
 * remote_add.c: what `ryefs remote add` and `rm` change in the configuration of a space.
 */
/* Adds `NAME: {url: URL}` to the user's remotes.yaml and signs it; the rest of its text stays. */
int remote_enter(const struct item_env *env, const char *name, const char *url, const char *project,
		 struct rye_err *err);
/* Takes it out again. 1: done; 0: it is not there; RYE_STATE: written so that a person has to. */
int remote_leave(const struct item_env *env, const char *name, struct rye_err *err);

/*
 * remote_gc.c: what lies there and is needed no more goes; dry: is only told. *ret: {freed, used, limit, packs, rewritten,
 * blobs, manifests, objects, dry_run}, in bytes and numbers; a new reference.
 */
int remote_gc(const struct remote *remote, struct conn *conn, bool dry, json_t **ret,
	      struct rye_err *err);
/* Of a RYE_BUDGET of a push: how much is used there, and what would give room. Connects anew. */
int remote_full(const struct item_env *env, const struct remote *remote, struct rye_err *err);

/*
 * lost.c: runs that are lost, until they are forgotten. What came of one after all is its late.json, once the
 * remote is connected to again.
 */
struct order;
int remote_lost_note(const struct item_env *env, const char *remote, const struct order *order,
		     struct rye_err *err);
bool remote_lost_forget(const struct item_env *env, const char *id); /* false: it is none */
/* Asks, over a connection that has nothing else under way. */
void remote_late(const struct item_env *env, const struct remote *remote,
		 const struct remote_link *link);

/* In the state directory of a remote: the manifest of the last push, as text. */
#define PUSH_LAST "manifest"

/*
 * push.c: the project's files as they are now, to the name that the remote has for it. *ret:
 * {remote, project, manifest, number, files, bytes, hashed, new_blobs, packs, sent, refused}. RYE_STALE: it was pushed
 * from elsewhere, and not force; RYE_BUSY: a file has changed meanwhile. The one user of the connection.
 */
int remote_push(const struct item_env *env, const struct remote *remote,
		const struct remote_link *link, bool force, json_t **ret, struct rye_err *err);

/* What the last push was: {manifest, number, files, bytes}; RYE_NOT_FOUND: nothing was pushed. A new reference. */
int remote_pushed(const struct item_env *env, const char *name, json_t **ret, struct rye_err *err);

/*
 * pull.c: what a run has made or changed, into the directory of its thread: the files below `changes/`, and
 * which they are in changes.json: {base, manifest, bytes, changed, removed, refused, left}.
 */
#define REMOTE_CHANGES "changes"
#define REMOTE_CHANGES_DOC "changes.json"
/* Into the thread's directory. */
int remote_changes_tell(int dir, const json_t *doc, struct rye_err *err);
struct remote_pull {
	const char *id; /* of the run */
	const char *base, *manifest; /* digests: what was pushed, what it left */
	int dir;
	uint64_t most; /* when there are more bytes they stay there, and `left` says how to get them */
	const json_t *refused; /* what the node did not keep, or NULL */
};
int remote_pull(const struct item_env *env, const struct remote *remote, struct conn *conn,
		const struct remote_pull *what, struct rye_err *err);

/* The same of a thread whose changes were left there: by its changes.json, however much it is. */
int remote_pull_left(const struct item_env *env, const struct remote *remote, struct conn *conn,
		     const char *id, struct rye_err *err);
/* diff.c: what a push would change: the members of changes.json, {by, number} of what is there. */
int remote_diff(const struct item_env *env, const struct remote *remote, struct conn *conn,
		json_t **ret, struct rye_err *err);

/*
 * apply.c: those changes into the project, of a thread's directory. RYE_STATE: a file was changed here, too, and then
 * nothing is written; or there is nothing to apply. *ret_n: so many were written or removed.
 */
int remote_apply(const struct item_env *env, int thread, size_t *ret_n, struct rye_err *err);

/*
 * remote_view.c: what is known of a remote, as files for a mount: nothing connects.
 */
/* The files that there are now. */
int remote_view_names(const struct item_env *env, const char *remote, rye_name_fn fn, void *arg,
		      struct rye_err *err);
int remote_view_file(const struct item_env *env, const char *remote, const char *name,
		     struct rye_blob **ret, struct rye_err *err);
/* The threads of this project that it was asked to carry out: those whose order lies in its outbox. */
int remote_view_threads(const struct item_env *env, const char *remote, rye_name_fn fn, void *arg,
			struct rye_err *err);
/* Runs that the remote has told of and this project has no thread of: {id: row}; a new object. */
json_t *remote_foreign(const struct item_env *env, const char *name);
int remote_view_foreign(const struct item_env *env, const char *remote, rye_name_fn fn, void *arg,
			struct rye_err *err);
/* See rye_remote_stamp. */
uint64_t remote_view_stamp(const struct item_env *env, const char *remote);
/* A thread was deleted: its order goes, too. */
void remote_view_forget(const struct item_env *env, const char *id);

/*
 * remote_runs.c: the node's rows of this person's runs, a new array; kept for remote_foreign.
 */
int remote_runs(const struct item_env *env, const struct remote *remote, struct conn *conn,
		json_t **ret, struct rye_err *err);
/* An order that was sent and is of no use any more; RYE_STATE: its thread goes on. */
int remote_order_forget(const struct item_env *env, const char *name, const char *id,
			struct rye_err *err);

/*
 * remote_acts.c: what is asked of a remote by a word: {action, id, force, dry_run}; a row each. *ret: what came
 * of it, a new object.
 */
#define REMOTE_WORDS "adopt ID, connect, forget ID, gc, pull ID, push, status, threads"
int remote_act(const struct item_env *env, const char *name, const json_t *doc, json_t **ret,
	       struct rye_err *err);
/* Of a line, "pull ID", or the object itself. */
int remote_act_read(struct rye_span line, json_t **ret, struct rye_err *err);

/* What `remotes` of remotes.yaml is to be, as JSON Schema; a new reference. */
json_t *remote_schema(void);
/* Appends to issues what would be refused of such a file (its mapping) once it lies in that space: what it does
 * not say may stand in that of another. */
void remote_refused(const struct item_env *env, const struct space *space, const json_t *doc,
		    json_t *issues);

#endif
