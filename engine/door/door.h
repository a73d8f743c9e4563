/* SPDX-License-Identifier: MIT */
/*
 * door.h: a node, which carries out what principals on other machines order. It is one directory,
 * this process its door: no root, no port. What can be asked of it is the table of frames.
 */
#ifndef RYE_DOOR_DOOR_H
#define RYE_DOOR_DOOR_H

#include "conn/conn.h"

#include <stdint.h>

/*
 * node_dir.c: the directory: card.json, keys/ (0700), principals/FP.toml, asked/FP.pem, and what other
 * rooms keep there (board.db, store/, work/, tmp/). Frozen once opened.
 */

struct node_dir {
	char *path; /* absolute */
	int dir; /* to look beneath */
	struct key_secret key; /* wiped by node_close */
	struct card card;
	/* of node.toml (node_settings.c); NULL: the directory's own, none */
	char *board, *store;
	json_t *labels; /* of the workers here */
	int64_t keep_new, keep_gone, keep_runs; /* seconds: what garbage is (door_gc.c) */
	uid_t uid_first,
		uid_last; /* a root's worker gives each principal one of these; 0: none are named */
};

/* door_worker.c: how many workers work in it. */
int door_workers(const struct node_dir *node);
/* $RYE_NODE, else $XDG_DATA_HOME/ryefs/node, else ~/.local/share/ryefs/node; to free, NULL: not known. */
char *node_default_path(void);
/* Makes it, its keys and its card; what is there stays. *ret_new: it was not there. */
int node_init(const char *path, char ret_fp[KEY_FP], bool *ret_new, struct rye_err *err);
/* set: {name: text} of board, store, labels, uids and the ages. Is it good? A board or store that cannot be opened is not;
 * what is wrong makes no node. path: absolute. */
int node_settings_check(const char *path, const json_t *set, struct rye_err *err);
/*
 * Of a new node of root's: accounts for its runs that no system hands out (systemd: "unused"). NULL: they would be of no
 * use there. A word that lasts.
 */
const char *node_uids_default(const char *path);
/* Of a set that is good; the rest stays. */
int node_settings_write(const struct node_dir *node, const json_t *set, struct rye_err *err);
struct board;
/* Where its orders wait. */
int node_board(const struct node_dir *node, struct board **ret, struct rye_err *err);
struct depot;
/* What was pushed to it. */
int node_depot(const struct node_dir *node, struct depot **ret, struct rye_err *err);
/*
 * door_gc.c: what is pushed and not needed any more goes: of one principal, or, NULL, of each, and what belongs to none.
 * *ret: {dry_run, freed, packs, rewritten, blobs, manifests, objects}, a new reference.
 */
int node_gc(const struct node_dir *node, const char *fp, bool dry, json_t **ret,
	    struct rye_err *err);
int node_open(const char *path, struct node_dir **ret, struct rye_err *err);
void node_close(struct node_dir *node); /* NULL is fine */
/* ` --dir DIR` for a command of its owner's, unless it is the usual one. */
void node_words(const struct node_dir *node, struct rye_buf *ret);
DEFINE_AUTO(auto_node_, struct node_dir *, node_close)
#define auto_node __attribute__((cleanup(auto_node_)))
/* Its X25519 secret key, for what was sealed to card.box. The caller wipes it. */
int node_box_key(const struct node_dir *node, unsigned char ret[KEY_LEN], struct rye_err *err);

/*
 * principal.c: keys that may ask, and how much: principals/FP.toml, signed by the node. Read anew each time.
 */

/* What one may have when its file does not say. */
#define PRINCIPAL_JOBS 8 /* runs at once */
#define PRINCIPAL_QUEUED 1000 /* orders that wait */
#define PRINCIPAL_BYTES (INT64_C(10) << 30) /* in the store */
#define PRINCIPAL_PUSH (INT64_C(4) << 30) /* of one push */

struct principal {
	struct key_public key;
	char owner[128];
	char expires[40]; /* ISO 8601, or "": never */
	json_t *allow; /* capabilities, as a thread's list; owned, as the next two */
	json_t *signers; /* fingerprints whose items it may order; its own key besides */
	json_t *env; /* names of the node's environment that its runs may have */
	int64_t jobs, queued, bytes, push;
	int64_t seconds; /* of runs in a month; 0: no limit */
	double spend_month; /* of models; 0: no limit */
};
void principal_done(struct principal *principal);
#define auto_principal __attribute__((cleanup(principal_done)))

