/* SPDX-License-Identifier: MIT */
/* One line of /proc/self/mountinfo: a user that may mount chooses the paths in it. */
#include "mountinfo.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_inside(const char *text, const char *line, size_t size)
{
	if (text < line || text + strlen(text) > line + size)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *line = malloc(size + 1);
	struct mountinfo mount;

	if (!line)
		return 0;
	memcpy(line, data, size);
	line[size] = 0;
	if (mountinfo_parse(line, &mount)) {
		check_inside(mount.root, line, size);
		check_inside(mount.point, line, size);
		check_inside(mount.type, line, size);
		check_inside(mount.source, line, size);
		check_inside(mount.options, line, size);
	}
	free(line);
	return 0;
}
