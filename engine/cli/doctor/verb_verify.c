/* SPDX-License-Identifier: MIT */
/*
 * ryefs verify: verdicts of every item or of those named. Without operands only the refused
 * ones are told, many of one cause as one; a summary ends it. Nothing is changed.
 */
#include "cli/doctor/doctor.h"

#include "base/id.h"
#include "scope.h"
#include "str.h"

#include <string.h>
#include <sys/stat.h>

struct verb_verify_survey {
	struct cli *cli;
	struct progress progress;
	json_t *rows;
	struct groups groups; /* without operands: they are told at the end */
	size_t served, refused;
	const char *pattern; /* of skills' folders; NULL: all */
	enum rye_code first; /* of the first refusal: the project's comes before the others' */
};

static bool verify_is_data(const struct cli *cli)
{
	return cli->opt.json || cli->opt.sarif;
}

/* The same name may be an item in another space as well. True: what is wrong with it is its own. */
static bool verify_line(struct cli *cli, const struct rye_verdict *verdict, struct rye_buf *ret)
{
	char ref[REF_MAX];

	const char *message = verdict->message ? verdict->message : "";
	auto_buf struct rye_buf wants = RYE_BUF_INIT;
	auto_free char *edit = verdict->code ? wants_mend(cli, verdict, &wants) : NULL;
	const char *space = verdict->space ? verdict->space : "project";
	auto_free char *what = NULL, *told = told_split(message, &what);
	auto_free char *mend = told ? mend_here(cli, told) : NULL;
	size_t n = mend ? (size_t)(strstr(message, MEND_WITH) - message) + strlen(MEND_WITH) :
			  strlen(message);

	ref_of(verdict, ref);
	buf_addf(ret, "%s %s", verdict->code == RYE_OK ? "ok      " : "refused ", ref);
	if (strcmp(space, "project") != 0)
		buf_addf(ret, " (%s)", space);
	if (edit)
		buf_addf(ret, ": %s\n  before it is signed: %s\n  " MEND_WITH "%s", what,
			 wants.data, edit);
	else if (verdict->code != RYE_OK || *message)
		buf_addf(ret, ": %.*s%s", (int)n, message, mend ? mend : "");
	return edit;
}

static void tinted(const struct cli *cli, enum color which, const char *text)
{
	fputs(color(cli, which), stdout);
	out_text(stdout, text);
	fputs(color(cli, COLOR_END), stdout);
}

/* For a person: the verdict in its color, the reason, and the remedy on a line of its own. */
static void verify_shown(const struct cli *cli, char *line)
{
	char *mend = strstr(line, MEND_WITH), *what = strchr(line, ' ');

	for (char *end = mend; end && end > line && strchr("; \n", end[-1]); end--)
		end[-1] = 0;
	if (what)
		*what++ = 0;
	tinted(cli, strcmp(line, "ok") ? COLOR_BAD : COLOR_GOOD, line);
	putchar(' ');
	out_text(stdout, what ? what : "");
	putchar('\n');
	if (!mend)
		return;
	fputs("         ", stdout);
	tinted(cli, COLOR_PLACE, mend);
	putchar('\n');
}

static void verify_one(void *arg, const json_t *row)
{
	const struct cli *cli = arg;
	auto_free char *line = color_person(cli) ? strdup(json_str(row, "line")) : NULL;

	if (line) {
		verify_shown(cli, line);
		return;
	}
	out_text(stdout, json_str(row, "line"));
	putchar('\n');
}

static void verify_many(void *arg, size_t n, const struct groups_line *line)
{
	auto_free char *mend = mend_here(arg, line->mend);
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	auto_json json_t *row = json_object();

	(void)n;
	buf_addf(&text, "refused  %s: %s\n  " MEND_WITH "%s", line->about, line->what,
		 mend ? mend : line->mend);
	json_sets(row, "line", text.failed ? "" : text.data);
	verify_one(arg, row);
}

static int verb_verify_take(void *arg, const struct rye_verdict *verdict, size_t done, size_t total)
{
	struct verb_verify_survey *survey = arg;
	auto_buf struct rye_buf line = RYE_BUF_INIT;
	auto_json json_t *row = NULL;
	bool own;

	progress_step(&survey->progress, done, total);
	/* git knows the project's alone */
	if (!verdict || (survey->cli->opt.since && strcmp(verdict->space, "project") != 0))
		return 0;
	if (verdict->code == RYE_OK) {
		survey->served++;
	} else {
		if (!survey->refused++)
			survey->first = verdict->code;
	}
	if (verify_is_data(survey->cli))
		json_array_append_new(survey->rows, ref_verdict_json(verdict));
	if (verify_is_data(survey->cli) || (verdict->code == RYE_OK && survey->cli->argc == 0))
		return 0;
	own = verify_line(survey->cli, verdict, &line);
	row = json_object();
	json_sets(row, "line", line.failed ? "" : line.data);
	if (survey->cli->argc == 0 && !survey->cli->opt.all) {
		if (own)
			json_array_append(survey->groups.rows, row);
		else
			groups_add(&survey->groups, verdict, json_incref(row));
		return 0;
	}
	progress_end(&survey->progress);
	verify_one(survey->cli, row);
	return 0;
}

