/* SPDX-License-Identifier: MIT */
/*
 * Signing, keys and secrets for the users of the engine: what the headers of these rooms do, plus telling
 * the index at once, so that the signer reads the item without waiting for inotify.
 */
#include "api/api_inner.h"

#include "base/engine_options.h"
#include "err.h"
#include "memory.h"
#include "secret/secret.h"
#include "sign/sign.h"
#include "skeleton/skeleton.h"
#include "trust/trust.h"

#include <string.h>

/* ---- many ---- */

struct api_sign_signing {
	struct rye *rye;
	const struct rye_batch *batch;
	const struct space *space;
};

static int api_sign_on_signed(void *arg, const struct rye_verdict *verdict, size_t done,
			      size_t total)
{
	struct api_sign_signing *signing = arg;
	size_t n = strlen(signing->space->root);

	if (verdict && verdict->code == RYE_OK && !verdict->left && strlen(verdict->path) > n + 5)
		rye_touched(signing->rye, signing->space->index, verdict->path + n + 5);
	return signing->batch->fn(signing->batch->arg, verdict, done, total);
}

/* The first space of a type; project and user exist once. */
static const struct space *api_sign_space_of(const struct rye *rye, enum rye_space type)
{
	for (size_t i = 0; i < rye->spaces->n; i++)
		if (rye->spaces->v[i].type == type)
			return &rye->spaces->v[i];
	return NULL;
}

int rye_sign_all(struct rye *rye, const struct rye_batch *batch, struct rye_err *err)
{
	struct api_sign_signing signing = { rye, batch, api_sign_space_of(rye, batch->space) };
	struct sign_many ask = { .pattern = batch->pattern,
				 .space = signing.space,
				 .many = batch->many,
				 .dry = batch->dry,
				 .again = batch->again,
				 .take = batch->take,
				 .fn = api_sign_on_signed,
				 .arg = &signing };

	if (rye->opt.no_sign && !batch->dry)
		return options_no_sign("signing", err);
	if (!ask.space)
		return rye_fail(err, RYE_NOT_FOUND, "there is no such space");
	return sign_many(&rye->items, &ask, err);
}

int rye_put(struct rye *rye, const struct rye_put *put, struct rye_blob **ret, struct rye_err *err)
{
	const struct sign_given given = { put->ext, put->text, put->was, put->bare };
	const struct sign_ask ask = { .kind = put->kind,
				      .id = put->id,
				      .space = api_sign_space_of(rye, put->space),
				      .dry = put->dry,
				      .given = &given };
	auto_buf struct rye_buf remarks = RYE_BUF_INIT;
	auto_json json_t *reply = NULL;
	const json_t *warning;
	size_t i;
	int r;

	*ret = NULL;
	if (rye->opt.no_sign && !put->dry)
		return options_no_sign("signing", err);
	if (!ask.space)
		return rye_fail(err, RYE_NOT_FOUND, "there is no such space");
	r = sign_put(&rye->items, &ask, &reply, err);
	json_array_foreach(json_object_get(reply, "warnings"), i, warning)
		buf_addf(&remarks, "%s\n", json_string_value(warning));
	if (remarks.failed && !r)
		return memory_fail(err);
	*ret = remarks.len ? buf_blob(&remarks) : NULL;
	if (!r && !put->dry) {
		auto_free char *path = NULL;

		if (asprintf(&path, "%s/%s%s", rye_kind_dir(put->kind), put->id, put->ext) >= 0)
			rye_touched(rye, ask.space->index, path);
	}
	return r;
}

struct rye_blob *rye_bare(enum rye_kind kind, const char *ext, struct rye_span text)
{
	auto_buf struct rye_buf bare = RYE_BUF_INIT;
	struct sig_rule rule;

	if (!sig_rule_of(kind, ext, &rule) || !sign_bare(rule, text, &bare))
		return NULL;
	return buf_blob(&bare);
}

