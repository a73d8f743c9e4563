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
#include "talk/talk_inner.h"

#include "core/enter.h"
#include "core/reply.h"
#include "scope.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

int named_may(fuse_req_t req, const struct named_place *place, bool now, struct caller **ret_who)
{
	struct front *front = front_of(req);
	const struct fuse_ctx *ctx = fuse_req_ctx(req);
	const struct talk_target *target = &place->target;
	struct caller_target wanted = { target->verb, target->kind, target->id };
	struct caller *who = now ? caller_examine(front->callers, ctx->pid, ctx->uid) :
				   caller_identify(front->callers, ctx->pid, ctx->uid);
	char why[CALLER_WHY];
	int sys = ENOMEM;

	if (who)
		sys = caller_may(front->callers, who, &wanted, why) ? 0 :
		      who->unseen				    ? EAGAIN :
								      EACCES;
	if (sys == EACCES && now && who->allowed)
		talks_complain(front->talks, who, place->key, why);
	if (!sys && ret_who)
		*ret_who = who;
	else
		caller_unref(who);
	return sys;
}

/* ---- attributes ---- */

static void open_stat(fuse_req_t req, struct node *node, struct stat *st)
{
	const struct named_open *open = node->data;

	node_stat(front_of(req), node, st);
	named_file_stat(open->file, st);
}

static void open_getattr(fuse_req_t req, struct node *node, bool by_handle)
{
	struct stat st;

	open_stat(req, node, &st);
	reply_attr(req, &st, 0);
}

static void open_setattr(fuse_req_t req, struct node *node, const struct stat *want, int which)
{
	const struct named_open *open = node->data;
	int sys = named_may(req, open->place, false, NULL);
	struct stat st;

	if (!sys && which & FUSE_SET_ATTR_SIZE)
		sys = want->st_size < 0 ? EINVAL :
					  named_file_resize(open->file, (size_t)want->st_size);
	if (sys) {
		reply_errno(req, sys);
		return;
	}
	named_file_touch(open->file, want, which);
	open_stat(req, node, &st);
	reply_attr(req, &st, 0);
}

/* ---- bytes ---- */

static void open_read(fuse_req_t req, struct node *node, size_t size, off_t off)
{
	const struct named_open *open = node->data;
	auto_free char *data = malloc(MAX_OF(size, (size_t)1));

	if (!data)
		reply_errno(req, ENOMEM);
	else
		reply_bytes(req, data,
			    named_file_read(open->file, (size_t)MAX_OF(off, 0), data, size));
}

/* Should the rest never come, a look for the reply finds what is missing. */
static void await_more(const struct named_open *open, struct caller *writer)
{
	named_file_await(open->file, writer);
	named_put(open->place, NAMED_UNFINISHED, open->file);
}

/* The request is answered when the message that it may have completed was run. */
static void request_write(fuse_req_t req, const struct named_open *open, size_t off,
			  struct rye_span bytes)
{
	struct named_commit *commit = NULL;
	struct caller *writer = NULL;
	struct named_wrote wrote;
	int sys = named_may(req, open->place, true, &writer);

	if (sys) {
		reply_errno(req, sys);
		return;
	}
	named_file_say(open->file, off, bytes, &wrote);
	if (wrote.complete)
		commit = named_commit_new(open->place, open->file, NAMED_WRITE, "");
	if (wrote.complete && !commit)
		wrote.sys = ENOMEM;
	if (commit) {
		commit->count = bytes.len;
		named_run(req, commit, &wrote, writer);
	} else if (wrote.sys) {
		named_fail(req, open->place, &wrote, writer);
	} else {
		if (wrote.more)
			named_replace(open->place, named_file_call(open->file), wrote.request);
		else if (wrote.waits)
			await_more(open, writer);
		reply_written(req, bytes.len);
	}
	if (!commit)
		rye_blob_unref(wrote.request);
	caller_unref(writer);
}

static void draft_write(fuse_req_t req, const struct named_open *open, size_t off,
			struct rye_span bytes)
{
	int sys = named_may(req, open->place, false, NULL);

	if (!sys)
		sys = named_file_write(open->file, off, bytes);
	if (sys)
		reply_errno(req, sys);
	else
		reply_written(req, bytes.len);
}

