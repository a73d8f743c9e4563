/* SPDX-License-Identifier: MIT */
/*
 * ryefs.h: the verbs of `ryefs`, for fs/main.c alone. main keeps the mount itself: no verb, or
 * the word `mount`.
 */
#ifndef RYE_CLI_H
#define RYE_CLI_H

#include <rye/rye.h>

/* Does this name mean something in an item's directory of a mount? It has len bytes and no NUL. */
typedef bool (*rye_cli_name_fn)(const char *name, size_t len);

/*
 * argv[1] is a verb, --help, --version, `mount` (whose help is printed), or something unknown.
 * Returns the exit status.
 */
RYE_API int rye_cli_main(int argc, char **argv, rye_cli_name_fn is_control);
/* Is argv[1] an option that belongs behind a verb? */
RYE_API bool rye_cli_early(int argc, char **argv);
/* Is this word rye_cli_main's? False for `mount`, options and everything unknown. */
RYE_API bool rye_cli_knows(const char *word);
/* The verb that this word may have been meant to be; NULL: none is near. Static text. */
RYE_API const char *rye_cli_suggest(const char *word);

#endif
