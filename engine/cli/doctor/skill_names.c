/* SPDX-License-Identifier: MIT */
/* Items that a mount would show as skills, were it not for their names; and folders that no manifest lists. */
#include "cli/doctor/doctor.h"

#include "scope.h"

#include <stdio.h>
#include <string.h>

/* "directive:my/task" of its file, "my/task.md". */
static void name_of_file(enum rye_kind kind, const char *path, char ret[RYE_REF_MAX])
{
	const char *dot = strrchr(path, '.');
	size_t n = dot && !strchr(dot, '/') ? (size_t)(dot - path) : strlen(path);

	snprintf(ret, RYE_REF_MAX, "%s:%.*s", rye_kind_name(kind), n > 1000 ? 1000 : (int)n, path);
}

static int on_clash(void *arg, const struct rye_clash *clash)
{
	struct findings *findings = arg;
	char ref[RYE_REF_MAX], by[RYE_REF_MAX];

	name_of_file(clash->kind, clash->path, ref);
	if (clash->by == RYE_KIND__MAX) {
		finding_add(findings, FINDING_REMARK, ref, "rename it",
			    "is not shown as a skill: its ID gives no name of 1 to 64 of a-z, 0-9 "
			    "and single hyphens");
		return 0;
	}
	name_of_file(clash->by, *clash->by_path ? clash->by_path : clash->name, by);
	finding_add(findings, FINDING_REMARK, ref, "rename one of them",
		    clash->by == clash->kind ?
			    "is not shown as a skill, nor is %s: both would be %s" :
			    "is not shown as a skill: %s is %s already",
		    by, clash->name);
	return 0;
}

/* What has a manifest is an item, and told with those. */
static int on_folder(void *arg, const char *name, bool refused)
{
	struct findings *findings = arg;
	struct cli *cli = findings->cli;
	auto_free char *what = NULL, *mend = NULL;
	auto_json json_t *rows = NULL;
	char ref[RYE_REF_MAX];
	struct rye_skill skill;
	struct rye_err ignored;

	snprintf(ref, sizeof(ref), "skill:%s", name);
	if (!refused || rye_skill_find(cli->rye, name, &skill, &ignored) ||
	    skill.verdict != RYE_UNSIGNED)
		return 0;
	rows = ref_verdicts(cli, ref, NULL);
	if (json_array_size(rows))
		return 0;
	mend = told_split(skill.reason, &what);
	finding_add(findings, FINDING_REMARK, ref, mend,
		    "a folder that no key has signed: no client reads it");
	return 0;
}

void skill_names_check(struct findings *findings)
{
	struct rye_offers *offers = rye_offers_open(findings->cli->rye, RYE_OFFER_OWN);
	struct rye_err err = { 0 };

	rye_skill_list(findings->cli->rye, on_folder, findings, &err);
	if (offers && rye_offer_clashes(offers, on_clash, findings, &err))
		finding_add(findings, FINDING_REMARK, "skills", NULL,
			    "their names cannot be told: %s", err.msg);
	rye_offers_close(offers);
}
