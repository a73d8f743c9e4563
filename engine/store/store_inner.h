/* SPDX-License-Identifier: MIT */
/* store_inner.h: a row of the table of stores (store.c), and what an open one is. */
#ifndef RYE_STORE_INNER_H
#define RYE_STORE_INNER_H

#include "store/store.h"

/* As the functions of store.h, names checked. */
struct store_ops {
	const char *scheme; /* before the colon of `where` */
	int (*open)(const char *where, void **ret_own, struct rye_err *err);
	void (*close)(void *own);
	int (*put)(void *own, const char *name, struct rye_span bytes, struct rye_err *err);
	int (*get)(void *own, const struct store_range *range, struct rye_buf *ret,
		   struct rye_err *err);
	int (*list)(void *own, store_fn fn, void *arg, struct rye_err *err);
	int (*del)(void *own, const char *name, struct rye_err *err);
};

/* store_name.c */
int store_name_check(const char *name, struct rye_err *err);

extern const struct store_ops store_dir, store_s3;

#endif
