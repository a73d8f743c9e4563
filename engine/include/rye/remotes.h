/* SPDX-License-Identifier: MIT */
/*
 * remotes.h: fifth part of rye.h (included by threads.h): other machines as they are known here, from
 * signed configuration and what was seen of them last. Nothing of it connects. Same conventions.
 */
#ifndef RYE_REMOTES_H
#define RYE_REMOTES_H

#include <rye/rye.h>

/* Those that the configuration names, sorted. */
RYE_API int rye_remotes(struct rye *rye, rye_name_fn fn, void *arg, struct rye_err *err);
/* What there is to say of one, as files; none of them where nothing is known of it yet. */
RYE_API int rye_remote_names(struct rye *rye, const char *remote, rye_name_fn fn, void *arg,
			     struct rye_err *err);
RYE_API int rye_remote_file(struct rye *rye, const char *remote, const char *name,
			    struct rye_blob **ret, struct rye_err *err);
/* The threads of this project that it was asked to carry out. */
RYE_API int rye_remote_threads(struct rye *rye, const char *remote, rye_name_fn fn, void *arg,
			       struct rye_err *err);
/* Files below `foreign`, of runs that were begun elsewhere. */
RYE_API int rye_remote_foreign(struct rye *rye, const char *remote, rye_name_fn fn, void *arg,
			       struct rye_err *err);
/* Another number when a listing of them (remote "") or below one of them may be another; 0: it cannot be told. */
RYE_API uint64_t rye_remote_stamp(struct rye *rye, const char *remote);
/* What a write of RYE_REMOTE can be at remotes/NAME/ctl; its id is "NAME/ctl", or "NAME/push". */
#define RYE_REMOTE_WORDS "connect, gc, adopt ID, forget ID or pull ID"

#endif
