/* SPDX-License-Identifier: MIT */
/*
 * content.c - the merged trees: items, rendered items with inputs, refused items.
 *
 * Owns nothing but what each node holds: the bytes that were verified before their size was
 * told, for as long as the kernel may ask for them. A change makes another node; this one is
 * never altered, so nobody sees half of one version and half of another. No lock.
 */
#include "content.h"

#include "auto.h"
#include "caller.h"
#include "enter.h"
#include "reply.h"
#include "talk.h"

#include <errno.h>
#include <string.h>

static void file_read(fuse_req_t req, struct node *node, size_t size, off_t off)
{
	reply_blob(req, node->data, off, size);
}

static void file_drop(void *data)
{
	rye_blob_unref(data);
}

const struct node_class content_file = {
	.name = "file",
	.read = file_read,
	.xattrs = &content_xattrs,
	.drop = file_drop,
};

static void link_readlink(fuse_req_t req, struct node *node)
{
	reply_link(req, node->data);
}

const struct node_class content_link = {
	.name = "link",
	.readlink = link_readlink,
	.drop = free,
};

uint64_t content_hash(const void *bytes, size_t len)
{
	const unsigned char *p = bytes;
	uint64_t h = 0xcbf29ce484222325ull ^ len, word;

	for (; len >= sizeof(word); p += sizeof(word), len -= sizeof(word)) {
		memcpy(&word, p, sizeof(word));
		h = (h ^ word) * 0x9e3779b97f4a7c15ull;
		h ^= h >> 32;
	}
	for (; len; p++, len--)
		h = (h ^ *p) * 0x100000001b3ull;
	h ^= h >> 31;
	return h ? h : 1;
}

struct node *content_make(struct front *front, const struct content_file *what)
{
	uint64_t version = what->version;
	struct node_want want = {
		.key = what->key,
		.class = &content_file,
		.data = what->blob,
		.size = what->blob->len,
		.mtime = what->mtime,
		.mode = S_IFREG | what->mode,
		.fresh = what->fresh,
	};

	want.version = version ? version : content_hash(what->blob->data, what->blob->len);
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

/* Control characters would let a reason move the cursor of whoever lists the directory. */
void content_why(enum rye_code code, const char *reason, char ret[256])
{
	const char *name = tree_errno_name(rye_code_errno(code));
	int n = snprintf(ret, 256, ".why/%s: %s", name, *reason ? reason : rye_code_name(code));

	if (n > 255) {
		n = 255;
		while (n > 0 && ((unsigned char)ret[n] & 0xc0) == 0x80)
			n--;
		ret[n] = 0;
	}
	for (char *p = ret; *p; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			*p = ' ';
}

struct node *content_refuse(struct front *front, const struct tree_key *key,
			    const struct rye_stat *st, enum rye_code code, const char *reason)
{
	char target[256];

	content_why(code, reason, target);
	return content_make_link(front, key, target, st->mtime);
}

double content_timeout(struct front *front, enum rye_kind kind, const char *path)
{
	return rye_unwatched(front->rye, kind, path) ? 0 : TIMEOUT_LONG_S;
}

/* ---- entering ---- */

static struct node *make_file(struct front *front, const struct tree_key *key,
			      const struct rye_stat *st)
{
	struct rye_ask ask = { key->kind, st->id, RYE_VIEW_RENDERED, NULL };
	struct rye_blob *blob = NULL;
	struct rye_err err;
	struct node *node;

	if (st->verdict != RYE_OK)
		return content_refuse(front, key, st, st->verdict, st->reason);
	node = node_find(front->nodes, key, &content_file, st->version);
	if (node)
		return node;
	/* it may have changed since it was looked up: the size is that of the bytes we got */
	if (rye_view(front->rye, &ask, &blob, &err))
		return content_refuse(front, key, st, err.code, err.msg);
	return content_make(front, &(struct content_file){
					   .key = key,
					   .blob = blob,
					   .version = st->version,
					   .mtime = st->mtime,
					   .mode = 0444,
				   });
}

/* A directory that no layer has yet is as old as the mount. */
struct timespec content_mtime(const struct front *front, const struct rye_stat *st)
{
	return st->mtime.tv_sec ? st->mtime : front->started;
}

static struct node *make_dir(struct front *front, const struct tree_key *key,
			     const struct rye_stat *st)
{
	struct node_want want = {
		.key = key,
		.class = &content_dir,
		.version = st->is_item_dir ? 2 : 1,
		.mtime = content_mtime(front, st),
		.mode = S_IFDIR | 0755,
		.item = st->is_item_dir,
	};

	return node_make(front->nodes, &want);
}

int enter_merged(fuse_req_t req, const struct tree_key *key, struct fuse_entry_param *ret)
{
	struct front *front = front_of(req);
	double timeout_s = content_timeout(front, key->kind, key->text);
	struct rye_stat st;
	struct rye_err err;
	struct tree_key query;
	int r = rye_lookup(front->rye, key->kind, key->text, &st, &err);

	if (r && err.code != RYE_NOT_FOUND)
		return rye_code_errno(err.code);
	if (r == 0 && st.is_file)
		return enter_node(front, make_file(front, key, &st), timeout_s, ret);
	if (r == 0 && (st.is_dir || st.is_item_dir)) {
		r = enter_node(front, make_dir(front, key, &st), timeout_s, ret);
		ret->attr.st_mtim = content_mtime(front, &st);
		return r;
	}
	if (tree_split_query(key, &query))
		return enter_query(req, &query, ret);
	return enter_nothing(ret, timeout_s);
}

/* Why a rendering with inputs was refused, for the caller's .ryefs/errors. */
static void tell_caller(fuse_req_t req, enum rye_kind kind, const char *id,
			const struct rye_err *err)
{
	struct front *front = front_of(req);
	const struct fuse_ctx *ctx = fuse_req_ctx(req);
	struct caller *caller = caller_identify(front->callers, ctx->pid, ctx->uid);
	char name[1100];

	snprintf(name, sizeof(name), "%s:%s", rye_kind_name(kind), id);
	if (caller)
		talks_complain(front->talks, caller, name, err->msg);
	caller_unref(caller);
}

int enter_query(fuse_req_t req, const struct tree_key *key, struct fuse_entry_param *ret)
{
	struct front *front = front_of(req);
	double timeout_s = content_timeout(front, key->kind, key->text);
	struct content_file what = { .key = key, .mode = 0444 };
	struct rye_stat st;
	struct rye_ask ask = { key->kind, st.id, RYE_VIEW_RENDERED, tree_query(key) };
	struct rye_err err;
	struct node *node;

	if (rye_lookup(front->rye, key->kind, key->text, &st, &err) || !st.is_file)
		return enter_nothing(ret, timeout_s);
	if (st.verdict != RYE_OK)
		return rye_code_errno(st.verdict);
	node = node_find(front->nodes, key, &content_file, st.version);
	if (!node && rye_view(front->rye, &ask, &what.blob, &err)) {
		tell_caller(req, key->kind, st.id, &err);
		return rye_code_errno(err.code);
	}
	what.version = st.version;
	what.mtime = st.mtime;
	return enter_node(front, node ? node : content_make(front, &what), timeout_s, ret);
}
