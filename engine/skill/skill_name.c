/* SPDX-License-Identifier: MIT */
/*
 * Names of skills and of the files in them: which are allowed, which are the same to a file system that
 * ignores case, which may be shown to a model. Pure; no lock.
 */
#include "skill/skill.h"

#include "scope.h"
#include "str.h"

#include <locale.h>
#include <wctype.h>

bool skill_name_ok(struct rye_span name)
{
	bool hyphen = true; /* none may stand in front, or follow another */

	if (!name.len || name.len > SKILL_NAME_MAX)
		return false;
	for (size_t i = 0; i < name.len; i++) {
		char c = name.ptr[i];

		if (c == '-' ? hyphen : !((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')))
			return false;
		hyphen = c == '-';
	}
	return !hyphen;
}

static bool part_ok(struct rye_span part)
{
	if (!part.len || part.len > 255 || span_eq(part, ".") || span_eq(part, ".."))
		return false;
	while (part.len) {
		uint32_t cp;
		size_t n = utf8_next(part, &cp);

		if (!n || utf8_unseen(cp) || cp == '\\')
			return false;
		part = span_skip(part, n);
	}
	return true;
}

bool skill_path_ok(struct rye_span path)
{
	size_t depth = 0;

	if (path.len > SKILL_PATH_MAX)
		return false;
	for (;;) {
		const char *slash = path.len ? memchr(path.ptr, '/', path.len) : NULL;
		size_t n = slash ? (size_t)(slash - path.ptr) : path.len;

		if (++depth > SKILL_DEPTH_MAX || !part_ok((struct rye_span){ path.ptr, n }))
			return false;
		if (!slash)
			return true;
		path = span_skip(path, n + 1);
	}
}

const char *skill_path_told(const char *path)
{
	static const char harmless[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				       "0123456789._/-";
	size_t n = strlen(path);

	return n && n <= 80 && strspn(path, harmless) == n ? path : "a file";
}

bool skill_path_is_ascii(const char *path)
{
	while (*path && (unsigned char)*path < 0x80)
		path++;
	return !*path;
}

char *skill_path_fold(const char *path, locale_t letters)
{
	struct rye_span rest = span_of(path);
	auto_buf struct rye_buf out = RYE_BUF_INIT;

	buf_adds(&out, "");
	while (rest.len) {
		uint32_t cp;
		size_t n = utf8_next(rest, &cp);
		char text[4];

		if (!n)
			break;
		if (letters && cp > 0x7f)
			cp = (uint32_t)towlower_l((wint_t)cp, letters);
		else if (cp >= 'A' && cp <= 'Z')
			cp += 'a' - 'A';
		buf_add(&out, text, utf8_put(text, cp));
		rest = span_skip(rest, n);
	}
	return buf_steal(&out);
}
