/* SPDX-License-Identifier: MIT */
/*
 * tree.h: the grammar of the mount: (parent key, name) → key. Pure: it does not ask the engine or
 * the disk whether a thing exists, it only says what the name would mean there. What lies below a
 * space is not named here (pass.h): those nodes are identified by device and inode.
 */
#ifndef RYE_FS_CORE_TREE_H
#define RYE_FS_CORE_TREE_H

#include <rye/rye.h>

struct ctl;

enum tree_sort {
	TREE_ROOT,
	TREE_README,
	TREE_INDEX_MD,
	TREE_INDEX_JSON,
	TREE_MERGED, /* kind, path: a directory or an item's file; path "" is the kind's root */
	TREE_QUERY, /* kind, path of the item's file, query: rendered with these inputs */
	TREE_CTL, /* kind, path of the item's directory, ctl row, maybe a query */
	/* kind, path of the directory that .why is hidden in, maybe a query: the text so far */
	TREE_WHY,
	TREE_REASON, /* kind, path of that directory, query: the whole text */
	TREE_PRIMITIVE, /* ctl row: execute, fetch, load, sign, calls, replies */
	TREE_CALL, /* in calls or replies: talk/named_dir.c */
	TREE_SPACES,
	TREE_BUNDLES, /* spaces/system */
	TREE_SPACE, /* space; path: the bundle, or "" */
	TREE_PASS, /* below a space: pass.c */
	TREE_COVERED, /* path: its name; in the root, for sandboxes to mount on */
	TREE_SKILLS, /* skills/ */
	TREE_SKILL, /* path: below it; maybe a query, of a file */
	TREE_SEARCH,
	TREE_RESULTS, /* path: the query's text */
	TREE_HIT, /* path: the query's text; query: the link's name */
	TREE_NEW, /* path: the beginning of a skeleton's, or all of it; "": the directory itself */
	TREE_STATE,
	TREE_THREADS,
	TREE_REMOTES, /* path: what lies below remotes; views/remotes.c */
	TREE_DOT, /* .ryefs */
	TREE_DOT_FILE, /* path: its name */
	TREE_SORT__MAX
};

/* Longer names exist nowhere (NAME_MAX); one with a query may be as long as the kernel takes. */
#define TREE_NAME_MAX 255
#define TREE_QUERY_NAME_MAX 1023
/* An id of 1 000 bytes, a name, a query: more is no name of ours. */
#define TREE_TEXT_MAX 2304

struct tree_key {
	enum tree_sort sort;
	uint8_t kind; /* enum rye_kind; for TREE_SPACE an enum rye_space; else 0 */
	const struct ctl *ctl; /* TREE_CTL, TREE_PRIMITIVE */
	uint16_t path_len;
	uint16_t text_len; /* path, then a NUL and the query when there is one */
	char text[TREE_TEXT_MAX]; /* NUL-terminated; begins with the path */
};

/* What a directory is, as far as the meaning of the names in it goes. */
struct tree_dir {
	enum tree_sort sort;
	uint8_t kind;
	bool item; /* an item's own directory */
	const char *path;
};

/* 0; -ENOENT: no such name can be there; or -ENAMETOOLONG. */
int tree_step(const struct tree_dir *dir, const char *name, struct tree_key *ret);
/* What the root lists, or all that it can have, in no order. */
void tree_root_names(bool all, void *arg, void (*fn)(void *arg, const char *name));
/* The root's own key. */
void tree_root(struct tree_key *ret);
/* The text of a file of sort TREE_COVERED; NULL: that name is a directory. */
const char *tree_covered(const char *name);
/* A path below a kind's directory. */
int tree_merged(enum rye_kind kind, const char *path, struct tree_key *ret);
/* The part of the text behind the path; NULL: no query. */
const char *tree_query(const struct tree_key *key);
/* Puts a query behind the path: 0 or -ENAMETOOLONG. */
int tree_set_query(struct tree_key *key, const char *query);
/* "x.md?a=b" meant as a file with inputs; false when the name has no question mark. */
bool tree_split_query(const struct tree_key *merged, struct tree_key *ret);
/* A stable number for st_ino, never 0 or 1, apart from the numbers of real files. */
uint64_t tree_ino(const struct tree_key *key);

/*
 * Where the link of a refused item leads: .why/ERRNO: reason.
 *
 * A reason may end with the item's own reference, and the kernel asks for what stands between
 * slashes one by one: .why, then "EBADMSG: … sign knowledge:a", then "b". Which links there are is
 * not kept, so the text alone says whether it goes on: it does where it ends with the beginning of
 * the path of the directory that .why lies in. No other slash is in a link's text.
 */
#define TREE_WHY_SIZE 256 /* of a link's target, NUL included */
/* The target of the link that stands for `link`, an item's file or a view in its own directory. */
void tree_why_target(const struct tree_key *link, enum rye_code code, const char *reason,
		     char ret[TREE_WHY_SIZE]);
/* What `name` is below .why: dir.path is the path of the directory that .why lies in, `before` the
 * text up to here or "". TREE_WHY: a directory, the text goes on; TREE_REASON: the end of the link;
 * or -ENOENT. */
int tree_why_step(const struct tree_dir *dir, const char *before, const char *name,
		  struct tree_key *ret);
/* "EBADMSG"; "EIO" for an errno that no refusal has. */
const char *tree_errno_name(int sys);

#endif
