/* SPDX-License-Identifier: MIT */
/*
 * Signing and keys for the users of the engine: what item/sign.h and item/keystore.h do, plus
 * telling the index at once, so that who has signed reads the item without waiting for inotify.
 */
#include "api_sign.h"

#include "base/err.h"
#include "base/id.h"
#include "base/str.h"
#include "item/keystore.h"
#include "item/sign.h"

#include <stdio.h>

static int refuse(const char *what, struct rye_err *err)
{
	return rye_fail(err, RYE_DENIED, "%s is switched off (nosign)", what);
}

/* ---- many ---- */

struct signing {
	struct rye *rye;
	const struct rye_batch *batch;
	const struct space *space;
};

static int on_signed(void *arg, const struct rye_verdict *verdict, size_t done, size_t total)
{
	struct signing *signing = arg;
	size_t n = strlen(signing->space->root);

	if (verdict && verdict->code == RYE_OK && strlen(verdict->path) > n + 5)
		rye_touched(signing->rye, signing->space->index, verdict->path + n + 5);
	return signing->batch->fn(signing->batch->arg, verdict, done, total);
}

/* The first space of a type; project and user exist once. */
static const struct space *space_of(const struct rye *rye, enum rye_space type)
{
	for (size_t i = 0; i < rye->spaces->n; i++)
		if (rye->spaces->v[i].type == type)
			return &rye->spaces->v[i];
	return NULL;
}

int rye_sign_all(struct rye *rye, const struct rye_batch *batch, struct rye_err *err)
{
	struct signing signing = { rye, batch, space_of(rye, batch->space) };
	struct sign_many ask = { .pattern = batch->pattern,
				 .space = signing.space,
				 .fn = on_signed,
				 .arg = &signing };

	if (rye->opt.no_sign)
		return refuse("signing", err);
	if (!ask.space)
		return rye_fail(err, RYE_NOT_FOUND, "there is no such space");
	return sign_many(&rye->items, &ask, err);
}

/* ---- the primitive ---- */

static void touch_item(struct rye *rye, const struct sign_ask *ask, const char *id)
{
	const char *const *ext = kind_extensions(ask->kind);
	char path[1100];

	for (; *ext; ext++) {
		int n = snprintf(path, sizeof(path), "%s/%s%s", rye_kind_dir(ask->kind), id, *ext);

		if (n > 0 && (size_t)n < sizeof(path))
			rye_touched(rye, ask->space->index, path);
	}
}

static void touch_reply(struct rye *rye, const struct sign_ask *ask, const json_t *reply)
{
	const json_t *ids = json_object_get(reply, "signed");

	if (!strcmp(json_str(reply, "status"), "signed"))
		touch_item(rye, ask, ask->id);
	for (size_t i = 0; i < json_array_size(ids); i++) {
		const char *id = json_string_value(json_array_get(ids, i));

		if (id)
			touch_item(rye, ask, id);
	}
}

/* "tool:a/b", or item_type beside a plain id. */
static int read_ref(const json_t *request, struct sign_ask *ask, struct rye_err *err)
{
	const char *ref = json_str(request, "item_id"), *type = json_str(request, "item_type");

	if (!*ref)
		return rye_fail(err, RYE_INVALID, "item_id is required.");
	ask->id = ref;
	ask->kind = id_split(ref, &ask->id);
	if (ask->kind == RYE_KIND__MAX && *type) {
		ask->kind = kind_from_name(type);
		ask->id = ref;
	}
	if (ask->kind == RYE_KIND__MAX)
		return rye_fail(err, RYE_INVALID,
				"item_id must use a canonical ref prefix to identify the type "
				"(e.g. 'tool:my/item', 'directive:my/workflow', "
				"'knowledge:my/entry', 'config:my/config').");
	return 0;
}

static int read_source(const struct rye *rye, const json_t *request, struct sign_ask *ask,
		       struct rye_err *err)
{
	const char *source = json_str(request, "source");

	if (!*source || !strcmp(source, "project"))
		ask->space = space_of(rye, RYE_PROJECT);
	else if (!strcmp(source, "user"))
		ask->space = space_of(rye, RYE_USER);
	else if (!strcmp(source, "system"))
		ask->space = space_of(rye, RYE_SYSTEM);
	if (ask->space)
		return 0;
	return rye_fail(err, RYE_NOT_FOUND, "source %.100s: wanted project or user", source);
}

int api_sign_reply(struct rye *rye, const json_t *request, json_t **ret, struct rye_err *err)
{
	struct sign_ask ask = { 0 };
	json_t *reply = NULL;
	int r = rye->opt.no_sign ? refuse("signing", err) : read_ref(request, &ask, err);

	if (!r)
		r = read_source(rye, request, &ask, err);
	if (r)
		return r;
	r = sign_request(&rye->items, &ask, &reply, err);
	touch_reply(rye, &ask, reply);
	*ret = reply;
	return r;
}

/* ---- keys ---- */

static void keys_changed(struct rye *rye)
{
	struct index_changes changes = { .keys = true };

	engine_changed(rye, &changes);
}

int rye_key_generate(struct rye *rye, bool force, char ret_fp[17], struct rye_err *err)
{
	if (rye->opt.no_sign)
		return refuse("making keys", err);
	return keystore_generate(rye->spaces, force, ret_fp, err);
}

int rye_key_list(struct rye *rye, rye_key_fn fn, void *arg, struct rye_err *err)
{
	return keystore_list(&rye->items, fn, arg, err);
}

int rye_key_trust(struct rye *rye, const char *key, const char *owner, char ret_fp[17],
		  struct rye_err *err)
{
	int r = rye->opt.no_sign ? refuse("trusting keys", err) :
				   keystore_trust(&rye->items, key, owner, ret_fp, err);

	if (!r)
		keys_changed(rye);
	return r;
}

int rye_key_untrust(struct rye *rye, const char *fingerprint, struct rye_err *err)
{
	int r = rye->opt.no_sign ? refuse("trusting keys", err) :
				   keystore_untrust(&rye->items, fingerprint, err);

	if (!r)
		keys_changed(rye);
	return r;
}
