/* SPDX-License-Identifier: MIT */
/*
 * pass.h: below spaces/: the sources themselves, read-write.
 */
#ifndef RYE_FS_PASS_PASS_H
#define RYE_FS_PASS_PASS_H

#include "core/front.h"

int pass_open(struct front *front, struct pass **ret); /* 0 or -errno */
void pass_close(struct pass *pass);
/* Something below a space's .ai changed, maybe through us. Only queues. space < 0: anything. */
void pass_changed(struct front *front, int space, const char *path);

/* ---- for pass*.c ---- */

enum pass_zone {
	ZONE_PLAIN, /* not watched: changes are not notified */
	ZONE_ITEMS, /* below a kind's directory: the engine tells of changes */
	ZONE_ROOT, /* the .ai itself */
	ZONE_CONFIG, /* .ai/config */
	ZONE_KEYS, /* .ai/config/keys */
	ZONE_TRUSTED, /* .ai/config/keys/trusted and below: trust changes through `ryefs trust` */
};

/* What the kernel was last told of a file's bytes. */
struct pass_seen {
	off_t size;
	struct timespec mtime, ctime;
	bool known;
	bool young; /* changed so lately that another change could give the same mtime */
};

/* What could have been remembered of a file when a change of it was last told. */
struct pass_told {
	uint64_t looks; /* of the front */
	uint64_t loads; /* rye_loads */
};

struct pass_node {
	int fd; /* O_PATH, or the descriptor a CREATE opened */
	int rd, wr; /* -1 until needed; pass->lock to set, never closed before the end */
	dev_t dev;
	ino_t ino;
	int space;
	_Atomic enum pass_zone zone;
	_Atomic bool beside; /* ZONE_PLAIN, a file beside items: the engine tells of it, too */
	bool read_only;
	_Atomic bool cached; /* the kernel may hold pages of it */
	struct pass_seen seen; /* pass->lock */
	struct pass_told told; /* pass->lock */
	struct pass_name *names; /* pass->lock */
	struct pass *pass;
};

/* A name as a change through the mount left it. */
struct pass_own_file {
	dev_t dev;
	ino_t ino; /* 0: nothing is there */
};

struct pass_own {
	uint64_t hash; /* of directory and name */
	struct pass_own_file file;
	bool known;
};

/* Some saves at a time: the tasks that look are never far behind. */
#define PASS_OWN 256

struct pass {
	struct front *front;
	pthread_mutex_t lock; /* lazily opened descriptors, `seen`; never held across I/O */
	_Atomic size_t fds; /* descriptors that nodes hold */
	_Atomic size_t calm; /* as many were left when the kernel was last asked to forget some */
	size_t limit; /* of the process */
	dev_t dev; /* of the project: its inode numbers are shown as they are */
	bool fine; /* its disk gives every change that was asked about an mtime of its own */
	struct pass_own own[PASS_OWN]; /* lock */
	_Atomic unsigned changing; /* changes under way that `own` may not know yet */
};

extern const struct node_class pass_class;
extern const struct node_changes pass_changes;
extern const struct node_xattrs pass_xattrs;

static inline struct pass_node *pass_of(const struct node *node)
{
	return node->data;
}

/* 0, or the errno with which this caller may not write here. */
int pass_may_write(fuse_req_t req, const struct node *node);
/* The zone of a name; false: there is no such name for the mount. */
bool pass_zone(enum pass_zone dir, const char *name, enum pass_zone *ret);
/* May not be renamed: what is hidden or protected in it would lose its place. */
bool pass_pinned(enum pass_zone dir, const char *name);
/* The child's entry, one more kernel reference. stale: the kernel holds pages of older bytes. Both
 * functions return 0 or a positive errno; pass_adopt takes the ownership of fd. */
struct pass_found {
	struct fuse_entry_param entry;
	struct node *node;
	bool stale;
};
int pass_find(struct front *front, struct node *dir, const char *name, struct pass_found *ret);
int pass_adopt(struct front *front, struct node *dir, int fd, enum pass_zone zone,
	       struct pass_found *ret);
