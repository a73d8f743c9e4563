/* SPDX-License-Identifier: MIT */
/* dot_ryefs.h: .ryefs: version, stats.json, errors, log, doctor. */
#ifndef RYE_FS_VIEWS_DOT_RYEFS_H
#define RYE_FS_VIEWS_DOT_RYEFS_H

#include <rye/rye.h>

struct front;
struct text;

const char *dot_name(size_t i); /* of its files; NULL behind the last */
/* "1 204 items served, 3 refused (2 changed since signing, 1 unsigned); see ls -l" */
void dot_summary(const struct rye_counts *counts, struct text *text);
/*
 * Adds lead and the command that mends most of what is refused, with the key to trust if it is
 * but one; false: nothing does. May wait for items to be verified.
 */
bool dot_remedy(struct front *front, const struct rye_counts *counts, const char *lead,
		struct text *text);

#endif
