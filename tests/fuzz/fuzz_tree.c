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
	tree_why(name);
	return 0;
}
