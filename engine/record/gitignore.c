/* SPDX-License-Identifier: MIT */
/*
 * .ai/.gitignore. A conversation that is committed is in every clone for good, as an entry that
 * is refused there. `ryefs init` writes the file, the first thread completes one that is
 * older than the rows, doctor tells of it. A person's own lines stay, and one that says the contrary
 * (`!/state/`) is a decision. No lock.
 */
#include "record/record.h"

#include "base/io.h"
#include "scope.h"
#include "str.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#define GITIGNORE ".gitignore"
/* Bytes; far more than a person writes. */
#define GITIGNORE_MAX (1u << 20)

static const char *const rows[] = {
	"/state/", /* what runs leave */
	"/knowledge/agent/threads/", /* what models wrote */
	"/config/keys/signing/",
	"/secrets/",
	".rye-*.tmp", /* of a process that was killed */
};

/* The path alone: not how it is anchored, nor whether it is wanted. */
static struct rye_span gitignore_path(struct rye_span line)
{
	line = span_trim(line);
	if (span_starts(line, "!"))
		line = span_skip(line, 1);
	if (span_starts(line, "/"))
		line = span_skip(line, 1);
	if (span_ends(line, "/"))
		line.len--;
	return line;
}

static bool gitignore_has(struct rye_span text, struct rye_span row)
{
	struct rye_span line, path = gitignore_path(row);

	while (span_line(&text, &line)) {
		line = gitignore_path(line);
		if (line.len == path.len && !memcmp(line.ptr, path.ptr, path.len))
			return true;
	}
	return false;
}

static int gitignore_read(int ai, struct rye_blob **ret)
{
	int r = io_read_at(ai, GITIGNORE, GITIGNORE_MAX, ret);

	if (r == -ENOENT && faccessat(ai, GITIGNORE, F_OK, AT_SYMLINK_NOFOLLOW)) {
		*ret = rye_blob_new("", 0);
		r = *ret ? 0 : -ENOMEM;
	}
	return r;
}

static void put_lacking(const struct rye_blob *text, struct rye_buf *out)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (!gitignore_has((struct rye_span){ text->data, text->len }, span_of(rows[i])))
			buf_addf(out, "%s\n", rows[i]);
}

int gitignore_complete(int ai, struct rye_buf *lacking)
{
	auto_blob struct rye_blob *text = NULL;
	auto_buf struct rye_buf lines = RYE_BUF_INIT, all = RYE_BUF_INIT;
	struct stat st = { .st_mode = S_IFREG | 0644 };
	int r = gitignore_read(ai, &text);

	if (r < 0)
		return r;
	put_lacking(text, &lines);
	if (!lines.len && !lines.failed)
		return 0;
	if (lacking) {
		buf_add(lacking, lines.data, lines.len);
		return lines.failed || lacking->failed ? -ENOMEM : 1;
	}
	if (fstatat(ai, GITIGNORE, &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISREG(st.st_mode))
		return -EINVAL; /* a link's target is not ours to write */
	buf_add(&all, text->data, text->len);
	if (text->len && text->data[text->len - 1] != '\n')
		buf_addc(&all, '\n');
	buf_adds(&all,
		 "# what runs leave behind, conversations, keys and secrets that must stay here\n");
	buf_add(&all, lines.data, lines.len);
	if (lines.failed || all.failed)
		return -ENOMEM;
	r = io_replace_at(ai, GITIGNORE, (struct rye_span){ all.data, all.len }, st.st_mode & 0777);
	return r < 0 ? r : 1;
}
