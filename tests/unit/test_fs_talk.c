/* SPDX-License-Identifier: MIT */
/*
 * test_fs_talk.c - conversations between a kernel and an engine that are both made up here:
 * requests are records that remember their answer, runs end when a case says so.
 */
#include "rye_test.h"

#include "caller.h"
#include "ctl.h"
#include "parking.h"
#include "reply.h"
#include "talk.h"
#include "util.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

struct fuse_req {
	struct fuse_req *next; /* all of a case: freed at its end */
	struct fuse_ctx ctx;
	fuse_interrupt_func_t on_interrupt;
	void *on_interrupt_arg;
	_Atomic int answered;
	int sys;
	size_t count, len;
	char data[8192];
	struct stat st;
};

struct rye_call {
	rye_done_fn fn;
	void *arg;
	char message[512];
	bool at_once;
	_Atomic int cancel;
	_Atomic bool detached;
};

static struct {
	struct callers *callers;
	struct parking *parking;
	struct talks *talks;
	struct talk *talk;
	struct rye_call calls[64];
	size_t n;
	struct talk_inval invals[16];
	size_t n_invals;
	struct fuse_req *requests;
	bool slow_kernel; /* the case ends invalidations itself */
	char complaints[4096];
} world;

void __wrap_rye_start(struct rye *rye, const struct rye_request *request, rye_done_fn fn, void *arg,
		      struct rye_call **ret);
void __wrap_rye_call_cancel(struct rye_call *call, enum rye_code code);
bool __wrap_rye_call_detach(struct rye_call *call, char thread_id[64]);
void __wrap_rye_call_unref(struct rye_call *call);
uint64_t __wrap_rye_run_of(struct rye *rye, const pid_t *chain, size_t n, pid_t session);
bool __wrap_rye_run_may(struct rye *rye, uint64_t run, enum rye_verb verb, enum rye_kind kind,
			const char *id);
int __wrap_rye_view(struct rye *rye, const struct rye_ask *ask, struct rye_blob **ret,
		    struct rye_err *err);
void __wrap_reply_errno(fuse_req_t req, int sys);
void __wrap_reply_written(fuse_req_t req, size_t count);
void __wrap_reply_bytes(fuse_req_t req, const char *ptr, size_t len);
void __wrap_reply_attr(fuse_req_t req, const struct stat *st, double timeout_s);
const struct fuse_ctx *__wrap_fuse_req_ctx(fuse_req_t req);
void __wrap_fuse_req_interrupt_func(fuse_req_t req, fuse_interrupt_func_t fn, void *arg);

/* ---- the engine ---- */

void __wrap_rye_start(struct rye *rye, const struct rye_request *request, rye_done_fn fn, void *arg,
		      struct rye_call **ret)
{
	struct rye_call *call = &world.calls[world.n++];

	assert_in_range(world.n, 1, 63);
	*call = (struct rye_call){ .fn = fn, .arg = arg, .at_once = request->at_once };
	snprintf(call->message, sizeof(call->message), "%.*s", (int)request->message.len,
		 request->message.ptr);
	*ret = call;
}

void __wrap_rye_call_cancel(struct rye_call *call, enum rye_code code)
{
	call->cancel = (int)code;
}

bool __wrap_rye_call_detach(struct rye_call *call, char thread_id[64])
{
	call->detached = true;
	snprintf(thread_id, 64, "t-1");
	return true;
}

void __wrap_rye_call_unref(struct rye_call *call)
{
}

uint64_t __wrap_rye_run_of(struct rye *rye, const pid_t *chain, size_t n, pid_t session)
{
	return 0;
}

bool __wrap_rye_run_may(struct rye *rye, uint64_t run, enum rye_verb verb, enum rye_kind kind,
			const char *id)
{
	return true;
}

int __wrap_rye_view(struct rye *rye, const struct rye_ask *ask, struct rye_blob **ret,
		    struct rye_err *err)
{
	*ret = rye_blob_new("usage\n", 6);
	return 0;
}

