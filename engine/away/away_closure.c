/* SPDX-License-Identifier: MIT */
/*
 * What of the person's own space goes along with an order: what the item needs there, a chain's elements and what a
 * directive extends; and what it may call, as far as there is room. The files lie in the order itself, so they are signed
 * with it, and there they are items like others: each counts by its own signature. One thread.
 */
#include "away/away_inner.h"

#include "base/id.h"
#include "base/io.h"
#include "memory.h"
#include "plan/plan.h"
#include "policy/policy.h"
#include "space/space.h"
#include "scope.h"
#include "str.h"

#include <fcntl.h>
#include <string.h>

/* Of all files of one order: half of what fits into it, since each is quoted. */
#define CLOSURE_MAX (ORDER_MAX / 2)
#define CLOSURE_EXTENDS 16

static const char providers[] = "rye/agent/providers/";

struct closing {
	const struct away *away;
	struct away_closure *ret;
	struct key_secret own;
	struct trust *trust;
	const json_t *may; /* capabilities */
	size_t bytes;
};

/* The key that has signed it, as far as another one's is wanted there. */
static const struct trust_key *closing_key(const struct closing *closing,
					   const struct rye_item *item)
{
	const struct trust_key *key =
		trust_find(closing->trust, span_of(item->verdict.fingerprint));

	/* the bundle's is trusted there by the node's own */
	if (!key || item->space->type == RYE_SYSTEM || !strcmp(key->fp, closing->own.pub.fp))
		return NULL;
	return key;
}

/* The asker vouches for it; there the entry says whether it may. */
static void closing_vouch(const struct closing *closing, const struct rye_item *item)
{
	const struct trust_key *key = closing_key(closing, item);
	struct key_public public;

	if (!key)
		return;
	key_public_of(key->bytes, &public);
	if (!json_lists(closing->ret->signers, public.pem))
		json_array_append_new(closing->ret->signers, json_string(public.pem));
}

/* Why it cannot go along. */
static int closing_stays(const struct rye_item *item, const char *why, struct rye_err *err)
{
	return rye_fail(
		err, RYE_INVALID,
		"%s:%.300s of your user space %s, and cannot go along with an order: put its "
		"file into the project, %.300s, and sign it there",
		rye_kind_name(item->kind), item->id, why, item->path);
}

static int closing_file(const struct rye_item *item, struct rye_blob **ret, struct rye_err *err)
{
	auto_close int ai = io_open_dir(item->space->root, ".ai", false);
	char sha[SHA_HEX];
	int r = ai < 0 ? ai : io_read_at(ai, item->path, RYE_BUF_CAP, ret);

	if (r < 0)
		return rye_fail_sys(err, -r, "%.300s", item->path);
	sha256_hex((struct rye_span){ (*ret)->data, (*ret)->len }, sha);
	return !strcmp(sha, item->verdict.sha256) ?
		       0 :
		       rye_fail(err, RYE_MODIFIED, "%.300s has changed just now", item->path);
}

static int closing_add(struct closing *closing, const struct rye_item *item, struct rye_err *err)
{
	json_t *items = closing->ret->items;
	auto_blob struct rye_blob *text = NULL;
	json_t *string;
	int r;

	if (item->space->type != RYE_USER || json_object_get(items, item->path))
		return 0;
	if (rye_kind_has(item->kind, RYE_KIND_MANIFEST))
		return closing_stays(item, "is a folder", err);
	r = closing_file(item, &text, err);
	if (r)
		return r;
	if (closing->bytes + text->len > CLOSURE_MAX)
		return closing_stays(item, "is too long, with what else is needed", err);
	string = json_stringn(text->data, text->len);
	if (!string)
		return closing_stays(item, "is no UTF-8", err);
	closing->bytes += text->len;
	json_set(items, item->path, string);
	return 0;
}

/* needed: it cannot run without; else it goes along only if nothing more has to be allowed for it there. */
static int closing_item(struct closing *closing, const struct rye_item *item, bool needed,
			struct rye_err *err)
{
	if (!needed && closing_key(closing, item))
		return 0;
	closing_vouch(closing, item);
	return closing_add(closing, item, err);
}

