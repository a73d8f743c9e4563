/* SPDX-License-Identifier: MIT */
/* The program of a warm interpreter: warm_child.py, byte for byte (scripts/embed). */
#include "exec/warm_parent.h"

static const char program[] = {
#include "exec/warm_child.inc"
};

const char *warm_program(void)
{
	return program;
}
