/* SPDX-License-Identifier: MIT */
/*
 * Landlock rulesets, veils and private temporary directories (docs/security.md). Landlock is used
 * for writing only: reading the system is what tools are for, and a rule cannot take a directory
 * out of what another rule allows; that is what the veil does. `lock` of struct boxes guards the
 * list of free boxes alone. box_enter runs in the child before exec: raw calls, no memory, no
 * locks.
 */
#include "sandbox/sandbox.h"

#include "base/io.h"
#include "mountinfo.h"
#include "sandbox/sandbox_inner.h"
#include "scope.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/prctl.h>

/* Rights that newer kernels know and this machine's header may not. */
#define ACCESS_REFER (1ULL << 13)
#define ACCESS_TRUNCATE (1ULL << 14)
/*
 * The first version of Landlock whose domains keep signals in, and sockets that have a name but no
 * file; the flags for that.
 */
#define SIGNALS_ABI 6
#define SCOPE_ABSTRACT (1ULL << 0)
#define SCOPE_SIGNAL (1ULL << 1)
#define ACCESS_FILE (LANDLOCK_ACCESS_FS_WRITE_FILE | ACCESS_TRUNCATE)
#define ACCESS_DEVICES (LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_BLOCK)
/* Free boxes of one kind that are worth keeping; each is a descriptor and a directory. */
#define BOXES_KEPT 16

/* struct landlock_ruleset_attr as newer headers have it. */
struct ruleset_attr {
	uint64_t fs, net, scope;
};

struct boxes {
	pthread_mutex_t lock; /* free, nfree, base */
	struct box *free;
	size_t nfree;
	_Atomic size_t made;
	char *base; /* /tmp/ryefs-XXXXXX, made with the first box and whenever it has gone */
	ino_t base_ino;
	int base_lock; /* held as long as the engine lives (tmpdir_sweep.c) */
	char *project, *mount; /* mount: NULL without one */
	const struct spaces *spaces;
	struct veil_watch *watch; /* of what veils lie over */
	bool veiled; /* this process can make veils */
	bool strict;
	_Atomic bool bare; /* a box had to do without its veil */
	_Atomic bool placeless; /* a box had to do without its TMPDIR */
	mode_t umask;
	uint64_t rights; /* that this kernel can refuse; 0: no Landlock */
	uint64_t scope; /* what else it can keep in */
	bool on;
	int nest; /* ruleset of boxes_nest; -1: none */
	struct pidlimit *pids; /* entered before the first box is given; NULL: none */
	json_t *skipped;
	struct seccomp_program filters[2]; /* without and with network; frozen */
	bool filtered;
};

/* An older kernel takes the first member alone. */
static int create_ruleset(const struct ruleset_attr *attr)
{
	return (int)syscall(SYS_landlock_create_ruleset, attr,
			    attr->scope ? sizeof(*attr) : sizeof(attr->fs), 0);
}

static long landlock_abi(void)
{
	return syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
}

static uint64_t known_rights(long abi)
{
	uint64_t rights = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |
			  LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_CHAR |
			  LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |
			  LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO |
			  LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM;

	if (abi < 1)
		return 0;
	return rights | (abi >= 2 ? ACCESS_REFER : 0) | (abi >= 3 ? ACCESS_TRUNCATE : 0);
}

static int note_skipped(struct boxes *boxes, struct rye_err *err)
{
	const char *missing[3];
	size_t n = 0;

	if (!boxes->rights)
		missing[n++] = "landlock";
	if (!boxes->filtered)
		missing[n++] = "seccomp";
	if (!boxes->veiled)
		missing[n++] = "mount namespaces";
	if (n && boxes->strict)
		return rye_fail(err, RYE_UNSUPPORTED,
				"sandbox=strict: this kernel has no %s for us; sandbox=auto does "
				"without",
				missing[0]);
	boxes->skipped = n ? json_array() : NULL;
	for (size_t i = 0; i < n; i++)
		json_array_append_new(boxes->skipped, json_string(missing[i]));
	return 0;
}

