/* SPDX-License-Identifier: MIT */
/*
 * A pull: what a run has made or changed in its tree there, as files of its thread here. They are collected in a
 * depot of the remote's state, written out beside their place and shown by one rename. Waits for disk and
 * network. No lock: a thread has one follower.
 */
#include "remote/remote_inner.h"

#include "base/io.h"
#include "memory.h"
#include "scope.h"
#include "str.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#define PULL_NEW ".changes"
/* Levels of a tree that is removed. */
#define PULL_DEPTH 128

struct pull {
	const struct item_env *env;
	const struct remote *remote;
	struct conn *conn;
	const struct remote_pull *what;
	struct manifest *before, *after;
	struct pull_changes changes;
};

/* The manifest that was pushed: as it is kept here, if nothing was pushed since. */
static int pull_before(struct pull *pull, struct rye_err *err)
{
	auto_close int dir = remote_state_dir(pull->env, pull->remote->name, false);
	auto_blob struct rye_blob *text = NULL;
	struct digest name;

	if (!digest_parse(span_of(pull->what->base), &name))
		return rye_fail(err, RYE_INVALID, "the order names no manifest");
	if (dir >= 0 && !io_read_at(dir, PUSH_LAST, MANIFEST_MAX, &text) &&
	    !manifest_parse(text, &pull->before, NULL) && digest_is(&pull->before->name, &name))
		return 0;
	manifest_free(steal(&pull->before));
	return pull_manifest(pull->conn, pull->what->base, NULL, &pull->before, err);
}

/* A depot for this thread alone: what came before a cut is in it. */
static int pull_files(struct pull *pull, struct rye_err *err)
{
	auto_close int state = remote_state_dir(pull->env, pull->remote->name, true);
	auto_close int dir = -1;
	auto_depot struct depot *depot = NULL;
	char name[ID_UUID_MAX + 16], path[PATH_MAX];
	int r;

	snprintf(name, sizeof(name), "pull/%.*s", ID_UUID_MAX - 1, pull->what->id);
	if (state < 0 ||
	    snprintf(path, sizeof(path), "%s/.ai/state/remotes/%s/%s", pull->env->spaces->v[0].root,
		     pull->remote->name, name) >= (int)sizeof(path))
		return rye_fail(err, RYE_IO, "state/remotes/%s", pull->remote->name);
	io_remove_tree(pull->what->dir, PULL_NEW, PULL_DEPTH);
	r = io_mkdirs_at(state, name, 0700);
	if (r >= 0)
		r = io_mkdirs_at(pull->what->dir, PULL_NEW, 0700);
	dir = r < 0 ? r : io_open_beneath(pull->what->dir, PULL_NEW, O_RDONLY | O_DIRECTORY);
	if (dir < 0)
		return rye_fail_sys(err, -dir, REMOTE_CHANGES);
	r = depot_open(path, &depot, err);
	if (!r)
		r = pull_blobs(pull->conn, depot, pull->changes.changed, err);
	if (!r)
		r = checkout(depot, PULL_OWNER, pull->changes.changed, dir, err);
	if (!r) {
		io_remove_tree(pull->what->dir, REMOTE_CHANGES, PULL_DEPTH);
		if (renameat(pull->what->dir, PULL_NEW, pull->what->dir, REMOTE_CHANGES) < 0)
			r = rye_fail_sys(err, errno, REMOTE_CHANGES);
	}
	if (!r)
		io_remove_tree(state, name, PULL_DEPTH);
	return r;
}

int remote_changes_tell(int dir, const json_t *doc, struct rye_err *err)
{
	auto_blob struct rye_blob *text = json_blob(doc, true);
	int r;

	if (!text)
		return memory_fail(err);
	r = io_replace_at(dir, REMOTE_CHANGES_DOC, (struct rye_span){ text->data, text->len },
			  0600);
	return r < 0 ? rye_fail_sys(err, -r, REMOTE_CHANGES_DOC) : 0;
}

static int pull_tell(struct pull *pull, struct rye_err *err)
{
	if (json_array_size(pull->what->refused))
		json_object_set(pull->changes.doc, "refused", (json_t *)pull->what->refused);
	return remote_changes_tell(pull->what->dir, pull->changes.doc, err);
}

static int pull_run(struct pull *pull, struct rye_err *err)
{
	const struct remote_pull *what = pull->what;
	bool same = !strcmp(what->base, what->manifest);
	int r = pull_before(pull, err);

	if (!r && !same)
		r = pull_manifest(pull->conn, what->manifest, pull->before, &pull->after, err);
	if (!r)
		r = pull_changes(pull->before, same ? pull->before : pull->after, &pull->changes,
				 err);
	if (r)
		return r;
	if (pull->changes.changed->n && pull->changes.bytes <= pull->what->most)
		r = pull_files(pull, err);
	else if (pull->changes.changed->n)
		json_set(pull->changes.doc, "left",
			 json_sprintf("%.1f MB; get them with: ryefs remote pull %s %s",
				      (double)pull->changes.bytes / 1e6, pull->remote->name,
				      pull->what->id));
	return r ? r : pull_tell(pull, err);
}

int remote_pull(const struct item_env *env, const struct remote *remote, struct conn *conn,
		const struct remote_pull *what, struct rye_err *err)
{
	struct pull pull = { .env = env, .remote = remote, .conn = conn, .what = what };
	struct rye_err own = { 0 };
	int r;

	err = err ? err : &own;
	r = pull_run(&pull, err);
	manifest_free(pull.before);
	manifest_free(pull.after);
	pull_changes_done(&pull.changes);
	return r ? rye_wrap(err, "%s: what the run has changed", remote->name) : 0;
}

int remote_pull_left(const struct item_env *env, const struct remote *remote, struct conn *conn,
		     const char *id, struct rye_err *err)
{
	auto_close int dir = -1;
	auto_blob struct rye_blob *text = NULL;
	auto_json json_t *doc = NULL;
	char path[ID_UUID_MAX + 32];
	struct remote_pull what = { .id = id, .most = UINT64_MAX };
	int r;

	if (!id_is_uuid(id))
		return rye_fail(err, RYE_INVALID, "'%s' is no id of a run elsewhere", id);
	snprintf(path, sizeof(path), ".ai/state/threads/%s", id);
	dir = io_open_dir(env->spaces->v[0].root, path, false);
	r = dir < 0 ? dir : io_read_at(dir, REMOTE_CHANGES_DOC, 2 * MANIFEST_MAX, &text);
	if (r < 0)
		return rye_fail(err, RYE_NOT_FOUND,
				"thread %s has no changes: it ran here, or has not ended", id);
	doc = json_parse((struct rye_span){ text->data, text->len }, 0, REMOTE_CHANGES_DOC, err);
	if (!doc)
		return -(int)err->code;
	if (*json_str(doc, "error"))
		return rye_fail(err, RYE_STATE, "there is nothing to pull: %s",
				json_str(doc, "error"));
	what.dir = dir;
	what.base = json_str(doc, "base");
	what.manifest = json_str(doc, "manifest");
	what.refused = json_object_get(doc, "refused");
	return remote_pull(env, remote, conn, &what, err);
}
