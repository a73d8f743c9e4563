/* SPDX-License-Identifier: MIT */
/* What a model may call, under which names tools are offered, what a directive's return is. */
#include "rye_test.h"
#include "told.h"

#include "agent/agent_inner.h"
#include "base/io.h"
#include "scope.h"
#include "thread/thread_inner.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static int remove_each(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	return remove(path);
}

static void names_fit_the_wires(void **state)
{
	auto_json json_t *taken = json_object();
	char name[65], other[65];

	(void)state;
	palette_name("rye/file-system/ls", taken, name);
	assert_string_equal(name, "rye_file_system_ls");
	palette_name("a/\xc3\xa4.b", taken, name);
	assert_string_equal(name, "a___b");
	json_object_set_new(taken, "rye_file_system_ls", json_true());
	palette_name("rye/file_system/ls", taken, name);
	assert_true(strncmp(name, "rye_file_system_ls_", 19) == 0);
	assert_int_equal(strlen(name), 27);
	palette_name("a/very/long/name/of/a/tool/that/goes/on/and/on/and/on/until/it/is/too/long/1",
		     taken, name);
	palette_name("a/very/long/name/of/a/tool/that/goes/on/and/on/and/on/until/it/is/too/long/2",
		     taken, other);
	assert_int_equal(strlen(name), 64);
	assert_string_not_equal(name, other);
}

struct call_case {
	const char *name, *arguments;
	int code; /* of reading it */
	bool returns, allowed;
	const char *item_id;
};

static const struct call_case call_cases[] = {
	{ "t_one", "{}", 0, false, true, "t/one" },
	{ "rye_execute", "{\"item_id\": \"tool:t/one\"}", 0, false, true, "t/one" },
	{ "rye_execute", "{\"item_id\": \"t/one\"}", 0, false, true, "t/one" },
	{ "rye_execute", "{\"item_id\": \"t/two\"}", 0, false, false, "t/two" },
	{ "rye_execute", "{\"item_id\": \"t/one\", \"item_type\": \"directive\"}", 0, false, false,
	  "t/one" },
	{ "rye_execute", "{\"item_id\": \"tool:t/one\", \"kind\": \"directive\"}", -RYE_INVALID,
	  false, false, "" },
	{ "rye_execute", "{}", -RYE_INVALID, false, false, "" },
	{ "rye_execute", "{\"item_id\": \"x\", \"kind\": \"sauce\"}", -RYE_INVALID, false, false,
	  "" },
	{ "rye_execute", "{\"item_id\": \"rye/agent/threads/internal/control\"}", 0, false, false,
	  "rye/agent/threads/internal/control" },
	{ "rye_sign", "{\"item_id\": \"tool:t/one\"}", 0, false, false, "t/one" },
	{ "rye_fetch", "{\"query\": \"words\"}", 0, false, false, "" },
	{ "directive_return", "{\"a\": 1}", 0, true, false, RETURN_ID },
	{ "rye_execute", "{\"item_type\": \"tool\", \"item_id\": \"" RETURN_ID "\"}", 0, true,
	  false, RETURN_ID },
	{ "rye_execute", "{\"item_id\": \"tool:" RETURN_ID "\", \"parameters\": \"{}\"}", 0, true,
	  false, RETURN_ID },
	{ "no_such_tool", "{}", -RYE_NOT_FOUND, false, false, "" },
};

static void calls_are_read_and_held_to_capabilities(void **state)
{
	auto_json json_t *capabilities = json_pack("[s]", "rye.execute.tool.t.one");
	auto_json json_t *items =
		json_pack("{s:{s:s, s:s}}", "t_one", "item_id", "t/one", "primary", "execute");
	auto_json json_t *lists = json_pack("[O]", capabilities);
	struct agent agent = { .capabilities = capabilities, .palette = { .items = items } };

	(void)state;
	authority_model(&agent.asker, lists);
	for (size_t i = 0; i < ARRAY_SIZE(call_cases); i++) {
		const struct call_case *row = &call_cases[i];
		auto_json json_t *block = json_pack("{s:s, s:s, s:o}", "id", "c", "name", row->name,
						    "arguments",
						    json_loads(row->arguments, 0, NULL));
		struct tool_call call = { .arguments = NULL };
		struct rye_err err = { 0 };

		assert_int_equal(tool_call_read(&agent, block, &call, &err), row->code);
		if (!row->code) {
			assert_string_equal(call.item_id, row->item_id);
			assert_int_equal(call.returns, row->returns);
			if (!row->returns)
				assert_int_equal(!tool_call_allowed(&agent, &call, &err),
						 row->allowed);
		}
		tool_call_done(&call);
	}
	authority_done(&agent.asker);
}

