/* SPDX-License-Identifier: MIT */
/*
 * Carrying out hooks: text that is put into the first message, and actions that steer a thread or do
 * something beside it. Only the control tool steers; whatever else a hook runs is a side effect. What
 * a directive's own hooks run is held to its capabilities, as its model's calls are; so is what words
 * of the model's choose, or become a shell's text in.
 */
#include "agent/agent_inner.h"

#include "base/id.h"
#include "expr/expr.h"
#include "memory.h"
#include "scope.h"
#include "str.h"

#include <string.h>
#include <strings.h>

#define HOOK_INTERNAL "rye/agent/threads/internal/"

/* Set in an action that was filled in: a model's words name its item, or stand in its parameters. */
#define HOOK_NAMED "_named"
#define HOOK_WORDED "_worded"

/*
 * Is it another text without what a caller, the model or its provider has said? A caller may be the
 * model of the thread above.
 */
static bool hook_is_theirs(const json_t *template, const json_t *filled, const json_t *doc)
{
	static const char *const theirs[] = { "inputs", "outputs", "error", "classification" };
	auto_json json_t *own = json_copy((json_t *)doc);
	const struct expr_scope scope = { .doc = own };
	auto_json json_t *without = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(theirs); i++)
		json_object_del(own, theirs[i]);
	without = expr_fill(&scope, template);
	return !without || !json_equal(without, filled);
}

/* The action with its templates filled in; a new reference. */
static json_t *hook_fill(const json_t *action, const json_t *doc)
{
	static const char *const parts[][2] = { { "item_id", HOOK_NAMED },
						{ "params", HOOK_WORDED } };
	const struct expr_scope scope = { .doc = doc };
	json_t *filled = json_copy((json_t *)action);

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		const json_t *template = json_object_get(action, parts[i][0]);
		json_t *value = template ? expr_fill(&scope, template) : NULL;

		json_set(filled, parts[i][1],
			 json_boolean(template && hook_is_theirs(template, value, doc)));
		if (template)
			json_set(filled, parts[i][0], value);
	}
	return filled;
}

static enum rye_kind hook_kind(const json_t *action, const char **ret_id)
{
	const char *kind = json_str(action, "kind");
	enum rye_kind named = id_split(json_str(action, "item_id"), ret_id);

	if (named != RYE_KIND__MAX)
		return named;
	*ret_id = json_str(action, "item_id");
	if (!*kind)
		kind = json_str(action, "item_type");
	return *kind ? kind_from_name(kind) : RYE_TOOL;
}

/* A tool that says so may run what its parameters hold as a program. */
static bool hook_is_shell(const struct agent *agent, const struct tool_call *call)
{
	const struct item_ask ask = { .kind = call->kind, .id = call->item_id };
	auto_item struct rye_item *item = NULL;
	struct tool_meta meta;
	json_t *word;
	size_t i;

	if (call->kind != RYE_TOOL || rye_load(agent->items, &ask, &item, NULL))
		return false;
	meta_tool(item, &meta);
	json_array_foreach(meta.requires_list, i, word)
		if (!strcmp(json_string_value(word), "shell.execute"))
			return true;
	return false;
}

/* Runs it as a call of the model's would be; NULL: *err says why not. */
static json_t *hook_call(struct agent *agent, const json_t *hook, const json_t *action,
			 struct rye_err *err)
{
	struct tool_call call = { .id = json_str(hook, "id"),
				  .name = "rye_execute",
				  .free = !hook_is_own(hook) };
	const char *primary = json_str(action, "primary");
	json_t *params = json_object_get(action, "params"), *reply = NULL;
	int r = 0;

	call.kind = hook_kind(action, &call.item_id);
	if (call.kind == RYE_KIND__MAX) {
		rye_fail(err, RYE_INVALID, "hook %s names no kind of item", call.id);
		return NULL;
	}
	tool_call_settle(agent, &call);
	if (json_flag(action, HOOK_NAMED, false) ||
	    (json_flag(action, HOOK_WORDED, false) && hook_is_shell(agent, &call)))
		call.free = false;
	snprintf(call.primary, sizeof(call.primary), "%s", *primary ? primary : "execute");
	call.arguments = strcmp(call.primary, "execute") && params ? json_deep_copy(params) :
								     json_object();
	if (params && !strcmp(call.primary, "execute"))
		json_object_set(call.arguments, "parameters", params);
	if (!call.free)
		r = tool_call_allowed(agent, &call, err);
	if (!r)
		reply = tool_call_execute(agent, &call, err);
	json_decref(call.arguments);
	return reply;
}

