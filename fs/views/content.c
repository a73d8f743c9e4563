/* SPDX-License-Identifier: MIT */
/*
 * content.c - the merged trees: items, rendered items with inputs, refused items.
 *
 * Owns nothing but what each node holds: verified bytes, for as long as the kernel may ask for
 * them. A change makes another node; this one is never altered, so no reader sees half of one
 * version and half of another. In very big trees a file that was only listed has no bytes until it
 * is read, or `find` would fetch all of them. No lock.
 */
#include "views/views_inner.h"

#include "caller/caller.h"
#include "core/enter.h"
#include "core/reply.h"
#include "hash.h"
#include "scope.h"
#include "str.h"
#include "talk/talk.h"

#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <string.h>

DEFINE_AUTO(auto_text_, struct rye_text *, rye_text_unref)
#define auto_text __attribute__((cleanup(auto_text_)))

/* ---- files ---- */

static bool want_bytes(void *arg, const struct rye_stat *st)
{
	return true;
}

/* The text there is now; NULL with err->code clear: it is not the one that was listed. */
static struct rye_text *content_fetch(struct front *front, const struct node *node,
				      struct rye_err *err)
{
	const struct rye_want want = { node->kind, node->text, want_bytes, NULL };
	struct rye_file file;

	if (rye_read(front->rye, &want, &file, err))
		return NULL;
	if (!file.text)
		return NULL;
	if (file.st.version == node->version && rye_text_len(file.text) == node->size)
		return file.text;
	rye_text_unref(file.text);
	return NULL;
}

/* Several readers may fetch at once: the first one's text is the node's for ever. */
static struct rye_text *content_keep(struct node *node, struct rye_text *text)
{
	void *none = NULL;

	if (atomic_compare_exchange_strong(&node->data, &none, text))
		return text;
	rye_text_unref(text);
	return none;
}

static void answer_read(fuse_req_t req, const struct node *node, struct rye_text *text, size_t size,
			off_t off)
{
	auto_blob struct rye_blob *blob = NULL;
	struct rye_err err = { 0 };

	if (rye_text_get(text, &blob, &err)) {
		content_tell(req, node->kind, node->text, &err);
		reply_rye(req, &err);
		return;
	}
	reply_blob(req, blob, off, size);
}

/*
 * The first read of a file that was only listed. When it has changed since, its bytes are gone and
 * its size, which the reader may know, is another: the read gets ESTALE.
 */
static void first_read(fuse_req_t req, struct node *node, size_t size, off_t off)
{
	struct front *front = front_of(req);
	struct rye_err err = { 0 };
	auto_text struct rye_text *text = content_fetch(front, node, &err);

	if (text) {
		text = rye_text_ref(content_keep(node, steal(&text)));
		answer_read(req, node, text, size, off);
		return;
	}
	node_retire(front->nodes, node);
	if (err.code)
		reply_rye(req, &err);
	else
		reply_errno(req, ESTALE);
}

/*
 * The kernel sends no FORGET for the node before it has this answer, but the answer may be there,
 * and the FORGET served by the other FUSE thread, before the call that answers returns: so the
 * text has a reference of its own.
 */
static void file_read(fuse_req_t req, struct node *node, size_t size, off_t off)
{
	auto_text struct rye_text *text = rye_text_ref(node->data);

	answer_read(req, node, text, size, off);
}

static uint64_t file_size(const struct node *node)
{
	const struct rye_text *text = node->data;

	return text ? rye_text_len(text) : node->size;
}

static void file_drop(void *data)
{
	rye_text_unref(data);
}

/* What a node has is read from the descriptor of its text; of one that was listed it has nothing. */
static bool file_here(const struct node *node)
{
	return node->data;
}

static struct aside_lane file_lane(struct front *front, const struct node *node,
				   struct rye_span what)
{
	return content_lane(front, node->kind, node->text);
}

static const struct node_class file_aside = {
	.lane = file_lane,
	.read = first_read,
	.xattrs = &content_xattrs,
};

const struct node_class content_file = {
	.name = "file",
	.aside = &file_aside,
	.here = file_here,
	.read = file_read,
	.size = file_size,
	.drop = file_drop,
};

/* As file_read: with a reference for as long as the answer is under way. */
static void link_readlink(fuse_req_t req, struct node *node)
{
	node_ref(node);
	reply_link(req, node->data);
	node_unref(node);
}

static const struct node_class content_link = {
	.name = "link",
	.readlink = link_readlink,
	.drop = free,
};

uint64_t content_hash(const void *bytes, size_t len)
{
	const unsigned char *p = bytes;
	uint64_t h = HASH_BASIS ^ len, word;

	for (; len >= sizeof(word); p += sizeof(word), len -= sizeof(word)) {
		memcpy(&word, p, sizeof(word));
		h = (h ^ word) * 0x9e3779b97f4a7c15ull;
		h ^= h >> 32;
	}
	h = hash_bytes(h, p, len);
	h ^= h >> 31;
	return h ? h : 1;
}

