/* SPDX-License-Identifier: MIT */
/*
 * Why an item is refused, in one line that a symbolic link can carry. The long text
 * (refusal.c) stays with the error; this one is for `ls -l` and `verify`. Agents read it and may
 * obey it, and names are made by others: of a name it has only what says nothing.
 */
#include "trust/trust.h"

#include "base/id.h"
#include "bounds.h"
#include "buf.h"
#include "err.h"
#include "str.h"

#include <stdio.h>

static const char *const what[RYE_CODE__MAX] = {
	[RYE_UNSIGNED] = "unsigned",
	[RYE_BAD_LINE] = "signature line malformed",
	[RYE_MODIFIED] = "content changed since signing",
	[RYE_UNTRUSTED] = "signed by a key that is not trusted",
	[RYE_BAD_SIGNATURE] = "signature wrong",
	[RYE_UNCOVERED] = "not covered by its signature",
	[RYE_MOVED] = "changed, moved or renamed since signing",
};

/* Bytes of an id that are shown. */
#define QUOTED_MAX 80

static bool reason_quotes(const char *id)
{
	static const char harmless[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				       "0123456789._/-";
	size_t n = strlen(id);

	return n <= QUOTED_MAX && strspn(id, harmless) == n;
}

/* A message's first line; the file's path in it becomes the id, or "it". */
static void reason_message(const struct reason *about, const struct rye_err *err,
			   struct rye_err *ret)
{
	const char *name = reason_quotes(about->id) ? about->id : "it";
	auto_buf struct rye_buf path = RYE_BUF_INIT;
	const char *at, *rest;

	buf_addf(&path, "%s/.ai/%s/%s", about->root, rye_kind_dir(about->kind), about->id);
	at = path.failed ? NULL : strstr(err->msg, path.data);
	rest = at ? at + path.len : NULL;
	if (rest)
		rest += strcspn(rest, " :\n"); /* the extension, or the rest of a directory tool */
	if (rest)
		snprintf(ret->msg, sizeof(ret->msg), "%.*s%s%.*s", (int)(at - err->msg), err->msg,
			 name, (int)strcspn(rest, "\n"), rest);
	else if (reason_quotes(about->id) || !strstr(err->msg, about->id))
		snprintf(ret->msg, sizeof(ret->msg), "%.*s", (int)strcspn(err->msg, "\n"),
			 err->msg);
	else
		snprintf(ret->msg, sizeof(ret->msg), "%s", rye_code_name(err->code));
}

/* What is wrong: "content changed since signing", or the first line of the error's text. */
static void reason_what(const struct reason *about, const struct rye_err *err, char *line,
			size_t size)
{
	struct rye_err first = { .code = err->code };

	if (err->code == RYE_UNCOVERED && !strncmp(err->msg, "Changed", 7)) {
		snprintf(line, size, "%s", what[RYE_MOVED]);
		return;
	}
	if (err->code < RYE_CODE__MAX && what[err->code]) {
		snprintf(line, size, "%s", what[err->code]);
		return;
	}
	reason_message(about, err, &first);
	rye_err_line(&first, line, size);
}

/* The command as a shell takes it, or nothing rather than a part of it. */
static void reason_sign(const struct reason *about, const char *before, char *line, size_t size)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	char ref[RYE_ID_MAX + 32];

	snprintf(ref, sizeof(ref), "%s:%s", rye_kind_name(about->kind), about->id);
	buf_addf(&text, "%sryefs sign %s", before, about->space == RYE_USER ? "--space user " : "");
	buf_shell(&text, ref);
	snprintf(line, size, "%s", text.failed || text.len >= size ? "" : text.data);
}

void reason_remedy(const struct reason *about, const struct rye_err *err, char *line, size_t size)
{
	const char *fix = strstr(err->msg, MEND_WITH);

	*line = 0;
	if (about->space == RYE_SYSTEM && rye_code_integrity(err->code))
		snprintf(line, size, "reinstall the bundle");
	else if (fix)
		snprintf(line, size, "%s", fix + strlen(MEND_WITH));
	else if (rye_code_integrity(err->code))
		reason_sign(about, "", line, size);
	else if (err->code == RYE_UNPARSABLE)
		reason_sign(about, "an editor, then ", line, size);
}

void reason_line(const struct reason *about, const struct rye_err *err, char line[REASON_MAX])
{
	struct rye_err cut = { .code = err->code };
	char why[REASON_MAX], mend[1200];

	reason_what(about, err, why, sizeof(why));
	reason_remedy(about, err, mend, sizeof(mend));
	/* A command is whole or not there at all. */
	if (!reason_quotes(about->id) &&
	    (strstr(mend, "ryefs sign ") || strstr(mend, "ryefs skill ")))
		snprintf(mend, sizeof(mend), "the command that ryefs verify --all shows");
	/* An id too long for the line stays out rather than being cut into another one. */
	if (*mend && strlen(why) + strlen(mend) + sizeof("; " MEND_WITH) <= REASON_MAX)
		snprintf(cut.msg, sizeof(cut.msg), "%s; " MEND_WITH "%s", why, mend);
	else
		snprintf(cut.msg, sizeof(cut.msg), "%s", why);
	rye_err_line(&cut, line, REASON_MAX);
}
