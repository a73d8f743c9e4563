/* SPDX-License-Identifier: MIT */
/*
 * pass_dir.c - directories below spaces/: lookup, listing, and the spaces' own directories.
 *
 * Owns no state: a listing is read from the disk's own directory at the disk's own offsets, so
 * a reader resumes wherever it stopped.
 */
#include "pass/pass.h"

#include "core/enter.h"
#include "core/notify.h"
#include "core/reply.h"
#include "pass/pass_inner.h"
#include "scope.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>

/* One read of the disk's directory; the kernel asks for as much at once. */
#define DENTS_BYTES 32768

struct pass_dir_later {
	fuse_req_t req;
	struct fuse_entry_param entry;
};

static void reply_later(void *arg)
{
	auto_free struct pass_dir_later *later = arg;

	enter_reply(later->req, 0, &later->entry, NULL);
}

void pass_reply_entry(fuse_req_t req, struct pass_found *found)
{
	struct front *front = front_of(req);
	struct pass_dir_later *later;

	if (!found->stale) {
		enter_reply(req, 0, &found->entry, NULL);
		return;
	}
	later = malloc(sizeof(*later));
	if (later)
		*later = (struct pass_dir_later){ req, found->entry };
	if (later && notify_inode_then(front->notify, found->node, 0, reply_later, later))
		return;
	free(later);
	pass_doubt(found->node);
	node_forget(front->nodes, found->node, 1);
	reply_errno(req, ENOMEM);
}

/* A lookup that found no descriptor left is tried again when some may be free. */
struct pass_dir_again {
	fuse_req_t req;
	int tries; /* that are left */
	struct node *dir;
	char name[TREE_NAME_MAX + 1];
};

static void pass_dir_look_up(fuse_req_t req, struct node *dir, const char *name, int tries);

static void look_up_again(void *arg)
{
	auto_free struct pass_dir_again *again = arg;
	auto_node struct node *dir = again->dir;

	pass_dir_look_up(again->req, dir, again->name, again->tries);
}

static void wait_for_fds(fuse_req_t req, struct node *dir, const char *name, int tries)
{
	struct pass_dir_again *again = malloc(sizeof(*again));

	if (!again) {
		reply_errno(req, ENOMEM);
		return;
	}
	again->req = req;
	again->tries = tries;
	again->dir = node_ref(dir);
	snprintf(again->name, sizeof(again->name), "%s", name);
	pass_again(front_of(req), dir, look_up_again, again);
}

static void pass_dir_look_up(fuse_req_t req, struct node *dir, const char *name, int tries)
{
	struct pass_found found;
	int sys = pass_find(front_of(req), dir, name, &found);

	if (tries && (sys == EMFILE || sys == ENFILE)) {
		wait_for_fds(req, dir, name, tries - 1);
	} else if (sys == ENOENT) {
		/* a negative entry lives as long as a positive one */
		struct fuse_entry_param none;

		enter_nothing(&none, found.entry.entry_timeout);
		reply_entry(req, &none);
	} else if (sys) {
		reply_errno(req, sys);
	} else {
		pass_reply_entry(req, &found);
	}
}

void pass_lookup(fuse_req_t req, struct node *dir, const char *name)
{
	pass_dir_look_up(req, dir, name, PASS_TRIES);
}

int pass_enter(fuse_req_t req, struct node *dir, const char *name, struct fuse_entry_param *ret)
{
	struct front *front = front_of(req);
	struct pass_found found;
	int sys = pass_find(front, dir, name, &found);

	if (sys == 0 && found.stale && !notify_inode(front->notify, found.node, 0))
		pass_doubt(found.node);
	*ret = found.entry;
	return sys;
}

/* ---- listing ---- */

struct pass_dir_out {
	fuse_req_t req;
	struct node *dir;
	char *bytes;
	size_t len, size;
	bool plus, full;
};

