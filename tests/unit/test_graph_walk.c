/* SPDX-License-Identifier: MIT */
/*
 * Walking a graph over calls that are made up: what each node does, what the record says, and that
 * a run that ends anywhere in its record goes on to the same end.
 */
#include "rye_test.h"

#include "base/io.h"
#include "expr/expr.h"
#include "format/format.h"
#include "graph/graph.h"
#include "item_place.h"

#include <fcntl.h>

/* The calls that a walk has made, and how many are to fail. */
struct fake {
	struct test_place place;
	struct graph *graph;
	json_t *doc, *calls; /* calls: ["tool:t/a 5", …] */
	struct graph_call *begun;
	size_t living, most; /* at once */
	int failures; /* of t/flaky */
	int stop_after; /* calls; 0: never */
	struct graph_end end;
	json_t *state; /* behind the walk, of its transcript */
	char run[100];
	struct rye_err err;
};

static void fake_begin(void *arg, struct graph_call *call)
{
	struct fake *fake = arg;
	json_int_t n = json_int(call->params, "n", 0);
	bool fails = strstr(call->ref, "bad") ||
		     (strstr(call->ref, "flaky") && fake->failures-- > 0);

	json_array_append_new(fake->calls,
			      json_sprintf("%s %s %d", call->primary, call->ref, (int)n));
	if (fails)
		call->reply = json_pack("{s:s, s:s}", "status", "error", "error", "it is bad");
	else
		call->reply = json_pack("{s:s, s:{s:b, s:I, s:O}, s:[s]}", "status", "success",
					"data", "success", 1, "n", n + 1, "got", call->params,
					"chain", "x");
	if (strstr(call->ref, "again"))
		json_object_update_new(json_object_get(call->reply, "data"),
				       json_pack("{s:s, s:i}", "action", "retry", "max_retries",
						 1));
	call->next = fake->begun;
	fake->begun = call;
	fake->living++;
	if (fake->living > fake->most)
		fake->most = fake->living;
}

static struct graph_call *fake_next(void *arg)
{
	struct fake *fake = arg;
	struct graph_call *call = fake->begun;

	assert_non_null(call);
	fake->begun = call->next;
	fake->living--;
	return call;
}

static bool fake_stopped(void *arg)
{
	struct fake *fake = arg;

	return fake->stop_after && (int)json_array_size(fake->calls) >= fake->stop_after;
}

static int setup(void **state)
{
	struct fake *fake = test_calloc(1, sizeof(*fake));

	place_make(&fake->place);
	fake->calls = json_array();
	*state = fake;
	return 0;
}

static void forget_end(struct fake *fake)
{
	graph_end_done(&fake->end);
	fake->end = (struct graph_end){ .data = NULL };
}

static int teardown(void **state)
{
	struct fake *fake = *state;

	forget_end(fake);
	graph_free(fake->graph);
	json_decref(fake->doc);
	json_decref(fake->calls);
	json_decref(fake->state);
	place_drop(&fake->place);
	test_free(fake);
	return 0;
}

/* nodes: YAML, indented by four; more: other keys of config, by two. */
static void graph_is(struct fake *fake, const char *nodes, const char *more)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	auto_json json_t *faults = json_array(), *warnings = json_array();
	struct graph_source source = { .id = "t/g", .max_steps = 50, .max_concurrency = 4 };

	buf_addf(&text, "permissions: [all]\nconfig:\n  start: a\n%s  nodes:\n%s", more, nodes);
	graph_free(fake->graph);
	json_decref(fake->doc);
	fake->doc = parse_yaml((struct rye_span){ text.data, text.len }, &fake->err);
	assert_non_null(fake->doc);
	source.config = json_object_get(fake->doc, "config");
	source.permissions = json_object_get(fake->doc, "permissions");
	fake->graph = graph_read(&source, faults, warnings);
	if (json_array_size(faults))
		fail_msg("%s", json_string_value(json_array_get(faults, 0)));
}

static const struct graph_ops fake_ops = { .begin = fake_begin,
					   .next = fake_next,
					   .stopped = fake_stopped };

