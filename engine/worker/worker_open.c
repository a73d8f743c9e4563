/* SPDX-License-Identifier: MIT */
/*
 * worker_open.c: what a worker has open: its node, a name that no living worker of the directory has, its key,
 * the board, what was begun here. No lock but that of its name, which the kernel gives back.
 */
#include "worker/worker_inner.h"

#include "base/io.h"
#include "memory.h"
#include "pack/pack.h"
#include "scope.h"
#include "str.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <unistd.h>

/* Workers of one directory; more would only wait for each other's disk. */
#define WORKERS_MAX 64
#define MACHINE_ID "/etc/machine-id"
#define MACHINE_MAX 64

static int64_t given_ms(const char *name, int64_t usual)
{
	const char *text = getenv(name);
	long long ms = text ? strtoll(text, NULL, 10) : 0;

	return ms > 0 ? ms : usual;
}

/* Read whole; what is not there is nothing. Not beneath anything: /etc/machine-id may be a link to /run. */
static void machine_add(const char *path, struct rye_buf *ret)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	auto_blob struct rye_blob *machine = NULL;

	if (fd >= 0 && !io_read_fd(fd, MACHINE_MAX, &machine, NULL))
		buf_add(ret, machine->data, machine->len);
}

/*
 * What is running under a worker's name is taken up by the next of the name, so a directory that was copied to
 * another machine must not have it.
 */
int worker_seat(const struct node_dir *node, const char *machine, char ret[SEAT_MAX],
		struct rye_err *err)
{
	auto_blob struct rye_blob *kept = NULL;
	auto_buf struct rye_buf text = RYE_BUF_INIT;
	char id[ID_UUID_MAX], digest[SHA_HEX];
	int r = io_read_at(node->dir, "work/seat", sizeof(id), &kept);

	if (r == -ENOENT) {
		id_uuid(id);
		r = io_replace_at(node->dir, "work/seat", span_of(id), 0600);
		buf_adds(&text, id);
	}
	if (r < 0)
		return rye_fail_sys(err, -r, "%s/work/seat", node->path);
	if (kept)
		buf_add(&text, kept->data, kept->len);
	machine_add(machine, &text);
	if (text.failed)
		return memory_fail(err);
	sha256_hex(buf_span(&text), digest);
	snprintf(ret, SEAT_MAX, "%.8s", digest);
	return 0;
}

int worker_enter(struct node_worker *worker, struct rye_err *err)
{
	auto_close int fd = -1;
	char path[64];

	snprintf(path, sizeof(path), "work/worker-%d.lock", worker->place);
	fd = openat(worker->node->dir, path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return rye_fail_sys(err, errno, "%s/%s", worker->node->path, path);
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return rye_fail(err, RYE_BUSY, "%s/%s is another worker's", worker->node->path,
				path);
	worker->lock = steal_fd(&fd);
	return 0;
}

void worker_leave(struct node_worker *worker)
{
	auto_close_(&worker->lock);
	worker->lock = -1;
}

/* The first name that no living worker of this directory has. */
static int take_name(struct node_worker *worker, struct rye_err *err)
{
	char seat[SEAT_MAX];
	int r = worker_seat(worker->node, MACHINE_ID, seat, err);

	if (r)
		return r;

	for (worker->place = 1; worker->place <= (worker->ask.sole ? 1 : WORKERS_MAX);
	     worker->place++) {
		r = worker_enter(worker, err);
		if (r == -(int)RYE_BUSY)
			continue;
		snprintf(worker->name, sizeof(worker->name), "%s-%s-%d", worker->node->card.sign.fp,
			 seat, worker->place);
		return r;
	}
	return rye_fail(err, RYE_BUSY, "%s has its %s", worker->node->path,
			worker->ask.sole ? "worker" : "64 workers");
}

/* A key for receipts, of the node's: the latter signs for principals and for this one alone. */
static void take_key(struct node_worker *worker)
{
	unsigned char seed[KEY_LEN];
	char pem[256];
	size_t n = key_secret_pem(&worker->node->key, pem);

	key_derive((struct rye_span){ pem, n }, "rye-worker-1", seed);
	key_secret_seed(seed, &worker->key);
	explicit_bzero(seed, sizeof(seed));
	explicit_bzero(pem, sizeof(pem));
	receipt_vouch(&worker->node->key, &worker->key.pub, worker->vouched);
}

/* Without it the rest works: it only takes longer. */
static void worker_hold(struct node_worker *worker)
{
	if (!worker->node->store && node_depot(worker->node, &worker->held, NULL))
		worker->held = NULL;
}

int worker_open(struct node_worker *worker, struct rye_err *err)
{
	static const char *const rooms[] = { "work/projects", "work/users", "tmp" };
	char path[PATH_MAX];
	int r = node_open(worker->ask.node, &worker->node, err);

	for (size_t i = 0; !r && i < ARRAY_SIZE(rooms); i++) {
		r = io_mkdirs_at(worker->node->dir, rooms[i], 0700);
		if (r < 0)
			return rye_fail_sys(err, -r, "%s/%s", worker->node->path, rooms[i]);
	}
	if (!r)
		r = take_name(worker, err);
	if (r)
		return r;
	take_key(worker);
	worker->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (worker->wake < 0)
		return rye_fail_sys(err, errno, "cannot begin a worker");
	snprintf(path, sizeof(path), "%s/work/executed.db", worker->node->path);
	r = executed_open(path, &worker->executed, err);
	if (r)
		return r;
	if (worker->node->labels)
		json_canonical(&worker->labels, worker->node->labels);
	else
		buf_adds(&worker->labels, "[]");
	if (worker->labels.failed)
		return memory_fail(err);
	worker->slots = (int)MAX_OF(2, sysconf(_SC_NPROCESSORS_ONLN));
	worker->seat = (struct board_seat){ worker->name, worker->labels.data,
					    given_ms("RYE_NODE_LEASE_MS", WORKER_LEASE_MS),
					    given_ms("RYE_NODE_SILENT_MS", WORKER_SILENT_MS) };
	r = worker_shut(worker, err);
	if (!r)
		r = node_board(worker->node, &worker->board, err);
	if (!r)
		worker_hold(worker);
	return r;
}

void worker_done(struct node_worker *worker)
{
	depot_close(worker->held);
	board_close(worker->board);
	db_close(worker->executed);
	node_close(worker->node);
	auto_close_(&worker->wake);
	auto_close_(&worker->lock);
	buf_done(&worker->labels);
	key_wipe(&worker->key);
}
