/* SPDX-License-Identifier: MIT */
/* Every sort of asker with everything that is asked, and both languages of lists. */
#include "rye_json.h"
#include "rye_test.h"

#include "policy/policy.h"
#include "scope.h"
#include "str.h"

#include <string.h>

#define EXECUTES "\"rye.execute.tool.a.*\""
#define FETCHES "\"rye.fetch.tool.a.*\""
#define SIGNS "\"rye.sign.tool.a.*\""

/* How each is made, and what it is answered, an act a letter: of the sentences below, or + for yes. */
struct asker_row {
	const char *name;
	enum asker asker;
	bool no_run, no_sign;
	const char *text; /* what a request hands on */
	const char *above[2]; /* lists of runs; NULL: none */
	const char *within; /* of a runner's request */
	const char *permissions, *narrowed; /* a graph in the run that all this is of */
	const char *want; /* ask, begin, run, fork, read, copy, sign, resume, keys */
};

static const struct asker_row askers[] = {
	{ .name = "a person", .asker = ASKER_PERSON, .want = "+++++++++" },
	{ .name = "a client that may only read",
	  .asker = ASKER_PERSON,
	  .no_run = true,
	  .no_sign = true,
	  .want = "+rrr+ssrs" },
	{ .name = "a client that may not sign",
	  .asker = ASKER_PERSON,
	  .no_sign = true,
	  .want = "+++++ss+s" },
	{ .name = "a model with all of it",
	  .asker = ASKER_MODEL,
	  .text = "{\"thread_id\":\"t\",\"capabilities\":[[" EXECUTES "," FETCHES "," SIGNS "]]}",
	  .want = "+++++++p+" },
	{ .name = "a model with a wildcard alone, which is neither signing nor copying",
	  .asker = ASKER_MODEL,
	  .text = "{\"thread_id\":\"t\",\"capabilities\":[[\"rye.*\"]]}",
	  .want = "+++++ccp+" },
	{ .name = "a model that the thread above holds",
	  .asker = ASKER_MODEL,
	  .text = "{\"thread_id\":\"t\",\"capabilities\":[[\"rye.*\"],[" FETCHES "]]}",
	  .want = "++a++ccp+" },
	{ .name = "a model without a list",
	  .asker = ASKER_MODEL,
	  .text = "{\"thread_id\":\"t\",\"capabilities\":[[]]}",
	  .want = "++n+nnnp+" },
	{ .name = "a model that must not start anything",
	  .asker = ASKER_MODEL,
	  .no_run = true,
	  .text = "{\"thread_id\":\"t\",\"capabilities\":[[" EXECUTES "," FETCHES "]]}",
	  .want = "+rrr++cp+" },
	{ .name = "a hook that its thread does not hold",
	  .asker = ASKER_MODEL,
	  .text = "{\"thread_id\":\"t\",\"free\":true,\"capabilities\":[[]]}",
	  .want = "+++++++p+" },
	{ .name = "a text that cannot be read",
	  .asker = ASKER_MODEL,
	  .text = "{\"capabilities\":",
	  .want = "++nfnnnp+" },
	{ .name = "lists that are none",
	  .asker = ASKER_MODEL,
	  .text = "{\"capabilities\":{}}",
	  .want = "++dfdddp+" },
	{ .name = "a runner that a person has started", .asker = ASKER_RUNNER, .want = "+++++ygpm" },
	{ .name = "a runner that a run has started",
	  .asker = ASKER_RUNNER,
	  .within = "[[\"rye.execute.tool.a.b\"],[]]",
	  .want = "++w++ygpm" },
	{ .name = "a runner that a model's tool has started",
	  .asker = ASKER_RUNNER,
	  .within = "[{\"capabilities\":[[" EXECUTES "]]}]",
	  .want = "+++f+ygpm" },
	{ .name = "a runner that a model with nothing has started",
	  .asker = ASKER_RUNNER,
	  .within = "[{\"capabilities\":[[]]}]",
	  .want = "++wf+ygpm" },
	{ .name = "a graph",
	  .asker = ASKER_PERSON,
	  .permissions = "[" EXECUTES "," FETCHES "]",
	  .want = "+++++yGpm" },
	{ .name = "a graph that permits nothing",
	  .asker = ASKER_PERSON,
	  .permissions = "[]",
	  .want = "++c+cyGpm" },
	{ .name = "a graph whose caller permits less",
	  .asker = ASKER_PERSON,
	  .permissions = "[\"rye.*\"]",
	  .narrowed = "[" FETCHES "]",
	  .want = "++c++yGpm" },
	{ .name = "a graph within a thread",
	  .asker = ASKER_MODEL,
	  .text = "{\"thread_id\":\"t\",\"capabilities\":[[" FETCHES "]]}",
	  .permissions = "[\"rye.*\"]",
	  .want = "++c++yGpm" },
	{ .name = "a graph below a run",
	  .asker = ASKER_RUN,
	  .above = { "[\"rye.execute.tool.x\"]" },
	  .permissions = "[\"rye.*\"]",
	  .want = "++w++yGpm" },
	{ .name = "a child of a run",
	  .asker = ASKER_RUN,
	  .above = { "[" EXECUTES "]" },
	  .want = "+++++ygpm" },
	{ .name = "a child of a run that names nothing",
	  .asker = ASKER_RUN,
	  .above = { "null" },
	  .want = "++q++ygpm" },
	{ .name = "a child of a run in a run that does not name it",
	  .asker = ASKER_RUN,
	  .above = { "[\"rye.execute\"]", "[\"rye.execute.directive\"]" },
	  .want = "++q++ygpm" },
	{ .name = "a child of a thread's tool, whose model may not",
	  .asker = ASKER_RUN,
	  .above = { "[\"rye.execute\"]" },
	  .within = "[{\"capabilities\":[[" FETCHES "]]}]",
	  .want = "++qf+ygpm" },
	{ .name = "a graph's call within a thread",
	  .asker = ASKER_RUN,
	  .above = { "[\"rye.*\"]" },
	  .text = "{\"thread_id\":\"t\",\"capabilities\":[[" EXECUTES "]]}",
	  .want = "++++cygpm" },
	{ .name = "a descendant of no run", .asker = ASKER_STRANGER, .want = "kkkkkkkkk" },
	{ .name = "a graph in such a run",
	  .asker = ASKER_STRANGER,
	  .permissions = "[\"rye.*\"]",
	  .want = "kkkkkkkkk" },
};

