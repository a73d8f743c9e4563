/* SPDX-License-Identifier: MIT */
/*
 * Requests to a daemon that goes on with another's connection: its own pass, those that name a node of
 * another get ESTALE, or EIO where they may have been done, and forgets of such nodes are left out. And which
 * kernels are asked to send requests again.
 */
#include "rye_test.h"

#include "core/front.h"
#include "loop/loop_inner.h"
#include "mount/mount.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <unistd.h>

#define OLD_ID (UINT64_C(2) << NODE_EPOCH_BIT | 0x1000)
#define OWN_ID (UINT64_C(3) << NODE_EPOCH_BIT | 0x1000)
#define RESENT (UINT64_C(1) << 63)

struct asked {
	struct fuse_in_header head;
	uint64_t body[8];
};

static struct {
	struct front front;
	int pipe[2];
} stale = { .front = { .init = { .epoch = 3 } } };

/* 0: it passes; else the errno that was answered, 1: it is gone without an answer. */
static int asked_so(struct asked ask)
{
	struct fuse_out_header out;
	size_t n = stale_pass(&stale.front, stale.pipe[1], &ask, sizeof(ask));

	if (n) {
		assert_int_equal(n, sizeof(ask));
		return 0;
	}
	if (read(stale.pipe[0], &out, sizeof(out)) < 0)
		return 1;
	assert_true(out.unique == ask.head.unique);
	return -out.error;
}

static int asked(uint32_t opcode, uint64_t id, uint64_t second, uint64_t unique)
{
	return asked_so((struct asked){
		{ .len = sizeof(struct asked), .opcode = opcode, .nodeid = id, .unique = unique },
		{ second } });
}

static int asked_copy(uint64_t from, uint64_t to)
{
	return asked_so((struct asked){ { .len = sizeof(struct asked),
					  .opcode = FUSE_COPY_FILE_RANGE,
					  .nodeid = from,
					  .unique = 2 },
					{ 0, 0, to } });
}

static void whose_nodes(void **state)
{
	(void)state;
	assert_int_equal(asked(FUSE_LOOKUP, FUSE_ROOT_ID, 0, 2), 0);
	assert_int_equal(asked(FUSE_LOOKUP, OWN_ID, 0, 2), 0);
	assert_int_equal(asked(FUSE_LOOKUP, OLD_ID, 0, 2), ESTALE);
	/* of the first daemon of all, whose ids are bare addresses */
	assert_int_equal(asked(FUSE_GETATTR, 0x7f0012345678, 0, 2), ESTALE);
	assert_int_equal(asked(FUSE_RENAME2, OWN_ID, OLD_ID, 2), ESTALE);
	assert_int_equal(asked(FUSE_RENAME, OLD_ID, OWN_ID, 2), ESTALE);
	assert_int_equal(asked(FUSE_RENAME, OWN_ID, FUSE_ROOT_ID, 2), 0);
	assert_int_equal(asked(FUSE_LINK, OWN_ID, OWN_ID, 2), 0);
	/* the second node lies elsewhere: behind two numbers */
	assert_int_equal(asked_copy(OWN_ID, OLD_ID), ESTALE);
	assert_int_equal(asked_copy(OLD_ID, OWN_ID), ESTALE);
	assert_int_equal(asked_copy(OWN_ID, OWN_ID), 0);
	/* a number in the same place that is no node */
	assert_int_equal(asked(FUSE_WRITE, OWN_ID, OLD_ID, 2), 0);
	assert_int_equal(asked(FUSE_INTERRUPT, 0, 4, 2), 0);
	assert_int_equal(asked(FUSE_FORGET, OLD_ID, 1, 2), 1);
	assert_int_equal(asked(FUSE_FORGET, OWN_ID, 1, 2), 0);
}

