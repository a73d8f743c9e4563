/* SPDX-License-Identifier: MIT */
/*
 * node.h: what the kernel holds references to, and the table that finds the current node of a
 * key. A node id is the node's address and the epoch of its daemon above it; st_ino is a function of the
 * key, so it survives.
 *
 * A node is one version: class, version, size and mode never change after node_make. When a
 * key's version changes, the next lookup makes a new node that takes the old one's place in
 * the table; the old one lives until FORGET. The table's lock is taken while no other is held,
 * and a node_match_fn, which is called under it, takes none.
 */
#ifndef RYE_FS_CORE_NODE_H
#define RYE_FS_CORE_NODE_H

#include "core/class.h"
#include "core/tree.h"
#include "scope.h"

#include <fuse_lowlevel.h>
#include <sys/stat.h>

struct node *node_ref(struct node *node);
void node_unref(struct node *node); /* NULL is fine */

DEFINE_AUTO(auto_node_, struct node *, node_unref)
#define auto_node __attribute__((cleanup(auto_node_)))

struct node {
	struct node *next; /* chain of its bucket; table's lock */
	struct node *kin; /* chain of its stem's bucket; table's lock */
	struct node *newer, *older; /* list of all that the kernel holds; table's lock */
	uint64_t nlookup; /* the kernel's references; table's lock */
	_Atomic unsigned refs; /* one for the kernel's, one per borrower */
	uint32_t hash, stem; /* stem: hash of kind and path, up to its last name's first dot */
	const struct node_class *class;
	void *_Atomic data; /* the class's own, released by its `drop` */
	uint64_t ino; /* st_ino */
	uint64_t version;
	uint64_t size;
	struct timespec mtime;
	uint32_t mode;
	uint8_t sort; /* enum tree_sort */
	uint8_t kind;
	bool item; /* an item's own directory */
	bool current; /* in the table; table's lock */
	const struct ctl *ctl;
	uint16_t path_len;
	uint16_t text_len;
	uint16_t epoch; /* front's */
	char text[]; /* of the key; begins with the path; NUL-terminated */
};

/* What a new node is to be. */
struct node_want {
	const struct tree_key *key;
	const struct node_class *class;
	void *data; /* taken over, also on failure and when an equal node exists */
	uint64_t ino; /* 0: tree_ino(key) */
	uint64_t version;
	uint64_t size;
	struct timespec mtime;
	mode_t mode; /* with the type */
	bool item;
	bool fresh; /* a new node each time, never found by others */
};

struct nodes;
struct node_counts {
	uint64_t alive, made, forgotten, looked; /* looked: at how many nodes nodes_collect */
};

int nodes_open(uint16_t epoch, struct nodes **ret); /* 0 or -errno */
void nodes_close(struct nodes *nodes); /* after the session: frees what the kernel still held */
void nodes_count(struct nodes *nodes, struct node_counts *ret);

/* The ids of all that the kernel holds, the newest first, the caller's to free. NULL: out of memory. */
fuse_ino_t *nodes_ids(struct nodes *nodes, size_t *ret_n);

/* The current node of the key with that class and version, one more kernel reference. */
struct node *node_find(struct nodes *nodes, const struct tree_key *key,
		       const struct node_class *class, uint64_t version);
/* The same or a new one. NULL: out of memory. */
struct node *node_make(struct nodes *nodes, const struct node_want *want);
/* Its key has another version now: the next LOOKUP makes another node. */
void node_retire(struct nodes *nodes, struct node *node);
/* n kernel references given back (FORGET, or an entry that was never told). The last one frees the
 * node, on the calling thread: no lock may be held. */
void node_forget(struct nodes *nodes, struct node *node, uint64_t n);

/* Current nodes for which `match` (called under the table's lock) says true, each with a reference
 * that node_unref gives back; the array is the caller's to free. NULL: out of memory. */
typedef bool (*node_match_fn)(void *arg, const struct node *node);
struct node_search {
	node_match_fn match;
	void *arg;
	const char *stem; /* NULL: all. Else those whose path is this up to its last name's first */
	uint8_t kind; /* dot, and of this kind: they are few, however many nodes there are. */
};
struct node **nodes_collect(struct nodes *nodes, const struct node_search *what, size_t *ret_n);
/* The current node of a key, with a reference that node_unref gives back; NULL: the kernel has
 * none. */
struct node *node_peek(struct nodes *nodes, const struct tree_key *key);

/* Attributes from the node's own fields. */
void node_stat(const struct front *front, const struct node *node, struct stat *ret);
/* The entry that tells the kernel of this node. */
void node_entry(const struct front *front, struct node *node, double timeout_s,
		struct fuse_entry_param *ret);
/* User space ends below 2^47 (x86-64) or 2^48 (arm64), unless a program asks for more. */
#define NODE_EPOCH_BIT 48
static inline fuse_ino_t node_id(const struct node *node)
{
	return (fuse_ino_t)(uintptr_t)node | (fuse_ino_t)node->epoch << NODE_EPOCH_BIT;
}
/* Of an id that is of this daemon's epoch (loop/stale.c), and not the root's. */
static inline struct node *node_of(fuse_ino_t id)
{
	return (struct node *)(uintptr_t)(id & ((UINT64_C(1) << NODE_EPOCH_BIT) - 1));
}

#endif
