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

/* A thread may end while its facts are read: "completed" without the result that it lacked a moment before. */
#define SHOWN_LOOKS 3

/* All facts as they were under one status. */
static int shown_collect(struct cli *cli, const char *id, json_t *all, struct rye_err *err)
{
	struct shown_facts facts = { cli, id, all };
	int r = 0;

	for (int i = 0; i < SHOWN_LOOKS; i++) {
		auto_free char *before = threads_fact(cli, id, "status");

		json_object_clear(all);
		json_sets(all, "id", id);
		r = rye_thread_names(cli->rye, id, add_fact, &facts, err);
		if (r || !before || !strcmp(before, json_str(all, "status")))
			break;
	}
	return r;
}

static int verb_threads_show(struct cli *cli, const char *id)
{
	auto_json json_t *all = json_object();
	struct rye_err err = { 0 };

	if (shown_collect(cli, id, all, &err))
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
	int signal = 0, failed = call_thread_wait(cli, id, NULL, &signal);

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
		return cli_fail(cli, &err, err.code == RYE_STATE ? id : NULL);
	if (strcmp(answer->data, "ok\n") != 0 && !cli->opt.json)
		out_blob(stdout, answer);
	return out_success(cli, "id", id, NULL);
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

static const struct threads_word {
	const char *name;
	int (*fn)(struct cli *cli, const char *id); /* NULL: its ctl is told */
	enum { THREADS_ONE, THREADS_OR_ALL, THREADS_ALL } of;
} threads_words[] = {
	{ "apply" },
	{ "cancel" },
	{ "cost", threads_cost, THREADS_OR_ALL },
	{ "delete" },
	{ "forget" },
	{ "handoff" },
	{ "kill" },
	{ "limit" },
	{ "list", threads_chosen, THREADS_ALL },
	{ "prune", threads_prune, THREADS_ALL },
	{ "resume" },
	{ "say" },
	{ "show", verb_threads_show },
	{ "tail", threads_tail },
	{ "tree", threads_tree, THREADS_OR_ALL },
	{ "verify" },
	{ "wait", verb_threads_await },
};

/* Of other programs, with what is meant by them here. */
static const char *const threads_others[][2] = { { "abort", "cancel" },	   { "check", "verify" },
						 { "continue", "resume" }, { "follow", "tail" },
						 { "info", "show" },	   { "log", "tail" },
						 { "logs", "tail" },	   { "ls", "list" },
						 { "ps", "list" },	   { "rm", "delete" },
						 { "status", "show" },	   { "stop", "cancel" },
						 { "tell", "say" } };

/* NULL: there is no such thread. */
static char *threads_status(struct cli *cli, const char *id)
{
	cli->opt.quiet = true;
	return cli_open(cli, CLI_ANY_PLACE) == CLI_OK ? threads_fact(cli, id, "status") : NULL;
}

/* A thread's id alone shows it; other programs' words have a word here. */
static int threads_unknown(struct cli *cli, const char *word)
{
	auto_free char *status = threads_status(cli, word), *mend = NULL;
	struct near_word near;
	const char *best;

	near_start(&near, word);
	for (size_t i = 0; i < ARRAY_SIZE(threads_words); i++)
		near_offer(&near, threads_words[i].name, threads_words[i].name);
	for (size_t i = 0; i < ARRAY_SIZE(threads_others); i++)
		near_offer(&near, threads_others[i][0], threads_others[i][1]);
	best = status ? "show" : near.best ? near.best : "list";
	if (status)
		mend = cli_retyped(cli, "threads show", NULL, NULL);
	else if (strcmp(best, "list") != 0)
		mend = cli_retyped(cli, "threads", cli->argv[0], best);
	else
		mend = mend_with("ryefs threads list");
	return cli_complain(cli, CLI_USAGE, mend,
			    "\"%s\" is nothing that can be done to threads; did you mean %s?", word,
			    best);
}

/* The options that choose threads belong to two words. */
static int threads_options(struct cli *cli, const char *name)
{
	bool lists = !strcmp(name, "list"), prunes = !strcmp(name, "prune");
	const struct cli_opts *opt = &cli->opt;

	if ((opt->running || opt->since) && !lists)
		return cli_complain(cli, CLI_USAGE, "ryefs threads list --help",
				    "--running and --since belong to threads list");
	if (opt->of && !lists && !prunes)
		return cli_complain(cli, CLI_USAGE, "ryefs threads list --help",
				    "--of belongs to threads list and threads prune");
	/* a thread that is named is asked for once */
	if (opt->older && !prunes)
		return cli_complain(cli, CLI_USAGE, "ryefs threads prune --older 30d --help",
				    "--older belongs to threads prune");
	if (opt->yes && !prunes && strcmp(name, "delete") != 0)
		return cli_complain(cli, CLI_USAGE, "ryefs threads --help",
				    "--yes belongs to threads prune and threads delete");
	return CLI_OK;
}

int verb_threads(struct cli *cli)
{
	char named[RYE_THREAD_ID_ROOM];
	const char *name = cli->argc ? cli->argv[0] : "list";
	const char *id = cli->argc > 1 ? cli->argv[1] : NULL;
	const struct threads_word *word = NULL;
	int status;

	for (size_t i = 0; i < ARRAY_SIZE(threads_words) && !word; i++)
		if (!strcmp(threads_words[i].name, name))
			word = &threads_words[i];
	if (!word)
		return threads_unknown(cli, name);
	if (id ? word->of == THREADS_ALL : word->of == THREADS_ONE)
		return cli_complain(cli, CLI_USAGE, "ryefs threads list",
				    id ? "%s wants no thread" : "%s wants a thread's id", name);
	if (word->fn && cli->argc > 2)
		return cli_complain(cli, CLI_USAGE, NULL, "%s wants one thread's id", name);
	status = threads_options(cli, name);
	if (status != CLI_OK)
		return status;
	if (word->fn == verb_threads_await || word->fn == threads_tail)
		cli_block_signals();
	status = cli_open(cli, CLI_PROJECT);
	if (status == CLI_OK && id)
		status = threads_named(cli, id, named);
	if (status != CLI_OK)
		return status;
	id = id ? named : NULL;
	rye_thread_recover(cli->rye, id);
	return word->fn ? word->fn(cli, id) : threads_say(cli, name, id);
}
