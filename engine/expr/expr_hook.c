/* SPDX-License-Identifier: MIT */
/*
 * What a hook may say: the events that threads and graphs have, the ways in which one may be steered,
 * and what is wrong with a hook. The runner, the walker of graphs and signing read the same rows.
 */
#include "expr/expr.h"

#include "base/id.h"
#include "near.h"
#include "schema/schema.h"
#include "scope.h"

#include <stdlib.h>
#include <string.h>

enum event_use { USE_EFFECT, USE_TEXT, USE_STEER, USE_EXTENDS };

#define OF_THREAD (HOOK_OF_CONFIG | HOOK_OF_DIRECTIVE)

struct event_row {
	const char *name;
	unsigned of; /* which hooks are asked for it */
	enum event_use use; /* of a thread's */
};

static const struct event_row events[EVENT__MAX] = {
	[EVENT_RESOLVE_EXTENDS] = { "resolve_extends", HOOK_OF_CONFIG, USE_EXTENDS },
	[EVENT_BUILD_SYSTEM_PROMPT] = { "build_system_prompt", OF_THREAD, USE_TEXT },
	[EVENT_THREAD_STARTED] = { "thread_started", OF_THREAD, USE_TEXT },
	[EVENT_THREAD_CONTINUED] = { "thread_continued", OF_THREAD, USE_TEXT },
	[EVENT_CONTEXT_LIMIT_REACHED] = { "context_limit_reached", OF_THREAD, USE_STEER },
	[EVENT_DIRECTIVE_RETURN] = { "directive_return", OF_THREAD, USE_EFFECT },
	[EVENT_AFTER_COMPLETE] = { "after_complete", OF_THREAD, USE_EFFECT },
	[EVENT_GRAPH_STARTED] = { "graph_started", HOOK_OF_GRAPH, USE_EFFECT },
	[EVENT_AFTER_STEP] = { "after_step", OF_THREAD | HOOK_OF_GRAPH, USE_EFFECT },
	[EVENT_ERROR] = { "error", OF_THREAD | HOOK_OF_GRAPH, USE_STEER },
	[EVENT_LIMIT] = { "limit", OF_THREAD | HOOK_OF_GRAPH, USE_STEER },
	[EVENT_GRAPH_COMPLETED] = { "graph_completed", HOOK_OF_GRAPH, USE_EFFECT },
};

enum expr_event expr_event_of(const char *name)
{
	enum expr_event event = 0;

	while (event < EVENT__MAX && strcmp(events[event].name, name))
		event++;
	return event;
}

const char *expr_event_name(enum expr_event event)
{
	return events[event].name;
}

static const char *const steers[] = {
	[STEER_CONTINUE] = "continue", [STEER_RETRY] = "retry",	    [STEER_FAIL] = "fail",
	[STEER_ABORT] = "abort",       [STEER_SUSPEND] = "suspend", [STEER_ESCALATE] = "escalate"
};

enum expr_steer expr_steer_of(const char *action)
{
	if (!strcmp(action, "skip"))
		return STEER_CONTINUE;
	for (size_t i = STEER_CONTINUE; i < ARRAY_SIZE(steers); i++)
		if (!strcmp(steers[i], action))
			return (enum expr_steer)i;
	return STEER_NONE;
}

/* ---- what is wrong ---- */

static void hook_tell(const struct hook_check *to, json_t *list, const char *format, ...)
	RYE_PRINTF(3, 4);
static void hook_tell(const struct hook_check *to, json_t *list, const char *format, ...)
{
	char line[600];

	STR_FORMAT(line, format);
	json_array_append_new(list, json_sprintf("%s: %s", to->where, line));
}

