/* SPDX-License-Identifier: MIT */
/*
 * Of a request that was refused for a slip of the pen, the message that would have done: the item
 * whose name is most like the one that is not there, parameters with the faults put right that the
 * item's schema tells of. Nothing is told that would be refused for the same sort of fault again.
 * On the run's worker, when its reply is complete; no lock. The message is read again: the run took
 * members out of what it had read, and put defaults in.
 */
#include "api/api_inner.h"

#include "base/id.h"
#include "format/format.h"
#include "near.h"
#include "parse/parse.h"
#include "plan/plan.h"
#include "remote/remote.h"
#include "schema/schema.h"

#include <string.h>

/* Bytes. A longer message is not told: it is to be read and typed. */
#define INSTEAD_MAX 1024

struct instead_item {
	struct rye_item *item;
	json_t *schema;
};

static void instead_item_done(struct instead_item *it)
{
	rye_item_unref(it->item);
	json_decref(it->schema);
}

/* Would the item take them? What is wrong in ret_text. */
static bool instead_fits(const struct instead_item *it, const json_t *given,
			 struct rye_buf *ret_text)
{
	struct schema_report report = { 0 };
	struct rye_err err = { 0 };
	json_t *filled = NULL;
	bool fits;

	if (rye_kind_has(it->item->kind, RYE_KIND_INPUTS)) {
		fits = !inputs_resolve(it->item, given, &filled, NULL, &err);
		buf_adds(ret_text, err.msg);
		json_decref(filled);
		return fits;
	}
	filled = json_deep_copy(given); /* defaults are put into it */
	fits = filled && schema_check(it->schema, filled, &report);
	if (!fits)
		schema_message(&report, it->schema, ret_text);
	schema_report_done(&report);
	json_decref(filled);
	return fits;
}

/*
 * {"target": "remote:zz"}: a remote that there is in its place: to leave it out would run the item here.
 * False: which one was meant is not known; *mended: it was put right.
 */
static bool instead_target(const struct rye *rye, json_t *doc, bool *mended)
{
	static const char prefix[] = "remote:";
	const char *target = json_str(doc, "target"), *name;
	auto_json json_t *names = NULL;
	struct near_word near;
	const json_t *value;
	size_t i;

	if (strncmp(target, prefix, strlen(prefix)) != 0)
		return true;
	if (remote_names(&rye->items, &names, NULL))
		return false;
	near_start(&near, target + strlen(prefix));
	json_array_foreach(names, i, value) {
		name = json_string_value(value);
		if (!strcmp(name, target + strlen(prefix)))
			return true;
		near_offer(&near, name, name);
	}
	/* the only one there is is meant, too */
	name = near.best ? near.best : json_string_value(json_array_get(names, 0));
	if (!near.best && json_array_size(names) != 1)
		return false;
	*mended = true;
	return json_set(doc, "target", json_sprintf("%s%s", prefix, name));
}

static bool is_elsewhere(const char *key, const json_t *value)
{
	return !strcmp(key, "target") && json_is_string(value) &&
	       !strncmp(json_string_value(value), "remote", strlen("remote"));
}

/* A new reference: those of the format (timeout …), which a tool need not declare, are apart. */
static json_t *split_reserved(const json_t *schema, const json_t *given, json_t *reserved)
{
	const json_t *properties = json_object_get(schema, "properties");
	json_t *own = json_object(), *value;
	const char *key;

	json_object_foreach((json_t *)given, key, value)
		json_object_set((params_reserved(key) || is_elsewhere(key, value)) &&
						!json_object_get(properties, key) ?
					reserved :
					own,
				key, value);
	return own;
}

/* *ret: parameters that the item takes instead of those given; NULL: those will do. False: none are
 * known. */
