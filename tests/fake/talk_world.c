/* SPDX-License-Identifier: MIT */
/* talk_world.c - the kernel and the engine of talk_world.h. One case at a time. */
#include "fake/talk_world.h"

#include "core/reply.h"
#include "fake/rye_wraps.h"
#include "scope.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

struct talk_world world;

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
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
	*call = (struct rye_call){ .fn = fn,
				   .arg = arg,
				   .form = request->form,
				   .at_once = request->at_once };
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

void finish(size_t i, enum rye_code code, const char *reply)
{
	struct rye_outcome outcome = {
		.code = code,
		.reply = rye_blob_new(reply, strlen(reply)),
		.output = rye_blob_new("out", 3),
		.message = code == RYE_OK ? "" : "it failed",
	};

	world.lacking = world.lacking_at_end;
	world.calls[i].fn(world.calls[i].arg, &outcome);
	world.lacking = false;
	rye_blob_unref(outcome.reply);
	rye_blob_unref(outcome.output);
}

void *__wrap_malloc(size_t size)
{
	return world.lacking ? NULL : __real_malloc(size);
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

static void invalidate(void *arg, const struct notify_pages *inval)
{
	world.invals[world.n_invals++ % ARRAY_SIZE(world.invals)] = *inval;
	if (!world.slow_kernel)
		inval->done(inval->done_arg);
}

static void complain(void *arg, const char *line)
{
	size_t n = strlen(world.complaints);

	snprintf(world.complaints + n, sizeof(world.complaints) - n, "%s", line);
}

fuse_req_t request(void)
{
	fuse_req_t req = calloc(1, sizeof(*req));

	assert_non_null(req);
	req->ctx.pid = getpid();
	req->ctx.uid = getuid();
	req->next = world.requests;
	world.requests = req;
	return req;
}

bool answered(fuse_req_t req, int ms)
{
	while (!req->answered && ms-- > 0)
		usleep(1000);
	return req->answered;
}

fuse_req_t put_bytes(size_t off, const char *ptr, size_t len)
{
	fuse_req_t req = request();
	char *bytes = malloc(len ? len : 1);
	struct talk_write write = { .bytes = { bytes, len }, .off = (off_t)off };

	assert_non_null(bytes);
	memcpy(bytes, ptr, len);
	talk_write(world.talk, req, &write);
	free(bytes);
	return req;
}

fuse_req_t put(size_t off, const char *text)
{
	return put_bytes(off, text, strlen(text));
}

/* The write's errno, or minus what it counted, when it must have been answered by now. */
int result(fuse_req_t req)
{
	int result = req->sys ? req->sys : -(int)req->count;

	assert_true(answered(req, 0));
	return result;
}

const char *look(size_t off)
{
	static char text[8192];
	fuse_req_t req = request();

	talk_read(world.talk, req, 4096, (off_t)off);
	assert_true(answered(req, 0));
	memcpy(text, req->data, req->len);
	text[req->len] = '\0';
	return text;
}

void open_run(int wait_s)
{
	struct callers_env callers = { .owner = getuid() };
	struct talks_env env = { .wait_s = wait_s, .invalidate = invalidate, .complain = complain };

	memset(&world, 0, sizeof(world));
	assert_int_equal(callers_open(&callers, &world.callers), 0);
	env.callers = world.callers;
	assert_int_equal(parking_open(&world.parking), 0);
	env.parking = world.parking;
	assert_int_equal(talks_open(&env, &world.talks), 0);
}

struct talk *lookup(void)
{
	struct caller *who = caller_identify(world.callers, getpid(), getuid());
	struct talk_target target = { RYE_RUN, RYE_TOOL, "a/b" };
	struct talk *talk = talk_new(world.talks, &target, who);

	assert_non_null(talk);
	talk_bind(talk, 77);
	caller_unref(who);
	return talk;
}

int setup(void **state)
{
	open_run(0);
	world.talk = lookup();
	return 0;
}

void free_requests(void)
{
	while (world.requests) {
		struct fuse_req *next = world.requests->next;

		free(world.requests);
		world.requests = next;
	}
}

void close_world(void)
{
	parking_close(world.parking);
	talks_close(world.talks);
	talks_free(world.talks);
	parking_free(world.parking);
	callers_close(world.callers);
	free_requests();
}

int teardown(void **state)
{
	if (world.talk)
		talk_forget(world.talk);
	close_world();
	return 0;
}
