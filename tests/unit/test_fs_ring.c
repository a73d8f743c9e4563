/* SPDX-License-Identifier: MIT */
/*
 * test_fs_ring.c - what of the rings needs no mount: whose queue is whose, requests and answers as the
 * kernel lays them out, and the two queues of an io_uring, where one may be had.
 */
#include "rye_test.h"

#include "loop/ring.h"
#include "scope.h"

#include <errno.h>
#include <string.h>

static void lists_of_processors_are_counted(void **state)
{
	assert_int_equal(ring_cpus_count("0\n"), 1);
	assert_int_equal(ring_cpus_count("0-1\n"), 2);
	assert_int_equal(ring_cpus_count("0-3,8-11,15\n"), 9);
	assert_int_equal(ring_cpus_count("0-1023"), RING_CPUS);
	assert_int_equal(ring_cpus_count(""), 0);
	assert_int_equal(ring_cpus_count("\n"), 0);
	assert_int_equal(ring_cpus_count("all\n"), 0);
	assert_int_equal(ring_cpus_count("0-x\n"), 0);
	assert_int_equal(ring_cpus_count("3-1\n"), 0);
	assert_int_equal(ring_cpus_count("0-1024\n"), 0);
	assert_int_equal(ring_cpus_count("0-99999999999999999999\n"), 0);
	assert_int_equal(ring_cpus_count("0-900,0-900\n"), 0);
}

/* The kernel waits for a queue of each that there may be: those that are not there are served, too. */
static void each_possible_processor_has_a_thread(void **state)
{
	const bool usable[8] = { [1] = true, [3] = true };
	unsigned thread[8];

	assert_int_equal(ring_allot(8, usable, thread), 2);
	assert_int_equal(thread[1], 0);
	assert_int_equal(thread[3], 1);
	for (unsigned i = 0; i < 8; i++)
		assert_int_equal(thread[i], i == 3);
}

static void this_machine_has_threads(void **state)
{
	struct ring_cpus *cpus = calloc(1, sizeof(*cpus));

	assert_int_equal(ring_cpus_look(cpus), 0);
	assert_in_range(cpus->threads, 1, cpus->possible);
	free(cpus);
}

/* ---- messages ---- */

#define PAYLOAD 8192

static struct {
	struct ring_head head;
	char place[4096 + PAYLOAD];
	struct ring_entry entry;
} post;

static int post_open(void **state)
{
	memset(&post, 0, sizeof(post));
	post.entry.head = &post.head;
	post.entry.payload = post.place + 4096;
	return 0;
}

/* What the kernel puts there of a request with so many bytes in each of its parts. */
static int arrives(size_t op, size_t payload, struct fuse_buf *ret)
{
	struct fuse_in_header in = {
		.len = (uint32_t)(sizeof(in) + op + payload),
		.opcode = FUSE_WRITE,
		.unique = 4711,
	};

	memcpy(post.head.in_out, &in, sizeof(in));
	memset(post.head.op_in, 'o', sizeof(post.head.op_in));
	memset(post.entry.payload, 'p', PAYLOAD);
	post.head.payload_len = (uint32_t)payload;
	return ring_entry_request(&post.entry, PAYLOAD, ret);
}

static void a_request_is_one_message(void **state)
{
	static const size_t sizes[][2] = { { 0, 6 }, { 16, 0 }, { 40, PAYLOAD }, { 128, 1 } };
	struct fuse_in_header in;
	struct fuse_buf buf;

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		const char *bytes;

		assert_int_equal(arrives(sizes[i][0], sizes[i][1], &buf), 0);
		assert_int_equal(buf.size, sizeof(in) + sizes[i][0] + sizes[i][1]);
		memcpy(&in, buf.mem, sizeof(in));
		assert_int_equal(in.unique, 4711);
		assert_int_equal(post.entry.unique, 4711);
		bytes = (const char *)buf.mem + sizeof(in);
		for (size_t j = 0; j < sizes[i][0]; j++)
			assert_int_equal(bytes[j], 'o');
		for (size_t j = 0; j < sizes[i][1]; j++)
			assert_int_equal(bytes[sizes[i][0] + j], 'p');
	}
}

