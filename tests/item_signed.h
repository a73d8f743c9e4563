/* SPDX-License-Identifier: MIT */
#pragma once
/* item_signed.h - signing in the spaces of item_place.h. */
#include "item_place.h"
#include "sign/sign.h"

#define STAMP "2026-01-02T03:04:05Z"

/* Signs with key 1 in project space; the code, and the reply for the caller. */
static inline enum rye_code sign(struct test_place *p, enum rye_kind kind, const char *id,
				 json_t **ret)
{
	auto_key struct key_secret key = { 0 };
	const struct sign_ask ask = { .kind = kind,
				      .id = id,
				      .space = &p->spaces->v[0],
				      .key = &key,
				      .stamp = STAMP };
	struct rye_err err = { 0 };
	int r;

	place_key(0, &key);
	r = sign_request(&p->env, &ask, ret, &err);
	assert_int_equal(-r, err.code);
	assert_non_null(*ret);
	return err.code;
}

/* A Python tool's fields, as they are written. */
#define PY(version, type, executor, category, more)                      \
	"__version__ = " version "\n__tool_type__ = " type "\n" executor \
	"__category__ = " category "\n__tool_description__ = \"d\"\n" more
#define EXEC "__executor_id__ = \"x/y\"\n"

static inline bool has_text(const json_t *list, const char *text)
{
	for (size_t i = 0; i < json_array_size(list); i++)
		if (!strcmp(json_string_value(json_array_get(list, i)), text))
			return true;
	return false;
}
