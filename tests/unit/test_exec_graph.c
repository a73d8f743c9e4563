/* SPDX-License-Identifier: MIT */
/*
 * State graphs through the engine: the bundled runtime, real calls, permissions of the graph and of
 * what calls it, limits by configuration, what is wrong before the first node.
 */
#include "rye_test.h"

#include "exec_tools.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/stat.h>

#define RUNTIME "rye/core/runtimes/state-graph/runtime"

/* t/a is the graph; more: top-level YAML; config: indented by two. */
static void graph_put(struct exec_place *p, const char *file, const char *more, const char *config)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;

	buf_addf(&text, "%sconfig:\n%s", more, config);
	exec_yaml(p, file, RUNTIME, text.data);
}

#define MAY "permissions: ['rye.execute.tool.t.*']\n"

#define TWO                                                                                        \
	"  start: one\n  nodes:\n"                                                                 \
	"    one: {action: {primary: execute, item_id: 'tool:t/add', params: {n: "                 \
	"'${inputs.n}', no: '${state.no}'}}, assign: {n: '${result.n}'}, next: two}\n"             \
	"    two: {type: foreach, over: ['${state.n}', 10], as: v, parallel: true, collect: all, " \
	"action: {item_type: tool, item_id: t/add, params: {n: '${v}'}}, next: end}\n"             \
	"    end: {type: return, output: {n: '${state.n}', all: '${state.all}'}}\n"

static void put_add(struct exec_place *p)
{
	exec_function(p, "t/add.py",
		      "if p.get('n') == 13: return {'success': False, 'error': 'bad luck'}\n"
		      "return {'success': True, 'n': p['n'] + 1, 'keys': sorted(p)}");
}

static void case_103_graph_with_and_without_limits(void **state)
{
	struct exec_place *p = *state;

	put_add(p);
	graph_put(p, "t/a.yaml", MAY, "  max_steps: 10\n  max_concurrency: 2\n" TWO);
	exec_wants(
		p, "{\"n\":1}",
		"{\"status\":\"success\",\"data\":{\"success\":true,\"status\":\"completed\","
		"\"steps\":3,\"graph_run_id\":\"^t-a-\",\"=output\":{\"n\":2,\"all\":[{\"success\":"
		"true,\"n\":3,\"keys\":[\"n\"]},{\"success\":true,\"n\":11,\"keys\":[\"n\"]}]}},"
		"\"chain\":[\"t/a\",\"" RUNTIME "\",\"rye/core/primitives/graph\"]}");
	graph_put(p, "t/a.yaml", MAY, TWO);
	exec_wants(p, "{\"n\":1}", "{\"status\":\"success\",\"data\":{\"steps\":3}}");
}

/* How often t/count has run. */
static size_t count_calls(const struct exec_place *p)
{
	auto_buf struct rye_buf path = RYE_BUF_INIT;
	struct stat st;

	buf_addf(&path, "%s/calls", p->place.project);
	return stat(path.data, &st) < 0 ? 0 : (size_t)st.st_size;
}

#define COUNT "open('calls', 'a').write('x')\n"

static const char kept_graph[] =
	"  start: s\n  nodes:\n"
	"    s: {action: {item_id: 'tool:t/count', params: {n: '${inputs.n}'}}, cache_result: true, "
	"assign: {n: '${result.n}'}, next: l}\n"
	"    l: {type: foreach, over: [5, '${inputs.n}', 5], cache_result: true, collect: all, "
	"action: {item_id: 'tool:t/count', params: {n: '${item}'}}, next: e}\n"
	"    e: {type: return, output: ['${state.n}', '${state.all.0.n}', '${state.all.1.n}']}\n";

static void results_are_kept(struct exec_place *p, const char *inputs, const char *output,
			     size_t calls)
{
	auto_buf struct rye_buf want = RYE_BUF_INIT;

	buf_addf(&want, "{\"status\":\"success\",\"data\":{\"=output\":%s}}", output);
	exec_wants(p, inputs, want.data);
	assert_int_equal(count_calls(p), calls);
}

