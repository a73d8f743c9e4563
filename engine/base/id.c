/* SPDX-License-Identifier: MIT */
/*
 * Kinds, ids and references: text rules, no file is touched. The rows of kinds are in
 * rye/rows.h, their extensions in formats.h.
 */
#include "base/id.h"

#include "base/formats.h"
#include "base/sha.h"
#include "bounds.h"
#include "hash.h"
#include "scope.h"
#include "str.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

struct id_row {
	const char *name, *dir, *title;
	const char *const *extensions;
	unsigned traits; /* enum rye_trait */
};

#define EXTENSION(kind, ext, ...) ext,
#define KIND_EXTENSIONS(kind, ...)                                                            \
	static const char *const kind##_extensions[] = { kind##_FORMATS(EXTENSION, EXTENSION) \
								 NULL };
#define KIND_ROW(kind, name, dir, title, traits) \
	[RYE_##kind] = { name, dir, title, kind##_extensions, traits },

RYE_KINDS(KIND_EXTENSIONS)

static const struct id_row id_rows[] = { RYE_KINDS(KIND_ROW) };

bool rye_kind_has(enum rye_kind kind, unsigned traits)
{
	return kind < RYE_KIND__MAX && (id_rows[kind].traits & traits);
}

unsigned kinds_with(unsigned traits)
{
	unsigned kinds = 0;

	for (int kind = 0; kind < RYE_KIND__MAX; kind++)
		if (id_rows[kind].traits & traits)
			kinds |= 1u << kind;
	return kinds;
}

const char *rye_kind_name(enum rye_kind kind)
{
	return kind < RYE_KIND__MAX ? id_rows[kind].name : "";
}

const char *rye_kind_dir(enum rye_kind kind)
{
	return kind < RYE_KIND__MAX ? id_rows[kind].dir : "";
}

const char *kind_title(enum rye_kind kind)
{
	return kind < RYE_KIND__MAX ? id_rows[kind].title : "";
}

const char *const *kind_extensions(enum rye_kind kind)
{
	return id_rows[kind].extensions;
}

const char *kind_extension_of(enum rye_kind kind, const char *name)
{
	for (const char *const *ext = id_rows[kind].extensions; *ext; ext++)
		if (str_ends(name, *ext) && strlen(name) > strlen(*ext))
			return *ext;
	return NULL;
}

enum rye_kind kind_from_name(const char *name)
{
	int kind = 0;

	while (kind < RYE_KIND__MAX && strcmp(id_rows[kind].name, name))
		kind++;
	return (enum rye_kind)kind;
}

enum rye_kind kind_from_dir(struct rye_span name)
{
	int kind = 0;

	while (kind < RYE_KIND__MAX && !span_eq(name, id_rows[kind].dir))
		kind++;
	return (enum rye_kind)kind;
}

enum rye_kind id_split(const char *ref, const char **ret_id)
{
	for (int kind = 0; kind < RYE_KIND__MAX; kind++) {
		size_t n = strlen(id_rows[kind].name);

		if (!strncmp(ref, id_rows[kind].name, n) && ref[n] == ':') {
			*ret_id = ref + n + 1;
			return (enum rye_kind)kind;
		}
	}
	*ret_id = ref;
	return RYE_KIND__MAX;
}

enum rye_kind id_kind(const char *word, const char **ret_id)
{
	const char *colon = strchr(word, ':');
	enum rye_kind kind = id_split(word, ret_id);

	if (kind != RYE_KIND__MAX || !colon)
		return kind;
	kind = kind_from_dir((struct rye_span){ word, (size_t)(colon - word) });
	if (kind != RYE_KIND__MAX)
		*ret_id = colon + 1;
	return kind;
}

static bool component_ok(struct rye_span part)
{
	if (!part.len || part.len > RYE_NAME_MAX || span_eq(part, ".") || span_eq(part, ".."))
		return false;
	for (size_t i = 0; i < part.len; i++) {
		unsigned char c = (unsigned char)part.ptr[i];
		unsigned char next = i + 1 < part.len ? (unsigned char)part.ptr[i + 1] : 0;

		if (c < 0x20 || c == 0x7f || c == '\\')
			return false;
		if (c == 0xc2 && next >= 0x80 && next < 0xa0)
			return false; /* U+0080 to U+009F are control characters too */
	}
	return true;
}

int id_check(struct rye_span id, struct rye_err *err)
{
	struct rye_span rest = id;
	bool ok = id.len && id.len <= RYE_ID_MAX && utf8_valid(id);

	while (ok) {
		const char *slash = memchr(rest.ptr, '/', rest.len);
		size_t n = slash ? (size_t)(slash - rest.ptr) : rest.len;

		ok = component_ok((struct rye_span){ rest.ptr, n });
		if (!slash)
			break;
		rest = span_skip(rest, n + 1);
	}
	if (ok)
		return 0;
	return rye_fail(err, RYE_INVALID, "Invalid item_id: %.*s",
			(int)(id.len < 200 ? id.len : 200), id.ptr);
}

uint64_t id_hash(enum rye_kind kind, const char *id)
{
	return hash_text(HASH_BASIS + kind, id);
}

/* hex: 32 digits. */
static void uuid_text(char *hex, char version, char ret[ID_UUID_MAX])
{
	hex[12] = version;
	hex[16] = "89ab"[hex[16] & 3];
	snprintf(ret, ID_UUID_MAX, "%.8s-%.4s-%.4s-%.4s-%.12s", hex, hex + 8, hex + 12, hex + 16,
		 hex + 20);
}

void id_uuid(char ret[ID_UUID_MAX])
{
	unsigned char raw[16];
	char hex[33];

	if (getrandom(raw, sizeof(raw), 0) != sizeof(raw))
		abort();
	hex_of(raw, sizeof(raw), hex);
	uuid_text(hex, '4', ret);
}

void id_uuid_of(const char *of, const char *what, char ret[ID_UUID_MAX])
{
	const struct rye_span parts[] = { span_of(of), SPAN("\n"), span_of(what) };
	char hex[SHA_HEX];

	sha256_parts(parts, ARRAY_SIZE(parts), hex);
	uuid_text(hex, '8', ret);
}

bool id_is_name(struct rye_span name)
{
	static const char chars[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";

	for (size_t i = 0; i < name.len; i++)
		if (!memchr(chars, name.ptr[i], sizeof(chars) - 1))
			return false;
	return name.len && name.len <= ID_NAME_MAX && !span_eq(name, ".") && !span_eq(name, "..");
}

bool id_is_uuid(const char *text)
{
	for (size_t i = 0; i < ID_UUID_MAX - 1; i++) {
		bool dash = i == 8 || i == 13 || i == 18 || i == 23;

		if (dash ? text[i] != '-' : !text[i] || !strchr("0123456789abcdef", text[i]))
			return false;
	}
	return !text[ID_UUID_MAX - 1];
}
