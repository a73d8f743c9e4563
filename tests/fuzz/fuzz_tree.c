/* SPDX-License-Identifier: MIT */
/*
 * The grammar of the mount: any name in any directory. The first byte is the directory's sort,
 * the second its kind and whether it is an item's own; then a path, a NUL, a name.
 */
#include "core/ctl.h"
#include "core/tree.h"

#include <stdlib.h>
#include <string.h>

static void check(const struct tree_key *key)
{
	struct tree_key query;

	if (key->sort >= TREE_SORT__MAX || key->path_len > key->text_len ||
	    key->text_len >= sizeof(key->text) || key->text[key->text_len] ||
	    key->text[key->path_len] || strlen(key->text) != key->path_len)
		abort();
	if (tree_query(key) && strlen(tree_query(key)) + key->path_len + 1 != key->text_len)
		abort();
	if (tree_ino(key) < 2)
		abort();
	if (tree_split_query(key, &query))
		check(&query);
}

/* Any name below .why; and where a link leads, whatever its reason is: to a file, part by part. */
static void check_why(const struct tree_dir *dir, const struct tree_key *link, const char *reason)
{
	char target[TREE_WHY_SIZE], text[TREE_WHY_SIZE] = "";
	const struct tree_dir here = { .kind = link->kind, .path = dir->path };
	char *save, *part;
	struct tree_key key = { .sort = TREE_WHY };

	if (tree_why_step(&here, "", reason, &key) == 0)
		check(&key);
	if (tree_why_step(&here, "EIO: x", reason, &key) == 0)
		check(&key);
	tree_why_target(link, RYE_MODIFIED, reason, target);
	if (strlen(target) >= TREE_WHY_SIZE || target[strlen(target) - 1] == '/' ||
	    strncmp(target, ".why/", 5) != 0)
		abort();
	key.sort = TREE_WHY;
	for (part = strtok_r(target + 5, "/", &save); part; part = strtok_r(NULL, "/", &save)) {
		if (key.sort != TREE_WHY || strcmp(part, ".") == 0 || strcmp(part, "..") == 0 ||
		    tree_why_step(&here, text, part, &key))
			abort();
		check(&key);
		memcpy(text, tree_query(&key), strlen(tree_query(&key)) + 1);
	}
	if (key.sort != TREE_REASON)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[2048], name[2048];
	struct tree_dir dir = { .path = path };
	struct tree_key key;
	const uint8_t *nul;
	size_t n;

	if (size < 3 || size > 2000)
		return 0;
	dir.sort = data[0] % TREE_SORT__MAX;
	dir.kind = data[1] % RYE_KIND__MAX;
	dir.item = data[1] & 0x80;
	nul = memchr(data + 2, 0, size - 2);
	n = nul ? (size_t)(nul - data - 2) : 0;
	memcpy(path, data + 2, n);
	path[n] = 0;
	n = nul ? n + 1 : 0;
	memcpy(name, data + 2 + n, size - 2 - n);
	name[size - 2 - n] = 0;
	if (tree_step(&dir, name, &key) == 0)
		check(&key);
	dir.sort = TREE_MERGED;
	if (tree_step(&dir, "x.md", &key) == 0)
		check_why(&dir, &key, name);
	return 0;
}