/* A call that is the same as an earlier one is not made: same graph, node, parameters, same tool. */
static void a_node_keeps_its_results(void **state)
{
	auto_buf struct rye_buf other = RYE_BUF_INIT;
	struct exec_place *p = *state;

	exec_function(p, "t/count.py", COUNT "return {'success': p['n'] != 13, 'n': p['n'] + 1}");
	graph_put(p, "t/a.yaml", MAY, kept_graph);
	results_are_kept(p, "{\"n\":1}", "[2,6,2]", 3); /* of the list the third is the first */
	results_are_kept(p, "{\"n\":1}", "[2,6,2]", 3);
	results_are_kept(p, "{\"n\":2}", "[3,6,3]", 5);
	/* another tool */
	exec_function(p, "t/count.py", COUNT "return {'success': p['n'] != 13, 'n': p['n'] + 10}");
	results_are_kept(p, "{\"n\":1}", "[11,15,11]", 8);
	/* what fails is done again */
	exec_wants(p, "{\"n\":13}", "{\"status\":\"error\",\"data\":{\"node\":\"s\"}}");
	exec_wants(p, "{\"n\":13}", "{\"status\":\"error\",\"data\":{\"node\":\"s\"}}");
	assert_int_equal(count_calls(p), 10);
	/* without the permission there is no result either */
	exec_wants(p, "{\"n\":1,\"capabilities\":[\"rye.execute.tool.t.none\"]}",
		   "{\"error\":\"~Permission denied: 'rye.execute.tool.t.count'\"}");
	/* another graph */
	buf_addf(&other, "  max_steps: 9\n%s", kept_graph);
	graph_put(p, "t/a.yaml", MAY, other.data);
	results_are_kept(p, "{\"n\":1}", "[11,15,11]", 13);
}

static void steps_are_limited(void **state)
{
	struct exec_place *p = *state;

	put_add(p);
	graph_put(p, "t/a.yaml", MAY, "  max_steps: 2\n" TWO);
	exec_wants(
		p, "{\"n\":1}",
		"{\"status\":\"error\",\"error\":\"Max steps exceeded (2)\",\"data\":{\"steps\":2}}");
	graph_put(p, "t/a.yaml", MAY, TWO);
	exec_wants(p, "{\"n\":1,\"max_steps\":1}", "{\"error\":\"Max steps exceeded (1)\"}");
	exec_wants(
		p, "{\"n\":1,\"max_steps\":\"x\"}",
		"{\"error\":\"Invalid parameters: max_steps: expected a whole number of at least "
		"1\"}");
}

static void a_failing_node_fails_the_graph(void **state)
{
	struct exec_place *p = *state;

	put_add(p);
	graph_put(p, "t/a.yaml", MAY, TWO);
	exec_wants(p, "{\"n\":13}",
		   "{\"status\":\"error\",\"error\":\"bad luck\",\"data\":{\"success\":false,"
		   "\"node\":\"one\",\"steps\":1,\"state\":{\"inputs\":{\"n\":13}}}}");
}

