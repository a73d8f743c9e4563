/* SPDX-License-Identifier: MIT */
/*
 * Mount namespaces for boxes. A child that shares our memory and descriptors makes one,
 * arranges it with raw system calls, leaves descriptors of it behind and ends: nothing of the
 * namespace's making happens in a process that runs anything else. No lock, no state.
 *
 * Mounts of the host are slaves in it: what is unmounted there goes away here as well. A mount
 * of ours whose parent is private would live on in the copy after its unmount, and its daemon
 * with it: then the parent is made shared, or there is no veil.
 */
#include "sandbox/sandbox.h"

#include "mountinfo.h"
#include "scope.h"
#include "str.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* <sys/mount.h> and <linux/mount.h> do not go together in every libc. */
#define NOSUID (1ul << 1)
#define NOEXEC (1ul << 3)
#define BIND (1ul << 12)
#define RECURSIVE (1ul << 14)
#define SLAVE (1ul << 19)
#define SHARED (1ul << 20)
/* Of a directory that hides another: read-only, no set-uid, no devices, no programs. */
#define EMPTY 15ul
#define STACK_SIZE (32 << 10)
/* Mounts of ours on one machine. */
#define OURS_MAX 32

/* ---- mounts of ours that would be held alive ---- */

struct ours {
	size_t n;
	bool too_many;
	struct {
		int parent;
		char *path; /* where its parent is mounted, or NULL */
		bool shared; /* its parent is */
	} v[OURS_MAX];
};

static void ours_done(struct ours *ours)
{
	for (size_t i = 0; i < ours->n; i++)
		free(ours->v[i].path);
	*ours = (struct ours){ 0 };
}

static int add_ours(void *arg, const struct mountinfo *mount)
{
	struct ours *ours = arg;

	if (!mountinfo_is_ours(mount))
		return 0;
	if (ours->n == OURS_MAX)
		ours->too_many = true;
	else
		ours->v[ours->n++].parent = mount->parent;
	return 0;
}

static int note_parent(void *arg, const struct mountinfo *mount)
{
	struct ours *ours = arg;

	for (size_t i = 0; i < ours->n; i++) {
		if (ours->v[i].parent != mount->id)
			continue;
		free(ours->v[i].path);
		ours->v[i].path = strdup(mount->point);
		ours->v[i].shared = mount->shared;
	}
	return 0;
}

static bool read_ours(struct ours *ret)
{
	return !mountinfo_each(add_ours, ret) && !mountinfo_each(note_parent, ret) &&
	       !ret->too_many;
}

static bool all_shared(const struct ours *ours)
{
	for (size_t i = 0; i < ours->n; i++)
		if (!ours->v[i].shared)
			return false;
	return true;
}

/* Containers have private mounts; root makes them what systemd makes of all at boot. */
static void veil_share(const struct ours *ours)
{
	for (size_t i = 0; i < ours->n; i++)
		if (!ours->v[i].shared && ours->v[i].path)
			syscall(SYS_mount, NULL, ours->v[i].path, NULL, SHARED, NULL);
}

/* Will the unmount of every mount of ours reach the copies that are made now? */
static bool unmounts_arrive(void)
{
	__attribute__((cleanup(ours_done))) struct ours ours = { 0 };

	if (!read_ours(&ours))
		return false;
	if (all_shared(&ours) || geteuid())
		return all_shared(&ours);
	veil_share(&ours);
	ours_done(&ours);
	return read_ours(&ours) && all_shared(&ours);
}

/* ---- in the child ---- */

struct veil_making {
	const struct veil_ask *ask;
	bool user;
	char uid_map[48], gid_map[48];
	struct veil made;
	volatile int sys;
};

static CHILD_SIDE int veil_put(const char *path, const char *text)
{
	long fd = syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CLOEXEC, 0), n;
	size_t len = 0;

	if (fd < 0)
		return errno;
	while (text[len])
		len++;
	n = syscall(SYS_write, fd, text, len);
	syscall(SYS_close, fd);
	return n == (long)len ? 0 : EPERM;
}

static CHILD_SIDE int map_self(const struct veil_making *m)
{
	int r = veil_put("/proc/self/setgroups", "deny");

	if (!r)
		r = veil_put("/proc/self/uid_map", m->uid_map);
	return r ? r : veil_put("/proc/self/gid_map", m->gid_map);
}

static CHILD_SIDE int set_attributes(const char *path, uint64_t set, uint64_t clear, unsigned flags)
{
	struct mount_attr attr = { .attr_set = set, .attr_clr = clear };

	return syscall(SYS_mount_setattr, AT_FDCWD, path, flags, &attr, sizeof(attr)) ? errno : 0;
}

