/* SPDX-License-Identifier: MIT */
/*
 * run_reply.h: replies as the formats have them (tools 7.3, items 6; spec decisions), and the
 * plain text of `output`. A reply is put together by one worker, then frozen into blobs.
 */
#ifndef RYE_RUN_RUN_REPLY_H
#define RYE_RUN_RUN_REPLY_H

#include "base/json.h"

struct reply {
	enum rye_code code;
	json_t *doc; /* status first; owned */
	json_t *metadata; /* put last by reply_outcome; owned */
	json_t *warnings; /* array of strings, goes into metadata; owned */
	json_t *trace; /* array or NULL: not asked for; owned */
	char *output; /* plain text; NULL: made from the reply; owned */
	char message[960]; /* of an error */
	int64_t start_us; /* clock_us() */
};

void reply_init(struct reply *reply);
void reply_done(struct reply *reply);

/* status "error"; error_type for integrity; item_id as the caller wrote it (NULL: none). */
void reply_error(struct reply *reply, const struct rye_err *err, const char *item_id);
/* status "success", type, item_id. */
void reply_start(struct reply *reply, const char *status, enum rye_kind kind, const char *item_id);
void reply_warn(struct reply *reply, const json_t *texts);

/* Freezes it: every blob in *ret is new and belongs to the caller; message to the reply. */
void reply_outcome(struct reply *reply, struct rye_outcome *ret);
#endif
