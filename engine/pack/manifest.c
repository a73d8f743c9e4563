/* SPDX-License-Identifier: MIT */
/*
 * Manifests: text to lines and back. A text comes from outside; what could lead a checkout out of its
 * directory, or name a file twice, is refused here, always. No lock.
 */
#include "pack/pack.h"

#include "str.h"

static const char *const modes[] = {
	[MANIFEST_FILE] = "644",    [MANIFEST_EXEC] = "755",	     [MANIFEST_LINK] = "L",
	[MANIFEST_PIECES] = "C644", [MANIFEST_PIECES_EXEC] = "C755",
};
_Static_assert(ARRAY_SIZE(modes) == MANIFEST_MODE__MAX, "each has its word");

const char *manifest_mode_name(enum manifest_mode mode)
{
	return modes[mode];
}

static int path_fault(struct rye_err *err, const char *path, const char *what)
{
	return rye_fail(err, RYE_INVALID, "path '%s': %s", path, what);
}

static bool has_control(const char *path)
{
	for (; *path; path++)
		if ((unsigned char)*path < 0x20 || *path == 0x7f)
			return true;
	return false;
}

static const char *part_fault(struct rye_span part)
{
	if (!part.len)
		return "wanted is a relative path without empty parts";
	if (span_eq(part, ".") || span_eq(part, ".."))
		return "'.' and '..' are no parts of a path here";
	return part.len > MANIFEST_PART ? "a part of it is longer than 255 bytes" : NULL;
}

int manifest_path_check(const char *path, struct rye_err *err)
{
	struct rye_span rest = span_of(path);
	const char *fault = NULL;

	if (rest.len > MANIFEST_PATH)
		return rye_fail(err, RYE_INVALID, "path '%.60s…' is longer than %d bytes", path,
				MANIFEST_PATH);
	if (!utf8_valid(rest))
		return rye_fail(err, RYE_INVALID, "a path is not UTF-8: '%.*s'",
				(int)MIN_OF(rest.len, 200), path);
	if (has_control(path) || strchr(path, '\\'))
		return path_fault(err, path, "it has a backslash or a control character");
	while (!fault) {
		ssize_t slash = span_find(rest, 0, "/");

		fault = part_fault(
			(struct rye_span){ rest.ptr, slash < 0 ? rest.len : (size_t)slash });
		if (slash < 0)
			break;
		rest = span_skip(rest, (size_t)slash + 1);
	}
	return fault ? path_fault(err, path, fault) : 0;
}

/* The word before the next blank; *line moves behind that. False: there is none. */
static bool take_word(struct rye_span *line, struct rye_span *ret)
{
	ssize_t blank = span_find(*line, 0, " ");

	if (blank < 0)
		return false;
	*ret = (struct rye_span){ line->ptr, (size_t)blank };
	*line = span_skip(*line, (size_t)blank + 1);
	return true;
}

static bool parse_size(struct rye_span word, uint64_t *ret)
{
	uint64_t size = 0;

	if (!word.len || word.len > 12 || (word.len > 1 && *word.ptr == '0'))
		return false;
	for (size_t i = 0; i < word.len; i++) {
		if (word.ptr[i] < '0' || word.ptr[i] > '9')
			return false;
		size = size * 10 + (uint64_t)(word.ptr[i] - '0');
	}
	*ret = size;
	return true;
}

static bool parse_mode(struct rye_span word, enum manifest_mode *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++)
		if (span_eq(word, modes[i])) {
			*ret = (enum manifest_mode)i;
			return true;
		}
	return false;
}

static bool in_pieces(enum manifest_mode mode)
{
	return mode == MANIFEST_PIECES || mode == MANIFEST_PIECES_EXEC;
}

/* `text` is a line of m->paths, whose end is a NUL. */
static int parse_line(char *text, size_t len, struct manifest_line *ret, struct rye_err *err)
{
	struct rye_span line = { text, len }, mode, sha, size;

	if (!take_word(&line, &mode) || !take_word(&line, &sha) || !take_word(&line, &size) ||
	    !parse_mode(mode, &ret->mode) || !digest_parse(sha, &ret->sha) ||
	    !parse_size(size, &ret->size))
		return rye_fail(err, RYE_INVALID, "wanted is MODE SHA SIZE PATH");
	if (strlen(line.ptr) != line.len)
		return rye_fail(err, RYE_INVALID, "a path has no NUL");
	ret->path = line.ptr;
	if (ret->size > (in_pieces(ret->mode) ? CHUNKED_MAX : BLOB_MAX) ||
	    (ret->mode == MANIFEST_LINK && ret->size > MANIFEST_PATH))
		return path_fault(err, ret->path, "its size is more than such a file may have");
	return manifest_path_check(ret->path, err);
}