static int sandbox_add(int ruleset, int fd, uint64_t rights)
{
	struct landlock_path_beneath_attr rule = { .allowed_access = rights, .parent_fd = fd };

	return (int)syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
}

/* A path that is not there needs no rule. */
static int sandbox_allow(int ruleset, const char *path, uint64_t rights, struct rye_err *err)
{
	auto_close int fd = open(path, O_PATH | O_CLOEXEC);

	if (fd < 0 && (errno == ENOENT || errno == EACCES))
		return 0;
	if (fd < 0 || sandbox_add(ruleset, fd, rights))
		return rye_fail_sys(err, errno, "sandbox: cannot allow %s", path);
	return 0;
}

/* /dev/ptmx is a mount of its own behind the veil: no rule for /dev/pts reaches it. */
static int allow_terminals(int ruleset, int pts, uint64_t rights, struct rye_err *err)
{
	auto_close int ptmx = openat(pts, "ptmx", O_PATH | O_CLOEXEC);

	if (ptmx < 0 || sandbox_add(ruleset, pts, rights) || sandbox_add(ruleset, ptmx, rights))
		return rye_fail_sys(err, errno, "sandbox: cannot allow terminals");
	return 0;
}

/* A ruleset has to handle something: block devices may be made everywhere, as far as it goes. */
static int make_nest(uint64_t scope)
{
	const struct ruleset_attr attr = { .fs = LANDLOCK_ACCESS_FS_MAKE_BLOCK, .scope = scope };
	int fd = create_ruleset(&attr);

	if (fd >= 0 && sandbox_allow(fd, "/", LANDLOCK_ACCESS_FS_MAKE_BLOCK, NULL)) {
		close(fd);
		fd = -1;
	}
	if (fd >= 0)
		fcntl(fd, F_SETFD, FD_CLOEXEC);
	return fd;
}

int boxes_nest(const struct boxes *boxes)
{
	return boxes->nest;
}

int boxes_open(const struct rye_options *opt, const struct spaces *spaces, struct boxes **ret,
	       struct rye_err *err)
{
	struct boxes *boxes = calloc(1, sizeof(*boxes));
	int r = 0;

	if (!boxes)
		return rye_fail_sys(err, ENOMEM, "sandbox");
	pthread_mutex_init(&boxes->lock, NULL);
	boxes->on = opt->sandbox != RYE_SANDBOX_OFF;
	boxes->strict = opt->sandbox == RYE_SANDBOX_STRICT;
	boxes->spaces = spaces;
	boxes->nest = boxes->base_lock = -1;
	boxes->project = strdup(opt->project);
	boxes->mount = opt->mountpoint ? strdup(opt->mountpoint) : NULL;
	boxes->umask = opt->umask;
	/* What a verb starts ends with it, and the kernel's tens of milliseconds would be seen. */
	boxes->pids = opt->scan ? pidlimit_start() : NULL;
	if (boxes->on) {
		boxes->rights = known_rights(landlock_abi());
		boxes->scope = landlock_abi() >= SIGNALS_ABI ? SCOPE_SIGNAL : 0;
		boxes->nest = boxes->rights ? make_nest(boxes->scope) : -1;
		boxes->filtered = seccomp_build(false, &boxes->filters[0]) &&
				  seccomp_build(true, &boxes->filters[1]);
		boxes->veiled = veil_possible();
		boxes->watch = boxes->veiled ? veil_watch_open(spaces, opt->scan) : NULL;
		r = boxes->veiled && !boxes->watch ? rye_fail_sys(err, ENOMEM, "sandbox") :
						     note_skipped(boxes, err);
	}
	if (r) {
		boxes_close(boxes);
		return r;
	}
	*ret = boxes;
	return 0;
}

void tmpdir_remove(const char *path)
{
	if (rmdir(path) < 0 && errno == ENOTEMPTY)
		io_remove_tree(AT_FDCWD, path, TMPDIR_DEPTH);
}

/*
 * Is that still the private directory that was made? A cleaner of /tmp may have removed it, and
 * another user may then have made something else under that name.
 */
