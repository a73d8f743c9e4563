/* SPDX-License-Identifier: MIT */
/*
 * content_ctl.c - what lies in an item's own directory, and the primitives in the root.
 *
 * Owns the nodes of conversations (each lookup a fresh one, bound to its caller), of derived
 * files (a version per content), of the caller's last output, of `source`. What a conversation
 * does is talk.c's. No lock.
 */
#include "views/views_inner.h"

#include "caller/caller.h"
#include "core/ctl.h"
#include "core/enter.h"
#include "core/notify.h"
#include "core/reply.h"
#include "scope.h"
#include "talk/talk.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <string.h>

/* ---- conversations ---- */

static void run_stat(fuse_req_t req, struct node *node, struct stat *st)
{
	node_stat(front_of(req), node, st);
	talk_stat(node->data, st);
}

static void run_getattr(fuse_req_t req, struct node *node, bool by_handle)
{
	struct stat st;

	run_stat(req, node, &st);
	talk_getattr(node->data, req, by_handle, &st);
}

/* touch, chmod, `: > run` succeed; only a size means anything. */
static void run_setattr(fuse_req_t req, struct node *node, const struct stat *want, int which)
{
	struct stat st;

	if (which & FUSE_SET_ATTR_SIZE)
		talk_truncate(node->data, want->st_size);
	run_stat(req, node, &st);
	reply_attr(req, &st, 0);
}

static void run_read(fuse_req_t req, struct node *node, size_t size, off_t off)
{
	talk_read(node->data, req, size, off);
}

static void run_write(fuse_req_t req, struct node *node, const struct node_write *write)
{
	struct talk_write what = {
		.bytes = write->bytes,
		.off = write->off,
		.append = write->flags & O_APPEND,
		.paged = write->page,
		.answer = write->answer,
	};

	/* a reader beside this write must ask for the size, so that it waits for the reply */
	if (talk_attrs_over(node->data))
		notify_attr(front_of(req), node);
	talk_write(node->data, req, &what);
}

static void run_drop(void *data)
{
	talk_forget(data);
}

static struct aside_lane run_lane(struct front *front, const struct node *node,
				  struct rye_span what)
{
	return talk_lane(node->data, what);
}

static void run_late(fuse_req_t req, struct node *node)
{
	talk_late(node->data, req);
}

static const struct node_class talk_aside = { .lane = run_lane, .write = run_write };
/* Each write is a verb for a thread. */
static const struct node_class verb_aside = {
	.lane = run_lane,
	.late = run_late,
	.late_ms = TALK_LATE_MS,
	.write = run_write,
};

static const struct node_class talk_class = {
	.name = "talk",
	.aside = &talk_aside,
	.getattr = run_getattr,
	.setattr = run_setattr,
	.read = run_read,
	.drop = run_drop,
};

static const struct node_class verb_class = {
	.name = "verb",
	.aside = &verb_aside,
	.getattr = run_getattr,
	.setattr = run_setattr,
	.read = run_read,
	.drop = run_drop,
};

static struct timespec time_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME_COARSE, &ts);
	return ts;
}

int content_enter_talk(fuse_req_t req, const struct tree_key *key, const struct talk_target *target,
		       struct fuse_entry_param *ret)
{
	struct front *front = front_of(req);
	const struct fuse_ctx *ctx = fuse_req_ctx(req);
	struct caller *caller = caller_identify(front->callers, ctx->pid, ctx->uid);
	bool unseen = caller && caller->unseen;
	struct talk *talk = caller && !unseen ? talk_new(front->talks, target, caller) : NULL;
	struct node_want want = {
		.key = key,
		.class = target->thread ? &verb_class : &talk_class,
		.data = talk,
		.version = 1,
		.mtime = time_now(),
		.fresh = true,
	};
	struct node *node;

	caller_unref(caller);
	if (!talk)
		return unseen ? EAGAIN : ENOMEM;
	want.mode = S_IFREG | talk_mode(talk);
	node = node_make(front->nodes, &want);
	if (!node)
		return ENOMEM;
	talk_bind(talk, node_id(node));
	node_entry(front, node, 0, ret);
	talk_stat(talk, &ret->attr);
	ret->attr_timeout = talk_attr_s(talk);
	return 0;
}

int ctl_enter_talk(fuse_req_t req, const struct tree_key *key, const struct rye_stat *st,
		   struct fuse_entry_param *ret)
{
	const struct talk_target target = { key->ctl->verb, st ? key->kind : RYE_KIND__MAX,
					    st ? st->id : "", false, NULL };

	return content_enter_talk(req, key, &target, ret);
}

int enter_primitive(fuse_req_t req, const struct tree_key *key, struct fuse_entry_param *ret)
{
	return ctl_functions(key->ctl)->enter(req, key, NULL, ret);
}

/* ---- the caller's last output, trace ---- */

struct own_file {
	struct rye_blob *blob;
	struct own_origin origin;
	struct caller *who;
	_Atomic bool told; /* why it is disputed */
	char key[]; /* NUL-terminated */
};

static void own_drop(void *data)
{
	struct own_file *own = data;

	rye_blob_unref(own->blob);
	caller_unref(own->who);
	free(own);
}

