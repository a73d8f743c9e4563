/* SPDX-License-Identifier: MIT */
/* message.h: the bytes of one message to a control file or a primitive → an object. Pure. */
#ifndef RYE_PARSE_MESSAGE_H
#define RYE_PARSE_MESSAGE_H

#include "base/json.h"

/*
 * A new reference, or NULL with RYE_INVALID or RYE_TOO_BIG: neither JSON nor YAML of the form
 * that was said, no object, or a reply of ours that comes back.
 */
json_t *message_read(struct rye_span text, enum rye_form form, struct rye_err *err);

#endif