/* ask has what is special; run NULL: a new run. */
static int go(struct fake *fake, struct graph_ask ask, const char *run)
{
	auto_json json_t *inputs = json_pack("{s:i, s:s}", "n", 1, "word", "hi");
	const struct graph_log_new new = { fake->place.project, "t/g", "", NULL };
	struct graph_ops ops = fake_ops;
	auto_past struct graph_past past = GRAPH_PAST_INIT;
	struct graph_log *log = NULL;
	int r;

	forget_end(fake);
	ops.arg = fake;
	if (run)
		r = graph_log_resume(fake->place.project, run, &log, &past, &fake->err);
	else
		r = graph_log_create(&new, &log, &fake->err);
	if (r)
		return r;
	ask.graph = fake->graph;
	ask.ops = &ops;
	ask.inputs = inputs;
	ask.log = log;
	ask.past = run ? &past : NULL;
	snprintf(fake->run, sizeof(fake->run), "%.99s", graph_log_run(log));
	r = graph_walk(&ask, &fake->end, &fake->err);
	graph_log_close(log);
	return r;
}

static void walks(struct fake *fake)
{
	if (go(fake, (struct graph_ask){ .max_steps = 0 }, NULL))
		fail_msg("%s", fake->err.msg);
}

/* The member of the end's data is this JSON. */
static void end_has(struct fake *fake, const char *key, const char *want)
{
	auto_json json_t *wanted = json_loads(want, JSON_DECODE_ANY, NULL);
	const json_t *got = json_object_get(fake->end.data, key);

	if (!expr_equal(got, wanted)) {
		auto_buf struct rye_buf text = RYE_BUF_INIT;

		json_put(&text, fake->end.data, false);
		fail_msg("%s: wanted %s in %s", key, want, text.data);
	}
}

static void calls_are(struct fake *fake, const char *want)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	const json_t *call;
	size_t i;

	buf_adds(&text, "");
	json_array_foreach(fake->calls, i, call) {
		buf_addf(&text, "%s%s", i ? ", " : "", json_string_value(call));
	}
	assert_string_equal(text.data, want);
}

#define CHAIN                                                                                      \
	"    a: {action: {item_id: 'tool:t/a', params: {n: '${inputs.n}', gone: '${state.no}'}}, " \
	"assign: {n: '${result.n}', twice: '${state.n} ${result.n}'}, next: b}\n"                  \
	"    b: {action: {kind: knowledge, item_id: k/b, params: {n: '${state.n}'}}, "             \
	"assign: {n: '${result.n}'}, next: c}\n"                                                   \
	"    c: {type: gate, assign: {word: '${inputs.word | upper}'}, "                           \
	"next: [{to: e, when: {path: state.n, op: lt, value: 3}}, {to: d}]}\n"                     \
	"    d: {type: foreach, over: '[4, 5]', as: v, collect: all, action: {primary: fetch, "    \
	"item_id: 'tool:t/${v}', params: {n: '${v}'}}, next: e}\n"                                 \
	"    e: {type: return, output: {n: '${state.n}', twice: '${state.twice}', "                \
	"word: '${state.word}', all: '${state.all | length}', v: '${state.v}'}}\n"

#define CHAIN_CALLS \
	"execute tool:t/a 1, execute knowledge:k/b 2, fetch tool:t/4 4, fetch tool:t/5 5"
#define CHAIN_OUTPUT "{\"n\":3,\"twice\":\"2 2\",\"word\":\"HI\",\"all\":2,\"v\":null}"

static void every_type_of_node(void **state)
{
	struct fake *fake = *state;

	graph_is(fake, CHAIN, "");
	walks(fake);
	calls_are(fake, CHAIN_CALLS);
	end_has(fake, "output", CHAIN_OUTPUT);
	end_has(fake, "success", "true");
	end_has(fake, "status", "\"completed\"");
	end_has(fake, "steps", "5");
}

/* The first edge that holds leads on, whatever stands behind it. */
static void the_first_edge_that_holds(void **state)
{
	struct fake *fake = *state;

	graph_is(fake,
		 "    a: {type: gate, next: [{to: b, when: {path: inputs.n, op: gt, value: 1000}}, "
		 "{to: c, when: {path: inputs.n, op: gt, value: 999}}, {to: d}, {to: b}]}\n"
		 "    b: {type: return, output: {at: b}}\n"
		 "    c: {type: return, output: {at: c}}\n"
		 "    d: {type: return, output: {at: d}}\n",
		 "");
	walks(fake);
	end_has(fake, "output", "{\"at\":\"d\"}");
}

