/* SPDX-License-Identifier: MIT */
/* reason.h: a refusal in one line, with the command that mends it (interface 3). Pure. */
#ifndef RYE_TRUST_REASON_H
#define RYE_TRUST_REASON_H

#include "trust/verdict.h"

/* A symbolic link shows it behind ".why/EKEYREJECTED: ", 255 bytes in all. */
#define REASON_MAX 208

struct reason {
	enum rye_kind kind;
	const char *id;
	enum rye_space space; /* items of bundles are not signed by their users */
};

/* What is wrong: "content changed since signing", or the first line of the error's text. */
void reason_what(const struct rye_err *err, char *line, size_t size);
/* The command: "ryefs sign tool:a/b"; "" when there is none. */
void reason_remedy(const struct reason *about, const struct rye_err *err, char *line, size_t size);
/* "what; mend with: command", cut to REASON_MAX. */
void reason_line(const struct reason *about, const struct rye_err *err, char line[REASON_MAX]);

#endif