static void what_may_have_been_done(void **state)
{
	(void)state;
	assert_int_equal(asked(FUSE_WRITE, OLD_ID, 0, RESENT | 2), EIO);
	assert_int_equal(asked(FUSE_WRITE, OLD_ID, 0, 2), ESTALE);
	assert_int_equal(asked(FUSE_UNLINK, OLD_ID, 0, RESENT | 2), EIO);
	assert_int_equal(asked(FUSE_RENAME2, OWN_ID, OLD_ID, RESENT | 2), EIO);
	assert_int_equal(asked(FUSE_SETATTR, OLD_ID, 0, RESENT | 2), EIO);
	assert_int_equal(asked(FUSE_CREATE, OLD_ID, 0, RESENT | 2), EIO);
	assert_int_equal(asked(FUSE_LOOKUP, OLD_ID, 0, RESENT | 2), ESTALE);
	assert_int_equal(asked(FUSE_READ, OLD_ID, 0, RESENT | 2), ESTALE);
	assert_int_equal(asked(FUSE_READDIRPLUS, OLD_ID, 0, RESENT | 2), ESTALE);
	assert_int_equal(asked(FUSE_LOOKUP, FUSE_ROOT_ID, 0, RESENT | 2), 0);
}

struct forgets {
	struct fuse_in_header head;
	struct fuse_batch_forget_in batch;
	struct fuse_forget_one ones[4];
};

static void heaps_of_forgets(void **state)
{
	struct forgets heap = {
		{ .len = sizeof(heap), .opcode = FUSE_BATCH_FORGET, .unique = 2 },
		{ .count = 4 },
		{ { OLD_ID, 1 }, { OWN_ID, 2 }, { OLD_ID, 3 }, { OWN_ID + 0x100, 4 } },
	};
	size_t n = stale_pass(&stale.front, stale.pipe[1], &heap, sizeof(heap));

	(void)state;
	assert_int_equal(n, sizeof(heap) - 2 * sizeof(heap.ones[0]));
	assert_int_equal(heap.head.len, n);
	assert_int_equal(heap.batch.count, 2);
	assert_true(heap.ones[0].nodeid == OWN_ID && heap.ones[0].nlookup == 2);
	assert_true(heap.ones[1].nodeid == OWN_ID + 0x100 && heap.ones[1].nlookup == 4);
	heap.head.len = sizeof(heap);
	heap.batch.count = 1;
	heap.ones[0].nodeid = OLD_ID;
	assert_int_equal(stale_pass(&stale.front, stale.pipe[1], &heap, sizeof(heap)), 0);
	/* a count that is more than what is there */
	heap.batch.count = UINT32_MAX;
	heap.ones[0].nodeid = heap.ones[2].nodeid = OWN_ID;
	n = stale_pass(&stale.front, stale.pipe[1], &heap, sizeof(heap));
	assert_int_equal(n, sizeof(heap));
	assert_int_equal(heap.batch.count, 4);
	/* shorter than what it has to have */
	assert_int_equal(stale_pass(&stale.front, stale.pipe[1], &heap, 10), 10);
}

static void mended_kernels(void **state)
{
	static const struct {
		const char *release;
		bool mended;
	} kernels[] = {
		{ "6.1.0-13-amd64", false }, { "6.9.0", false },     { "6.12.95", false },
		{ "6.12.96-generic", true }, { "6.17.99", false },   { "6.18.38", false },
		{ "6.18.39", true },	     { "6.18.44-fc", true }, { "6.19.0", false },
		{ "7.0.9", false },	     { "7.1.3", false },     { "7.1.4", true },
		{ "7.2.0", true },	     { "8.0", true },	     { "nonsense", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(kernels) / sizeof(*kernels); i++)
		if (kept_kernel_is_mended(kernels[i].release) != kernels[i].mended)
			fail_msg("%s", kernels[i].release);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whose_nodes),
		cmocka_unit_test(what_may_have_been_done),
		cmocka_unit_test(heaps_of_forgets),
		cmocka_unit_test(mended_kernels),
	};

	if (pipe2(stale.pipe, O_NONBLOCK | O_CLOEXEC))
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
