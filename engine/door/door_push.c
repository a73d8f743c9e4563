/* SPDX-License-Identifier: MIT */
/*
 * A push as the node sees it: HEADS tells what a project's name stands for, PACK brings blobs, ASK tells
 * which are here, MANIFEST moves the name on. Bytes that are longer than a frame come in several frames of
 * one stream; one that is not full ends them. The door's thread alone; a principal sees its own.
 */
#include "door/door_inner.h"

#include "board/board.h"
#include "memory.h"
#include "pack/pack.h"
#include "snapshot/snapshot.h"
#include "str.h"

#include <endian.h>

/* Of a project. */
#define PUSH_NAME_MAX 200
/* What stands before a manifest. */
#define PUSH_HEAD_MAX 4096

struct door_push {
	struct depot *depot;
	struct board *board; /* the session's */
	int64_t bytes; /* of packs, since the last manifest */
};

void door_push_free(struct door_push *push)
{
	if (!push)
		return;
	depot_close(push->depot);
	free(push);
}

/* Opened by the first frame that needs it. */
static int push_open(struct door_session *session, struct door_push **ret, struct rye_err *err)
{
	struct door_push *push = session->push;
	int r;

	if (!push)
		push = session->push = memory_note(calloc(1, sizeof(*push)));
	if (!push)
		return memory_fail(err);
	r = session_board(session, err);
	push->board = session->board;
	if (!r && !push->depot)
		r = node_depot(session->node, &push->depot, err);
	*ret = push;
	return r;
}

int session_depot(struct door_session *session, struct depot **ret, struct rye_err *err)
{
	struct door_push *push = NULL;
	int r = push_open(session, &push, err);

	*ret = r ? NULL : push->depot;
	return r;
}

static int push_project(const json_t *doc, const char **ret, struct rye_err *err)
{
	*ret = json_str(doc, "project");
	if (!**ret || strlen(*ret) > PUSH_NAME_MAX || manifest_path_check(*ret, NULL))
		return rye_fail(err, RYE_INVALID, "project: wanted is a name of at most %d letters",
				PUSH_NAME_MAX);
	return 0;
}

static json_t *head_doc(const struct board_head *head)
{
	json_t *doc = json_pack("{s:I, s:I, s:s}", "number", (json_int_t)head->number, "at",
				(json_int_t)head->at, "by", head->by);

	json_sets(doc, "manifest", head->number ? head->manifest : NULL);
	return doc;
}

/* What was lost may be of another project, or of an older manifest of this one. */
static bool head_is_whole(struct door_push *push, const char *fp, const struct board_head *head)
{
	auto_manifest struct manifest *manifest = NULL;
	struct digest name;

	return digest_parse(span_of(head->manifest), &name) &&
	       !depot_manifest(push->depot, fp, &name, &manifest, NULL) &&
	       !depot_whole(push->depot, fp, manifest, NULL, NULL);
}

int door_heads(struct door_session *session, const struct conn_frame *frame, struct rye_err *err)
{
	auto_json json_t *doc = frame_json(frame, err), *reply = NULL;
	struct board_head head;
	struct depot_used used;
	struct door_push *push;
	const char *project;
	int r;

	if (!doc)
		return -(int)err->code;
	r = push_project(doc, &project, err);
	if (!r)
		r = push_open(session, &push, err);
	if (!r)
		r = board_head(push->board, session->who.key.fp, project, &head, err);
	if (!r)
		r = depot_used(push->depot, session->who.key.fp, &used, err);
	if (r)
		return r;
	if (used.holes && (!head.number || head_is_whole(push, session->who.key.fp, &head)))
		used.holes = 0;
	reply = head_doc(&head);
	json_set(reply, "holes", json_integer((json_int_t)used.holes));
	json_set(reply, "used", json_integer((json_int_t)used.bytes));
	json_set(reply, "limit", json_integer((json_int_t)session->who.bytes));
	return session_reply(session, frame->stream, reply, err);
}