static void finish(size_t i, enum rye_code code, const char *reply)
{
	struct rye_outcome outcome = {
		.code = code,
		.reply = rye_blob_new(reply, strlen(reply)),
		.output = rye_blob_new("out", 3),
		.message = code == RYE_OK ? "" : "it failed",
	};

	world.calls[i].fn(world.calls[i].arg, &outcome);
	rye_blob_unref(outcome.reply);
	rye_blob_unref(outcome.output);
}

/* ---- the kernel ---- */

static void answer(fuse_req_t req)
{
	assert_int_equal(req->answered, 0);
	req->answered = 1;
}

void __wrap_reply_errno(fuse_req_t req, int sys)
{
	req->sys = sys;
	answer(req);
}

void __wrap_reply_written(fuse_req_t req, size_t count)
{
	req->count = count;
	answer(req);
}

void __wrap_reply_bytes(fuse_req_t req, const char *ptr, size_t len)
{
	assert_in_range(len, 0, sizeof(req->data) - 1);
	memcpy(req->data, ptr, len);
	req->len = len;
	answer(req);
}

void __wrap_reply_attr(fuse_req_t req, const struct stat *st, double timeout_s)
{
	req->st = *st;
	answer(req);
}

const struct fuse_ctx *__wrap_fuse_req_ctx(fuse_req_t req)
{
	return &req->ctx;
}

void __wrap_fuse_req_interrupt_func(fuse_req_t req, fuse_interrupt_func_t fn, void *arg)
{
	req->on_interrupt = fn;
	req->on_interrupt_arg = arg;
}

static void invalidate(void *arg, const struct talk_inval *inval)
{
	world.invals[world.n_invals++] = *inval;
	if (!world.slow_kernel)
		inval->done(inval->done_arg);
}

static void complain(void *arg, const char *line)
{
	size_t n = strlen(world.complaints);

	snprintf(world.complaints + n, sizeof(world.complaints) - n, "%s", line);
}

static fuse_req_t request(void)
{
	fuse_req_t req = calloc(1, sizeof(*req));

	assert_non_null(req);
	req->ctx.pid = getpid();
	req->ctx.uid = getuid();
	req->next = world.requests;
	world.requests = req;
	return req;
}

static bool answered(fuse_req_t req, int ms)
{
	while (!req->answered && ms-- > 0)
		usleep(1000);
	return req->answered;
}

static fuse_req_t put(size_t off, const char *text)
{
	fuse_req_t req = request();
	struct talk_write write = { .bytes = { text, strlen(text) }, .off = (off_t)off };

	talk_write(world.talk, req, &write);
	return req;
}

/* The write's errno, or minus what it counted, when it must have been answered by now. */
static int result(fuse_req_t req)
{
	int result = req->sys ? req->sys : -(int)req->count;

	assert_true(answered(req, 0));
	return result;
}

static const char *look(size_t off)
{
	static char text[8192];
	fuse_req_t req = request();

	talk_read(world.talk, req, 4096, (off_t)off);
	assert_true(answered(req, 0));
	memcpy(text, req->data, req->len);
	text[req->len] = '\0';
	return text;
}

static void open_run(int wait_s)
{
	struct callers_env callers = { .owner = getuid() };
	struct talks_env env = { .wait_s = wait_s, .invalidate = invalidate, .complain = complain };

	memset(&world, 0, sizeof(world));
	assert_int_equal(callers_open(&callers, &world.callers), 0);
	env.callers = world.callers;
	assert_int_equal(parking_open(NULL, NULL, &world.parking), 0);
	env.parking = world.parking;
	assert_int_equal(talks_open(&env, &world.talks), 0);
}

static struct talk *lookup(void)
{
	struct caller *who = caller_identify(world.callers, getpid(), getuid());
	struct talk_target target = { RYE_RUN, RYE_TOOL, "a/b" };
	struct talk *talk = talk_new(world.talks, &target, who);

	assert_non_null(talk);
	talk_bind(talk, 77);
	caller_unref(who);
	return talk;
}

static int setup(void **state)
{
	open_run(0);
	world.talk = lookup();
	return 0;
}

static void free_requests(void)
{
	while (world.requests) {
		struct fuse_req *next = world.requests->next;

		free(world.requests);
		world.requests = next;
	}
}

static void close_world(void)
{
	parking_close(world.parking);
	talks_close(world.talks);
	talks_free(world.talks);
	parking_free(world.parking);
	callers_close(world.callers);
	free_requests();
}