static const char *sentence_of(char letter)
{
	static const char *const sentences[] = {
		['a'] = "of a thread above",
		['c'] = "not covered by capabilities",
		['d'] = "Permission denied",
		['f'] = "only the model of a thread starts threads of models below it",
		['g'] = "a running item may not sign",
		['G'] = "signing is for a person, not for a graph",
		['k'] = "the asking run is not known",
		['m'] = "a running item may not manage keys",
		['n'] = "no capabilities declared",
		['p'] = "only a person resumes a thread",
		['q'] = "the running item's signed `requires` does not name rye.execute.tool.a.b",
		['r'] = "running is switched off (norun)",
		['s'] = "is switched off (nosign)",
		['w'] = "what runs above it does not name tool:a/b",
		['y'] = "a running item may not copy into a space",
	};

	return sentences[(unsigned char)letter];
}

static json_t *list_of(const char *text)
{
	return text ? json_loads(text, JSON_DECODE_ANY, NULL) : NULL;
}

static void make_asker(const struct asker_row *row, struct authority *ret)
{
	auto_json json_t *permissions = list_of(row->permissions),
			 *narrowed = list_of(row->narrowed);
	auto_json json_t *within = list_of(row->within);
	struct authority run;

	authority_init(&run, row->asker);
	run.no_run = row->no_run;
	run.no_sign = row->no_sign;
	for (size_t i = 0; i < ARRAY_SIZE(row->above) && row->above[i]; i++) {
		auto_json json_t *list = list_of(row->above[i]);

		authority_above(&run, json_is_array(list) ? list : NULL);
	}
	authority_within(&run, within);
	if (row->text)
		authority_read(&run, row->text);
	if (!row->permissions) {
		*ret = run;
		return;
	}
	authority_graph(ret, &run, permissions, narrowed);
	authority_done(&run);
}

static void every_asker_is_answered(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(askers); i++) {
		auto_authority struct authority asker;

		make_asker(&askers[i], &asker);
		assert_int_equal(strlen(askers[i].want), ACT__MAX);
		for (unsigned act = 0; act < ACT__MAX; act++) {
			const struct authority_ask ask = { (enum act)act, "tool", "a/b" };
			char want = askers[i].want[act];
			struct rye_err err = { 0 };
			int r = authority_check(&asker, &ask, &err);

			if ((want == '+') != !r || (r && !strstr(err.msg, sentence_of(want))))
				fail_msg("%s, act %u: %d '%s', wanted %c", askers[i].name, act, r,
					 err.msg, want);
			assert_true(!r || r == -(int)RYE_DENIED);
			/* whether a sentence is wanted or not */
			assert_int_equal(authority_check(&asker, &ask, NULL), r);
		}
	}
}

