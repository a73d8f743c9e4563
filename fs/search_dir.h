/* SPDX-License-Identifier: MIT */
/* search_dir.h: search/QUERY/: ranked results as symbolic links. */
#ifndef RYE_FS_SEARCH_DIR_H
#define RYE_FS_SEARCH_DIR_H

#include "front.h"

/* "01-tool:rye%2Fbash": place, kind, id with its slashes encoded. False: too long for a name. */
bool search_name(size_t rank, enum rye_kind kind, const char *id, char ret[256]);

#endif
