/* SPDX-License-Identifier: MIT */
/* signtool.h: the tool format's own rules, for signcheck.c. */
#ifndef RYE_SIGN_SIGNTOOL_H
#define RYE_SIGN_SIGNTOOL_H

#include "sign/signcheck.h"

/* Appends one line to a list of issues or warnings. */
void sign_tell(json_t *list, const char *format, ...) RYE_PRINTF(2, 3);
/* Rules 1, 2, 3 and 6 to 10 of the tool format. */
void sign_check_tool(const struct parsed_item *item, struct sign_report *report);
/* Types of a configuration's values, where a signed schema names it. */
void sign_check_config(const struct item_env *env, const struct parsed_item *config,
		       struct sign_report *report);
/* Names that the mount's control files hide. */
void sign_check_name(const struct parsed_item *item, struct sign_report *report);

#endif