static int parse_lines(struct manifest *m, struct rye_err *err)
{
	char *at = m->paths;
	char *end = m->paths + m->text->len;

	for (size_t i = 0; i < m->n; i++) {
		char *newline = memchr(at, '\n', (size_t)(end - at));
		int r;

		*newline = '\0';
		r = parse_line(at, (size_t)(newline - at), &m->v[i], err);
		if (!r && i && strcmp(m->v[i - 1].path, m->v[i].path) >= 0)
			r = path_fault(err, m->v[i].path,
				       "it does not stand in the order of the bytes, or twice");
		if (r)
			return rye_wrap(err, "manifest, line %zu", i + 1);
		at = newline + 1;
	}
	return 0;
}

static size_t lines_of(const struct rye_blob *text)
{
	size_t n = 0;

	for (size_t i = 0; i < text->len; i++)
		n += text->data[i] == '\n';
	return n;
}

static const struct manifest_line *find_span(const struct manifest *m, struct rye_span path)
{
	size_t low = 0, high = m->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		int order = strncmp(m->v[mid].path, path.ptr, path.len);

		if (!order && m->v[mid].path[path.len])
			order = 1;
		if (!order)
			return &m->v[mid];
		if (order < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return NULL;
}

const struct manifest_line *manifest_find(const struct manifest *manifest, const char *path)
{
	return find_span(manifest, span_of(path));
}

/* Is one a file and the directory of another one? */
static int check_parents(const struct manifest *m, struct rye_err *err)
{
	for (size_t i = 0; i < m->n; i++) {
		const char *path = m->v[i].path;

		for (const char *s = strchr(path, '/'); s; s = strchr(s + 1, '/')) {
			size_t len = (size_t)(s - path);

			/* what the line above has in common with this one was looked at there */
			if (i && !strncmp(m->v[i - 1].path, path, len + 1))
				continue;
			if (find_span(m, (struct rye_span){ path, len }))
				return rye_fail(
					err, RYE_INVALID,
					"manifest: '%.*s' is a file and the directory of '%s'",
					(int)len, path, path);
		}
	}
	return 0;
}

int manifest_parse(struct rye_blob *text, struct manifest **ret, struct rye_err *err)
{
	auto_manifest struct manifest *m = calloc(1, sizeof(*m));
	int r;

	if (text->len > MANIFEST_MAX || (text->len && text->data[text->len - 1] != '\n'))
		return rye_fail(err, RYE_INVALID, "manifest: it is cut, or has more than %u bytes",
				MANIFEST_MAX);
	if (!m)
		return rye_fail(err, RYE_IO, "manifest: out of memory");
	m->text = rye_blob_ref(text);
	m->n = lines_of(text);
	if (m->n > MANIFEST_LINES)
		return rye_fail(err, RYE_TOO_BIG, "manifest: %zu files, at most %d may be", m->n,
				MANIFEST_LINES);
	m->v = calloc(m->n + 1, sizeof(*m->v));
	m->paths = malloc(text->len + 1);
	if (!m->v || !m->paths)
		return rye_fail(err, RYE_IO, "manifest: out of memory");
	memcpy(m->paths, text->data, text->len);
	r = parse_lines(m, err);
	if (!r)
		r = check_parents(m, err);
	if (r)
		return r;
	m->name = digest_of((struct rye_span){ text->data, text->len });
	*ret = steal(&m);
	return 0;
}

void manifest_free(struct manifest *manifest)
{
	if (!manifest)
		return;
	rye_blob_unref(manifest->text);
	free(manifest->v);
	free(manifest->paths);
	free(manifest);
}

static int by_path(const void *a, const void *b)
{
	const struct manifest_line *x = a, *y = b;

	return strcmp(x->path, y->path);
}

int manifest_make(struct manifest_line *lines, size_t n, struct manifest **ret, struct rye_err *err)
{
	auto_buf struct rye_buf out = { .cap = MANIFEST_MAX };
	auto_blob struct rye_blob *text = NULL;

	qsort(lines, n, sizeof(*lines), by_path);
	for (size_t i = 0; i < n; i++) {
		char hex[SHA_HEX];

		digest_hex(&lines[i].sha, hex);
		buf_addf(&out, "%s %s %llu %s\n", modes[lines[i].mode], hex,
			 (unsigned long long)lines[i].size, lines[i].path);
	}
	if (out.failed)
		return rye_fail(err, RYE_TOO_BIG, "manifest: more than %u bytes", MANIFEST_MAX);
	text = rye_blob_new(buf_span(&out).ptr, out.len);
	return text ? manifest_parse(text, ret, err) :
		      rye_fail(err, RYE_IO, "manifest: out of memory");
}