/* What is not there needs no veil. */
static CHILD_SIDE int veil_bind(const char *from, const char *to, uint64_t set, uint64_t clear)
{
	if (syscall(SYS_mount, from, to, NULL, BIND | RECURSIVE, NULL))
		return errno == ENOENT || errno == ENOTDIR ? 0 : errno;
	return set || clear ? set_attributes(to, set, clear, AT_RECURSIVE) : 0;
}

/* Its mounts as they are now; what of them is read-only stays so when they are laid down again. */
static CHILD_SIDE int copy_mounts(const char *path, int *ret)
{
	*ret = (int)syscall(SYS_open_tree, AT_FDCWD, path,
			    OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
	return *ret < 0 ? errno : 0;
}

/* A terminal of another process could be read from, and written to. */
static CHILD_SIDE int make_terminals(struct veil *made)
{
	static const char pts[] = "/dev/pts", ptmx[] = "/dev/ptmx";
	int r;

	if (syscall(SYS_mount, "devpts", pts, "devpts", NOSUID | NOEXEC,
		    "newinstance,ptmxmode=0666,mode=600"))
		return errno;
	r = veil_bind("/dev/pts/ptmx", ptmx, 0, 0);
	made->pts = (int)syscall(SYS_openat, AT_FDCWD, pts, O_PATH | O_CLOEXEC, 0);
	return made->pts < 0 ? errno : r;
}

/* Root reads a raw disk, and the signing keys on it, unless no device can be opened but these. */
static CHILD_SIDE void open_devices(void)
{
	static const char *const devices[] = { "/dev/null",   "/dev/zero",    "/dev/full",
					       "/dev/random", "/dev/urandom", "/dev/tty" };

	for (size_t i = 0; i < ARRAY_SIZE(devices); i++)
		veil_bind(devices[i], devices[i], 0, MOUNT_ATTR_NODEV);
}

static CHILD_SIDE int lay_mounts(int copy, const char *path)
{
	long r = syscall(SYS_move_mount, copy, "", AT_FDCWD, path,
			 MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_SYMLINKS);

	return r ? errno : 0;
}

/*
 * Everything but the run's own places becomes read-only: Landlock keeps files from being opened for
 * writing, but knows neither chmod nor chown, utimes, xattrs and file attributes.
 */
static CHILD_SIDE int veil_shut(const struct veil_ask *ask, struct veil *made)
{
	uint64_t attributes = MOUNT_ATTR_RDONLY | (ask->root ? MOUNT_ATTR_NODEV : 0);
	int copy = -1, r = ask->project ? copy_mounts(ask->project, &copy) : 0;

	if (!r)
		r = set_attributes("/", attributes, 0, AT_RECURSIVE);
	if (!r && ask->root)
		open_devices();
	if (!r)
		r = make_terminals(made);
	if (!r && copy >= 0)
		r = lay_mounts(copy, ask->project);
	if (copy >= 0)
		syscall(SYS_close, copy);
	if (!r && ask->tmpdir)
		r = veil_bind(ask->tmpdir, ask->tmpdir, 0, MOUNT_ATTR_RDONLY);
	if (!r && ask->home)
		r = veil_bind(ask->home, ask->home, 0, MOUNT_ATTR_RDONLY);
	/* Not by a copy, which would live on after the unmount; it may be gone by now. */
	if (!r && ask->served)
		set_attributes(ask->served, 0, MOUNT_ATTR_RDONLY, 0);
	return r;
}

/*
 * An empty file system of its own needs no directory anywhere, which may not be to be had. Sockets
 * have to go from sight: connecting to one works where all is read-only.
 */
static CHILD_SIDE int veil_hide(const char *path)
{
	if (!syscall(SYS_mount, "none", path, "tmpfs", EMPTY, "mode=555"))
		return 0;
	if (errno == ENOTDIR)
		return veil_bind("/dev/null", path, MOUNT_ATTR_RDONLY, 0);
	return errno == ENOENT || errno == EACCES ? 0 : errno;
}

static CHILD_SIDE int veil_lay(const struct veil_row *row)
{
	if (row->how == VEIL_HIDE)
		return veil_hide(row->path);
	return veil_bind(row->path, row->path, row->how == VEIL_FREEZE ? MOUNT_ATTR_RDONLY : 0, 0);
}

static CHILD_SIDE int veil_arrange(struct veil_making *m)
{
	const struct veil_ask *ask = m->ask;
	int r = syscall(SYS_mount, NULL, "/", NULL, RECURSIVE | SLAVE, NULL) ? errno : 0;

	if (!r && ask->shut)
		r = veil_shut(ask, &m->made);
	for (int how = 0; how < VEIL_HOWS; how++)
		for (size_t i = 0; !r && i < ask->rows->n; i++)
			if ((int)ask->rows->v[i].how == how)
				r = veil_lay(&ask->rows->v[i]);
	if (!r && ask->shm)
		r = veil_bind(ask->shm, "/dev/shm", MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV,
			      MOUNT_ATTR_RDONLY);
	return r;
}

static CHILD_SIDE int leave_behind(const char *path, int *ret)
{
	long fd = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);

	if (fd < 0)
		return errno;
	*ret = (int)fd;
	return 0;
}

