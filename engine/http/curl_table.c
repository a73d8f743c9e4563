/* SPDX-License-Identifier: MIT */
/*
 * libcurl, loaded when it is first wanted. No lock: http.c sees that one thread at a time loads it.
 */
#include "http/http_inner.h"

#include "scope.h"

#include <dlfcn.h>
#include <errno.h>
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

/* dlerror() has words alone. What is short now may not be in a moment; what is not there has to be installed. */
static void load_fail(const char *why, struct rye_err *err)
{
	static const struct {
		const char *words;
		int sys;
	} scarce[] = {
		{ "failed to map", ENOMEM },
		{ "annot allocate", ENOMEM },
		{ "Too many open files", EMFILE },
	};

	for (size_t i = 0; i < ARRAY_SIZE(scarce); i++)
		if (strstr(why, scarce[i].words)) {
			rye_fail_sys(err, scarce[i].sys, "http: libcurl.so.4");
			return;
		}
	rye_fail(err, RYE_UNSUPPORTED, "http: %s; install libcurl4", why);
}

static int curl_begin(const struct curl_loaded *loaded, struct rye_err *err)
{
	CURLcode code = loaded->table.global_init(CURL_GLOBAL_DEFAULT);

	return code ? rye_fail(err, RYE_IO, "http: libcurl.so.4: %s",
			       loaded->table.easy_strerror(code)) :
		      0;
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
		load_fail(dlerror(), err);
		free(loaded);
		return NULL;
	}
	if (find_all(loaded, err) || curl_begin(loaded, err)) {
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