static struct rye_blob *transcript_of(struct fake *fake)
{
	char path[400];

	snprintf(path, sizeof(path), "%s/.ai/state/graphs/%s/transcript.jsonl", fake->place.project,
		 fake->run);
	return place_read(path);
}

/* Which of the whole run's calls the record up to `len` knows to be over. */
static size_t calls_over(struct rye_span text)
{
	static const size_t by_step[] = { 0, 1, 2, 2, 4, 4 };
	auto_past struct graph_past past = GRAPH_PAST_INIT;

	return graph_past_read(text, &past, NULL) ? 0 : by_step[past.step];
}

/* A run whose process ends at any byte of its record goes on behind the last whole step. */
static void a_run_goes_on_from_anywhere(void **state)
{
	struct fake *fake = *state;
	struct rye_blob *whole;
	char path[400];

	graph_is(fake, CHAIN, "");
	walks(fake);
	whole = transcript_of(fake);
	snprintf(path, sizeof(path), "%s/.ai/state/graphs/%s/transcript.jsonl", fake->place.project,
		 fake->run);
	for (size_t len = 1; len < whole->len; len += 3 + len % 29) {
		struct rye_span text = { whole->data, len };
		size_t over = calls_over(text);
		auto_past struct graph_past past = GRAPH_PAST_INIT;
		auto_close int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);

		assert_int_equal(io_write_all(fd, whole->data, len), 0);
		json_array_clear(fake->calls);
		if (go(fake, (struct graph_ask){ .max_steps = 0 }, fake->run)) {
			/* before the first line there is nothing to go on with */
			assert_true(!memchr(whole->data, '\n', len));
			continue;
		}
		if (graph_past_read(text, &past, NULL) == 0 && !*past.node)
			continue; /* it was over */
		assert_int_equal(json_array_size(fake->calls), 4 - over);
		end_has(fake, "output", CHAIN_OUTPUT);
		end_has(fake, "steps", "5");
	}
	rye_blob_unref(whole);
}

static void a_run_is_worked_on_once(void **state)
{
	struct fake *fake = *state;
	auto_past struct graph_past past = GRAPH_PAST_INIT;
	const struct graph_log_new new = { fake->place.project, "t/g", "", "one" };
	struct graph_log *log = NULL, *other = NULL;

	assert_works(&told_err, graph_log_create(&new, &log, &told_err));
	graph_log_event(log, "graph_started", json_pack("{s:s}", "graph_id", "t/g"));
	assert_works(&told_err, graph_log_flush(log, true, &told_err));
	assert_refused(&fake->err, RYE_IO, graph_log_create(&new, &other, &fake->err));
	assert_refused(&fake->err, RYE_BUSY,
		       graph_log_resume(fake->place.project, "one", &other, &past, &fake->err));
	assert_works(&told_err,
		     graph_log_resume(fake->place.project, "one", NULL, &past, &told_err));
	graph_past_done(&past);
	graph_log_close(log);
	assert_works(&fake->err,
		     graph_log_resume(fake->place.project, "one", &other, &past, &fake->err));
	graph_log_close(other);
	graph_past_done(&past);
	assert_int_equal(graph_log_resume(fake->place.project, "../one", &other, &past, NULL),
			 -(int)RYE_INVALID);
	assert_int_equal(graph_log_resume(fake->place.project, "two", &other, &past, NULL),
			 -(int)RYE_NOT_FOUND);
}

static void a_broken_record_is_told(void **state)
{
	struct fake *fake = *state;
	auto_past struct graph_past past = GRAPH_PAST_INIT;

	/* what a tool printed may hold a NUL */
	assert_works(&told_err,
		     graph_past_read(SPAN("{\"event_type\":\"graph_started\",\"payload\":{"
					  "\"graph_id\":\"g\",\"state\":{\"x\":\"a\\u0000b\"}}}\n"),
				     &past, &told_err));
	graph_past_done(&past);
	assert_refused(&fake->err, RYE_UNPARSABLE,
		       graph_past_read(SPAN("{}\nnonsense\n{}\n"), &past, &fake->err));
	assert_non_null(strstr(fake->err.msg, "Corrupt transcript at line 2"));
	assert_refused(&fake->err, RYE_UNPARSABLE,
		       graph_past_read(SPAN("{}\n"), &past, &fake->err));
	assert_refused(&fake->err, RYE_UNPARSABLE, graph_past_read(SPAN(""), &past, &fake->err));
}