static void pass_dir_put(struct pass_dir_out *out, const struct dirent64 *d,
			 const struct fuse_entry_param *entry)
{
	size_t left = out->size - out->len, used;
	char *at = out->bytes + out->len;

	if (out->plus)
		used = fuse_add_direntry_plus(out->req, at, left, d->d_name, entry, d->d_off);
	else
		used = fuse_add_direntry(out->req, at, left, d->d_name, &entry->attr, d->d_off);
	if (used > left)
		out->full = true;
	else
		out->len += used;
}

static void put_dirent(struct pass_dir_out *out, const struct dirent64 *d)
{
	struct pass_node *dir = pass_of(out->dir);
	struct fuse_entry_param entry = {
		.attr = { .st_ino = d->d_ino, .st_mode = (mode_t)d->d_type << 12 },
	};
	size_t need = fuse_add_direntry_plus(out->req, NULL, 0, d->d_name, NULL, 0);
	bool dots = strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0;
	enum pass_zone zone;

	if (!dots && !pass_zone(dir->zone, d->d_name, &zone))
		return;
	if (out->plus && need > out->size - out->len) {
		out->full = true;
		return;
	}
	/* with few descriptors left the answer holds names only; the kernel sends a LOOKUP for what
	 * it needs */
	if (out->plus && !dots && !pass_short(dir->pass)) {
		struct fuse_entry_param entered;

		if (pass_enter(out->req, out->dir, d->d_name, &entered) == 0 && entered.ino)
			entry = entered;
	}
	pass_dir_put(out, d, &entry);
}

static int pass_dir_fill(struct pass_dir_out *out, int fd)
{
	char dents[DENTS_BYTES] __attribute__((aligned(__alignof__(struct dirent64))));

	while (!out->full) {
		ssize_t n = getdents64(fd, dents, sizeof(dents));
		ssize_t at = 0;

		if (n < 0)
			return out->len ? 0 : errno;
		while (at < n && !out->full) {
			struct dirent64 *d = (struct dirent64 *)(dents + at);

			put_dirent(out, d);
			at += d->d_reclen;
		}
		if (n == 0)
			break;
	}
	return 0;
}

void pass_readdir(fuse_req_t req, struct node *node, size_t size, off_t off, bool plus)
{
	auto_free char *bytes = malloc(size);
	auto_close int fd =
		openat(pass_of(node)->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOATIME);
	struct pass_dir_out out = { req, node, bytes, 0, size, plus, false };
	int sys = 0;

	if (fd < 0 && errno == EPERM)
		fd = openat(pass_of(node)->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || !bytes || (off && lseek(fd, off, SEEK_SET) < 0))
		sys = bytes ? errno : ENOMEM;
	else
		sys = pass_dir_fill(&out, fd);
	if (sys)
		reply_errno(req, sys);
	else
		reply_bytes(req, out.bytes, out.len);
}

/* ---- spaces/project, spaces/user, spaces/system/BUNDLE ---- */

static int space_index(struct front *front, const struct tree_key *key, struct rye_space_info *ret)
{
	int n = rye_space_count(front->rye);

	for (int i = 0; i < n; i++) {
		rye_space_get(front->rye, i, ret);
		if ((int)ret->type == key->kind && ret->fd >= 0 &&
		    (key->kind != RYE_SYSTEM ||
		     (ret->bundle && strcmp(ret->bundle, key->text) == 0)))
			return i;
	}
	return -1;
}

int enter_space(fuse_req_t req, const struct tree_key *key, struct fuse_entry_param *ret)
{
	struct front *front = front_of(req);
	struct pass_node root = { .zone = ZONE_ROOT };
	struct node above = { .data = &root };
	struct rye_space_info info;
	struct pass_found found;
	int fd, sys;

	root.space = space_index(front, key, &info);
	if (root.space < 0)
		return enter_nothing(ret, 0);
	root.read_only = info.type == RYE_SYSTEM || front->opt->spaces == SPACES_RO;
	fd = fcntl(info.fd, F_DUPFD_CLOEXEC, 0);
	if (fd < 0)
		return errno;
	sys = pass_adopt(front, &above, fd, ZONE_ROOT, &found);
	if (sys == 0)
		*ret = found.entry;
	return sys;
}
