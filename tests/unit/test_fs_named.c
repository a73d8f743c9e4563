/* SPDX-License-Identifier: MIT */
/* test_fs_named.c - calls by name: the table, what is forgotten and when, request.json's message. */
#include "rye_test.h"
#include "told.h"

#include "talk/named.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A minute, for tests. */
#define MINUTE_MS 60

static struct named *named;

static int named_setup(void **state)
{
	const struct named_env env = { NULL, MINUTE_MS * 1000000ll };

	return named_open(&env, &named);
}

static int named_teardown(void **state)
{
	assert_int_equal(named->n, 0);
	assert_int_equal(named->bytes, 0);
	named_free(named);
	return 0;
}

static struct named_call *call_of(const char *id, const char *name)
{
	const struct talk_target target = { RYE_RUN, RYE_TOOL, id };
	struct named_call *call = named_call_get(named, &target, name);

	assert_non_null(call);
	return call;
}

static struct rye_span span(const char *text)
{
	return (struct rye_span){ text, strlen(text) };
}

/* call NULL: of one that nothing else is in. */
static struct named_file *file_in(struct named_call *call, const char *text)
{
	struct named_call *other = call ? named_call_ref(call) : call_of("other", "n");
	struct named_file *file = named_file_new(other, span(text), 0644);

	assert_non_null(file);
	named_call_unref(other);
	return file;
}

static bool has_draft(struct named_call *call, const char *name)
{
	struct named_file *file = named_draft(call, name);
	bool has = file != NULL;

	named_file_unref(file);
	return has;
}

static bool has_text(struct named_call *call, enum named_what what, const char *text)
{
	struct timespec at;
	struct rye_blob *blob = named_text(call, what, &at);
	bool has = blob && (!text || strcmp(blob->data, text) == 0);

	rye_blob_unref(blob);
	return has;
}

static uint64_t begin(struct named_call *call, const char *text)
{
	struct rye_blob *blob = rye_blob_new(text, strlen(text));
	uint64_t number = named_begin(call, blob);

	rye_blob_unref(blob);
	return number;
}

static void end(struct named_call *call, uint64_t number, const char *reply)
{
	struct last last = { .reply = rye_blob_new(reply, strlen(reply)) };

	named_end(call, number, &last);
	rye_blob_unref(last.reply);
}

/* All are taken out: the table has nothing left. */
static void clear(struct named_call *call)
{
	named_remove(call, NAMED_REQUEST);
	named_sweep(named);
}

static void drafts_are_forgotten(void **state)
{
	struct named_call *call = call_of("a", "n");
	struct named_file *file = file_in(NULL, "x");

	assert_int_equal(named_put(call, "tmp", file), 0);
	assert_true(has_draft(call, "tmp"));
	assert_false(has_draft(call, "other"));
	usleep(MINUTE_MS * 700);
	/* each write begins the minute anew */
	assert_int_equal(named_file_write(file, 1, span("y")), 0);
	usleep(MINUTE_MS * 700);
	assert_true(has_draft(call, "tmp"));
	usleep(MINUTE_MS * 700);
	assert_false(has_draft(call, "tmp"));
	assert_int_equal(named->n, 0);
	/* swept, without any look at it */
	assert_int_equal(named_put(call, "tmp", file), 0);
	usleep(MINUTE_MS * 1500);
	named_sweep(named);
	assert_int_equal(named->n, 0);
	named_file_unref(file);
	named_call_unref(call);
}

static void newest_are_kept(void **state)
{
	struct named_call *calls[NAMED_OF_ITEM + 2], *other = call_of("b", "n");
	char name[16];

	end(other, begin(other, "{}"), "other");
	for (int i = 0; i < NAMED_OF_ITEM + 2; i++) {
		snprintf(name, sizeof(name), "n%d", i);
		calls[i] = call_of("a", name);
	}
	/* one that runs is never one that goes */
	begin(calls[0], "{}");
	for (int i = 1; i < NAMED_OF_ITEM + 2; i++)
		end(calls[i], begin(calls[i], "{}"), "r");
	assert_true(has_text(calls[0], NAMED_IS_REQUEST, NULL));
	assert_false(has_text(calls[1], NAMED_IS_REPLY, NULL));
	assert_false(has_text(calls[2], NAMED_IS_REPLY, NULL));
	assert_true(has_text(calls[3], NAMED_IS_REPLY, "r"));
	assert_true(has_text(other, NAMED_IS_REPLY, "other"));
	named_end(calls[0], calls[0]->number, NULL);
	for (int i = 0; i < NAMED_OF_ITEM + 2; i++)
		named_call_unref(calls[i]);
	named_call_unref(other);
	named_free(named);
	assert_int_equal(named_setup(NULL), 0);
}

