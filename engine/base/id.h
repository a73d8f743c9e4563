/* SPDX-License-Identifier: MIT */
/* id.h: item ids and canonical references (docs/items.md). Pure. */
#ifndef RYE_BASE_ID_H
#define RYE_BASE_ID_H

#include "err.h"

/*
 * Refuses empty ids, empty components, "." and "..", a leading or trailing slash, NUL,
 * backslash, control characters, invalid UTF-8, over-long names: RYE_INVALID
 * "Invalid item_id: <id>".
 */
int id_check(struct rye_span id, struct rye_err *err);

/* "tool:a/b" → RYE_TOOL, "a/b". A text without a kind's prefix: RYE_KIND__MAX. */
enum rye_kind id_split(const char *ref, const char **ret_id);

/* The same of what a person typed: "tools:" will do for "tool:". */
enum rye_kind id_kind(const char *word, const char **ret_id);

/* For tables whose key is kind and id; the upper bits are the better ones. */
uint64_t id_hash(enum rye_kind kind, const char *id);

unsigned kinds_with(unsigned traits); /* a bit per enum rye_kind that has one of them */

/* A name that is one word and one file's: 1 to ID_NAME_MAX of A-Z a-z 0-9 . _ -, and not "." or "..". */
#define ID_NAME_MAX 64
bool id_is_name(struct rye_span name);

#define ID_UUID_MAX 37 /* with its NUL */
void id_uuid(char ret[ID_UUID_MAX]); /* a new one: UUID v4, lower case */
/* The same of the same texts: UUID v8, out of their digest. */
void id_uuid_of(const char *of, const char *what, char ret[ID_UUID_MAX]);
bool id_is_uuid(const char *text); /* is it one, in that form? */

enum rye_kind kind_from_name(const char *name); /* "tool"; RYE_KIND__MAX: unknown */
enum rye_kind kind_from_dir(struct rye_span name); /* "tools" */
const char *kind_title(enum rye_kind kind); /* "Tool" */
/* The kind's extensions in the order in which they are looked for, NULL at the end. */
const char *const *kind_extensions(enum rye_kind kind);
/* The extension of a file name when it is one of the kind's, else NULL. Borrowed. */
const char *kind_extension_of(enum rye_kind kind, const char *name);

#endif