static int verb_verify_finish(struct cli *cli, const struct verb_verify_survey *survey)
{
	auto_json json_t *sarif = cli->opt.sarif ? sarif_of(cli->project, survey->rows) : NULL;

	if (verify_is_data(cli))
		out_json(sarif ? sarif : survey->rows);
	else if (cli->argc != 1 || survey->served + survey->refused > 1)
		printf("%s%zu good, %zu refused%s\n", color(cli, COLOR_HEAD), survey->served,
		       survey->refused, color(cli, COLOR_END));
	if (survey->refused == 0)
		return CLI_OK;
	/* a single name's status tells what kind of failure it is, in however many spaces it is */
	return cli->argc == 1 && !strpbrk(cli->argv[0], "*?") ? (int)exit_of(survey->first) :
								CLI_FAILED;
}

/* A bare id may be several items': all of them are looked at. */
static int verb_verify_ref(struct cli *cli, int operand, char ref[REF_MAX])
{
	cli->operand = operand;
	ref_from_word(cli, cli->argv[operand], ref);
	return strchr(ref, ':') ? ref_operand(cli, operand, ref) : CLI_OK;
}

static int verify_pattern(struct cli *cli, struct verb_verify_survey *survey, const char *pattern)
{
	struct rye_batch batch = { .pattern = pattern, .fn = verb_verify_take, .arg = survey };
	struct rye_err err = { 0 };

	return rye_verify_all(cli->rye, &batch, &err) ? cli_fail(cli, &err, pattern) : CLI_OK;
}

/* A skill's folder beside which no manifest lies is no item, and yet it came without a signature. */
static void verify_unlisted(struct cli *cli, struct verb_verify_survey *survey, const char *ref)
{
	auto_free char *folder = NULL, *manifest = NULL, *message = NULL;
	struct rye_verdict verdict = { .kind = RYE_SKILL,
				       .space = "project",
				       .code = RYE_UNSIGNED };
	struct stat st;

	if (id_split(ref, &verdict.id) != RYE_SKILL ||
	    asprintf(&folder, "%s/.ai/skills/%s", cli->project, verdict.id) < 0 ||
	    asprintf(&manifest, "%s.yaml", folder) < 0 || lstat(folder, &st) < 0 ||
	    !S_ISDIR(st.st_mode) || lstat(manifest, &st) == 0)
		return;
	if (asprintf(&message,
		     "Unsigned item: %s\n  Kind: skill\n  " MEND_WITH "ryefs skill add %s", folder,
		     verdict.id) < 0)
		return;
	verdict.path = folder;
	verdict.message = message;
	verb_verify_take(survey, &verdict, 1, 1);
}

/* Folders of skills without a manifest: no item, so no walk over items comes to them. */
static int verify_on_skill(void *arg, const char *name, bool refused)
{
	struct verb_verify_survey *survey = arg;
	auto_free char *ref = NULL;

	if (refused && asprintf(&ref, "skill:%s", name) >= 0 &&
	    (!survey->pattern || glob_match(survey->pattern, ref)))
		verify_unlisted(survey->cli, survey, ref);
	return 0;
}

static int verify_folders(struct cli *cli, struct verb_verify_survey *survey, const char *pattern)
{
	struct rye_err err = { 0 };

	if (pattern && strncmp(pattern, "skill:", 6) != 0)
		return CLI_OK;
	survey->pattern = pattern;
	return rye_skill_list(cli->rye, verify_on_skill, survey, &err) ? cli_fail(cli, &err, NULL) :
									 CLI_OK;
}

/* What has been changed since a commit; what is gone by now is passed over. */
static int verify_changed(struct cli *cli, struct verb_verify_survey *survey)
{
	auto_json json_t *refs = json_array();
	int status = changed_since(cli, cli->opt.since, refs);
	const json_t *row;
	size_t i;

	json_array_foreach(refs, i, row) {
		struct rye_batch batch = { json_str(row, "ref"), .fn = verb_verify_take,
					   .arg = survey };
		struct rye_err err = { 0 };

		if (status == CLI_OK && rye_verify_all(cli->rye, &batch, &err) &&
		    err.code != RYE_NOT_FOUND)
			status = cli_fail(cli, &err, batch.pattern);
		if (status == CLI_OK)
			verify_unlisted(cli, survey, batch.pattern);
	}
	return status;
}

static int verify_named(struct cli *cli, struct verb_verify_survey *survey)
{
	int status = CLI_OK;

	for (int i = 0; i < (cli->argc ? cli->argc : 1) && status == CLI_OK; i++) {
		char ref[REF_MAX];

		if (cli->argc)
			status = verb_verify_ref(cli, i, ref);
		if (status == CLI_OK)
			status = verify_pattern(cli, survey, cli->argc ? ref : NULL);
		if (status == CLI_OK)
			status = verify_folders(cli, survey, cli->argc ? ref : NULL);
	}
	return status;
}

int verb_verify(struct cli *cli)
{
	auto_json json_t *rows = json_array(), *lines = json_array(), *causes = json_object();
	struct verb_verify_survey survey = { .cli = cli,
					     .rows = rows,
					     .groups = { lines, causes } };
	int status;

	if (cli->opt.since && cli->argc)
		return cli_misuse(cli, "--changed-since says which items: no REF with it");
	status = cli_open(cli, cli->argc ? CLI_ANY_PLACE : CLI_PROJECT);
	if (status != CLI_OK)
		return status;
	progress_start(&survey.progress, cli, "verifying");
	status = cli->opt.since ? verify_changed(cli, &survey) : verify_named(cli, &survey);
	progress_end(&survey.progress);
	groups_tell(&survey.groups, &(struct groups_teller){ verify_one, verify_many, cli });
	return status == CLI_OK ? verb_verify_finish(cli, &survey) : status;
}
