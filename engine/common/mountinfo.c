/* SPDX-License-Identifier: MIT */
/*
 * mountinfo.c - the parser of /proc/self/mountinfo. No state, no lock.
 *
 * Asked when a walk meets a mount (may it go in?), before we mount or unmount, and before a
 * process gets a copy of the mounts.
 */
#include "mountinfo.h"

#include "scope.h"

#include <errno.h>
#include <string.h>
#include <sys/sysmacros.h>

#define MOUNTINFO "/proc/self/mountinfo"

/* Blanks, tabs, line ends and backslashes stand as three octal digits. */
static void mountinfo_unescape(char *s)
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

/* The next word between blanks, cut off; *line moves behind it. NULL: none. */
static char *cut_word(char **line)
{
	char *word = *line + strspn(*line, " ");
	size_t len = strcspn(word, " \n");

	*line = word + len + (word[len] != 0);
	word[len] = 0;
	return len ? word : NULL;
}

bool mountinfo_parse(char *line, struct mountinfo *ret)
{
	/* 36 35 98:0 /root /point options [fields] - type source options */
	char *dash = strstr(line, " - "), *words[6], *owner;
	unsigned dev_major, dev_minor;

	if (!dash)
		return false;
	*dash = 0;
	dash += 3;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (!(words[i] = cut_word(&line)))
			return false;
	if (sscanf(words[0], "%d", &ret->id) != 1 || sscanf(words[1], "%d", &ret->parent) != 1 ||
	    sscanf(words[2], "%u:%u", &dev_major, &dev_minor) != 2)
		return false;
	ret->dev = makedev(dev_major, dev_minor);
	ret->shared = !strncmp(line, "shared:", 7) || strstr(line, " shared:");
	ret->read_only = !strncmp(words[5], "ro", 2) && (!words[5][2] || words[5][2] == ',');
	ret->root = words[3];
	ret->point = words[4];
	ret->type = cut_word(&dash);
	ret->source = ret->type ? cut_word(&dash) : NULL;
	ret->options = ret->source ? cut_word(&dash) : NULL;
	if (!ret->options)
		return false;
	owner = strstr(ret->options, "user_id=");
	ret->owner = owner ? (uid_t)strtoul(owner + strlen("user_id="), NULL, 10) : 0;
	mountinfo_unescape(ret->root);
	mountinfo_unescape(ret->point);
	mountinfo_unescape(ret->source);
	return true;
}

int mountinfo_each(int (*fn)(void *arg, const struct mountinfo *mount), void *arg)
{
	auto_file FILE *file = fopen(MOUNTINFO, "re");
	auto_free char *line = NULL;
	struct mountinfo mount;
	size_t size = 0;
	int r = 0;

	if (!file)
		return -errno;
	while (!r && getline(&line, &size, file) >= 0)
		if (mountinfo_parse(line, &mount))
			r = fn(arg, &mount);
	return r;
}

char *mountinfo_find(const char *path, struct mountinfo *ret)
{
	auto_file FILE *file = fopen(MOUNTINFO, "re");
	auto_free char *line = NULL;
	struct mountinfo mount;
	char *found = NULL;
	size_t size = 0;

	/* the last one lies on top */
	while (file && getline(&line, &size, file) >= 0)
		if (mountinfo_parse(line, &mount) && strcmp(mount.point, path) == 0) {
			*ret = mount;
			free(found);
			found = steal(&line);
		}
	return found;
}

bool mountinfo_is_fuse(const struct mountinfo *mount)
{
	return strncmp(mount->type, "fuse", 4) == 0;
}

bool mountinfo_is_ours(const struct mountinfo *mount)
{
	return strcmp(mount->type, "fuse.ryefs") == 0;
}