/* What has not been made yet, and what was given back. */
static void none_is_a_stranger(void **state)
{
	struct authority none = { .doc = NULL };

	(void)state;
	assert_int_equal(none.asker, ASKER_STRANGER);
	authority_init(&none, ASKER_PERSON);
	authority_done(&none);
	assert_int_equal(none.asker, ASKER_STRANGER);
}

/* The bounds of a run, handed to a runner and from there to a model, allow what they did. */
static void bounds_are_handed_on(void **state)
{
	static const char text[] = "{\"thread_id\":\"t\",\"capabilities\":[[" EXECUTES "]]}";
	auto_json json_t *list = list_of("[\"rye.execute\", \"rye.fetch.tool\", \"net.*\"]");
	auto_buf struct rye_buf out = RYE_BUF_INIT;
	auto_json json_t *within = NULL, *below = NULL, *want = NULL;
	struct authority run;

	(void)state;
	authority_init(&run, ASKER_RUN);
	authority_above(&run, list);
	authority_read(&run, text);
	within = authority_list(&run);
	want = json_pack("[{s:[[s]]}, O]", "capabilities", "rye.execute.tool.a.*", list);
	assert_true(json_equal(within, want));
	authority_done(&run);

	assert_null(authority_text(NULL, NULL, &out));
	assert_string_equal(authority_text("{", within, &out), "");
	authority_init(&run, ASKER_RUNNER);
	authority_read(&run, authority_text(text, within, &out));
	assert_true(json_equal(run.running, within));
	assert_string_equal(authority_thread(&run), "t");
	authority_done(&run);

	/* short forms are whole ones there; a thread's own lists are in the text */
	below = authority_below(text, within, NULL);
	json_decref(want);
	want = list_of("[[" EXECUTES "],[\"rye.execute.*\",\"rye.fetch.tool.*\",\"net.*\"]]");
	assert_true(json_equal(json_object_get(below, "capabilities"), want));
	assert_null(authority_below("{", within, NULL));
}

static void requires_patterns(void **state)
{
	static const struct {
		const char *list, *kind, *id;
		bool ok;
	} rows[] = {
		{ "[\"rye.execute.tool.rye.bash.*\"]", "tool", "rye/bash/bash", true },
		{ "[\"rye.execute.*\"]", "tool", "rye/bash/bash", true },
		{ "[\"rye.*\"]", "directive", "a", true },
		{ "[\"rye.execute\"]", "directive", "a", true },
		{ "[\"rye.execute.tool\"]", "tool", "a/b", true },
		{ "[\"rye.execute.tool\"]", "directive", "a", false },
		{ "[\"rye.execute.tool.a\"]", "tool", "a/b", false },
		{ "[\"rye.execute.tool.a.b\"]", "tool", "a/b", true },
		/* a directory tool has two names: capabilities_whole */
		{ "[\"rye.execute.tool.a.b\"]", "tool", "a/b/b", false },
		{ "[\"rye.execute.tool.b\"]", "tool", "b/b", false },
		{ "[\"rye.execute.tool.a.b\"]", "tool", "a/b/c", false },
		{ "[\"rye.execute.tool.a.b\"]", "tool", "a/b/bb", false },
		{ "[\"rye.execute.tool.a.bb\"]", "tool", "a/bb/b", false },
		{ "[\"rye.execute.tool.a\"]", "tool", "a/b/b", false },
		{ "[\"rye.execute.directive.a.b\"]", "directive", "a/b/b", false },
		{ "[\"rye.execute.tool.a.?\"]", "tool", "a/b", true },
		{ "[\"rye.sign.*\", \"fs.write\", \"*\"]", "tool", "a/b", false },
		{ "[]", "tool", "a", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		auto_json json_t *list = json_loads(rows[i].list, 0, NULL);
		auto_buf struct rye_buf name = RYE_BUF_INIT;

		capability_name(&name, "execute", rows[i].kind, rows[i].id);
		assert_int_equal(requires_cover(list, name.data), rows[i].ok);
	}
	assert_false(requires_cover(NULL, "rye.execute.tool.a"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_asker_is_answered),
		cmocka_unit_test(none_is_a_stranger),
		cmocka_unit_test(bounds_are_handed_on),
		cmocka_unit_test(requires_patterns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
