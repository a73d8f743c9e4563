/* SPDX-License-Identifier: MIT */
/*
 * signcheck.h: the rules an item has to keep to be signed (items 7 and the tool format's own).
 * Verification and execution never ask for them.
 */
#ifndef RYE_SIGN_SIGNCHECK_H
#define RYE_SIGN_SIGNCHECK_H

#include "item/item.h"

/* What was found; both arrays of strings, owned. */
struct sign_report {
	json_t *issues; /* not empty: it may not be signed */
	json_t *warnings;
	/* A trusted key has signed it once: what is asked of new tools is advice to this one. */
	bool signed_before;
};

bool sign_report_init(struct sign_report *report); /* false: out of memory */
void sign_report_done(struct sign_report *report);

/* item: kind, id, ext, body and meta are looked at; nothing of it is verified yet. */
void sign_check(const struct parsed_item *item, struct sign_report *report);
/* True when every issue is a missing field. */
bool sign_only_missing(const struct sign_report *report);

#endif