/* RYE_DENIED: it is not known here, its file is not this node's word, or it has expired. */
int principal_load(const struct node_dir *node, const char *fp, struct principal *ret,
		   struct rye_err *err);
/* The same of a file's text (principal_file.c). */
int principal_read(const struct node_dir *node, const char *fp, struct rye_span text,
		   struct principal *ret, struct rye_err *err);
/*
 * Writes it, signed by the node. key: the fingerprint of one that has asked or is there, or the path of
 * a key file. set: {name: text}, what changes; the rest stays as it is.
 */
int principal_admit(const struct node_dir *node, const char *key, const json_t *set,
		    struct principal *ret, struct rye_err *err);
int principal_remove(const struct node_dir *node, const char *fp, struct rye_err *err);
/* What it has pushed and what its runs have left is needed no more: node_gc takes it, in its time. */
int principal_leave(const struct node_dir *node, const char *fp, struct rye_err *err);
/* {fingerprint, owner, status, …} of each, and of each that has asked (status "asked"); a new array. */
int principal_list(const struct node_dir *node, json_t **ret, struct rye_err *err);
/* As the owner of the node, and the principal by READY, are told. A new reference. */
json_t *principal_json(const struct principal *principal);
/* One that is not known has asked: its key is kept, so that its fingerprint will do to admit it. */
void principal_asked(const struct node_dir *node, const struct key_public *key);

/*
 * door.c: one connection, from HELLO to its end. Frames are read and answered on one thread, one after
 * the other; what takes longer than a moment has a thread of its own, which may send.
 */

struct run_follow;

struct door_session {
	const struct node_dir *node;
	struct conn *conn;
	struct principal who; /* frozen once its frames are answered */
	struct board *board; /* NULL: not opened yet */
	struct run_follow *follows; /* that go on; the door's thread alone */
	struct door_push *push; /* what packs are kept in; NULL: none came. The door's thread alone */
	struct session_kept *kept; /* of streams: session_keep; the door's thread alone */
};

/*
 * A frame's answer: 0, having sent REPLY, or being about to (a thread of its own, kept by its stream);
 * or -code, and the door sends ERR on the frame's stream.
 */
typedef int door_fn(struct door_session *session, const struct conn_frame *frame,
		    struct rye_err *err);

/* A frame that a principal may send is one row, in door_rows.c, and one function. */
struct door_row {
	enum frame_type type;
	const char *name; /* for messages */
	door_fn *fn;
};
extern const struct door_row door_rows[];
extern const size_t door_n_rows;

/* What INFO tells is put together by these (door_rows.c): each adds its members. */
typedef int door_info_fn(struct door_session *session, json_t *into, struct rye_err *err);

/* Answers the frame: {} or a document. */
int session_reply(struct door_session *session, uint32_t stream, const json_t *doc,
		  struct rye_err *err);
int session_data(struct door_session *session, uint32_t stream, struct rye_span bytes,
		 struct rye_err *err);
/*
 * Something that belongs to a stream, and is released when the stream is given up or the connection
 * ends. One for each stream; at most 256 of them: RYE_BUSY.
 */
int session_keep(struct door_session *session, uint32_t stream, void *own,
		 void (*release)(void *own), struct rye_err *err);
void *session_find(struct door_session *session, uint32_t stream); /* NULL: none */
void session_drop(struct door_session *session, uint32_t stream);

/*
 * Serves one connection over these descriptors, which it takes over, to its end. as: the one principal
 * that may use it, by fingerprint; NULL: any that proves to be one. 0: it has ended as it should.
 */
int node_serve(const struct node_dir *node, int in, int out, const char *as, struct rye_err *err);

/*
 * door_http.c: the same where a connection begins as a request of HTTP that asks to go on with frames.
 */
/* What else it asks for is refused with a status, RYE_INVALID. */
int node_serve_http(const struct node_dir *node, int in, int out, const char *as,
		    struct rye_err *err);
/* door_port.c: a port for them. */
struct node_listen {
	const char *path; /* the node's directory */
	const char *as; /* as node_serve's */
	int port; /* of this machine's own addresses; 0: any */
	void (*ready)(void *arg, int port); /* told once, when it can be connected to */
	void *arg;
};
/* A process for each connection, until SIGINT, SIGTERM or SIGHUP, which is a failure of nothing. */
int node_listen(const struct node_listen *ask, struct rye_err *err);

#endif
