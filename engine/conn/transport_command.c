/* SPDX-License-Identifier: MIT */
/*
 * command:PROGRAM ARG…: a program of this machine that leads to the node: sudo -u, docker exec -i,
 * kubectl exec -i, or ryefs itself. No shell reads it: words stand between blanks, and %20 is a blank
 * in one.
 */
#include "conn/conn_inner.h"

#include "memory.h"
#include "str.h"

#include <stdlib.h>
#include <string.h>

/* More words than any such command has. */
#define WORDS_MAX 64

/* In place; false: a '%' without two digits behind it, or %00. */
static bool percent_out(char *word)
{
	char *to = word;

	for (const char *from = word; *from; from++) {
		char digits[3] = "";

		if (*from != '%') {
			*to++ = *from;
			continue;
		}
		memcpy(digits, from + 1, strnlen(from + 1, 2));
		*to = (char)strtoul(digits, NULL, 16);
		if (strspn(digits, "0123456789abcdefABCDEF") != 2 || !*to++)
			return false;
		from += 2;
	}
	*to = 0;
	return true;
}

/* Cuts text into words, which point into it. */
static int words_of(char *text, char *ret[WORDS_MAX + 1], struct rye_err *err)
{
	size_t n = 0;

	for (char *p = text + strspn(text, " "); *p; p += strspn(p, " ")) {
		size_t len = strcspn(p, " ");
		char *word = p;

		if (n == WORDS_MAX)
			return rye_fail(err, RYE_INVALID, "command: more than %d words", WORDS_MAX);
		p += len;
		if (*p)
			*p++ = 0;
		if (!percent_out(word))
			return rye_fail(err, RYE_INVALID,
					"command: in %s a %% is no byte: %%25 is a percent sign",
					word);
		ret[n++] = word;
	}
	ret[n] = NULL;
	if (!n || (ret[0][0] != '/' && strchr(ret[0], '/')))
		return rye_fail(err, RYE_INVALID,
				"command: wanted is a program by its name or its whole path, then "
				"its words");
	return 0;
}

static int command_check(const char *rest, struct rye_err *err)
{
	auto_free char *text = memory_note(strdup(rest));
	char *argv[WORDS_MAX + 1];

	return text ? words_of(text, argv, err) : memory_fail(err);
}

static int command_open(const char *rest, struct ends *ret, struct rye_err *err)
{
	auto_free char *text = memory_note(strdup(rest));
	char *argv[WORDS_MAX + 1];
	int r = text ? words_of(text, argv, err) : memory_fail(err);

	return r < 0 ? r : transport_start(argv, ret, err);
}

const struct transport transport_command = {
	.scheme = "command:",
	.wanted = "command:PROGRAM ARG... (a blank in a word is %20)",
	.check = command_check,
	.open = command_open,
};