/* ---- steering ---- */

/* One action: the control tool steers, the rest of the internal ones is the runner's own work. */
static void hook_act(struct agent *agent, const json_t *hook, const json_t *action,
		     struct hook_verdict *verdict)
{
	const json_t *params = json_object_get(action, "params");
	auto_json json_t *reply = NULL;
	struct rye_err err = { 0 };
	const char *id;

	hook_kind(action, &id);
	if (!strcmp(id, EXPR_CONTROL) && !json_flag(action, HOOK_NAMED, false)) {
		enum expr_steer steer = expr_steer_of(json_str(params, "action"));
		const char *why = json_str(params, *json_str(params, "error") ? "error" : "reason");

		if (verdict && verdict->steer == STEER_NONE) {
			verdict->steer = steer;
			snprintf(verdict->why, sizeof(verdict->why), "%s", why);
		}
		return;
	}
	if (!strncmp(id, HOOK_INTERNAL, strlen(HOOK_INTERNAL)) || !*id)
		return;
	reply = hook_call(agent, hook, action, &err);
	if (!reply)
		agent_warn(agent, "hook %s: %s", json_str(hook, "id"), err.msg);
	else if (!strcmp(json_str(reply, "status"), "error"))
		agent_warn(agent, "hook %s: %s", json_str(hook, "id"), json_str(reply, "error"));
}

void hooks_run(struct agent *agent, enum expr_event event, json_t *doc,
	       struct hook_verdict *verdict)
{
	json_t *hook, *action;
	size_t i, k;

	if (verdict)
		*verdict = (struct hook_verdict){ .steer = STEER_NONE };
	json_array_foreach(agent->hooks, i, hook) {
		json_t *actions = json_object_get(hook, "actions");
		auto_json json_t *one = json_array();

		if (!hook_applies(hook, event, doc))
			continue;
		json_array_append(one, json_object_get(hook, "action"));
		json_array_foreach(actions ? actions : one, k, action) {
			auto_json json_t *filled = hook_fill(action, doc);

			hook_act(agent, hook, filled, verdict);
		}
	}
	json_decref(doc);
}

/* ---- text for the first message ---- */

static bool hook_wraps(const json_t *hook)
{
	const json_t *wrap = json_object_get(hook, "wrap");
	const char *text = json_string_value(wrap);

	if (text)
		return strcasecmp(text, "false") != 0 && strcmp(text, "0") != 0;
	return !wrap || json_truthy(wrap);
}

/* Of another reply than a knowledge entry's own text. */
static const char *hook_content(const json_t *reply)
{
	static const char *const keys[] = { "content", "body", "raw", "output" };
	const json_t *data = json_object_get(reply, "data");

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (*json_str(data, keys[i]))
			return json_str(data, keys[i]);
	for (size_t i = 0; i < 2; i++)
		if (*json_str(reply, keys[i]))
			return json_str(reply, keys[i]);
	return "";
}

static void hook_block(struct hook_text *text, const json_t *hook, const json_t *action,
		       const char *content)
{
	bool after = !strcmp(json_str(hook, "position"), "after");
	struct rye_buf *out = after ? &text->after : &text->before;
	json_t *blocks = after ? text->after_blocks : text->before_blocks;
	const char *id, *leaf, *type = json_str(action, "item_type");

	hook_kind(action, &id);
	leaf = strrchr(id, '/') ? strrchr(id, '/') + 1 : id;
	if (out->len)
		buf_adds(out, "\n\n");
	if (!hook_wraps(hook))
		buf_adds(out, content);
	else if (*type)
		buf_addf(out, "<%s id=\"%s\" type=\"%s\">\n%s\n</%s>", leaf, id, type, content,
			 leaf);
	else
		buf_addf(out, "<%s id=\"%s\">\n%s\n</%s>", leaf, id, content, leaf);
	json_array_append_new(blocks, json_pack("{s:s, s:s, s:s}", "id", id, "content", content,
						"role", "user"));
	json_array_append_new(text->layers, json_string(json_str(hook, "id")));
}

