/* SPDX-License-Identifier: MIT */
/*
 * errand_item.c: whose items count in a run, and is the item what the asker has verified? A user space is made
 * for the run, which trusts the principal's key and those that the order vouches for and the principal's
 * file allows, nothing else; its own key signs what a model writes, and is trusted nowhere else. Runs that
 * trust the same keys share it; one with secrets has its own, gone with the run.
 */
#include "worker/worker_inner.h"

#include "api/api.h"
#include "base/io.h"
#include "memory.h"
#include "scope.h"
#include "str.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#define USERS "work/users"

static void engine_drop(struct rye **rye)
{
	if (*rye)
		rye_close(*rye);
}
#define auto_rye __attribute__((cleanup(engine_drop)))

static int signer_refused(const struct errand *errand, const struct principal *who, const char *fp,
			  struct rye_err *err)
{
	auto_buf struct rye_buf words = RYE_BUF_INIT;

	node_words(errand->worker->node, &words);
	return rye_fail(
		err, RYE_UNTRUSTED,
		"%.200s is signed by %s, which your entry there may not vouch for; its owner "
		"says: ryefs node admit%s %s signers=%s",
		errand->order.ref, fp, words.data ? words.data : "", who->key.fp, fp);
}

/* The keys in PEM that count, the principal's first. */
static int errand_keys(const struct errand *errand, const struct principal *who, json_t **ret,
		       struct rye_err *err)
{
	auto_json json_t *keys = json_array();
	json_t *element;
	size_t i;

	json_array_append_new(keys, json_string(who->key.pem));
	json_array_foreach((json_t *)errand->order.signers, i, element) {
		struct key_public key;
		int r = key_public_parse(span_of(json_string_value(element)), &key, err);

		if (r)
			return r;
		if (!json_lists(who->signers, key.fp) && strcmp(key.fp, who->key.fp) != 0)
			return signer_refused(errand, who, key.fp, err);
		json_array_append_new(keys, json_string(key.pem));
	}
	*ret = steal(&keys);
	return 0;
}

static int user_trust(struct rye *rye, const struct node_dir *node, const char *user,
		      const json_t *keys, struct rye_err *err)
{
	char name[128], path[PATH_MAX + 128], fp[KEY_FP];
	json_t *element;
	size_t i;
	int r = 0;

	snprintf(name, sizeof(name), "%s/key.pem", user);
	snprintf(path, sizeof(path), "%s/%s", node->path, name);
	json_array_foreach((json_t *)keys, i, element) {
		r = io_replace_at(node->dir, name, span_of(json_string_value(element)), 0600);
		if (r < 0)
			return rye_fail_sys(err, -r, "%s", path);
		r = rye_key_trust(rye, path, "principal", NULL, fp, err);
		if (r)
			return r;
	}
	unlinkat(node->dir, name, 0);
	return 0;
}

static int user_secrets(struct errand *errand, struct rye *rye, struct rye_err *err)
{
	unsigned char box[KEY_LEN];
	auto_json json_t *values = NULL;
	const char *name;
	json_t *value;
	int r = node_box_key(errand->worker->node, box, err);

	if (!r)
		r = order_unseal(&errand->order, box, &values, err);
	explicit_bzero(box, sizeof(box));
	json_object_foreach(values, name, value) {
		if (!r)
			r = rye_secret_set(rye, name, span_of(json_string_value(value)), err);
	}
	return r;
}

static void errand_options(struct errand *errand, const char *user)
{
	errand->opt = (struct rye_options){ .project = errand->project,
					    .user_base = user,
					    .no_sign = false,
					    .umask = 077,
					    .sandbox = RYE_SANDBOX_STRICT };
}

/* Keys of its own, and whose items count. */
static int user_begin(struct errand *errand, const char *made, const json_t *keys,
		      struct rye_err *err)
{
	auto_rye struct rye *rye = NULL;
	char fp[KEY_FP];
	int r = engine_open_looking(&errand->opt, &rye, err);

	if (!r)
		r = rye_key_generate(rye, RYE_KEY_NEW, fp, err);
	return r ? r : user_trust(rye, errand->worker->node, made, keys, err);
}

/* Those of the one that is shared, and what is this run's alone. */
static int user_own(struct errand *errand, const char *shared, const char *made,
		    struct rye_err *err)
{
	auto_rye struct rye *rye = NULL;
	int r = errand_space_copy(errand, shared, made, err);

