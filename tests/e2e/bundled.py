# SPDX-License-Identifier: MIT
"""The bundle's tools that ask the engine, or others' servers: each used as its owner does, by the
command line and through the mount."""

import http.server
import json
import os
import re
import subprocess
import threading
import unittest

import signer
from page import BUNDLE, FUSE, Place, harness

KEY = signer.Key("d1")
PROCESSES = "rye/core/processes/"
PAGE = (b"<html><head><title>A page</title></head><body><h1>Head</h1><p>One "
        b'<a href="/x">two</a></p></body></html>')
RESULTS = (b'<a class="result__a" href="//x/l/?uddg=https%3A%2F%2Fe.example%2Fa">A one</a>'
           b'<a class="result__snippet">Some text</a>')


class Bundled(Place):
    def setUp(self):
        super().setUp()
        signer.write_keys(self.user, KEY, True)

    def replies(self, tool, params):
        return [way(tool, params) for way in self.ways()]

    def both(self, tool, params):
        """Data of a good reply, asked each way."""
        return [self.good_reply(reply) for reply in self.replies(tool, params)]

    def good_reply(self, reply):
        self.assertEqual(reply["status"], "success", reply)
        return reply["data"]

    def verb(self, *words, status=0):
        return json.loads(self.rye(*words, "--json", status=status).stdout)


