/* SPDX-License-Identifier: MIT */
/*
 * The one error table: code → wire name, errno, what to do. docs/errors.md is checked against
 * it by a lint. Errors live on the caller's stack; nothing here allocates or logs. Behind it the count
 * of failed allocations.
 */
#define RYE_ERR_SOURCE
#include "err.h"

#include "memory.h"
#include "str.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct err_row {
	const char *name;
	int sys;
	bool integrity;
	const char *remedy;
};

static const struct err_row rows[] = {
	[RYE_OK] = { "ok", 0, false, "nothing to do" },
	[RYE_UNSIGNED] = { "unsigned", ENODATA, true, "sign it: ryefs sign REF" },
	[RYE_BAD_LINE] = { "bad_signature_line", EBADMSG, true, "sign it again: ryefs sign REF" },
	[RYE_MODIFIED] = { "modified", EBADMSG, true,
			   "look at the change, then sign it again: ryefs sign REF" },
	[RYE_UNTRUSTED] = { "untrusted_key", ENOKEY, true,
			    "trust the key: ryefs trust KEY, or sign it yourself: ryefs sign REF" },
	[RYE_BAD_SIGNATURE] = { "bad_signature", EKEYREJECTED, true,
				"restore the file, or look at it and sign it: ryefs sign REF" },
	[RYE_UNCOVERED] = { "not_covered", EKEYREJECTED, true, "sign it: ryefs sign REF" },
	[RYE_MOVED] = { "moved", EKEYREJECTED, true,
			"move it back, or sign it in its new place: ryefs sign REF" },
	[RYE_UNPARSABLE] = { "unparsable", EUCLEAN, false, "mend the file and sign it again" },
	[RYE_NO_KEY] = { "no_signing_key", ENOKEY, false, "make one: ryefs keygen" },
	[RYE_NOT_FOUND] = { "not_found", ENOENT, false, "look for it: ryefs search WORDS" },
	[RYE_INVALID] = { "invalid", EINVAL, false, "correct the request; see schema.json" },
	[RYE_DENIED] = { "denied", EACCES, false, "ask the owner of the mount" },
	[RYE_NO_EXECUTOR] = { "no_executor", ENOEXEC, false, "name an executor that exists" },
	[RYE_CHAIN_LOOP] = { "chain_loop", ELOOP, false, "break the cycle of executor_id" },
	[RYE_TOOL_FAILED] = { "tool_failed", EREMOTEIO, false, "read the reply: cat output" },
	[RYE_TIMEOUT] = { "timeout", ETIMEDOUT, false, "give it more time: \"timeout\": SECONDS" },
	[RYE_INTERRUPTED] = { "interrupted", EINTR, false, "run it again" },
	[RYE_CANCELLED] = { "cancelled", ECANCELED, false, "run it again" },
	[RYE_RUNNING] = { "running", EINPROGRESS, false, "wait: cat state/threads/ID/wait" },
	[RYE_BUDGET] = { "budget", EDQUOT, false, "raise the limit or the budget" },
	[RYE_BUSY] = { "busy", EAGAIN, false, "try again when other runs have ended" },
	[RYE_STATE] = { "wrong_state", EBUSY, false, "look at the thread: ryefs threads show REF" },
	[RYE_TOO_BIG] = { "too_big", EFBIG, false, "make it smaller" },
	[RYE_NO_SPACE] = { "no_space", ENOSPC, false, "free some space" },
	[RYE_READ_ONLY] = { "read_only", EROFS, false, "write to project or user space" },
	[RYE_UNSUPPORTED] = { "unsupported", EOPNOTSUPP, false, "not available here" },
	[RYE_UNREACHABLE] = { "unreachable", EHOSTUNREACH, false,
			      "see what keeps it: ryefs remote status" },
	[RYE_KEY_CHANGED] = { "key_changed", EKEYREJECTED, false,
			      "ask its owner; then: ryefs remote add --again NAME" },
	[RYE_STALE] = { "stale", ESTALE, false, "look at what was pushed, then push again" },
	[RYE_EXISTS] = { "exists", EEXIST, false, "use a new id" },
	[RYE_LOST] = { "lost", EIO, false, "see what it did before; nothing starts it again" },
	[RYE_IO] = { "io", EIO, false, "see the message and the system log" },
};
_Static_assert(sizeof(rows) / sizeof(rows[0]) == RYE_CODE__MAX, "one row per code");

int rye_code_errno(enum rye_code code)
{
	return code < RYE_CODE__MAX ? rows[code].sys : EIO;
}

