/* SPDX-License-Identifier: MIT */
/*
 * sandbox.h: what a child may do beyond its own memory: boxes, veils, the seccomp filter, limits.
 */
#ifndef RYE_SANDBOX_SANDBOX_H
#define RYE_SANDBOX_SANDBOX_H

#include "base/json.h"

#include <errno.h>
#include <linux/filter.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

/*
 * System calls for the time between clone and exec. The child lives on borrowed memory
 * there, thread-local storage included: libc's calls would write our errno.
 */

/* The sanitizers' bookkeeping of the child's frames would stay behind in ours. */
#define CHILD_SIDE __attribute__((no_sanitize_address, no_sanitize_thread, unused))

#if defined(__x86_64__) || defined(__aarch64__)
/* The child may run beside us, not only while we wait for it. */
#define RAW_BESIDE 1

/* The kernel's answer as it comes: -errno when it fails. */
static CHILD_SIDE inline long raw_call(long nr, const long a[5])
{
#if defined(__x86_64__)
	register long r10 __asm__("r10") = a[3];
	register long r8 __asm__("r8") = a[4];
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(nr), "D"(a[0]), "S"(a[1]), "d"(a[2]), "r"(r10), "r"(r8)
			 : "rcx", "r11", "memory");
	return ret;
#else
	register long x8 __asm__("x8") = nr;
	register long x0 __asm__("x0") = a[0];
	register long x1 __asm__("x1") = a[1];
	register long x2 __asm__("x2") = a[2];
	register long x3 __asm__("x3") = a[3];
	register long x4 __asm__("x4") = a[4];

	__asm__ volatile("svc 0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4)
			 : "memory");
	return x0;
#endif
}

#else
#define RAW_BESIDE 0

static CHILD_SIDE inline long raw_call(long nr, const long a[5])
{
	long ret = syscall(nr, a[0], a[1], a[2], a[3], a[4]);

	return ret < 0 ? -errno : ret;
}
#endif

#define RAW(nr, ...) raw_call(nr, (const long[5]){ __VA_ARGS__ })

/*
 * sandbox.c: what a child may do beyond its own memory (docs/security.md). A box is a private
 * TMPDIR where one can be made, a Landlock ruleset that allows writing there and (when `write`) in the project, a veil
 * (sandbox/veil.c) over keys, trust and state, with a /dev/shm of its own, and a seccomp filter.
 * Boxes are made ahead and used again when their directories were left empty: a ruleset of ten
 * rules costs more than starting a process does.
 *
 * Lock: `lock` of struct boxes guards the list of free boxes; files are touched outside it.
 */

/* What only signed metadata opens to a tool. */
enum shown {
	SHOW_GIT = 1, /* git's configuration and hooks may be written */
	SHOW_ENV = 2, /* the project's .env and private keys are there */
	SHOW_STATE = 4, /* records of threads can be read */
	SHOW_ALL = 7,
};

struct confine {
	bool net, write; /* sockets other than AF_UNIX; writing in the project */
	unsigned char shown; /* of enum shown */
	bool calls; /* its `requires` names items it may run: the mount's files may be opened */
	bool keys; /* it manages keys for its caller: neither veil nor Landlock is in its way */
};

/* Descriptors of the veil's namespaces and of its own /dev/pts; -1: none. */
struct veil {
	int user, mnt, ipc;
	int top; /* the root directory in mnt, which a chroot has below that of the namespace */
	int pts; /* for the ruleset alone */
	uint64_t stamp; /* of what lies behind it (veil_watch_stamp) */
};

#define VEIL_NONE ((struct veil){ .user = -1, .mnt = -1, .ipc = -1, .top = -1, .pts = -1 })

struct box {
	struct confine confine;
	struct veil veil;
	int ruleset; /* Landlock; -1: not available or switched off */
	const struct sock_fprog *filter; /* NULL: the same */
	char *tmpdir; /* NULL: without confinement, or no place takes one */
	ino_t tmpdir_ino;
	char *home; /* one more directory where it may write; NULL: none */
	char *shm; /* what /dev/shm is; NULL: the real one, which tools cannot write to */
	ino_t shm_ino;
	mode_t umask;
	struct box *next;
};

struct boxes;
struct spaces;

/* What the kernel lacks is fatal here under RYE_SANDBOX_STRICT. spaces has to outlive it. */
int boxes_open(const struct rye_options *opt, const struct spaces *spaces, struct boxes **ret,
	       struct rye_err *err);
void boxes_close(struct boxes *boxes); /* removes what is left of the temporary directories */

/* A free box that is confined so, or a new one; it goes back with box_give. */
int box_take(struct boxes *boxes, struct confine confine, struct box **ret, struct rye_err *err);
/*
 * One that may write to a home of its own, too, which lies below HOMES in a directory of caches and is
 * made here where it is not; NULL: box_take.
 */
#define HOMES "/ryefs/homes/"
int box_take_home(struct boxes *boxes, struct confine confine, const char *home, struct box **ret,
		  struct rye_err *err);
/* busy: something of the run may still live; its TMPDIR stays until boxes_close. */
void box_give(struct boxes *boxes, struct box *box, bool busy);

/* Something of a call is left in its /dev/shm. */
bool box_littered(const struct box *box);
/* Are its directories still there, and all behind its veil? */
bool box_is_whole(const struct boxes *boxes, const struct box *box);