static int teardown(void **state)
{
	if (world.talk)
		talk_forget(world.talk);
	close_world();
	return 0;
}

#define OK "{\"status\":\"success\"}\n"
#define BAD "{\"status\":\"error\"}\n"

/* ---- cases ---- */

static void one_message(void **state)
{
	fuse_req_t req = put(0, "{\"a\":1}\n");

	assert_false(answered(req, 0));
	assert_int_equal(world.n, 1);
	assert_string_equal(world.calls[0].message, "{\"a\":1}");
	assert_true(talk_busy(world.talk));
	finish(0, RYE_OK, OK);
	assert_int_equal(result(req), -8);
	assert_string_equal(look(8), OK);
	assert_string_equal(look(0), "{\"a\":1}\n" OK);
	assert_int_equal(talk_size(world.talk), 8 + strlen(OK));
	assert_false(talk_busy(world.talk));
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
	/* the destructor's turn: the same bytes, more behind them, or in pieces */
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
	assert_int_equal(result(put(0, "nonsense\n")), EINVAL);
	assert_int_equal(world.n, 0);
	assert_non_null(strstr(look(0), "\"status\":\"error\""));
	assert_non_null(strstr(world.complaints, "tool:a/b run: message broken"));
}

static struct rye_blob *errors(void)
{
	struct caller *who = caller_identify(world.callers, getpid(), getuid());
	const struct ctl_own own = { CTL_ERRORS, "" };
	struct timespec at;
	struct rye_blob *blob = ctl_last_blob(world.talks, who, &own, &at);

	caller_unref(who);
	assert_non_null(blob);
	return blob;
}

static void unfinished(void **state)
{
	struct rye_blob *blob;

	assert_int_equal(result(put(0, "{\"a\":")), -5);
	assert_non_null(strstr(look(5), "message unfinished: 5 bytes came, wanted }"));
	blob = errors();
	assert_non_null(strstr(blob->data, "unfinished"));
	rye_blob_unref(blob);
	/* the sentence goes when the rest comes */
	put(5, "1}");
	assert_string_equal(world.calls[0].message, "{\"a\":1}");
	finish(0, RYE_OK, OK);
	assert_string_equal(look(7), OK);
	/* left for good: the next lookup is told */
	result(put(7 + strlen(OK), "{\n"));
	talk_forget(world.talk);
	world.talk = lookup();
	assert_non_null(strstr(look(0), "message unfinished: 2 bytes came"));
	blob = errors();
	assert_non_null(strstr(blob->data, "unfinished"));
	rye_blob_unref(blob);
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
	assert_int_equal(talk_size(world.talk), 6);
	talk_truncate(world.talk, 0);
	assert_int_equal(talk_size(world.talk), 0);
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
	for (int i = 0; i < 200 && !world.calls[0].cancel; i++)
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
	int64_t begin = now_ns();

	req->on_interrupt(req, req->on_interrupt_arg);
	assert_true(answered(req, 400));
	print_message("# after %lld ms\n", (long long)((now_ns() - begin) / NS_PER_MS));
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
	for (int i = 0; i < 300 && !world.calls[0].cancel; i++)
		usleep(1000);
	assert_int_equal(world.calls[0].cancel, RYE_INTERRUPTED);
	finish(0, RYE_INTERRUPTED, BAD);
	assert_int_equal(result(req), EINTR);
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
	/* what comes now cannot wait any more */
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
	/* the engine's last word comes when all of that is gone */
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

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(one_message),
		CASE(first_content),
		CASE(byte_by_byte),
		CASE(blank_lines),
		CASE(failure),
		CASE(several_in_one),
		CASE(unread_tail),
		CASE(appended),
		CASE(broken),
		CASE(unfinished),
		CASE(refused),
		CASE(emptied),
		CASE(readers_wait),
		CASE(pages),
		CASE(cancelled),
		CASE(cancelled_slowly),
		CASE(other_signals),
		cmocka_unit_test_teardown(bounded_wait, teardown),
		cmocka_unit_test_setup(mount_goes, setup),
		cmocka_unit_test_setup(mount_goes_meanwhile, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
