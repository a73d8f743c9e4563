/* SPDX-License-Identifier: MIT */
/* auto.h: the closed list of macros (engine/common/scope.h), with what only the engine uses. */
#ifndef RYE_BASE_AUTO_H
#define RYE_BASE_AUTO_H

#include "scope.h"

#include <dirent.h>

DEFINE_AUTO(auto_closedir_, DIR *, closedir)

#define auto_dir __attribute__((cleanup(auto_closedir_)))

#endif