static bool is_ours(const char *path, ino_t ino)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_ino == ino &&
	       st.st_uid == geteuid() && !(st.st_mode & 077);
}

static void box_free(struct box *box)
{
	if (box->tmpdir && is_ours(box->tmpdir, box->tmpdir_ino))
		tmpdir_remove(box->tmpdir);
	if (box->shm && is_ours(box->shm, box->shm_ino))
		tmpdir_remove(box->shm);
	if (box->ruleset >= 0)
		close(box->ruleset);
	veil_done(&box->veil);
	free(box->tmpdir);
	free(box->shm);
	free(box->home);
	free(box);
}

void boxes_close(struct boxes *boxes)
{
	if (!boxes)
		return;
	while (boxes->free) {
		struct box *box = boxes->free;

		boxes->free = box->next;
		box_free(box);
	}
	if (boxes->base && is_ours(boxes->base, boxes->base_ino))
		tmpdir_drop(boxes->base);
	if (boxes->base_lock >= 0)
		close(boxes->base_lock);
	if (boxes->nest >= 0)
		close(boxes->nest);
	pidlimit_close(boxes->pids);
	veil_watch_close(boxes->watch);
	json_decref(boxes->skipped);
	pthread_mutex_destroy(&boxes->lock);
	free(boxes->base);
	free(boxes->project);
	free(boxes->mount);
	free(boxes);
}

json_t *boxes_skipped(const struct boxes *boxes)
{
	bool bare = boxes->bare, placeless = boxes->placeless;
	json_t *list = boxes->skipped	 ? json_copy(boxes->skipped) :
		       bare || placeless ? json_array() :
					   NULL;

	if (bare)
		json_array_append_new(list, json_string("mount namespaces"));
	if (placeless)
		json_array_append_new(list, json_string("temporary directories"));
	return list;
}

bool boxes_veil(const struct boxes *boxes)
{
	return boxes->veiled && !boxes->bare;
}

uint64_t boxes_stamp(const struct boxes *boxes)
{
	return boxes->watch ? veil_watch_stamp(boxes->watch) : 0;
}

uint64_t boxes_places(const struct boxes *boxes)
{
	return boxes->watch ? veil_watch_places(boxes->watch) : 0;
}

static int make_ruleset(const struct boxes *boxes, struct box *box, struct rye_err *err)
{
	static const char *const devices[] = { "/dev/null",   "/dev/zero",    "/dev/full",
					       "/dev/random", "/dev/urandom", "/dev/tty",
					       "/dev/ptmx" };
	const struct ruleset_attr attr = {
		.fs = boxes->rights,
		/* a session's services listen there, too */
		.scope = boxes->scope | (boxes->scope && !box->confine.net ? SCOPE_ABSTRACT : 0),
	};
	/* A tool of root that may make a device node reaches the whole disk by it. */
	uint64_t rights = boxes->rights & ~ACCESS_DEVICES;
	int r = 0, fd;

	fd = create_ruleset(&attr);
	if (fd < 0)
		return rye_fail_sys(err, errno, "sandbox: landlock");
	fcntl(fd, F_SETFD, FD_CLOEXEC);
	box->ruleset = fd;
	for (size_t i = 0; !r && i < ARRAY_SIZE(devices); i++)
		r = sandbox_allow(fd, devices[i], boxes->rights & ACCESS_FILE, err);
	if (!r && box->veil.pts < 0)
		r = sandbox_allow(fd, "/dev/pts", boxes->rights & ACCESS_FILE, err);
	if (!r && box->veil.pts >= 0)
		r = allow_terminals(fd, box->veil.pts, boxes->rights & ACCESS_FILE, err);
	if (!r && box->shm)
		r = sandbox_allow(fd, box->shm, rights, err);
	if (!r && box->tmpdir)
		r = sandbox_allow(fd, box->tmpdir, rights, err);
	if (!r && box->home)
		r = sandbox_allow(fd, box->home, rights, err);
	if (!r && box->confine.write)
		r = sandbox_allow(fd, boxes->project, rights, err);
	/* What it may do there the mount decides; while nothing is mounted it is any directory. */
	if (!r && box->confine.calls && boxes->mount && io_is_fuse(boxes->mount))
		r = sandbox_allow(fd, boxes->mount, boxes->rights & ACCESS_FILE, err);
	return r;
}

