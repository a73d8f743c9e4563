/* SPDX-License-Identifier: MIT */
/*
 * proc.c - reads and takes apart files of /proc/PID and /proc/sys.
 *
 * No state, no lock. The front calls it for every process that looks up a control file, so
 * it counts system calls: a whole cage costs 22 µs where it is opened for one look, 15 by kept
 * descriptors. Nothing here trusts a name:
 * a process chooses its comm, which may hold spaces and parentheses.
 */
#include "proc.h"

#include "scope.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <time.h>

/* `status` with a list of a few hundred groups in it. */
#define STATUS_MAX 8192
/* The list of a thousand children. */
#define CHILDREN_MAX 8192

/* From its beginning: the kernel makes the text anew for a reader that goes back there. */
static int proc_read(int fd, char *text, size_t size)
{
	ssize_t n = pread(fd, text, size - 1, 0);

	if (n <= 0)
		return n < 0 ? -errno : -ESRCH;
	text[n] = '\0';
	return 0;
}

static int proc_read_file(int dir, const char *path, char *text, size_t size)
{
	auto_close int fd = openat(dir, path, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : proc_read(fd, text, size);
}

/* From one space to the one so many fields further on; NULL: there are fewer. */
static const char *proc_skip(const char *at, int fields)
{
	while (at && fields-- > 0)
		at = strchr(at + 1, ' ');
	return at;
}

/* " S 1 2 3 …" behind the name; by sscanf it would be a tenth of the whole look. */
static int read_fields(const char *text, struct proc_stat *ret)
{
	const char *ppid = proc_skip(*text == ' ' ? text : NULL, 1);
	const char *session = proc_skip(ppid, 2), *threads = proc_skip(session, 14);
	const char *start = proc_skip(threads, 2);

	if (!start)
		return -EIO;
	ret->state = text[1];
	ret->ppid = atoi(ppid);
	ret->session = atoi(session);
	ret->threads = strtol(threads, NULL, 10);
	ret->start = strtoull(start, NULL, 10);
	return 0;
}

static int proc_stat_open(pid_t pid)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int proc_stat_read(int fd, struct proc_stat *ret)
{
	char text[1024], *open, *close;
	size_t len;
	int r = fd < 0 ? fd : proc_read(fd, text, sizeof(text));

	if (r < 0)
		return r;
	open = strchr(text, '(');
	close = strrchr(text, ')');
	if (!open || !close || close < open)
		return -EIO;
	r = read_fields(close + 1, ret);
	if (r < 0)
		return r;
	ret->status = (int)strtol(strrchr(close, ' ') + 1, NULL, 10);
	len = (size_t)(close - open - 1);
	len = len < sizeof(ret->comm) ? len : sizeof(ret->comm) - 1;
	memcpy(ret->comm, open + 1, len);
	ret->comm[len] = '\0';
	return 0;
}

int proc_stat(pid_t pid, struct proc_stat *ret)
{
	auto_close int fd = proc_stat_open(pid);

	return proc_stat_read(fd, ret);
}

uint64_t proc_turns(pid_t tid)
{
	char path[40], text[80];
	const char *turns;

	snprintf(path, sizeof(path), "/proc/%d/schedstat", (int)tid);
	if (proc_read_file(AT_FDCWD, path, text, sizeof(text)) < 0)
		return 0;
	turns = strrchr(text, ' ');
	return turns ? strtoull(turns + 1, NULL, 10) : 0;
}

uint64_t proc_start(pid_t pid)
{
	struct proc_stat stat;

	/* A zombie does nothing any more, and its parent may never wait for it. */
	return proc_stat(pid, &stat) || stat.state == 'Z' || stat.state == 'X' ? 0 : stat.start;
}

/* The value behind such a line's beginning in a status file, or NULL. */
static const char *proc_field(const char *status, const char *line)
{
	const char *at = strstr(status, line);

	return at ? at + strlen(line) : NULL;
}

int proc_look_status(const struct proc_look *look, struct proc_cage *cage)
{
	char text[STATUS_MAX];
	const char *tgid, *privs, *filters, *powers;
	int r = proc_read(look->status, text, sizeof(text));

	if (r < 0)
		return r;
	tgid = proc_field(text, "\nTgid:\t");
	privs = proc_field(text, "\nNoNewPrivs:\t");
	powers = proc_field(text, "\nCapEff:\t");
	filters = proc_field(text, "\nSeccomp_filters:\t");
	if (!filters)
		filters = proc_field(text, "\nSeccomp:\t");
	if (!tgid || !privs || !filters || !powers)
		return -EIO;
	cage->tgid = atoi(tgid);
	cage->no_new_privs = atoi(privs) != 0;
	cage->filters = (unsigned)atoi(filters);
	cage->powers = strtoull(powers, NULL, 16);
	return 0;
}

void proc_look_close(struct proc_look *look)
{
	const int fds[] = { look->dir, look->status, look->stat };

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		if (fds[i] >= 0)
			close(fds[i]);
	*look = PROC_LOOK_NONE;
}

int proc_look_open(pid_t tid, struct proc_look *ret)
{
	char path[32] = "/proc/thread-self";
	struct proc_look look = PROC_LOOK_NONE;
	int r;

	if (tid)
		snprintf(path, sizeof(path), "/proc/%d", (int)tid);
	look.tid = tid;
	look.dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (look.dir < 0)
		return -errno;
	look.status = openat(look.dir, "status", O_RDONLY | O_CLOEXEC);
	r = look.status < 0 ? -errno : 0;
	if (r < 0)
		proc_look_close(&look);
	*ret = look;
	return r;
}

int proc_look_cage(const struct proc_look *look, struct proc_cage *ret)
{
	static const char *const ns[] = { "ns/user", "ns/mnt", "ns/pid", "ns/net" };
	struct proc_cage cage = { 0 };
	struct statx st;
	int r = proc_look_status(look, &cage);

	if (r < 0)
		return r;
	for (size_t i = 0; i < ARRAY_SIZE(ns); i++)
		if (readlinkat(look->dir, ns[i], cage.ns[i], sizeof(cage.ns[i]) - 1) <= 0)
			return -errno;
	if (statx(look->dir, "root", AT_STATX_DONT_SYNC, STATX_INO | STATX_MNT_ID, &st) < 0)
		return -errno;
	cage.root_dev = makedev(st.stx_dev_major, st.stx_dev_minor);
	cage.root_ino = st.stx_ino;
	cage.root_mnt = st.stx_mask & STATX_MNT_ID ? st.stx_mnt_id : 0;
	*ret = cage;
	return 0;
}

int proc_look_process(struct proc_look *look, pid_t tgid, struct proc_stat *ret)
{
	if (look->stat >= 0 && look->tgid != tgid) {
		close(look->stat);
		look->stat = -1;
	}
	if (look->stat < 0) {
		look->tgid = tgid;
		look->stat = proc_stat_open(tgid);
	}
	return proc_stat_read(look->stat, ret);
}

int proc_cage(pid_t tid, struct proc_cage *ret)
{
	struct proc_look look;
	int r = proc_look_open(tid, &look);

	if (r < 0)
		return r;
	r = proc_look_cage(&look, ret);
	proc_look_close(&look);
	return r;
}

bool proc_may_mount(void)
{
	struct proc_cage cage = { 0 };

	return proc_cage(0, &cage) == 0 && cage.powers >> CAP_SYS_ADMIN & 1;
}

bool proc_cage_equals(const struct proc_cage *a, const struct proc_cage *b)
{
	for (size_t i = 0; i < ARRAY_SIZE(a->ns); i++)
		if (strcmp(a->ns[i], b->ns[i]) != 0)
			return false;
	return a->tgid == b->tgid && a->root_dev == b->root_dev && a->root_ino == b->root_ino &&
	       a->root_mnt == b->root_mnt && a->no_new_privs == b->no_new_privs &&
	       a->filters == b->filters && a->powers == b->powers;
}

bool proc_is_short(int r)
{
	return r == -EMFILE || r == -ENFILE || r == -ENOMEM;
}

bool proc_alive(const struct process *process)
{
	struct proc_stat stat;
	int r;

	if (kill(process->pid, 0) < 0 && errno == ESRCH)
		return false;
	r = proc_stat(process->pid, &stat);
	/* what cannot be looked at for want of a descriptor has not ended */
	if (r < 0)
		return proc_is_short(r);
	return stat.start == process->start && stat.state != 'Z' && stat.state != 'X';
}

bool proc_end(pid_t pid, bool (*is_it)(pid_t pid, void *arg), void *arg)
{
	auto_close int fd = -1;

	if (!is_it(pid, arg))
		return false;
	fd = (int)syscall(SYS_pidfd_open, pid, 0);
	return fd >= 0 && is_it(pid, arg) &&
	       syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0) == 0;
}

