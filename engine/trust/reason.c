/* SPDX-License-Identifier: MIT */
/*
 * Why an item is refused, in one line that a symbolic link can carry. The long text
 * (refusal.c) stays with the error; this one is for `ls -l` and `verify`.
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

void reason_what(const struct rye_err *err, char *line, size_t size)
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
	/* The first line of a text that may have several. */
	snprintf(first.msg, sizeof(first.msg), "%.*s", (int)strcspn(err->msg, "\n"), err->msg);
	rye_err_line(&first, line, size);
}

/* The command as a shell takes it, or nothing rather than a part of it. */
static void reason_sign(const struct reason *about, const char *before, char *line, size_t size)
{
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	char ref[RYE_ID_MAX + 32];

	snprintf(ref, sizeof(ref), "%s:%s", rye_kind_name(about->kind), about->id);
	buf_addf(&text, "%sryefs sign ", before);
	buf_shell(&text, ref);
	snprintf(line, size, "%s", text.failed || text.len >= size ? "" : text.data);
}

void reason_remedy(const struct reason *about, const struct rye_err *err, char *line, size_t size)
{
	const char *fix = strstr(err->msg, "  Fix: ");

	*line = 0;
	if (about->space == RYE_SYSTEM && rye_code_integrity(err->code))
		snprintf(line, size, "reinstall the bundle");
	else if (fix)
		snprintf(line, size, "%s", fix + strlen("  Fix: "));
	else if (rye_code_integrity(err->code))
		reason_sign(about, "", line, size);
	else if (err->code == RYE_UNPARSABLE)
		reason_sign(about, "an editor, then ", line, size);
}

void reason_line(const struct reason *about, const struct rye_err *err, char line[REASON_MAX])
{
	struct rye_err cut = { .code = err->code };
	char why[REASON_MAX], mend[1200];

	reason_what(err, why, sizeof(why));
	reason_remedy(about, err, mend, sizeof(mend));
	/* An id too long for the line stays out rather than being cut into another one. */
	if (*mend && strlen(why) + strlen(mend) + sizeof("; mend with: ") <= REASON_MAX)
		snprintf(cut.msg, sizeof(cut.msg), "%s; mend with: %s", why, mend);
	else
		snprintf(cut.msg, sizeof(cut.msg), "%s", why);
	rye_err_line(&cut, line, REASON_MAX);
}
