/* SPDX-License-Identifier: MIT */
/*
 * doctor's view of the remotes: each that is configured is asked, and says what a run there would meet.
 * One that cannot be reached is no fault of the workspace: a remark.
 */
#include "cli/doctor/doctor.h"

#include "api/api.h"
#include "remote/remote.h"
#include "scope.h"

static void check_remote(struct findings *findings, const char *name)
{
	const struct item_env *env = engine_items(findings->cli->rye);
	auto_remote struct remote remote = { 0 };
	auto_json json_t *info = NULL;
	auto_free char *what = NULL, *mend = NULL;
	struct rye_err err = { 0 };
	char line[200], about[ID_NAME_MAX + 16];
	int r = remote_find(env, name, &remote, &err);

	snprintf(about, sizeof(about), "remote %.64s", name);
	if (!r)
		r = remote_look(env, &remote, &info, &err);
	if (!r) {
		remote_sentence(info, line, sizeof(line));
		finding_add(findings, FINDING_OK, about, NULL, "%s", line);
		return;
	}
	mend = told_split(err.msg, &what);
	if (!mend && err.code == RYE_KEY_CHANGED)
		mend = mend_with("ryefs remote add --again %s", name);
	finding_add(findings, FINDING_REMARK, about, mend, "%s", what ? what : err.msg);
}

void remotes_check(struct findings *findings)
{
	auto_json json_t *names = NULL;
	auto_free char *what = NULL, *mend = NULL;
	struct rye_err err = { 0 };
	json_t *name;
	size_t i;

	if (!remote_names(engine_items(findings->cli->rye), &names, &err)) {
		json_array_foreach(names, i, name)
			check_remote(findings, json_string_value(name));
		return;
	}
	mend = told_split(err.msg, &what);
	finding_add(findings, FINDING_BAD, "remotes", mend, "%s", what ? what : err.msg);
}