static uint64_t proc_mask(const char *status, const char *line)
{
	const char *value = proc_field(status, line);

	return value ? strtoull(value, NULL, 16) : 0;
}

/* Those that wait for the thread and are not blocked; 0 or -errno. */
static int proc_pending(pid_t tid, uint64_t *ret)
{
	char path[40], text[STATUS_MAX];
	int r;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)tid);
	r = proc_read_file(AT_FDCWD, path, text, sizeof(text));
	if (r < 0)
		return r;
	*ret = (proc_mask(text, "\nSigPnd:\t") | proc_mask(text, "\nShdPnd:\t")) &
	       ~proc_mask(text, "\nSigBlk:\t");
	return 0;
}

bool proc_interrupted(pid_t tid)
{
	static const int ending[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGKILL };
	uint64_t pending = 0;
	int r = proc_pending(tid, &pending);

	if (r < 0)
		return r == -ENOENT || r == -ESRCH;
	for (size_t i = 0; i < ARRAY_SIZE(ending); i++)
		if (pending & UINT64_C(1) << (ending[i] - 1))
			return true;
	return false;
}

bool proc_signalled(pid_t tid)
{
	uint64_t pending = 0;

	return proc_pending(tid, &pending) == 0 && pending;
}

int proc_variable(pid_t pid, const char *name, char *ret, size_t size)
{
	char path[40];
	auto_file FILE *file = NULL;
	auto_free char *row = NULL;
	size_t room = 0, n = strlen(name);
	int found = -1;

	snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
	file = fopen(path, "re");
	while (file && found < 1 && getdelim(&row, &room, '\0', file) > 0) {
		found = !strncmp(row, name, n) && row[n] == '=';
		if (found)
			snprintf(ret, size, "%s", row + n + 1);
	}
	return found;
}

