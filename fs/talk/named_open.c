/* SPDX-License-Identifier: MIT */
/*
 * named_open.c - the nodes of what lies in calls/NAME/ and replies/NAME/: drafts, request.json, the
 * reply's two texts.
 *
 * A draft is one node for as long as it is one file, whatever its names are. Each LOOKUP of
 * request.json makes a node of its own, with the bytes of what was run last: it is one open, and
 * what is written to it is the next message. The kernel is told that nothing here may be
 * remembered, so each use of a name is checked for its caller.
 *
 * No lock. FUSE threads; `drop` may run on the one that forgets the node.
 */
#include "talk/named.h"

#include "core/enter.h"
#include "core/reply.h"
#include "scope.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

int named_may(fuse_req_t req, const struct named_call *call, bool now, struct caller **ret_who)
{
	struct front *front = front_of(req);
	const struct fuse_ctx *ctx = fuse_req_ctx(req);
	const struct talk_target *target = &call->target;
	struct caller_target wanted = { target->verb, target->kind, target->id, false };
	struct caller *who = now ? caller_examine(front->callers, ctx->pid, ctx->uid) :
				   caller_identify(front->callers, ctx->pid, ctx->uid);
	char why[CALLER_WHY];
	int sys = ENOMEM;

	if (who)
		sys = caller_may(front->callers, who, &wanted, why) ? 0 :
		      who->unseen				    ? EAGAIN :
								      EACCES;
	if (sys == EACCES && now && who->allowed)
		talks_complain(front->talks, who, call->key, why);
	if (!sys && ret_who)
		*ret_who = who;
	else
		caller_unref(who);
	return sys;
}

/* ---- attributes ---- */

static void open_stat(fuse_req_t req, struct node *node, struct stat *st)
{
	node_stat(front_of(req), node, st);
	named_file_stat(node->data, st);
}

static void open_getattr(fuse_req_t req, struct node *node, bool by_handle)
{
	struct stat st;

	open_stat(req, node, &st);
	reply_attr(req, &st, 0);
}

static void open_setattr(fuse_req_t req, struct node *node, const struct stat *want, int which)
{
	struct named_file *file = node->data;
	int sys = named_may(req, file->call, false, NULL);
	struct stat st;

	if (!sys && which & FUSE_SET_ATTR_SIZE)
		sys = want->st_size < 0 ? EINVAL : named_file_resize(file, (size_t)want->st_size);
	if (sys) {
		reply_errno(req, sys);
		return;
	}
	named_file_touch(file, want, which);
	open_stat(req, node, &st);
	reply_attr(req, &st, 0);
}

/* ---- bytes ---- */

static void open_read(fuse_req_t req, struct node *node, size_t size, off_t off)
{
	auto_free char *data = malloc(MAX_OF(size, (size_t)1));

	if (!data)
		reply_errno(req, ENOMEM);
	else
		reply_bytes(req, data,
			    named_file_read(node->data, (size_t)MAX_OF(off, 0), data, size));
}

/* 0, and where it writes, or an errno: pages of a mapping come without their writer and in no order. */
static int open_place(struct named_file *file, const struct node_write *write, size_t *ret_off)
{
	struct stat st;

	if (write->page || write->off < 0)
		return EINVAL;
	*ret_off = (size_t)write->off;
	if (write->flags & O_APPEND) {
		named_file_stat(file, &st);
		*ret_off = (size_t)st.st_size;
	}
	return 0;
}

static void draft_write(fuse_req_t req, struct node *node, const struct node_write *write)
{
	struct named_file *file = node->data;
	size_t off;
	int sys = open_place(file, write, &off);

	if (!sys)
		sys = named_may(req, file->call, false, NULL);
	if (!sys)
		sys = named_file_write(file, off, write->bytes);
	if (sys)
		reply_errno(req, sys);
	else
		reply_written(req, write->bytes.len);
}

/* A message that the write completes is run, and its end is the answer. What is missing of one is
 * told by a look for the reply, should the rest never come. */
static void request_say(fuse_req_t req, struct named_file *file, struct named_wrote *wrote,
			size_t count, struct caller *writer)
{
	struct named_commit *commit = NULL;

	if (wrote->complete) {
		commit = named_commit_new(file, NAMED_WRITE, "", count);
		wrote->sys = commit ? 0 : ENOMEM;
	}
	if (commit) {
		named_run(req, commit, wrote, writer);
		return;
	}
	if (wrote->sys) {
		named_fail(req, file->call, wrote, writer);
	} else {
		if (wrote->more)
			named_replace(file->call, wrote->newest, wrote->request);
		if (wrote->waits) {
			named_file_await(file, writer);
			named_put(file->call, NAMED_UNFINISHED, file);
		}
		reply_written(req, count);
	}
	rye_blob_unref(wrote->request);
}

