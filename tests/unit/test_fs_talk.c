/* SPDX-License-Identifier: MIT */
/*
 * test_fs_talk.c - conversations between a kernel and an engine that are both made up here:
 * requests are records that remember their answer, runs end when a case says so.
 */
#include "fake/talk_world.h"

#include "clock.h"
#include "core/reply.h"
#include "talk/talk_inner.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static void one_message(void **state)
{
	fuse_req_t req = put(0, "{\"a\":1}\n");

	assert_false(answered(req, 0));
	assert_int_equal(world.n, 1);
	assert_string_equal(world.calls[0].message, "{\"a\":1}");
	assert_true(talk_waits(world.talk));
	finish(0, RYE_OK, OK);
	assert_int_equal(result(req), -8);
	assert_string_equal(look(8), OK);
	assert_string_equal(look(0), "{\"a\":1}\n" OK);
	assert_int_equal(transcript_size(&world.talk->text), 8 + strlen(OK));
	assert_false(talk_waits(world.talk));
}

/* A thread that has stepped aside sends its last answer itself, behind its place. */
static void left_to_the_thread(void **state)
{
	struct node_answer answer = { .due = false };
	struct talk_write write = { .bytes = { "{", 1 }, .answer = &answer };
	fuse_req_t req = request();

	talk_write(world.talk, req, &write);
	assert_true(answer.due);
	assert_int_equal(answer.sys, 0);
	assert_int_equal(answer.count, 1);
	reply_written(req, answer.count);
	answer.due = false;
	req = request();
	write = (struct talk_write){ .bytes = { "}", 1 }, .off = 1, .answer = &answer };
	talk_write(world.talk, req, &write);
	assert_false(answer.due);
	/* the run has ended behind its return */
	finish(0, RYE_OK, OK);
	assert_int_equal(result(req), -1);
	assert_false(answer.due);
}

static void first_content(void **state)
{
	struct talk *other;

	assert_string_equal(look(0), "usage\n");
	result(put(0, "{"));
	assert_int_equal(world.n, 0);
	put(1, "}");
	finish(0, RYE_OK, OK);
	other = world.talk;
	world.talk = lookup();
	assert_string_equal(look(0), OK);
	assert_int_equal(talk_mode(world.talk), 0600);
	talk_forget(other);
}

static void byte_by_byte(void **state)
{
	const char *message = "{\"a\": [1, \"}\"]}";
	fuse_req_t req = NULL;

	for (size_t i = 0; message[i]; i++) {
		char byte[2] = { message[i], '\0' };

		assert_int_equal(world.n, 0);
		req = put(i, byte);
		if (message[i + 1])
			assert_int_equal(result(req), -1);
	}
	assert_int_equal(world.n, 1);
	finish(0, RYE_OK, OK);
	assert_int_equal(result(req), -1);
	/* its newline comes as a write of its own */
	assert_int_equal(result(put(strlen(message), "\n")), -1);
	assert_int_equal(world.n, 1);
	assert_string_equal(look(strlen(message) + 1), OK);
}

static void blank_lines(void **state)
{
	size_t off = 8;

	put(0, "{\"a\":1}\n");
	finish(0, RYE_OK, OK);
	assert_int_equal(result(put(off, "\n")), -1);
	assert_int_equal(world.n, 1);
	/* once the reply was read, an empty line is a message */
	look(off + 1);
	put(off + 1 + strlen(OK), "\n");
	assert_int_equal(world.n, 2);
	assert_string_equal(world.calls[1].message, "{}");
	finish(1, RYE_OK, OK);
}

static void failure(void **state)
{
	fuse_req_t req = put(0, "{\"a\":1}\n");

	finish(0, RYE_TOOL_FAILED, BAD);
	assert_int_equal(result(req), EREMOTEIO);
	assert_string_equal(look(0), BAD);
	assert_string_equal(world.complaints, "tool:a/b run: it failed\n");
	/* the writer's destructor sends the same bytes, more behind them, or in pieces */
	assert_int_equal(result(put(0, "{\"a\":1}\n")), EREMOTEIO);
	assert_int_equal(result(put(0, "{\"a\":1}\n{\"b\":2}\n")), EREMOTEIO);
	assert_int_equal(result(put(0, "{\"a\"")), -4);
	assert_int_equal(result(put(4, ":1}\n")), EREMOTEIO);
	assert_int_equal(result(put(4, ":1}\n")), EREMOTEIO);
	assert_int_equal(world.n, 1);
	/* another message at that place runs */
	req = put(0, "{\"c\":3}\n");
	assert_int_equal(world.n, 2);
	finish(1, RYE_OK, OK);
	assert_int_equal(result(req), -8);
}

