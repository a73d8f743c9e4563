/* SPDX-License-Identifier: MIT */
/* api/api_search.h: the fetch primitive's query mode, for the hooks of exec. */
#ifndef RYE_API_API_SEARCH_H
#define RYE_API_API_SEARCH_H

#include "api/engine.h"

/* The request as it came → the whole reply of items 6.2, a new reference. */
int api_search_reply(struct rye *rye, const struct exec_search *from, json_t **ret,
		     struct rye_err *err);

#endif