static void bytes_are_bounded(void **state)
{
	struct named_call *a = call_of("a", "n"), *b = call_of("b", "n");
	struct named_file *files[5];
	struct rye_blob *big = rye_blob_new(NULL, FEED_MAX);
	uint64_t number = named_begin(a, big);

	end(a, number, "a");
	for (int i = 0; i < 4; i++) {
		files[i] = file_in(NULL, "");
		assert_int_equal(named_file_resize(files[i], FEED_MAX), 0);
		/* the old call goes for the third; what is open does not */
		assert_true(has_text(a, NAMED_IS_REPLY, "a") == (i < 2));
	}
	assert_false(has_text(a, NAMED_IS_REPLY, NULL));
	files[4] = file_in(NULL, "");
	assert_int_equal(named_file_resize(files[4], 1), ENOSPC);
	assert_int_equal(named_file_resize(files[4], FEED_MAX + 1), EFBIG);
	assert_int_equal(named_file_write(files[4], SIZE_MAX - 2, span("abcd")), EFBIG);
	assert_int_equal(named_begin(b, big), 0);
	for (int i = 0; i < 5; i++)
		named_file_unref(files[i]);
	rye_blob_unref(big);
	named_call_unref(a);
	named_call_unref(b);
}

static void newest_reply_counts(void **state)
{
	struct named_call *call = call_of("a", "n");
	uint64_t first = begin(call, "1"), second;

	assert_false(has_text(call, NAMED_IS_REPLY, NULL));
	end(call, first, "one");
	assert_true(has_text(call, NAMED_IS_REPLY, "one"));
	first = begin(call, "2");
	assert_false(has_text(call, NAMED_IS_REPLY, NULL));
	second = begin(call, "3");
	end(call, first, "late");
	assert_false(has_text(call, NAMED_IS_REPLY, NULL));
	end(call, second, "three");
	assert_true(has_text(call, NAMED_IS_REPLY, "three"));
	assert_true(has_text(call, NAMED_IS_REQUEST, "3"));
	named_call_unref(call);
	named_free(named);
	assert_int_equal(named_setup(NULL), 0);
}

/* While a node or a file has it, a call is the only one of its name; what is in it needs neither. */
static void one_call_of_a_name(void **state)
{
	struct named_call *call = call_of("a", "n"), *again = call_of("a", "n");
	struct named_call *other = call_of("a", "m"), *item = call_of("b", "n");
	struct named_file *file = file_in(call, "x");

	assert_ptr_equal(call, again);
	assert_ptr_not_equal(call, other);
	assert_ptr_not_equal(call, item);
	assert_int_equal(named->n, 0);
	named_call_unref(call);
	named_call_unref(again);
	assert_ptr_equal(call_of("a", "n"), file->call);
	assert_int_equal(named_put(call, "tmp", file), 0);
	named_file_unref(file);
	named_call_unref(call);
	call = call_of("a", "n");
	assert_true(has_draft(call, "tmp"));
	assert_int_equal(named_remove(call, "tmp"), 0);
	assert_int_equal(named->n, 0);
	named_call_unref(call);
	named_call_unref(other);
	named_call_unref(item);
}

/* What a write to request.json came to: 'm' a message, 'w' it waits for more, '-' neither; or the
 * errno's number. */
static int say(struct named_file *file, size_t off, const char *text)
{
	struct named_wrote wrote;

	named_file_say(file, off, span(text), &wrote);
	rye_blob_unref(wrote.request);
	if (wrote.complete)
		feed_done(&wrote.feed);
	return wrote.sys ? wrote.sys : wrote.complete ? 'm' : wrote.waits ? 'w' : '-';
}

static void messages(void **state)
{
	struct named_file *file = file_in(NULL, "");

	assert_int_equal(say(file, 0, "{\"a\":"), 'w');
	assert_int_equal(say(file, 5, "1}"), 'm');
	named_file_said(file, 1, 0);
	assert_int_equal(say(file, 7, "\n"), '-');
	assert_int_equal(say(file, 8, "{}"), EINVAL);
	/* the same again, whole, in part, after a truncation */
	assert_int_equal(say(file, 0, "{\"a\":1}\n"), '-');
	assert_int_equal(say(file, 5, "1}\n"), '-');
	assert_int_equal(named_file_resize(file, 0), 0);
	assert_int_equal(say(file, 0, "{\"a\":1}"), '-');
	/* a failure stays one */
	assert_int_equal(say(file, 0, "{\"a\":2}"), 'm');
	named_file_said(file, 2, EREMOTEIO);
	assert_int_equal(say(file, 0, "{\"a\":2}"), EREMOTEIO);
	assert_int_equal(say(file, 0, "{\"a\""), 'w');
	assert_int_equal(say(file, 4, ":2}"), EREMOTEIO);
	/* shorter: nothing of the longer one is left */
	assert_int_equal(say(file, 0, "{}"), 'm');
	assert_int_equal(file->len, 2);
	/* out of order, or broken: nothing goes on from there */
	assert_int_equal(say(file, 9, "}"), EINVAL);
	assert_int_equal(say(file, 0, "{\"a\":]"), EINVAL);
	assert_int_equal(say(file, 6, "}"), EINVAL);
	assert_int_equal(say(file, 0, "a: 1\n"), EINVAL);
	assert_int_equal(say(file, 0, "{a: 1}\n"), EINVAL);
	assert_int_equal(say(file, 0, "\xef\xbb\xbf \n{\"a\":3}"), 'm');
	assert_int_equal(say(file, 0, "\n"), '-');
	assert_int_equal(say(file, 1, "{\"a\":4}\n\n"), 'm');
	named_file_unref(file);
}

