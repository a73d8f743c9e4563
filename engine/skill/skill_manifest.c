/* SPDX-License-Identifier: MIT */
/*
 * What a manifest says. Each path, digest and size is looked at before any file is, so that nothing
 * outside of the folder can be named and nothing without bound is read. Pure; no lock.
 */
#include "skill/skill.h"

#include "memory.h"
#include "scope.h"
#include "str.h"

static int bad(struct rye_err *err, const char *what)
{
	return rye_fail(err, RYE_UNPARSABLE, "manifest of a skill: %s", what);
}

static bool hex_to(const char *text, unsigned char ret[SHA_LEN])
{
	struct rye_span hex = span_of(text ? text : "");
	static const char digits[] = "0123456789abcdef";

	if (hex.len != 2 * SHA_LEN || !is_hex_lower(hex))
		return false;
	for (size_t i = 0; i < SHA_LEN; i++)
		ret[i] = (unsigned char)((strchr(digits, hex.ptr[2 * i]) - digits) << 4 |
					 (strchr(digits, hex.ptr[2 * i + 1]) - digits));
	return true;
}

static int read_file(const char *path, const json_t *what, struct skill_file *ret,
		     struct rye_err *err)
{
	const json_t *size = json_object_get(what, "size"), *x = json_object_get(what, "x");

	if (!skill_path_ok(span_of(path)))
		return bad(
			err,
			"a path in files: leads elsewhere, or has characters that are not shown");
	if (!hex_to(json_string_value(json_object_get(what, "sha256")), ret->sha))
		return bad(err, "each file wants sha256: 64 lower-case hexadecimal digits");
	if (!json_is_integer(size) || json_integer_value(size) < 0)
		return bad(err, "each file wants size: its bytes");
	if (x && !json_is_boolean(x))
		return bad(err, "x: wants true or false");
	if (json_integer_value(size) > SKILL_FILE_MAX)
		return rye_fail(err, RYE_TOO_BIG,
				"%s is bigger than %u MiB, the most a file of a skill may be",
				skill_path_told(path), SKILL_FILE_MAX >> 20);
	ret->path = path;
	ret->size = (uint64_t)json_integer_value(size);
	ret->x = json_is_true(x);
	return 0;
}

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct skill_file *)a)->path, ((const struct skill_file *)b)->path);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool is_file_of(char *const *folded, size_t n, const char *path, size_t len)
{
	auto_free char *parent = strndup(path, len);

	return !parent || bsearch(&parent, folded, n, sizeof(*folded), by_text);
}

/* Where case is ignored two names would be one file; a file is no directory anywhere. folded: sorted. */
static int check_folded(char *const *folded, size_t n, struct rye_err *err)
{
	for (size_t i = 1; i < n; i++)
		if (!strcmp(folded[i - 1], folded[i]))
			return bad(err, "two paths in files: differ in case alone");
	for (size_t i = 0; i < n; i++)
		for (const char *s = strchr(folded[i], '/'); s; s = strchr(s + 1, '/'))
			if (is_file_of(folded, n, folded[i], (size_t)(s - folded[i])))
				return bad(err, "a path in files: is a file and a directory");
	return 0;
}

static int check_names(const struct skill *skill, struct rye_err *err)
{
	auto_free char **folded = calloc(skill->n, sizeof(*folded));
	locale_t letters = (locale_t)0;
	size_t n = 0;
	int r;

	for (size_t i = 0; i < skill->n && !letters; i++)
		if (!skill_path_is_ascii(skill->v[i].path))
			letters = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
	while (folded && n < skill->n && (folded[n] = skill_path_fold(skill->v[n].path, letters)))
		n++;
	if (letters)
		freelocale(letters);
	if (n == skill->n)
		qsort(folded, n, sizeof(*folded), by_text);
	r = n == skill->n ? check_folded(folded, n, err) : memory_fail(err);
	while (n)
		free(folded[--n]);
	return r;
}

static int read_files(json_t *files, struct skill *skill, struct rye_err *err)
{
	const char *path;
	json_t *what;

	if (!json_is_object(files) || !json_object_size(files))
		return bad(err, "files: wants a mapping of paths to {sha256, size}");
	if (json_object_size(files) > SKILL_FILES_MAX)
		return rye_fail(err, RYE_TOO_BIG, "a skill of more than %d files", SKILL_FILES_MAX);
	skill->v = calloc(json_object_size(files), sizeof(*skill->v));
	if (!skill->v)
		return memory_fail(err);
	json_object_foreach(files, path, what) {
		int r = read_file(path, what, &skill->v[skill->n], err);

		if (r)
			return r;
		skill->bytes += skill->v[skill->n++].size;
	}
	if (skill->bytes > SKILL_BYTES_MAX)
		return rye_fail(err, RYE_TOO_BIG, "a skill of more than %u MiB",
				SKILL_BYTES_MAX >> 20);
	qsort(skill->v, skill->n, sizeof(*skill->v), by_path);
	return check_names(skill, err);
}

int skill_read(json_t *data, const char *name, struct skill *ret, struct rye_err *err)
{
	auto_skill struct skill skill = { .data = json_incref(data),
					  .name = json_str(data, "name"),
					  .version = json_str(data, "version") };
	const struct skill_file *text;
	int r;

	if (!skill_name_ok(span_of(name)) || strcmp(skill.name, name) != 0)
		return bad(err, "name: wants the file's own name, of a-z, 0-9 and single hyphens");
	r = read_files(json_object_get(data, "files"), &skill, err);
	if (r)
		return r;
	text = skill_find(&skill, SKILL_TEXT);
	if (!text)
		return bad(err, "files: wants " SKILL_TEXT);
	if (text->size > SKILL_TEXT_MAX)
		return rye_fail(err, RYE_TOO_BIG,
				SKILL_TEXT " is bigger than %u MiB, the most clients read",
				SKILL_TEXT_MAX >> 20);
	*ret = skill;
	skill = (struct skill){ 0 };
	return 0;
}

void skill_done(struct skill *skill)
{
	json_decref(skill->data);
	free(skill->v);
	*skill = (struct skill){ 0 };
}

const struct skill_file *skill_find(const struct skill *skill, const char *path)
{
	const struct skill_file key = { .path = path };

	return skill->n ? bsearch(&key, skill->v, skill->n, sizeof(key), by_path) : NULL;
}

const struct skill_file *skill_below(const struct skill *skill, const char *dir)
{
	for (size_t i = 0; i < skill->n; i++) {
		const char *below = path_below(skill->v[i].path, dir);

		if (below && *below)
			return &skill->v[i];
	}
	return NULL;
}
