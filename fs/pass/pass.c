/* SPDX-License-Identifier: MIT */
/*
 * pass.c - nodes below spaces/: which callers may write, what is hidden, what the kernel was told.
 *
 * Owns struct pass. Its lock guards lazily opened descriptors and what the kernel was last told
 * of a file; no system call that could wait is made under it.
 */
#include "pass/pass.h"

#include "caller/caller.h"
#include "pass/pass_inner.h"
#include "scope.h"

#include <errno.h>
#include <linux/magic.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <sys/vfs.h>

/* An mtime younger than this may be shared by the next change (a tick of the coarse clock). */
#define YOUNG_NS 20000000ll
/* Of changes in watched directories the kernel is told, but maybe not of all: a second. */
#define TIMEOUT_WATCHED_S 1.0

/* Linux 6.13 has multigrain timestamps on some file systems: after a stat has read an mtime, the
 * next change gets another one, however soon it comes. */
static bool has_fine_times(const char *path)
{
	static const long types[] = { BTRFS_SUPER_MAGIC, EXT4_SUPER_MAGIC, TMPFS_MAGIC,
				      XFS_SUPER_MAGIC };
	unsigned major = 0, minor = 0;
	struct utsname name;
	struct statfs fs;

	if (uname(&name) || sscanf(name.release, "%u.%u", &major, &minor) != 2 || major < 6 ||
	    (major == 6 && minor < 13) || statfs(path, &fs))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if (fs.f_type == types[i])
			return true;
	return false;
}

int pass_open(struct front *front, struct pass **ret)
{
	struct pass *pass = calloc(1, sizeof(*pass));
	struct rye_space_info info;
	struct rlimit limit;
	struct stat st;

	if (!pass)
		return -ENOMEM;
	pass->front = front;
	pthread_mutex_init(&pass->lock, NULL);
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
		pass->limit = limit.rlim_cur < (1u << 20) ? limit.rlim_cur : 1u << 20;
	if (rye_space_count(front->rye) > 0) {
		rye_space_get(front->rye, 0, &info);
		if (stat(info.root, &st) == 0)
			pass->dev = st.st_dev;
		pass->fine = has_fine_times(info.root);
	}
	*ret = pass;
	return 0;
}

void pass_close(struct pass *pass)
{
	if (!pass)
		return;
	pthread_mutex_destroy(&pass->lock);
	free(pass);
}

void pass_proc(int fd, char ret[PASS_PROC_MAX])
{
	snprintf(ret, PASS_PROC_MAX, "/proc/self/fd/%d", fd);
}

/* ---- which callers, which names ---- */

static bool is_kind(const char *name)
{
	for (int kind = 0; kind < RYE_KIND__MAX; kind++)
		if (strcmp(rye_kind_dir(kind), name) == 0)
			return true;
	return false;
}

/* The engine holds no items there and watches none of it. */
static bool is_unwatched(const char *name)
{
	return name[0] == '.' || strcmp(name, "__pycache__") == 0 ||
	       strcmp(name, "node_modules") == 0;
}

bool pass_zone(enum pass_zone dir, const char *name, enum pass_zone *ret)
{
	if (strcmp(name, ".env") == 0)
		return false;
	if (dir == ZONE_ROOT && (strcmp(name, "state") == 0 || strcmp(name, "secrets") == 0))
		return false;
	if (dir == ZONE_KEYS && strcmp(name, "signing") == 0)
		return false;
	if (dir == ZONE_ROOT && strcmp(name, "config") == 0)
		*ret = ZONE_CONFIG;
	else if (dir == ZONE_CONFIG && strcmp(name, "keys") == 0)
		*ret = ZONE_KEYS;
	else if (dir == ZONE_TRUSTED || (dir == ZONE_KEYS && strcmp(name, "trusted") == 0))
		*ret = ZONE_TRUSTED;
	else if (dir == ZONE_ROOT)
		*ret = is_kind(name) ? ZONE_ITEMS : ZONE_PLAIN;
	else
		*ret = dir == ZONE_PLAIN || is_unwatched(name) ? ZONE_PLAIN : ZONE_ITEMS;
	return true;
}

bool pass_pinned(enum pass_zone dir, const char *name)
{
	enum pass_zone zone;

	if (!pass_zone(dir, name, &zone))
		return true;
	return zone == ZONE_CONFIG || zone == ZONE_KEYS ||
	       (zone == ZONE_TRUSTED && dir == ZONE_KEYS);
}

