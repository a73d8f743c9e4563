/* SPDX-License-Identifier: MIT */
/*
 * Items of which a manifest is signed: what is in the folder beside it is as good as the manifest
 * says, and no better. An item is proof of its manifest alone; these functions ask for the rest.
 */
#include "item/item.h"

#include "base/id.h"
#include "memory.h"
#include "scope.h"
#include "skill/skill.h"
#include "str.h"

#include <errno.h>
#include <sys/stat.h>

int parsed_skill(const struct parsed_item *item, struct skill *ret, struct rye_err *err)
{
	return skill_read(json_object_get(item->meta, "data"), item->id, ret, err);
}

/* What a stronger space has of that name hides the item, be it signed or not. */
static int attached_shadowed(const struct item_env *env, const struct parsed_item *item,
			     struct rye_err *err)
{
	for (int i = 0; i < item->space->index; i++) {
		int ai = space_fd(&env->spaces->v[i]);
		auto_close int folder = ai < 0 ? -1 : skill_open_folder(ai, item->id);

		if (folder >= 0)
			return rye_fail(err, RYE_UNSIGNED,
					"Unsigned item: the %s space has a folder of that name",
					env->spaces->v[i].label);
	}
	return 0;
}

/* With the command that shows what has changed, or else what puts it right. */
static int attached_refuse(const struct rye_item *item, const struct rye_err *why,
			   struct rye_err *err)
{
	const char *verb = why->code == RYE_MODIFIED ? "diff" : "add";
	const char *space = item->space->type == RYE_USER ? "--space user " : "";

	if (why->sys || item->space->type == RYE_SYSTEM || !skill_name_ok(span_of(item->id))) {
		if (err)
			*err = *why;
		return -(int)why->code;
	}
	return rye_fail(err, why->code, "%.600s\n  " MEND_WITH "ryefs skill %s %s%s", why->msg,
			verb, space, item->id);
}

int item_check_attached(const struct item_env *env, const struct rye_item *item, bool *ret_linked,
			struct rye_err *err)
{
	auto_skill struct skill skill = { 0 };
	struct rye_err why = { 0 };
	int r;

	*ret_linked = false;
	if (!rye_kind_has(item->kind, RYE_KIND_MANIFEST))
		return 0;
	if (item->parse.code) {
		if (err)
			*err = item->parse;
		return -(int)item->parse.code;
	}
	r = attached_shadowed(env, &item->parsed, &why);
	if (!r)
		r = parsed_skill(&item->parsed, &skill, &why);
	if (!r)
		r = skill_check(space_fd(item->space), &skill, ret_linked, &why);
	return r ? attached_refuse(item, &why, err) : 0;
}

void attached_done(struct attached *attached)
{
	rye_blob_unref(attached->text);
	free(attached->about);
	*attached = (struct attached){ 0 };
}

static int attached_read(const struct rye_item *item, struct attached *ret, struct rye_err *err)
{
	auto_close int folder = skill_open_folder(space_fd(item->space), item->id);
	auto_skill struct skill skill = { 0 };
	auto_json json_t *front = NULL;
	struct stat st;
	int r = parsed_skill(&item->parsed, &skill, err);

	if (!r)
		r = skill_load(folder, skill_find(&skill, SKILL_TEXT), &ret->text, &st, err);
	if (!r)
		r = skill_front((struct rye_span){ ret->text->data, ret->text->len }, &front,
				&ret->body, err);
	if (r)
		return r;
	ret->about = strdup(json_str(front, "description"));
	return ret->about ? 0 : memory_fail(err);
}

int item_attached(const struct item_env *env, const struct rye_item *item, struct attached *ret,
		  struct rye_err *err)
{
	bool linked;
	int r = item_check_attached(env, item, &linked, err);

	*ret = (struct attached){ 0 };
	if (!r)
		r = attached_read(item, ret, err);
	if (r)
		attached_done(ret);
	return r;
}