/* Nothing that the graph does not name; nothing that a caller leaves out of what it grants. */
static void permissions_are_checked(void **state)
{
	struct exec_place *p = *state;

	put_add(p);
	graph_put(p, "t/a.yaml", "permissions: ['rye.execute.tool.other.*']\n", TWO);
	exec_wants(
		p, "{\"n\":1}",
		"{\"status\":\"error\",\"error\":\"Permission denied: 'rye.execute.tool.t.add' not "
		"covered by capabilities\",\"data\":{\"node\":\"one\"}}");
	graph_put(p, "t/a.yaml", "", TWO);
	exec_wants(p, "{\"n\":1}", "{\"error\":\"~Graph validation failed: permissions: \"}");
	graph_put(p, "t/a.yaml", MAY, TWO);
	exec_wants(p, "{\"n\":1,\"capabilities\":[\"rye.execute.tool.t.none\"]}",
		   "{\"error\":\"~Permission denied: 'rye.execute.tool.t.add'\"}");
	exec_wants(p, "{\"n\":1,\"capabilities\":[\"rye.execute.tool.t.add\"]}",
		   "{\"status\":\"success\"}");
	graph_put(p, "t/a.yaml", "permissions: ['*', 'rye.*']\n",
		  "  start: s\n  nodes: {s: {action: {primary: sign, item_id: 'tool:t/add'}}}\n");
	exec_wants(p, "{}", "{\"error\":\"~signing is for a person\"}");
}

/* t/d and t/d/d are one tool: a permission may name it either way, and so may a node. */
static void a_directory_tool_is_permitted_by_both_names(void **state)
{
	static const char *const may[] = { "t.d", "t.d.d", "t.d.*", "t.d*" };
	static const char *const ids[] = { "t/d", "t/d/d" };
	struct exec_place *p = *state;

	exec_function(p, "t/d/d.py", "return {'success': True, 'n': 1}");
	for (size_t i = 0; i < ARRAY_SIZE(may) * ARRAY_SIZE(ids); i++) {
		auto_buf struct rye_buf more = RYE_BUF_INIT, config = RYE_BUF_INIT;

		buf_addf(&more, "permissions: ['rye.execute.tool.%s']\n", may[i / 2]);
		buf_addf(&config, "  start: s\n  nodes: {s: {action: {item_id: 'tool:%s'}}}\n",
			 ids[i % 2]);
		graph_put(p, "t/a.yaml", more.data, config.data);
		exec_wants(p, "{}", "{\"status\":\"success\"}");
		exec_wants(p, "{\"capabilities\":[\"rye.execute.tool.t.d.x\"]}",
			   "{\"error\":\"~Permission denied: 'rye.execute.tool.t.d\"}");
	}
	graph_put(p, "t/a.yaml", "permissions: ['rye.execute.tool.t']\n",
		  "  start: s\n  nodes: {s: {action: {item_id: 'tool:t/d'}}}\n");
	exec_wants(p, "{}", "{\"error\":\"~Permission denied: 'rye.execute.tool.t.d.d'\"}");
}

/* A graph in a graph: the inner one's calls need the outer one's permission, too. */
static void permissions_hold_for_what_is_called(void **state)
{
	static const char inner[] =
		"  start: s\n  nodes:\n"
		"    s: {action: {item_id: 'tool:t/add', params: {n: 1}}, assign: "
		"{n: '${result.n}'}, next: e}\n"
		"    e: {type: return, output: '${state.n}'}\n";
	static const char outer[] = "  start: s\n  nodes:\n"
				    "    s: {action: {item_id: 'tool:t/inner'}, assign: {n: "
				    "'${result.output}'}, next: e}\n"
				    "    e: {type: return, output: '${state.n}'}\n";
	struct exec_place *p = *state;

	put_add(p);
	graph_put(p, "t/inner.yaml", MAY, inner);
	graph_put(p, "t/a.yaml", MAY, outer);
	exec_wants(p, "{}", "{\"status\":\"success\",\"data\":{\"output\":2}}");
	graph_put(p, "t/a.yaml", "permissions: ['rye.execute.tool.t.inner']\n", outer);
	exec_wants(p, "{}", "{\"status\":\"error\",\"error\":\"~Permission denied: \"}");
}

static void held_wants(struct exec_place *p, const char *authority, const char *want)
{
	const struct rye_request req = { .verb = RYE_RUN,
					 .kind = RYE_TOOL,
					 .id = "t/a",
					 .authority = authority,
					 .message = SPAN("{\"n\":1}") };
	auto_said struct exec_said said = exec_ask(p, &req);

	exec_check(&said, want);
}