static void errors_end_the_graph(void **state)
{
	struct fake *fake = *state;

	graph_is(fake,
		 "    a: {action: {item_id: 'tool:t/bad'}, assign: {x: 1}, next: b}\n"
		 "    b: {type: return}\n",
		 "");
	walks(fake);
	end_has(fake, "success", "false");
	end_has(fake, "error", "\"it is bad\"");
	end_has(fake, "node", "\"a\"");
	end_has(fake, "state",
		"{\"inputs\":{\"n\":1,\"word\":\"hi\"},\"_last_error\":{\"node\":"
		"\"a\",\"error\":\"it is bad\"}}");
	/* what failed is what a resumed run begins with */
	json_array_clear(fake->calls);
	assert_int_equal(go(fake, (struct graph_ask){ .max_steps = 0 }, fake->run), 0);
	calls_are(fake, "execute tool:t/bad 0");
}

static void errors_have_an_edge(void **state)
{
	struct fake *fake = *state;

	graph_is(fake,
		 "    a: {action: {item_id: 'tool:t/bad'}, on_error: b, next: c}\n"
		 "    b: {type: return, output: '${state._last_error.error}'}\n"
		 "    c: {type: return}\n",
		 "");
	walks(fake);
	end_has(fake, "output", "\"it is bad\"");
	end_has(fake, "status", "\"completed\"");
}

static void errors_are_passed_over(void **state)
{
	struct fake *fake = *state;

	graph_is(fake,
		 "    a: {action: {item_id: 'tool:t/bad'}, assign: {x: 1}, next: b}\n"
		 "    b: {type: return, output: {x: '${state.x}'}}\n",
		 "  on_error: continue\n");
	walks(fake);
	end_has(fake, "output", "{\"x\":null}");
	end_has(fake, "status", "\"completed_with_errors\"");
	end_has(fake, "errors_suppressed", "1");
	end_has(fake, "errors", "[{\"step\":1,\"node\":\"a\",\"error\":\"it is bad\"}]");
}

#define RETRY(action)                                                                             \
	"  hooks:\n    - event: error\n      condition: {path: classification.category, op: eq, " \
	"value: permanent}\n      action: " action "\n"

static void a_hook_has_a_node_run_again(void **state)
{
	struct fake *fake = *state;

	fake->failures = 2;
	graph_is(
		fake,
		"    a: {action: {item_id: 'tool:t/flaky'}, assign: {x: '${result.n}'}, next: b}\n"
		"    b: {type: return, output: {x: '${state.x}'}}\n",
		RETRY("{item_id: 'tool:rye/agent/threads/internal/control', params: {action: retry, "
		      "max_retries: 2}}"));
	walks(fake);
	calls_are(fake, "execute tool:t/flaky 0, execute tool:t/flaky 0, execute tool:t/flaky 0");
	end_has(fake, "output", "{\"x\":1}");
	end_has(fake, "steps", "2");
	json_array_clear(fake->calls);
	fake->failures = 9;
	graph_is(fake, "    a: {action: {item_id: 'tool:t/flaky'}}\n",
		 RETRY("{retry: true, max_retries: 3}"));
	walks(fake);
	assert_int_equal(json_array_size(fake->calls), 4);
	end_has(fake, "success", "false");
}

