/* SPDX-License-Identifier: MIT */
/* What a push would change: the project as it is now beside what its name stands for there. Sends no file. */
#include "remote/remote_inner.h"

#include "base/io.h"
#include "memory.h"
#include "scope.h"

struct differing {
	struct push_head head;
	struct manifest *there;
	struct snapshot *snapshot;
	struct pull_changes changes;
};

static void differing_done(struct differing *differing)
{
	manifest_free(differing->there);
	snapshot_free(differing->snapshot);
	pull_changes_done(&differing->changes);
}

/* What is there: as it is kept here, if it was pushed from here; of a name that is new, nothing. */
static int diff_there(struct differing *differing, struct conn *conn, int dir, struct rye_err *err)
{
	auto_blob struct rye_blob *text = NULL;
	char sha[SHA_HEX];

	if (!differing->head.number)
		return manifest_make(NULL, 0, &differing->there, err);
	if (!io_read_at(dir, PUSH_LAST, MANIFEST_MAX, &text) &&
	    !manifest_parse(text, &differing->there, NULL) &&
	    digest_is(&differing->there->name, &differing->head.manifest))
		return 0;
	manifest_free(steal(&differing->there));
	digest_hex(&differing->head.manifest, sha);
	return pull_manifest(conn, sha, NULL, &differing->there, err);
}

static int diff_run(struct differing *differing, const struct item_env *env,
		    const struct remote *remote, struct conn *conn, struct rye_err *err)
{
	auto_close int dir = remote_state_dir(env, remote->name, true);
	const struct snapshot_ask ask = { .project = env->spaces->v[0].root,
					  .rules = remote->push,
					  .cache_dir = dir,
					  .cache = PUSH_STAT };
	int r = dir < 0 ? rye_fail_sys(err, -dir, ".ai/state/remotes/%s", remote->name) :
			  snapshot_make(&ask, &differing->snapshot, err);

	if (!r)
		r = push_heads(conn, remote->project, &differing->head, err);
	if (!r)
		r = diff_there(differing, conn, dir, err);
	return r ? r :
		   pull_changes(differing->there, differing->snapshot->manifest,
				&differing->changes, err);
}

int remote_diff(const struct item_env *env, const struct remote *remote, struct conn *conn,
		json_t **ret, struct rye_err *err)
{
	struct differing differing = { .there = NULL };
	struct rye_err own = { 0 };
	int r;

	err = err ? err : &own;
	r = diff_run(&differing, env, remote, conn, err);
	if (!r) {
		*ret = json_incref(differing.changes.doc);
		json_sets(*ret, "by", differing.head.by);
		json_set(*ret, "number", json_integer((json_int_t)differing.head.number));
		json_object_set(*ret, "refused", differing.snapshot->refused);
	}
	differing_done(&differing);
	return r ? rye_wrap(err, "%s", remote->name) : 0;
}