#define T_ALL "[\"rye.execute.tool.t.*\"]"
#define T_A "[\"rye.execute.tool.t.a\"]"

/* Its own permissions are not enough where a model's thread calls it: each thread above must allow. */
static void what_calls_the_graph_holds_it(void **state)
{
	static const char *const refusals[][2] = {
		{ "{\"capabilities\":[" T_A "]}",
		  "{\"error\":\"Permission denied: 'rye.execute.tool.t.add' not covered by "
		  "capabilities ['rye.execute.tool.t.a']\"}" },
		{ "{\"capabilities\":[" T_ALL "," T_A "]}", "{\"error\":\"~of a thread above\"}" },
		{ "{\"capabilities\":[[]]}", "{\"error\":\"~no capabilities declared\"}" },
		{ "{\"capabilities\":[" T_ALL "],\"within\":[" T_ALL "," T_A "]}",
		  "{\"error\":\"~Permission denied: what runs above it\"}" },
		{ "{\"capabilities\":[" T_ALL "],\"within\":[{\"capabilities\":[" T_A "]}]}",
		  "{\"error\":\"~Permission denied: what runs above it\"}" },
		{ "{\"within\":[[]]}", "{\"error\":\"~Permission denied: what runs above it\"}" },
		{ "{\"capabilities\":", "{\"error\":\"~Permission denied: no capabilities\"}" },
	};
	struct exec_place *p = *state;

	put_add(p);
	graph_put(p, "t/a.yaml", MAY, TWO);
	for (size_t i = 0; i < ARRAY_SIZE(refusals); i++)
		held_wants(p, refusals[i][0], refusals[i][1]);
	held_wants(p, "{\"capabilities\":[" T_ALL "," T_ALL "],\"within\":[" T_ALL "]}",
		   "{\"status\":\"success\"}");
	/* a hook of the configuration that is not held to its thread's capabilities */
	held_wants(p, "{\"capabilities\":[" T_A "],\"free\":true}", "{\"status\":\"success\"}");
	graph_put(p, "t/a.yaml", "permissions: ['rye.*']\n",
		  "  start: s\n  nodes: {s: {action: {primary: fetch, item_id: 'tool:t/add'}}}\n");
	held_wants(p, "{\"capabilities\":[" T_ALL "]}",
		   "{\"error\":\"~Permission denied: 'rye.fetch.tool.t.add'\"}");
	/* nor the graph itself, though its caller asks before */
	held_wants(p, "{\"capabilities\":[[\"rye.fetch.*\"]]}",
		   "{\"error\":\"~Permission denied: 'rye.execute.tool.t.a' not covered\"}");
	held_wants(p, "{\"capabilities\":[[\"rye.fetch.*\", \"rye.execute.tool.t.a\"]]}",
		   "{\"status\":\"success\"}");
}

static void knowledge_directives_and_fetch(void **state)
{
	struct exec_place *p = *state;

	exec_sign(p->place.project, RYE_KNOWLEDGE, "k/fact.md",
		  SPAN("---\nname: fact\ntitle: Fact\ncategory: k\nentry_type: reference\n"
		       "version: \"1.0.0\"\n---\n\nThe moon is round.\n"));
	graph_put(p, "t/a.yaml",
		  "permissions: ['rye.execute.knowledge.k.*', 'rye.fetch.knowledge.k.*']\n",
		  "  start: s\n  nodes:\n"
		  "    s: {action: {item_id: 'knowledge:k/fact'}, next: f}\n"
		  "    f: {action: {primary: fetch, item_id: 'knowledge:k/fact'}, assign: {text: "
		  "'${result.content}'}, next: e}\n"
		  "    e: {type: return, output: '${state.text}'}\n");
	exec_wants(p, "{}",
		   "{\"status\":\"success\",\"data\":{\"output\":\"~The moon is round.\"}}");
}

