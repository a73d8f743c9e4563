/* SPDX-License-Identifier: MIT */
/*
 * The schemas for editors say what the engine says: what expr_check_hook, remote_read and the checks of
 * execution refuse, these refuse, and what is good there is good here. Graphs: tests/table/table_graph.c.
 */
#include "expr/expr.h"
#include "forms/forms.h"
#include "remote/remote.h"
#include "schema/schema.h"
#include "scope.h"

#include "rye_test.h"

static json_t *document(const char *text)
{
	json_t *doc = schema_of("%s", text);

	assert_non_null(doc);
	return doc;
}

static bool fits(const json_t *schema, const json_t *doc)
{
	struct schema_report report = { 0 };
	bool good = schema_fit(schema, doc, &report);

	schema_report_done(&report);
	return good;
}

/* {text of a form's member, is it good} */
struct forms_case {
	const char *text;
	bool good;
};

static void hooks_agree(void **state)
{
	static const struct forms_case cases[] = {
		{ "{'event': 'after_complete', 'action': {'item_id': 'tool:a/b'}}", true },
		{ "{'id': 'x', 'event': 'limit', 'layer': 2, 'action': {'item_id': "
		  "'tool:rye/agent/threads/internal/control', 'params': {'action': 'abort'}}}",
		  true },
		{ "{'event': 'error', 'condition': {'any': [{'path': 'a', 'op': 'eq', 'value': 1}]},"
		  " 'actions': [{'item_id': 'a', 'params': {}}, {'item_id': 'b', 'params': null}]}",
		  true },
		{ "{'event': 'resolve_extends', 'action': {'set_extends': 'a/b'}}", true },
		{ "{'event': 'thread_started', 'condition': {}, 'wrap': 'x', 'action': {'item_id': 'a'}}",
		  true },
		{ "[]", false },
		{ "{}", false },
		{ "{'event': 'never', 'action': {'item_id': 'a'}}", false },
		{ "{'event': 'graph_started', 'action': {'item_id': 'a'}}", false },
		{ "{'event': 'error'}", false },
		{ "{'event': 'error', 'action': 'tool:a'}", false },
		{ "{'event': 'error', 'action': {}}", false },
		{ "{'event': 'error', 'layer': 9, 'action': {'item_id': 'a'}}", false },
		{ "{'event': 'error', 'layer': 'a', 'action': {'item_id': 'a'}}", false },
		{ "{'event': 'error', 'condition': 5, 'action': {'item_id': 'a'}}", false },
		{ "{'event': 'error', 'condition': {'path': 5}, 'action': {'item_id': 'a'}}",
		  false },
		{ "{'event': 'error', 'condition': {'path': 'a', 'op': '='}, 'action': {'item_id': 'a'}}",
		  false },
		{ "{'event': 'error', 'condition': {'all': 5}, 'action': {'item_id': 'a'}}",
		  false },
		{ "{'event': 'error', 'condition': {'not': {'op': 'eq'}}, 'action': {'item_id': 'a'}}",
		  false },
		{ "{'event': 'error', 'action': {'item_id': 'a', 'primary': 'run'}}", false },
		{ "{'event': 'error', 'action': {'item_id': 'a', 'params': [1]}}", false },
		{ "{'event': 'error', 'actions': [{'item_id': 'a'}, 7]}", false },
		{ "{'event': 'resolve_extends', 'action': {'item_id': 'a'}}", false },
		{ "{'event': 'after_step', 'action': {'item_id': "
		  "'rye/agent/threads/internal/control', 'params': {'action': 'abort'}}}",
		  false },
		{ "{'event': 'error', 'action': {'item_id': "
		  "'rye/agent/threads/internal/control', 'params': {'action': 'stop'}}}",
		  false },
	};
	auto_json json_t *schema = form_schema(form_named("hooks"));

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		auto_json json_t *hook = document(cases[i].text), *faults = json_array();
		auto_json json_t *file = json_pack("{s:s, s:s, s:[O]}", "category", "agent",
						   "version", "1.0.0", "hooks", hook);
		auto_json json_t *ignored = json_array();
		const struct hook_check check = { HOOK_OF_CONFIG, "hook", faults, faults, ignored };

		expr_check_hook(hook, &check);
		if (cases[i].good == (json_array_size(faults) > 0) ||
		    cases[i].good != fits(schema, file))
			fail_msg("%s: engine %s, schema %s", cases[i].text,
				 json_array_size(faults) ? "refuses" : "takes",
				 fits(schema, file) ? "takes" : "refuses");
	}
}

static void remotes_agree(void **state)
{
	static const struct forms_case cases[] = {
		{ "{'a': {'url': 'ssh://me@host'}}", true },
		{ "{'a.b-c_1': {'url': 'command:x y', 'timeout': 5, 'project_path': 'p', 'push': ['a'],"
		  " 'secrets': [], 'labels': ['x']}}",
		  true },
		{ "{'a': 5}", false },
		{ "{'a': {}}", false },
		{ "{'a': {'url': ''}}", false },
		{ "{'a': {'url': 'gopher://x'}}", false },
		{ "{'a b': {'url': 'ssh://me@host'}}", false },
		{ "{'remotes': {'url': 'ssh://me@host'}}", false },
		{ "{'a': {'url': 'ssh://me@host', 'timeout': -1}}", false },
		{ "{'a': {'url': 'ssh://me@host', 'timeout': 'x'}}", false },
		{ "{'a': {'url': 'ssh://me@host', 'timeout': null}}", false },
		{ "{'a': {'url': 'ssh://me@host', 'timeout': 86401}}", false },
		{ "{'a': {'url': 'ssh://me@host', 'push': 'a'}}", false },
		{ "{'a': {'url': 'ssh://me@host', 'secrets': ['']}}", false },
		{ "{'a': {'url': 'ssh://me@host', 'labels': [1]}}", false },
		{ "{'a': {'url': 'ssh://me@host', 'labels': null}}", false },
	};
	auto_json json_t *schema = form_schema(form_named("remotes"));

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		auto_json json_t *map = document(cases[i].text);
		auto_json json_t *file = json_pack("{s:s, s:s, s:O}", "category", "remotes",
						   "version", "1.0.0", "remotes", map);
		auto_remote struct remote remote = { 0 };
		struct rye_err err = { 0 };
		const char *name;
		json_t *entry;
		int r = 0;

		json_object_foreach(map, name, entry)
			r = remote_read(name, entry, &remote, &err);
		if (cases[i].good != !r || cases[i].good != fits(schema, file))
			fail_msg("%s: engine %s, schema %s", cases[i].text, r ? err.msg : "takes",
				 fits(schema, file) ? "takes" : "refuses");
	}
}

/* Each is in order itself, by the rules that tools' schemas are held to. */
static void forms_are_schemas(void **state)
{
	(void)state;
	for (const struct editor_form *form = forms; form->name; form++) {
		auto_json json_t *schema = form_schema(form);
		auto_json json_t *faults = schema_lint(schema);

		if (json_array_size(faults))
			fail_msg("%s: %s", form->name,
				 json_string_value(json_array_get(faults, 0)));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(forms_are_schemas),
		cmocka_unit_test(hooks_agree),
		cmocka_unit_test(remotes_agree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
