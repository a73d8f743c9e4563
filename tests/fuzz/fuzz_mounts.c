/* SPDX-License-Identifier: MIT */
/* One line of /proc/self/mountinfo, whose paths anybody may choose who may mount. */
#include "mounts.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *line = malloc(size + 1);
	struct mount_line *mount = malloc(sizeof(*mount));

	if (line && mount) {
		memcpy(line, data, size);
		line[size] = 0;
		if (mounts_parse(line, mount) && (strlen(mount->point) >= sizeof(mount->point) ||
						  strlen(mount->type) >= sizeof(mount->type)))
			abort();
	}
	free(mount);
	free(line);
	return 0;
}