static void mistakes_are_told_before_anything_runs(void **state)
{
	struct exec_place *p = *state;

	graph_put(p, "t/a.yaml", MAY,
		  "  start: s\n  nodes: {s: {action: {item_id: 'tool:t/add'}, next: nowhere}}\n");
	exec_wants(
		p, "{}",
		"{\"status\":\"error\",\"error\":\"Graph validation failed: node 's': next: there is "
		"no node 'nowhere'\"}");
	exec_wants(
		p, "{\"validate\":true}",
		"{\"status\":\"error\",\"data\":{\"success\":false,\"node_count\":1,\"=errors\":["
		"\"node 's': next: there is no node 'nowhere'\"]}}");
	graph_put(
		p, "t/a.yaml", MAY,
		"  start: s\n  nodes: {s: {action: {item_id: 'tool:t/add'}}, x: {type: return}}\n");
	exec_wants(
		p, "{\"validate\":true}",
		"{\"status\":\"success\",\"data\":{\"success\":true,\"=errors\":[],\"node_count\":2,"
		"\"=warnings\":[\"unreachable nodes: x\"]}}");
	exec_wants(p, "{\"node\":\"y\"}", "{\"error\":\"Target node 'y' not found in graph\"}");
	exec_wants(p, "{\"resume\":true}", "{\"error\":\"~resume: graph_run_id\"}");
	exec_wants(p, "{\"graph_run_id\":\"t-a-1\"}",
		   "{\"error\":\"Cannot resume: no run t-a-1 of a graph\"}");
}

static void variables_are_wanted(void **state)
{
	struct exec_place *p = *state;

	put_add(p);
	graph_put(p, "t/a.yaml", MAY "env_requires: [GRAPH_TEST_ONE, PATH]\n",
		  "  start: s\n  nodes: {s: {env_requires: GRAPH_TEST_TWO, action: {item_id: "
		  "'tool:t/add', params: {n: 1}}}}\n");
	exec_wants(
		p, "{}",
		"{\"error\":\"Missing environment variables: graph requires 'GRAPH_TEST_ONE'; node "
		"'s' requires 'GRAPH_TEST_TWO'\"}");
}

static void inputs_are_checked(void **state)
{
	struct exec_place *p = *state;

	put_add(p);
	graph_put(p, "t/a.yaml",
		  MAY
		  "config_schema:\n  type: object\n  required: [w]\n  additionalProperties: false\n"
		  "  properties: {n: {type: integer, default: 4}, w: {type: string}}\n",
		  TWO);
	exec_wants(p, "{\"n\":1}", "{\"error\":\"Missing required parameters: w\"}");
	exec_wants(p, "{\"w\":\"x\",\"validate\":false}",
		   "{\"status\":\"success\",\"data\":{\"output\":{\"n\":5}}}");
	exec_wants(p, "{\"validate\":true}", "{\"status\":\"success\"}");
}

static void one_node_and_then_the_rest(void **state)
{
	struct exec_place *p = *state;
	auto_buf struct rye_buf json = RYE_BUF_INIT;
	const char *run;

	put_add(p);
	graph_put(p, "t/a.yaml", MAY, TWO);
	exec_wants(p, "{\"n\":1,\"node\":\"one\",\"inject_state\":{\"k\":1}}",
		   "{\"data\":{\"executed_node\":\"one\",\"next_node\":\"two\",\"step_count\":1,"
		   "\"graph_run_id\":\"~-step\",\"state\":{\"k\":1,\"n\":2}}}");
	{
		auto_said struct exec_said said = exec_run(p, "t/a", "{\"n\":1,\"max_steps\":1}");

		run = json_str(json_object_get(said.reply, "data"), "graph_run_id");
		buf_addf(&json, "{\"resume\":true,\"max_steps\":9,\"graph_run_id\":\"%s\"}", run);
	}
	exec_wants(p, json.data,
		   "{\"status\":\"success\",\"data\":{\"steps\":3,\"output\":{\"n\":2}}}");
	exec_wants(p, json.data, "{\"error\":\"~is over (completed)\"}");
	graph_put(p, "t/a.yaml", MAY, "  max_steps: 7\n" TWO);
	exec_wants(p, json.data, "{\"error\":\"~has changed since\"}");
}

