/* SPDX-License-Identifier: MIT */
/*
 * ring_entries.c - entries: the places in which the kernel puts a request and finds its answer.
 *
 * Owns their memory, which stays until the ring is freed: the kernel knows its addresses. An entry is
 * in the kernel's hands from REGISTER or COMMIT_AND_FETCH until its completion comes, which is a
 * request; then it is ours until that is answered. Whichever thread hands it in gets its next request: the
 * kernel copies that in the thread that did, and takes the entry back when that ends. The lock guards the
 * list of batches alone.
 */
#include "loop/ring.h"

#include "scope.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

/* Before the payload: the kernel's header, and at the end room for a request's headers, so that they and
 * the payload are one message. */
#define BEFORE 4096

struct ring_batch {
	struct ring_batch *next;
	void *map;
	size_t len;
	struct ring_entry entries[];
};

_Static_assert(sizeof(struct ring_head) == 288, "struct fuse_uring_req_header has 288 bytes");
_Static_assert(sizeof(struct ring_command) == 24, "struct fuse_uring_cmd_req has 24 bytes");
_Static_assert(sizeof(struct ring_head) + sizeof(struct fuse_in_header) + 128 < BEFORE,
	       "both fit before the payload");

static void entry_command(struct ring_entry *entry, struct io_uring_sqe *sqe, unsigned op)
{
	struct ring_command command = { .qid = entry->queue->qid };

	sqe->opcode = IORING_OP_URING_CMD;
	sqe->fd = fuse_session_fd(entry->thread->ring->front->session);
	sqe->cmd_op = op;
	sqe->user_data = (uintptr_t)entry;
	if (op == RING_REGISTER) {
		/* fuse_uring_get_iovec_from_sqe: both, and each as long as it is to be at least */
		sqe->addr = (uintptr_t)entry->iov;
		sqe->len = 2;
	} else {
		command.commit_id = entry->head->commit_id;
	}
	memcpy(sqe->cmd, &command, sizeof(command));
}

static struct ring_batch *batch_new(struct ring *ring, unsigned n)
{
	struct ring_batch *batch = calloc(1, sizeof(*batch) + n * sizeof(batch->entries[0]));

	if (!batch)
		return NULL;
	/* no memory until something is in it; a run's child has no use for it */
	batch->len = n * (BEFORE + ring->payload);
	batch->map = mmap(NULL, batch->len, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (batch->map == MAP_FAILED) {
		free(batch);
		return NULL;
	}
	madvise(batch->map, batch->len, MADV_DONTFORK);
	GUARD(&ring->lock);
	batch->next = ring->batches;
	ring->batches = batch;
	return batch;
}

int ring_entries_add(struct ring_thread *thread, struct ring_queue *queue, unsigned n)
{
	struct ring *ring = thread->ring;
	struct ring_batch *batch = batch_new(ring, n);

	for (unsigned i = 0; batch && i < n; i++) {
		struct ring_entry *entry = &batch->entries[i];
		char *place = (char *)batch->map + i * (BEFORE + ring->payload);
		struct io_uring_sqe *sqe = uring_next_sqe(&thread->uring);

		if (!sqe)
			return -EBUSY;
		entry->thread = thread;
		entry->queue = queue;
		entry->head = (struct ring_head *)place;
		entry->payload = place + BEFORE;
		entry->iov[0] = (struct iovec){ entry->head, sizeof(*entry->head) };
		entry->iov[1] = (struct iovec){ entry->payload, ring->payload };
		entry_command(entry, sqe, RING_REGISTER);
		queue->held++;
	}
	return batch ? 0 : -ENOMEM;
}

void ring_entries_free(struct ring *ring)
{
	struct ring_batch *batch, *next;

	for (batch = ring->batches; batch; batch = next) {
		next = batch->next;
		munmap(batch->map, batch->len);
		free(batch);
	}
}

int ring_entry_request(struct ring_entry *entry, size_t payload, struct fuse_buf *ret)
{
	const struct ring_head *head = entry->head;
	struct fuse_in_header in;
	size_t op;

	memcpy(&in, head->in_out, sizeof(in));
	entry->unique = in.unique;
	/* fuse_uring_args_to_ring: the first argument is op_in, all others are the payload */
	op = in.len - sizeof(in) - head->payload_len;
	if (head->payload_len > payload || in.len < sizeof(in) + head->payload_len ||
	    op > sizeof(head->op_in))
		return -EIO;
	memcpy(entry->payload - op, head->op_in, op);
	memcpy(entry->payload - op - sizeof(in), &in, sizeof(in));
	*ret = (struct fuse_buf){ .mem = entry->payload - op - sizeof(in), .size = in.len };
	return 0;
}

void ring_entry_fill(struct ring_entry *entry, size_t payload, const struct iovec *iov, int count)
{
	struct fuse_out_header out;
	size_t len = 0;

	memcpy(&out, iov[0].iov_base, sizeof(out));
	for (int i = 1; i < count && len + iov[i].iov_len <= payload; i++) {
		/* what is answered may lie in the request */
		memmove(entry->payload + len, iov[i].iov_base, iov[i].iov_len);
		len += iov[i].iov_len;
	}
	if (len != out.len - sizeof(out)) {
		out.error = -EIO;
		len = 0;
	}
	out.len = (uint32_t)(sizeof(out) + len);
	memcpy(entry->head->in_out, &out, sizeof(out));
	entry->head->payload_len = (uint32_t)len;
	entry->answered = true;
}

bool ring_entry_commit(struct ring_entry *entry, struct uring *uring)
{
	struct io_uring_sqe *sqe = uring_next_sqe(uring);

	if (!sqe)
		return false;
	entry_command(entry, sqe, RING_COMMIT_AND_FETCH);
	return true;
}

void ring_entries_refuse(struct ring *ring)
{
	struct ring_thread thread = { .ring = ring };
	struct ring_queue queue = { .qid = UINT16_MAX }; /* more than processors */
	struct ring_entry entry = { .thread = &thread, .queue = &queue };

	if (uring_open(&thread.uring, 1))
		return;
	entry_command(&entry, uring_next_sqe(&thread.uring), RING_REGISTER);
	uring_enter(&thread.uring, false);
	uring_close(&thread.uring);
}