/* The first place that takes one: what confines the calling process may leave it any of them. */
static char *make_boxes_dir(int *ret_lock, struct rye_err *err)
{
	const char *const places[] = { getenv("TMPDIR"), "/tmp", "/dev/shm" };

	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		char *path = places[i] && *places[i] == '/' ? tmpdir_make(places[i], ret_lock) :
							      NULL;

		if (path)
			return path;
	}
	rye_fail(err, RYE_UNSUPPORTED,
		 "sandbox=strict: no temporary directory can be made in $TMPDIR, /tmp or /dev/shm; "
		 "sandbox=auto does without");
	return NULL;
}

/* A new directory for all boxes, unless another thread has replaced the one that is gone. */
static char *replace_base(struct boxes *boxes, const char *gone, struct rye_err *err)
{
	auto_close int lock = -1;
	auto_free char *spare = make_boxes_dir(&lock, err);
	char *base = NULL;
	struct stat st;

	if (!spare)
		return NULL;
	if (lstat(spare, &st) < 0) {
		rye_fail_sys(err, errno, "cannot make a temporary directory %s", spare);
		return NULL;
	}
	{
		GUARD(&boxes->lock);
		if (!boxes->base || (gone && !strcmp(boxes->base, gone))) {
			free(boxes->base);
			boxes->base = steal(&spare);
			boxes->base_ino = st.st_ino;
			if (boxes->base_lock >= 0)
				close(boxes->base_lock);
			boxes->base_lock = steal_fd(&lock);
		}
		base = strdup(boxes->base);
	}
	if (spare)
		tmpdir_remove(spare);
	if (!base)
		rye_fail_sys(err, ENOMEM, "sandbox");
	return base;
}

/* The directory of all boxes, made with the first box and whenever it has gone; to be freed. */
static char *find_base(struct boxes *boxes, struct rye_err *err)
{
	auto_free char *base = NULL;
	ino_t ino = 0;

	{
		GUARD(&boxes->lock);
		base = boxes->base ? strdup(boxes->base) : NULL;
		ino = boxes->base_ino;
	}
	if (base && is_ours(base, ino))
		return steal(&base);
	return replace_base(boxes, base, err);
}

/* A directory of our own beside others; *ret is the caller's. */
static int sandbox_make_dir(struct boxes *boxes, char **ret, ino_t *ret_ino, struct rye_err *err)
{
	auto_buf struct rye_buf path = RYE_BUF_INIT;
	auto_free char *base = find_base(boxes, err);
	struct stat st;

	if (!base)
		return err ? -(int)err->code : -RYE_IO;
	buf_addf(&path, "%s/%zu", base, (size_t)++boxes->made);
	if (path.failed || mkdir(path.data, 0700) < 0 || lstat(path.data, &st) < 0)
		return rye_fail_sys(err, errno, "cannot make a temporary directory");
	*ret = buf_steal(&path);
	*ret_ino = st.st_ino;
	return 0;
}

/* Where it can be had nowhere, only strict wants it. */
static int box_make_tmpdir(struct boxes *boxes, struct box *box, struct rye_err *err)
{
	struct rye_err why = { 0 };
	int r = sandbox_make_dir(boxes, &box->tmpdir, &box->tmpdir_ino, &why);

	if (r == -RYE_UNSUPPORTED && !boxes->strict) {
		boxes->placeless = true;
		return 0;
	}
	if (r && err)
		*err = why;
	return r;
}

/* ---- the veil ---- */

/* Is a file system of ours mounted there, and not read-only by its owner's wish? */
static bool is_served(const char *mount)
{
	struct mountinfo info;
	auto_free char *line = mount ? mountinfo_find(mount, &info) : NULL;

	return line && mountinfo_is_ours(&info) && !info.read_only;
}

