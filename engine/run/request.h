/* SPDX-License-Identifier: MIT */
/*
 * request.h: what a caller wrote → a typed request (tools 7.1, 7.2). Outside bytes: fuzzed.
 * Nothing is looked up here; combinations that can never be are refused before any disk.
 */
#ifndef RYE_RUN_REQUEST_H
#define RYE_RUN_REQUEST_H

#include "base/json.h"

struct request {
	enum rye_verb verb;
	enum rye_kind kind; /* RYE_KIND__MAX: a bare id, any kind */
	char *spelled; /* item_id as the caller wrote it: echoed; owned */
	const char *id; /* into spelled, behind "kind:" */
	bool by_type; /* seed form: item_type beside a plain id */
	json_t *doc; /* the request of the execute primitive; owned */
	json_t *params; /* object, owned */
	bool dry_run, async, fork, trace;
	bool remote;
	bool no_net, no_write; /* a runner asks for a run that was confined to this */
	double timeout; /* the caller's, seconds, once it is taken out of params; 0: none */
	json_t *warnings; /* array of strings, owned */
};

void request_done(struct request *request);

/*
 * RYE_EXECUTE: doc is the primitive's request. The other verbs: doc is the item's parameters,
 * kind and id come beside it. Errors are RYE_INVALID with the format's texts.
 */
int request_read(const struct rye_request *req, const char *project, struct request *ret,
		 struct rye_err *err);
/* The execution matrix; for a bare id called again once the kind is known. */
int request_matrix(const struct request *request, enum rye_kind kind, struct rye_err *err);

/* "kind:id" or item_type + item_id of fetch and sign requests; echo form in *ret_spelled. */
int request_ref(const json_t *doc, struct request *ret, struct rye_err *err);
/* project_path: absent, or this mount's project. */
int request_project(const json_t *doc, const char *project, struct rye_err *err);

#endif
