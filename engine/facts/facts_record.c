/* SPDX-License-Identifier: MIT */
/*
 * What thread.json, the reply and the ledger say of a thread. thread.json is shown as it is;
 * whether it is what its thread wrote is said by `integrity` alone.
 */
#include "facts/facts_inner.h"

#include "base/io.h"
#include "bounds.h"
#include "hash.h"
#include "memory.h"
#include "proc.h"
#include "scope.h"
#include "str.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

static int put_said(const struct facts_look *look, const char *key, struct rye_buf *out)
{
	const char *text = json_str(look->doc, key);

	if (*text)
		buf_addf(out, "%s\n", text);
	return 0;
}

int fact_model(const struct facts_look *look, struct rye_buf *out, struct rye_err *err)
{
	(void)err;
	return put_said(look, "model", out);
}

int fact_provider(const struct facts_look *look, struct rye_buf *out, struct rye_err *err)
{
	(void)err;
	return put_said(look, "provider", out);
}

/* An object of one of the thread's files; a new reference, NULL: none. */
static json_t *read_facts_doc(const struct facts_look *look, const char *file)
{
	auto_blob struct rye_blob *text = NULL;

	if (look->thread.dir < 0 || io_read_at(look->thread.dir, file, RYE_BUF_CAP, &text) < 0)
		return NULL;
	return json_parse((struct rye_span){ text->data, text->len }, JSON_LOAD_LAST_WINS, file,
			  NULL);
}

/* As they were resolved; of what never came so far, or is no directive's, as they were given. */
int fact_inputs(const struct facts_look *look, struct rye_buf *out, struct rye_err *err)
{
	static const char *const asked[][2] = {
		{ "request.json", "parameters" },
		{ "spawn_params.json", "inputs" },
	};
	const json_t *inputs = json_object_get(look->doc, "inputs");

	if (inputs)
		json_pretty(out, inputs);
	for (size_t i = 0; i < ARRAY_SIZE(asked) && !out->len; i++) {
		auto_json json_t *doc = read_facts_doc(look, asked[i][0]);

		if (json_object_get(doc, asked[i][1]))
			json_pretty(out, json_object_get(doc, asked[i][1]));
	}
	return out->len ? 0 : rye_fail(err, RYE_NOT_FOUND, "the inputs were not recorded");
}

/* result.json, or NULL; a new reference. */
static json_t *facts_result_doc(const struct facts_look *look)
{
	auto_blob struct rye_blob *text = NULL;

	if (threads_file(look->facts->env.threads, look->id, "result.json", &text, NULL))
		return NULL;
	return json_parse((struct rye_span){ text->data, text->len }, JSON_LOAD_LAST_WINS,
			  "result.json", NULL);
}

int fact_result(const struct facts_look *look, struct rye_buf *out, struct rye_err *err)
{
	auto_json json_t *doc = facts_result_doc(look);
	const char *text = json_str(doc, "result");

	(void)err;
	buf_adds(out, text);
	/* the row of another implementation's thread may have none */
	if (!*text)
		facts_last_answer(look, out);
	if (out->len && out->data[out->len - 1] != '\n')
		buf_addc(out, '\n');
	return 0;
}

/* What came out is what came out of the last that it handed over to. */
int fact_outputs(const struct facts_look *look, json_t **ret, struct rye_err *err)
{
	auto_json json_t *doc = facts_result_doc(look);
	const json_t *outputs = json_object_get(doc, "outputs");
	unsigned long since = memory_failures();
	json_t *tree = json_object(), *value;
	const char *name;

	if (!json_is_object(outputs))
		outputs = json_object_get(look->doc, "outputs");
	json_object_foreach((json_t *)outputs, name, value) {
		auto_buf struct rye_buf text = RYE_BUF_INIT;
		char file[128];

		facts_name(name, file);
		if (json_is_string(value))
			buf_addf(&text, "%s\n", json_string_value(value));
		else
			json_pretty(&text, value);
		json_sets(tree, file, text.failed ? "" : text.data);
	}
	*ret = tree;
	return memory_check(since, err);
}

