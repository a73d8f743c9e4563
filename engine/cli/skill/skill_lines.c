/* SPDX-License-Identifier: MIT */
/*
 * The lines of a skill that are others than those that were signed. A manifest has digests alone, so they can
 * be shown where git's history of a file still has the bytes that it lists. What stands for now are the bytes
 * that were read, and would be signed. Nothing of the workspace is changed.
 */
#include "cli/skill/skill_words.h"

#include "base/sha.h"
#include "scope.h"

#include <string.h>
#include <unistd.h>

static bool lines_signed(void *arg, struct rye_span bytes)
{
	const struct skill_file *file = arg;
	unsigned char sha[SHA_LEN];

	sha256_of(bytes, sha);
	return bytes.len == file->size && !memcmp(sha, file->sha, SHA_LEN);
}

static void lines_of(struct cli *cli, const char *dir, struct skill_file *file,
		     struct rye_span bytes)
{
	auto_buf struct rye_buf before = RYE_BUF_INIT;
	auto_free char *path = NULL;
	char now[OUTSIDE_PATH];
	auto_close int fd = outside_text(bytes, now);

	if (fd < 0 || asprintf(&path, "%s/%s", dir, file->path) < 0)
		return;
	if (git_revision(path, lines_signed, file, &before))
		signed_lines(cli, buf_span(&before), now, file->path, stdout);
}

void folder_lines(struct cli *cli, const char *dir, const struct folder *now,
		  const struct skill *was)
{
	for (size_t i = 0; i < was->n; i++) {
		const struct folder_file *file = folder_find(now, was->v[i].path);
		struct rye_span bytes = { "", 0 };

		if (file)
			bytes = (struct rye_span){ file->blob->data, file->blob->len };
		if (!lines_signed(&was->v[i], bytes))
			lines_of(cli, dir, &was->v[i], bytes);
	}
	fflush(stdout);
}
