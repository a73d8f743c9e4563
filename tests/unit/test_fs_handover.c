/* SPDX-License-Identifier: MIT */
/*
 * What one daemon of a mount leaves to the next: the last lines of its log, whole and printable, however
 * many there were; how often one has died, which the dead one cannot have changed; and when it is
 * often enough.
 */
#include "rye_test.h"

#include "clock.h"
#include "mount/mount.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int64_t now_ms = 1;

int64_t __wrap_clock_ms(void);
int64_t __wrap_clock_ms(void)
{
	return now_ms;
}

static void say(struct handover *handover, const char *line)
{
	handover_line(handover, line, strlen(line));
}

/* As the next daemon finds it; the one before is gone. */
static struct handover *next(struct handover *before)
{
	int fd = dup(handover_fd(before));

	handover_close(before);
	return handover_open(fd);
}

static void last_words(void **state)
{
	struct handover *handover = handover_open(-1);

	(void)state;
	assert_string_equal(handover_before(handover), "");
	assert_int_equal(handover_death(handover)->times, 0);
	say(handover, "one\n");
	say(handover, "t\033wo\177\n");
	handover = next(handover);
	assert_non_null(handover);
	assert_string_equal(handover_before(handover), "one\nt?wo?\n");
	/* each daemon's own alone */
	say(handover, "three\n");
	handover = next(handover);
	assert_string_equal(handover_before(handover), "three\n");
	assert_int_equal(fcntl(handover_fd(handover), F_GETFD), FD_CLOEXEC);
	handover_close(handover);
}

static void many_words(void **state)
{
	struct handover *handover = handover_open(-1);
	char line[32];
	const char *before;

	(void)state;
	for (int i = 0; i < 5000; i++) {
		snprintf(line, sizeof(line), "line %d\n", i);
		say(handover, line);
	}
	handover = next(handover);
	before = handover_before(handover);
	assert_memory_equal(before, "line ", 5);
	assert_true(strlen(before) > 1024);
	assert_string_equal(before + strlen(before) - 20, "line 4998\nline 4999\n");
	handover_close(handover);
}

static void five_in_a_minute(void **state)
{
	struct handover *handover = handover_open(-1);

	(void)state;
	for (int i = 1; i <= 5; i++) {
		now_ms += 10000;
		assert_true(handover_died(handover, "fell"));
		handover = next(handover);
		assert_int_equal(handover_death(handover)->times, i);
		assert_string_equal(handover_death(handover)->why, "fell");
	}
	/* 50 s after the first of the five */
	now_ms += 10000;
	assert_false(handover_died(handover, "fell again"));
	assert_int_equal(handover_death(handover)->times, 6);
	now_ms += 10000;
	assert_true(handover_died(handover, "fell later"));
	handover_close(handover);
}

/* Over all of it, but for what makes it known. */
static void scribble(int fd)
{
	char *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	assert_true(at != MAP_FAILED);
	memset(at + 8, 'x', 4096 - 8);
	munmap(at, 4096);
}

static void a_daemon_that_goes_astray(void **state)
{
	struct handover *handover = handover_open(-1);

	(void)state;
	scribble(handover_fd(handover));
	/* in the watchdog, which knows how it was */
	assert_true(handover_died(handover, "fell"));
	handover = next(handover);
	assert_int_equal(handover_death(handover)->times, 1);
	assert_string_equal(handover_death(handover)->why, "fell");
	handover_close(handover);
}

static void what_is_none(void **state)
{
	int file = open("/dev/null", O_RDWR);
	int empty = memfd_create("empty", 0);

	(void)state;
	assert_null(handover_open(file));
	assert_null(handover_open(empty));
	close(file);
	close(empty);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(last_words),	    cmocka_unit_test(many_words),
		cmocka_unit_test(five_in_a_minute), cmocka_unit_test(a_daemon_that_goes_astray),
		cmocka_unit_test(what_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
