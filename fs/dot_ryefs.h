/* SPDX-License-Identifier: MIT */
/* dot_ryefs.h: .ryefs: version, stats.json, errors, log, doctor. */
#ifndef RYE_FS_DOT_RYEFS_H
#define RYE_FS_DOT_RYEFS_H

#include <rye/rye.h>

struct text;

const char *const *dot_names(void); /* NULL-terminated */
/* "1 204 items served, 3 refused (2 changed since signing, 1 unsigned); see ls -l" */
void dot_summary(const struct rye_counts *counts, struct text *text);
/* The command or option that mends most of what is refused; NULL: nothing is. */
const char *dot_remedy(const struct rye_counts *counts);

#endif