class Asks(Bundled):
    def test_processes(self):
        started = [self.execute_async("sleep %d.%d" % (600 + i, os.getpid())) for i in (1, 2)]
        for run, way in zip(started, self.ways() * 2):
            self.assertIn(run, [row["run_id"] for row in self.good_reply(way(PROCESSES + "list", {}))["runs"]])
            row = self.good_reply(way(PROCESSES + "status", {"run_id": run}))
            self.assertEqual((row["status"], row["alive"], row["directive"]),
                             ("running", True, "tool:rye/bash/bash"))
            row = self.good_reply(way(PROCESSES + "cancel", {"run_id": run}))
            self.assertEqual(row["method"], "terminated")
            again = way(PROCESSES + "cancel", {"run_id": run})
            self.assertEqual((again["error"], again["data"]["status"]),
                             ("Run has ended: cancelled", "cancelled"))
            self.assertIs(self.good_reply(way(PROCESSES + "status", {"run_id": run}))["alive"], False)
        self.assertEqual(self.both(PROCESSES + "list", {})[0]["count"], 0)
        self.assertEqual(self.both(PROCESSES + "list", {"status": "cancelled"})[0]["count"], 2)
        self.bad(PROCESSES + "status", {"run_id": "none"}, "Run not found: none")
        self.bad(PROCESSES + "steps", {"run_id": "none"}, "Transcript not found: ")

    def execute_async(self, command):
        reply = self.verb("execute", "--system", BUNDLE, "--async", "tool:rye/bash/bash",
                          json.dumps({"command": command}))
        self.addCleanup(self.rye, "threads", "kill", reply["thread_id"], status=None)
        return reply["thread_id"]

    def test_secrets(self):
        tool = "rye/core/secrets/secrets"
        for way in self.ways():
            self.assertEqual(self.good_reply(way(tool, {"action": "list"}))["count"], 0)
            kept = way(tool, {"action": "set", "name": "TOOL_KEY", "value": "sesame"})
            self.assertNotIn("sesame", json.dumps(kept))
            self.assertEqual([row["name"] for row in self.verb("secret", "list")], ["TOOL_KEY"])
            self.assertNotIn("sesame", json.dumps(way(tool, {"action": "list"})))
            self.good_reply(way(tool, {"action": "delete", "name": "TOOL_KEY"}))
            self.assertEqual(self.verb("secret", "list"), [])
        self.bad(tool, {"action": "set", "name": "PATH", "value": "x"}, "no secret may set it")
        self.bad(tool, {"action": "set", "name": "TOOL_KEY"}, "set needs value")
        self.bad(tool, {"action": "delete", "name": "TOOL_KEY"}, "there is no secret TOOL_KEY")

    def test_managing_is_for_bundles(self):
        """The same words in a project's tool open nothing."""
        self.tool("t/sly.sh", "# __version__ = \"1.0.0\"\n# __tool_type__ = \"script\"\n"
                  "# __category__ = \"t\"\n# __tool_description__ = \"d\"\n"
                  "# requires: [fs.read, fs.write, secrets.manage, threads.manage, keys.manage]\n"
                  'printf x | "$RYE_RYEFS" secret set SLY >/dev/null 2>&1 && echo KEPT\n'
                  'ls "$HOME/.ai/config/keys/signing" 2>/dev/null\necho end\n')
        self.assertEqual(self.good("t/sly", {})["stdout"], "end\n")

    def test_test_runner(self):
        tool = "rye/dev/test_runner"
        self.bad(tool, {}, "There are no tests: write .ai/tests/NAME.test.yaml")
        self.put(".ai/tests/deep/bash.test.json", json.dumps({"tool": "rye/bash/bash", "tests": [
            {"name": "prints", "params": {"command": "echo hi"}, "tags": ["quick"],
             "assert": {"stdout": "hi\n", "exit_code <= 0": True}},
            {"name": "fails", "params": {"command": "exit 3"},
             "assert": {"success": False, "exit_code": 3, "error contains code 3": True}},
            {"name": "lacks", "params": {}, "assert": {"error regex ^Missing": True}}]}))
        # nobody signed it: it gives no command to a tool that is not the project's
        self.bad(tool, {}, ".ai/tests/deep/bash.test.json: tests rye/bash/bash of the space system:bundle")
        for told in self.both(tool, {"any_tool": True}):
            self.assertEqual([row["status"] for row in told["results"]], ["passed"] * 3, told["output"])
        told = self.both(tool, {"include_tags": ["quick"], "any_tool": True})[0]["summary"]
        self.assertEqual((told["passed"], told["skipped"]), (1, 2))
        for reply in self.replies(tool, {"validate_only": True, "exclude_tags": ["quick"]}):
            self.assertEqual(reply["error"], "1 of 3 tests failed")
        self.put(".ai/tests/bad.test.json", json.dumps({"tool": "rye/bash/bash", "tests": [
            {"name": "wrong", "params": {"command": "echo hi"}, "assert": {"stdout": "ho\n"}}]}))
        reply = self.execute(tool, {"spec": ".ai/tests/bad.test.json", "any_tool": True})
        self.assertEqual(reply["error"], "1 of 1 tests failed")
        self.assertEqual(reply["data"]["results"][0]["faults"], ['wanted stdout == "ho\\n", got "hi\\n"'])
        self.tool("t/own.sh", "# __version__ = \"1.0.0\"\n# __tool_type__ = \"script\"\n"
                  "# __category__ = \"t\"\n# __tool_description__ = \"d\"\necho own\n")
        self.put(".ai/tests/own.test.json", json.dumps({"tool": "t/own", "tests": [
            {"name": "is ours", "params": {}, "assert": {"stdout": "own\n"}}]}))
        self.assertEqual(self.good_reply(self.execute(tool, {"tool": "t/own"}))["summary"]["passed"], 1)

    def test_test_runner_reads_yaml(self):
        self.put(".ai/tests/b.test.yaml", "tool: rye/bash/bash\ntests:\n"
                 "  - name: prints\n    params: {command: echo hi}\n    assert: {stdout: \"hi\\n\"}\n")
        reply = self.execute("rye/dev/test_runner", {"any_tool": True})
        if "has no PyYAML" in reply.get("error", ""):
            self.skipTest("no PyYAML")
        self.assertEqual(self.good_reply(reply)["summary"]["passed"], 1)

    def test_bundler(self):
        tool = "rye/core/bundler/bundler"
        self.tool("kit/a.sh", "# __version__ = \"1.0.0\"\n# __tool_type__ = \"script\"\n"
                  "# __category__ = \"kit\"\n# __tool_description__ = \"d\"\necho a\n")
        self.put(".ai/config/kit/c.yaml", "version: \"1.0.0\"\n")
        made = self.good(tool, {"action": "create", "bundle_id": "kit", "description": "A kit"})
        self.assertEqual((made["file_count"], made["unsigned"]), (2, ["config/kit/c.yaml"]))
        for told in self.both(tool, {"action": "verify", "bundle_id": "kit"}):
            self.assertEqual((told["status"], told["files_ok"], told["files_extra"]), ("verified", 2, []))
        self.assertEqual(self.good(tool, {"action": "list"})["bundles"], ["kit"])
        self.assertEqual(self.good(tool, {"action": "inspect", "bundle_id": "kit"})["bundle"]["description"],
                         "A kit")
        self.assertEqual(self.good(tool, {"action": "verify-signatures", "bundle_id": "kit"})["unsigned"],
                         ["config/kit/c.yaml"])
        self.put(".ai/tools/kit/b.sh", "echo b\n")
        self.put(".ai/config/kit/c.yaml", "version: \"1.0.1\"\n")
        with open(self.path(".ai/tools/kit/a.sh"), "a", encoding="utf-8") as stream:
            stream.write("echo more\n")
        told = self.bad(tool, {"action": "verify", "bundle_id": "kit"}, "not what its manifest says")["data"]
        self.assertEqual(told["files_tampered"], ["tools/kit/a.sh", "config/kit/c.yaml"])
        self.assertIn("Content modified since signing", told["files_refused"]["tools/kit/a.sh"])
        self.assertEqual(told["files_extra"], ["tools/kit/b.sh"])
        os.unlink(self.path(".ai/config/kit/c.yaml"))
        told = self.bad(tool, {"action": "verify", "bundle_id": "kit"}, "")["data"]
        self.assertEqual(told["files_missing"], ["config/kit/c.yaml"])
        self.bad(tool, {"action": "verify-signatures", "bundle_id": "kit"}, "Signatures that do not hold")

    def test_git(self):
        tool = "rye/code/git/git"
        if not harness.subprocess.run(["git", "--version"], capture_output=True).returncode == 0:
            self.skipTest("no git")
        self.bad(tool, {"action": "status"}, "not a git repository")
        git = ["git", "-C", self.project]
        for words in (["init", "-q"], ["config", "user.name", "n"], ["config", "user.email", "n@example.com"]):
            subprocess.run(git + words, check=True, env=self.env)
        for i, way in enumerate(self.ways()):
            self.put("f%d.txt" % i, "a\n")
            self.assertIn("?? f%d.txt" % i, self.good_reply(way(tool, {
                "action": "status", "flags": {"short": True}}))["stdout"])
            self.good_reply(way(tool, {"action": "add", "args": ["f%d.txt" % i]}))
            self.good_reply(way(tool, {"action": "commit", "message": "number %d" % i}))
            log = self.good_reply(way(tool, {"action": "log", "flags": {"oneline": True, "n": 1}}))
            self.assertTrue(log["stdout"].endswith("number %d\n" % i))
        reply = self.bad(tool, {"action": "checkout", "args": ["none"]}, "did not match any file")
        self.assertEqual(reply["data"]["exit_code"], 1)
        self.bad(tool, {"action": "push"}, "action: must be one of")
        self.bad(tool, {"action": "log", "message": "x"}, "git log takes no message")
        self.bad(tool, {"action": "log", "working_dir": ".."}, "outside the project workspace")

    def test_gates(self):
        tool = "rye/code/quality/gate"
        self.bad(tool, {}, "There are no gates: write config/quality_gates.yaml")
        head = "version: \"1.0.0\"\ncategory: \"\"\ngates:\n  - {name: good, command: pwd}\n"
        config = ".ai/config/quality_gates.yaml"
        self.put(config, head)
        self.bad(tool, {}, "quality_gates.yaml has no signature: configuration of the project space")
        head += "  - {name: wished, command: echo no; exit 3, required: false}\n"
        self.put(config, head)
        self.rye("sign", "config:quality_gates")
        for told in self.both(tool, {}):
            self.assertEqual(told["output"], "ok     good\nfailed wished")
            self.assertEqual((told["gates"][0]["stdout"], told["gates"][1]["exit_code"]),
                             (self.project + "\n", 3))
        self.put(config, head + "  - {name: slow, command: sleep 30, timeout: 1}\n")
        self.rye("sign", "config:quality_gates")
        for reply in self.replies(tool, {}):
            self.assertEqual(reply["error"], "Gates failed: slow")
            self.assertEqual(reply["data"]["gates"][2]["error"], "Command timed out after 1 seconds")
        self.assertEqual(self.both(tool, {"gates": ["good"]})[0]["summary"]["total"], 1)
        self.bad(tool, {"gates": ["bad"]}, "No such gate: bad. There are: good, wished, slow")

    def test_telemetry(self):
        os.makedirs(self.user + "/.ai/logs/rye")
        with open(self.user + "/.ai/logs/rye/a.log", "w", encoding="utf-8") as stream:
            stream.write("INFO one\nERROR two\n")
        for told in self.both("rye/core/telemetry/telemetry", {}):
            self.assertEqual([row["line"] for row in told["data"]["errors"]], ["ERROR two"])
            self.assertEqual(told["data"]["stats"]["lines"], 2)


