/* SPDX-License-Identifier: MIT */
/*
 * test_fs_relay.c - three daemons of one connection, here in one process and over a pipe: each follows the one
 * before, requests about its nodes reach each, what only one could answer is not lost with it, and one that
 * never begins changes nothing.
 */
#include "rye_test.h"

#include "loop/hand.h"
#include "loop/loop_inner.h"

#include <errno.h>
#include <linux/fuse.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Of the daemons in their order: the first one's ids are bare addresses. */
#define NODE_OF(epoch) (((uint64_t)(epoch) << NODE_EPOCH_BIT) | 0x550012345678)
#define LONG (200 * 1024)

static int device[2]; /* what the kernel would read and write */

int __wrap_fuse_session_fd(struct fuse_session *session);
int __wrap_fuse_session_fd(struct fuse_session *session)
{
	(void)session;
	return device[1];
}

static void daemon_make(struct front *front)
{
	*front = (struct front){ .relay = relay_open() };
	assert_non_null(front->relay);
	assert_int_equal(nodes_open(0, &front->nodes), 0);
}

static void daemon_ends(struct front *front)
{
	relay_free(front->relay);
	nodes_close(front->nodes);
}

static void *begin(void *arg)
{
	return relay_begin(arg) ? arg : NULL;
}

static void follow(struct front *before, struct front *next)
{
	int socket = relay_offer(before), fd;
	pthread_t thread;
	void *begun;

	assert_true(socket >= 0);
	assert_int_equal(relay_offer(before), -EBUSY);
	daemon_make(next);
	fd = relay_follow(next, socket);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(next->init.epoch, before->init.epoch + 1);
	assert_int_equal(next->init.told_len, before->init.told_len);
	assert_int_equal(relay_hear(before), RELAY_NOTHING);
	assert_int_equal(pthread_create(&thread, NULL, begin, next), 0);
	while (relay_hear(before) != RELAY_WANTED)
		;
	assert_true(relay_stop(before->relay, NULL));
	assert_true(relay_pass(before));
	assert_int_equal(pthread_join(thread, &begun), 0);
	assert_non_null(begun);
	assert_true(atomic_load(&before->passed));
}

struct asked {
	struct fuse_in_header head;
	char body[LONG];
};

/* What the newest reads from the device; true: it is its own. */
static bool reads(struct front *newest, uint32_t opcode, uint64_t node, uint64_t unique, size_t len)
{
	static struct asked asked;

	asked = (struct asked){
		{ .len = (uint32_t)len, .opcode = opcode, .nodeid = node, .unique = unique }
	};
	memset(asked.body, (int)unique, sizeof(asked.body));
	return stale_pass(newest, device[1], &asked, len) == len;
}

static void gets(struct front *front, uint64_t unique, size_t len)
{
	static struct asked asked;

	assert_int_equal(relay_receive(front->relay, &asked, sizeof(asked)), len);
	assert_true(asked.head.unique == unique);
	if (len > sizeof(asked.head))
		assert_int_equal(asked.body[len - sizeof(asked.head) - 1], (char)unique);
}

/* 0: nothing was answered. */
static int answered(uint64_t unique)
{
	struct fuse_out_header out = { 0 };

	if (read(device[0], &out, sizeof(out)) != sizeof(out))
		return 0;
	assert_true(out.unique == unique);
	return -out.error;
}

static int one_set_up(void **state)
{
	(void)state;
	return pipe2(device, O_CLOEXEC | O_NONBLOCK);
}

static int one_tear_down(void **state)
{
	(void)state;
	close(device[0]);
	close(device[1]);
	return 0;
}

