/* SPDX-License-Identifier: MIT */
/*
 * What never leaves this machine, whatever the rules of a push say. Names are compared without regard to
 * case: on some disks .ENV is .env. Pure.
 */
#include "snapshot/snapshot_inner.h"

#include "str.h"

#include <strings.h>

static bool starts(const char *path, const char *dir)
{
	size_t len = strlen(dir);

	return !strncasecmp(path, dir, len) && (!path[len] || path[len] == '/');
}

static bool ends(const char *name, size_t len, const char *suffix)
{
	size_t n = strlen(suffix);

	return len >= n && !strncasecmp(name + len - n, suffix, n);
}

static const char *never_part(const char *name, size_t len)
{
	if (len == 4 && !strncasecmp(name, ".git", 4))
		return "what git keeps is not sent";
	if (len >= 4 && !strncasecmp(name, ".env", 4))
		return "files named .env* are never sent";
	if (ends(name, len, ".secret") || ends(name, len, ".secrets"))
		return "files named *.secret are never sent";
	if (ends(name, len, "private_key.pem") || ends(name, len, "box_key.pem"))
		return "private keys are never sent";
	return NULL;
}

/* Of .ai the items alone; keys to sign with lie among the configuration. */
static const char *never_below_ai(const char *path)
{
	static const char *const kinds[] = { ".ai/directives", ".ai/tools", ".ai/knowledge",
					     ".ai/config" };

	if (starts(path, ".ai/config/keys/signing"))
		return "private keys are never sent";
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (starts(path, kinds[i]))
			return NULL;
	return "of .ai items alone are sent";
}

const char *sent_never(const char *path)
{
	const char *why = starts(path, ".ai") ? never_below_ai(path) : NULL;

	for (const char *at = path; !why;) {
		size_t len = strcspn(at, "/");

		why = never_part(at, len);
		if (!at[len])
			break;
		at += len + 1;
	}
	return why;
}

bool sent_is_key(struct rye_span bytes)
{
	static const char begin[] = "-----BEGIN ";
	static const char end[] = "PRIVATE KEY-----";
	const char *at = bytes.ptr, *stop = bytes.ptr + bytes.len;

	while (at && (at = memmem(at, (size_t)(stop - at), begin, sizeof(begin) - 1))) {
		const char *name = at + sizeof(begin) - 1;

		while (name < stop && (*name == ' ' || (*name >= 'A' && *name <= 'Z')) &&
		       ((size_t)(stop - name) < sizeof(end) - 1 ||
			memcmp(name, end, sizeof(end) - 1) != 0))
			name++;
		if ((size_t)(stop - name) >= sizeof(end) - 1 && !memcmp(name, end, sizeof(end) - 1))
			return true;
		at = name;
	}
	return false;
}
