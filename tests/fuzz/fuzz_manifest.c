/* SPDX-License-Identifier: MIT */
/*
 * A manifest from outside: as a text, and as the difference to a text. What is taken leads nowhere else,
 * has each path once, and is written again as the same bytes.
 */
#include "pack/pack.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char base[] =
	"644 e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855 0 a\n";

static void check(struct rye_blob *text)
{
	auto_manifest struct manifest *m = NULL, *again = NULL;

	if (manifest_parse(text, &m, NULL))
		return;
	for (size_t i = 0; i < m->n; i++) {
		const char *path = m->v[i].path;

		if (*path == '/' || !strncmp(path, "../", 3) || strstr(path, "/../") ||
		    manifest_find(m, path) != &m->v[i])
			abort();
	}
	if (manifest_make(m->v, m->n, &again, NULL) || !digest_is(&again->name, &m->name))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_blob struct rye_blob *text = rye_blob_new((const char *)data, size);
	auto_blob struct rye_blob *old = rye_blob_new(base, sizeof(base) - 1);
	auto_blob struct rye_blob *whole = NULL, *grown = NULL;
	const struct rye_span bytes = { (const char *)data, size };

	if (!text || !old)
		return 0;
	check(text);
	if (!manifest_grow(NULL, bytes, &whole, NULL))
		check(whole);
	if (!manifest_grow(old, bytes, &grown, NULL))
		check(grown);
	return 0;
}