static int make_veil(struct boxes *boxes, struct box *box, struct rye_err *err)
{
	struct veil_want want = { .spaces = boxes->spaces,
				  .watch = boxes->watch,
				  .shown = box->confine.shown,
				  .write = box->confine.write,
				  .services = box->confine.net };
	int r = 0;

	if (box->confine.calls && is_served(boxes->mount))
		want.served = boxes->mount;
	if (box->tmpdir && veil_may_own_shm(boxes->spaces, box->tmpdir))
		r = sandbox_make_dir(boxes, &box->shm, &box->shm_ino, err);
	if (r)
		return r;
	want.shm = box->shm;
	want.tmpdir = box->tmpdir;
	want.home = box->home;
	r = veil_spaces(&want, &box->veil);
	if (!r)
		return 0;
	if (box->shm)
		rmdir(box->shm);
	free(steal(&box->shm));
	if (r == -E2BIG)
		return rye_fail(err, RYE_TOO_BIG,
				"sandbox: the project has more private files than can be hidden "
				"from a tool (%d files like .env, in %d directories): remove some, "
				"or sign the tool with `requires: [env.read]`",
				PRIVATE_FILES, PRIVATE_DIRS);
	if (r == -VEIL_GITS)
		return rye_fail(
			err, RYE_TOO_BIG,
			"sandbox: the project has more than %d repositories of git, which a "
			"tool with fs.write could have git run programs in: sign the tool with "
			"`requires: [git.config]`, or mount one of them",
			PRIVATE_GITS);
	if (boxes->strict || r != -EOPNOTSUPP)
		return rye_fail_sys(err, -r, "sandbox: cannot make a mount namespace");
	boxes->bare = true;
	return 0;
}

static struct box *take_free(struct boxes *boxes, struct confine confine)
{
	GUARD(&boxes->lock);
	for (struct box **at = &boxes->free; *at; at = &(*at)->next) {
		struct box *box = *at;

		if (memcmp(&box->confine, &confine, sizeof(confine)))
			continue;
		*at = box->next;
		boxes->nfree--;
		box->next = NULL;
		return box;
	}
	return NULL;
}

bool box_is_whole(const struct boxes *boxes, const struct box *box)
{
	return (!box->tmpdir || is_ours(box->tmpdir, box->tmpdir_ino)) &&
	       (!box->shm || is_ours(box->shm, box->shm_ino)) &&
	       (box->veil.mnt < 0 || box->veil.stamp == boxes_stamp(boxes));
}

/* "CACHE/ryefs/homes/NAME": no link leads out of the person's cache. */
static int make_home(struct box *box, const char *home, struct rye_err *err)
{
	const char *below = strstr(home, HOMES);
	auto_free char *cache = below ? strndup(home, (size_t)(below - home)) : NULL;
	auto_close int fd = -1;

	box->home = strdup(home);
	if (!cache || !box->home)
		return rye_fail_sys(err, ENOMEM, "sandbox");
	mkdir(cache, 0700);
	fd = io_open_dir(cache, below + 1, true);
	return fd < 0 ? rye_fail_sys(err, -fd, "cannot make %s", home) : 0;
}

static int box_make(struct boxes *boxes, struct confine confine, const char *home, struct box **ret,
		    struct rye_err *err)
{
	struct box *box = calloc(1, sizeof(*box));
	int r = 0;

	if (!box)
		return rye_fail_sys(err, ENOMEM, "sandbox");
	box->confine = confine;
	box->umask = boxes->umask;
	box->ruleset = -1;
	box->veil = VEIL_NONE;
	if (boxes->on) {
		box->filter = boxes->filtered ? &boxes->filters[confine.net].program : NULL;
		r = box_make_tmpdir(boxes, box, err);
	}
	if (!r && home)
		r = make_home(box, home, err);
	if (!r && boxes->veiled && !confine.keys)
		r = make_veil(boxes, box, err);
	if (!r && boxes->rights && !confine.keys)
		r = make_ruleset(boxes, box, err);
	if (r) {
		box_free(box);
		return r;
	}
	*ret = box;
	return 0;
}

