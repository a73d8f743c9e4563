/* SPDX-License-Identifier: MIT */
/*
 * tree: input is a name, context the directory it stands in (sort, then kind, path and "item"
 * where they mean something), expected what the name means there: sort, kind, path, ctl row,
 * query. A merged name that may be a file with inputs is told as both. "." in the root: what is listed.
 */
#include "core/ctl.h"
#include "core/tree.h"

#include "table/table.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

static const char *const sorts[] = {
	[TREE_ROOT] = "root",	    [TREE_README] = "readme",	  [TREE_MERGED] = "merged",
	[TREE_QUERY] = "query",	    [TREE_CTL] = "ctl",		  [TREE_WHY] = "why",
	[TREE_PRIMITIVE] = "prim",  [TREE_SPACES] = "spaces",	  [TREE_BUNDLES] = "bundles",
	[TREE_SPACE] = "space",	    [TREE_COVERED] = "covered",	  [TREE_PASS] = "pass",
	[TREE_SKILLS] = "skills",   [TREE_SKILL] = "skill",	  [TREE_SEARCH] = "search",
	[TREE_RESULTS] = "results", [TREE_HIT] = "hit",		  [TREE_NEW] = "new",
	[TREE_REMOTES] = "remotes", [TREE_STATE] = "state",	  [TREE_THREADS] = "threads",
	[TREE_DOT] = "dot",	    [TREE_DOT_FILE] = "dotfile",  [TREE_REASON] = "reason",
	[TREE_CALL] = "call",	    [TREE_INDEX_MD] = "index.md", [TREE_INDEX_JSON] = "index.json",
};

static void parse(char *text, struct tree_dir *dir)
{
	char *word = strtok_r(text, " ", &text), *kind, *path, *item;

	*dir = (struct tree_dir){ .path = "" };
	for (int i = 0; i < TREE_SORT__MAX; i++)
		if (word && strcmp(sorts[i], word) == 0)
			dir->sort = i;
	kind = strtok_r(NULL, " ", &text);
	for (int k = 0; kind && k < RYE_KIND__MAX; k++)
		if (strcmp(rye_kind_name(k), kind) == 0)
			dir->kind = (uint8_t)k;
	path = strtok_r(NULL, " ", &text);
	if (path && strcmp(path, ".") != 0)
		dir->path = path;
	item = strtok_r(NULL, " ", &text);
	dir->item = item && strcmp(item, "item") == 0;
}

static size_t tell(const struct tree_key *key, char *out, size_t size)
{
	const char *query = tree_query(key);
	bool kinds = key->sort == TREE_MERGED || key->sort == TREE_QUERY || key->sort == TREE_CTL ||
		     key->sort == TREE_WHY || key->sort == TREE_REASON;

	return (size_t)snprintf(out, size, "%s%s%s%s%s%s%s%s%s", sorts[key->sort], kinds ? " " : "",
				kinds ? rye_kind_name(key->kind) : "", key->path_len ? " " : "",
				key->text, key->ctl ? " " : "", key->ctl ? key->ctl->name : "",
				query ? " ?" : "", query ? query : "");
}

/* Below .why: the target that the reason makes for x.md there, and what its parts are; or of a name
 * that begins with a slash what it is there. */
static void tell_why(const struct tree_dir *dir, const char *reason, char *out, size_t size)
{
	const struct tree_dir merged = { TREE_MERGED, dir->kind, dir->item, dir->path };
	char target[TREE_WHY_SIZE], text[TREE_WHY_SIZE] = "", *part, *save;
	struct tree_key key;
	struct tree_dir below = *dir;
	char parent[TREE_NAME_MAX + 1];
	size_t n;

	if (*reason == '/') {
		snprintf(out, size, "%s",
			 tree_why_step(dir, "", reason + 1, &key) ? "ENOENT" : "file");
		return;
	}
	if (tree_step(&merged, dir->item ? "verify" : "x.md", &key))
		return;
	tree_why_target(&key, RYE_MODIFIED, reason, target);
	n = (size_t)snprintf(out, size, "%s", target);
	if (dir->item) {
		snprintf(parent, sizeof(parent), "%.*s", (int)(strrchr(dir->path, '/') - dir->path),
			 dir->path);
		below.path = parent;
	}
	part = strtok_r(strstr(target, ".why/") + 5, "/", &save);
	for (; part && n < size; part = strtok_r(NULL, "/", &save)) {
		bool ok = tree_why_step(&below, text, part, &key) == 0;

		n += (size_t)snprintf(out + n, size - n, " | %s",
				      !ok		   ? "ENOENT" :
				      key.sort == TREE_WHY ? "dir" :
							     "file");
		snprintf(text, sizeof(text), "%s", ok ? tree_query(&key) : "");
	}
}

struct listed {
	char *out;
	size_t size, n;
};

static void add_name(void *arg, const char *name)
{
	struct listed *listed = arg;

	listed->n += (size_t)snprintf(listed->out + listed->n, listed->size - listed->n, "%s%s",
				      listed->n ? " " : "", name);
	assert(listed->n < listed->size);
}

void table_answer(struct table_text input, struct table_text context, char *out, size_t size)
{
	struct tree_dir dir;
	struct tree_key key, query;
	char text[4096];
	int r;

	snprintf(text, sizeof(text), "%s", context.bytes);
	parse(text, &dir);
	if (dir.sort == TREE_WHY) {
		tell_why(&dir, input.bytes, out, size);
		return;
	}
	if (dir.sort == TREE_ROOT && !strcmp(input.bytes, ".")) {
		tree_root_names(false, &(struct listed){ out, size, 0 }, add_name);
		return;
	}
	r = tree_step(&dir, input.bytes, &key);
	if (r) {
		snprintf(out, size, "%s", r == -ENOENT ? "ENOENT" : "ENAMETOOLONG");
	} else {
		size_t n = tell(&key, out, size);

		if (tree_split_query(&key, &query) && n + 4 < size) {
			n += (size_t)snprintf(out + n, size - n, " | ");
			tell(&query, out + n, size - n);
		}
	}
}