struct settling {
	struct named_file *file;
	_Atomic unsigned rounds; /* of the thread; relaxed, so that it orders nothing */
};

/* A program looks for the reply on another thread than the one that answers the file's last run:
 * for the thread sanitizer. */
static void *settle_often(void *arg)
{
	struct settling *settling = arg;

	for (int i = 0; i < 2000; i++) {
		named_settle(settling->file, 0);
		atomic_fetch_add_explicit(&settling->rounds, 1, memory_order_relaxed);
		sched_yield();
	}
	return NULL;
}

static void settled_beside_answers(void **state)
{
	struct settling settling = { .file = file_in(NULL, "") };
	struct caller *writer = calloc(1, sizeof(*writer));
	pthread_t thread;

	assert_non_null(writer);
	writer->refs = 1;
	/* of another call than the newest, so that nothing is told */
	named_file_said(settling.file, 1, 0);
	assert_int_equal(say(settling.file, 0, "{\"a\":"), 'w');
	assert_int_equal(pthread_create(&thread, NULL, settle_often, &settling), 0);
	for (uint64_t i = 2; atomic_load_explicit(&settling.rounds, memory_order_relaxed) < 2000;
	     i++) {
		named_file_await(settling.file, writer);
		sched_yield();
		named_file_said(settling.file, i, 0);
	}
	pthread_join(thread, NULL);
	named_file_unref(settling.file);
	caller_unref(writer);
}

static void whole_messages(void **state)
{
	static const char *const bad[] = { "", "\n", "a: 1\n", "{} {}", "[1]", "{\"a\":" };
	struct named_wrote wrote;

	named_message(span(" \xef"), &wrote);
	assert_int_equal(wrote.sys, EINVAL);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		named_message(span(bad[i]), &wrote);
		assert_int_equal(wrote.sys, EINVAL);
		assert_true(*wrote.why);
	}
	named_message(span("\xef\xbb\xbf\r\n{\"a\":\r\n1}\r\n"), &wrote);
	assert_int_equal(wrote.sys, 0);
	assert_int_equal(feed_message(&wrote.feed).len, 9);
	feed_done(&wrote.feed);
}

static void names(void **state)
{
	char longest[NAMED_NAME_MAX + 2];

	memset(longest, 'x', sizeof(longest));
	longest[NAMED_NAME_MAX + 1] = 0;
	assert_false(named_is_name(longest));
	longest[NAMED_NAME_MAX] = 0;
	assert_true(named_is_name(longest));
	assert_true(named_is_name("a.B_9-"));
	assert_false(named_is_name(""));
	assert_false(named_is_name("."));
	assert_false(named_is_name(".."));
	assert_false(named_is_name("a/b"));
	assert_false(named_is_name("\xc3\xa9"));
	assert_false(named_is_name("a b"));
}

/* request.json moved away is a draft, drafts may share a file. */
static void moves(void **state)
{
	struct named_call *call = call_of("a", "n");
	struct named_file *file = file_in(NULL, "{}");

	assert_int_equal(named_put(call, "x", file), 0);
	assert_int_equal(named_put(call, "y", file), 0);
	assert_int_equal(named_remove(call, "x"), 0);
	assert_int_equal(named_remove(call, "x"), ENOENT);
	assert_true(has_draft(call, "y"));
	assert_int_equal(named_remove(call, "y"), 0);
	assert_int_equal(named->n, 0);
	for (int i = 0; i < NAMED_DRAFTS; i++) {
		char name[8];

		snprintf(name, sizeof(name), "%d", i);
		assert_int_equal(named_put(call, name, file), 0);
	}
	assert_int_equal(named_put(call, "0", file), 0);
	assert_int_equal(named_put(call, "more", file), ENOSPC);
	usleep(MINUTE_MS * 1500);
	clear(call);
	named_file_unref(file);
	named_call_unref(call);
}

#define NAMED_CASE(name) cmocka_unit_test_setup_teardown(name, named_setup, named_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		NAMED_CASE(drafts_are_forgotten),
		NAMED_CASE(newest_are_kept),
		NAMED_CASE(bytes_are_bounded),
		NAMED_CASE(newest_reply_counts),
		NAMED_CASE(one_call_of_a_name),
		NAMED_CASE(messages),
		NAMED_CASE(settled_beside_answers),
		NAMED_CASE(whole_messages),
		NAMED_CASE(names),
		NAMED_CASE(moves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
