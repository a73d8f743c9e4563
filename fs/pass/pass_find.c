/* SPDX-License-Identifier: MIT */
/*
 * pass_find.c - from a name below spaces/ to its node.
 *
 * Owns no state. A name is opened beneath its directory and never crosses into a FUSE mount: a
 * daemon that walks into its own mount waits for itself. A node is found again by the device
 * and inode that its descriptor pins, so hard links are one node.
 */
#include "pass/pass.h"

#include "mountinfo.h"
#include "scope.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>

static void pass_find_key_of(const struct pass_node *pass, struct tree_key *ret)
{
	struct {
		uint64_t dev, ino;
		int64_t space;
	} id = { pass->dev, pass->ino, pass->space };

	*ret = (struct tree_key){ .sort = TREE_PASS };
	memcpy(ret->text, &id, sizeof(id));
	ret->path_len = ret->text_len = sizeof(id);
}

/* Files of another disk than the project's could bear the same number. */
static uint64_t pass_find_ino_of(const struct pass *pass, const struct stat *raw)
{
	uint64_t h;

	if (raw->st_dev == pass->dev)
		return raw->st_ino;
	h = raw->st_ino * 0x9e3779b97f4a7c15ull ^ raw->st_dev * 0xbf58476d1ce4e5b9ull;
	return (h >> 2) | 1ull << 61;
}

static int open_beneath(int dir, const char *name, uint64_t resolve)
{
	struct open_how how = {
		.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
		.resolve = resolve,
	};
	int fd = (int)syscall(SYS_openat2, dir, name, &how, sizeof(how));

	return fd < 0 ? -errno : fd;
}

/* Another mount begins at this name: in, unless it is FUSE. */
static int open_mounted(int dir, const char *name)
{
	auto_free char *line = NULL;
	struct mountinfo mount;
	char proc[PASS_PROC_MAX], path[PATH_MAX];
	ssize_t n;

	pass_proc(dir, proc);
	n = readlink(proc, path, sizeof(path) - 1);
	if (n < 0 || (size_t)n + strlen(name) + 2 > sizeof(path))
		return -EXDEV;
	snprintf(path + n, sizeof(path) - (size_t)n, "/%s", name);
	line = mountinfo_find(path, &mount);
	if (!line || mountinfo_is_fuse(&mount))
		return -EXDEV;
	return open_beneath(dir, name, 0);
}

int pass_adopt(struct front *front, struct node *dir, int fd, enum pass_zone zone,
	       struct pass_found *ret)
{
	struct pass_node *above = pass_of(dir), *pass = calloc(1, sizeof(*pass));
	struct node_want want = { .class = &pass_class, .version = 1, .data = pass };
	struct tree_key key;
	struct stat raw;

	if (!pass || fstat(fd, &raw)) {
		int sys = pass ? errno : ENOMEM;

		free(pass);
		close(fd);
		return sys;
	}
	*pass = (struct pass_node){
		.fd = fd,
		.rd = -1,
		.wr = -1,
		.dev = raw.st_dev,
		.ino = raw.st_ino,
		.space = above->space,
		.zone = zone,
		.beside = zone == ZONE_PLAIN && above->zone == ZONE_ITEMS && !S_ISDIR(raw.st_mode),
		.read_only = above->read_only || zone == ZONE_TRUSTED,
		.pass = front->pass,
	};
	pass_count(front->pass);
	pass_find_key_of(pass, &key);
	want.key = &key;
	want.mode = raw.st_mode;
	want.ino = pass_find_ino_of(front->pass, &raw);
	ret->node = node_make(front->nodes, &want);
	if (!ret->node)
		return ENOMEM;
	ret->stale = pass_note(ret->node, &raw, false);
	ret->entry = (struct fuse_entry_param){ .ino = node_id(ret->node) };
	ret->entry.attr_timeout = ret->entry.entry_timeout = pass_timeout(front, ret->node);
	pass_stat(front, ret->node, &raw, &ret->entry.attr);
	return 0;
}

int pass_find(struct front *front, struct node *dir, const char *name, struct pass_found *ret)
{
	enum pass_zone zone;
	int fd;

	*ret = (struct pass_found){ .entry.entry_timeout = pass_timeout(front, dir) };
	if (strlen(name) > TREE_NAME_MAX)
		return ENAMETOOLONG;
	if (!pass_zone(pass_of(dir)->zone, name, &zone))
		return ENOENT;
	fd = open_beneath(pass_of(dir)->fd, name, RESOLVE_BENEATH | RESOLVE_NO_XDEV);
	if (fd == -EXDEV)
		fd = open_mounted(pass_of(dir)->fd, name);
	if (fd == -ENOENT)
		pass_own_forget(dir, name, &(struct pass_own_file){ 0, 0 });
	if (fd < 0)
		return -fd;
	fd = pass_adopt(front, dir, fd, zone, ret);
	if (fd)
		return fd;
	pass_names_note(ret->node, dir, name);
	pass_own_forget(dir, name,
			&(struct pass_own_file){ pass_of(ret->node)->dev,
						 pass_of(ret->node)->ino });
	return 0;
}
