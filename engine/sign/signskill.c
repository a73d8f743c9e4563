/* SPDX-License-Identifier: MIT */
/* What has to be so before a manifest is signed: the files of its folder. May wait for a disk. */
#include "sign/sign_inner.h"

#include "scope.h"
#include "skill/skill.h"
#include "space/space.h"
#include "str.h"

int sign_check_skill(const struct parsed_item *item, struct rye_err *err)
{
	auto_skill struct skill skill = { 0 };
	const char *space = item->space->type == RYE_USER ? "--space user " : "";
	const char *open;
	bool linked;
	int r = parsed_skill(item, &skill, err);

	if (!r)
		r = skill_check(space_fd(item->space), &skill, &linked, err);
	if (r != -(int)RYE_MODIFIED)
		return r;
	open = skill_conflict(space_fd(item->space), &skill);
	if (open)
		return rye_fail(err, RYE_MODIFIED,
				"%s of skill %s has conflict marks of a merge (<<<<<<<); " MEND_WITH
				"ryefs skill add %s%s",
				skill_path_told(open), skill.name, space, skill.name);
	return rye_fail(err, RYE_MODIFIED,
			"the files of skill %s are not what its manifest lists; " MEND_WITH
			"ryefs skill add %s%s",
			skill.name, space, skill.name);
}

void sign_skill_mend(const struct space *space, const char *name, char ret[160])
{
	*ret = 0;
	if (skill_name_ok(span_of(name)))
		snprintf(ret, 160, "ryefs skill add %s%s",
			 space->type == RYE_USER ? "--space user " : "", name);
}

int sign_no_manifest(const struct space *space, const char *name, struct rye_err *err)
{
	auto_close int folder = -1;
	char mend[160];

	sign_skill_mend(space, name, mend);
	if (*mend)
		folder = skill_open_folder(space_fd(space), name);
	if (folder < 0)
		return 0;
	return rye_fail(
		err, RYE_UNSIGNED,
		"skill %s is a folder that was never signed: its files are looked at first; " MEND_WITH
		"%s",
		name, mend);
}
