/* SPDX-License-Identifier: MIT */
/*
 * The primitive `sign`: reads the request and leaves checking, signing and the reply to the
 * functions of sign/sign.h. Never for children of runs: what a tool may write must not become what
 * a person vouches for. On a worker; no lock.
 */
#include "sign/sign.h"

#include "parse/parse.h"
#include "run/run_inner.h"
#include "scope.h"
#include "space/space.h"

#include <string.h>

static int find_space(const struct run *run, const struct space **ret, struct rye_err *err)
{
	const struct spaces *spaces = run->exec->env.items->spaces;
	const char *source = json_str(run->request.doc, "source");

	if (!*source)
		source = "project";
	for (size_t i = 0; i < spaces->n; i++) {
		if (strcmp(spaces->v[i].label, source))
			continue;
		*ret = &spaces->v[i];
		return 0;
	}
	return rye_fail(err, RYE_INVALID, "Unknown source: '%.100s'. Must be project or user.",
			source);
}

static int prim_sign_check(struct run *run, const struct space **ret, struct rye_err *err)
{
	struct request *request = &run->request;
	int r = request_project(request->doc, run->exec->base.project, err);

	if (!r)
		r = request_ref(request->doc, request, err);
	if (!r)
		r = run_may(run, ACT_SIGN, request->kind, request->id, err);
	if (!r)
		r = find_space(run, ret, err);
	if (!r && request->kind == RYE_KIND__MAX) {
		if (sign_is_glob(request->id))
			return rye_fail(
				err, RYE_INVALID,
				"item_id %s: a pattern needs its kind, for instance tool:%s",
				request->id, request->id);
		r = run_find_kind(run->exec->env.items, request->id, &request->kind, err);
	}
	return r;
}

void prim_sign(struct run *run)
{
	const struct space *space = NULL;
	auto_json json_t *reply = NULL;
	struct sign_ask ask = { 0 };
	struct rye_err err = { 0 };
	int r;

	run->request.verb = RYE_SIGN;
	run->request.kind = RYE_KIND__MAX;
	if (request_message(run->ask, &run->request, &err) || prim_sign_check(run, &space, &err)) {
		run_fail(run, &err);
		return;
	}
	ask.kind = run->request.kind;
	ask.id = run->request.id;
	ask.space = space;
	ask.signed_fn = run_touched;
	ask.arg = run;
	r = sign_request(run->exec->env.items, &ask, &reply, &err);
	if (r)
		run_fail(run, &err);
	json_object_update(run->reply.doc, reply);
	if (!json_object_get(run->reply.doc, "item_id"))
		json_sets(run->reply.doc, "item_id", run->request.spelled);
	/* the signer reads at once; of a pattern some are signed where others failed */
	run_wait_told(run);
}
