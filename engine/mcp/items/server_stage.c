/* SPDX-License-Identifier: MIT */
/*
 * All of a server's items or none. They are written below a directory whose name begins with a dot,
 * which no reader of items looks into, beside the directory of its tools:
 *
 *   tools/mcp/.rye-0123456789abcdef.new/NAME/STEM.yaml    the tools, with all else that lies there
 *   tools/mcp/.rye-0123456789abcdef.new/INODE.NAME.yaml   the server; INODE is that of NAME above
 *
 * That directory takes the place of tools/mcp/NAME in one step, and the server's item follows at once:
 * a process that is killed between the two leaves that to the next `mcp add`, `refresh` or `remove`, which
 * knows by the inode that the step was made. What was killed before it is removed. The staging directory is locked as
 * long as its maker lives. On a worker; no other lock.
 */
#include "mcp/items/items_inner.h"

#include "base/io.h"
#include "bounds.h"
#include "memory.h"
#include "scope.h"
#include "space/space.h"
#include "str.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>

#define MCP_DIR "tools/mcp"
#define STAGE_HEAD ".rye-"
#define STAGE_TAIL ".new"
/* What was in the place of the new directory, where the two cannot change places in one step. */
#define WAS "was"

/* -1: there is none. */
static int open_below(int dir, const char *name)
{
	return openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* ---- finishing what was begun, by its maker or by the next one ---- */

static bool is_in_place(int mcp, const char *name, unsigned long long ino)
{
	struct stat st;

	return !fstatat(mcp, name, &st, AT_SYMLINK_NOFOLLOW) && st.st_ino == ino;
}

/* Directories cannot be in two places: they follow when the new one is there. */
static void move_directories(int mcp, int stage, const char *name, const char *old)
{
	auto_close int from = open_below(stage, old), to = open_below(mcp, name);
	auto_dir DIR *dir = fdopendir(open_below(from, "."));
	struct dirent *entry;
	struct stat st;

	while (dir && (entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..") &&
		    !fstatat(from, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) && S_ISDIR(st.st_mode))
			(void)renameat(from, entry->d_name, to, entry->d_name);
}

/* The server's item in a staging directory; NULL: it is not complete. Free it. */
static char *staged_server(int stage, unsigned long long *ret_ino, const char **ret_name)
{
	auto_dir DIR *dir = fdopendir(open_below(stage, "."));
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		char *end;

		*ret_ino = strtoull(entry->d_name, &end, 10);
		if (end > entry->d_name && *end == '.' && str_ends(end, ".yaml")) {
			char *copy = memory_note(strdup(entry->d_name));

			*ret_name = copy ? copy + (end - entry->d_name) + 1 : "";
			return copy;
		}
	}
	return NULL;
}

/* Where the new directory is in its place the server's item follows; elsewhere all is as it was. */
static int finish_stage(int mcp, int stage)
{
	unsigned long long ino = 0;
	const char *leaf = "";
	auto_free char *file = staged_server(stage, &ino, &leaf), *name = NULL;
	auto_close int servers = open_below(mcp, "servers");

	if (!file || servers < 0)
		return 0;
	name = memory_note(strndup(leaf, strlen(leaf) - strlen(".yaml")));
	if (!name)
		return -ENOMEM;
	if (!is_in_place(mcp, name, ino)) {
		if (faccessat(mcp, name, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
			(void)renameat(stage, WAS, mcp, name);
		return 0;
	}
	move_directories(mcp, stage, name, name);
	move_directories(mcp, stage, name, WAS);
	if (renameat(stage, file, servers, leaf) < 0)
		return -errno;
	return fsync(servers) < 0 && errno != EINVAL ? -errno : 0;
}

/* Whose lock can be had, and is ours: its maker has ended. */
static void sweep_stage(int mcp, const char *name)
{
	auto_close int stage = open_below(mcp, name);
	struct stat st;

	if (stage < 0 || fstat(stage, &st) < 0 || st.st_uid != geteuid() ||
	    flock(stage, LOCK_EX | LOCK_NB) < 0)
		return;
	if (!finish_stage(mcp, stage))
		io_remove_tree(mcp, name, RYE_DEPTH_MAX);
}

void server_stage_sweep(const struct space *space)
{
	int root = space_fd(space);
	auto_close int mcp = root < 0 ? -1 : io_open_mounted(root, MCP_DIR, O_RDONLY | O_DIRECTORY);
	auto_dir DIR *dir = fdopendir(open_below(mcp, "."));
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (!strncmp(entry->d_name, STAGE_HEAD, strlen(STAGE_HEAD)) &&
		    str_ends(entry->d_name, STAGE_TAIL))
			sweep_stage(mcp, entry->d_name);
}

/* ---- making it ---- */

static int make_own_dir(struct server_stage *stage)
{
	unsigned long long random = 0;
	struct stat st;

	if (getrandom(&random, sizeof(random), 0) < 0)
		return -errno;
	snprintf(stage->own, sizeof(stage->own), STAGE_HEAD "%016llx" STAGE_TAIL, random);
	if (mkdirat(stage->mcp, stage->own, 0755) < 0)
		return -errno;
	stage->dir = open_below(stage->mcp, stage->own);
	if (stage->dir < 0)
		return -errno;
	/* a file system without locks goes without, and is never swept */
	while (flock(stage->dir, LOCK_EX) < 0 && errno == EINTR)
		;
	/* another process that swept just now has removed it */
	return fstat(stage->dir, &st) < 0 || !st.st_nlink ? -EAGAIN : 0;
}

static int make_stage(struct server_stage *stage)
{
	const struct space *space = stage->run->ask->space;
	const char *name = server_name(stage->run->ask);
	int r = space_mkdirs(space, MCP_DIR "/servers");

	if (!r)
		stage->mcp = io_open_mounted(space_fd(space), MCP_DIR, O_RDONLY | O_DIRECTORY);
	if (r < 0 || stage->mcp < 0)
		return r < 0 ? r : stage->mcp;
	r = make_own_dir(stage);
	if (!r && mkdirat(stage->dir, name, 0755) < 0)
		r = -errno;
	if (!r)
		stage->tools = open_below(stage->dir, name);
	return r || stage->tools >= 0 ? r : -errno;
}

int server_stage_open(const struct server_run *run, struct server_stage *ret, struct rye_err *err)
{
	int r;

	*ret = (struct server_stage){ .run = run, .mcp = -1, .dir = -1, .tools = -1 };
	r = make_stage(ret);
	return r ? rye_fail_sys(err, -r, "cannot write below .ai/" MCP_DIR) : 0;
}

int server_stage_put(const struct server_stage *stage, const char *stem, struct rye_span text)
{
	auto_buf struct rye_buf leaf = RYE_BUF_INIT;
	struct stat st;

	if (stem)
		buf_addf(&leaf, "%s.yaml", stem);
	else if (!fstat(stage->tools, &st))
		buf_addf(&leaf, "%llu.%s.yaml", (unsigned long long)st.st_ino,
			 server_name(stage->run->ask));
	if (!leaf.len || leaf.failed)
		return -ENOMEM;
	return io_replace_at(stem ? stage->tools : stage->dir, leaf.data, text, 0644);
}

/* The same file in both, or, where a file system has no such thing, a copy. */
static int keep_file(int from, const char *name, int to)
{
	struct rye_blob *bytes = NULL;
	struct stat st;
	int r;

	if (!linkat(from, name, to, name, 0) || errno == EEXIST || errno == ENOENT)
		return 0;
	r = io_read_at(from, name, RYE_MCP_MESSAGE_MAX, &bytes);
	if (r < 0)
		return r;
	r = fstatat(from, name, &st, 0) < 0 ?
		    -errno :
		    io_replace_at(to, name, (struct rye_span){ bytes->data, bytes->len },
				  st.st_mode);
	rye_blob_unref(bytes);
	return r;
}

static bool goes_away(const struct server_changes *changes, const char *name)
{
	for (size_t i = 0; changes && i < changes->n; i++)
		if (changes->v[i].path && !strcmp(space_stem(changes->v[i].path), name))
			return true;
	return false;
}

/* What lies there and is neither written anew nor gone, a person's own files among it. */
static int keep_rest(const struct server_stage *stage, const struct server_changes *changes)
{
	auto_close int old = open_below(stage->mcp, server_name(stage->run->ask));
	auto_dir DIR *dir = fdopendir(open_below(old, "."));
	struct dirent *entry;
	struct stat st;
	int r = 0;

	while (dir && !r && (entry = readdir(dir)))
		if (!fstatat(old, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) &&
		    !S_ISDIR(st.st_mode) && !goes_away(changes, entry->d_name))
			r = keep_file(old, entry->d_name, stage->tools);
	return r;
}

static int change_places(const struct server_stage *stage, const char *name)
{
	if (!renameat2(stage->dir, name, stage->mcp, name, RENAME_EXCHANGE))
		return 0;
	if (errno != ENOENT && errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP)
		return -errno;
	/* There is none, or the file system (NFS) cannot: for a moment there is neither. */
	if (renameat(stage->mcp, name, stage->dir, WAS) < 0 && errno != ENOENT)
		return -errno;
	return renameat(stage->dir, name, stage->mcp, name) < 0 ? -errno : 0;
}

int server_stage_install(const struct server_stage *stage, const struct server_changes *changes,
			 struct rye_err *err)
{
	const char *name = server_name(stage->run->ask);
	int r = keep_rest(stage, changes);

	if (!r && fsync(stage->tools) < 0 && errno != EINVAL)
		r = -errno;
	if (!r)
		r = change_places(stage, name);
	if (!r)
		r = finish_stage(stage->mcp, stage->dir);
	return r ? rye_fail_sys(err, -r, "cannot write .ai/" MCP_DIR "/%s", name) : 0;
}

void server_stage_done(struct server_stage *stage)
{
	if (stage->dir >= 0 && !finish_stage(stage->mcp, stage->dir))
		io_remove_tree(stage->mcp, stage->own, RYE_DEPTH_MAX);
	if (stage->tools >= 0)
		close(stage->tools);
	if (stage->dir >= 0)
		close(stage->dir);
	if (stage->mcp >= 0)
		close(stage->mcp);
}
