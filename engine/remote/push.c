/* SPDX-License-Identifier: MIT */
/*
 * A push: the manifest of the project as it is now becomes what the project's name stands for on a
 * remote. What is known to be there is not sent: the manifest of the last push is kept, beside the mark of a
 * push that has not ended, after which the remote is asked. Waits for disk and network. Of two
 * pushes from two places at once the node takes one; here the second one waits for the first.
 */
#include "remote/remote_inner.h"

#include "base/io.h"
#include "memory.h"
#include "scope.h"
#include "str.h"

#include <endian.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

/* Files in .ai/state/remotes/NAME: */
#define PUSH_DOC "pushed.json" /* {manifest, number, files, bytes} */
#define PUSH_MARK "pushing" /* there while one is under way */
#define PUSH_SENT "manifest.sent" /* whose answer may not have come */
#define PUSH_LOCK "push.lock"
#define PUSH_DOC_MAX 4096

struct push {
	const struct remote *remote;
	struct conn *conn;
	const struct remote_link *link;
	int dir;
	bool force;
	struct push_head head;
	struct manifest *last; /* of the last push, if the remote's head is still that; or NULL */
	struct snapshot *snapshot;
	struct snapshot_blobs blobs;
	unsigned char *there; /* a bit for each blob */
	struct packing *packing;
	size_t blobs_new; /* that were packed */
	/* of the thread that sends packs, until packing is flushed */
	size_t packs;
	uint64_t sent; /* bytes of packs and manifest */
	int64_t number; /* afterwards */
};

static void recall_one(struct push *push, const char *name)
{
	auto_blob struct rye_blob *text = NULL;
	struct manifest *last;

	if (push->last || io_read_at(push->dir, name, MANIFEST_MAX, &text) ||
	    manifest_parse(text, &last, NULL))
		return;
	if (digest_is(&last->name, &push->head.manifest))
		push->last = last;
	else
		manifest_free(last);
}

/* The last push's, if it is what the remote has; or that of one that was cut off when it had that already. */
static void recall(struct push *push)
{
	if (!push->head.number)
		return;
	recall_one(push, PUSH_LAST);
	recall_one(push, PUSH_SENT);
}

/* On the belt that sends. */
static int send_pack(void *arg, struct rye_span pack, struct rye_err *err)
{
	struct push *push = arg;
	int r;

	if (!push->packs)
		io_replace_at(push->dir, PUSH_MARK, SPAN(""), 0600);
	r = push_bytes(push->conn, FRAME_PACK, conn_stream(push->conn), pack, err);
	push->packs++;
	push->sent += pack.len;
	return r ? r : push_answers(push->conn, 0, NULL, err);
}

static int send_manifest(struct push *push, struct rye_err *err)
{
	const struct manifest *manifest = push->snapshot->manifest;
	auto_json json_t *head = NULL, *reply = NULL;
	auto_buf struct rye_buf bytes = RYE_BUF_INIT, text = RYE_BUF_INIT;
	uint32_t stream = conn_stream(push->conn), len;
	char sha[SHA_HEX], base[SHA_HEX];
	int r;

	digest_hex(&manifest->name, sha);
	head = json_pack("{s:s, s:I, s:s}", "project", push->remote->project, "expected",
			 (json_int_t)push->head.number, "sha", sha);
	if (push->last) {
		digest_hex(&push->last->name, base);
		json_sets(head, "base", base);
	}
	json_put(&text, head, false);
	len = htobe32((uint32_t)text.len);
	buf_add(&bytes, (const char *)&len, sizeof(len));
	buf_addspan(&bytes, buf_span(&text));
	r = manifest_shrink(push->last ? push->last->text : NULL, manifest->text, &bytes, err);
	if (!r && (bytes.failed || text.failed))
		r = memory_fail(err);
	if (!r && (!push->last || !digest_is(&push->last->name, &manifest->name)))
		io_remember_at(push->dir, PUSH_SENT,
			       (struct rye_span){ manifest->text->data, manifest->text->len },
			       0600);
	if (!r)
		r = push_bytes(push->conn, FRAME_MANIFEST, stream, buf_span(&bytes), err);
	if (!r)
		r = push_answers(push->conn, stream, &reply, err);
	push->sent += bytes.len;
	push->number = json_int(reply, "number", 0);
	return r;
}