/* ---- counts ---- */

/*
 * Of a thread that works: the age of its runner, which no change of the wall clock makes longer or
 * negative; where its process cannot be seen, that of thread.json, written when the thread began.
 */
static double elapsed_now(const struct facts_look *look)
{
	auto_json json_t *runner = read_facts_doc(look, "runner.json");
	const struct process process = { (pid_t)json_int(runner, "pid", 0),
					 (uint64_t)json_int(runner, "start", 0) };
	double seconds = process.pid > 1 ? proc_age_s(&process) : -1;
	struct timespec now;
	struct stat st;

	if (seconds >= 0 || fstatat(look->thread.dir, "thread.json", &st, 0) < 0)
		return MAX_OF(seconds, 0);
	clock_gettime(CLOCK_REALTIME, &now);
	return (double)MAX_OF(now.tv_sec - st.st_mtim.tv_sec, 0);
}

/* At its end what the thread itself wrote; until then the registry's row. */
static void cost_now(const struct facts_look *look, struct thread_cost *ret)
{
	const json_t *cost = json_object_get(look->doc, "cost");

	*ret = look->thread.links.cost;
	if (cost)
		thread_cost_read(cost, ret);
	else if (!(look->has & NEEDS_END) && look->doc)
		ret->elapsed_seconds = elapsed_now(look);
}

int fact_cost(const struct facts_look *look, struct rye_buf *out, struct rye_err *err)
{
	struct thread_cost cost;

	(void)err;
	cost_now(look, &cost);
	buf_addf(out,
		 "turns %" PRId64 "\ninput_tokens %" PRId64 "\noutput_tokens %" PRId64
		 "\nspend %.10g\nelapsed_seconds %.1f\n",
		 cost.turns, cost.input_tokens, cost.output_tokens, cost.spend,
		 cost.elapsed_seconds);
	return 0;
}

/* Those in force now: thread.json has what it began with until it ends. */
static int limits_now(const struct facts_look *look, struct limits *ret, struct rye_err *err)
{
	auto_json json_t *changed = read_facts_doc(look, RECORD_LIMITS);

	if (changed && !limits_read(changed, ret, NULL))
		return 0;
	return limits_read(json_object_get(look->doc, "limits"), ret, err);
}

int fact_limits(const struct facts_look *look, struct rye_buf *out, struct rye_err *err)
{
	struct thread_cost cost;
	struct limits limits;
	int r = limits_now(look, &limits, err);

	cost_now(look, &cost);
	for (size_t i = 0; i < LIMIT__MAX && !r; i++) {
		const double used[LIMIT__MAX] = {
			[LIMIT_TURNS] = (double)cost.turns,
			[LIMIT_TOKENS] = (double)(cost.input_tokens + cost.output_tokens),
			[LIMIT_SPEND] = cost.spend,
			[LIMIT_SPAWNS] = (double)look->thread.links.spawn_count,
			[LIMIT_DURATION] = cost.elapsed_seconds,
		};

		if (limits.set[i])
			buf_addf(out, "%s %.10g %.10g\n", limit_name((enum limit)i), used[i],
				 limits.value[i]);
	}
	return r;
}

int facts_ledger(const struct facts *facts, struct db **ret, struct rye_err *err)
{
	char path[THREADS_PATH_MAX];
	int r = threads_path(facts->env.project, "budget_ledger.db", path, err);

	*ret = NULL;
	/* opening it would make one */
	return r || access(path, F_OK) < 0 ? r : budget_open(path, ret, err);
}

