/* SPDX-License-Identifier: MIT */
/*
 * messages_read.h: the conversation of a transcript that a test has in memory.
 */
#ifndef RYE_TESTS_MESSAGES_READ_H
#define RYE_TESTS_MESSAGES_READ_H

#include "memory.h"
#include "record/record.h"

static inline int messages_read(struct rye_span text, bool replay, json_t **ret,
				struct rye_err *err)
{
	struct messages *m = messages_begin(replay);
	json_t *list = NULL;
	int r, end;

	if (!m)
		return memory_fail(err);
	r = chronicle_each(CHRONICLE_TEXT(text), messages_event, m, err);
	end = messages_end(m, &list, r ? NULL : err);
	if (r || end) {
		json_decref(list);
		return r ? r : end;
	}
	*ret = list;
	return 0;
}

static inline int messages_of(struct rye_span text, json_t **ret, struct rye_err *err)
{
	return messages_read(text, false, ret, err);
}

static inline int messages_replay(struct rye_span text, json_t **ret, struct rye_err *err)
{
	return messages_read(text, true, ret, err);
}

#endif
