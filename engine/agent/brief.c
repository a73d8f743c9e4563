/* SPDX-License-Identifier: MIT */
/*
 * What a directive asks of the model: it and those it extends are loaded, verified; its inputs are
 * checked, its prompt rendered (item/prompt.c), and what its context names put around it. Read once
 * before the first request: a file that changes later changes nothing of a running thread.
 */
#include "agent/agent_inner.h"

#include "memory.h"
#include "scope.h"
#include "str.h"

#include <string.h>

static const char *const brief_places[] = { "system", "before", "after", "suppress" };

void brief_done(struct brief *brief)
{
	for (size_t i = 0; i < brief->n; i++)
		rye_item_unref(brief->chain[i]);
	json_decref(brief->inputs);
	json_decref(brief->declared);
	json_decref(brief->lists);
	json_decref(brief->injected);
	json_decref(brief->layers);
	free(brief->system);
	free(brief->first);
	*brief = (struct brief){ 0 };
}

static int brief_circle(const struct brief *brief, const char *id, struct rye_err *err)
{
	auto_buf struct rye_buf chain = RYE_BUF_INIT;

	for (size_t i = 0; i < brief->n; i++)
		buf_addf(&chain, "%s → ", brief->chain[i]->id);
	return rye_fail(err, RYE_CHAIN_LOOP, "Circular extends chain: %s (chain: %s%s)", id,
			chain.data ? chain.data : "", id);
}

/* What the directive itself extends: a hook of the configuration may say so instead. */
static const char *brief_extends(struct agent *agent)
{
	const struct rye_item *leaf = agent->brief.chain[0];
	const char *own = json_str(leaf->meta, "extends"), *hooked;
	json_t *given = json_object_get(agent->request, "parameters");
	auto_json json_t *doc = json_pack("{s:s, s:b, s:s, s:O?, s:s}", "directive", leaf->id,
					  "has_extends", *own != 0, "category",
					  json_str(leaf->meta, "category"), "inputs", given,
					  "model", json_str(agent->request, "model"));

	hooks_add(agent, json_object_get(leaf->meta, "hooks"));
	hooked = hooks_extends(agent, doc);
	return *hooked ? hooked : own;
}

/* The directive, then what it extends, and so on. */
static int brief_load(struct agent *agent, struct rye_err *err)
{
	struct brief *brief = &agent->brief;
	struct item_ask ask = { .kind = RYE_DIRECTIVE, .id = agent->directive };

	while (*ask.id) {
		struct rye_item *item;
		int r;

		if (brief->n == BRIEF_CHAIN_MAX)
			return rye_fail(err, RYE_CHAIN_LOOP, "%s extends more than %d directives",
					agent->directive, BRIEF_CHAIN_MAX - 1);
		r = rye_load(agent->items, &ask, &item, err);
		if (r)
			return brief->n ? rye_wrap(err, "extends") : r;
		for (size_t i = 0; i < brief->n; i++)
			if (!strcmp(brief->chain[i]->id, item->id)) {
				brief_circle(brief, item->id, err);
				rye_item_unref(item);
				return -(int)RYE_CHAIN_LOOP;
			}
		brief->chain[brief->n++] = item;
		ask.id = brief->n > 1 ? json_str(item->meta, "extends") : brief_extends(agent);
	}
	return 0;
}

static void brief_add_once(json_t *list, const json_t *more)
{
	json_t *id;
	size_t i;

	json_array_foreach(more, i, id)
		if (json_is_string(id) && !json_lists(list, json_string_value(id)))
			json_array_append(list, id);
}

/* The root's first; what is suppressed is taken out at the end. */
static json_t *brief_lists(const struct brief *brief)
{
	json_t *lists = json_object();

	for (size_t p = 0; p < ARRAY_SIZE(brief_places); p++)
		json_object_set_new(lists, brief_places[p], json_array());
	for (size_t i = brief->n; i-- > 0;) {
		const json_t *context = json_object_get(brief->chain[i]->meta, "context");

		for (size_t p = 0; p < ARRAY_SIZE(brief_places); p++)
			brief_add_once(json_object_get(lists, brief_places[p]),
				       json_object_get(context, brief_places[p]));
	}
	for (size_t p = 0; p + 1 < ARRAY_SIZE(brief_places); p++) {
		json_t *list = json_object_get(lists, brief_places[p]);

		for (size_t i = json_array_size(list); i-- > 0;)
			if (json_lists(json_object_get(lists, "suppress"),
				       json_string_value(json_array_get(list, i))))
				json_array_remove(list, i);
	}
	return lists;
}