/* Of those that such a hook is asked for. */
static void check_event(const char *name, const struct hook_check *to)
{
	static const char *const owners[] = { [HOOK_OF_CONFIG] = "thread",
					      [HOOK_OF_DIRECTIVE] = "directive",
					      [HOOK_OF_GRAPH] = "graph" };
	auto_buf struct rye_buf names = RYE_BUF_INIT;
	enum expr_event event = expr_event_of(name);
	struct near_word near;

	if (event != EVENT__MAX && (events[event].of & to->of))
		return;
	near_start(&near, name);
	for (size_t i = 0; i < EVENT__MAX; i++) {
		if (!(events[i].of & to->of))
			continue;
		near_offer(&near, events[i].name, events[i].name);
		buf_addf(&names, "%s%s", names.len ? ", " : "", events[i].name);
	}
	if (!*name)
		hook_tell(to, to->faults, "event: missing: wanted one of %s", names.data);
	else if (near.best)
		hook_tell(to, to->never,
			  "event: '%.60s' is none of a %s's: it never comes: did you mean %s?",
			  name, owners[to->of], near.best);
	else
		hook_tell(to, to->never,
			  "event: '%.60s' is none of a %s's: it never comes: wanted one of %s",
			  name, owners[to->of], names.data);
}

/* XML has it as text. */
static void check_layer(const json_t *layer, const struct hook_check *to)
{
	const char *text = json_string_value(layer);
	json_int_t value = json_is_integer(layer) ? json_integer_value(layer) : -1;

	if (text && to->of == HOOK_OF_DIRECTIVE && *text && !text[strspn(text, "0123456789")])
		value = atoi(text);
	if (!layer || json_is_null(layer))
		return;
	if (to->of == HOOK_OF_GRAPH && (value < 1 || value > 3))
		hook_tell(to, to->faults, "layer: 1, 2 or 3 is wanted");
	else if (to->of != HOOK_OF_GRAPH && (value < 0 || value > LAYER_INFRA))
		hook_tell(to, to->never, "layer: a whole number from 0 to %d is wanted",
			  LAYER_INFRA);
}

static const struct key_row {
	const char *name;
	unsigned of;
	bool text; /* counts where a hook's text is put into a prompt alone */
} keys[] = {
	{ "id", OF_THREAD | HOOK_OF_GRAPH },
	{ "description", OF_THREAD | HOOK_OF_GRAPH },
	{ "comment", OF_THREAD | HOOK_OF_GRAPH },
	{ "event", OF_THREAD | HOOK_OF_GRAPH },
	{ "condition", OF_THREAD | HOOK_OF_GRAPH },
	{ "action", OF_THREAD | HOOK_OF_GRAPH },
	{ "layer", OF_THREAD | HOOK_OF_GRAPH },
	{ "actions", OF_THREAD },
	{ "position", OF_THREAD, true },
	{ "wrap", OF_THREAD, true },
};

static void check_keys(const json_t *hook, const struct hook_check *to)
{
	enum expr_event event = expr_event_of(json_str(hook, "event"));
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)hook, key, value) {
		struct near_word near;
		bool known = false;

		near_start(&near, key);
		for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
			bool read = (keys[i].of & to->of) &&
				    (!keys[i].text || event == EVENT__MAX ||
				     events[event].use == USE_TEXT);

			known |= read && !strcmp(keys[i].name, key);
			if (read)
				near_offer(&near, keys[i].name, keys[i].name);
		}
		if (!known && near.best)
			hook_tell(to, to->warnings, "'%.80s' is not read: did you mean %s?", key,
				  near.best);
		else if (!known)
			hook_tell(to, to->warnings,
				  "'%.80s' is not read: a hook has id, event, condition, action "
				  "and layer",
				  key);
	}
}

static const char *const primaries[] = { "execute", "fetch", "sign", NULL };
/* Of an action. */
static const struct schema_field call_fields[] = {
	{ "primary", FIELD_TEXT, .choices = primaries,
	  .about = "What is done; execute where absent." },
	{ "kind", FIELD_TEXT,
	  .about = "Of an id without one: tool, directive, knowledge or config." },
	{ "item_type", FIELD_TEXT, .about = "The same as kind." },
	{ "item_id", FIELD_TEXT, .about = "The item that is called, as tool:my/notify." },
	{ "params", FIELD_MAP, .about = "What it is given." },
	{ "set_extends", FIELD_TEXT, .about = "At resolve_extends: the id of a directive." },
	{ "description", FIELD_ANY },
	{ "comment", FIELD_ANY },
	{ NULL },
};