/* A list above that lacks it denies what the own one covers. */
static void every_thread_above_must_allow(void **state)
{
	auto_json json_t *lists = json_pack("[[s], [s], [s]]", "rye.execute.*",
					    "rye.execute.tool.*", "rye.execute.tool.t.two");
	auto_json json_t *block = json_pack("{s:s, s:s, s:{s:s}}", "id", "c", "name", "rye_execute",
					    "arguments", "item_id", "tool:t/one");
	struct agent agent = { .thread_id = "t" };
	struct tool_call call = { .arguments = NULL };
	struct rye_err err = { 0 };

	(void)state;
	/* nor is one allowed anything whose lists are not known yet */
	assert_works(&err, tool_call_read(&agent, block, &call, &err));
	assert_refused(&err, RYE_DENIED, tool_call_allowed(&agent, &call, &err));
	tool_call_done(&call);
	authority_model(&agent.asker, lists);
	assert_works(&err, tool_call_read(&agent, block, &call, &err));
	assert_refused(&err, RYE_DENIED, tool_call_allowed(&agent, &call, &err));
	json_array_remove(lists, 2);
	assert_works(&err, tool_call_allowed(&agent, &call, &err));
	tool_call_done(&call);
	authority_done(&agent.asker);
}

/* To search, any capability of the kind will do: what is found is filtered. */
static void searches_want_a_capability_of_their_kind(void **state)
{
	static const char *const cases[][2] = {
		{ "{\"query\": \"w\", \"scope\": \"knowledge\"}", "yes" },
		{ "{\"query\": \"w\", \"scope\": \"knowledge.other\"}", "yes" },
		{ "{\"query\": \"w\", \"scope\": \"rye.fetch.knowledge.*\"}", "yes" },
		{ "{\"query\": \"w\", \"item_type\": \"knowledge\"}", "yes" },
		{ "{\"query\": \"w\", \"scope\": \"tool\"}", "no" },
		{ "{\"query\": \"w\", \"scope\": \"rye.fetch.tool.knowledge\"}", "no" },
		{ "{\"query\": \"w\"}", "no" },
	};
	auto_json json_t *lists = json_pack("[[s]]", "rye.fetch.knowledge.a.*");
	struct agent agent = { .thread_id = "t" };

	(void)state;
	authority_model(&agent.asker, lists);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		auto_json json_t *block = json_pack("{s:s, s:s, s:o}", "id", "c", "name",
						    i % 2 ? "rye_search" : "rye_fetch", "arguments",
						    json_loads(cases[i][0], 0, NULL));
		struct tool_call call = { .arguments = NULL };
		struct rye_err err = { 0 };

		assert_works(&err, tool_call_read(&agent, block, &call, &err));
		assert_string_equal(tool_call_allowed(&agent, &call, &err) ? "no" : "yes",
				    cases[i][1]);
		tool_call_done(&call);
	}
	authority_done(&agent.asker);
}

