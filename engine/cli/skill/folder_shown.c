/* SPDX-License-Identifier: MIT */
/*
 * What a person looks at before a skill is signed: its files, what in each a model or a client acts on
 * without being asked, and what has changed. Names and texts are others': shown with what steers a
 * terminal made visible.
 */
#include "cli/skill/skill_words.h"

#include "scope.h"
#include "str.h"

#include <string.h>

static bool holds(const struct rye_blob *blob, const char *text)
{
	return memmem(blob->data, blob->len, text, strlen(text));
}

static bool is_text(const struct rye_blob *blob)
{
	return utf8_valid((struct rye_span){ blob->data, blob->len }) &&
	       !memchr(blob->data, 0, blob->len);
}

static bool has_unseen(const struct rye_blob *blob)
{
	struct rye_span rest = { blob->data, blob->len };

	while (rest.len) {
		uint32_t cp;
		size_t n = utf8_next(rest, &cp);

		if (!n)
			return false;
		if (utf8_unseen(cp) && cp != '\n' && cp != '\t' && cp != '\r')
			return true;
		rest = span_skip(rest, n);
	}
	return false;
}

static void mark(struct rye_buf *marks, bool is, const char *what)
{
	if (is)
		buf_addf(marks, "%s%s", marks->len ? ", " : "", what);
}

/* Of SKILL.md: what clients do because of it at once. */
static void mark_front(struct rye_buf *marks, const struct rye_blob *blob)
{
	static const char *const keys[] = { "hooks", "allowed-tools", "context", "model", "agent" };
	struct rye_span text = { blob->data, blob->len };
	auto_json json_t *front = NULL;

	if (skill_front(text, &front, NULL, NULL))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		mark(marks, json_object_get(front, keys[i]), keys[i]);
	mark(marks, holds(blob, "!`"), "commands that run when it is loaded (!`…`)");
}

static void file_marks(const struct folder_file *file, struct rye_buf *marks)
{
	const char *slash = strrchr(file->path, '/');
	bool skill = !strcmp(slash ? slash + 1 : file->path, SKILL_TEXT),
	     text = is_text(file->blob);

	mark(marks, file->x, "runs");
	mark(marks, file->was_link, "was a link");
	mark(marks, !text, "binary");
	mark(marks, text && has_unseen(file->blob), "CHARACTERS THAT ARE NOT SHOWN");
	mark(marks, text && (holds(file->blob, "http://") || holds(file->blob, "https://")),
	     "addresses");
	mark(marks, span_conflict((struct rye_span){ file->blob->data, file->blob->len }),
	     "CONFLICT MARKS OF A MERGE");
	mark(marks, skill && slash, "a skill of its own to some clients");
	if (skill && !slash)
		mark_front(marks, file->blob);
}

static char change_of(const struct folder_file *file, const struct skill *was)
{
	const struct skill_file *old = skill_find(was, file->path);
	unsigned char sha[SHA_LEN];

	if (!old)
		return 'A';
	sha256_of((struct rye_span){ file->blob->data, file->blob->len }, sha);
	return memcmp(sha, old->sha, SHA_LEN) != 0 || old->x != file->x ? 'M' : ' ';
}

static void change_put(FILE *to, char change, const char *path)
{
	if (!to)
		return;
	fprintf(to, "%c ", change);
	out_text(to, path);
	putc('\n', to);
}

size_t folder_changes(const struct folder *folder, const struct skill *was, FILE *to)
{
	size_t n = 0;

	for (size_t i = 0; i < folder->n; i++) {
		char change = change_of(&folder->v[i], was);

		if (change == ' ')
			continue;
		change_put(to, change, folder->v[i].path);
		n++;
	}
	for (size_t i = 0; i < was->n; i++) {
		if (folder_find(folder, was->v[i].path))
			continue;
		change_put(to, 'D', was->v[i].path);
		n++;
	}
	return n;
}

void folder_show(const struct folder *folder, const struct skill *was, FILE *to)
{
	for (size_t i = 0; i < folder->n; i++) {
		const struct folder_file *file = &folder->v[i];
		auto_buf struct rye_buf marks = RYE_BUF_INIT;

		file_marks(file, &marks);
		fprintf(to, "  %c %8zu  ", was->n ? change_of(file, was) : ' ', file->blob->len);
		out_text(to, file->path);
		fprintf(to, "%s%s\n", marks.len ? ": " : "", marks.len ? marks.data : "");
	}
	for (size_t i = 0; i < was->n; i++) {
		if (folder_find(folder, was->v[i].path))
			continue;
		fprintf(to, "  D %8s  ", "");
		out_text(to, was->v[i].path);
		putc('\n', to);
	}
	if (folder->passed_over)
		fprintf(to, "  %zu passed over: what version control and interpreters leave\n",
			folder->passed_over);
}
