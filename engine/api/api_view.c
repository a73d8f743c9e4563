/* SPDX-License-Identifier: MIT */
/*
 * rye_view: which derived file of an item is made how. Every row but the last three works on a
 * loaded, hence verified item; those three also speak of refused ones (struct subject).
 */
#include "api/api_inner.h"

#include "base/id.h"
#include "item/item.h"
#include "memory.h"
#include "plan/plan.h"
#include "str.h"

/* The bytes of one view of a loaded item. */
typedef int (*make_fn)(struct rye *rye, const struct rye_ask *ask, const struct loaded *loaded,
		       struct rye_blob **ret, struct rye_err *err);

static int put_json(const json_t *value, struct rye_blob **ret, struct rye_err *err)
{
	*ret = value ? json_blob(value, true) : NULL;
	return *ret ? 0 : memory_fail(err);
}

static int make_rendered(struct rye *rye, const struct rye_ask *ask, const struct loaded *loaded,
			 struct rye_blob **ret, struct rye_err *err)
{
	auto_json json_t *inputs = NULL;
	struct interp in = { NULL, engine_env, rye };

	if (!ask->query) {
		*ret = rye_blob_ref(loaded->text);
		return 0;
	}
	if (!rye_kind_has(ask->kind, RYE_KIND_INPUTS))
		return rye_fail(err, RYE_INVALID,
				"a %s takes no inputs in its name, as directives do",
				rye_kind_name(ask->kind));
	inputs = inputs_query(ask->query, err);
	if (!inputs)
		return -(int)RYE_INVALID;
	in.inputs = inputs;
	return render_item(loaded->item, &in, ret, err);
}

static int api_view_make_source(struct rye *rye, const struct rye_ask *ask,
				const struct loaded *loaded, struct rye_blob **ret,
				struct rye_err *err)
{
	*ret = rye_blob_ref(loaded->item->raw);
	return 0;
}

/* A tool and an entry can be read without their metadata, but nothing is told from half of it. */
static int need_meta(const struct rye_item *item, struct rye_err *err)
{
	if (item->parse.code == RYE_OK)
		return 0;
	return rye_fail(err, item->parse.code, "Cannot read metadata: %s:%s: %s",
			rye_kind_name(item->kind), item->id, item->parse.msg);
}

static int make_schema(struct rye *rye, const struct rye_ask *ask, const struct loaded *loaded,
		       struct rye_blob **ret, struct rye_err *err)
{
	auto_json json_t *schema = meta_schema(loaded->item);
	int r = need_meta(loaded->item, err);

	return r ? r : put_json(schema, ret, err);
}

static int make_chain(struct rye *rye, const struct rye_ask *ask, const struct loaded *loaded,
		      struct rye_blob **ret, struct rye_err *err)
{
	struct rye_err why = { 0 };
	auto_json json_t *chain = chain_view(&rye->items, loaded->item, &why);

	if (chain)
		return put_json(chain, ret, err);
	if (err)
		*err = why;
	return -(int)why.code;
}

static int make_prompt(struct rye *rye, const struct rye_ask *ask, const struct loaded *loaded,
		       struct rye_blob **ret, struct rye_err *err)
{
	static const char instruction[] = "rye/agent/core/DirectiveInstruction";
	auto_loaded struct loaded own = { 0 };
	auto_json json_t *inputs = inputs_query(ask->query, err);
	const struct interp in = { inputs, engine_env, rye };
	const char *text = NULL;
	struct rye_err ignored;

	if (!inputs)
		return -(int)RYE_INVALID;
	/* Without it the compiled-in text stands (DIRECTIVE_INSTRUCTION). */
	if (engine_load(rye, RYE_KNOWLEDGE, instruction, &own, &ignored) == 0)
		text = json_str(own.item->meta, "body");
	return render_prompt(loaded->item, &in, text && *text ? text : NULL, ret, err);
}

static int api_view_make_data(struct rye *rye, const struct rye_ask *ask,
			      const struct loaded *loaded, struct rye_blob **ret,
			      struct rye_err *err)
{
	int r = need_meta(loaded->item, err);

	return r ? r : put_json(loaded->item->meta, ret, err);
}

static const struct api_view_row {
	const char *name; /* of the derived file */
	unsigned of; /* kinds with one of these traits have it; 0: all have */
	bool query; /* takes inputs in its name */
	make_fn make;
	int (*any)(struct rye *rye, const struct rye_ask *ask, struct rye_blob **ret,
		   struct rye_err *err); /* for refused items, too */
} rows[RYE_VIEW__MAX] = {
	[RYE_VIEW_RENDERED] = { "text", 0, true, make_rendered, NULL },
	[RYE_VIEW_SOURCE] = { "source", 0, false, api_view_make_source, NULL },
	[RYE_VIEW_SCHEMA] = { "schema.json", RYE_KIND_PARAMETERS, false, make_schema, NULL },
	[RYE_VIEW_CHAIN] = { "chain.json", RYE_KIND_PROCESS, false, make_chain, NULL },
	[RYE_VIEW_PROMPT] = { "prompt.md", RYE_KIND_INPUTS, true, make_prompt, NULL },
	[RYE_VIEW_DATA] = { "data.json", RYE_KIND_FRONT, false, api_view_make_data, NULL },
	[RYE_VIEW_INFO] = { "info.json", 0, false, NULL, view_info },
	[RYE_VIEW_VERIFY] = { "verify", 0, false, NULL, view_verify },
	[RYE_VIEW_USAGE] = { "usage", 0, false, NULL, view_usage },
};

static int api_view_make(struct rye *rye, const struct rye_ask *ask, struct rye_blob **ret,
			 struct rye_err *err)
{
	auto_loaded struct loaded loaded = { 0 };
	const struct api_view_row *row = &rows[ask->view < RYE_VIEW__MAX ? ask->view : 0];
	int r;

	if (ask->kind >= RYE_KIND__MAX || ask->view >= RYE_VIEW__MAX ||
	    (row->of && !rye_kind_has(ask->kind, row->of)))
		return rye_fail(err, RYE_NOT_FOUND, "%.900s has no %s", ask->id, row->name);
	if (ask->query && !row->query)
		return rye_fail(err, RYE_INVALID, "%s takes no inputs in its name", row->name);
	if (row->any)
		return row->any(rye, ask, ret, err);
	r = engine_load(rye, ask->kind, ask->id, &loaded, err);
	return r ? r : row->make(rye, ask, &loaded, ret, err);
}

/* A view of which a value is missing would look like a whole one. */
int rye_view(struct rye *rye, const struct rye_ask *ask, struct rye_blob **ret, struct rye_err *err)
{
	auto_blob struct rye_blob *blob = NULL;
	unsigned long since = memory_failures();
	int r = memory_result(since, api_view_make(rye, ask, &blob, err), err);

	if (!r)
		*ret = steal(&blob);
	return r;
}
