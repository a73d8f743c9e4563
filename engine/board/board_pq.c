/* SPDX-License-Identifier: MIT */
/* libpq, loaded when it is first wanted. From any thread: the loader has its own lock. */
#include "board/board_pq.h"

#include <dlfcn.h>
#include <string.h>

int pq_load(struct pq_table *ret, struct rye_err *err)
{
	void *library = dlopen("libpq.so.5", RTLD_NOW | RTLD_LOCAL);
	void *found;

	if (!library)
		return rye_fail(err, RYE_UNSUPPORTED, "board: %s; install libpq5", dlerror());
#define FIND(name)                                                                          \
	found = dlsym(library, "PQ" #name);                                                 \
	if (!found)                                                                         \
		return rye_fail(err, RYE_UNSUPPORTED, "board: libpq.so.5 has no PQ" #name); \
	memcpy(&ret->name, &found, sizeof(found))
	PQ_FUNCTIONS(FIND);
#undef FIND
	return 0;
}