/* Of the directive itself, else of the nearest that it extends. */
static int brief_permissions(struct brief *brief, struct rye_err *err)
{
	for (size_t i = 0; i < brief->n; i++) {
		const json_t *own = json_object_get(brief->chain[i]->meta, "permissions");

		if (json_array_size(own))
			return capabilities_of(own, &brief->declared, err);
	}
	brief->declared = json_array();
	return 0;
}

static void brief_take_one(const struct rye_item *directive, json_t *request, const char *name)
{
	json_t *given = json_object_get(request, "parameters");

	if (!json_object_get(given, name) ||
	    json_find(json_object_get(directive->meta, "inputs"), "name", name))
		return;
	if (!json_object_get(request, name))
		json_object_set(request, name, json_object_get(given, name));
	json_object_del(given, name);
}

void brief_take(const struct rye_item *directive, json_t *request)
{
	brief_take_one(directive, request, "model");
	brief_take_one(directive, request, "limit_overrides");
}

int brief_limits(const struct brief_limits_ask *ask, struct limits *ret, struct rye_err *err)
{
	auto_json json_t *config = NULL;
	struct limits_ask limits = { .directive = json_object_get(ask->directive->meta, "limits"),
				     .overrides = json_object_get(ask->request, "limit_overrides"),
				     .parent = ask->parent,
				     .warnings = ask->warnings };
	int r = policy_config(ask->items, "agent/resilience", &config, err);

	if (r)
		return r;
	limits.defaults = json_object_get(json_object_get(config, "limits"), "defaults");
	return limits_resolve(&limits, ret, err);
}

static int brief_inputs(struct agent *agent, struct rye_err *err)
{
	const json_t *given = json_object_get(agent->request, "parameters");

	/* of the orders, which are this runner's */
	brief_take(agent->brief.chain[0], (json_t *)agent->request);
	return inputs_resolve(agent->brief.chain[0], given, &agent->brief.inputs, NULL, err);
}

/* The model has the call that the prompt ends with under a name of its own. */
static void brief_call(struct rye_span prompt, struct rye_buf *out)
{
	static const char written[] = "`rye_execute(item_type=\"tool\", item_id=\"" RETURN_ID
				      "\", parameters={";
	const char *at = memmem(prompt.ptr, prompt.len, written, strlen(written)), *next = at;

	/* the last one: what stands in the directive's own text stays */
	while (next) {
		at = next;
		next = memmem(at + 1, prompt.len - (size_t)(at + 1 - prompt.ptr), written,
			      strlen(written));
	}
	buf_add(out, prompt.ptr, at ? (size_t)(at - prompt.ptr) : prompt.len);
	if (!at)
		return;
	buf_adds(out, "`" RETURN_NAME "({");
	buf_addspan(out, span_skip(prompt, (size_t)(at - prompt.ptr) + strlen(written)));
}

static int brief_prompt(struct agent *agent, struct rye_blob **ret, struct rye_err *err)
{
	auto_json json_t *told = prompt_instruction_of(agent->items);
	const struct interp in = { .inputs = agent->brief.inputs,
				   .env = interp_environ,
				   .env_arg = (void *)agent->opt.env_names };

	return render_prompt(agent->brief.chain[0], &in, json_string_value(told), ret, err);
}

/* ---- knowledge that the context names ---- */

static struct rye_span context_text(const struct rye_item *entry)
{
	const json_t *body = json_object_get(entry->meta, "body");

	if (!json_string_length(body))
		body = json_object_get(entry->meta, "content");
	if (json_is_string(body))
		return span_trim(
			(struct rye_span){ json_string_value(body), json_string_length(body) });
	return span_trim(entry->body);
}

/*
 * Without header lines and metadata. One that cannot be had is left out with a warning; one that was
 * changed ends the thread before it begins.
 */