struct node *content_make(struct front *front, const struct content_file *what)
{
	const struct rye_blob *blob = what->blob;
	uint64_t version = what->version;
	struct node_want want = {
		.key = what->key,
		.class = &content_file,
		.mtime = what->mtime,
		.mode = S_IFREG | what->mode,
		.fresh = what->fresh,
	};

	assert(version || blob);
	want.version = version ? version : content_hash(blob->data, blob->len);
	want.data = what->text ? what->text : rye_text_new(front->rye, what->blob);
	if (!want.data)
		return NULL;
	want.size = rye_text_len(want.data);
	return node_make(front->nodes, &want);
}

struct node *content_make_link(struct front *front, const struct tree_key *key, const char *target,
			       struct timespec mtime)
{
	size_t len = strlen(target);
	struct node_want want = {
		.key = key,
		.class = &content_link,
		.data = strdup(target),
		.version = content_hash(target, len),
		.size = len,
		.mtime = mtime,
		.mode = S_IFLNK | 0777,
	};

	return want.data ? node_make(front->nodes, &want) : NULL;
}

struct node *content_refuse(struct front *front, const struct tree_key *key,
			    const struct rye_stat *st, enum rye_code code, const char *reason)
{
	char target[TREE_WHY_SIZE];

	tree_why_target(key, code, reason, target);
	return content_make_link(front, key, target, st->mtime);
}

double content_timeout(struct front *front, enum rye_kind kind, const char *path)
{
	return rye_unwatched(front->rye, kind, path) ? 0 : TIMEOUT_LONG_S;
}

/* ---- entering ---- */

/* Of a tree of that many files, and of a file that big, only what is read is held in memory;
 * up to there a listing brings the bytes too, so that even a file that was never read before
 * it changed has those of the version that was opened. */
#define LISTED_NODES 16384
#define LISTED_BYTES (256u << 10)

static bool is_cheap(struct front *front, const struct rye_stat *st)
{
	struct node_counts counts;

	if (st->size > LISTED_BYTES)
		return false;
	nodes_count(front->nodes, &counts);
	return counts.alive < LISTED_NODES;
}

static struct node *make_listed(struct front *front, const struct tree_key *key,
				const struct rye_stat *st)
{
	struct node_want want = {
		.key = key,
		.class = &content_file,
		.version = st->version,
		.size = st->size,
		.mtime = st->mtime,
		.mode = S_IFREG | 0444,
	};

	return node_make(front->nodes, &want);
}

/* From a name to its node. */
struct entering {
	struct front *front;
	const struct tree_key *key;
	bool listed;
	struct node *node; /* of the version there is, when one is there already */
};

/* A node that is there has its bytes, but for one that was listed before and is looked up now. */
static bool want_file(void *arg, const struct rye_stat *st)
{
	struct entering *e = arg;

	e->node = node_find(e->front->nodes, e->key, &content_file, st->version);
	if (e->node)
		return !e->listed && !e->node->data;
	return !e->listed || is_cheap(e->front, st);
}

/* file->text is taken over. */
static struct node *content_make_file(struct entering *e, const struct rye_file *file)
{
	const struct rye_stat *st = &file->st;

	if (e->node && st->version == e->node->version) {
		if (file->text)
			content_keep(e->node, file->text);
		return e->node;
	}
	if (e->node)
		node_forget(e->front->nodes, e->node, 1);
	if (st->verdict != RYE_OK)
		return content_refuse(e->front, e->key, st, st->verdict, st->reason);
	if (!file->text)
		return make_listed(e->front, e->key, st);
	return content_make(e->front, &(struct content_file){
					      .key = e->key,
					      .text = file->text,
					      .version = st->version,
					      .mtime = st->mtime,
					      .mode = 0444,
				      });
}

/*
 * A directory that no layer has yet is as old as the mount. In an unwatched directory each request
 * for attributes gets another mtime: the kernel drops a cached listing when the mtime has changed.
 */
struct timespec content_mtime(struct front *front, const struct rye_stat *st, bool watched)
{
	struct timespec time = st->mtime.tv_sec ? st->mtime : front->started;

	if (!watched)
		time.tv_nsec = (long)(atomic_fetch_add(&front->asked, 1) % 1000000000);
	return time;
}

static struct node *content_make_dir(struct front *front, const struct tree_key *key,
				     const struct rye_stat *st)
{
	struct node_want want = {
		.key = key,
		.class = &content_dir,
		.version = st->is_item_dir ? 2 : 1,
		.mtime = content_mtime(front, st, true),
		.mode = S_IFDIR | 0755,
		.item = st->is_item_dir,
	};

	return node_make(front->nodes, &want);
}

