/* SPDX-License-Identifier: MIT */
/*
 * Requests to run something, as any process that can open the mount may write them. The first byte
 * chooses the verb; a request that was read names a thread to resume, or has an id, parameters and a
 * decided matrix.
 */
#include "run/run_inner.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const enum rye_verb verbs[] = { RYE_EXECUTE, RYE_RUN, RYE_ASYNC, RYE_FORK,
					       RYE_DRY_RUN };
	struct rye_request req = { .kind = RYE_TOOL, .id = "a/b" };
	struct request request;
	struct rye_err err = { 0 };

	if (!size)
		return 0;
	req.verb = verbs[data[0] % 5];
	req.kind = (enum rye_kind)(data[0] / 5 % RYE_KIND__MAX);
	req.message = (struct rye_span){ (const char *)data + 1, size - 1 };
	if (request_read(&req, "/", &request, &err)) {
		if (err.code == RYE_OK || !*err.msg)
			abort();
	} else if (!*request.resume) {
		if (!json_is_object(request.params) || !request.id || !*request.id)
			abort();
		for (int kind = 0; kind < RYE_KIND__MAX; kind++)
			request_matrix(&request, (enum rye_kind)kind, &err);
	}
	request_done(&request);
	return 0;
}