static void gathered_free(void *own)
{
	buf_done(own);
	free(own);
}

/* 1: *ret is all of it, and the caller's; 0: more is to come. */
static int push_gather(struct door_session *session, const struct conn_frame *frame, size_t most,
		       struct rye_buf *ret, struct rye_err *err)
{
	struct rye_buf *kept = session_find(session, frame->stream);
	bool last = frame->body->len < FRAME_MAX;
	int r;

	if (!kept && !last) {
		kept = memory_note(calloc(1, sizeof(*kept)));
		if (!kept)
			return memory_fail(err);
		kept->cap = most;
		r = session_keep(session, frame->stream, kept, gathered_free, err);
		if (r) {
			free(kept);
			return r;
		}
	}
	buf_addspan(kept ? kept : ret, frame_span(frame));
	if (kept && kept->failed) {
		session_drop(session, frame->stream);
		return rye_fail(err, RYE_TOO_BIG, "more than %zu bytes on one stream", most);
	}
	if (!last)
		return 0;
	if (kept) {
		*ret = *kept;
		*kept = RYE_BUF_INIT;
		session_drop(session, frame->stream);
	}
	return ret->failed ? memory_fail(err) : 1;
}

int door_pack(struct door_session *session, const struct conn_frame *frame, struct rye_err *err)
{
	auto_buf struct rye_buf pack = RYE_BUF_INIT;
	auto_json json_t *reply = json_object();
	struct door_push *push;
	int r = push_open(session, &push, err);

	if (r)
		return r;
	r = push_gather(session, frame, PACK_MAX, &pack, err);
	if (r <= 0)
		return r;
	push->bytes += (int64_t)pack.len;
	if (push->bytes > session->who.push)
		return rye_fail(err, RYE_TOO_BIG, "one push of yours may have %.0f MB",
				(double)session->who.push / 1e6);
	r = depot_take(push->depot, session->who.key.fp, buf_span(&pack), session->who.bytes, err);
	return r ? r : session_reply(session, frame->stream, reply, err);
}

int door_ask(struct door_session *session, const struct conn_frame *frame, struct rye_err *err)
{
	size_t n = frame->body->len / sizeof(struct digest);
	auto_free struct digest *v = memory_note(malloc(frame->body->len + 1));
	auto_free unsigned char *bits = memory_note(calloc(1, n / 8 + 1));
	auto_json json_t *reply = json_object();
	struct door_push *push;
	int r;

	if (!v || !bits)
		return memory_fail(err);
	if (frame->body->len % sizeof(*v))
		return rye_fail(err, RYE_INVALID, "wanted are digests of %d bytes", SHA_LEN);
	memcpy(v, frame->body->data, frame->body->len);
	r = push_open(session, &push, err);
	if (!r)
		r = depot_has(push->depot, session->who.key.fp, v, n, bits, err);
	if (!r)
		r = session_data(session, frame->stream,
				 (struct rye_span){ (char *)bits, (n + 7) / 8 }, err);
	return r ? r : session_reply(session, frame->stream, reply, err);
}

/* ---- manifests ---- */

struct arriving {
	const char *project, *fp;
	json_int_t expected;
	struct digest sha;
	struct manifest *base, *manifest;
};

static int read_head(struct rye_span *bytes, json_t **ret, struct rye_err *err)
{
	uint32_t len = 0;

	if (bytes->len >= sizeof(len))
		memcpy(&len, bytes->ptr, sizeof(len));
	len = be32toh(len);
	if (bytes->len < sizeof(len) || len > PUSH_HEAD_MAX || len > bytes->len - sizeof(len))
		return rye_fail(err, RYE_INVALID, "wanted is a length, JSON and a manifest");
	*ret = json_parse((struct rye_span){ bytes->ptr + sizeof(len), len }, 0, "its head", err);
	*bytes = span_skip(*bytes, sizeof(len) + len);
	return *ret ? 0 : -(int)err->code;
}

