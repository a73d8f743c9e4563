# SPDX-License-Identifier: MIT
"""rye/bash/bash: results, limits, and that a time limit ends everything the command started."""

import json
import os
import time

import harness

BASH = "rye/bash/bash"


def is_alive(pid):
    try:
        with open("/proc/%d/stat" % pid) as stream:
            return stream.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


class Bash(harness.Case):
    def bash(self, command, **params):
        status, out, err = harness.run(
            "python/function", harness.tool_file(BASH), {"command": command, **params}, self.project
        )
        self.assertEqual((status, err), (0, ""))
        return json.loads(out)

    def wait_dead(self, pids):
        for _ in range(100):
            if not any(is_alive(pid) for pid in pids):
                return
            time.sleep(0.01)
        self.fail("still alive: %s" % [pid for pid in pids if is_alive(pid)])

    def test_case_85_true(self):
        self.assertEqual(self.bash("true"), {
            "success": True, "output": "", "stdout": "", "stderr": "", "exit_code": 0,
            "truncated": False,
        })

    def test_case_86_failure(self):
        result = self.bash("echo hi; exit 3")
        self.assertEqual((result["success"], result["exit_code"]), (False, 3))
        self.assertEqual(result["error"], "Command exited with code 3")
        self.assertEqual(result["output"], "hi\n")

    def test_failure_with_stderr_has_no_other_error(self):
        result = self.bash("echo out; echo why >&2; exit 2")
        self.assertNotIn("error", result)
        self.assertEqual(result["stderr"], "why\n")
        self.assertEqual(result["output"], "out\n\n[stderr]\nwhy\n")

    def test_a_thread_shows_what_the_command_prints(self):
        status, out, err = harness.run(
            "python/function", harness.tool_file(BASH),
            {"command": "echo out; sleep 0.1; echo why >&2"}, self.project,
            env={"RYE_THREAD_ID": "t"},
        )
        self.assertEqual((status, err), (0, "out\nwhy\n"))
        self.assertEqual(json.loads(out)["stdout"], "out\n")

    def test_what_a_thread_shows_is_bounded(self):
        _, out, err = harness.run(
            "python/function", harness.tool_file(BASH),
            {"command": "head -c 3000000 /dev/zero | tr '\\0' x"}, self.project,
            env={"RYE_THREAD_ID": "t"},
        )
        self.assertEqual(err, "x" * (1 << 20))
        self.assertIn("3000000 bytes total", json.loads(out)["stdout"])

    def test_killed_by_signal(self):
        self.assertEqual(self.bash("kill -9 $$")["error"], "Command killed by signal 9")

    def test_case_89_truncated(self):
        result = self.bash("head -c 60000 /dev/zero | tr '\\0' x")
        note = "\n... [output truncated, 60000 bytes total]"
        self.assertEqual(result["stdout"], "x" * 51200 + note)
        self.assertIs(result["truncated"], True)

    def test_cut_keeps_characters_whole(self):
        result = self.bash("printf x; yes é | tr -d '\\n' | head -c 60000")
        self.assertEqual(result["stdout"].split("\n")[0], "x" + "é" * 25599)

    def test_flood_is_counted_not_kept(self):
        result = self.bash("head -c 20000000 /dev/zero | tr '\\0' x; echo e >&2")
        self.assertIn("20000000 bytes total", result["stdout"])
        self.assertEqual(result["stderr"], "e\n")

    def test_case_90_timeout(self):
        start = time.monotonic()
        result = self.bash("sleep 5", timeout=1)
        self.assertEqual(result, {
            "success": False, "error": "Command timed out after 1 seconds", "timeout": 1,
        })
        self.assertLess(time.monotonic() - start, 3)

    def test_timeout_ends_the_whole_group(self):
        script = "sleep 31 & echo $!; (sleep 32 & echo $!); sh -c 'echo $$; sleep 33; :'"
        result = self.bash(script, timeout=1)
        pids = [int(line) for line in result["stdout"].split()]
        self.assertEqual(len(pids), 3)
        self.wait_dead(pids)

    def test_timeout_ends_what_ignores_sigterm(self):
        result = self.bash("echo $$; trap '' TERM; while :; do sleep 1; done", timeout=1)
        self.assertEqual(result["error"], "Command timed out after 1 seconds")
        self.wait_dead([int(result["stdout"])])

    def test_partial_output_is_kept(self):
        result = self.bash("echo begun; sleep 9", timeout=1)
        self.assertEqual(result["stdout"], "begun\n")

    def test_background_child_does_not_hold_the_reply(self):
        start = time.monotonic()
        result = self.bash("sleep 4 & echo $!")
        self.assertIs(result["success"], True)
        self.assertLess(time.monotonic() - start, 2)
        os.kill(int(result["stdout"]), 9)

    def test_without_a_group_of_its_own(self):
        # in this very process: its group is the test runner's and must not be signalled
        result = harness.load(BASH).execute({"command": "sleep 8 & sleep 9", "timeout": 1}, self.project)
        self.refused(result, "timed out after 1 seconds")

    def test_standard_input_is_empty(self):
        self.assertEqual(self.bash("cat; echo end")["stdout"], "end\n")

    def test_working_directory(self):
        os.mkdir(self.path("sub"))
        self.assertEqual(self.bash("pwd")["stdout"], self.project + "\n")
        self.assertEqual(self.bash("pwd", working_dir="sub")["stdout"], self.path("sub") + "\n")
        self.refused(self.bash("pwd", working_dir="none"),
                     "Working directory not found: " + self.path("none"))
        self.refused(self.bash("pwd", working_dir=".."),
                     "Working directory is outside the project workspace")

    def test_working_directory_by_prefix_or_link(self):
        os.mkdir(self.project + "-other")
        os.symlink("/", self.path("link"))
        for name in ("../project-other", self.project + "-other", "link"):
            self.refused(self.bash("pwd", working_dir=name), "outside the project workspace")

    def test_nul_byte(self):
        self.refused(self.bash("a\0b"), "Cannot start /bin/sh")


if __name__ == "__main__":
    harness.main()
