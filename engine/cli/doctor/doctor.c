/* SPDX-License-Identifier: MIT */
/*
 * ryefs doctor: everything that keeps this workspace from working, each with the command that
 * mends it. Reads only. Status 1 when something is bad; remarks do not count.
 */
#include "cli/doctor/doctor.h"

#include "cli/cli.h"
#include "scope.h"
#include "str.h"

#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>

static const char *const levels[] = { "ok", "remark", "bad" };

static void finding_print(const char *level, const char *about, const char *what, const char *mend)
{
	printf("%-7s ", level);
	out_text(stdout, about);
	fputs(": ", stdout);
	out_text(stdout, what);
	putchar('\n');
	if (!mend)
		return;
	printf("%-7s mend with: ", "");
	out_text(stdout, mend);
	putchar('\n');
}

void finding_add(struct findings *findings, enum finding_level level, const char *about,
		 const char *mend, const char *format, ...)
{
	json_t *row = json_object();
	char what[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	findings->bad += level == FINDING_BAD;
	json_sets(row, "level", levels[level]);
	json_sets(row, "about", about);
	json_sets(row, "what", what);
	json_sets(row, "mend", mend);
	json_array_append_new(findings->rows, row);
	/* -q: no remarks; for a person they are put in groups at the end */
	if (!findings->cli->opt.json && !color_person(findings->cli) &&
	    (level == FINDING_BAD || !findings->cli->opt.quiet))
		finding_print(levels[level], about, what, mend);
}

/* ---- for a person: what has to be mended last, above the next prompt ---- */

#define DOCTOR_ABOUT 36 /* a longer name moves its own line */

static void doctor_group(const struct findings *findings, enum finding_level level)
{
	static const char *const heads[] = { "Well", "Remarks", "To mend" };
	static const enum color colors[] = { COLOR_GOOD, COLOR_DOUBT, COLOR_BAD };
	static const struct out_column columns[] = {
		{ "about", "", .most = DOCTOR_ABOUT, .tint = "about_tint" },
		{ "what", "", .tint = "what_tint" },
	};
	const struct cli *cli = findings->cli;
	auto_json json_t *lines = json_array();
	const json_t *row;
	size_t i;

	json_array_foreach(findings->rows, i, row) {
		if (strcmp(json_str(row, "level"), levels[level]) != 0)
			continue;
		json_array_append_new(lines, json_pack("{s:O, s:O, s:i}", "about",
						       json_object_get(row, "about"), "what",
						       json_object_get(row, "what"), "about_tint",
						       (int)colors[level]));
		if (*json_str(row, "mend"))
			json_array_append_new(lines, json_pack("{s:s+, s:i}", "what", MEND_WITH,
							       json_str(row, "mend"), "what_tint",
							       (int)COLOR_PLACE));
	}
	if (!json_array_size(lines))
		return;
	printf("%s%s%s\n", color(cli, COLOR_HEAD), heads[level], color(cli, COLOR_END));
	out_table(cli, stdout, lines, columns, ARRAY_SIZE(columns));
}

static void doctor_groups(const struct findings *findings)
{
	int first = findings->cli->opt.quiet ? FINDING_BAD : FINDING_OK;

	for (int level = first; level < FINDING__MAX; level++)
		doctor_group(findings, (enum finding_level)level);
}

struct doctor_survey {
	struct findings *findings;
	struct progress progress;
	json_t *items;
	struct groups refused; /* and other findings about items */
	size_t served, hidden, uncovered,
		by_code[RYE_CODE__MAX]; /* refused; by_code without bundles */
};

/*
 * A finding about an item is told when all have been looked at, in their order. What
 * keeps one from being signed is its own, and for an editor.
 */
static void survey_add(struct doctor_survey *survey, const struct rye_verdict *verdict,
		       enum finding_level level, const char *what, const char *mend)
{
	auto_buf struct rye_buf wants = RYE_BUF_INIT, text = RYE_BUF_INIT;
	auto_free char *edit = NULL;
	json_t *row = json_object();
	char ref[REF_MAX];

	ref_of(verdict, ref);
	edit = wants_mend(survey->findings->cli, verdict, &wants);
	buf_addf(&text, "%.*s%s%s", (int)strcspn(what, "\n"), what,
		 wants.len ? "; before it is signed: " : "", wants.len ? wants.data : "");
	json_set(row, "level", json_integer(level));
	json_sets(row, "about", ref);
	json_sets(row, "mend", edit ? edit : mend);
	json_sets(row, "what", text.failed ? "" : text.data);
	if (wants.len)
		json_array_append_new(survey->refused.rows, row);
	else
		groups_add(&survey->refused, verdict, row);
}

static void take_refused(struct doctor_survey *survey, const struct rye_verdict *verdict)
{
	const char *message = verdict->message ? verdict->message : "";
	const char *fix = strstr(message, MEND_WITH);
	auto_free char *mend = NULL;
	char ref[REF_MAX];

	ref_of(verdict, ref);
	if (is_bundled(verdict) && rye_code_integrity(verdict->code))
		mend = mend_with("reinstall the bundle");
	/* only the remedy in the message names the key, the space, the mode, and how a manifest is mended */
	else if (fix && (verdict->code == RYE_UNTRUSTED || verdict->code == RYE_DENIED ||
			 !strcmp(verdict->space, "user") ||
			 rye_kind_has(verdict->kind, RYE_KIND_MANIFEST)))
		mend = strdup(fix + strlen(MEND_WITH));
	else
		mend = cli_remedy(verdict->code, ref);
	survey_add(survey, verdict, FINDING_BAD, message, mend);
}

/* Tools that ask for it read it all the same. */
static void unsigned_config(struct doctor_survey *survey, const struct rye_verdict *verdict)
{
	bool user = !strcmp(verdict->space, "user");
	auto_free char *mend = NULL;
	char ref[REF_MAX];

	ref_of(verdict, ref);
	mend = mend_with(user ? "ryefs sign %s --space user" : "ryefs sign %s", ref);
	survey_add(survey, verdict, FINDING_REMARK,
		   "unsigned: only tools that ask for it read it, a bundle's refuse it", mend);
}

static void tell_refused(void *arg, const json_t *row)
{
	const char *mend = json_str(row, "mend");

	finding_add(arg, (enum finding_level)json_int(row, "level", 0), json_str(row, "about"),
		    *mend ? mend : NULL, "%s", json_str(row, "what"));
}

static void tell_group(void *arg, size_t n, const struct groups_line *line)
{
	struct findings *findings = arg;

	finding_add(findings, FINDING_BAD, line->about, line->mend, "%s", line->what);
	findings->bad += n - 1;
}

/* With --json and --all there is a row for each. */
static void tell_refusals(const struct doctor_survey *survey)
{
	struct cli *cli = survey->findings->cli;
	const struct groups each = { survey->refused.rows, NULL };

	groups_tell(cli->opt.json || cli->opt.all ? &each : &survey->refused,
		    &(struct groups_teller){ tell_refused, tell_group, survey->findings });
}

/* Verdicts come sorted by reference, the winner's first: the mount serves that one alone. */
static bool is_hidden(const json_t *items)
{
	size_t n = json_array_size(items);
	const json_t *before = n > 1 ? json_array_get(items, n - 2) : NULL;

	return before &&
	       !strcmp(json_str(before, "ref"), json_str(json_array_get(items, n - 1), "ref"));
}

static int doctor_take(void *arg, const struct rye_verdict *verdict, size_t done, size_t total)
{
	struct doctor_survey *survey = arg;

	progress_step(&survey->progress, done, total);
	if (!verdict)
		return 0;
	json_array_append_new(survey->items, ref_verdict_json(verdict));
	if (is_hidden(survey->items))
		survey->hidden++;
	else if (verdict->code == RYE_OK)
		survey->served++;
	else if (!is_bundled(verdict))
		survey->by_code[verdict->code]++;
	/* its text is served; it cannot be run, and nothing can be told from it */
	if (verdict->unread)
		survey_add(survey, verdict, FINDING_BAD, verdict->message,
			   "mend the file, then sign it again");
	else if (verdict->code != RYE_OK)
		take_refused(survey, verdict);
	else if (verdict->kind == RYE_CONFIG && !strcmp(verdict->message, "unsigned"))
		unsigned_config(survey, verdict);
	return 0;
}

#define MANY 5 /* from here on one command for all is worth saying */

static void remedies_for_many(struct doctor_survey *survey)
{
	size_t uncovered = survey->by_code[RYE_UNCOVERED], uns = survey->by_code[RYE_UNSIGNED];
	size_t changed = survey->by_code[RYE_MODIFIED] + survey->by_code[RYE_MOVED] +
			 survey->by_code[RYE_BAD_SIGNATURE] + survey->by_code[RYE_BAD_LINE];

	if (uncovered >= MANY)
		finding_add(survey->findings, FINDING_REMARK, "items", "ryefs sign -i",
			    "%zu are signed by another implementation only, which a mount with "
			    "-o coverage=compat accepts",
			    uncovered);
	if (uns >= MANY)
		finding_add(survey->findings, FINDING_REMARK, "items", "ryefs sign --all",
			    "%zu are unsigned", uns);
	if (changed >= MANY)
		finding_add(survey->findings, FINDING_REMARK, "items", "ryefs sign -i",
			    "%zu have changed since they were signed", changed);
	if (survey->by_code[RYE_UNTRUSTED] >= MANY)
		finding_add(survey->findings, FINDING_REMARK, "items", "ryefs keys",
			    "%zu are signed by keys that you do not trust; they stay refused until "
			    "ryefs trust FINGERPRINT",
			    survey->by_code[RYE_UNTRUSTED]);
}

static int check_items(struct findings *findings)
{
	auto_json json_t *items = json_array(), *rows = json_array(), *causes = json_object();
	struct doctor_survey survey = { .findings = findings,
					.items = items,
					.refused = { rows, causes } };
	struct rye_batch batch = { .fn = doctor_take, .arg = &survey };
	struct rye_err err = { 0 };

	progress_start(&survey.progress, findings->cli, "verifying");
	if (rye_verify_all(findings->cli->rye, &batch, &err)) {
		progress_end(&survey.progress);
		return cli_fail(findings->cli, &err, NULL);
	}
	progress_end(&survey.progress);
	tell_refusals(&survey);
	if (survey.hidden)
		finding_add(findings, FINDING_OK, "items", NULL,
			    "%zu %s served; %zu hidden by others of their name", survey.served,
			    survey.served == 1 ? "is" : "are", survey.hidden);
	else
		finding_add(findings, FINDING_OK, "items", NULL, "%zu %s served", survey.served,
			    survey.served == 1 ? "is" : "are");
	if (findings->cli->opt.json || findings->cli->opt.all)
		remedies_for_many(&survey);
	clash_check(findings, items);
	skill_names_check(findings);
	unused_check(findings);
	meant_check(findings, items);
	return CLI_OK;
}

/* The private half lies beside the public one. */
static void check_secret(struct findings *findings, const char *public_path)
{
	const char *slash = strrchr(public_path, '/');
	auto_buf struct rye_buf path = RYE_BUF_INIT;
	struct stat st;

	if (!slash)
		return;
	buf_addf(&path, "%.*s/private_key.pem", (int)(slash - public_path), public_path);
	if (!path.failed && stat(path.data, &st) == 0 && st.st_mode & 077)
		finding_add(findings, FINDING_BAD, path.data,
			    "chmod 600 that file; a new key if others could read it",
			    "your private key is readable by others");
}

static int doctor_check_keys(struct findings *findings)
{
	struct rye_err err = { 0 };
	auto_json json_t *rows = key_rows(findings->cli, &err);
	const json_t *own = key_row(rows, NULL, "signing"), *broken = key_broken(rows);
	auto_free char *what = NULL, *mend = told_split(json_str(broken, "status"), &what);

	if (!rows)
		return cli_fail(findings->cli, &err, NULL);
	check_secret(findings, json_str(own, "path"));
	if (broken)
		finding_add(findings, FINDING_BAD, "keys", mend, "%s", what);
	else if (own)
		finding_add(findings, FINDING_OK, "keys", NULL, "there is a signing key");
	else
		finding_add(findings, FINDING_REMARK, "keys", own_key_remedy(findings->cli),
			    "there is no signing key: you can read and run, but sign nothing");
	if (!key_row(rows, NULL, "trusted"))
		finding_add(findings, FINDING_BAD, "keys", "ryefs trust self, or ryefs trust KEY",
			    "no key is trusted, so everything is refused");
	return CLI_OK;
}

static void check_doubts(struct findings *findings)
{
	unsigned doubts = rye_doubts(findings->cli->rye);

	if (doubts & RYE_DOUBT_ONE_SPACE)
		finding_add(findings, FINDING_REMARK, "project",
			    "keep the project in a directory of its own",
			    "your user space lies in it: whoever may write to the project may add "
			    "trusted keys%s",
			    doubts & RYE_DOUBT_NO_VEIL ? ", tools among them" : ", but not tools");
	if (doubts & RYE_DOUBT_LEDGER)
		finding_add(
			findings, FINDING_REMARK, "threads", "ryefs threads",
			"budget_ledger.db is damaged: the next thread of a model begins it anew, "
			"once those that run have ended");
	if (doubts & RYE_DOUBT_NO_VEIL)
		finding_add(findings, FINDING_REMARK, "sandbox",
			    "allow user namespaces; in a container: --cap-add SYS_ADMIN",
			    "no mount namespaces: tools can read your signing keys and write to "
			    ".ai/state");
}

static void check_git(struct findings *findings)
{
	const char *project = findings->cli->project;
	auto_free char *mend = mend_with("ryefs init %s", project);

	if (!merging_lacks(project))
		return;
	finding_add(findings, FINDING_REMARK, "git", mend,
		    "this clone does not know how items are merged: two people's changes to one "
		    "always meet in its signature");
}

int verb_doctor(struct cli *cli)
{
	auto_json json_t *rows = json_array();
	struct findings findings = { .cli = cli, .rows = rows };
	int status;

	machine_check(&findings);
	check_doubts(&findings);
	left_check(&findings);
	check_git(&findings);
	ignored_check(&findings);
	status = doctor_check_keys(&findings);
	models_check(&findings);
	remotes_check(&findings);
	node_check(&findings);
	if (status == CLI_OK)
		status = check_items(&findings);
	if (status != CLI_OK)
		return status;
	if (cli->opt.json)
		out_json(rows);
	else if (color_person(cli))
		doctor_groups(&findings);
	if (!cli->opt.json && findings.bad && !cli->opt.quiet)
		printf("%zu to mend\n", findings.bad);
	return findings.bad ? CLI_FAILED : CLI_OK;
}