/* The kernel asks again for what a read ahead did not get: one line for all of it. */
static void own_refuse(fuse_req_t req, struct own_file *own)
{
	if (!own->told) {
		own->told = true;
		own_refused(front_of(req)->talks, own->who, own->key);
	}
	reply_errno(req, EBUSY);
}

static void own_read(fuse_req_t req, struct node *node, size_t size, off_t off)
{
	struct own_file *own = node->data;
	auto_blob struct rye_blob *blob = rye_blob_ref(own->blob);

	if (own->origin.disputed) {
		own_refuse(req, own);
		return;
	}
	own_was_read(front_of(req)->talks, own->key, own->origin.from);
	reply_blob(req, blob, off, size);
}

static const struct node_class own_class = {
	.name = "own",
	.read = own_read,
	.drop = own_drop,
};

/* NULL: out of memory. */
static struct own_file *own_make(struct front *front, const struct ctl *ctl, struct caller *who,
				 const char *key)
{
	struct own_file *own = calloc(1, sizeof(*own) + strlen(key) + 1);

	if (!own)
		return NULL;
	memcpy(own->key, key, strlen(key));
	own->who = caller_ref(who);
	own->blob = ctl_functions(ctl)->own(front->talks, who, key, &own->origin);
	if (!own->blob) {
		own_drop(own);
		return NULL;
	}
	/* of nothing the kernel reads nothing: a caller that looks has seen it */
	if (!own->blob->len)
		own_was_read(front->talks, key, own->origin.from);
	return own;
}

int ctl_enter_own(fuse_req_t req, const struct tree_key *key, const struct rye_stat *st,
		  struct fuse_entry_param *ret)
{
	struct front *front = front_of(req);
	const struct fuse_ctx *ctx = fuse_req_ctx(req);
	struct caller *caller = caller_identify(front->callers, ctx->pid, ctx->uid);
	struct own_file *own = NULL;
	struct node_want want = {
		.key = key,
		.class = &own_class,
		.version = 1,
		.mode = S_IFREG | key->ctl->mode,
		.fresh = true,
	};
	char name[1100];

	snprintf(name, sizeof(name), "%s:%s", rye_kind_name(key->kind), st->id);
	if (caller && caller->unseen) {
		caller_unref(caller);
		return EAGAIN;
	}
	if (caller)
		own = own_make(front, key->ctl, caller, name);
	caller_unref(caller);
	if (!own)
		return ENOMEM;
	want.data = own;
	want.size = own->blob->len;
	want.mtime = own->origin.at;
	return enter_node(front, node_make(front->nodes, &want), 0, ret);
}

/* ---- derived files ---- */

int ctl_enter_view(fuse_req_t req, const struct tree_key *key, const struct rye_stat *st,
		   struct fuse_entry_param *ret)
{
	struct front *front = front_of(req);
	double timeout_s = content_timeout(front, key->kind, key->text);
	struct content_file what = { .key = key, .mtime = st->mtime, .mode = key->ctl->mode };
	const char *query = tree_query(key);
	struct rye_ask ask = { key->kind, st->id, key->ctl->view, query };
	struct rye_err err;
	struct node *node;

	if (key->ctl->others)
		timeout_s = 0;
	if (rye_view(front->rye, &ask, &what.blob, &err)) {
		if (query && err.code != st->verdict) {
			content_tell(req, key->kind, st->id, &err);
			return rye_code_errno(err.code);
		}
		node = content_refuse(front, key, st, err.code,
				      err.code == st->verdict ? st->reason : err.msg);
		return enter_node(front, node, timeout_s, ret);
	}
	return enter_node(front, content_make(front, &what), timeout_s, ret);
}

/* ---- source ---- */

int ctl_enter_source(fuse_req_t req, const struct tree_key *key, const struct rye_stat *st,
		     struct fuse_entry_param *ret)
{
	struct front *front = front_of(req);
	static const char *const names[] = { "project", "user", "system/" };
	struct rye_space_info info;
	struct rye_err err;
	struct rye_place place;
	char target[PATH_MAX];
	size_t n = 0;

	if (front->opt->spaces == SPACES_NONE)
		return enter_nothing(ret, TIMEOUT_LONG_S);
	if (rye_source(front->rye, key->kind, st->id, &place, &err))
		return rye_code_errno(err.code);
	rye_space_get(front->rye, place.space, &info);
	/* up from the item's directory: the kind's, and one for each part of the path */
	for (const char *p = key->text; p && n < sizeof(target) - 4; p = strchr(p + 1, '/'))
		n += (size_t)snprintf(target + n, sizeof(target) - n, "../");
	snprintf(target + n, sizeof(target) - n, "../spaces/%s%s/%s", names[info.type],
		 info.type == RYE_SYSTEM && info.bundle ? info.bundle : "", place.path);
	return enter_node(front, content_make_link(front, key, target, st->mtime),
			  content_timeout(front, key->kind, key->text), ret);
}

int enter_ctl(fuse_req_t req, const struct tree_key *key, struct fuse_entry_param *ret)
{
	struct rye_stat st;
	struct rye_err err;

	if (rye_lookup(front_of(req)->rye, key->kind, key->text, &st, &err) || !st.is_item_dir)
		return enter_nothing(ret, 0);
	return ctl_functions(key->ctl)->enter(req, key, &st, ret);
}