/* What a tool left deeper than this in its TMPDIR stays: a removal has to end. */
#define TMPDIR_DEPTH 64
/* A directory in a box, with what a tool left in it. */
void tmpdir_remove(const char *path);
/* An engine's own, with all that is in it: its lock's file goes last. The caller holds the lock. */
void tmpdir_drop(const char *path);
/* The lock of an engine's temporary directory, made with `make`; -1: not ours, or it is held. */
int tmpdir_lock(const char *path, bool make);
/* A new one below `place`, and its lock; NULL: it takes none. Owned by the caller. */
char *tmpdir_make(const char *place, int *ret_lock);
/* Tells of the directories of engines that were killed (fn may be NULL); how many. */
size_t tmpdir_sweep(bool drop, rye_name_fn fn, void *arg);

/* Names of what "auto" had to leave out; NULL: nothing. A new reference. */
json_t *boxes_skipped(const struct boxes *boxes);
bool boxes_veil(const struct boxes *boxes); /* do boxes have their veil? */
uint64_t boxes_stamp(const struct boxes *boxes); /* of what they are made for: veil_watch_stamp */
uint64_t boxes_places(const struct boxes *boxes); /* the same by veil_watch_places */
/*
 * A ruleset that refuses nothing; entering it makes a domain of one's own, which others of
 * the same box can neither trace nor read through /proc, nor it them. -1: no Landlock.
 */
int boxes_nest(const struct boxes *boxes);

/*
 * For a thread that starts nothing but confined processes: gives up what their bounding set lacks. True:
 * its children are born so, which saves each of them forty calls.
 */
bool boxes_bound_thread(const struct boxes *boxes);

/*
 * Raw system calls only, for the child between clone and exec. 0, or a positive errno. Behind
 * box_veil the working directory is "/". bound: by boxes_bound_thread.
 */
int box_veil(const struct box *box);
int box_enter(const struct box *box, bool bound);

/* Is this process in the cgroup that limits those of all tools? (pidlimit.c) */
bool pidlimit_held(void);

/* The filter for this machine. (seccomp.c) */
struct seccomp_program {
	struct sock_fprog program;
	struct sock_filter code[384];
	size_t n;
};
bool seccomp_build(bool net, struct seccomp_program *ret); /* false: not for this machine */

/*
 * veil.c: a mount namespace in which most is read-only, some directories look empty or are others,
 * and terminals and shared memory (System V's, too) are the run's own: what Landlock cannot take
 * out of a directory that it allows, or does not know. Made once per box and entered by each of its
 * processes before anything else confines them; root makes it as it is, others in a user namespace
 * that maps themselves alone.
 */

/* Done in this order. */
enum veil_how {
	VEIL_ANCHOR, /* no process in it can rename it */
	VEIL_FREEZE, /* read-only, and so is all beneath */
	VEIL_HIDE, /* looks empty; a file like /dev/null */
	VEIL_HOWS
};

/* Absolute paths, owned; what does not exist is left out. */
struct veil_rows {
	struct veil_row {
		enum veil_how how;
		char *path;
	} * v;
	size_t n, size;
	bool failed;
	int sys; /* why, where it failed: 0 stands for ENOMEM; E2BIG: too many */
};

struct veil_ask {
	const struct veil_rows *rows;
	const char *shm; /* a directory that becomes /dev/shm, or NULL */
	/* First of all everything becomes read-only but these; each may be NULL. */
	bool shut;
	const char *project; /* with what is mounted in it */
	const char *tmpdir, *home;
	const char *served; /* a mountpoint of ours */
	bool root; /* which could read raw disks */
};

/*
 * -EOPNOTSUPP: it would hold a mount of ours alive after its unmount, because the mounts here
 * are private and this process may not change that. Else -errno.
 */
int veil_make(const struct veil_ask *ask, struct veil *ret);

/* veil_paths.c: what that is for the spaces, the session and the machine. */
struct veil_want {
	const struct spaces *spaces; /* the first one is the project */
	struct veil_watch *watch;
	unsigned char shown;
	bool write; /* its tools may write in the project */
	bool services; /* and talk to D-Bus, tmux, docker and their like */
	const char *shm, *tmpdir, *home; /* or NULL */
	const char *served; /* the mount that they may write to, or NULL */
};
/*
 * Hides the signing keys, freezes records of threads and trust of project and user; makes the
 * directories for these where a tool could make them first. Outside the project, and in it if not
 * `write`, everything is read-only but what is named. The same errors, and -E2BIG: there is more to
 * hide than can be.
 */
int veil_spaces(const struct veil_want *want, struct veil *ret);
/* Not where a space or tmpdir lies in the machine's own: the run would not find it. */
bool veil_may_own_shm(const struct spaces *spaces, const char *tmpdir);
/* Does a file of that path lie where no box shows it? */
bool veil_hides(const struct spaces *spaces, const char *path);
/*
 * veil_watch.c: what tells when veils of before are no longer to be used. Changes when a directory that is
 * veiled comes, goes or is replaced, where else they are shown, with git's files and private files of
 * the project.
 */
struct veil_watch;
/* lasting: the engine goes on for long. NULL: no memory. spaces has to outlive it. */
struct veil_watch *veil_watch_open(const struct spaces *spaces, bool lasting);
void veil_watch_close(struct veil_watch *watch);
uint64_t veil_watch_stamp(struct veil_watch *watch);
uint64_t veil_watch_places(struct veil_watch *watch); /* of the directories alone */
void veil_done(struct veil *veil);
/* May this process make any? */
bool veil_possible(void);

/* Raw system calls only. The working directory is the namespace's root afterwards. */
CHILD_SIDE int veil_enter(const struct veil *veil);

#endif