static void check_call_keys(const json_t *action, const struct hook_check *to)
{
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)action, key, value) {
		if (!field_named(call_fields, key))
			hook_tell(
				to, to->warnings,
				"action: '%.80s' is not read: what the call takes goes into params",
				key);
	}
}

/* Which item is called, and how. */
static void check_call(const json_t *action, const char *id, const struct hook_check *to)
{
	const char *primary = json_str(action, "primary"), *kind = json_str(action, "kind"), *bare;
	const json_t *params = json_object_get(action, "params");

	if (!*kind)
		kind = json_str(action, "item_type");
	if (*kind && id_split(id, &bare) == RYE_KIND__MAX && kind_from_name(kind) == RYE_KIND__MAX)
		hook_tell(to, to->never,
			  "action: '%.60s' is no kind of item: wanted tool, "
			  "directive, knowledge or config",
			  kind);
	if (*primary && !field_chosen(field_named(call_fields, "primary"), primary))
		hook_tell(to, to->never, "action.primary: '%.60s': wanted execute, fetch or sign",
			  primary);
	if (params && !json_is_null(params) && !json_is_object(params))
		hook_tell(to, to->never, "params: a mapping is wanted");
	check_call_keys(action, to);
	expr_check_template(json_object_get(action, "item_id"), to->where, to->never);
	expr_check_template(params, to->where, to->never);
}

/* The tool that steers does nothing where there is nothing to steer. */
static void check_steering(const json_t *action, enum expr_event event, const struct hook_check *to)
{
	const char *word = json_str(json_object_get(action, "params"), "action");

	if (event != EVENT__MAX && events[event].use != USE_STEER)
		hook_tell(to, to->never,
			  "event: nothing is steered at '%s': wanted limit, error or "
			  "context_limit_reached",
			  events[event].name);
	if (!*word)
		hook_tell(to, to->never,
			  "params: action: missing: wanted continue, retry, fail or abort");
	else if (!strstr(word, "${") && expr_steer_of(word) == STEER_NONE)
		hook_tell(to, to->never,
			  "params: action: '%.60s' is none: wanted continue, retry, fail or abort",
			  word);
}

static void check_action(const json_t *action, enum expr_event event, const struct hook_check *to)
{
	const char *id = json_str(action, "item_id"), *bare = id;

	if (!json_is_object(action)) {
		hook_tell(to, to->faults, "action: a mapping is wanted");
		return;
	}
	/* graphs read theirs as those of nodes */
	if (to->of == HOOK_OF_GRAPH)
		return;
	if (event == EVENT_RESOLVE_EXTENDS) {
		if (!*json_str(action, "set_extends"))
			hook_tell(to, to->faults,
				  "action: set_extends: the id of a directive is wanted");
		return;
	}
	if (!*id) {
		hook_tell(to, to->faults, "action: it names no item: wanted item_id, as tool:a/b");
		return;
	}
	check_call(action, id, to);
	if (id_split(id, &bare) == RYE_KIND__MAX)
		bare = id;
	if (!strcmp(bare, EXPR_CONTROL))
		check_steering(action, event, to);
}

