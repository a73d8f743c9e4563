/* SPDX-License-Identifier: MIT */
/* sample.h: the items that `ryefs init --sample` writes. */
#ifndef RYE_CLI_SAMPLE_H
#define RYE_CLI_SAMPLE_H

#include <stddef.h>

struct sample {
	const char *path; /* below .ai */
	const char *ref;
	const char *text;
};

const struct sample *sample_rows(size_t *ret_n);

#endif