static int read_base(struct door_push *push, const json_t *head, struct arriving *to,
		     struct rye_err *err)
{
	const char *base = json_str(head, "base");
	struct digest name;

	if (!*base)
		return 0;
	if (!digest_parse(span_of(base), &name))
		return rye_fail(err, RYE_INVALID, "base: wanted is a digest");
	return depot_manifest(push->depot, to->fp, &name, &to->base, err);
}

static int read_manifest(struct door_push *push, struct rye_span bytes, const json_t *head,
			 struct arriving *to, struct rye_err *err)
{
	auto_blob struct rye_blob *text = NULL;
	int r = push_project(head, &to->project, err);

	to->expected = json_int(head, "expected", 0);
	if (!r && !digest_parse(span_of(json_str(head, "sha")), &to->sha))
		r = rye_fail(err, RYE_INVALID, "sha: wanted is a digest");
	if (!r)
		r = read_base(push, head, to, err);
	if (!r)
		r = manifest_grow(to->base ? to->base->text : NULL, bytes, &text, err);
	if (!r)
		r = manifest_parse(text, &to->manifest, err);
	if (r)
		return r;
	if (!digest_is(&to->manifest->name, &to->sha))
		return rye_fail(err, RYE_INVALID, "it is not the one that its head names");
	for (size_t i = 0; i < to->manifest->n; i++) {
		const char *why = sent_never(to->manifest->v[i].path);

		if (why)
			return rye_fail(err, RYE_DENIED, "'%s': %s", to->manifest->v[i].path, why);
	}
	return 0;
}

static int has_moved(const struct arriving *to, const struct board_head *head, struct rye_err *err)
{
	return rye_fail(err, RYE_STALE,
			"%s is at number %lld here, pushed by %s; you had number %lld", to->project,
			(long long)head->number, head->by, (long long)to->expected);
}

static int move_on(struct door_push *push, struct arriving *to, struct board_head *ret,
		   struct rye_err *err)
{
	char sha[SHA_HEX], base[SHA_HEX] = "";
	const struct board_advance advance = { to->fp, to->project, sha, to->expected };
	int r = board_head(push->board, to->fp, to->project, ret, err);

	if (r)
		return r;
	if (ret->number != to->expected)
		return has_moved(to, ret, err);
	digest_hex(&to->manifest->name, sha);
	if (to->base)
		digest_hex(&to->base->name, base);
	/* of what the name stands for all is here; of another manifest it may have gone */
	r = depot_keep(push->depot, to->fp, to->manifest,
		       ret->number && !strcmp(base, ret->manifest) ? to->base : NULL, err);
	if (!r)
		r = board_advance(push->board, &advance, ret, err);
	return r == -RYE_STATE ? has_moved(to, ret, err) : r;
}

int door_manifest(struct door_session *session, const struct conn_frame *frame, struct rye_err *err)
{
	auto_buf struct rye_buf bytes = RYE_BUF_INIT;
	auto_json json_t *head = NULL, *reply = NULL;
	struct arriving to = { .fp = session->who.key.fp };
	struct board_head is;
	struct door_push *push;
	struct rye_span rest;
	int r = push_open(session, &push, err);

	if (r)
		return r;
	r = push_gather(session, frame, MANIFEST_MAX, &bytes, err);
	if (r <= 0)
		return r;
	rest = buf_span(&bytes);
	r = read_head(&rest, &head, err);
	if (!r)
		r = read_manifest(push, rest, head, &to, err);
	if (!r)
		r = move_on(push, &to, &is, err);
	manifest_free(to.base);
	manifest_free(to.manifest);
	if (r)
		return r;
	push->bytes = 0;
	reply = head_doc(&is);
	return session_reply(session, frame->stream, reply, err);
}
