/* SPDX-License-Identifier: MIT */
/*
 * talk_world.h: what conversations are tested between: a kernel and an engine that are both
 * made up. Requests are records that remember their answer, runs end when a case says so.
 */
#ifndef RYE_TEST_TALK_WORLD_H
#define RYE_TEST_TALK_WORLD_H

#include "rye_test.h"

#include "caller/caller.h"
#include "core/ctl.h"
#include "core/parking.h"
#include "talk/talk.h"

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
	char message[2048];
	enum rye_form form;
	bool at_once;
	_Atomic int cancel;
	_Atomic bool detached;
};

struct talk_world {
	struct callers *callers;
	struct parking *parking;
	struct talks *talks;
	struct talk *talk;
	struct rye_call calls[64];
	size_t n;
	struct notify_pages invals[16]; /* the last ones */
	size_t n_invals;
	struct fuse_req *requests;
	bool slow_kernel; /* the case ends invalidations itself */
	bool lacking; /* malloc fails just now */
	bool lacking_at_end; /* … when a run's outcome is taken */
	char complaints[4096];
};

extern struct talk_world world;

/* The run of that message ends. */
void finish(size_t i, enum rye_code code, const char *reply);
/* One that a case owns until its teardown. */
fuse_req_t request(void);
/* Within that time? */
bool answered(fuse_req_t req, int ms);
/* A WRITE, of bytes in an array of their own: a sanitizer sees a read behind them. */
fuse_req_t put_bytes(size_t off, const char *ptr, size_t len);
fuse_req_t put(size_t off, const char *text);
/* The write's errno, or minus what it counted, when it must have been answered by now. */
int result(fuse_req_t req);
/* What a READ from there on brings. */
const char *look(size_t off);
/* Callers, the parking and talks; wait_s as the mount option. */
void open_run(int wait_s);
/* A fresh conversation of tool:a/b. */
struct talk *lookup(void);
/* One of them, in world.talk. */
int setup(void **state);
int teardown(void **state);
/* All but the conversations, which are forgotten before or by the engine's last word. */
void close_world(void);
void free_requests(void);

#define OK "{\"status\":\"success\"}\n"
#define BAD "{\"status\":\"error\"}\n"
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif
