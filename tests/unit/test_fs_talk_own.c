/* SPDX-License-Identifier: MIT */
/* test_fs_talk_own.c - what a caller finds of its own: output, errors, unfinished messages. */
#include "fake/talk_world.h"

#include <stdio.h>
#include <unistd.h>

static struct rye_blob *own(ctl_own_fn *fn, const char *key)
{
	struct caller *who = caller_identify(world.callers, getpid(), getuid());
	struct own_origin origin;
	struct rye_blob *blob = fn(world.talks, who, key, &origin);

	caller_unref(who);
	assert_non_null(blob);
	return blob;
}

static void expect_own(ctl_own_fn *fn, const char *key, const char *wanted)
{
	struct rye_blob *blob = own(fn, key);

	assert_non_null(strstr(blob->data, wanted));
	rye_blob_unref(blob);
}

static void unfinished(void **state)
{
	assert_int_equal(result(put(0, "{\"a\":")), -5);
	assert_non_null(strstr(look(5), "message unfinished: 5 bytes came, wanted }"));
	expect_own(own_errors, CTL_ERRORS_KEY, "unfinished");
	/* the sentence goes when the rest comes */
	put(5, "1}");
	assert_string_equal(world.calls[0].message, "{\"a\":1}");
	finish(0, RYE_OK, OK);
	assert_string_equal(look(7), OK);
	/* never completed: the next lookup is told */
	result(put(7 + strlen(OK), "{\n"));
	talk_forget(world.talk);
	world.talk = lookup();
	assert_non_null(strstr(look(0), "message unfinished: 2 bytes came"));
	expect_own(own_errors, CTL_ERRORS_KEY, "unfinished");
}

/* Looked up again, an unfinished message is the last one: no older reply is shown. */
static void unfinished_hides(void **state)
{
	struct talk *other;

	put(0, "{}");
	finish(0, RYE_OK, OK);
	expect_own(own_output, "tool:a/b", "out");
	result(put(2, "{\"a\":"));
	expect_own(own_output, "tool:c/d", "no reply of this caller");
	assert_string_equal(world.complaints, "");
	expect_own(own_output, "tool:a/b", "message unfinished: 5 bytes came, wanted }");
	assert_non_null(strstr(world.complaints, "tool:a/b run: message unfinished"));
	expect_own(own_errors, CTL_ERRORS_KEY, "message unfinished");
	other = world.talk;
	world.talk = lookup();
	assert_non_null(strstr(look(0), "message unfinished: 5 bytes came"));
	/* a later message has a later reply, told once */
	put(0, "{}");
	finish(1, RYE_OK, OK);
	expect_own(own_output, "tool:a/b", "out");
	talk_forget(world.talk);
	talk_forget(other);
	world.talk = NULL;
	expect_own(own_output, "tool:a/b", "out");
	assert_null(strstr(strchr(world.complaints, '\n') + 1, "unfinished"));
}

/* Goes on after it was counted: its reply is the last one then. */
static void unfinished_goes_on(void **state)
{
	fuse_req_t req;

	result(put(0, "{\"a\":"));
	expect_own(own_output, "tool:a/b", "message unfinished: 5 bytes");
	result(put(5, "[1"));
	expect_own(own_output, "tool:a/b", "message unfinished: 7 bytes");
	req = put(7, "]}");
	finish(0, RYE_OK, OK);
	assert_int_equal(result(req), -2);
	expect_own(own_output, "tool:a/b", "out");
}

/* Without any look: after two seconds it counts, so what comes later is later. */
static void unfinished_ages(void **state)
{
	struct talk *other = world.talk;

	result(put(0, "{"));
	world.talk = lookup();
	expect_own(own_errors, CTL_ERRORS_KEY, "unfinished");
	talk_forget(world.talk);
	world.talk = other;
	*world.complaints = '\0';
	result(put(1, "\"b\":"));
	usleep(2200 * 1000); /* OPEN_COUNTS_MS, and more */
	assert_string_equal(world.complaints, "");
	expect_own(own_errors, CTL_ERRORS_KEY, "message unfinished: 5 bytes");
	assert_non_null(strstr(world.complaints, "message unfinished: 5 bytes"));
}

static void nothing_yet(void **state)
{
	expect_own(own_output, "tool:a/b",
		   "tool:a/b: there is no reply of this caller here; write a message to run");
	expect_own(own_trace, "tool:a/b", "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(unfinished),      CASE(unfinished_hides), CASE(unfinished_goes_on),
		CASE(unfinished_ages), CASE(nothing_yet),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