const char *rye_code_name(enum rye_code code)
{
	return code < RYE_CODE__MAX ? rows[code].name : "unknown";
}

enum rye_code rye_code_named(const char *name)
{
	for (size_t code = RYE_OK + 1; code < RYE_CODE__MAX; code++)
		if (!strcmp(rows[code].name, name))
			return (enum rye_code)code;
	return RYE_OK;
}

const char *rye_code_remedy(enum rye_code code)
{
	return code < RYE_CODE__MAX ? rows[code].remedy : "";
}

bool rye_code_integrity(enum rye_code code)
{
	return code < RYE_CODE__MAX && rows[code].integrity;
}

enum rye_code rye_code_from_errno(int sys)
{
	switch (sys) {
	case ENOENT:
	case ENOTDIR:
		return RYE_NOT_FOUND;
	case EACCES:
	case EPERM:
		return RYE_DENIED;
	case EINVAL:
	case ENAMETOOLONG:
		return RYE_INVALID;
	case EFBIG:
		return RYE_TOO_BIG;
	case ENOSPC:
	case EDQUOT:
		return RYE_NO_SPACE;
	case EROFS:
		return RYE_READ_ONLY;
	case ELOOP:
		return RYE_CHAIN_LOOP;
	case EAGAIN:
	case EMFILE:
	case ENFILE:
		return RYE_BUSY;
	default:
		return RYE_IO;
	}
}

bool err_scarce(const struct rye_err *err)
{
	return err->code == RYE_NO_SPACE || err->code == RYE_BUSY || err->sys == ENOMEM;
}

int rye_fail(struct rye_err *err, enum rye_code code, const char *format, ...)
{
	if (err) {
		err->code = code;
		err->sys = 0;
		STR_FORMAT(err->msg, format);
	}
	return -(int)code;
}

int rye_fail_sys(struct rye_err *err, int sys, const char *format, ...)
{
	enum rye_code code = rye_code_from_errno(sys);
	va_list args;
	int n;

	if (!err)
		return -(int)code;
	err->code = code;
	err->sys = sys;
	va_start(args, format);
	n = vsnprintf(err->msg, sizeof(err->msg), format, args);
	va_end(args);
	if (n >= 0 && (size_t)n < sizeof(err->msg)) {
		char text[128];

		/* GNU strerror_r: returns the text, thread-safe. */
		snprintf(err->msg + n, sizeof(err->msg) - (size_t)n, ": %s",
			 strerror_r(sys, text, sizeof(text)));
	}
	utf8_mend(err->msg);
	return -(int)code;
}

int rye_wrap(struct rye_err *err, const char *format, ...)
{
	char what[256], old[sizeof(err->msg)];

	if (!err)
		return -(int)RYE_IO;
	STR_FORMAT(what, format);
	memcpy(old, err->msg, sizeof(old));
	snprintf(err->msg, sizeof(err->msg), "%s: %.690s", what, old);
	utf8_mend(err->msg);
	return -(int)err->code;
}

void rye_err_line(const struct rye_err *err, char *line, size_t size)
{
	struct rye_span s = { err->msg, strnlen(err->msg, sizeof(err->msg)) };
	size_t used = 0, n;
	uint32_t cp;

	for (; s.len; s = span_skip(s, n)) {
		char one[16];

		n = utf8_next(s, &cp);
		if (!n || cp < 0x20 || cp == 0x7f)
			snprintf(one, sizeof(one), "%c", n ? ' ' : *s.ptr);
		else if (utf8_unseen(cp))
			snprintf(one, sizeof(one), "\\u%04x", cp);
		else
			snprintf(one, sizeof(one), "%.*s", (int)n, s.ptr);
		n = n ? n : 1;
		if (used + strlen(one) >= size)
			break;
		memcpy(line + used, one, strlen(one));
		used += strlen(one);
	}
	line[used] = 0;
}

/* ---- memory.h ---- */

/* Of the thread, as errno is and for the same reason: allocators take no argument for it. */
static _Thread_local unsigned long memory_failed;

unsigned long memory_failures(void)
{
	return memory_failed;
}

void *memory_note(void *got)
{
	memory_failed += !got;
	return got;
}

int memory_fail(struct rye_err *err)
{
	memory_failed++;
	rye_fail(err, RYE_IO, "out of memory");
	if (err)
		err->sys = ENOMEM;
	return -(int)RYE_IO;
}

int memory_check(unsigned long since, struct rye_err *err)
{
	return memory_failed == since ? 0 : memory_fail(err);
}