static int closing_tool(struct closing *closing, const char *id, bool needed, struct rye_err *err)
{
	struct item_ask ask = { .kind = RYE_TOOL, .id = id };
	struct chain_start first = { .item = NULL };
	auto_chain struct chain chain = { .n = 0 };
	struct rye_err why = { 0 };
	int r = rye_load(closing->away->items, &ask, &first.item, &why);

	/* one that cannot be run here is refused there, in its words */
	if (r || chain_build(closing->away->items, &first, &chain, &why))
		return 0;
	for (size_t i = 0; !r && i < chain.n; i++)
		r = closing_item(closing, chain.v[i].item, needed, err);
	return r;
}

static int closing_extends(struct closing *closing, const struct rye_item *item,
			   struct rye_err *err)
{
	auto_item struct rye_item *at = rye_item_ref(item);
	int r = 0;

	for (int i = 0; !r && i < CLOSURE_EXTENDS; i++) {
		const char *id = json_str(at->meta, "extends");
		struct item_ask ask = { .kind = RYE_DIRECTIVE };
		struct rye_item *next = NULL;

		id_split(id, &ask.id);
		if (!*id || rye_load(closing->away->items, &ask, &next, NULL))
			break;
		r = closing_item(closing, next, true, err);
		rye_item_unref(at);
		at = next;
	}
	return r;
}

/* Each item of the user space. What has no room stays here: the run finds that it is missing when it wants it. */
static int closing_covered(void *arg, const struct rye_verdict *verdict, size_t done, size_t total)
{
	static const char *const acts[] = { "execute", "fetch" };
	struct closing *closing = arg;
	auto_item struct rye_item *item = NULL;
	struct item_ask ask = { 0 };
	bool covered;

	(void)done;
	(void)total;
	if (!verdict || verdict->code != RYE_OK || strcmp(verdict->space, "user") != 0)
		return 0;
	covered = verdict->kind == RYE_TOOL &&
		  !strncmp(verdict->id, providers, sizeof(providers) - 1);
	for (size_t i = 0; i < ARRAY_SIZE(acts); i++) {
		auto_buf struct rye_buf name = RYE_BUF_INIT;

		capability_name(&name, acts[i], rye_kind_name(verdict->kind), verdict->id);
		covered |= !name.failed && capabilities_cover(closing->may, name.data);
	}
	ask.kind = verdict->kind;
	ask.id = verdict->id;
	if (!covered || rye_load(closing->away->items, &ask, &item, NULL))
		return 0;
	if (item->kind == RYE_TOOL)
		closing_tool(closing, item->id, false, NULL);
	else
		closing_item(closing, item, false, NULL);
	return 0;
}

/* What it says that it calls: a directive's permissions, a tool's `requires`, a graph's permissions. */
static int closing_may(const struct rye_item *item, json_t **ret, struct rye_err *err)
{
	static const char *const names[] = { "requires", "permissions" };
	json_t *may;

	if (rye_kind_has(item->kind, RYE_KIND_FORKS))
		return capabilities_of(meta_get(item, "permissions"), ret, err);
	*ret = may = json_array();
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const json_t *list = meta_get(item, names[i]);
		const json_t *one;
		size_t at;

		json_array_foreach((json_t *)list, at, one)
			if (!strncmp(json_is_string(one) ? json_string_value(one) : "", "rye.", 4))
				json_array_append(may, (json_t *)one);
	}
	return 0;
}

static int closing_all(struct closing *closing, const struct rye_item *item, struct rye_err *err)
{
	const struct rye_batch batch = { .fn = closing_covered, .arg = closing };
	auto_json json_t *may = NULL;
	int r = closing_item(closing, item, true, err);

	if (!r && rye_kind_has(item->kind, RYE_KIND_FORKS))
		r = closing_extends(closing, item, err);
	else if (!r)
		r = closing_tool(closing, item->id, true, err);
	if (!r)
		r = closing_may(item, &may, err);
	closing->may = may;
	if (r || !json_array_size(may))
		return r;
	return rye_verify_all(closing->away->rye, &batch, err);
}

int away_closure(const struct away *away, const struct rye_item *item, struct away_closure *ret,
		 struct rye_err *err)
{
	unsigned long since = memory_failures();
	struct closing closing = { .away = away,
				   .ret = ret,
				   .trust = trust_get(away->items->trust) };
	int r = keystore_signer(away->items, &closing.own, err);

	ret->items = json_object();
	ret->signers = json_array();
	if (!r)
		r = closing_all(&closing, item, err);
	key_wipe(&closing.own);
	trust_put(closing.trust);
	return memory_result(since, r, err);
}

void away_closure_done(struct away_closure *closure)
{
	json_decref(closure->items);
	json_decref(closure->signers);
}
