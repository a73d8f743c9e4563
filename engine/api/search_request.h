/* SPDX-License-Identifier: MIT */
/* api/search_request.h: a search request of the fetch primitive (items 6.2, 9-AB). */
#ifndef RYE_API_SEARCH_REQUEST_H
#define RYE_API_SEARCH_REQUEST_H

#include "base/json.h"
#include "bounds.h"
#include "search/search.h"

/* Points into the request, which has to outlive it; ask.prefix points to prefix. */
struct search_request {
	struct search_ask ask;
	const char *scope, *source, *sort;
	const json_t *filters; /* or NULL */
	json_int_t limit, offset;
	char prefix[RYE_ID_MAX + 1];
};

int search_request_read(const json_t *request, struct search_request *ret, struct rye_err *err);

#endif
