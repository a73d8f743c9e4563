/* SPDX-License-Identifier: MIT */
/*
 * Which threads there are: `ryefs threads list` with its filters, for people in two groups with times as
 * they are spoken; `ryefs threads prune`, which forgets those that ended long ago; and the short names by
 * which every other word finds one.
 */
#include "cli/follow/follow.h"

#include "clock.h"
#include "scope.h"
#include "str.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- times ---- */

/* "2h" and the like, in seconds; exit status. */
static int ago_read(struct cli *cli, const char *option, const char *text, int64_t *ret)
{
	bool number = *text && !text[strspn(text, "0123456789")];
	auto_free char *mend = NULL;

	*ret = clock_age_read(text);
	if (*ret > 0)
		return CLI_OK;
	mend = cli_retyped(cli, "threads", text,
			   number && strtol(text, NULL, 10) > 0 ? "1d" : "2h");
	return cli_complain(cli, CLI_USAGE, mend,
			    "%s takes a number with s, m, h, d or w, as in 2h: \"%s\" is none",
			    option, text);
}

/* ---- which ---- */

struct threads_pick {
	const char *of; /* an item's id or reference, or a pattern; NULL: of any */
	int64_t since, older; /* seconds; 0: of any age */
	bool running;
	json_t *rows;
};

static bool pick_of(const struct threads_pick *pick, const char *item)
{
	const char *bare = strchr(item, ':');

	bare = bare ? bare + 1 : item;
	if (strchr(pick->of, ':'))
		return glob_match(pick->of, item) ||
		       (!strncmp(pick->of, "directive:", 10) && bare == item &&
			glob_match(pick->of + 10, item));
	return glob_match(pick->of, bare);
}

static bool pick_takes(const struct threads_pick *pick, const struct rye_thread_row *thread)
{
	int64_t age = ago_of(thread->created);
	int64_t over = thread->ended ?
			       ago_of(*thread->completed ? thread->completed : thread->created) :
			       -1;

	if (pick->running && thread->ended)
		return false;
	if (pick->since && (age < 0 || age > pick->since))
		return false;
	if (pick->older && over < pick->older)
		return false;
	return !pick->of || pick_of(pick, thread->directive);
}

static int pick_add(void *arg, const struct rye_thread_row *thread)
{
	const struct threads_pick *pick = arg;
	json_t *row;

	if (!pick_takes(pick, thread))
		return 0;
	row = json_object();
	json_sets(row, "id", thread->id);
	json_sets(row, "status", thread->status);
	json_sets(row, "directive", thread->directive);
	json_sets(row, "created", thread->created);
	json_sets(row, "completed", thread->completed);
	json_array_append_new(pick->rows, row);
	return 0;
}

/* By the options of this call; exit status. */
static int pick_read(struct cli *cli, struct threads_pick *pick)
{
	struct rye_err err = { 0 };
	int status = CLI_OK;

	pick->running = cli->opt.running;
	pick->of = cli->opt.of;
	if (cli->opt.since)
		status = ago_read(cli, "--since", cli->opt.since, &pick->since);
	if (status == CLI_OK && cli->opt.older)
		status = ago_read(cli, "--older", cli->opt.older, &pick->older);
	if (status == CLI_OK && rye_thread_rows(cli->rye, pick_add, pick, &err))
		status = cli_fail(cli, &err, NULL);
	return status;
}

/* ---- list ---- */

static enum color status_tint(const char *status)
{
	if (!strcmp(status, "completed") || !strcmp(status, "continued"))
		return COLOR_GOOD;
	return !strcmp(status, "error") || !strcmp(status, "killed") ? COLOR_BAD : COLOR_DOUBT;
}

/* For a person: those that have ended, or the others, with times as they are spoken. */
static void list_group(struct cli *cli, const json_t *rows, bool ended)
{
	static const struct out_column columns[] = {
		{ "id", "" },
		{ "status", "", .tint = "tint" },
		{ "directive", "", .most = 40 },
		{ "ago", "" },
	};
	auto_json json_t *shown = json_array();
	const json_t *row;
	char ago[40];
	size_t i;

	json_array_foreach((json_t *)rows, i, row) {
		const char *stamp =
			json_str(row, *json_str(row, "completed") ? "completed" : "created");
		json_t *line;

		if ((*json_str(row, "completed") != 0) != ended)
			continue;
		line = json_copy((json_t *)row);
		ago_spoken(ago_of(stamp), ago);
		json_sets(line, "ago", ago_of(stamp) < 0 ? stamp : ago);
		json_set(line, "tint", json_integer(status_tint(json_str(row, "status"))));
		json_array_append_new(shown, line);
	}
	if (!json_array_size(shown))
		return;
	printf("%s%s%s\n", color(cli, COLOR_HEAD), ended ? "Ended" : "Running",
	       color(cli, COLOR_END));
	out_table(cli, stdout, shown, columns, ARRAY_SIZE(columns));
}

/* What no thread is of may be misspelt. */
static void note_no_item(struct cli *cli, const char *of)
{
	auto_json json_t *items = ref_verdicts(cli, of, NULL);

	if (!strpbrk(of, "*?") && !json_array_size(items))
		cli_note(cli, "no item is called %s", of);
}