/* Not a word of the graph's but what an item answers; the same of a hook that only watches does not count. */
static void a_tool_has_a_node_run_again(void **state)
{
	struct fake *fake = *state;
	static const char nodes[] =
		"    a: {action: {item_id: 'tool:t/flaky'}, next: b}\n    b: {type: return, output: done}\n";

	fake->failures = 1;
	graph_is(fake, nodes, RETRY("{item_id: 'tool:h/again', params: {n: '${step_count}'}}"));
	walks(fake);
	calls_are(fake, "execute tool:t/flaky 0, execute tool:h/again 1, execute tool:t/flaky 0");
	end_has(fake, "output", "\"done\"");
	fake->failures = 1;
	graph_is(fake, nodes,
		 "  hooks: [{event: error, layer: 3, action: {item_id: 'tool:h/again'}}]\n");
	walks(fake);
	end_has(fake, "error", "\"it is bad\"");
}

static void what_comes_to_null_is_left_out(void **state)
{
	struct fake *fake = *state;

	graph_is(fake,
		 "    a: {action: {item_id: 'tool:t/a', params: {x: '${state.no}', y: {z: null, k: "
		 "['${state.no}', {v: '${state.no}'}]}, s: 'a${state.no}'}}, assign: {g: "
		 "'${result.got}'}, next: b}\n    b: {type: return, output: '${state.g}'}\n",
		 "");
	walks(fake);
	end_has(fake, "output", "{\"y\":{\"k\":[null,{}]},\"s\":\"a\"}");
}

static void hooks_see_what_happens(void **state)
{
	struct fake *fake = *state;

	graph_is(
		fake,
		"    a: {action: {item_id: 'tool:t/a'}, assign: {k: 7}, next: b}\n"
		"    b: {type: gate, next: c}\n    c: {type: return}\n",
		"  hooks:\n"
		"    - {event: graph_started, action: {item_id: 'tool:h/${graph_id}'}}\n"
		"    - {event: after_step, condition: {path: node, value: a}, action: {item_id: "
		"'tool:h/step', params: {n: '${state.k}'}}}\n"
		"    - {event: after_step, layer: 3, condition: {path: next_node, value: b}, action: "
		"{item_id: 'tool:h/bad'}}\n"
		"    - {event: graph_completed, action: {item_id: 'tool:h/end', params: {n: "
		"'${steps}'}}}\n");
	walks(fake);
	calls_are(fake, "execute tool:h/t/g 0, execute tool:t/a 0, execute tool:h/step 7, "
			"execute tool:h/bad 0, execute tool:h/end 3");
	end_has(fake, "success", "true");
	assert_int_equal(json_array_size(fake->end.warnings), 1);
}

static void steps_have_a_limit(void **state)
{
	struct fake *fake = *state;

	graph_is(fake, "    a: {type: gate, next: a}\n",
		 "  max_steps: 3\n  hooks:\n    - {event: limit, action: {item_id: 'tool:h/limit', "
		 "params: {n: '${current_max}'}}}\n");
	walks(fake);
	end_has(fake, "error", "\"Max steps exceeded (3)\"");
	end_has(fake, "steps", "3");
	calls_are(fake, "execute tool:h/limit 3");
	/* a caller may give a run more of them */
	assert_int_equal(go(fake, (struct graph_ask){ .max_steps = 5 }, fake->run), 0);
	end_has(fake, "error", "\"Max steps exceeded (5)\"");
}

static void a_list_is_done_at_once(void **state)
{
	struct fake *fake = *state;

	graph_is(
		fake,
		"    a: {type: gate, assign: {l: '${inputs.word}'}, next: b}\n"
		"    b: {type: foreach, over: [1, 2, 3, 4, 5, 6, 7], parallel: true, as: v, collect: "
		"all, action: {item_id: 'tool:t/v', params: {n: '${v}', w: '${state.v}', l: "
		"'${state.l}', i: '${state.inputs.word}'}}, next: c}\n"
		"    c: {type: return, output: '${state.all.6}'}\n",
		"  max_concurrency: 3\n");
	walks(fake);
	assert_int_equal(fake->most, 3);
	/* each sees its element and the inputs, not the state of the others */
	end_has(fake, "output",
		"{\"success\":true,\"n\":8,\"got\":{\"n\":7,\"w\":7,\"i\":\"hi\"}}");
}