/* What was signed at the end of a walk is what the next one begins with, or none does. */
static void a_changed_record_is_refused(void **state)
{
	struct exec_place *p = *state;
	auto_said struct exec_said said = { 0 };
	auto_buf struct rye_buf json = RYE_BUF_INIT, path = RYE_BUF_INIT;
	auto_free char *copy = NULL;
	struct rye_blob *text;
	const char *run;
	char *at;

	put_add(p);
	graph_put(p, "t/a.yaml", MAY, TWO);
	said = exec_run(p, "t/a", "{\"n\":1,\"max_steps\":1}");
	run = json_str(json_object_get(said.reply, "data"), "graph_run_id");
	buf_addf(&path, "%s/.ai/state/graphs/%s/transcript.jsonl", p->place.project, run);
	buf_addf(&json, "{\"resume\":true,\"max_steps\":9,\"graph_run_id\":\"%s\"}", run);
	text = place_read(path.data);
	copy = strndup(text->data, text->len);
	rye_blob_unref(text);
	assert_non_null(strstr(copy, "\"event_type\": \"checkpoint\""));
	at = strstr(copy, "\"set\":{\"n\":2}");
	assert_non_null(at);
	at[strlen("\"set\":{\"n\":")] = '7';
	buf_clear(&path);
	buf_addf(&path, "state/graphs/%s/transcript.jsonl", run);
	place_write(p->place.project, path.data, span_of(copy));
	exec_wants(p, json.data, "{\"error\":\"~Content hash mismatch at turn 1\"}");
	at[strlen("\"set\":{\"n\":")] = '2';
	place_write(p->place.project, path.data, span_of(copy));
	exec_wants(p, json.data, "{\"status\":\"success\",\"data\":{\"output\":{\"n\":2}}}");
}

static _Atomic int threads_left = 1000; /* so many can still be started */

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *),
			  void *arg);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *),
			  void *arg);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *),
			  void *arg)
{
	if (atomic_fetch_sub(&threads_left, 1) > 0)
		return __real_pthread_create(thread, attr, fn, arg);
	return EAGAIN;
}

/* A call for which no thread can be started is refused: the only one there is waits for it. */
static void a_graph_ends_without_threads_for_its_calls(void **state)
{
	struct exec_place *p = *state;

	put_add(p);
	graph_put(p, "t/a.yaml", MAY, TWO);
	atomic_store(&threads_left, 1);
	exec_wants(p, "{\"n\":1}", "{\"status\":\"error\",\"error\":\"~out of memory\"}");
	atomic_store(&threads_left, 1000);
	exec_wants(p, "{\"n\":1}", "{\"status\":\"success\",\"data\":{\"steps\":3}}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		exec_test(case_103_graph_with_and_without_limits),
		exec_test(a_node_keeps_its_results),
		exec_test(steps_are_limited),
		exec_test(a_failing_node_fails_the_graph),
		exec_test(permissions_are_checked),
		exec_test(a_directory_tool_is_permitted_by_both_names),
		exec_test(permissions_hold_for_what_is_called),
		exec_test(what_calls_the_graph_holds_it),
		exec_test(knowledge_directives_and_fetch),
		exec_test(mistakes_are_told_before_anything_runs),
		exec_test(variables_are_wanted),
		exec_test(inputs_are_checked),
		exec_test(one_node_and_then_the_rest),
		exec_test(a_changed_record_is_refused),
		exec_test(a_graph_ends_without_threads_for_its_calls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
