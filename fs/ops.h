/* SPDX-License-Identifier: MIT */
/* ops.h: the table of operations that session.c gives to libfuse. */
#ifndef RYE_FS_OPS_H
#define RYE_FS_OPS_H

#include "core/front.h"

extern const struct fuse_lowlevel_ops ops_table;

#endif
