/* SPDX-License-Identifier: MIT */
/*
 * test_fs_device.c - what is written to the device, here a pipe: the answer to INIT gets its bit
 * where its form is known, and goes as it is where it is not, which the session is told.
 */
#include "rye_test.h"

#include "core/front.h"
#include "loop/loop.h"
#include "scope.h"

#include <errno.h>
#include <linux/fuse.h>
#include <sys/uio.h>
#include <unistd.h>

static struct {
	const struct fuse_custom_io *io;
	int pipe[2];
	bool alone; /* what the session is told */
} device;

int __wrap_fuse_session_custom_io(struct fuse_session *session, const struct fuse_custom_io *io,
				  int fd);
int __wrap_fuse_session_fd(struct fuse_session *session);

int __wrap_fuse_session_custom_io(struct fuse_session *session, const struct fuse_custom_io *io,
				  int fd)
{
	device.io = io;
	return 0;
}

int __wrap_fuse_session_fd(struct fuse_session *session)
{
	return device.pipe[1];
}

struct answer {
	struct fuse_out_header head;
	struct fuse_init_out init;
};

/* As the kernel gets it, of an answer that libfuse writes in pieces that end at those places. */
static struct answer passed(struct answer answer, size_t len, const size_t *ends, size_t n)
{
	struct front front = { .parallel_lookups = true };
	struct answer got = { 0 };
	struct iovec iov[3];
	size_t at = 0;

	answer.head.len = (uint32_t)len;
	for (size_t i = 0; i < n; i++) {
		iov[i] = (struct iovec){ (char *)&answer + at, ends[i] - at };
		at = ends[i];
	}
	assert_int_equal(device.io->writev(device.pipe[1], iov, (int)n, &front), (ssize_t)len);
	assert_int_equal(read(device.pipe[0], &got, sizeof(got)), (ssize_t)len);
	/* the second is none of INIT's */
	answer.init.flags = 0;
	assert_int_equal(device.io->writev(device.pipe[1], iov, (int)n, &front), (ssize_t)len);
	assert_int_equal(read(device.pipe[0], &answer, sizeof(answer)), (ssize_t)len);
	assert_int_equal(answer.init.flags, 0);
	device.alone = front.lookups_alone;
	return got;
}

static const struct answer usual = {
	.head = { .unique = 2 },
	.init = { .major = FUSE_KERNEL_VERSION, .minor = 36, .flags = FUSE_ASYNC_READ },
};
#define HEAD sizeof(struct fuse_out_header)
#define WHOLE (HEAD + sizeof(struct fuse_init_out))

static void the_usual_answer_gets_the_bit(void **state)
{
	struct answer got = passed(usual, WHOLE, (size_t[]){ HEAD, WHOLE }, 2);

	assert_int_equal(got.init.flags, FUSE_ASYNC_READ | FUSE_PARALLEL_DIROPS);
	assert_int_equal(got.init.minor, 36);
	assert_false(device.alone);
}

static void a_library_that_tells_itself_is_left_alone(void **state)
{
	struct answer own = usual;

	own.init.flags |= FUSE_PARALLEL_DIROPS;
	assert_int_equal(passed(own, WHOLE, (size_t[]){ HEAD, WHOLE }, 2).init.flags,
			 own.init.flags);
	assert_false(device.alone);
}

static void as_it_is(struct answer answer, size_t len, const size_t *ends, size_t n)
{
	assert_int_equal(passed(answer, len, ends, n).init.flags, answer.init.flags);
	assert_true(device.alone);
}

static void another_form_goes_as_it_is(void **state)
{
	struct answer other = usual;

	as_it_is(usual, WHOLE, (size_t[]){ HEAD, HEAD + 16, WHOLE }, 3);
	as_it_is(usual, WHOLE, (size_t[]){ 8, WHOLE }, 2);
	as_it_is(usual, HEAD + 24, (size_t[]){ HEAD, HEAD + 24 }, 2);
	other.init.major = FUSE_KERNEL_VERSION + 1;
	as_it_is(other, WHOLE, (size_t[]){ HEAD, WHOLE }, 2);
	other = usual;
	other.head.error = -EPROTO;
	as_it_is(other, WHOLE, (size_t[]){ HEAD, WHOLE }, 2);
}

static int device_open(void **state)
{
	return pipe(device.pipe) || device_attach(NULL);
}

static int device_shut(void **state)
{
	close(device.pipe[0]);
	close(device.pipe[1]);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_usual_answer_gets_the_bit),
		cmocka_unit_test(a_library_that_tells_itself_is_left_alone),
		cmocka_unit_test(another_form_goes_as_it_is),
	};

	return cmocka_run_group_tests(tests, device_open, device_shut);
}