void expr_check_hook(const json_t *hook, const struct hook_check *to)
{
	enum expr_event event = expr_event_of(json_str(hook, "event"));
	const json_t *condition = json_object_get(hook, "condition"), *action,
		     *actions = to->of & OF_THREAD ? json_object_get(hook, "actions") : NULL;
	size_t i;

	if (!json_is_object(hook)) {
		hook_tell(to, to->faults, "a mapping {event, condition, action} is wanted");
		return;
	}
	check_event(json_str(hook, "event"), to);
	check_layer(json_object_get(hook, "layer"), to);
	expr_check_condition(condition, to->where, to->never);
	if (json_is_object(condition) && !json_object_size(condition))
		hook_tell(to, to->warnings,
			  "condition: it is empty, and holds always: wanted "
			  "path, op and value");
	check_keys(hook, to);
	if (!json_is_array(actions))
		check_action(json_object_get(hook, "action"), event, to);
	json_array_foreach(actions, i, action) {
		check_action(action, event, to);
	}
}

/* ---- as JSON Schema ---- */

static json_t *hook_events(enum hook_of of, bool steered)
{
	json_t *names = json_array();

	for (size_t i = 0; i < EVENT__MAX; i++)
		if ((events[i].of & of) && (!steered || events[i].use == USE_STEER))
			json_array_append_new(names, json_string(events[i].name));
	return json_pack("{s:o}", "enum", names);
}

/* A call names an item; where only a directive's id is asked for, that. */
static json_t *hook_call(void)
{
	json_t *call = fields_schema(call_fields, true);

	json_set(call, "anyOf",
		 json_pack("[{s:[s]}, {s:[s]}]", "required", "item_id", "required", "set_extends"));
	return call;
}

/* What holds at one event, or for one item, alone. */
static json_t *hook_cases(enum hook_of of)
{
	json_t *names = json_pack("[s]", "skip");
	auto_free char *words = NULL, *steered = schema_text(hook_events(of, true));

	for (size_t i = STEER_CONTINUE; i < ARRAY_SIZE(steers); i++)
		json_array_append_new(names, json_string(steers[i]));
	words = schema_text(names);
	return schema_of(
		"[{'if': {'properties': {'event': {'const': '%s'}}},"
		"  'then': {'properties': {'action': {'required': ['set_extends']}}},"
		"  'else': {'properties': {'action': {'required': ['item_id']}}}},"
		" {'if': {'required': ['action'], 'properties': {'action':"
		"    {'required': ['item_id'],"
		"     'properties': {'item_id': {'pattern': '^([a-z]+:)?%s$'}}}}},"
		"  'then': {'properties': {'event': %s, 'action': {'required': ['params'],"
		"    'properties': {'params': {'required': ['action'], 'properties': {'action':"
		"     {'anyOf': [{'enum': %s}, {'pattern': '[$][{]'}]}}}}}}}}]",
		events[EVENT_RESOLVE_EXTENDS].name, EXPR_CONTROL, steered ? steered : "{}",
		words ? words : "[]");
}

static json_t *hook_member(const char *name, enum hook_of of, json_t *action)
{
	bool graph = of == HOOK_OF_GRAPH;

	if (!strcmp(name, "event"))
		return hook_events(of, false);
	if (!strcmp(name, "condition"))
		return json_pack("{s:s}", "$ref", EXPR_CONDITION);
	if (!strcmp(name, "layer"))
		return json_pack("{s:[s, s], s:i, s:i}", "type", "integer", "null", "minimum",
				 graph, "maximum", graph ? 3 : LAYER_INFRA);
	if (!strcmp(name, "action"))
		return json_incref(action);
	if (!strcmp(name, "actions"))
		return json_pack("{s:[s, s], s:O}", "type", "array", "null", "items", action);
	return json_object();
}

json_t *expr_hook_schema(enum hook_of of, json_t *action)
{
	auto_json json_t *call = action ? action : hook_call();
	json_t *members = json_object();
	json_t *schema = json_pack("{s:s, s:[s], s:o, s:b, s:[{s:[s]}, {s:[s]}]}", "type", "object",
				   "required", "event", "properties", members,
				   "additionalProperties", 0, "anyOf", "required", "action",
				   "required", "actions");

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (keys[i].of & of)
			json_set(members, keys[i].name, hook_member(keys[i].name, of, call));
	if (!action)
		json_set(schema, "allOf", hook_cases(of));
	return schema;
}
