/* SPDX-License-Identifier: MIT */
/*
 * What signing would remark of items that verify: they are served and run, and something in them does
 * not do what its author means. Bundles are not looked at: their user cannot mend them.
 */
#include "cli/doctor/doctor.h"

#include "scope.h"
#include "str.h"

#include <string.h>

static int meant_take(void *arg, const struct rye_verdict *verdict, size_t done, size_t total)
{
	struct findings *findings = arg;
	char ref[REF_MAX];

	(void)done;
	(void)total;
	if (!verdict || verdict->code != RYE_OK || !verdict->message || !*verdict->message)
		return 0;
	ref_of(verdict, ref);
	finding_add(findings, FINDING_REMARK, ref, NULL, "%s", verdict->message);
	return 0;
}

static void meant_broken(void *arg, const char *path, long line, const char *what)
{
	finding_add(arg, FINDING_REMARK, path, NULL, "line %ld: this is not Python: %s", line,
		    what);
}

/* Python files among the items, but for those of bundles. */
static json_t *meant_python(const json_t *items)
{
	json_t *paths = json_array(), *row;
	size_t i;

	json_array_foreach((json_t *)items, i, row) {
		const char *path = json_str(row, "path");

		if (str_ends(path, ".py") && json_is_true(json_object_get(row, "ok")) &&
		    strncmp(json_str(row, "space"), "system", strlen("system")))
			json_array_append_new(paths, json_string(path));
	}
	return paths;
}

void meant_check(struct findings *findings, const json_t *items)
{
	static const enum rye_space spaces[] = { RYE_PROJECT, RYE_USER };
	auto_json json_t *python = meant_python(items);

	for (size_t i = 0; i < ARRAY_SIZE(spaces); i++) {
		const struct rye_batch batch = { .space = spaces[i],
						 .fn = meant_take,
						 .arg = findings,
						 .dry = true };

		rye_sign_all(findings->cli->rye, &batch, NULL);
	}
	compiles_check(python, meant_broken, findings);
}
