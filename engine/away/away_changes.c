/* SPDX-License-Identifier: MIT */
/*
 * The project on both ends of a run: what is pushed before the order names it, and what the run has changed in its
 * tree, which comes back as files of its thread. One thread.
 */
#include "away/away_inner.h"

#include "scope.h"
#include "str.h"

#include <string.h>

/* What is fetched without being asked for. */
#define CHANGES_MOST (256u << 20)
#define LEFT_FILE "left.json"

static int push_now(struct away *away, json_t **ret, struct rye_err *err)
{
	away_tell(away, "is sent the project");
	return remote_push(away->items, &away->remote, &away->link, false, ret, err);
}

int away_push(struct away *away, struct order *order, struct rye_err *err)
{
	auto_json json_t *pushed = NULL;
	bool push = json_flag(away->request, "push", true);
	int r;

	/* one that goes on for another finds what that has left, as it does here */
	if (json_int(away->ask->doc, "chain", 0) > 0)
		return away_left(away, order->manifest, err);
	r = push ? push_now(away, &pushed, err) :
		   remote_pushed(away->items, away->remote.name, &pushed, err);
	if (!r)
		snprintf(order->manifest, sizeof(order->manifest), "%s",
			 json_str(pushed, "manifest"));
	return r;
}

static json_t *changes_left(struct away *away)
{
	auto_blob struct rye_blob *text = NULL;
	struct rye_err err = { 0 };

	return away_fetch(away, LEFT_FILE, &text, &err) ?
		       NULL :
		       json_parse((struct rye_span){ text->data, text->len }, 0, LEFT_FILE, NULL);
}

/* Why there are none. The run has ended as it has, whatever becomes of these. */
static int changes_none(const struct away *away, const char *why, struct rye_err *err)
{
	auto_json json_t *doc = json_object();

	json_sets(doc, "error", *why ? why : "the node kept nothing");
	return remote_changes_tell(away->ask->dir, doc, err);
}

int away_changes(struct away *away, const struct receipt *receipt, struct rye_err *err)
{
	auto_json json_t *left = NULL;
	struct remote_pull what = { .id = away->id,
				    .base = away->order.manifest,
				    .manifest = receipt->manifest,
				    .dir = away->ask->dir,
				    .most = CHANGES_MOST };
	struct rye_err why = { 0 };
	int r;

	if (!*away->order.manifest || !*receipt->result)
		return 0;
	left = changes_left(away);
	if (!*receipt->manifest)
		return changes_none(away, json_str(left, "error"), err);
	what.refused = json_object_get(left, "refused");
	r = remote_pull(away->items, &away->remote, away->link.conn, &what, &why);
	if (r && why.code != RYE_UNREACHABLE && why.code != RYE_TIMEOUT)
		return changes_none(away, why.msg, err);
	if (r)
		*err = why;
	return r;
}
