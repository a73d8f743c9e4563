/* SPDX-License-Identifier: MIT */
/*
 * libcurl, loaded when it is first wanted. No lock: http.c asks under its own.
 */
#include "http/http_inner.h"

#include <dlfcn.h>
#include <string.h>

struct curl_loaded {
	struct curl_table table; /* first: the table is freed as what it lies in */
	void *library;
};

static int find_all(struct curl_loaded *loaded, struct rye_err *err)
{
	void *found;

#define FIND(name)                                                                      \
	found = dlsym(loaded->library, "curl_" #name);                                  \
	if (!found)                                                                     \
		return rye_fail(err, RYE_UNSUPPORTED,                                   \
				"http: libcurl.so.4 has no curl_" #name                 \
				": version 7.85 or newer is wanted; install libcurl4"); \
	memcpy(&loaded->table.name, &found, sizeof(found));
	CURL_FUNCTIONS(FIND)
#undef FIND
	return 0;
}

const struct curl_table *curl_table_load(struct rye_err *err)
{
	struct curl_loaded *loaded = calloc(1, sizeof(*loaded));

	if (!loaded) {
		rye_fail(err, RYE_IO, "http: out of memory");
		return NULL;
	}
	loaded->library = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
	if (!loaded->library) {
		rye_fail(err, RYE_UNSUPPORTED, "http: %s; install libcurl4", dlerror());
		free(loaded);
		return NULL;
	}
	if (find_all(loaded, err) || loaded->table.global_init(CURL_GLOBAL_DEFAULT)) {
		curl_table_free(&loaded->table);
		return NULL;
	}
	return &loaded->table;
}

/* The library stays: its own libraries have threads and thread-local data that must not go. */
void curl_table_free(const struct curl_table *table)
{
	free((void *)table);
}
