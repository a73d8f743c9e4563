/* SPDX-License-Identifier: MIT */
/*
 * capabilities.md: which tools a thread's model was offered, word for word, and by what right. Signed
 * as a knowledge entry with the thread's id in it, so it cannot be moved to another thread. No lock.
 */
#include "record/record_inner.h"

#include "base/io.h"
#include "bounds.h"
#include "format/format.h"
#include "memory.h"
#include "scope.h"
#include "str.h"

#include <stdio.h>

#define CAPABILITIES_MD "capabilities.md"
#define ID_ROOM 1100

static void capabilities_id(const struct record *record, char ret[ID_ROOM])
{
	snprintf(ret, ID_ROOM, "agent/threads/%.1024s/capabilities", record->id);
}

/* ---- the tree ---- */

/* {action: {kind: [path]}}, in the order in which they are granted. */
static json_t *tree_of(const json_t *capabilities)
{
	json_t *tree = json_object(), *element;
	size_t i;

	json_array_foreach(capabilities, i, element) {
		const char *text = json_string_value(element), *part[3] = { "", "", "" };
		char copy[1100], *rest = copy;
		json_t *kinds, *paths;

		if (!text)
			continue;
		snprintf(copy, sizeof(copy), "%s", !strncmp(text, "rye.", 4) ? text + 4 : text);
		for (int k = 0; k < 3 && rest; k++)
			part[k] = k < 2 ? strsep(&rest, ".") : rest;
		if (!(kinds = json_object_get(tree, part[0])))
			json_object_set_new(tree, part[0], kinds = json_object());
		if (!(paths = json_object_get(kinds, part[1])))
			json_object_set_new(kinds, part[1], paths = json_array());
		if (*part[2])
			json_array_append_new(paths, json_string(part[2]));
	}
	return tree;
}

static void put_branch(struct rye_buf *out, const char *before, bool last, const char *text)
{
	buf_adds(out, before);
	buf_adds(out, last ? "└── " : "├── ");
	buf_adds(out, text);
	buf_addc(out, '\n');
}

static void put_kind_branch(struct rye_buf *out, const char *before, bool last, const char *kind,
			    const json_t *paths)
{
	auto_buf struct rye_buf inner = RYE_BUF_INIT, name = RYE_BUF_INIT;
	json_t *path;
	size_t i;

	buf_addf(&name, "%s%s", *kind ? kind : "*", json_array_size(paths) ? "" : " (none)");
	buf_addf(&inner, "%s%s", before, last ? "    " : "│   ");
	if (name.failed || inner.failed) {
		out->failed = true;
		return;
	}
	put_branch(out, before, last, name.data);
	json_array_foreach(paths, i, path) {
		put_branch(out, inner.data, i + 1 == json_array_size(paths),
			   json_string_value(path));
	}
}

static void put_tree(struct rye_buf *out, const json_t *capabilities)
{
	auto_json json_t *tree = tree_of(capabilities);
	size_t n = json_object_size(tree), i = 0;
	const char *action, *kind;
	json_t *kinds, *paths;

	json_object_foreach(tree, action, kinds) {
		bool last = ++i == n;
		size_t k = 0;

		put_branch(out, "", last, action);
		json_object_foreach(kinds, kind, paths) {
			put_kind_branch(out, last ? "    " : "│   ", ++k == json_object_size(kinds),
					kind, paths);
		}
	}
}

/* ---- the file ---- */

int capabilities_md_write(const struct record *record, const json_t *tools,
			  const json_t *capabilities, struct rye_err *err)
{
	unsigned long since = memory_failures();
	auto_buf struct rye_buf text = RYE_BUF_INIT, json = RYE_BUF_INIT, tree = RYE_BUF_INIT;
	auto_json json_t *clean = record_redact(record, tools);
	char id[ID_ROOM];

	json_pretty(&json, clean);
	/* no line of it begins with backticks */
	buf_adds(&text, "# Capabilities\n\n## Tool Definitions\n\n```json\n");
	buf_add(&text, json.data, json.len);
	buf_adds(&text, "```\n");
	if (json_array_size(capabilities)) {
		put_tree(&tree, capabilities);
		buf_adds(&text, "\n## Capabilities Tree\n\n```\n");
		buf_add(&text, tree.data, tree.len);
		buf_adds(&text, "```\n");
	}
	if (json.failed || tree.failed || text.failed || memory_check(since, err))
		return memory_fail(err);
	capabilities_id(record, id);
	return record_put_signed(
		record,
		&(struct record_text){ record->dir, CAPABILITIES_MD, id, { text.data, text.len } },
		err);
}

static int parse_tools(const struct record *record, struct rye_span body, json_t **ret,
		       struct rye_err *err)
{
	struct fence fence;
	json_t *tools;
	int r;

	if (!fence_find(body, "json", &fence))
		return rye_fail(err, RYE_UNPARSABLE, "%.700s/" CAPABILITIES_MD ": no ```json block",
				record->id);
	r = record_parse(fence.content, JSON_LOAD_ANY, CAPABILITIES_MD, &tools, err);
	if (r)
		return r;
	if (!json_is_array(tools)) {
		json_decref(tools);
		return rye_fail(err, RYE_UNPARSABLE, "%.700s/" CAPABILITIES_MD ": no list of tools",
				record->id);
	}
	*ret = tools;
	return 0;
}

int capabilities_md_parse(const struct record *record, struct rye_span text, json_t **ret_tools,
			  struct rye_err *err)
{
	const struct item_env env = { .trust = record->trust };
	char id[ID_ROOM];
	const struct verify_ask ask = { .kind = RYE_KNOWLEDGE,
					.id = id,
					.ext = ".md",
					.path = CAPABILITIES_MD,
					.raw = text };
	struct verified verified;
	int r;

	capabilities_id(record, id);
	r = verify_bytes(&env, &ask, &verified, err);
	if (r)
		return r;
	r = verified.verdict.bound ?
		    parse_tools(record, verified.body, ret_tools, err) :
		    rye_fail(err, RYE_UNCOVERED, "Not covered by its signature: " CAPABILITIES_MD);
	rye_blob_unref(verified.text);
	return r;
}

int capabilities_md_read(const struct record *record, json_t **ret_tools, struct rye_err *err)
{
	auto_blob struct rye_blob *blob = NULL;
	int r = io_read_at(record->dir, CAPABILITIES_MD, RYE_BUF_CAP, &blob);

	if (r < 0)
		return rye_fail_sys(err, -r, "%.700s/" CAPABILITIES_MD, record->id);
	return capabilities_md_parse(record, (struct rye_span){ blob->data, blob->len }, ret_tools,
				     err);
}