static int put_spent(const struct facts_look *look, struct rye_buf *out, struct rye_err *err)
{
	struct thread_cost cost;
	struct limits limits;
	int r = limits_now(look, &limits, err);

	cost_now(look, &cost);
	if (!r && limits.set[LIMIT_SPEND])
		buf_addf(out,
			 "status %s\nreserved %.10g\nactual %.10g\nmax %.10g\nremaining %.10g\n",
			 look->thread.row.status, cost.spend, cost.spend, limits.value[LIMIT_SPEND],
			 limits.value[LIMIT_SPEND] - cost.spend);
	return r;
}

int fact_budget(const struct facts_look *look, struct rye_buf *out, struct rye_err *err)
{
	struct budget_row row;
	struct db *db;
	int r = facts_ledger(look->facts, &db, err);

	if (!r && !db)
		return r;
	if (!r)
		r = budget_get(db, look->id, &row, err);
	db_close(db);
	/*
	 * An ended family goes when the next one begins; what it had is in the record. So it is when the
	 * ledger is damaged.
	 */
	if (r == -(int)RYE_NOT_FOUND || r == -(int)RYE_UNPARSABLE)
		return put_spent(look, out, err);
	if (!r)
		buf_addf(out,
			 "status %s\nreserved %.10g\nactual %.10g\nmax %.10g\nremaining %.10g\n"
			 "tree_actual %.10g\n",
			 row.status, row.reserved, row.actual, row.max, row.remaining, row.tree);
	return r;
}

static int put_lines(const json_t *array, struct rye_buf *out)
{
	json_t *line;
	size_t i;

	json_array_foreach(array, i, line)
		if (json_is_string(line))
			buf_addf(out, "%s\n", json_string_value(line));
	return 0;
}

int fact_capabilities(const struct facts_look *look, struct rye_buf *out, struct rye_err *err)
{
	(void)err;
	return put_lines(json_object_get(look->doc, "capabilities"), out);
}

int fact_warnings(const struct facts_look *look, struct rye_buf *out, struct rye_err *err)
{
	(void)err;
	return put_lines(json_object_get(look->doc, "warnings"), out);
}

/* ---- is it what its thread wrote? ---- */

static void put_check(const struct facts_look *look, const struct chronicle_check *check,
		      struct rye_buf *out)
{
	bool running = !(look->has & NEEDS_END);
	char line[600];

	chronicle_check_line(check, line, sizeof(line));
	if (check->code == RYE_UNCOVERED && running)
		buf_addf(out, "ok %zu checkpoint%s, what follows is not signed yet\n",
			 check->checkpoints, PLURAL(check->checkpoints));
	else
		buf_addf(out, "%s%s\n", line,
			 check->code == RYE_OK && check->tail ? ", unsigned terminal tail" : "");
}

uint64_t fact_integrity_state(const struct facts_look *look)
{
	auto_trust struct trust *trust = trust_get(look->facts->env.items->trust);
	uint64_t state = facts_file_state(HASH_BASIS, look->thread.dir, "transcript.jsonl");

	state = facts_file_state(state, look->thread.dir, "thread.json");
	state = facts_file_state(state, look->thread.dir, RECORD_VOUCHED);
	if (!state)
		return 0;
	return hash_add(hash_add(state, trust->generation), look->has & NEEDS_END);
}

int fact_integrity(const struct facts_look *look, struct rye_buf *out, struct rye_err *err)
{
	auto_close int ai = facts_ai(look->facts, err);
	const struct record record = facts_record(look, ai);
	auto_json json_t *doc = NULL;
	struct chronicle_check check;
	struct rye_err why = { 0 };
	int r;

	if (ai < 0)
		return ai;
	if (thread_json_read(&record, &doc, &why)) {
		buf_addf(out, "bad: %s\n", why.msg);
		return 0;
	}
	if (!(look->has & NEEDS_STORY)) {
		buf_adds(out, "unsigned\n");
		return 0;
	}
	r = chronicle_audit(&record, json_str(doc, "transcript_head"), NULL, &check, err);
	if (r)
		return r;
	put_check(look, &check, out);
	return 0;
}
