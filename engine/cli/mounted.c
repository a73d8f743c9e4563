/* SPDX-License-Identifier: MIT */
/*
 * Which mounts are ours, and unmounting them. Accesses no path inside a mount, since where its daemon
 * hangs the call would hang too; but what one that has just answered tells of itself.
 */
#include "cli/cli.h"

#include "base/io.h"
#include "buf.h"
#include "clock.h"
#include "connection.h"
#include "mountinfo.h"
#include "scope.h"
#include "str.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/mount.h>
#include <unistd.h>

#define MOUNTED_STATS_MAX 65536

struct each {
	int (*fn)(void *arg, const char *path);
	void *arg;
};

static int tell_ours(void *arg, const struct mountinfo *mount)
{
	const struct each *each = arg;

	return mountinfo_is_ours(mount) ? each->fn(each->arg, mount->point) : 0;
}

int mounts_each(int (*fn)(void *arg, const char *path), void *arg)
{
	struct each each = { fn, arg };
	int r = mountinfo_each(tell_ours, &each);

	return r < 0 ? 0 : r;
}

json_t *mounts_stats(const char *path)
{
	auto_close int root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	auto_blob struct rye_blob *blob = NULL;

	if (root < 0 || io_read_at(root, ".ryefs/stats.json", MOUNTED_STATS_MAX, &blob) < 0)
		return NULL;
	return json_loadb(blob->data, blob->len, 0, NULL);
}

static int is_same_path(void *arg, const char *path)
{
	return !strcmp(arg, path);
}

bool mounts_has(const char *path)
{
	return mounts_each(is_same_path, (void *)path) != 0;
}

/* An absolute path without "." and "..", made of the text alone; NULL: too long. */
static char *lexical(const char *word)
{
	char here[PATH_MAX] = "", text[2 * PATH_MAX];
	auto_buf struct rye_buf path = RYE_BUF_INIT;
	char *rest = text, *part;

	if (*word != '/' && !getcwd(here, sizeof(here)))
		return NULL;
	if (snprintf(text, sizeof(text), "%s/%s", here, word) >= (int)sizeof(text))
		return NULL;
	buf_adds(&path, "");
	while (path.data && (part = strsep(&rest, "/"))) {
		char *slash = strrchr(path.data, '/');

		if (!strcmp(part, "..") && slash)
			path.len = (size_t)(slash - path.data);
		else if (*part && strcmp(part, ".") && strcmp(part, ".."))
			buf_addf(&path, "/%s", part);
		path.data[path.len] = 0;
	}
	if (path.data && !path.len)
		buf_addc(&path, '/');
	return buf_steal(&path);
}

json_t *mounts_deaths(const char *path, const json_t *stats)
{
	const json_t *told = json_object_get(stats, "deaths");
	struct rye_death death = { .times = (int)json_int(told, "times", 0),
				   .at_s = json_int(told, "at_s", 0) };
	json_t *ret;
	char at[24];

	snprintf(death.why, sizeof(death.why), "%s", json_str(told, "why"));
	if (!stats && !rye_death_read(path, &death))
		return NULL;
	if (death.times < 1)
		return NULL;
	clock_stamp((time_t)death.at_s, at);
	ret = json_object();
	json_set(ret, "times", json_integer(death.times));
	json_sets(ret, "at", at);
	json_sets(ret, "why", death.why);
	return ret;
}

struct mounted_holder {
	const char *path;
	size_t best; /* length of the deepest mountpoint above it so far */
	char *source;
};

static int mounted_look(void *arg, const struct mountinfo *mount)
{
	struct mounted_holder *holder = arg;
	size_t n = strlen(mount->point);

	if (n <= 1 || n < holder->best || !path_below(holder->path, mount->point))
		return 0;
	free(holder->source);
	holder->best = n;
	holder->source = mountinfo_is_ours(mount) ? strdup(mount->source) : NULL;
	return 0;
}

bool mounts_holds(const char *word, char **ret_source, char **ret_below)
{
	auto_free char *path = lexical(word);
	struct mounted_holder holder = { .path = path };

	if (path)
		mountinfo_each(mounted_look, &holder);
	if (!holder.source)
		return false;
	*ret_source = holder.source;
	*ret_below = strdup(path + holder.best + (path[holder.best] == '/'));
	return *ret_below != NULL;
}

/* fusermount3 with one option; 0: unmounted. */
static int run_fusermount(const char *option, const char *path)
{
	return fusermount_run((const char *const[]){ "fusermount3", option, "--", path, NULL });
}

bool mounts_detach(const char *path, bool lazy)
{
	if (run_fusermount(lazy ? "-uz" : "-u", path) == 0)
		return true;
	return geteuid() == 0 && umount2(path, lazy ? MNT_DETACH : 0) == 0;
}