int box_take(struct boxes *boxes, struct confine confine, struct box **ret, struct rye_err *err)
{
	struct box *box;

	pidlimit_wait(boxes->pids);
	box = take_free(boxes, confine);
	while (box && !box_is_whole(boxes, box)) {
		box_free(box);
		box = take_free(boxes, confine);
	}
	*ret = box;
	return box ? 0 : box_make(boxes, confine, NULL, ret, err);
}

int box_take_home(struct boxes *boxes, struct confine confine, const char *home, struct box **ret,
		  struct rye_err *err)
{
	if (!home)
		return box_take(boxes, confine, ret, err);
	pidlimit_wait(boxes->pids);
	return box_make(boxes, confine, home, ret, err);
}

static bool is_empty(const char *path)
{
	auto_dir DIR *dir = opendir(path);
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			return false;
	return dir;
}

bool box_littered(const struct box *box)
{
	return box->shm && !is_empty(box->shm);
}

void box_give(struct boxes *boxes, struct box *box, bool busy)
{
	bool kept = false;

	if (!box)
		return;
	if (busy) {
		free(steal(&box->tmpdir));
		free(steal(&box->shm));
		box_free(box);
		return;
	}
	if (!box->home && box->tmpdir && is_empty(box->tmpdir) && !box_littered(box)) {
		GUARD(&boxes->lock);
		kept = boxes->nfree < BOXES_KEPT;
		if (kept) {
			box->next = boxes->free;
			boxes->free = box;
			boxes->nfree++;
		}
	}
	if (!kept)
		box_free(box);
}

/* What a root's tool needs for the files of others in its project, and nothing besides. */
#define POWERS_KEPT (1u << CAP_CHOWN | 1u << CAP_DAC_OVERRIDE | 1u << CAP_FOWNER)
/* They have at most so many numbers; behind its own last one the kernel says EINVAL. */
#define POWERS_MAX 64

/*
 * What exec gives to root comes from the bounding set. A root without CAP_SETPCAP may not change it
 * (EPERM): no_new_privs keeps it to what is permitted here. True: nothing else is left in it.
 */
static CHILD_SIDE bool bound_powers(void)
{
	long r = 0;

	for (unsigned i = 0; i < POWERS_MAX && r >= 0; i++)
		if (i >= 32 || !(POWERS_KEPT >> i & 1))
			r = RAW(SYS_prctl, PR_CAPBSET_DROP, i);
	return r >= 0 || r == -EINVAL;
}

bool boxes_bound_thread(const struct boxes *boxes)
{
	return boxes->on && bound_powers();
}

/*
 * Powers over the machine and over other processes reach around the rest. What exec hands on comes
 * from the inheritable set.
 */
static CHILD_SIDE long drop_powers(bool bound)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { { 0 } };
	long r;

	if (!bound)
		bound_powers();
	r = RAW(SYS_capget, (long)&head, (long)data);
	data[0].permitted &= POWERS_KEPT;
	data[0].effective &= POWERS_KEPT;
	data[1].permitted = data[1].effective = 0;
	data[0].inheritable = data[1].inheritable = 0;
	return r < 0 ? r : RAW(SYS_capset, (long)&head, (long)data);
}

CHILD_SIDE int box_veil(const struct box *box)
{
	return veil_enter(&box->veil);
}

CHILD_SIDE int box_enter(const struct box *box, bool bound)
{
	long r = 0;

	RAW(SYS_umask, box->umask);
	if (box->ruleset < 0 && !box->filter)
		return 0;
	r = RAW(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1);
	if (!r && box->ruleset >= 0)
		r = RAW(SYS_landlock_restrict_self, box->ruleset);
	if (!r)
		/* a process that enters a user namespace has all of them there, in the bounding set too */
		r = drop_powers(bound && box->veil.user < 0);
	if (!r && box->filter)
		r = RAW(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, (long)box->filter);
	return (int)-r;
}