	if (!r)
		r = errand_space_items(errand, made, err);
	if (r || !json_array_size(errand->order.secrets))
		return r;
	r = engine_open_looking(&errand->opt, &rye, err);
	return r ? r : user_secrets(errand, rye, err);
}

/* In a directory that is made for it; a rename shows it whole. shared: what it is made of; NULL: of the keys. */
static int user_make(struct errand *errand, const char *shared, const char *user,
		     const json_t *keys, struct rye_err *err)
{
	const struct node_dir *node = errand->worker->node;
	char name[64], made[PATH_MAX], ai[80];
	int r;

	snprintf(name, sizeof(name), "tmp/user-%s", errand->claim.id);
	snprintf(ai, sizeof(ai), "%s/.ai", name);
	if (snprintf(made, sizeof(made), "%s/%s", node->path, name) >= (int)sizeof(made))
		return rye_fail(err, RYE_INVALID, "the node's path is too long");
	io_remove_tree(node->dir, name, 8);
	r = io_mkdirs_at(node->dir, ai, 0700);
	if (r < 0)
		return rye_fail_sys(err, -r, "%s", made);
	errand_options(errand, made);
	r = shared ? user_own(errand, shared, name, err) : user_begin(errand, name, keys, err);
	if (!r && renameat(node->dir, name, node->dir, user) < 0 && errno != EEXIST &&
	    errno != ENOTEMPTY)
		r = rye_fail_sys(err, errno, "%s/%s", node->path, user);
	io_remove_tree(node->dir, name, 8);
	return r;
}

static int errand_user(struct errand *errand, const struct principal *who, struct rye_err *err)
{
	const struct node_dir *node = errand->worker->node;
	auto_json json_t *keys = NULL;
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	char digest[SHA_HEX], shared[128], own[128];
	int r = errand_keys(errand, who, &keys, err);

	if (r)
		return r;
	json_canonical(&text, keys);
	sha256_hex(buf_span(&text), digest);
	snprintf(shared, sizeof(shared), USERS "/%s", digest);
	snprintf(own, sizeof(own), USERS "/%s", errand->claim.id);
	errand->private = json_array_size(errand->order.secrets) > 0 ||
			  json_object_size(errand->order.items) > 0;
	if (faccessat(node->dir, shared, F_OK, 0))
		r = user_make(errand, NULL, shared, keys, err);
	if (!r && errand->private && faccessat(node->dir, own, F_OK, 0))
		r = user_make(errand, shared, own, keys, err);
	snprintf(errand->user, sizeof(errand->user), "%s/%s", node->path,
		 errand->private ? own : shared);
	errand_options(errand, errand->user);
	return r;
}

static int item_refused(const char *ref, const json_t *info, struct rye_err *err)
{
	enum rye_code code = rye_code_named(json_str(info, "verdict"));

	return rye_fail(err, code == RYE_OK ? RYE_UNTRUSTED : code, "%.200s: %.700s", ref,
			json_str(info, "reason"));
}

/* By the engine itself, as it will be opened by the run. */
static int item_agrees(struct errand *errand, struct rye_err *err)
{
	const struct order *order = &errand->order;
	auto_blob struct rye_blob *blob = NULL;
	auto_json json_t *info = NULL;
	auto_rye struct rye *rye = NULL;
	const char *id;
	struct rye_ask ask = { .kind = id_split(order->ref, &id), .view = RYE_VIEW_INFO };
	int r = engine_open_looking(&errand->opt, &rye, err);

	ask.id = id;
	if (!r)
		r = rye_view(rye, &ask, &blob, err);
	if (r)
		return r;
	info = json_parse((struct rye_span){ blob->data, blob->len }, 0, "info", err);
	if (strcmp(json_str(info, "verdict"), "ok") != 0)
		return item_refused(order->ref, info, err);
	if (strcmp(json_str(info, "sha256"), order->item_sha) != 0)
		return rye_fail(err, RYE_MODIFIED,
				"%.200s is another version here than the one that was ordered",
				order->ref);
	if (order->again && !json_flag(json_object_get(info, "meta"), "idempotent", false))
		return rye_fail(err, RYE_INVALID, "%.200s does not say that it is idempotent",
				order->ref);
	return 0;
}

int errand_item(struct errand *errand, const struct principal *who, struct rye_err *err)
{
	int r = errand_user(errand, who, err);

	return r ? r : item_agrees(errand, err);
}

void errand_item_done(struct errand *errand)
{
	char name[80];

	snprintf(name, sizeof(name), USERS "/%s", errand->claim.id);
	if (errand->private)
		io_remove_tree(errand->worker->node->dir, name, 8);
}