/* For the next push. What cannot be kept is asked for then. */
static void remember(struct push *push)
{
	const struct manifest *manifest = push->snapshot->manifest;
	char sha[SHA_HEX];
	auto_json json_t *doc = NULL;
	auto_blob struct rye_blob *text = NULL;

	digest_hex(&manifest->name, sha);
	doc = json_pack("{s:s, s:I, s:I, s:I}", "manifest", sha, "number", (json_int_t)push->number,
			"files", (json_int_t)manifest->n, "bytes",
			(json_int_t)push->snapshot->bytes);
	text = json_blob(doc, true);
	if (!push->last || !digest_is(&push->last->name, &manifest->name))
		io_remember_at(push->dir, PUSH_LAST,
			       (struct rye_span){ manifest->text->data, manifest->text->len },
			       0600);
	if (text)
		io_remember_at(push->dir, PUSH_DOC, (struct rye_span){ text->data, text->len },
			       0600);
	unlinkat(push->dir, PUSH_MARK, 0);
}

/* Has this project been pushed from here before, and the remote moved on since? */
static int check_head(const struct push *push, struct rye_err *err)
{
	if (!push->head.number || push->last || push->force)
		return 0;
	return rye_fail(err, RYE_STALE,
			"%s on %s was pushed by %s from elsewhere, another directory or name of "
			"it (number %lld)\n" MEND_WITH "ryefs remote push --force %s",
			push->remote->project, push->remote->name, push->head.by,
			(long long)push->head.number, push->remote->name);
}

static int pack_begin(struct push *push, const struct manifest *base, struct rye_err *err)
{
	push->packing = memory_note(packing_new(base, send_pack, push));
	return push->packing ? 0 : memory_fail(err);
}

static void pack_done(struct push *push)
{
	push->blobs_new += push->packing ? packing_count(push->packing) : 0;
	packing_free(steal(&push->packing));
}

/* Is it not known which blobs are there? */
static bool asks(const struct push *push)
{
	return push->head.holes || faccessat(push->dir, PUSH_MARK, F_OK, 0) == 0 ||
	       (push->head.number && !push->last);
}

/* What has not been packed while files were read. base: whose blobs are there. */
static int send_rest(struct push *push, const struct manifest *base, bool ask, struct rye_err *err)
{
	int r;

	snapshot_blobs_done(&push->blobs);
	r = snapshot_blobs(push->snapshot, base, &push->blobs, err);
	if (r)
		return r;
	free(push->there);
	push->there = memory_note(calloc(1, push->blobs.n / 8 + 1));
	if (!push->there)
		return memory_fail(err);
	if (ask || push->blobs.pieces) {
		/* one thread hears answers */
		r = packing_flush(push->packing, err);
		if (!r)
			r = push_asked(push->conn, &push->blobs, push->there, err);
	}
	if (!r)
		r = snapshot_pack(push->snapshot, &push->blobs, push->there, push->packing, err);
	return r ? r : send_manifest(push, err);
}

/* Every blob is asked for, whatever is known. */
static int send_all(struct push *push, struct rye_err *err)
{
	int r;

	pack_done(push);
	r = pack_begin(push, NULL, err);
	return r ? r : send_rest(push, NULL, true, err);
}

static int push_differences(struct push *push, bool ask, struct rye_err *err)
{
	int r;

	if (push->head.number && !push->head.holes &&
	    digest_is(&push->head.manifest, &push->snapshot->manifest->name)) {
		push->number = push->head.number;
		return 0;
	}
	r = check_head(push, err);
	if (!r && !push->packing)
		r = pack_begin(push, NULL, err);
	if (!r)
		r = send_rest(push, push->head.holes ? NULL : push->last, ask, err);
	/* something that was thought to be there is not */
	if (r == -RYE_NOT_FOUND || r == -RYE_IO)
		r = send_all(push, err);
	pack_done(push);
	return r;
}