/* What was read of a run that succeeded would be nothing: its write fails instead. */
static void reply_without_room(void **state)
{
	char reply[600];
	fuse_req_t req = put(0, "{\"a\":1}\n");

	snprintf(reply, sizeof(reply), "{\"text\":\"%0500d\"}\n", 7);
	world.lacking_at_end = true;
	finish(0, RYE_OK, reply);
	world.lacking_at_end = false;
	assert_int_equal(result(req), ENOMEM);
	req = put(8, "{\"c\":3}\n");
	finish(1, RYE_OK, OK);
	assert_int_equal(result(req), -8);
}

static void several_in_one(void **state)
{
	fuse_req_t req = put(0, "{\"a\":1}\n{\"b\":2}\n{\"c\":3}\n");

	assert_int_equal(world.n, 1);
	finish(0, RYE_OK, OK);
	assert_int_equal(world.n, 2);
	/* a chain of those would nest as deep as the write has messages */
	assert_true(world.calls[0].at_once);
	assert_false(world.calls[1].at_once);
	assert_false(answered(req, 0));
	finish(1, RYE_TOOL_FAILED, BAD);
	/* short: what follows the first message will be sent again, and is not run again */
	assert_int_equal(result(req), -7);
	assert_int_equal(result(put(7, "\n{\"b\":2}\n{\"c\":3}\n")), EREMOTEIO);
	assert_int_equal(world.n, 2);
	assert_string_equal(look(7), OK BAD);
	req = put(7, "\n{\"d\":4}\n");
	finish(2, RYE_OK, OK);
	assert_int_equal(result(req), -9);
}

/* A writer ahead of its reader: messages go in at its offset, replies keep their order. */
static void unread_tail(void **state)
{
	put(0, "{\"a\":1}\n");
	finish(0, RYE_OK, "1\n");
	put(8, "{\"a\":2}\n");
	finish(1, RYE_OK, "2\n");
	put(16, "{\"a\":3}\n");
	finish(2, RYE_OK, "3\n");
	assert_string_equal(look(24), "1\n2\n3\n");
	/* it has read one of three and writes behind that */
	put(26, "{\"a\":4}\n");
	finish(3, RYE_OK, "4\n");
	assert_string_equal(look(34), "2\n3\n4\n");
	assert_string_equal(world.calls[3].message, "{\"a\":4}");
}

static void appended(void **state)
{
	struct talk_write write = { .bytes = { "{\"a\":1}\n", 8 }, .off = 6, .append = true };
	fuse_req_t req = request();

	talk_write(world.talk, req, &write);
	finish(0, RYE_OK, OK);
	assert_int_equal(result(req), -8);
	assert_string_equal(look(14), OK);
	assert_string_equal(look(0), "usage\n{\"a\":1}\n" OK);
}

static void broken(void **state)
{
	assert_int_equal(result(put(0, "{\"a\":1]\n")), EINVAL);
	assert_int_equal(world.n, 0);
	assert_non_null(strstr(look(0), "\"status\":\"error\""));
	assert_non_null(strstr(world.complaints, "tool:a/b run: message broken"));
}

/* The engine reads it: here only its end is found. */
static void yaml(void **state)
{
	fuse_req_t req = put(0, "a: 1\nb: 2\n");

	assert_string_equal(world.calls[0].message, "a: 1\nb: 2\n");
	assert_int_equal(world.calls[0].form, RYE_FORM_YAML);
	finish(0, RYE_OK, OK);
	assert_int_equal(result(req), -10);
	put(10, "{}");
	assert_int_equal(world.calls[1].form, RYE_FORM_JSON);
	finish(1, RYE_INVALID, BAD);
}