struct rye_blob *rye_renamed(const char *from, const char *to, struct rye_span text)
{
	auto_buf struct rye_buf out = RYE_BUF_INIT;

	buf_addspan(&out, text);
	buf_adds(&out, "");
	sign_renamed(from, to, &out);
	return out.failed ? NULL : buf_blob(&out);
}

int rye_skeleton(const char *path, struct rye_blob **ret, struct rye_err *err)
{
	return skeleton_at(path, ret, err);
}

const char *rye_skeleton_kind(size_t n)
{
	return skeleton_kind(n);
}

int rye_drop(struct rye *rye, const struct rye_put *put, struct rye_err *err)
{
	const struct sign_dropped what = { put->kind, put->id, put->ext,
					   api_sign_space_of(rye, put->space), put->was };
	auto_free char *path = NULL;
	int r;

	if (rye->opt.no_sign)
		return options_no_sign("removing items", err);
	if (!what.space)
		return rye_fail(err, RYE_NOT_FOUND, "there is no such space");
	r = sign_drop(&what, err);
	if (!r && asprintf(&path, "%s/%s%s", rye_kind_dir(put->kind), put->id, put->ext) >= 0)
		rye_touched(rye, what.space->index, path);
	return r;
}

/* ---- keys ---- */

static void keys_changed(struct rye *rye)
{
	struct index_changes changes = { .keys = true };

	engine_changed(rye, &changes);
}

int rye_key_generate(struct rye *rye, enum rye_keygen how, char ret_fp[17], struct rye_err *err)
{
	if (rye->opt.no_sign)
		return options_no_sign("making keys", err);
	return secret_keygen(rye->spaces, how, ret_fp, err);
}

int rye_key_list(struct rye *rye, rye_key_fn fn, void *arg, struct rye_err *err)
{
	unsigned long since = memory_failures();

	return memory_result(since, keystore_list(&rye->items, fn, arg, err), err);
}

int rye_key_trust(struct rye *rye, const char *key, const char *owner, const char *scope,
		  char ret_fp[17], struct rye_err *err)
{
	int r = rye->opt.no_sign ? options_no_sign("trusting keys", err) :
				   keystore_trust(&rye->items, key, owner, scope, ret_fp, err);

	if (!r)
		keys_changed(rye);
	return r;
}

int rye_key_share(struct rye *rye, char ret_fp[17], struct rye_err *err)
{
	const struct space *project = api_sign_space_of(rye, RYE_PROJECT);
	auto_key struct key_secret own = { 0 };
	int r = rye->opt.no_sign ? options_no_sign("sharing keys", err) :
				   keystore_load(rye->spaces, &own, err);

	if (!r)
		r = keystore_share(&rye->items, project, &own.pub, err);
	if (r < 0)
		return r;
	memcpy(ret_fp, own.pub.fp, KEY_FP);
	return r;
}

int rye_key_untrust(struct rye *rye, const char *fingerprint, struct rye_err *err)
{
	int r = rye->opt.no_sign ? options_no_sign("trusting keys", err) :
				   keystore_untrust(&rye->items, fingerprint, err);

	if (!r)
		keys_changed(rye);
	return r;
}

/* ---- secrets ---- */

int rye_secret_check(const char *name, struct rye_err *err)
{
	return secret_name_check(name, err);
}

int rye_secret_set(struct rye *rye, const char *name, struct rye_span value, struct rye_err *err)
{
	return rye->opt.no_sign ? options_no_sign("keeping secrets", err) :
				  secret_set(rye->spaces, name, value, err);
}

int rye_secret_list(struct rye *rye, rye_secret_fn fn, void *arg, struct rye_err *err)
{
	unsigned long since = memory_failures();

	return memory_result(since, secret_list(rye->spaces, fn, arg, err), err);
}

int rye_secret_remove(struct rye *rye, const char *name, struct rye_err *err)
{
	return rye->opt.no_sign ? options_no_sign("removing secrets", err) :
				  secret_remove(rye->spaces, name, err);
}