int remote_pushed(const struct item_env *env, const char *name, json_t **ret, struct rye_err *err)
{
	auto_close int dir = remote_state_dir(env, name, false);
	auto_blob struct rye_blob *text = NULL;

	if (dir < 0 || io_read_at(dir, PUSH_DOC, PUSH_DOC_MAX, &text) < 0)
		return rye_fail(err, RYE_NOT_FOUND,
				"%s: nothing was pushed\n" MEND_WITH "ryefs remote push %s", name,
				name);
	*ret = json_parse((struct rye_span){ text->data, text->len }, 0, PUSH_DOC, err);
	return *ret ? 0 : -(int)err->code;
}

static json_t *push_doc(const struct push *push)
{
	char sha[SHA_HEX];

	digest_hex(&push->snapshot->manifest->name, sha);
	return json_pack("{s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:O}", "remote",
			 push->remote->name, "project", push->remote->project, "manifest", sha,
			 "number", (json_int_t)push->number, "files",
			 (json_int_t)push->snapshot->manifest->n, "bytes",
			 (json_int_t)push->snapshot->bytes, "hashed",
			 (json_int_t)push->snapshot->hashed, "new_blobs",
			 (json_int_t)push->blobs_new, "packs", (json_int_t)push->packs, "sent",
			 (json_int_t)push->sent, "refused", push->snapshot->refused);
}

static void push_done(struct push *push)
{
	packing_free(push->packing);
	manifest_free(push->last);
	snapshot_blobs_done(&push->blobs);
	snapshot_free(push->snapshot);
	free(push->there);
	if (push->dir >= 0)
		close(push->dir);
}

/*
 * What was told with the greeting counts where it is what the last push from here has left: another one, which this
 * has waited for, may have pushed since.
 */
static int heads_recall(struct push *push, struct rye_err *err)
{
	int r;

	if (push->link->heads && !push_heads_read(push->link->heads, &push->head, NULL))
		recall(push);
	if (push->last)
		return 0;
	r = push_heads(push->conn, push->remote->project, &push->head, err);
	if (!r)
		recall(push);
	return r;
}

static int push_run(struct push *push, const struct item_env *env, struct rye_err *err)
{
	struct snapshot_ask what = { .project = env->spaces->v[0].root,
				     .rules = push->remote->push,
				     .cache_dir = push->dir,
				     .cache = PUSH_STAT };
	int r = heads_recall(push, err);
	bool ask;

	if (r)
		return r;
	ask = asks(push);
	/* else what is read is what is missing there, and is sent while more is read */
	if (!ask)
		r = pack_begin(push, push->last, err);
	what.packing = push->packing;
	if (!r)
		r = snapshot_make(&what, &push->snapshot, err);
	if (!r)
		r = push_differences(push, ask, err);
	if (!r)
		remember(push);
	return r;
}

int remote_push(const struct item_env *env, const struct remote *remote,
		const struct remote_link *link, bool force, json_t **ret, struct rye_err *err)
{
	struct push push = { .remote = remote, .conn = link->conn, .link = link, .force = force };
	auto_close int lock = -1;
	struct rye_err own = { 0 };
	int r;

	err = err ? err : &own;
	push.dir = remote_state_dir(env, remote->name, true);
	if (push.dir < 0)
		return rye_fail_sys(err, -push.dir, ".ai/state/remotes/%s", remote->name);
	lock = openat(push.dir, PUSH_LOCK, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	/* without one the node would take one of two, too, and the other would be told */
	if (lock >= 0)
		flock(lock, LOCK_EX);
	r = push_run(&push, env, err);
	if (!r) {
		*ret = push_doc(&push);
		r = *ret ? 0 : memory_fail(err);
	} else {
		r = rye_wrap(err, "%s", remote->name);
	}
	push_done(&push);
	return r == -(int)RYE_BUDGET ? remote_full(env, remote, err) : r;
}