static void yaml_unended(void **state)
{
	fuse_req_t req;

	assert_int_equal(result(put(0, "command: make")), EINVAL);
	assert_non_null(strstr(look(0), "end it with a newline"));
	assert_non_null(strstr(world.complaints, "end it with a newline"));
	/* the writer's destructor sends the same bytes; then comes a corrected message */
	assert_int_equal(result(put(0, "command: make")), EINVAL);
	assert_int_equal(world.n, 0);
	req = put(0, "command: make\n");
	assert_int_equal(world.n, 1);
	finish(0, RYE_OK, OK);
	assert_int_equal(result(req), -14);
	/* behind a message of the same write: that one stands, the newline is not an empty one */
	req = put(14, "{\"a\":1}\nb: 1");
	finish(1, RYE_OK, OK);
	assert_int_equal(result(req), -7);
	assert_int_equal(result(put(21, "\nb: 1")), EINVAL);
	assert_int_equal(result(put(21, "\n")), -1);
	assert_int_equal(world.n, 2);
}

/* What the kernel may have cut out of a longer write. */
static void yaml_cut(void **state)
{
	static char text[31 * 4096 + 1];

	memset(text, ' ', sizeof(text) - 1);
	memcpy(text, "a: 1\n", 5);
	text[sizeof(text) - 2] = '\n';
	assert_int_equal(result(put(0, text)), EFBIG);
	assert_int_equal(world.n, 0);
	talk_truncate(world.talk, 0);
	text[sizeof(text) - 2] = '\0';
	text[sizeof(text) - 3] = '\n';
	put(0, text);
	assert_int_equal(world.n, 1);
	finish(0, RYE_OK, OK);
}

static void refused(void **state)
{
	struct talk_write write = { .bytes = { "{}", 2 } };
	fuse_req_t req = request();

	req->ctx.uid = getuid() + 1;
	talk_write(world.talk, req, &write);
	assert_int_equal(result(req), EACCES);
	req = request();
	req->ctx.pid = 0;
	talk_write(world.talk, req, &write);
	assert_int_equal(result(req), EACCES);
	req = request();
	write.paged = true;
	talk_write(world.talk, req, &write);
	assert_int_equal(result(req), EINVAL);
	assert_int_equal(world.n, 0);
}

static void emptied(void **state)
{
	talk_truncate(world.talk, 3);
	assert_int_equal(transcript_size(&world.talk->text), 6);
	talk_truncate(world.talk, 0);
	assert_int_equal(transcript_size(&world.talk->text), 0);
	assert_string_equal(look(0), "");
	assert_int_equal(world.n, 0);
}

static void readers_wait(void **state)
{
	struct stat base = { .st_ino = 5 };
	fuse_req_t size = request(), now = request(), bytes = request(), write;

	world.slow_kernel = true;
	look(0);
	talk_getattr(world.talk, now, true, &base);
	assert_true(answered(now, 0));
	write = put(6, "{\"a\":1}\n");
	talk_getattr(world.talk, size, true, &base);
	talk_read(world.talk, bytes, 4096, 14);
	assert_false(answered(size, 2) || answered(bytes, 0));
	now = request();
	talk_getattr(world.talk, now, false, &base);
	assert_true(answered(now, 0));
	finish(0, RYE_OK, OK);
	assert_int_equal(world.n_invals, 1);
	assert_true(answered(bytes, 0));
	world.invals[0].done(world.invals[0].done_arg);
	assert_true(answered(size, 500) && answered(write, 500));
	assert_int_equal(size->st.st_size, 14 + strlen(OK));
	assert_int_equal(size->st.st_ino, 5);
	assert_string_equal(bytes->data, OK);
}

/* Pages that a READ filled are dropped before the answer, from the writer's page on. */
static void pages(void **state)
{
	fuse_req_t req = put(0, "{\"a\":1}\n");

	world.slow_kernel = true;
	finish(0, RYE_OK, OK);
	assert_int_equal(result(req), -8);
	assert_int_equal(world.n_invals, 0);
	look(0);
	req = put(8 + strlen(OK), "{\"b\":2}\n");
	/* not for the length of the run: the kernel may hold the thread that does it as long */
	assert_int_equal(world.n_invals, 0);
	finish(1, RYE_OK, OK);
	assert_int_equal(world.n_invals, 1);
	assert_int_equal(world.invals[0].ino, 77);
	assert_int_equal(world.invals[0].from, 0);
	assert_int_equal(world.invals[0].len, 4096);
	assert_false(answered(req, 2));
	world.invals[0].done(world.invals[0].done_arg);
	assert_int_equal(result(req), -8);
	/* nothing was read since */
	req = put(16 + 2 * strlen(OK), "{\"c\":3}\n");
	finish(2, RYE_OK, OK);
	assert_int_equal(result(req), -8);
	assert_int_equal(world.n_invals, 1);
}

