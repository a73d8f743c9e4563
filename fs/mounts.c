/* SPDX-License-Identifier: MIT */
/*
 * mounts.c - /proc/self/mountinfo.
 *
 * Owns its parser. Asked when a walk meets a mount (may it go in?) and before we mount. It
 * never touches the paths it reads: a stat of a dead or foreign mount may hang.
 */
#include "mounts.h"

#include "auto.h"

#include <string.h>

/* \040 and its like. */
static void unescape(char *s)
{
	char *out = s;

	while (*s) {
		if (s[0] == '\\' && s[1] >= '0' && s[1] <= '3' && s[2] >= '0' && s[2] <= '7' &&
		    s[3] >= '0' && s[3] <= '7') {
			*out++ = (char)((s[1] - '0') * 64 + (s[2] - '0') * 8 + (s[3] - '0'));
			s += 4;
		} else {
			*out++ = *s++;
		}
	}
	*out = 0;
}

/* The next word between blanks; *line moves behind it. False: none, or too long. */
static bool word(const char **line, char *ret, size_t size)
{
	size_t len;

	*line += strspn(*line, " ");
	len = strcspn(*line, " \n");
	if (len == 0 || len >= size)
		return false;
	if (ret) {
		memcpy(ret, *line, len);
		ret[len] = 0;
	}
	*line += len;
	return true;
}

bool mounts_parse(const char *line, struct mount_line *ret)
{
	const char *dash;

	/* 36 35 98:0 /root /point options [fields] - type source options */
	for (int i = 0; i < 4; i++)
		if (!word(&line, NULL, 8192))
			return false;
	if (!word(&line, ret->point, sizeof(ret->point)))
		return false;
	dash = strstr(line, " - ");
	if (!dash)
		return false;
	line = dash + 3;
	if (!word(&line, ret->type, sizeof(ret->type)) ||
	    !word(&line, ret->source, sizeof(ret->source)))
		return false;
	unescape(ret->point);
	unescape(ret->source);
	return true;
}

bool mounts_find(const char *path, struct mount_line *ret)
{
	auto_file FILE *file = fopen("/proc/self/mountinfo", "re");
	auto_free struct mount_line *mount = malloc(sizeof(*mount));
	auto_free char *line = NULL;
	size_t size = 0;
	bool found = false;

	if (!file || !mount)
		return false;
	/* the last one lies on top */
	while (getline(&line, &size, file) >= 0)
		if (mounts_parse(line, mount) && strcmp(mount->point, path) == 0) {
			*ret = *mount;
			found = true;
		}
	return found;
}

bool mounts_is_fuse(const struct mount_line *mount)
{
	return strncmp(mount->type, "fuse", 4) == 0;
}