/* One that cannot even open the registry: what its launcher has reserved for it is given back. */
static void money_of_one_that_never_began(void **state)
{
	char project[] = "/tmp/rye-agent-XXXXXX", path[128];
	int dir;
	auto_json json_t *doc = NULL;
	struct agent_end end;
	struct budget_row row;
	struct db *ledger = NULL;

	(void)state;
	assert_non_null(mkdtemp(project));
	snprintf(path, sizeof(path), "%s/.ai/state/threads/budget_ledger.db", project);
	dir = open(project, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(io_mkdirs_at(dir, ".ai/state/threads/registry.db", 0700), 0);
	close(dir);
	assert_works(&told_err, budget_open(path, &ledger, &told_err));
	assert_works(&told_err, budget_root(ledger, "t/a-1", 1, &told_err));
	doc = json_pack("{s:s, s:{s:s}, s:{s:s}}", "thread_id", "t/a-1", "request", "item_id",
			"directive:t/a", "options", "project", project);
	agent_run(&(struct agent_ask){ .doc = doc, .dir = -1, .stop = -1 }, &end);
	assert_string_equal(end.status, "error");
	rye_outcome_done(&end.outcome);
	assert_works(&told_err, budget_get(ledger, "t/a-1", &row, &told_err));
	assert_string_equal(row.status, "error");
	db_close(ledger);
	assert_int_equal(nftw(project, remove_each, 16, FTW_DEPTH | FTW_PHYS), 0);
}

/*
 * A runner: takes what was said, and ends when it is told to. Its answers are bytes on `tell`: that it
 * listens, how much was said when it shut, how much after that.
 */
static void inbox_runner(const char *project, const char *id, int go, int tell)
{
	struct agent agent = { .thread_id = id };
	char count[] = { 0, 0, 0 }, next;
	struct rye_err err = { 0 };

	agent.opt.project = project;
	if (inbox_open(&agent, NULL, &err) || write(tell, count, 1) != 1)
		_exit(1);
	for (int i = 1; i < 3 && read(go, &next, 1) == 1; i++) {
		auto_json json_t *says = NULL;

		inbox_shut(agent.inbox, &says);
		count[i] = (char)json_array_size(says);
		if (write(tell, &count[i], 1) != 1)
			_exit(1);
	}
	inbox_close(agent.inbox);
	_exit(0);
}

static int next_byte(int go, int heard)
{
	char byte = 0;

	assert_int_equal(go < 0 ? 1 : write(go, &byte, 1), 1);
	assert_int_equal(read(heard, &byte, 1), 1);
	return byte;
}

/* Between the last look at what was said and the end of its listening: a sentence, nothing is lost. */
static void said_while_the_inbox_shuts(void **state)
{
	static const char id[] = "t/a-1";
	char project[] = "/tmp/rye-agent-XXXXXX", runtime[] = "/tmp/rye-agent-XXXXXX";
	struct rye_err err = { 0 };
	int go[2], tell[2], status;
	pid_t runner;

	(void)state;
	assert_non_null(mkdtemp(project));
	assert_non_null(mkdtemp(runtime));
	setenv("XDG_RUNTIME_DIR", runtime, 1);
	assert_int_equal(pipe(go) | pipe(tell), 0);
	runner = fork();
	if (!runner) {
		/* what has failed ends it */
		close(go[1]);
		inbox_runner(project, id, go[0], tell[1]);
	}
	next_byte(-1, tell[0]);
	assert_works(&told_err, thread_tell(project, id, SPAN("say in time"), &told_err));
	assert_int_equal(next_byte(go[1], tell[0]), 1);
	assert_int_not_equal(thread_tell(project, id, SPAN("say too late"), &err), 0);
	assert_string_equal(err.msg, "the thread ends: it has no turn any more");
	assert_int_equal(next_byte(go[1], tell[0]), 0);
	assert_int_equal(waitpid(runner, &status, 0), runner);
	assert_int_equal(status, 0);
	for (int i = 0; i < 2; i++) {
		close(go[i]);
		close(tell[i]);
	}
	assert_int_equal(nftw(project, remove_each, 16, FTW_DEPTH | FTW_PHYS), 0);
	assert_int_equal(nftw(runtime, remove_each, 16, FTW_DEPTH | FTW_PHYS), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(money_of_one_that_never_began),
		cmocka_unit_test(said_while_the_inbox_shuts),
		cmocka_unit_test(names_fit_the_wires),
		cmocka_unit_test(calls_are_read_and_held_to_capabilities),
		cmocka_unit_test(every_thread_above_must_allow),
		cmocka_unit_test(searches_want_a_capability_of_their_kind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