static CHILD_SIDE int make_child(void *arg)
{
	struct veil_making *m = arg;
	int r = m->user ? map_self(m) : 0;

	if (!r)
		r = veil_arrange(m);
	if (!r && m->user)
		r = leave_behind("/proc/self/ns/user", &m->made.user);
	if (!r)
		r = leave_behind("/proc/self/ns/ipc", &m->made.ipc);
	if (!r)
		r = leave_behind("/proc/self/ns/mnt", &m->made.mnt);
	/* only root gets a namespace in a chroot */
	if (!r && !m->user)
		r = leave_behind("/", &m->made.top);
	m->sys = r;
	syscall(SYS_exit_group, 0);
	__builtin_unreachable();
}

/* See spawn.c. */
#ifdef __SANITIZE_THREAD__
int __clone(int (*fn)(void *arg), void *stack, int flags, void *arg, ...);
#define clone __clone
#endif

static int run_maker(struct veil_making *m)
{
	char stack[STACK_SIZE] __attribute__((aligned(16)));
	/* No signal at its end: this function waits for it. */
	int flags = CLONE_VM | CLONE_VFORK | CLONE_FILES | CLONE_NEWNS | CLONE_NEWIPC;
	pid_t pid;

	{
		HOLD_SIGNALS();
		pid = clone(make_child, stack + STACK_SIZE, flags | (m->user ? CLONE_NEWUSER : 0),
			    m);
		if (pid < 0)
			m->sys = errno;
	}
	while (pid > 0 && waitpid(pid, NULL, __WCLONE) < 0 && errno == EINTR)
		;
	return m->sys;
}

/* ---- in the parent ---- */

int veil_make(const struct veil_ask *ask, struct veil *ret)
{
	struct veil_making m = { .ask = ask, .user = geteuid() != 0, .made = VEIL_NONE };
	int r;

	if (!unmounts_arrive())
		return -EOPNOTSUPP;
	snprintf(m.uid_map, sizeof(m.uid_map), "%u %u 1", geteuid(), geteuid());
	snprintf(m.gid_map, sizeof(m.gid_map), "%u %u 1", getegid(), getegid());
	r = run_maker(&m);
	if (r)
		veil_done(&m.made);
	else
		*ret = m.made;
	return -r;
}

void veil_done(struct veil *veil)
{
	if (veil->user >= 0)
		close(veil->user);
	if (veil->mnt >= 0)
		close(veil->mnt);
	if (veil->ipc >= 0)
		close(veil->ipc);
	if (veil->top >= 0)
		close(veil->top);
	if (veil->pts >= 0)
		close(veil->pts);
	*veil = VEIL_NONE;
}

bool veil_possible(void)
{
	/* all that a box will want of this kernel */
	const struct veil_rows none = { 0 };
	const struct veil_ask nothing = { .rows = &none, .shut = true, .root = geteuid() == 0 };
	struct veil veil = VEIL_NONE;

	if (veil_make(&nothing, &veil))
		return false;
	veil_done(&veil);
	return true;
}

CHILD_SIDE int veil_enter(const struct veil *veil)
{
	long r = 0;

	if (veil->user >= 0)
		r = RAW(SYS_setns, veil->user, CLONE_NEWUSER);
	if (r >= 0 && veil->ipc >= 0)
		r = RAW(SYS_setns, veil->ipc, CLONE_NEWIPC);
	if (r >= 0 && veil->mnt >= 0)
		r = RAW(SYS_setns, veil->mnt, CLONE_NEWNS);
	/* that led to the namespace's own root, out of a chroot */
	if (r >= 0 && veil->top >= 0)
		r = RAW(SYS_fchdir, veil->top);
	if (r >= 0 && veil->top >= 0)
		r = RAW(SYS_chroot, (long)".");
	return r < 0 ? (int)-r : 0;
}
