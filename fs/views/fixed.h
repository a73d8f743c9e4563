/* SPDX-License-Identifier: MIT */
/* fixed.h: directories whose names are known beforehand, the root among them. */
#ifndef RYE_FS_VIEWS_FIXED_H
#define RYE_FS_VIEWS_FIXED_H

#include "core/front.h"

/* NULL: out of memory. */
struct node *fixed_root(struct front *front);

#endif
