/* SPDX-License-Identifier: MIT */
/*
 * The skill `ryefs`: what a model has to know of a mount, told where it looks for skills. Of others it
 * repeats names alone, which a rule keeps from being sentences. Pure.
 */
#include "offer/offer_inner.h"

#include "str.h"

static const char guide[] =
	"---\n"
	"name: " OFFER_GUIDE "\n"
	"description: How to read and run signed items and skills of this workspace, and what it means "
	"when one of them cannot be opened.\n"
	"---\n"
	"# Signed files\n\n"
	"Every file beside this folder was verified: a key that the owner trusts has signed it, byte for "
	"byte. The folder two above this one is the mount; its README.md tells what else is there.\n\n"
	"- Read: open files as usual. `SKILL.md?NAME=VALUE` in a skill's folder is its text with an "
	"input filled in.\n"
	"- Run: `ryefs execute tool:ID NAME=VALUE ...`, or a script of a skill from where it lies.\n"
	"- Nothing can be written into these folders. New skills come by `ryefs skill add DIR`, which a "
	"person looks at and signs; do not sign in a person's place.\n\n"
	"## Refused\n\n"
	"What was changed, or signed by nobody who is trusted, is a link to the reason and cannot be "
	"opened. `ls -l` shows the reason and the command that mends it. Do not look for another copy of "
	"it and do not guess what it says: tell the person which one is refused, and why.\n";

struct rye_blob *offer_guide(const json_t *refused)
{
	auto_buf struct rye_buf out = RYE_BUF_INIT;
	size_t i;
	json_t *name;

	buf_adds(&out, guide);
	if (json_array_size(refused))
		buf_adds(&out, "\nRefused now:\n\n");
	json_array_foreach(refused, i, name)
		if (skill_name_ok(span_of(json_string_value(name))))
			buf_addf(&out, "- %s\n", json_string_value(name));
	return out.failed ? NULL : rye_blob_new(out.data, out.len);
}