static void each_gets_its_own(void **state)
{
	struct front one, two, three;

	(void)state;
	daemon_make(&one);
	one.init.told_len = 7;
	assert_int_equal(relay_arrive(one.relay, 5), 5);
	relay_leave(one.relay, 5, 5);
	follow(&one, &two);
	assert_true(relay_arrive(one.relay, 5) != 5);
	assert_int_equal(relay_arrive(two.relay, 5), 5);
	relay_leave(two.relay, 5, 5);
	follow(&two, &three);
	assert_true(reads(&three, FUSE_LOOKUP, FUSE_ROOT_ID, 2, 80));
	assert_true(reads(&three, FUSE_LOOKUP, NODE_OF(2), 4, 80));
	assert_false(reads(&three, FUSE_LOOKUP, NODE_OF(0), 6, 80));
	gets(&one, 6, 80);
	assert_false(reads(&three, FUSE_WRITE, NODE_OF(1), 8, LONG));
	gets(&two, 8, LONG);
	assert_false(reads(&three, FUSE_FORGET, NODE_OF(1), 10, 56));
	gets(&two, 10, 56);
	/* no node says whose that is */
	assert_true(reads(&three, FUSE_INTERRUPT, 0, 7, 48));
	gets(&one, 7, 48);
	gets(&two, 7, 48);
	assert_int_equal(answered(0), 0);
	/* one that there never was */
	assert_false(reads(&three, FUSE_LOOKUP, NODE_OF(9), 12, 80));
	assert_int_equal(answered(12), ESTALE);
	assert_false(relay_over(&one));
	relay_take_out(one.relay, 6);
	assert_true(relay_over(&one));
	daemon_ends(&three);
	daemon_ends(&two);
	/* those after it have gone, and all of the mount with them */
	assert_int_equal(relay_receive(one.relay, &(struct asked){ 0 }.head, 80), -1);
	assert_int_equal(errno, ENODEV);
	daemon_ends(&one);
}

static void nodes_of_two_are_as_of_two_mounts(void **state)
{
	struct front one, two;
	struct {
		struct fuse_in_header head;
		struct fuse_rename2_in in;
	} move = {
		{ .len = sizeof(move), .opcode = FUSE_RENAME2, .nodeid = NODE_OF(0), .unique = 2 },
		{ .newdir = NODE_OF(1) }
	};
	struct {
		struct fuse_in_header head;
		struct fuse_copy_file_range_in in;
	} copy = { { .len = sizeof(copy),
		     .opcode = FUSE_COPY_FILE_RANGE,
		     .nodeid = NODE_OF(1),
		     .unique = 4 },
		   { .nodeid_out = NODE_OF(0) } };

	(void)state;
	daemon_make(&one);
	follow(&one, &two);
	assert_int_equal(stale_pass(&two, device[1], &move, sizeof(move)), 0);
	assert_int_equal(answered(2), EXDEV);
	assert_int_equal(stale_pass(&two, device[1], &copy, sizeof(copy)), 0);
	assert_int_equal(answered(4), EXDEV);
	copy.in.nodeid_out = NODE_OF(1);
	assert_int_equal(stale_pass(&two, device[1], &copy, sizeof(copy)), sizeof(copy));
	daemon_ends(&two);
	daemon_ends(&one);
}

static void what_one_had_in_hand_is_answered(void **state)
{
	struct front one, two;

	(void)state;
	daemon_make(&one);
	/* from before it was followed, and from after */
	relay_put(one.relay, &(struct fuse_in_header){ .opcode = FUSE_WRITE, .unique = 20 });
	relay_put(one.relay, &(struct fuse_in_header){ .opcode = FUSE_WRITE, .unique = 22 });
	relay_put(one.relay, &(struct fuse_in_header){ .opcode = FUSE_FORGET, .unique = 24 });
	follow(&one, &two);
	relay_take_out(one.relay, 22);
	assert_false(reads(&two, FUSE_READ, NODE_OF(0), 26, 80));
	daemon_ends(&one);
	assert_int_equal(relay_hear(&two), RELAY_NOTHING);
	assert_int_equal(answered(20), EIO);
	assert_int_equal(answered(26), EIO);
	assert_int_equal(answered(0), 0);
	assert_int_equal(relay_hear(&two), RELAY_NOTHING);
	assert_false(reads(&two, FUSE_READ, NODE_OF(0), 28, 80));
	assert_int_equal(answered(28), ESTALE);
	daemon_ends(&two);
}

static void *stays(void *arg)
{
	for (;;)
		pause();
	return arg;
}

