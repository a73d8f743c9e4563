/* SPDX-License-Identifier: MIT */
/*
 * api/view.h: the views of an item that have a file of their own. Each makes the bytes of one
 * derived file; rows in api/api_view.c.
 */
#ifndef RYE_API_VIEW_H
#define RYE_API_VIEW_H

#include "api/engine.h"
#include "trust/reason.h"

/* An item as far as it could be had: a refused one has a verdict and a reason, no bytes. */
struct subject {
	struct loaded loaded; /* item NULL: refused */
	struct glance *glance; /* of a refused one, else NULL */
	struct rye_err why; /* RYE_OK, or the refusal */
	const struct verdict *verdict;
	const struct space *space;
	const char *id, *path, *ext;
};

/* Fails only when there is no such item; *ret is the caller's to release either way. */
int subject_get(struct rye *rye, const struct rye_ask *ask, struct subject *ret,
		struct rye_err *err);
/* Why a refused one is refused, and what mends it. */
void subject_reason(const struct subject *subject, enum rye_kind kind, char line[REASON_MAX]);
void subject_done(struct subject *subject);
#define auto_subject __attribute__((cleanup(subject_done)))

int view_info(struct rye *rye, const struct rye_ask *ask, struct rye_blob **ret,
	      struct rye_err *err);
int view_verify(struct rye *rye, const struct rye_ask *ask, struct rye_blob **ret,
		struct rye_err *err);
int view_usage(struct rye *rye, const struct rye_ask *ask, struct rye_blob **ret,
	       struct rye_err *err);

#endif
