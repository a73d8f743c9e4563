/* SPDX-License-Identifier: MIT */
/*
 * What a tool tries that wants more than its item was given: the interpreter it shares with
 * later calls, the processes beside it, what it leaves behind for the next one.
 */
#include "exec_tools.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

/* The tool as it was called last: was it a child of a warm interpreter? */
static bool is_warm(const struct exec_said *said)
{
	return said->trace && strstr(said->trace, "\"warm\": true");
}

/* Calls t/a until eight warm children have answered `want`. */
static void all_warm(struct exec_place *p, const char *want)
{
	for (int warm = 0, calls = 0; warm < 8; calls++) {
		auto_said struct exec_said said = exec_run(p, "t/a", "{\"trace\":true}");

		if (calls == 200)
			fail_msg("no warm interpreter after 200 calls");
		exec_check(&said, want);
		warm += is_warm(&said);
		usleep(20000);
	}
}

/* What the interpreter rehearses with is code: a tool that could write it would run in others. */
static void sample_is_out_of_reach(void **state)
{
	struct exec_place *p = *state;

	exec_function(p, "t/a.py",
		      "import os\n"
		      "hits = []\n"
		      "for pid in 'self', str(os.getppid()):\n"
		      "    try:\n"
		      "        fds = os.listdir('/proc/%s/fd' % pid)\n"
		      "    except OSError:\n"
		      "        continue\n"
		      "    for fd in fds:\n"
		      "        path = '/proc/%s/fd/%s' % (pid, fd)\n"
		      "        try:\n"
		      "            if 'memfd:sample' not in os.readlink(path):\n"
		      "                continue\n"
		      "            if pid == 'self':\n"
		      "                hits.append('inherited')\n"
		      "            os.pwrite(os.open(path, os.O_RDWR), b' ', 0)\n"
		      "            hits.append('written')\n"
		      "        except OSError:\n"
		      "            pass\n"
		      "return {'hits': hits}");
	all_warm(p, "{\"data\":{\"hits\":[]}}");
}

/* pidfd_getfd (438): with the interpreter's socket a tool would get the calls of others. */
static void descriptors_of_others_are_out_of_reach(void **state)
{
	struct exec_place *p = *state;

	exec_function(p, "t/a.py",
		      "import ctypes, os\n"
		      "libc = ctypes.CDLL(None, use_errno=True)\n"
		      "fd = os.pidfd_open(os.getppid())\n"
		      "got = libc.syscall(438, fd, 3, 0)\n"
		      "return {'got': got, 'errno': ctypes.get_errno()}");
	all_warm(p, "{\"data\":{\"got\":-1,\"errno\":1}}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		exec_test(sample_is_out_of_reach),
		exec_test(descriptors_of_others_are_out_of_reach),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
