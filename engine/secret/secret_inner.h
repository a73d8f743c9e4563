/* SPDX-License-Identifier: MIT */
/*
 * secret_inner.h: what the files of secret/ share. dir: the directory of the secrets.
 */
#ifndef RYE_SECRET_SECRET_INNER_H
#define RYE_SECRET_SECRET_INNER_H

#include "secret/secret.h"

/* secret_store.c: a private file, replaced in one step. */
int secret_store_put(int dir, const char *name, const struct rye_blob *blob, struct rye_err *err);

/* secret_dates.c: name → time, a new object. */
json_t *secret_dates_read(int dir);
/*
 * Of the names in values; `name`, unless NULL, was set now. With the lock. A date that cannot be
 * written is no reason to fail.
 */
void secret_dates_write(int dir, const json_t *values, const char *name);

#endif