/* A process with a signal that waits: stopped ones take none. */
static pid_t stopped(int signal)
{
	pid_t pid = fork();

	if (pid == 0) {
		setsid();
		raise(SIGSTOP);
		_exit(0);
	}
	waitpid(pid, NULL, WUNTRACED);
	kill(pid, signal);
	return pid;
}

static fuse_req_t put_as(pid_t pid)
{
	struct talk_write write = { .bytes = { "{\"a\":1}\n", 8 } };
	fuse_req_t req = request();

	req->ctx.pid = pid;
	talk_write(world.talk, req, &write);
	return req;
}

static void reap(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void cancelled(void **state)
{
	pid_t pid = stopped(SIGINT);
	fuse_req_t req = put_as(pid);

	assert_int_equal(world.n, 1);
	req->on_interrupt(req, req->on_interrupt_arg);
	for (int i = 0; i < 5000 && !world.calls[0].cancel; i++)
		usleep(1000);
	assert_int_equal(world.calls[0].cancel, RYE_INTERRUPTED);
	finish(0, RYE_INTERRUPTED, BAD);
	assert_int_equal(result(req), EINTR);
	assert_int_equal(result(put_as(pid)), ECANCELED);
	assert_int_equal(world.n, 1);
	reap(pid);
}

/* The engine is slow to kill: the writer does not wait for that. */
static void cancelled_slowly(void **state)
{
	pid_t pid = stopped(SIGTERM);
	fuse_req_t req = put_as(pid);
	int64_t begin = clock_ns();

	req->on_interrupt(req, req->on_interrupt_arg);
	assert_true(answered(req, 400));
	print_message("# after %lld ms\n", (long long)((clock_ns() - begin) / NS_PER_MS));
	assert_int_equal(result(req), EINTR);
	assert_int_equal(world.calls[0].cancel, RYE_INTERRUPTED);
	finish(0, RYE_INTERRUPTED, BAD);
	assert_string_equal(look(0), BAD);
	reap(pid);
}

static void other_signals(void **state)
{
	pid_t pid = stopped(SIGCHLD);
	fuse_req_t req;

	kill(pid, SIGWINCH);
	req = put_as(pid);
	req->on_interrupt(req, req->on_interrupt_arg);
	assert_false(answered(req, 150));
	assert_int_equal(world.calls[0].cancel, 0);
	/* and later ^C: the kernel does not tell a second time */
	kill(pid, SIGINT);
	for (int i = 0; i < 5000 && !world.calls[0].cancel; i++)
		usleep(1000);
	assert_int_equal(world.calls[0].cancel, RYE_INTERRUPTED);
	finish(0, RYE_INTERRUPTED, BAD);
	assert_int_equal(result(req), EINTR);
	reap(pid);
}

/* What was answered first is applied when its thread has a processor, however long that takes: the other answer waits. */
static void one_after_the_other(void **state)
{
	pid_t pid = stopped(SIGCHLD);
	struct stat base = { 0 };
	fuse_req_t size = request(), req;

	/* the write makes the file longer: it is answered first */
	req = put_as(pid);
	talk_getattr(world.talk, size, true, &base);
	finish(0, RYE_OK, OK);
	assert_int_equal(result(req), -8);
	assert_false(answered(size, 20 * TALK_SETTLE_MS));
	kill(pid, SIGCONT);
	assert_true(answered(size, 10 * TALK_SETTLE_MOST_MS));
	reap(pid);
	/* it does not: its reader has the size first */
	pid = stopped(SIGCHLD);
	talk_stat(world.talk, &base);
	size = request();
	size->ctx.pid = pid;
	req = put(0, "{}\n");
	talk_getattr(world.talk, size, true, &base);
	finish(1, RYE_OK, OK);
	assert_true(answered(size, 0));
	assert_false(answered(req, 20 * TALK_SETTLE_MS));
	kill(pid, SIGCONT);
	assert_true(answered(req, 10 * TALK_SETTLE_MOST_MS));
	assert_int_equal(result(req), -3);
	reap(pid);
}

/* One that has no processor for too long. */
static void not_for_ever(void **state)
{
	pid_t pid = stopped(SIGCHLD);
	struct stat base = { 0 };
	fuse_req_t size = request(), req = put_as(pid);

	talk_getattr(world.talk, size, true, &base);
	finish(0, RYE_OK, OK);
	assert_int_equal(result(req), -8);
	assert_true(answered(size, 10 * TALK_SETTLE_MOST_MS));
	reap(pid);
}

static void bounded_wait(void **state)
{
	struct talk *first;
	fuse_req_t req, reader;

	open_run(1);
	world.talk = lookup();
	reader = request();
	req = put(0, "{\"a\":1}\n");
	assert_true(answered(req, 1500));
	assert_int_equal(result(req), EINPROGRESS);
	assert_true(world.calls[0].detached);
	first = world.talk;
	world.talk = lookup();
	assert_string_equal(look(0), "{\"status\":\"running\",\"thread_id\":\"t-1\"}\n");
	talk_forget(world.talk);
	world.talk = first;
	/* the same descriptor waits again */
	talk_read(world.talk, reader, 4096, 0);
	assert_false(answered(reader, 5));
	assert_int_equal(result(put(0, "{\"a\":1}\n")), EINPROGRESS);
	finish(0, RYE_OK, OK);
	assert_true(answered(reader, 0));
	assert_string_equal(reader->data, OK);
}

static void mount_goes(void **state)
{
	struct stat base = { 0 };
	fuse_req_t req = put(0, "{\"a\":1}\n"), size = request();

	talk_getattr(world.talk, size, true, &base);
	parking_close(world.parking);
	assert_int_equal(world.calls[0].cancel, RYE_CANCELLED);
	assert_int_equal(result(req), ECANCELED);
	assert_int_equal(result(size), ECANCELED);
	/* a request that comes now cannot be parked */
	assert_int_equal(result(put(0, "{\"b\":2}\n")), ECANCELED);
	assert_int_equal(world.n, 1);
	size = request();
	talk_getattr(world.talk, size, true, &base);
	assert_int_equal(result(size), 0);
	talks_close(world.talks);
	talk_forget(world.talk);
	talks_free(world.talks);
	parking_free(world.parking);
	callers_close(world.callers);
	/* the engine calls back after all of that was freed */
	finish(0, RYE_CANCELLED, BAD);
	free_requests();
}

/* A write that lets its readers go first is answered all the same. */
static void mount_goes_meanwhile(void **state)
{
	struct stat base = { 0 };
	fuse_req_t req, size = request();

	talk_stat(world.talk, &base);
	req = put(0, "{}\n");
	talk_getattr(world.talk, size, true, &base);
	finish(0, RYE_OK, OK);
	assert_true(answered(size, 0));
	print_message("# waits: %d\n", !req->answered);
	parking_close(world.parking);
	assert_int_equal(result(req), -3);
	talk_forget(world.talk);
	talks_close(world.talks);
	talks_free(world.talks);
	parking_free(world.parking);
	callers_close(world.callers);
	free_requests();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(one_message),
		CASE(left_to_the_thread),
		CASE(first_content),
		CASE(byte_by_byte),
		CASE(blank_lines),
		CASE(failure),
		CASE(reply_without_room),
		CASE(several_in_one),
		CASE(unread_tail),
		CASE(appended),
		CASE(broken),
		CASE(yaml),
		CASE(yaml_unended),
		CASE(yaml_cut),
		CASE(refused),
		CASE(emptied),
		CASE(readers_wait),
		CASE(pages),
		CASE(cancelled),
		CASE(cancelled_slowly),
		CASE(other_signals),
		CASE(one_after_the_other),
		CASE(not_for_ever),
		cmocka_unit_test_teardown(bounded_wait, teardown),
		cmocka_unit_test_setup(mount_goes, setup),
		cmocka_unit_test_setup(mount_goes_meanwhile, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
