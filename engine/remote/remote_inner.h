/* SPDX-License-Identifier: MIT */
/*
 * remote_inner.h: what the files of remote/ share.
 */
#ifndef RYE_REMOTE_REMOTE_INNER_H
#define RYE_REMOTE_REMOTE_INNER_H

#include "remote/remote.h"

#define REMOTES_FILE "remotes/remotes" /* an id of configuration */

/* The person's own space; NULL: there is none. */
const struct space *remote_user_space(const struct item_env *env);
/* What a file of configuration says, of its item; borrowed. */
const json_t *remote_doc(const struct rye_item *item);
/* `remotes` of all spaces; a new reference, empty where nothing is configured. */
int remote_map(const struct item_env *env, json_t **ret, struct rye_err *err);
/* remote_open.c: how a failure on the way is told: with the remote's name in front. Its -code. */
int remote_told(const char *name, struct rye_err *err);

#endif
