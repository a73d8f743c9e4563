/* SPDX-License-Identifier: MIT */
/*
 * ryefs threads: what state/threads shows, without a mount. Facts are the small files of a
 * thread's directory; a verb that changes something is what one would write to its ctl.
 */
#include "cli/follow/follow.h"

#include "near.h"
#include "scope.h"
#include "str.h"

#include <string.h>

#define FACT_MAX 512 /* longer files are contents, not facts */

char *threads_fact(struct cli *cli, const char *id, const char *name)
{
	struct rye_blob *blob = NULL;
	char *text = NULL;

	if (rye_thread_file(cli->rye, id, name, &blob, NULL))
		return NULL;
	text = span_dup(span_trim((struct rye_span){ blob->data, blob->len }));
	rye_blob_unref(blob);
	return text;
}

static int add_thread(void *arg, const struct rye_thread_row *thread)
{
	json_t *rows = arg, *row = json_object();

	json_sets(row, "id", thread->id);
	json_sets(row, "status", thread->status);
	json_sets(row, "directive", thread->directive);
	json_sets(row, "created", thread->created);
	json_sets(row, "completed", thread->completed);
	json_array_append_new(rows, row);
	return 0;
}

static int verb_threads_list(struct cli *cli)
{
	static const struct out_column columns[] = {
		{ "id", "THREAD", false },
		{ "status", "STATUS", false },
		{ "directive", "ITEM", false },
		{ "created", "STARTED", false },
	};
	auto_json json_t *rows = json_array();
	struct rye_err err = { 0 };

	if (rye_thread_rows(cli->rye, add_thread, rows, &err))
		return cli_fail(cli, &err, NULL);
	return out_rows(cli, rows, columns, ARRAY_SIZE(columns), "there are no threads");
}

struct shown_facts {
	struct cli *cli;
	const char *id;
	json_t *all;
};

static int add_fact(void *arg, const char *name)
{
	struct shown_facts *facts = arg;
	auto_free char *text = NULL;
	json_t *value = NULL;

	if (!strcmp(name, "wait") || !strcmp(name, "ctl"))
		return 0;
	text = threads_fact(facts->cli, facts->id, name);
	if (!text)
		return 0;
	if (str_ends(name, ".json"))
		value = json_loads(text, JSON_DECODE_ANY, NULL);
	if (!value && strlen(text) < FACT_MAX && !strchr(text, '\n'))
		value = json_string(text);
	if (value)
		json_set(facts->all, name, value);
	return 0;
}

static void print_fact(const char *name, const char *text)
{
	printf("%-12s ", name);
	out_text(stdout, text);
	putchar('\n');
}

/* For people: the short facts, the parameters, then the output. */
static void print_facts(struct cli *cli, const char *id, json_t *all)
{
	const json_t *request = json_object_get(all, "request.json");
	auto_buf struct rye_buf parameters = RYE_BUF_INIT;
	struct rye_blob *output = NULL;
	const char *name;
	json_t *value;

	json_object_foreach(all, name, value)
		if (json_is_string(value) && json_string_length(value) && strcmp(name, "output"))
			print_fact(name, json_string_value(value));
	if (json_object_get(request, "parameters")) {
		json_put(&parameters, json_object_get(request, "parameters"), false);
		print_fact("parameters", parameters.data);
	}
	if (rye_thread_file(cli->rye, id, "output", &output, NULL))
		return;
	puts("output:");
	said_blob(output);
	rye_blob_unref(output);
}

static int verb_threads_show(struct cli *cli, const char *id)
{
	auto_json json_t *all = json_object();
	struct shown_facts facts = { cli, id, all };
	struct rye_err err = { 0 };

	json_sets(all, "id", id);
	if (rye_thread_names(cli->rye, id, add_fact, &facts, &err))
		return cli_fail(cli, &err, NULL);
	if (cli->opt.json)
		out_json(all);
	else
		print_facts(cli, id, all);
	return CLI_OK;
}

static void print_status(const char *id, const char *status)
{
	auto_json json_t *answer = json_object();

	json_sets(answer, "id", id);
	json_sets(answer, "status", status ? status : "gone");
	out_json(answer);
}

static int verb_threads_await(struct cli *cli, const char *id)
{
	auto_free char *status = NULL;
	char last[RYE_THREAD_ID_ROOM];
	int signal = 0, failed = call_thread_wait(cli, id, &signal);

	if (failed || signal)
		return failed ? failed : 128 + signal;
	/* the end that was waited for is that of the one which goes on last */
	status = threads_fact(cli, rye_thread_last(cli->rye, id, last) ? id : last, "status");
	if (cli->opt.json)
		print_status(id, status);
	else
		printf("%s\n", status ? status : "gone");
	return status && !strcmp(status, "completed") ? CLI_OK : CLI_FAILED;
}

