/* SPDX-License-Identifier: MIT */
/* Ending a process by its number, which may be another's by then. */
#include "rye_test.h"

#include "proc.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

struct asked {
	int times, until; /* from this time on it is another's */
};

static bool is_it(pid_t pid, void *arg)
{
	struct asked *asked = arg;

	return asked->times++ < asked->until;
}

static pid_t sleeper(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		pause();
		_exit(0);
	}
	assert_true(pid > 0);
	return pid;
}

static void it_is_asked_again_when_the_number_is_held(void **state)
{
	struct asked asked = { .until = 1 };
	pid_t pid = sleeper();
	int status;

	assert_false(proc_end(pid, is_it, &asked));
	assert_int_equal(asked.times, 2);
	assert_int_equal(waitpid(pid, &status, WNOHANG), 0);
	asked = (struct asked){ .until = 2 };
	assert_true(proc_end(pid, is_it, &asked));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static void one_that_has_gone_is_not_ended(void **state)
{
	struct asked asked = { .until = 9 };
	pid_t pid = sleeper();

	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_false(proc_end(pid, is_it, &asked));
	assert_int_equal(asked.times, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_asked_again_when_the_number_is_held),
		cmocka_unit_test(one_that_has_gone_is_not_ended),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