int pass_may_write(fuse_req_t req, const struct node *node)
{
	struct front *front = front_of(req);
	const struct fuse_ctx *ctx = fuse_req_ctx(req);
	/* a child of a run may read spaces/, never write there (docs/security.md) */
	const struct caller_target target = { RYE_SIGN, RYE_KIND__MAX, "", true };
	char why[CALLER_WHY];
	struct caller *caller;
	int r;

	if (pass_of(node)->read_only)
		return EROFS;
	if (ctx->uid != front->uid)
		return EACCES;
	caller = caller_identify(front->callers, ctx->pid, ctx->uid);
	r = !caller					     ? EACCES :
	    caller_may(front->callers, caller, &target, why) ? 0 :
	    caller->unseen				     ? EAGAIN :
							       EACCES;
	caller_unref(caller);
	return r;
}

/* ---- nodes ---- */

void pass_drop(void *data)
{
	struct pass_node *pass = data;

	size_t n = 1;

	if (pass->wr >= 0 && pass->wr != pass->fd) {
		close(pass->wr);
		n++;
	}
	if (pass->rd >= 0 && pass->rd != pass->fd && pass->rd != pass->wr) {
		close(pass->rd);
		n++;
	}
	close(pass->fd);
	pass_names_drop(pass);
	atomic_fetch_sub(&pass->pass->fds, n);
	free(pass);
}

void pass_stat(struct front *front, const struct node *node, const struct stat *raw,
	       struct stat *ret)
{
	*ret = *raw;
	ret->st_ino = node->ino;
	if (pass_of(node)->read_only)
		ret->st_mode &= ~(mode_t)0222;
	else if (front->opt->allow_other && !S_ISLNK(raw->st_mode))
		/* only the owner may write, and the WRITE of a mapped page does not say which
		 * process made it dirty */
		ret->st_mode &= ~(mode_t)0022;
}

double pass_timeout(struct front *front, const struct node *node)
{
	const struct pass_node *pass = pass_of(node);

	if ((pass->zone == ZONE_PLAIN && !pass->beside) || rye_unwatched(front->rye, RYE_TOOL, ""))
		return 0;
	return TIMEOUT_WATCHED_S;
}

static bool pass_is_at(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

/* The pass's lock held. */
static bool pass_has_bytes(const struct pass_seen *seen, const struct stat *raw)
{
	return seen->known && !seen->young && seen->size == raw->st_size &&
	       pass_is_at(&seen->mtime, &raw->st_mtim);
}

void pass_doubt(struct node *node)
{
	struct pass_node *pass = pass_of(node);

	GUARD(&pass->pass->lock);
	pass->seen.known = pass->seen.young = true;
	atomic_store(&pass->cached, true);
}

bool pass_is_noted(struct node *node, const struct stat *raw)
{
	struct pass_node *pass = pass_of(node);

	GUARD(&pass->pass->lock);
	return pass_has_bytes(&pass->seen, raw) && pass_is_at(&pass->seen.ctime, &raw->st_ctim);
}

void pass_note_renamed(struct node *node, const struct stat *raw)
{
	struct pass_node *pass = pass_of(node);

	GUARD(&pass->pass->lock);
	if (pass_has_bytes(&pass->seen, raw))
		pass->seen.ctime = raw->st_ctim;
}

bool pass_note(struct node *node, const struct stat *raw, bool ours)
{
	struct pass_node *pass = pass_of(node);
	struct timespec now;
	int64_t age_ns;
	bool stale = false;

	if (!S_ISREG(raw->st_mode))
		return false;
	clock_gettime(CLOCK_REALTIME, &now);
	age_ns = (now.tv_sec - raw->st_mtim.tv_sec) * 1000000000ll + now.tv_nsec -
		 raw->st_mtim.tv_nsec;
	GUARD(&pass->pass->lock);
	struct pass_seen *seen = &pass->seen;

	stale = !ours && seen->known && atomic_load(&pass->cached) && !pass_has_bytes(seen, raw);
	*seen = (struct pass_seen){
		.size = raw->st_size,
		.mtime = raw->st_mtim,
		.ctime = raw->st_ctim,
		.known = true,
		.young = age_ns < YOUNG_NS && !(pass->pass->fine && raw->st_dev == pass->pass->dev),
	};
	if (stale)
		atomic_store(&pass->cached, false);
	return stale;
}