static void open_write(fuse_req_t req, struct node *node, const struct node_write *write)
{
	const struct named_open *open = node->data;
	size_t off = (size_t)write->off;
	struct stat st;

	/* pages of a mapping come without their writer and in no order */
	if (write->page || write->off < 0) {
		reply_errno(req, EINVAL);
		return;
	}
	if (write->flags & O_APPEND) {
		named_file_stat(open->file, &st);
		off = (size_t)st.st_size;
	}
	if (open->request)
		request_write(req, open, off, write->bytes);
	else
		draft_write(req, open, off, write->bytes);
}

void named_settle(const struct named_place *place, struct named_file *file, int64_t pause_ns)
{
	char why[FEED_WHY];
	struct caller *writer = named_file_unfinished(file, pause_ns, why);

	if (writer && named_newest(place) == named_file_call(file))
		named_tell(place->named->env.talks, place, writer, why);
	caller_unref(writer);
}

static void open_drop(void *data)
{
	struct named_open *open = data;

	if (open->request)
		named_settle(open->place, open->file, 0);
	named_file_unref(open->file);
	named_place_unref(open->place);
	free(open);
}

static struct aside_lane open_lane(struct front *front, const struct node *node,
				   struct rye_span what)
{
	const struct named_open *open = node->data;

	return named_lane(open->place);
}

static const struct node_class open_aside = {
	.lane = open_lane,
	.getattr = open_getattr,
	.setattr = open_setattr,
	.write = open_write,
	.changes = &named_changes,
};

static const struct node_class open_class = {
	.name = "named",
	.aside = &open_aside,
	.read = open_read,
	.drop = open_drop,
};

/* ---- entering ---- */

/* "tool:a/b", "NAME what": a key that the grammar of names never makes. */
static void named_key(const struct named_place *place, const char *what, struct tree_key *ret)
{
	size_t key = strlen(place->key);

	*ret = (struct tree_key){ .sort = TREE_CALL, .kind = (uint8_t)place->target.kind };
	memcpy(ret->text, place->key, key);
	ret->path_len = (uint16_t)key;
	ret->text_len = (uint16_t)(key + 1);
	ret->text_len += (uint16_t)snprintf(ret->text + key + 1, sizeof(ret->text) - key - 1,
					    "%s %s", place->name, what);
}

int named_open_enter(fuse_req_t req, const struct named_open *what, struct fuse_entry_param *ret)
{
	struct front *front = front_of(req);
	struct named_open *open = calloc(1, sizeof(*open));
	struct named_file *file = what->file;
	struct tree_key key;
	struct node_want want = { .key = &key, .class = &open_class, .data = open };
	struct node *node;
	char name[32] = NAMED_REQUEST;

	if (!open)
		return ENOMEM;
	*open = *what;
	open->place = named_place_ref(what->place);
	open->file = named_file_ref(file);
	if (!what->request)
		snprintf(name, sizeof(name), "%llu", (unsigned long long)file->number);
	named_key(what->place, name, &key);
	want.version = file->number;
	want.mode = S_IFREG | 0600;
	want.fresh = what->request;
	node = node_make(front->nodes, &want);
	if (!node)
		return ENOMEM;
	node_entry(front, node, 0, ret);
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

int named_text_enter(fuse_req_t req, const struct named_place *place, enum named_what what,
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
	struct rye_blob *blob = named_text(place, what, &want.mtime);
	struct node *node;

	*ret = (struct fuse_entry_param){ 0 };
	if (!blob)
		return 0;
	named_key(place, what == NAMED_IS_REPLY ? "reply.json" : "output", &key);
	want.data = blob;
	want.size = blob->len;
	node = node_make(front->nodes, &want);
	if (!node)
		return ENOMEM;
	node_entry(front, node, 0, ret);
	return 0;
}

struct named_file *named_request(const struct named_place *place)
{
	struct timespec at;
	auto_blob struct rye_blob *blob = named_text(place, NAMED_IS_REQUEST, &at);
	struct named_file *file;

	if (!blob)
		return NULL;
	file = named_file_new(place->named, (struct rye_span){ blob->data, blob->len }, 0600);
	if (file)
		named_file_since(file, named_newest(place), at);
	return file;
}

void named_reply_link(fuse_req_t req, struct named_place *place)
{
	struct named_file *file = named_request(place);
	struct named_open open = { place, file, true };
	struct fuse_entry_param entry = { 0 };
	int sys = file ? named_open_enter(req, &open, &entry) : ENOMEM;

	named_file_unref(file);
	enter_reply(req, sys, &entry, NULL);
}
