/* SPDX-License-Identifier: MIT */
/* rye_wraps.c - an engine in which nothing runs by itself. */
#include "fake/rye_wraps.h"

#include <string.h>

uint64_t __wrap_rye_run_of(struct rye *rye, const pid_t *chain, size_t n, pid_t session)
{
	return 0;
}

bool __wrap_rye_run_may(struct rye *rye, uint64_t run, enum rye_verb verb, enum rye_kind kind,
			const char *id)
{
	return true;
}

int __wrap_rye_view(struct rye *rye, const struct rye_ask *ask, struct rye_blob **ret,
		    struct rye_err *err)
{
	*ret = rye_blob_new("usage\n", strlen("usage\n"));
	return *ret ? 0 : -RYE_IO;
}