int threads_chosen(struct cli *cli, const char *id)
{
	static const struct out_column columns[] = {
		{ "id", "THREAD" },
		{ "status", "STATUS" },
		{ "directive", "ITEM" },
		{ "created", "STARTED" },
	};
	auto_json json_t *rows = json_array();
	struct threads_pick pick = { .rows = rows };
	bool all = !cli->opt.running && !cli->opt.since && !cli->opt.of;
	int status;

	(void)id;
	status = pick_read(cli, &pick);
	if (status != CLI_OK)
		return status;
	if (!json_array_size(rows) && cli->opt.of)
		note_no_item(cli, cli->opt.of);
	if (!color_person(cli) || !json_array_size(rows))
		return out_rows(cli, rows, columns, ARRAY_SIZE(columns),
				all ? "there are no threads" : "there are no such threads");
	list_group(cli, rows, true);
	list_group(cli, rows, false);
	return CLI_OK;
}

/* ---- prune ---- */

static int prune_ask(struct cli *cli, size_t n)
{
	auto_free char *text = NULL, *mend = cli_retyped(cli, "threads", NULL, NULL), *yes = NULL;

	if (asprintf(&text, "forget %zu thread%s, with what they have left?", n, PLURAL(n)) < 0 ||
	    asprintf(&yes, "%s --yes", mend ? mend : "ryefs threads prune") < 0)
		return CLI_FAILED;
	return cli_asks(cli,
			&(struct cli_question){ text, yes, "the threads", "are as they were" });
}

int threads_prune(struct cli *cli, const char *id)
{
	auto_json json_t *rows = json_array();
	struct threads_pick pick = { .rows = rows };
	struct progress progress;
	size_t n, i, gone = 0;
	json_t *row;
	int status;

	(void)id;
	if (!cli->opt.older)
		return cli_complain(cli, CLI_USAGE, "ryefs threads prune --older 30d",
				    "prune wants to be told how long ago they ended: --older");
	status = pick_read(cli, &pick);
	n = json_array_size(rows);
	if (status == CLI_OK && n)
		status = prune_ask(cli, n);
	if (status != CLI_OK)
		return status;
	progress_start(&progress, cli, "forgetting");
	json_array_foreach(rows, i, row) {
		struct rye_err err = { 0 };

		progress_step(&progress, i, n);
		if (rye_thread_ctl(cli->rye, json_str(row, "id"), SPAN("delete"), NULL, &err))
			status = cli_fail(cli, &err, NULL);
		else
			gone++;
	}
	progress_end(&progress);
	if (cli->opt.json)
		out_json(rows);
	else
		printf("%zu forgotten\n", gone);
	return status;
}

/* ---- short names ---- */

#define NAMED_SHORTEST 4 /* fewer characters are too easily those of another one */
#define NAMED_TOLD 3

struct threads_named {
	const char *begin; /* NULL: the one that was started last */
	char id[RYE_THREAD_ID_ROOM], created[64];
	size_t n;
	struct rye_buf told;
};

static void named_done(struct threads_named *named)
{
	buf_done(&named->told);
}

static int named_look(void *arg, const struct rye_thread_row *thread)
{
	struct threads_named *named = arg;

	if (named->begin && strncmp(thread->id, named->begin, strlen(named->begin)) != 0)
		return 0;
	if (named->n++ < NAMED_TOLD)
		buf_addf(&named->told, "%s%s", named->n > 1 ? ", " : "", thread->id);
	if (strcmp(thread->created, named->created) < 0)
		return 0;
	snprintf(named->id, sizeof(named->id), "%s", thread->id);
	snprintf(named->created, sizeof(named->created), "%s", thread->created);
	return 0;
}

int threads_named(struct cli *cli, const char *word, char ret[RYE_THREAD_ID_ROOM])
{
	bool last = !strcmp(word, "@last");
	__attribute__((cleanup(named_done))) struct threads_named named = {
		.begin = last ? NULL : word,
		.told = RYE_BUF_INIT,
	};
	auto_free char *known = last ? NULL : threads_fact(cli, word, "status"), *mend = NULL;
	struct rye_err err = { 0 };

	snprintf(ret, RYE_THREAD_ID_ROOM, "%s", word);
	if (known)
		return CLI_OK;
	if (!last && strlen(word) < NAMED_SHORTEST)
		return cli_complain(cli, CLI_NOT_FOUND, "ryefs threads list",
				    "%s is no thread: of an id the first %d characters are wanted",
				    word, NAMED_SHORTEST);
	if (rye_thread_rows(cli->rye, named_look, &named, &err))
		return cli_fail(cli, &err, NULL);
	if (last && !named.n)
		return cli_complain(cli, CLI_NOT_FOUND, "ryefs threads list",
				    "there are no threads");
	if (named.n && (last || named.n == 1))
		snprintf(ret, RYE_THREAD_ID_ROOM, "%s", named.id);
	if (last || named.n < 2)
		return CLI_OK;
	mend = cli_retyped(cli, "threads", word, named.id);
	return cli_complain(cli, CLI_USAGE, mend, "%s begins the ids of %zu threads: %s%s", word,
			    named.n, named.told.failed ? "" : named.told.data,
			    named.n > NAMED_TOLD ? " and more" : "");
}
