/* SPDX-License-Identifier: MIT */
/* feed_scalar.h: plain scalars of YAML 1.1, for feed_yaml.c alone. */
#ifndef RYE_FS_FEED_SCALAR_H
#define RYE_FS_FEED_SCALAR_H

#include "feed_out.h"

/* Unquoted text as JSON: null, a boolean, a number, or else a string. */
void feed_scalar(struct feed_out *out, const char *ptr, size_t len);
/* 0 to 15; -1: no hexadecimal digit. */
int feed_hex(char c);

#endif
