/* SPDX-License-Identifier: MIT */
/*
 * loader.h: rye_load for chains, which ask for the same few runtimes at every run. Where an
 * item lies is looked up each time (a new file that shadows it must win); only reading,
 * verifying and parsing a file that is still the same one is saved. Files are compared by
 * device, inode, size and both times, and remembered only once they are old enough for these
 * to tell every change.
 *
 * Lock: `lock` of struct loader guards the table; nothing is opened under it.
 */
#ifndef RYE_EXEC_LOADER_H
#define RYE_EXEC_LOADER_H

#include "item/item.h"

struct loader;

struct loader *loader_open(const struct item_env *env); /* NULL: no memory */
void loader_close(struct loader *loader);

/* As rye_load; *ret_ambiguous: the id exists in that space with another extension too. */
int loader_load(struct loader *loader, const struct item_ask *ask, struct rye_item **ret,
		bool *ret_ambiguous, struct rye_err *err);
const struct item_env *loader_env(const struct loader *loader);

#endif
