/* SPDX-License-Identifier: MIT */
/* auto.h: the closed list of macros (engine/common/scope.h), with what only the front uses. */
#ifndef RYE_FS_AUTO_H
#define RYE_FS_AUTO_H

#include "scope.h"

#include <rye/rye.h>

DEFINE_AUTO(auto_blob_, struct rye_blob *, rye_blob_unref)

#define auto_blob __attribute__((cleanup(auto_blob_)))

#endif
