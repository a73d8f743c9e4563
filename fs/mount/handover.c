/* SPDX-License-Identifier: MIT */
/*
 * handover.c - what the daemons of one mount leave to each other.
 *
 * Owns a memfd that daemon and watchdog share and that the next daemon gets: how often a daemon has
 * died, and the last lines of the log. Lines come on any thread and without a lock: one that was being
 * written when the process was killed is half there. A daemon that went astray may have written
 * anywhere, so the watchdog believes only what it has read when that daemon began, and the text is
 * made printable.
 */
#include "mount/mount.h"

#include "clock.h"
#include "scope.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define HANDOVER_LAYOUT UINT64_C(0x72796566736b0002)
/* The device is a socket to a daemon that lives: what does not know that is not to begin. */
#define HANDOVER_LINKED UINT64_C(0x72796566736b0003)
/* What is left of the log, and how much of it is told: a screen. */
#define HANDOVER_LOG 16384
#define HANDOVER_TOLD 2048
/* So often within HANDOVER_SPAN_MS a mount is mounted again. */
#define HANDOVER_MOST 5
#define HANDOVER_SPAN_MS INT64_C(60000)

struct handover_past {
	struct rye_death death;
	int64_t again_ms[HANDOVER_MOST]; /* when it was mounted again, the last first; 0: it was not */
};

struct handover_memory {
	uint64_t layout;
	struct handover_past past;
	struct handover_mount mount; /* whose place is to be taken */
	_Atomic uint64_t written; /* bytes of log in all; the last ones are there */
	char log[HANDOVER_LOG];
};

struct handover {
	int fd;
	struct handover_memory *memory;
	struct handover_past past; /* as it was when this process began */
	char before[HANDOVER_TOLD + 1]; /* the last lines of the daemon before */
};

/* Whole lines; what a terminal would take for more than text is '?'. */
static void read_before(const struct handover_memory *memory, char ret[HANDOVER_TOLD + 1])
{
	uint64_t written = atomic_load(&memory->written);
	size_t n = MIN_OF(written, HANDOVER_TOLD);
	char *from;

	for (size_t i = 0; i < n; i++) {
		char c = memory->log[(written - n + i) % HANDOVER_LOG];

		ret[i] = (unsigned char)c < 0x20 && c != '\n' ? '?' : c == 0x7f ? '?' : c;
	}
	ret[n] = 0;
	from = n < written ? strchr(ret, '\n') : NULL;
	if (from)
		memmove(ret, from + 1, strlen(from));
}

static bool handover_map(struct handover *handover)
{
	void *at = mmap(NULL, sizeof(*handover->memory), PROT_READ | PROT_WRITE, MAP_SHARED,
			handover->fd, 0);

	handover->memory = at == MAP_FAILED ? NULL : at;
	return handover->memory != NULL;
}

/* Of the daemon before: the descriptor came through exec. */
static bool handover_take(struct handover *handover, int fd)
{
	struct stat st;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size != sizeof(*handover->memory))
		return false;
	handover->fd = fd;
	if (fcntl(fd, F_SETFD, FD_CLOEXEC) || !handover_map(handover) ||
	    (handover->memory->layout != HANDOVER_LAYOUT &&
	     handover->memory->layout != HANDOVER_LINKED))
		return false;
	read_before(handover->memory, handover->before);
	atomic_store(&handover->memory->written, 0);
	handover->memory->past.death.why[sizeof(handover->memory->past.death.why) - 1] = 0;
	handover->past = handover->memory->past;
	return true;
}

static bool handover_make(struct handover *handover)
{
	handover->fd = memfd_create("ryefs-handover", MFD_CLOEXEC);
	if (handover->fd < 0 || ftruncate(handover->fd, sizeof(*handover->memory)) ||
	    !handover_map(handover))
		return false;
	handover->memory->layout = HANDOVER_LAYOUT;
	handover->memory->mount.device = -1;
	return true;
}

struct handover *handover_open(int fd)
{
	struct handover *handover = calloc(1, sizeof(*handover));

	if (!handover)
		return NULL;
	handover->fd = -1;
	if (fd < 0 ? handover_make(handover) : handover_take(handover, fd))
		return handover;
	handover_close(handover);
	return NULL;
}

void handover_close(struct handover *handover)
{
	if (!handover)
		return;
	if (handover->memory)
		munmap(handover->memory, sizeof(*handover->memory));
	if (handover->fd >= 0)
		close(handover->fd);
	free(handover);
}

int handover_fd(const struct handover *handover)
{
	return handover->fd;
}

void handover_line(void *arg, const char *line, size_t n)
{
	struct handover_memory *memory = ((struct handover *)arg)->memory;
	uint64_t at;

	if (n > HANDOVER_LOG)
		return;
	at = atomic_fetch_add(&memory->written, n);
	for (size_t i = 0; i < n; i++)
		memory->log[(at + i) % HANDOVER_LOG] = line[i];
}

const char *handover_before(const struct handover *handover)
{
	return handover->before;
}

void handover_put(struct handover *handover, const struct handover_mount *mount)
{
	handover->memory->mount = *mount;
	handover->memory->layout = mount->lives && mount->device >= 0 ? HANDOVER_LINKED :
									HANDOVER_LAYOUT;
}

struct handover_mount handover_mount(const struct handover *handover)
{
	return handover->memory->mount;
}

struct handover *handover_next(const struct handover *handover)
{
	struct handover *next = handover_open(-1);

	if (next)
		next->memory->past = handover->past;
	return next;
}

const struct rye_death *handover_death(const struct handover *handover)
{
	return &handover->past.death;
}

bool handover_died(struct handover *handover, const char *why)
{
	struct handover_past *past = &handover->past;
	int64_t now = clock_ms(), oldest = past->again_ms[HANDOVER_MOST - 1];

	past->death.times++;
	past->death.at_s = time(NULL);
	snprintf(past->death.why, sizeof(past->death.why), "%s", why);
	if (oldest && now - oldest < HANDOVER_SPAN_MS)
		return false;
	memmove(past->again_ms + 1, past->again_ms, sizeof(past->again_ms) - sizeof(int64_t));
	past->again_ms[0] = now ? now : 1;
	handover->memory->past = *past;
	handover->memory->layout = HANDOVER_LAYOUT;
	return true;
}
