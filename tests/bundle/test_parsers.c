/* SPDX-License-Identifier: MIT */
/*
 * The engine reads the bundle as its authors meant it: every item of .ai through its parser,
 * the fields that runs depend on, and the one text that stands both in an item and in C.
 */
#include "parse/parse.h"
#include "item/item.h"

#include "scope.h"
#include "base/io.h"
#include "str.h"
#include "rye_test.h"

#include <fcntl.h>
#include <fts.h>

#define ITEM_MAX (1 << 20) /* no item of ours comes near */

static const char *root(void)
{
	return getenv("RYE_BUNDLE");
}

/* The parsed map of a file below .ai; a new reference. */
static json_t *parsed(enum rye_kind kind, const char *name)
{
	const char *ext = strrchr(name, '.');
	const struct parser *row = parse_row(kind, ext ? ext : "");
	struct rye_err err = { 0 };
	struct rye_blob *blob = NULL;
	auto_close int dir = open(root(), O_PATH | O_DIRECTORY | O_CLOEXEC);
	json_t *map;

	if (!row)
		fail_msg("%s: no parser", name);
	if (io_read_at(dir, name, ITEM_MAX, &blob))
		fail_msg("%s: cannot read it", name);
	map = parse_item(row, (struct rye_span){ blob->data, blob->len }, name, &err);
	rye_blob_unref(blob);
	if (err.code || !map)
		fail_msg("%s", err.msg);
	return map;
}

static enum rye_kind kind_of(const char *name)
{
	for (enum rye_kind kind = 0; kind < RYE_KIND__MAX; kind++) {
		size_t n = strlen(rye_kind_dir(kind));

		if (!strncmp(name, rye_kind_dir(kind), n) && name[n] == '/')
			return kind;
	}
	fail_msg("%s: no kind's directory", name);
	return RYE_KIND__MAX;
}

/* Whichever of two spellings has text, in the map or its data; else "". */
static const char *field(const json_t *map, const char *dunder, const char *bare)
{
	const json_t *data = json_object_get(map, "data");
	const char *found = json_str(map, dunder);

	return *found ? found : json_str(data ? data : map, bare);
}

/* The directory of "KIND/a/b/name.ext" below its kind must be the item's category. */
static void check_item(const char *name)
{
	auto_json json_t *map = parsed(kind_of(name), name);
	const char *from = strchr(name, '/') + 1, *to = strrchr(name, '/');
	const char *category = field(map, "__category__", "category");

	if (to < from || strlen(category) != (size_t)(to - from) ||
	    strncmp(category, from, (size_t)(to - from)) != 0)
		fail_msg("%s: category is \"%s\"", name, category);
	if (!strchr(field(map, "__version__", "version"), '.'))
		fail_msg("%s: no version", name);
}

static void every_item_parses(void **state)
{
	char *const paths[] = { (char *)root(), NULL };
	FTS *walk = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	int seen = 0;

	for (FTSENT *entry; (entry = fts_read(walk));) {
		if (entry->fts_info != FTS_F || strstr(entry->fts_path, "__pycache__"))
			continue;
		check_item(entry->fts_path + strlen(root()) + 1);
		seen++;
	}
	fts_close(walk);
	assert_true(seen >= 20);
}

static void runtimes(void **state)
{
	static const char *const names[] = {
		"tools/rye/core/runtimes/python/function.yaml",
		"tools/rye/core/runtimes/python/script.yaml",
		"tools/rye/core/runtimes/node/node.yaml",
		"tools/rye/core/runtimes/bash/bash.yaml",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		auto_json json_t *map = parsed(RYE_TOOL, names[i]);
		const json_t *data = json_object_get(map, "data");
		const json_t *config = json_object_get(data, "config");
		const char *loader = json_str(config, "loader");

		assert_string_equal(json_str(data, "executor_id"), "rye/core/primitives/execute");
		assert_string_equal(json_str(config, "input_data"), "{params_json}");
		assert_true(json_array_size(json_object_get(config, "args")) >= 3);
		assert_int_equal(json_int(config, "timeout", 0), 300);
		if (*loader)
			assert_non_null(strstr(loader, "RYE_TOOL_FD"));
	}
}

static void shell_tool(void **state)
{
	auto_json json_t *map = parsed(RYE_TOOL, "tools/rye/bash/bash.py");
	const json_t *schema = json_object_get(map, "CONFIG_SCHEMA");
	const json_t *timeout = json_object_get(json_object_get(schema, "properties"), "timeout");

	assert_string_equal(json_str(map, "__executor_id__"), "rye/core/runtimes/python/function");
	assert_int_equal(json_int(timeout, "default", 0), 120);
	assert_int_equal(json_array_size(json_object_get(map, "__requires__")), 3);
}

/* The item wins when it is there; without it the engine's own copy must say the same. */
static void instruction_is_one_text(void **state)
{
	auto_json json_t *map =
		parsed(RYE_KNOWLEDGE, "knowledge/rye/agent/core/DirectiveInstruction.md");

	assert_string_equal(json_str(map, "body"), prompt_instruction());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_item_parses),
		cmocka_unit_test(instruction_is_one_text),
		cmocka_unit_test(runtimes),
		cmocka_unit_test(shell_tool),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
