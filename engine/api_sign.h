/* SPDX-License-Identifier: MIT */
/* api_sign.h: the sign primitive, for the hooks of exec. */
#ifndef RYE_API_SIGN_H
#define RYE_API_SIGN_H

#include "engine.h"

/*
 * The request as it came → the whole reply of items 6.3, a new reference. When it fails the
 * reply may be set, too: it has what the error's sentence leaves out.
 */
int api_sign_reply(struct rye *rye, const json_t *request, json_t **ret, struct rye_err *err);

#endif