static bool instead_parameters(const struct rye *rye, const struct item_ask *ask,
			       const json_t *given, json_t **ret)
{
	__attribute__((cleanup(instead_item_done))) struct instead_item it = { 0 };
	auto_json json_t *reserved = json_object(), *own = NULL, *all = NULL;
	auto_buf struct rye_buf text = RYE_BUF_INIT, again = RYE_BUF_INIT;
	struct corrected fault = { 0 };
	struct rye_err ignored;
	bool mended = false;

	*ret = NULL;
	if (!rye_kind_has(ask->kind, RYE_KIND_PARAMETERS))
		return true;
	if (rye_load(&rye->items, ask, &it.item, &ignored))
		return false;
	it.schema = meta_schema(it.item);
	own = split_reserved(it.schema, given, reserved);
	/* what each of several actions wants is not in the schema */
	if (!own || json_object_size(meta_get(it.item, "actions")))
		return false;
	if (!instead_target(rye, reserved, &mended))
		return false;
	if (instead_fits(&it, own, &text) && !mended)
		return true;
	if (!text.len && mended) {
		json_object_update(own, reserved);
		*ret = steal(&own);
		return true;
	}
	fault = (struct corrected){ it.schema, own, text.data ? text.data : "" };
	all = corrected_parameters(&fault);
	if (!all || !instead_fits(&it, all, &again))
		return false;
	json_object_update(all, reserved);
	*ret = steal(&all);
	return true;
}

/* ---- requests that name their item ---- */

/* {"item": "tool:x"} is {"item_id": "tool:x"}. False: nothing is like it. */
static bool instead_name_member(json_t *doc)
{
	struct near_word near;
	const char *key, *meant = NULL;
	json_t *value;

	json_object_foreach(doc, key, value) {
		near_start(&near, key);
		near_offer(&near, "item_id", key);
		if (near.best && json_is_string(value))
			meant = near.best;
	}
	value = meant ? json_incref(json_object_get(doc, meant)) : NULL;
	if (value)
		json_object_del(doc, meant);
	return value && json_set(doc, "item_id", value);
}

/* The first kind that has the id and parameters. */
static enum rye_kind instead_kind(struct rye *rye, const char *id)
{
	struct rye_stat st;
	struct rye_err ignored;
	int kind = 0;

	while (kind < RYE_KIND__MAX &&
	       (!rye_kind_has((enum rye_kind)kind, RYE_KIND_PARAMETERS) ||
		rye_lookup(rye, (enum rye_kind)kind, id, &st, &ignored) || !st.is_item_dir))
		kind++;
	return (enum rye_kind)kind;
}

static bool instead_meant(struct rye *rye, json_t *doc, char meant[RYE_REF_MAX])
{
	if (!rye_near(rye, json_str(doc, "item_id"), meant))
		return false;
	json_object_del(doc, "item_type"); /* it may be of another kind */
	return json_sets(doc, "item_id", meant);
}

/* doc is put right. False: it cannot be, or nothing was wrong. */
static bool instead_request(struct rye *rye, enum rye_code code, json_t *doc,
			    char meant[RYE_REF_MAX])
{
	const json_t *given = json_object_get(doc, "parameters");
	auto_json json_t *none = json_object();
	bool mended = !json_object_get(doc, "item_id");
	struct item_ask ask = { 0 };
	json_t *all;

	if (mended && !instead_name_member(doc))
		return false;
	if (code == RYE_NOT_FOUND && !instead_meant(rye, doc, meant))
		return false;
	mended |= *meant;
	if (!instead_target(rye, doc, &mended))
		return false;
	ask.kind = id_split(json_str(doc, "item_id"), &ask.id);
	if (ask.kind == RYE_KIND__MAX)
		ask.kind = instead_kind(rye, ask.id);
	if (ask.kind == RYE_KIND__MAX || (given && !json_is_object(given)))
		return mended;
	if (!instead_parameters(rye, &ask, given ? given : none, &all))
		return false;
	return all ? json_set(doc, "parameters", all) : mended;
}

struct rye_blob *api_instead(struct rye *rye, const struct rye_request *req, enum rye_code code,
			     char meant[RYE_REF_MAX])
{
	struct item_ask ask = { .kind = req->kind, .id = req->id };
	auto_buf struct rye_buf text = { .cap = INSTEAD_MAX };
	auto_json json_t *doc = message_read(req->message, req->form, NULL), *all = NULL;
	bool names = !*req->id, found = doc != NULL;

	if (found && !names)
		found = instead_parameters(rye, &ask, doc, &all) && all;
	else if (found && req->verb == RYE_EXECUTE)
		found = instead_request(rye, code, doc, meant);
	else if (found)
		found = code == RYE_NOT_FOUND && instead_meant(rye, doc, meant);
	if (found)
		json_put(&text, names ? doc : all, false);
	return text.len && !text.failed ? buf_blob(&text) : NULL;
}
