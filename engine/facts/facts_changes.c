/* SPDX-License-Identifier: MIT */
/*
 * What a run elsewhere has made or changed, as a tree of files: `changes`, of changes.json and the directory beside it.
 * A leaf is the file's path below that, of a link [path]: it leads nowhere out of the project, nor out of the tree here.
 */
#include "facts/facts_inner.h"

#include "base/io.h"
#include "hash.h"
#include "memory.h"
#include "scope.h"
#include "str.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#define CHANGES_DIR "changes"
#define CHANGES_DOC "changes.json"
/* As many names as a person looks through; bigger lists and files are on the disk. */
#define CHANGES_DOC_MAX (24u << 20)
#define CHANGES_FILE_MAX (24u << 20)

uint64_t fact_changes_state(const struct facts_look *look)
{
	return facts_file_state(HASH_BASIS, look->thread.dir, CHANGES_DOC);
}

/* The objects that its directories are, made where they are not there. */
static void changes_put(json_t *tree, const char *path, bool link)
{
	const char *at = path, *slash;
	char name[128];

	while ((slash = strchr(at, '/')) && tree) {
		json_t *below;

		if ((size_t)(slash - at) >= sizeof(name))
			return;
		snprintf(name, sizeof(name), "%.*s", (int)(slash - at), at);
		below = json_object_get(tree, name);
		if (!below) {
			below = json_object();
			json_set(tree, name, below);
		}
		tree = below;
		at = slash + 1;
	}
	if (strlen(at) < sizeof(name))
		json_set(tree, at, link ? json_pack("[s]", path) : json_string(path));
}

int fact_changes(const struct facts_look *look, json_t **ret, struct rye_err *err)
{
	unsigned long since = memory_failures();
	auto_blob struct rye_blob *text = NULL;
	auto_json json_t *doc = NULL;
	const json_t *row;
	size_t i;

	if (io_read_at(look->thread.dir, CHANGES_DOC, CHANGES_DOC_MAX, &text) < 0)
		return rye_fail(err, RYE_NOT_FOUND, "the thread has no " CHANGES_DOC);
	doc = json_parse((struct rye_span){ text->data, text->len }, 0, CHANGES_DOC, err);
	if (!doc)
		return -(int)err->code;
	*ret = json_object();
	if (!*json_str(doc, "left"))
		json_array_foreach(json_object_get(doc, "changed"), i, row) {
			changes_put(*ret, json_str(row, "path"),
				    !strcmp(json_str(row, "mode"), "L"));
		}
	return memory_check(since, err);
}

int fact_change(const struct facts_look *look, const char *value, struct rye_buf *out,
		struct rye_err *err)
{
	auto_close int dir =
		io_open_beneath(look->thread.dir, CHANGES_DIR, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
	auto_blob struct rye_blob *bytes = NULL;
	char target[PATH_MAX];
	ssize_t n = dir < 0 ? -1 : readlinkat(dir, value, target, sizeof(target));
	int r;

	if (n >= 0) {
		buf_add(out, target, (size_t)n);
		return 0;
	}
	r = dir < 0 ? dir : io_read_at(dir, value, CHANGES_FILE_MAX, &bytes);
	if (r == -EFBIG)
		return rye_fail(err, RYE_TOO_BIG,
				"%s has more than %u MiB: read it in .ai/state/threads/%s/changes",
				value, CHANGES_FILE_MAX >> 20, look->id);
	if (r < 0)
		return rye_fail_sys(err, -r, "%s", value);
	buf_add(out, bytes->data, bytes->len);
	return 0;
}