class Answers(http.server.BaseHTTPRequestHandler):
    asked, keys = [], []

    def do_GET(self):
        self.asked.append(self.path)
        self.keys.append(self.headers.get("X-Subscription-Token"))
        status = int((re.search(r"status=(\d+)", self.path) or [0, 200])[1])
        body, kind = PAGE, "text/html; charset=utf-8"
        if self.path.startswith("/results"):
            body = RESULTS
        elif self.path.startswith("/search"):
            body, kind = json.dumps({"results": [
                {"title": "J", "url": "https://j.example/", "content": "c"}]}).encode(), "application/json"
        elif self.path.startswith("/brave"):
            rows = [{"title": "B%d" % i, "url": "https://b.example/%d" % i, "description": "d"} for i in range(5)]
            body, kind = json.dumps({"web": {"results": rows}}).encode(), "application/json"
        elif self.path.startswith("/long"):
            body, kind = "ä".encode() * 600000, "text/plain; charset=utf-8"
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


class Web(Bundled):
    """Against a server of this machine, which takes a shadow of the tool that makes the request:
    the bundle's own goes to public hosts only."""

    def setUp(self):
        super().setUp()
        Answers.asked.clear()
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.url = "http://127.0.0.1:%d" % server.server_port

    def shadow(self, name, old, new):
        text = harness.read("%s/tools/rye/web/%s.yaml" % (os.path.join(harness.ROOT, ".ai"), name))
        self.assertIn(old, text)
        self.tool("rye/web/%s.yaml" % name, text.replace(old, new))

    def test_fetch(self):
        tool = "rye/web/fetch"
        for url in (self.url, "http://10.0.0.1/", "http://[::1]:1/"):
            self.bad(tool, {"url": url}, "may only be a public one")
        self.bad(tool, {"url": "file:///etc/passwd"}, "")
        self.bad(tool, {"url": "no address"}, "url: does not match pattern")
        self.assertEqual(Answers.asked, [])
        self.shadow("request", '"{url}"', self.url + "/page")
        for form, want in (("markdown", "# Head\n\nOne [two](/x)"), ("text", "Head\n\nOne two"),
                           ("html", PAGE.decode())):
            for told in self.both(tool, {"url": "https://e.example/", "format": form}):
                self.assertEqual((told["output"], told["status_code"], told["truncated"]),
                                 (want, 200, False))
        self.shadow("request", '"{url}"', self.url + "/search")
        told = self.good(tool, {"url": "https://e.example/"})
        self.assertEqual(json.loads(told["output"])["results"][0]["title"], "J")
        self.shadow("request", '"{url}"', self.url + "/long")
        told = self.good(tool, {"url": "https://e.example/", "format": "text"})
        self.assertEqual((told["output"], told["truncated"]), ("ä" * 512000, True))
        self.shadow("request", '"{url}"', self.url + "/page?status=404")
        reply = self.bad(tool, {"url": "https://e.example/"}, "HTTP 404: Not Found")
        self.assertEqual(reply["data"]["status_code"], 404)

    def test_search(self):
        tool = "rye/web/search"
        self.shadow("duckduckgo", "https://html.duckduckgo.com/html/", self.url + "/results")
        for told in self.both(tool, {"query": "to be & not"}):
            self.assertEqual(told["results"], [
                {"title": "A one", "url": "https://e.example/a", "snippet": "Some text"}])
        self.assertEqual(Answers.asked[0], "/results?q=to%20be%20%26%20not")
        self.bad(tool, {"query": "x", "provider": "brave"}, "BRAVE_API_KEY")
        self.bad(tool, {"query": "x", "provider": "none"}, "There are: brave, duckduckgo, searxng")
        # one that wants a key, which is a secret of the person's
        self.shadow("brave", "https://api.search.brave.com/res/v1/web/search", self.url + "/brave")
        self.good("rye/core/secrets/secrets", {"action": "set", "name": "BRAVE_API_KEY", "value": "sesame"})
        for told in self.both(tool, {"query": "x", "provider": "brave", "num_results": 2}):
            self.assertEqual([row["title"] for row in told["results"]], ["B0", "B1"])
        self.assertEqual(Answers.keys[-2:], ["sesame"] * 2)
        self.assertEqual(Answers.asked[-1], "/brave?q=x&count=2")
        # another service is configuration
        self.put(".ai/config/web/websearch.yaml", 'version: "1.0.0"\ncategory: web\nprovider: searxng\n')
        self.bad(tool, {"query": "x"}, "websearch.yaml has no signature")
        self.rye("sign", "config:web/websearch")
        self.env["SEARXNG_URL"] = self.url
        told = self.good_reply(self.execute(tool, {"query": "x"}))
        self.assertEqual(told["results"], [{"title": "J", "url": "https://j.example/", "snippet": "c"}])


if __name__ == "__main__":
    if not FUSE:
        print("# the mount is left out: no /dev/fuse")
    harness.main()
