/* SPDX-License-Identifier: MIT */
/*
 * Names that hide one another: two files of one id in one space, and items that the mount
 * cannot show because a control file of another item has their name. Pure, over the list that
 * verification made.
 */
#include "cli/doctor/doctor.h"

#include <string.h>

/* ref + " in " + space → the first path that had it. */
static void check_twins(struct findings *findings, json_t *seen, const json_t *item)
{
	auto_buf struct rye_buf key = RYE_BUF_INIT;
	const char *path = json_str(item, "path"), *first;

	buf_addf(&key, "%s in %s", json_str(item, "ref"), json_str(item, "space"));
	if (key.failed)
		return;
	first = json_str(seen, key.data);
	if (*first && strcmp(first, path))
		finding_add(findings, FINDING_REMARK, json_str(item, "ref"),
			    "rename or remove one of them",
			    "%s and %s have the same id; the format's order of extensions decides",
			    first, path);
	else
		json_sets(seen, key.data, path);
}

/* Is what stands before some component of the ref an item, and the component a control? */
static void check_control(struct findings *findings, const json_t *refs, const json_t *item)
{
	const char *ref = json_str(item, "ref"), *path = json_str(item, "path");
	const char *name = strrchr(path, '/');
	rye_cli_name_fn is_control = findings->cli->is_control;

	for (const char *slash = strchr(ref, '/'); slash; slash = strchr(slash + 1, '/')) {
		const char *next = slash + 1;
		const char *end = strchr(next, '/');
		auto_free char *above = strndup(ref, (size_t)(slash - ref));
		bool hit;

		if (!above || !json_object_get(refs, above))
			continue;
		hit = end ? is_control(next, (size_t)(end - next)) :
			    name && is_control(name + 1, strlen(name + 1));
		if (hit)
			finding_add(findings, FINDING_REMARK, ref, "rename it",
				    "hidden in the mount by a control file of %s; reach it under "
				    "spaces/ or by ryefs execute",
				    above);
	}
}

void clash_check(struct findings *findings, const json_t *items)
{
	auto_json json_t *seen = json_object(), *refs = json_object();
	const json_t *item;
	size_t i;

	json_array_foreach((json_t *)items, i, item) {
		check_twins(findings, seen, item);
		json_set(refs, json_str(item, "ref"), json_true());
	}
	json_array_foreach((json_t *)items, i, item)
		check_control(findings, refs, item);
}