void content_complain(fuse_req_t req, const char *name, const char *sentence)
{
	struct front *front = front_of(req);
	const struct fuse_ctx *ctx = fuse_req_ctx(req);
	struct caller *caller = caller_identify(front->callers, ctx->pid, ctx->uid);

	if (caller)
		talks_complain(front->talks, caller, name, sentence);
	caller_unref(caller);
}

void content_tell(fuse_req_t req, enum rye_kind kind, const char *id, const struct rye_err *err)
{
	char name[1100];

	snprintf(name, sizeof(name), "%s:%s", rye_kind_name(kind), id);
	content_complain(req, name, err->msg);
}

static int enter_query(fuse_req_t req, const struct tree_key *key, struct fuse_entry_param *ret)
{
	struct entering entering = { front_of(req), key, false, NULL };
	const struct rye_want want = { key->kind, key->text, want_file, &entering,
				       tree_query(key) };
	struct front *front = entering.front;
	struct rye_file file;
	struct rye_err err;
	int r = rye_read(front->rye, &want, &file, &err);
	double timeout_s = file.watched ? TIMEOUT_LONG_S : 0;

	if (r && entering.node)
		node_forget(front->nodes, entering.node, 1);
	if (r && err.code != RYE_NOT_FOUND) {
		content_tell(req, key->kind, file.st.id, &err);
		return rye_code_errno(err.code);
	}
	if (r || !file.st.is_file)
		return enter_nothing(ret, timeout_s);
	return enter_node(front, content_make_file(&entering, &file), timeout_s, ret);
}

static int enter_dir_node(struct front *front, struct node *node, const struct rye_stat *st,
			  double timeout_s, struct fuse_entry_param *ret)
{
	int sys = enter_node(front, node, timeout_s, ret);

	ret->attr.st_mtim = content_mtime(front, st, timeout_s > 0);
	ret->attr_timeout = timeout_s;
	return sys;
}

static int enter_key(fuse_req_t req, const struct tree_key *key, bool listed,
		     struct fuse_entry_param *ret)
{
	struct entering entering = { front_of(req), key, listed, NULL };
	const struct rye_want want = { key->kind, key->text, want_file, &entering };
	struct front *front = entering.front;
	struct rye_file file;
	struct rye_err err;
	struct tree_key query;
	int r = rye_read(front->rye, &want, &file, &err);
	double timeout_s = file.watched ? TIMEOUT_LONG_S : 0;

	if (r && err.code != RYE_NOT_FOUND)
		return rye_code_errno(err.code);
	if (r == 0 && file.st.is_file)
		return enter_node(front, content_make_file(&entering, &file), timeout_s, ret);
	if (entering.node)
		node_forget(front->nodes, entering.node, 1);
	if (r == 0)
		return enter_dir_node(front, content_make_dir(front, key, &file.st), &file.st,
				      timeout_s, ret);
	if (tree_split_query(key, &query))
		return enter_query(req, &query, ret);
	return enter_nothing(ret, timeout_s);
}

/* The node that has its bytes; one of the text that is kept; one of the reason. */
static int enter_known_file(struct entering *e, struct rye_file *file, struct fuse_entry_param *ret)
{
	struct front *front = e->front;
	struct node *node;

	if (file->st.verdict == RYE_OK)
		e->node = node_find(front->nodes, e->key, &content_file, file->st.version);
	if (e->node && e->node->data) {
		rye_text_unref(file->text);
		return enter_node(front, e->node, TIMEOUT_LONG_S, ret);
	}
	if (file->text || file->st.verdict != RYE_OK) {
		node = content_make_file(e, file);
		return enter_node(front, node, TIMEOUT_LONG_S, ret);
	}
	if (e->node)
		node_forget(front->nodes, e->node, 1);
	return ENTER_ASIDE;
}

int enter_known(fuse_req_t req, const struct tree_key *key, struct fuse_entry_param *ret)
{
	struct entering entering = { front_of(req), key, false, NULL };
	struct front *front = entering.front;
	struct rye_file file;

	if (!rye_known(front->rye, key->kind, key->text, &file))
		return ENTER_ASIDE;
	if (file.st.is_file)
		return enter_known_file(&entering, &file, ret);
	if (file.st.is_dir || file.st.is_item_dir)
		return enter_dir_node(front, content_make_dir(front, key, &file.st), &file.st,
				      TIMEOUT_LONG_S, ret);
	return strchr(key->text, '?') ? ENTER_ASIDE : enter_nothing(ret, TIMEOUT_LONG_S);
}

int enter_merged(fuse_req_t req, const struct tree_key *key, struct fuse_entry_param *ret)
{
	return enter_key(req, key, false, ret);
}

int enter_listed(fuse_req_t req, struct node *dir, const char *name, struct fuse_entry_param *ret)
{
	struct tree_dir where = { TREE_MERGED, dir->kind, dir->item, dir->text };
	struct tree_key key;

	if (tree_step(&where, name, &key) || key.sort != TREE_MERGED)
		return enter_name(req, dir, name, ret);
	return enter_key(req, &key, true, ret);
}
