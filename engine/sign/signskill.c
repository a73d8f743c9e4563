/* SPDX-License-Identifier: MIT */
/* What has to be so before a manifest is signed: the files of its folder. May wait for a disk. */
#include "sign/sign_inner.h"

#include "skill/skill.h"
#include "space/space.h"

int sign_check_skill(const struct parsed_item *item, struct rye_err *err)
{
	auto_skill struct skill skill = { 0 };
	const char *space = item->space->type == RYE_USER ? "--space user " : "";
	bool linked;
	int r = parsed_skill(item, &skill, err);

	if (!r)
		r = skill_check(space_fd(item->space), &skill, &linked, err);
	if (r != -(int)RYE_MODIFIED)
		return r;
	return rye_fail(err, RYE_MODIFIED,
			"the files of skill %s are not what its manifest lists; " MEND_WITH
			"ryefs skill add %s%s",
			skill.name, space, skill.name);
}