int proc_children_open(void)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

size_t proc_children(int fd, pid_t ret[PROC_CHILDREN])
{
	char list[CHILDREN_MAX], *p = list;
	size_t len = 0, count = 0;
	ssize_t n;

	/* the kernel gives a page at a time */
	while ((n = pread(fd, list + len, sizeof(list) - 1 - len, (off_t)len)) > 0)
		len += (size_t)n;
	/* each is followed by a blank: a number that was cut off is none */
	while (len && list[len - 1] != ' ')
		len--;
	list[len] = '\0';
	while (*p && count < PROC_CHILDREN) {
		ret[count] = (pid_t)strtol(p, &p, 10);
		if (ret[count] <= 0)
			break;
		count++;
		p += *p == ' ';
	}
	return count;
}

long long proc_number(const char *path)
{
	auto_file FILE *file = fopen(path, "re");
	long long value;

	return file && fscanf(file, "%lld", &value) == 1 ? value : 0;
}

double proc_age_s(const struct process *process)
{
	double began = (double)process->start / (double)sysconf(_SC_CLK_TCK);
	struct timespec now;

	if (!proc_alive(process))
		return -1;
	clock_gettime(CLOCK_BOOTTIME, &now);
	return MAX_OF((double)now.tv_sec + (double)now.tv_nsec / 1e9 - began, 0);
}

/* ---- the other end of a Unix socket ---- */

/* A process with more ancestors than that is believed to be one. */
#define PEER_ANCESTORS 256

bool peer_own(int fd)
{
	struct ucred who;
	socklen_t len = sizeof(who);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) == 0 && who.uid == geteuid();
}

bool peer_inside(int fd)
{
	struct ucred who;
	socklen_t len = sizeof(who);
	struct proc_stat stat;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) < 0)
		return true;
	for (int i = 0; i < PEER_ANCESTORS && who.pid != getpid(); i++) {
		/* one that is not seen, or gone, is not believed either */
		if (who.pid < 1 || proc_stat(who.pid, &stat) < 0)
			return true;
		if (who.pid == 1 || !stat.ppid)
			return false;
		who.pid = stat.ppid;
	}
	return true;
}
