/* SPDX-License-Identifier: MIT */
/* fuzz_skill.c - the manifest of a skill, and the metadata of its text: what is taken keeps its rules. */
#include "format/format.h"
#include "skill/skill.h"
#include "str.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_manifest(struct rye_span text)
{
	struct rye_err err = { 0 };
	json_t *map = parse_yaml(text, &err);
	struct skill skill;

	if (map && !skill_read(map, "a", &skill, &err)) {
		if (!skill.n || skill.n > SKILL_FILES_MAX || skill.bytes > SKILL_BYTES_MAX ||
		    !skill_find(&skill, SKILL_TEXT))
			abort();
		for (size_t i = 0; i < skill.n; i++)
			if (!skill_path_ok(span_of(skill.v[i].path)) ||
			    skill_find(&skill, skill.v[i].path) != &skill.v[i])
				abort();
		skill_done(&skill);
	} else if (map && !err.code) {
		abort();
	}
	json_decref(map);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rye_span text = { (const char *)data, size }, body;
	struct rye_err err = { 0 };
	json_t *front = NULL;

	check_manifest(text);
	if (!skill_front(text, &front, &body, &err)) {
		if (body.ptr < text.ptr || body.ptr + body.len != text.ptr + text.len)
			abort();
		skill_front_check(front, "a", &err);
	}
	json_decref(front);
	return 0;
}