/* What another model has said is named by a signed text, or the thread may fetch it itself. */
static bool hook_may_put(struct agent *agent, const char *id, const json_t *pair[2])
{
	auto_json json_t *none = json_object();
	const struct tool_call call = { .primary = "fetch",
					.kind = RYE_KNOWLEDGE,
					.item_id = id,
					.arguments = none };
	struct rye_err err = { 0 };

	if (!json_flag(pair[1], HOOK_NAMED, false) || strncmp(id, "agent/threads/", 14) != 0 ||
	    !tool_call_allowed(agent, &call, &err))
		return true;
	agent_warn(agent, "hook %s was left out: %s", json_str(pair[0], "id"), err.msg);
	return false;
}

/* A knowledge entry without header lines and metadata, whichever primitive is named. */
static int hook_knowledge(struct agent *agent, const char *id, struct hook_text *text,
			  const json_t *pair[2], struct rye_err *err)
{
	auto_json json_t *ids = json_pack("[s]", id);
	auto_json json_t *blocks = json_array();
	auto_buf struct rye_buf content = RYE_BUF_INIT;
	int r = context_put(agent, ids, blocks, &content, err);

	if (!r && json_array_size(blocks))
		hook_block(text, pair[0], pair[1], content.data ? content.data : "");
	return r;
}

static int hook_inject(struct agent *agent, const json_t *hook, const json_t *action,
		       struct hook_text *text, struct rye_err *err)
{
	const json_t *pair[2] = { hook, action };
	auto_json json_t *reply = NULL;
	struct rye_err why = { 0 };
	const char *id;

	if (json_object_get(agent->suppressed, json_str(hook, "id")) ||
	    json_object_get(agent->suppressed, json_str(action, "item_id")))
		return 0;
	if (hook_kind(action, &id) == RYE_KNOWLEDGE)
		return hook_may_put(agent, id, pair) ? hook_knowledge(agent, id, text, pair, err) :
						       0;
	reply = hook_call(agent, hook, action, &why);
	if (reply && *hook_content(reply))
		hook_block(text, hook, action, hook_content(reply));
	else if (rye_code_integrity(why.code) ||
		 !strcmp(json_str(reply, "error_type"), "integrity"))
		return rye_fail(err, RYE_MODIFIED, "hook %s: %s", json_str(hook, "id"),
				reply ? json_str(reply, "error") : why.msg);
	else
		agent_warn(agent, "hook %s was left out: %s", json_str(hook, "id"),
			   reply ? json_str(reply, "error") : why.msg);
	return 0;
}

int hooks_text(struct agent *agent, enum expr_event event, json_t *doc, struct hook_text *ret,
	       struct rye_err *err)
{
	json_t *hook, *action;
	size_t i, k;
	int r = 0;

	json_array_foreach(agent->hooks, i, hook) {
		json_t *actions = json_object_get(hook, "actions");
		auto_json json_t *one = json_array();

		if (r || !hook_applies(hook, event, doc))
			continue;
		json_array_append(one, json_object_get(hook, "action"));
		json_array_foreach(actions ? actions : one, k, action) {
			auto_json json_t *filled = hook_fill(action, doc);

			r = r ? r : hook_inject(agent, hook, filled, ret, err);
		}
	}
	json_decref(doc);
	return r;
}

void hook_text_init(struct hook_text *text)
{
	*text = (struct hook_text){ .before_blocks = json_array(),
				    .after_blocks = json_array(),
				    .layers = json_array() };
}

void hook_text_done(struct hook_text *text)
{
	buf_done(&text->before);
	buf_done(&text->after);
	json_decref(text->before_blocks);
	json_decref(text->after_blocks);
	json_decref(text->layers);
}