static void request_write(fuse_req_t req, struct node *node, const struct node_write *write)
{
	struct named_file *file = node->data;
	struct caller *writer = NULL;
	struct named_wrote wrote;
	size_t off;
	int sys = open_place(file, write, &off);

	if (!sys)
		sys = named_may(req, file->call, true, &writer);
	if (sys) {
		reply_errno(req, sys);
		return;
	}
	named_file_say(file, off, write->bytes, &wrote);
	request_say(req, file, &wrote, write->bytes.len, writer);
	caller_unref(writer);
}

void named_settle(struct named_file *file, int64_t pause_ns)
{
	char why[FEED_WHY];
	struct caller *writer = named_file_unfinished(file, pause_ns, why);

	if (writer)
		named_tell(file->call->named->env.talks, file->call, writer, why);
	caller_unref(writer);
}

static void draft_drop(void *data)
{
	named_file_unref(data);
}

static void request_drop(void *data)
{
	named_settle(data, 0);
	named_file_unref(data);
}

static struct aside_lane open_lane(struct front *front, const struct node *node,
				   struct rye_span what)
{
	const struct named_file *file = node->data;

	return named_lane(file->call);
}

/* A draft, and request.json: they differ in what a write to them means. */
static const struct node_class draft_aside = {
	.lane = open_lane,
	.getattr = open_getattr,
	.setattr = open_setattr,
	.write = draft_write,
	.changes = &named_changes,
};
static const struct node_class request_aside = {
	.lane = open_lane,
	.getattr = open_getattr,
	.setattr = open_setattr,
	.write = request_write,
	.changes = &named_changes,
};

static const struct node_class draft_class = {
	.name = "named",
	.aside = &draft_aside,
	.read = open_read,
	.drop = draft_drop,
};
static const struct node_class request_class = {
	.name = "named",
	.aside = &request_aside,
	.read = open_read,
	.drop = request_drop,
};

struct named_file *named_file_of(const struct node *node)
{
	return node->class == &draft_class || node->class == &request_class ? node->data : NULL;
}

/* ---- entering ---- */

/* "tool:a/b", "NAME what": a key that the grammar of names never makes. */
static void named_key(const struct named_call *call, const char *what, struct tree_key *ret)
{
	size_t key = strlen(call->key);

	*ret = (struct tree_key){ .sort = TREE_CALL, .kind = (uint8_t)call->target.kind };
	memcpy(ret->text, call->key, key);
	ret->path_len = (uint16_t)key;
	ret->text_len = (uint16_t)(key + 1);
	ret->text_len += (uint16_t)snprintf(ret->text + key + 1, sizeof(ret->text) - key - 1,
					    "%s %s", call->name, what);
}

int named_open_enter(fuse_req_t req, struct named_file *file, bool request,
		     struct fuse_entry_param *ret)
{
	struct front *front = front_of(req);
	struct tree_key key;
	struct node_want want = {
		.key = &key,
		.class = request ? &request_class : &draft_class,
		.data = named_file_ref(file),
		.version = file->number,
		.mode = S_IFREG | 0600,
		.fresh = request,
	};
	char name[32] = NAMED_REQUEST;

	if (!request)
		snprintf(name, sizeof(name), "%llu", (unsigned long long)file->number);
	named_key(file->call, name, &key);
	if (enter_node(front, node_make(front->nodes, &want), 0, ret))
		return ENOMEM;
	named_file_stat(file, &ret->attr);
	ret->attr_timeout = 0;
	return 0;
}

static void text_read(fuse_req_t req, struct node *node, size_t size, off_t off)
{
	auto_blob struct rye_blob *blob = rye_blob_ref(node->data);

	reply_blob(req, blob, off, size);
}

static void text_drop(void *data)
{
	rye_blob_unref(data);
}

int named_text_enter(fuse_req_t req, struct named_call *call, enum named_what what,
		     struct fuse_entry_param *ret)
{
	static const struct node_class text_class = {
		.name = "named-text",
		.read = text_read,
		.drop = text_drop,
	};
	struct front *front = front_of(req);
	struct tree_key key;
	struct node_want want = {
		.key = &key,
		.class = &text_class,
		.version = 1,
		.mode = S_IFREG | 0400,
		.fresh = true,
	};
	struct rye_blob *blob = named_text(call, what, &want.mtime);

	*ret = (struct fuse_entry_param){ 0 };
	if (!blob)
		return 0;
	named_key(call, what == NAMED_IS_REPLY ? "reply.json" : "output", &key);
	want.data = blob;
	want.size = blob->len;
	return enter_node(front, node_make(front->nodes, &want), 0, ret);
}

void named_reply_link(fuse_req_t req, struct named_call *call)
{
	struct named_file *file = named_request(call);
	struct fuse_entry_param entry = { 0 };
	int sys = file ? named_open_enter(req, file, true, &entry) : ENOMEM;

	named_file_unref(file);
	enter_reply(req, sys, &entry, NULL);
}
