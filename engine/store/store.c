/* SPDX-License-Identifier: MIT */
/*
 * The table of stores, a row for each kind of place, found by the scheme before the colon. No lock, no
 * state of its own.
 */
#include "store/store_inner.h"

#include "str.h"

#include <string.h>

static const struct store_ops *const stores[] = { &store_dir, &store_s3 };

struct store {
	const struct store_ops *ops;
	void *own;
};

static const struct store_ops *ops_of(const char *where, const char **ret_rest)
{
	for (size_t i = 0; i < ARRAY_SIZE(stores); i++) {
		size_t len = strlen(stores[i]->scheme);

		if (!strncmp(where, stores[i]->scheme, len) && where[len] == ':') {
			*ret_rest = where + len + 1;
			return stores[i];
		}
	}
	*ret_rest = where;
	return *where == '/' ? &store_dir : NULL;
}

int store_open(const char *where, struct store **ret, struct rye_err *err)
{
	auto_free struct store *store = calloc(1, sizeof(*store));
	const char *rest;
	int r;

	if (!store)
		return rye_fail(err, RYE_IO, "store: out of memory");
	store->ops = ops_of(where, &rest);
	if (!store->ops)
		return rye_fail(err, RYE_INVALID,
				"store '%.*s': wanted is dir:PATH or s3://BUCKET?endpoint=URL",
				(int)strcspn(where, ":?"), where);
	r = store->ops->open(rest, &store->own, err);
	if (r)
		return r;
	*ret = steal(&store);
	return 0;
}

void store_close(struct store *store)
{
	if (!store)
		return;
	store->ops->close(store->own);
	free(store);
}

int store_put(struct store *store, const char *name, struct rye_span bytes, struct rye_err *err)
{
	int r = store_name_check(name, err);

	if (r)
		return r;
	if (bytes.len > STORE_OBJECT_MAX)
		return rye_fail(err, RYE_TOO_BIG, "%s: %zu bytes, an object has at most %u", name,
				bytes.len, STORE_OBJECT_MAX);
	return store->ops->put(store->own, name, bytes, err);
}

int store_get(struct store *store, const struct store_range *range, struct rye_buf *ret,
	      struct rye_err *err)
{
	int r = store_name_check(range->name, err);

	return r ? r : store->ops->get(store->own, range, ret, err);
}

int store_list(struct store *store, store_fn fn, void *arg, struct rye_err *err)
{
	return store->ops->list(store->own, fn, arg, err);
}

int store_del(struct store *store, const char *name, struct rye_err *err)
{
	int r = store_name_check(name, err);

	return r ? r : store->ops->del(store->own, name, err);
}

/* A name that is nothing's digest. */
#define TRY_NAME "packs/00/00"

int store_try(const char *where, struct rye_err *err)
{
	static const char bytes[] = "ryefs";
	const struct store_range range = { TRY_NAME, 0, STORE_WHOLE };
	auto_buf struct rye_buf back = RYE_BUF_INIT;
	struct store *store;
	int r = store_open(where, &store, err);

	if (r)
		return r;
	r = store_put(store, TRY_NAME, SPAN(bytes), err);
	if (!r)
		r = store_get(store, &range, &back, err);
	if (!r && !span_eq(buf_span(&back), bytes))
		r = rye_fail(err, RYE_IO, "store %.*s: what was put there comes back changed",
			     (int)strcspn(where, "?"), where);
	if (!r)
		r = store_del(store, TRY_NAME, err);
	store_close(store);
	return r;
}
