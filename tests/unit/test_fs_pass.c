/* SPDX-License-Identifier: MIT */
/*
 * Files below spaces/ that another process changed while memory is short: the kernel's old pages
 * cannot be dropped, so its question fails, and the next one drops them. libfuse and the notify
 * threads are made up, and so is the lack of memory.
 */
#include "rye_test.h"

#include "core/front.h"
#include "core/notify.h"
#include "pass/pass.h"
#include "scope.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <unistd.h>

/* What is to fail, and what the answers were. */
static struct {
	struct front front;
	int failing; /* 1: no memory for what has to wait, 2: none for a notification */
	int dropped, sys, answers;
} world;

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_malloc(size_t size)
{
	return world.failing == 1 ? NULL : __real_malloc(size);
}

void *__wrap_fuse_req_userdata(fuse_req_t req);
void *__wrap_fuse_req_userdata(fuse_req_t req)
{
	return &world.front;
}

bool __wrap_notify_inode_then(struct notify *notify, struct node *node, off_t from,
			      notify_done_fn done, void *arg);
bool __wrap_notify_inode_then(struct notify *notify, struct node *node, off_t from,
			      notify_done_fn done, void *arg)
{
	if (world.failing)
		return false;
	world.dropped++;
	if (done)
		done(arg);
	return true;
}

bool __wrap_notify_inode(struct notify *notify, struct node *node, off_t from);
bool __wrap_notify_inode(struct notify *notify, struct node *node, off_t from)
{
	return __wrap_notify_inode_then(notify, node, from, NULL, NULL);
}

void __wrap_reply_attr(fuse_req_t req, const struct stat *st, double timeout_s);
void __wrap_reply_attr(fuse_req_t req, const struct stat *st, double timeout_s)
{
	world.answers++;
	world.sys = 0;
}

void __wrap_reply_errno(fuse_req_t req, int sys);
void __wrap_reply_errno(fuse_req_t req, int sys)
{
	world.answers++;
	world.sys = sys;
}

static void ask(struct node *node)
{
	int before = world.answers;

	pass_class.aside->getattr(NULL, node, false);
	assert_int_equal(world.answers, before + 1);
}

static void old_pages_go_later(void **state)
{
	char path[] = "/tmp/ryefs-pass-XXXXXX";
	struct options opt = { 0 };
	struct pass pass = { .front = &world.front };
	struct pass_node file = { .fd = mkstemp(path), .rd = -1, .wr = -1, .pass = &pass };
	struct node node = { .class = &pass_class, .data = &file, .mode = S_IFREG | 0600 };

	assert_true(file.fd >= 0);
	unlink(path);
	world.front.opt = &opt;
	pthread_mutex_init(&pass.lock, NULL);
	ask(&node);
	assert_int_equal(world.sys, 0);
	atomic_store(&file.cached, true);
	assert_int_equal(write(file.fd, "other", 5), 5);
	for (world.failing = 1; world.failing < 3; world.failing++) {
		ask(&node);
		assert_int_equal(world.sys, ENOMEM);
		assert_int_equal(world.dropped, 0);
	}
	world.failing = 0;
	ask(&node);
	assert_int_equal(world.sys, 0);
	assert_int_equal(world.dropped, 1);
	pthread_mutex_destroy(&pass.lock);
	close(file.fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(old_pages_go_later) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