/* A daemon that is over but for a thread, as one that waits in a notification is, and that has its sockets. */
static void cannot_end(struct front *front, const int tells[2], const int hears[2])
{
	pthread_t thread;
	int fd = relay_offer(front);

	if (fd < 0 || pthread_create(&thread, NULL, stays, NULL) ||
	    write(tells[1], &fd, sizeof(fd)) != sizeof(fd) || read(hears[0], &fd, 1) != 1)
		_exit(1);
	close(fd);
	syscall(SYS_exit, 0);
}

static void one_that_cannot_end(void **state)
{
	int tells[2], hears[2], fd, there;
	struct front one, two;
	pid_t pid;

	(void)state;
	daemon_make(&one);
	assert_int_equal(pipe(tells) | pipe(hears), 0);
	pid = fork();
	if (pid == 0)
		cannot_end(&one, tells, hears);
	assert_int_equal(read(tells[0], &there, sizeof(there)), sizeof(there));
	fd = (int)syscall(SYS_pidfd_open, pid, 0);
	daemon_make(&two);
	close(relay_follow(&two, (int)syscall(SYS_pidfd_getfd, fd, there, 0)));
	assert_false(reads(&two, FUSE_READ, NODE_OF(0), 90, 80));
	assert_true(relay_look(&two));
	assert_int_equal(answered(90), 0);
	assert_int_equal(write(hears[1], "", 1), 1);
	for (int i = 0; i < 5000 && relay_look(&two); i++)
		usleep(1000);
	assert_int_equal(answered(90), EIO);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	for (int i = 0; i < 2; i++) {
		close(tells[i]);
		close(hears[i]);
	}
	close(fd);
	daemon_ends(&two);
	daemon_ends(&one);
}

static void one_that_never_begins(void **state)
{
	struct front one, two;
	int socket;

	(void)state;
	daemon_make(&one);
	socket = relay_offer(&one);
	assert_true(socket >= 0);
	close(socket);
	assert_int_equal(relay_hear(&one), RELAY_FAILED);
	assert_int_equal(relay_arrive(one.relay, 5), 5);
	relay_leave(one.relay, 5, 5);
	/* it is asked, and gone when it is told */
	socket = relay_offer(&one);
	daemon_make(&two);
	close(relay_follow(&two, socket));
	assert_int_equal(send(socket, "R", 1, 0), 1);
	daemon_ends(&two);
	assert_int_equal(relay_hear(&one), RELAY_WANTED);
	assert_true(relay_stop(one.relay, NULL));
	assert_int_equal(relay_receive(one.relay, &(struct asked){ 0 }.head, 80), -1);
	assert_int_equal(errno, EINTR);
	assert_false(relay_pass(&one));
	relay_withdraw(one.relay);
	assert_false(atomic_load(&one.passed));
	assert_int_equal(relay_arrive(one.relay, 5), 5);
	relay_leave(one.relay, 5, 5);
	/* and then another does */
	follow(&one, &two);
	daemon_ends(&two);
	daemon_ends(&one);
}

static void a_hand_is_full(void **state)
{
	struct hand *hand = hand_open(-1);

	(void)state;
	for (uint64_t unique = 2; unique < 100000; unique += 2)
		hand_put(hand, unique);
	assert_false(hand_empty(hand));
	for (uint64_t unique = 2; unique < 100000; unique += 2)
		hand_take(hand, unique);
	assert_true(hand_empty(hand));
	hand_close(hand);
	/* what is no hand */
	assert_null(hand_open(dup(device[0])));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(each_gets_its_own, one_set_up, one_tear_down),
		cmocka_unit_test_setup_teardown(nodes_of_two_are_as_of_two_mounts, one_set_up,
						one_tear_down),
		cmocka_unit_test_setup_teardown(what_one_had_in_hand_is_answered, one_set_up,
						one_tear_down),
		cmocka_unit_test_setup_teardown(one_that_cannot_end, one_set_up, one_tear_down),
		cmocka_unit_test_setup_teardown(one_that_never_begins, one_set_up, one_tear_down),
		cmocka_unit_test_setup_teardown(a_hand_is_full, one_set_up, one_tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