static int context_one(struct agent *agent, const char *id, json_t *blocks, struct rye_buf *out,
		       struct rye_err *err)
{
	const struct item_ask ask = { .kind = RYE_KNOWLEDGE, .id = id };
	auto_item struct rye_item *entry = NULL;
	struct rye_err why = { 0 };
	struct rye_span text;

	if (rye_load(agent->items, &ask, &entry, &why)) {
		if (rye_code_integrity(why.code))
			return rye_fail(err, why.code, "context %s: %s", id, why.msg);
		agent_warn(agent, "context %s was left out: %s", id, why.msg);
		return 0;
	}
	text = context_text(entry);
	if (out->len)
		buf_adds(out, "\n\n");
	buf_addspan(out, text);
	json_array_append_new(blocks, json_pack("{s:s, s:s%, s:s}", "id", id, "content", text.ptr,
						text.len, "role", "user"));
	return 0;
}

int context_put(struct agent *agent, const json_t *ids, json_t *blocks, struct rye_buf *out,
		struct rye_err *err)
{
	json_t *id;
	size_t i;
	int r = 0;

	json_array_foreach(ids, i, id) {
		r = context_one(agent, json_string_value(id), blocks, out, err);
		if (r)
			return r;
	}
	return 0;
}

/* ---- what stands where ---- */

/* One of the places around the prompt: its text, and its blocks for the transcript. */
static int brief_place(struct agent *agent, const char *place, struct rye_buf *out,
		       struct rye_err *err)
{
	struct brief *brief = &agent->brief;
	auto_json json_t *blocks = json_array();
	int r = context_put(agent, json_object_get(brief->lists, place), blocks, out, err);

	if (!r && json_array_size(blocks) && strcmp(place, "system"))
		json_array_append_new(brief->injected,
				      json_pack("{s:s, s:O}", "position", place, "blocks", blocks));
	return r;
}

static int brief_texts(struct agent *agent, struct rye_err *err)
{
	struct brief *brief = &agent->brief;
	auto_buf struct rye_buf system = RYE_BUF_INIT, first = RYE_BUF_INIT, after = RYE_BUF_INIT;
	auto_blob struct rye_blob *prompt = NULL;
	int r = brief_place(agent, "system", &system, err);

	if (!r)
		r = brief_place(agent, "before", &first, err);
	if (!r)
		r = brief_prompt(agent, &prompt, err);
	if (!r)
		r = brief_place(agent, "after", &after, err);
	if (r)
		return r;
	if (first.len)
		buf_adds(&first, "\n\n");
	brief_call((struct rye_span){ prompt->data, prompt->len }, &first);
	if (after.len)
		buf_addf(&first, "\n\n%s", after.data);
	buf_adds(&system, "");
	brief->system = buf_steal(&system);
	brief->first = buf_steal(&first);
	return brief->system && brief->first ? 0 : memory_fail(err);
}

static json_t *brief_suppressed(const struct brief *brief)
{
	const json_t *list = json_object_get(brief->lists, "suppress");
	json_t *set = json_object(), *id;
	size_t i;

	json_array_foreach(list, i, id)
		json_object_set_new(set, json_string_value(id), json_true());
	return set;
}

int brief_read(struct agent *agent, struct rye_err *err)
{
	struct brief *brief = &agent->brief;
	int r = brief_load(agent, err);

	if (!r)
		r = brief_inputs(agent, err);
	if (!r)
		r = brief_permissions(brief, err);
	if (r)
		return r;
	brief->lists = brief_lists(brief);
	brief->injected = json_array();
	brief->layers = json_array();
	agent->suppressed = brief_suppressed(brief);
	return brief_texts(agent, err);
}

json_t *brief_required(const struct brief *brief)
{
	const json_t *outputs = brief_meta(brief, "outputs");
	json_t *names = json_array(), *output;
	const char *key;
	size_t i;

	json_array_foreach(outputs, i, output)
		if (json_is_true(json_object_get(output, "required")))
			json_array_append(names, json_object_get(output, "name"));
	/* declared as an object: all of them */
	json_object_foreach((json_t *)outputs, key, output)
		json_array_append_new(names, json_string(key));
	return names;
}