static void a_request_of_another_form_is_none(void **state)
{
	struct fuse_buf buf;

	assert_int_equal(arrives(129, 0, &buf), -EIO);
	assert_int_equal(arrives(0, PAYLOAD + 1, &buf), -EIO);
	assert_int_equal(arrives(0, 8, &buf), 0);
	post.head.payload_len = 9;
	assert_int_equal(ring_entry_request(&post.entry, PAYLOAD, &buf), -EIO);
}

/* *ret: the answer's header as the kernel finds it. */
static void answered(int error, size_t len, struct fuse_out_header *ret)
{
	static char bytes[PAYLOAD + 1];
	struct fuse_out_header out = { (uint32_t)(sizeof(out) + len), error, 4711 };
	struct iovec iov[] = { { &out, sizeof(out) },
			       { bytes, len / 2 },
			       { bytes, len - len / 2 } };

	memset(bytes, 'a', sizeof(bytes));
	memset(post.entry.payload, 0, PAYLOAD);
	ring_entry_fill(&post.entry, PAYLOAD, iov, len ? 3 : 1);
	memcpy(ret, post.head.in_out, sizeof(*ret));
}

static void an_answer_lies_where_the_kernel_looks(void **state)
{
	struct fuse_out_header out;

	answered(-ENOENT, 0, &out);
	assert_int_equal(out.error, -ENOENT);
	assert_int_equal(post.head.payload_len, 0);
	answered(0, PAYLOAD, &out);
	assert_int_equal(out.error, 0);
	assert_int_equal(out.unique, 4711);
	assert_int_equal(out.len, sizeof(out) + PAYLOAD);
	assert_int_equal(post.head.payload_len, PAYLOAD);
	assert_int_equal(post.entry.payload[PAYLOAD - 1], 'a');
	/* longer than the place */
	answered(0, PAYLOAD + 1, &out);
	assert_int_equal(out.error, -EIO);
	assert_int_equal(out.len, sizeof(out));
	assert_int_equal(post.head.payload_len, 0);
}

/* ---- an io_uring ---- */

/* More than its queue has room for, and each comes back once. */
static void what_is_handed_in_comes_back(void **state)
{
	bool seen[50] = { false };
	struct io_uring_cqe cqe;
	struct uring uring;
	unsigned n = 0;
	int r = uring_open(&uring, 8);

	if (r == -EPERM || r == -ENOSYS || r == -EINVAL)
		skip(); /* none is to be had here */
	assert_int_equal(r, 0);
	for (unsigned i = 0; i < ARRAY_SIZE(seen); i++) {
		struct io_uring_sqe *sqe = uring_next_sqe(&uring);

		assert_non_null(sqe);
		sqe->opcode = IORING_OP_NOP;
		sqe->user_data = i;
	}
	while (n < ARRAY_SIZE(seen)) {
		assert_int_equal(uring_enter(&uring, true), 0);
		for (; uring_take_cqe(&uring, &cqe); n++) {
			assert_int_equal(cqe.res, 0);
			assert_false(seen[cqe.user_data]);
			seen[cqe.user_data] = true;
		}
	}
	uring_close(&uring);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists_of_processors_are_counted),
		cmocka_unit_test(each_possible_processor_has_a_thread),
		cmocka_unit_test(this_machine_has_threads),
		cmocka_unit_test_setup(a_request_is_one_message, post_open),
		cmocka_unit_test_setup(a_request_of_another_form_is_none, post_open),
		cmocka_unit_test_setup(an_answer_lies_where_the_kernel_looks, post_open),
		cmocka_unit_test(what_is_handed_in_comes_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