static void a_list_goes_on_past_errors(void **state)
{
	struct fake *fake = *state;

	graph_is(
		fake,
		"    a: {type: foreach, over: '${inputs.word}', action: {item_id: 'tool:t/x'}, next: "
		"b}\n"
		"    b: {type: foreach, over: [good, bad, good], collect: all, action: {item_id: "
		"'tool:t/${item}'}, next: c}\n"
		"    c: {type: return, output: ['${state.all | length}', '${state.all.1.error}', "
		"'${state.all.2.n}', '${state.item}']}\n",
		"");
	walks(fake);
	end_has(fake, "output", "[3,\"it is bad\",1,null]");
	calls_are(fake, "execute tool:t/good 0, execute tool:t/bad 0, execute tool:t/good 0");
	assert_int_equal(json_array_size(fake->end.warnings), 2);
}

static void a_stop_is_between_steps(void **state)
{
	struct fake *fake = *state;

	graph_is(fake, CHAIN, "");
	fake->stop_after = 2;
	walks(fake);
	end_has(fake, "status", "\"cancelled\"");
	assert_int_equal(fake->end.status, GRAPH_CANCELLED);
	fake->stop_after = 0;
	json_array_clear(fake->calls);
	/* the call that was cut off is made again */
	assert_int_equal(go(fake, (struct graph_ask){ .max_steps = 0 }, fake->run), 0);
	calls_are(fake, "execute knowledge:k/b 2, fetch tool:t/4 4, fetch tool:t/5 5");
	end_has(fake, "output", CHAIN_OUTPUT);
}

static void one_node_alone(void **state)
{
	struct fake *fake = *state;
	auto_json json_t *inject = json_pack("{s:i}", "n", 40);

	graph_is(fake, CHAIN, "");
	assert_int_equal(go(fake, (struct graph_ask){ .node = "b", .inject = inject }, NULL), 0);
	calls_are(fake, "execute knowledge:k/b 40");
	end_has(fake, "executed_node", "\"b\"");
	end_has(fake, "next_node", "\"c\"");
	end_has(fake, "step_count", "1");
	end_has(fake, "state", "{\"inputs\":{\"n\":1,\"word\":\"hi\"},\"n\":41}");
}

static void results_are_unwrapped(void **state)
{
	static const char *const cases[][2] = {
		{ "{\"status\":\"success\",\"data\":{\"a\":1,\"path\":2},\"chain\":[]}",
		  "{\"a\":1}" },
		{ "{\"status\":\"error\",\"error\":\"e\",\"data\":{\"a\":1}}",
		  "{\"a\":1,\"status\":\"error\",\"error\":\"e\"}" },
		{ "{\"status\":\"error\",\"error\":\"e\",\"data\":{\"error\":\"f\"}}",
		  "{\"error\":\"f\",\"status\":\"error\"}" },
		{ "{\"status\":\"success\",\"data\":{\"success\":false}}",
		  "{\"success\":false,\"status\":\"error\"}" },
		{ "{\"status\":\"success\",\"your_directions\":\"d\",\"metadata\":{}}",
		  "{\"status\":\"success\",\"your_directions\":\"d\"}" },
		{ "{\"status\":\"success\",\"data\":[1]}",
		  "{\"status\":\"success\",\"data\":[1]}" },
		{ "[1]", "{\"result\":[1]}" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		auto_json json_t *got =
			graph_unwrap(json_loads(cases[i][0], JSON_DECODE_ANY, NULL));
		auto_json json_t *want = json_loads(cases[i][1], 0, NULL);

		if (!json_equal(got, want))
			fail_msg("%s", cases[i][0]);
	}
}

#define walk_test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		walk_test(every_type_of_node),
		walk_test(a_run_goes_on_from_anywhere),
		walk_test(the_first_edge_that_holds),
		walk_test(a_run_is_worked_on_once),
		walk_test(a_broken_record_is_told),
		walk_test(errors_end_the_graph),
		walk_test(errors_have_an_edge),
		walk_test(errors_are_passed_over),
		walk_test(a_hook_has_a_node_run_again),
		walk_test(a_tool_has_a_node_run_again),
		walk_test(what_comes_to_null_is_left_out),
		walk_test(hooks_see_what_happens),
		walk_test(steps_have_a_limit),
		walk_test(a_list_is_done_at_once),
		walk_test(a_list_goes_on_past_errors),
		walk_test(a_stop_is_between_steps),
		walk_test(one_node_alone),
		cmocka_unit_test(results_are_unwrapped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