static int control(struct cli *cli, const char *verb, const char *id)
{
	auto_blob struct rye_blob *answer = NULL;
	struct rye_err err = { 0 };

	if (rye_thread_ctl(cli->rye, id, span_of(verb), &answer, &err))
		return cli_fail(cli, &err, NULL);
	if (strcmp(answer->data, "ok\n") != 0 && !cli->opt.json)
		out_blob(stdout, answer);
	return out_success(cli, "id", id, NULL);
}

/* NULL: there is no such thread. */
static char *threads_status(struct cli *cli, const char *id)
{
	cli->opt.quiet = true;
	return cli_open(cli, CLI_ANY_PLACE) == CLI_OK ? threads_fact(cli, id, "status") : NULL;
}

/* A thread's id alone shows it; other programs' words have a word here. */
static int threads_unknown(struct cli *cli, const char *word)
{
	static const char *const words[][2] = {
		{ "ls", "list" },	{ "ps", "list" },	{ "status", "show" },
		{ "info", "show" },	{ "rm", "delete" },	{ "stop", "cancel" },
		{ "abort", "cancel" },	{ "list", "list" },	{ "show", "show" },
		{ "wait", "wait" },	{ "cancel", "cancel" }, { "kill", "kill" },
		{ "delete", "delete" }, { "tell", "say" },	{ "continue", "resume" },
		{ "tail", "tail" },	{ "follow", "tail" },	{ "log", "tail" },
		{ "tree", "tree" },	{ "cost", "cost" },	{ "verify", "verify" },
		{ "check", "verify" },
	};
	auto_buf struct rye_buf mend = RYE_BUF_INIT;
	auto_free char *status = threads_status(cli, word);
	struct near_word near;
	const char *best;

	near_start(&near, word);
	for (size_t i = 0; i < ARRAY_SIZE(words) && !status; i++)
		near_offer(&near, words[i][0], words[i][1]);
	best = status ? "show" : near.best ? near.best : "list";
	buf_addf(&mend, "ryefs threads %s", best);
	for (int i = status ? 0 : 1; i < cli->argc && strcmp(best, "list") != 0; i++) {
		buf_addc(&mend, ' ');
		buf_shell(&mend, cli->argv[i]);
	}
	return cli_complain(cli, CLI_USAGE, mend.failed ? NULL : mend.data,
			    "\"%s\" is nothing that can be done to threads; did you mean %s?", word,
			    best);
}

/* What is said with the verb, as a line of its ctl: the rest of the words. */
static int threads_say(struct cli *cli, const char *verb, const char *id)
{
	auto_buf struct rye_buf line = RYE_BUF_INIT;

	buf_adds(&line, verb);
	for (int i = 2; i < cli->argc; i++)
		buf_addf(&line, " %s", cli->argv[i]);
	if (!line.failed && cli->argc > 2 && !strcmp(verb, "resume"))
		return threads_resume(cli, id, line.data + strlen("resume "));
	if (strcmp(verb, "say") == 0 || strcmp(verb, "limit") == 0 || strcmp(verb, "handoff") == 0)
		threads_begun(cli, id);
	return line.failed ? CLI_FAILED : control(cli, line.data, id);
}

/* Words that show something. */
static const struct threads_word {
	const char *name;
	int (*fn)(struct cli *cli, const char *id);
	bool of_all;
} threads_words[] = {
	{ "cost", threads_cost, true },	       { "show", verb_threads_show, false },
	{ "tail", threads_tail, false },       { "tree", threads_tree, true },
	{ "wait", verb_threads_await, false },
};

static const struct threads_word *threads_word(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(threads_words); i++)
		if (!strcmp(threads_words[i].name, name))
			return &threads_words[i];
	return NULL;
}

int verb_threads(struct cli *cli)
{
	static const char *const controls[] = { "cancel", "kill",    "delete", "say",
						"limit",  "handoff", "resume", "verify" };
	const char *word = cli->argc ? cli->argv[0] : "list";
	const char *id = cli->argc > 1 ? cli->argv[1] : NULL;
	const struct threads_word *shown = threads_word(word);
	const char *ctl = NULL;
	int status;

	for (size_t i = 0; i < ARRAY_SIZE(controls); i++)
		if (!strcmp(word, controls[i]))
			ctl = controls[i];
	if (!ctl && !shown && strcmp(word, "list"))
		return threads_unknown(cli, word);
	if (!strcmp(word, "list") ? id != NULL : id == NULL && !(shown && shown->of_all))
		return cli_complain(cli, CLI_USAGE, "ryefs threads list",
				    id ? "list wants no thread" : "%s wants a thread's id", word);
	if (!ctl && cli->argc > 2)
		return cli_complain(cli, CLI_USAGE, NULL, "%s wants one thread's id", word);
	if (!strcmp(word, "wait"))
		call_block_signals();
	status = cli_open(cli, CLI_PROJECT);
	if (status != CLI_OK)
		return status;
	rye_thread_recover(cli->rye, id);
	if (ctl)
		return threads_say(cli, ctl, id);
	return shown ? shown->fn(cli, id) : verb_threads_list(cli);
}