/* Answers with the entry, once old pages are gone. */
void pass_reply_entry(fuse_req_t req, struct pass_found *found);
/* A descriptor to read or write: >= 0, or -errno. Owned by the node. */
int pass_fd(struct node *node, bool write);
void pass_stat(struct front *front, const struct node *node, const struct stat *raw,
	       struct stat *ret);
double pass_timeout(struct front *front, const struct node *node);
/* Notes what the file looks like now; true: not what the kernel was told, and it has pages. */
bool pass_note(struct node *node, const struct stat *raw, bool ours);
/* Old pages could not be dropped for lack of memory: the next answer finds the node stale again. */
void pass_doubt(struct node *node);
/* Has the file the attributes that the kernel was told, or changed itself? */
bool pass_is_noted(struct node *node, const struct stat *raw);
/* The node's name was changed through the mount, which the disk notes as a change of the file. */
void pass_note_renamed(struct node *node, const struct stat *raw);

/* ---- pass_own.c: dir is a directory below spaces/ ---- */

/* Before the kernel is answered: what its change leaves at that name. */
void pass_own_note(struct node *dir, const char *name, const struct pass_own_file *file);
void pass_own_move(const struct node_rename *what);
/* Has the kernel made the name what it is now? */
bool pass_own_is(const struct node *dir, const char *name, const struct pass_own_file *file);
/* The kernel is told of another file than its change has left there; NULL: of any. */
void pass_own_forget(struct node *dir, const char *name, const struct pass_own_file *file);

/* ---- pass_names.c ---- */

/* The kernel knows the file by this name from now on. */
void pass_names_note(struct node *node, struct node *dir, const char *name);
void pass_names_drop(struct pass_node *pass);
/* From {0}, one by one, the names that are still the file's; false: no more, and nothing is held. */
struct pass_at {
	size_t i;
	struct node *dir; /* held until the next call */
	char name[TREE_NAME_MAX + 1];
};
bool pass_names_next(const struct node *node, struct pass_at *at);
/* ---- pass_touch.c ---- */

/* The node itself has changed, or (name not NULL) a name in it: the engine forgets what it knew, and
 * looks soon. True: it is not seen by all yet, the answer has to wait. */
bool pass_touch(struct front *front, struct node *node, const char *name);
/* The same of a name that a plain file has got or had: one that is no item's shows nowhere else. */
bool pass_touch_file(struct front *front, struct node *dir, const char *name);
/* Before pass_touch for a name in its directory: the node is what has got that name. */
void pass_told(struct front *front, struct node *node);

/* An answer to a change; `send` gives it. */
struct pass_answer {
	fuse_req_t req;
	void (*send)(const struct pass_answer *answer);
	union {
		struct {
			struct stat st;
			double timeout_s;
		} attr;
		struct pass_found found;
		struct {
			struct fuse_entry_param entry;
			struct fuse_file_info fi;
			struct front *front;
		} created;
		struct {
			size_t n;
			off_t off;
			struct node *node;
		};
	};
};
/* At once, or when the merged trees show the change; answer is copied. */
void pass_answer(struct front *front, const struct pass_answer *answer, bool wait);
void pass_send_done(const struct pass_answer *answer);
void pass_send_written(const struct pass_answer *answer);
void pass_send_attr(const struct pass_answer *answer);
void pass_send_found(const struct pass_answer *answer);

/* Counts one more descriptor; when half of the process's limit is used, queues the notification
 * that makes the kernel forget the nodes it caches but no process uses. */
void pass_count(struct pass *pass);
/* Too many are in use to hold one for every name that a listing shows. */
bool pass_short(struct pass *pass);
/* So often is tried what has found no descriptor left: each time some may be free again, or the machine was busy. */
#define PASS_TRIES 10
/* No descriptor was left: fn(arg) is called on the notify thread, once the kernel was asked to give
 * some back. */
void pass_again(struct front *front, struct node *node, void (*fn)(void *), void *arg);
/* The whole path of an O_PATH descriptor through /proc, for calls that take no descriptor. */
#define PASS_PROC_MAX 32
void pass_proc(int fd, char ret[PASS_PROC_MAX]);

#endif
