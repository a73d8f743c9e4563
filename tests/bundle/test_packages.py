# SPDX-License-Identifier: MIT
"""The tools of the bundle that are packages, and their library; what they ask the engine is
asked of it in tests/e2e/bundled.py."""

import json
import os
import time

import harness

PAGE = """<!doctype html><html><head><title>T &amp;
 t</title><style>p {}</style></head><body>
<h1>Head</h1> <p>One <a href="/x">two
 words</a> <em>three</em>, <a href="javascript:x">no link</a></p>
<ul><li>a</li><li>b <code>c d</code></li></ul><pre>  kept
    as it is</pre><script>hidden()</script><p>end<br>line</p><p>a &lt; b"""


class Web(harness.Case):
    page = harness.load("rye/web/page")
    search = harness.load("rye/web/search")

    def test_markdown(self):
        self.assertEqual(self.page.read(PAGE, "markdown"), ("T & t", (
            "# Head\n\nOne [two words](/x) *three*, no link\n\n- a\n- b `c d`\n\n"
            "```\n  kept\n    as it is\n```\n\nend\nline\n\na < b")))

    def test_text(self):
        self.assertEqual(self.page.read(PAGE, "text")[1], (
            "Head\n\nOne two words three, no link\n\na\nb c d\n\n  kept\n    as it is\n\n"
            "end\nline\n\na < b"))

    def test_what_is_no_page(self):
        for text in ("", "<", "</p></p>", "<script>", "<a><b></a></b>x", "<![x[", "&#xfffffff;", "\0"):
            for form in ("text", "markdown"):
                self.page.read(text, form)
        self.assertEqual(self.page.read("<p>a</p></div></p>b", "text")[1], "a\n\nb")

    def test_big_pages_take_bounded_time(self):
        began = time.monotonic()
        self.page.read("<div>" * 100000 + "x" + "</a>" * 100000, "markdown")
        self.page.read("<a href=x>" * 20000, "markdown")
        self.assertLess(time.monotonic() - began, 10)

    def test_results_in_html(self):
        text = ('<div><a class="big hit" href="//x.example/l/?uddg=https%3A%2F%2Fe.org%2Fa%3Fb&rut=1">'
                'A <b>bold</b><br> one</a><span class="why">Some <i>text</i></span></div>'
                '<a class="hit" href="https://f.org/">F</a><p class="why">More')
        service = {"link": "hit", "snippet": "why"}
        self.assertEqual(self.search.read_results(service, text), [
            {"title": "A bold one", "url": "https://e.org/a?b", "snippet": "Some text"},
            {"title": "F", "url": "https://f.org/", "snippet": "More"}])

    def test_results_in_json(self):
        service = {"results": "web.results", "snippet": "description"}
        body = {"web": {"results": [{"title": "A", "url": "https://e.org", "description": "d"}, 5]}}
        self.assertEqual(self.search.read_results(service, body)[0],
                         {"title": "A", "url": "https://e.org", "snippet": "d"})
        for bad in ({}, [], "text", {"web": []}):
            with self.assertRaises(self.search.rye_tool.Failure):
                self.search.read_results(service, bad)


class Bundler(harness.Case):
    tool = harness.load("rye/core/bundler/bundler")

    def call(self, action, **params):
        return self.tool.execute({"action": action, **params}, self.project)

    def test_hash_of_an_item(self):
        """The format's own vector."""
        self.assertEqual(self.tool.item_source("tools/x.py", b"print(1)\n"),
                         "32ff52b1f0210c30bdd84abf50ed02f533acffdba61098f9db9d5b853c7988c2")

    def test_what_a_manifest_may_list(self):
        for name in ("../x", "tools/../../x", "state/threads/x", "/etc/passwd", "tools/a/../b"):
            self.put(".ai/bundles/b/manifest.yaml", json.dumps({"bundle": {}, "files": {name: {}}}))
            self.refused(self.call("inspect", bundle_id="b"), "lists what is no item: " + name)
        self.put(".ai/bundles/b/manifest.yaml", "files: [\n")
        self.assertIs(self.call("inspect", bundle_id="b")["success"], False)
        self.refused(self.call("inspect", bundle_id="none"), "There is no bundle none")
        self.refused(self.call("create", bundle_id="none"), "There is nothing to bundle below")

    def test_package(self):
        self.put("pkg/.ai/tools/a/x.py", "1\n")
        self.put("pkg/.ai/knowledge/y.md", "<!-- rye:signed:x -->\n")
        self.put("pkg/.ai/tools/node_modules/z.js", "1\n")
        made = self.call("create-package", bundle_id="p", package_path="pkg", version="2.0.0")
        self.assertEqual((made["manifest"], made["file_count"], made["unsigned"]),
                         ("pkg/.ai/bundles/p/manifest.yaml", 2, ["tools/a/x.py"]))
        manifest = json.loads(self.get("pkg/.ai/bundles/p/manifest.yaml"))
        self.assertEqual((manifest["bundle"]["type"], manifest["bundle"]["version"]), ("package", "2.0.0"))
        self.refused(self.call("create-package", bundle_id="p", package_path=".."),
                     "Path is outside the project workspace")


class Telemetry(harness.Case):
    tool = harness.load("rye/core/telemetry/telemetry")

    def call(self, **params):
        return self.tool.execute({"log_dir": "logs", **params}, self.project)

    def test_logs(self):
        self.put("logs/a.log", "12:00 INFO one\n12:01 WARN two\n\nno level\n")
        self.put("logs/b.jsonl", '{"level": "error", "message": "three"}\n{"levelname": "x"\n')
        self.put("logs/c.txt", "ERROR not a log\n")
        data = self.call()["data"]
        self.assertEqual(data["stats"]["levels"], {"INFO": 3, "WARNING": 1, "ERROR": 1})
        self.assertEqual([row["file"] for row in data["errors"]], ["b.jsonl"])
        self.assertEqual([row["level"] for row in self.call(item="logs", level="WARNING")["data"]["logs"]],
                         ["WARNING", "ERROR"])
        self.assertEqual(len(self.call(item="logs", limit=2)["data"]["logs"]), 2)
        self.refused(self.call(log_dir="/var/log"), "Path is outside the project workspace")

    def test_a_big_log_is_read_from_its_end(self):
        self.put("logs/a.log", "x" * 100 + "\nERROR early\n" + "INFO line\n" * 200000 + "ERROR late\n")
        self.assertEqual([row["line"] for row in self.call(item="errors")["data"]["errors"]],
                         ["ERROR late"])
        self.assertLess(self.call(item="stats")["data"]["stats"]["lines"], 120000)

    def test_no_logs(self):
        self.assertIn("There are no logs in", self.call(log_dir="none")["output"])


class Git(harness.Case):
    tool = harness.load("rye/code/git/git")

    def test_options(self):
        self.assertEqual(list(self.tool.options({"n": 5, "oneline": True, "all": False, "since": "1 day",
                                                 "x": None, "q": True})),
                         ["-n5", "--oneline", "--since=1 day", "-q"])
        said = self.tool.execute({"action": "add"}, self.project)
        self.assertIn("args name what to add", said["error"])
        for name in ("", "-x", "--upload-pack"):
            with self.assertRaises(self.tool.rye_tool.Failure):
                list(self.tool.options({name: True}))


class Rules(harness.Case):
    tool = harness.load("rye/dev/test_runner")

    def test_rules(self):
        document = {"a": {"b": [1, {"c": "text"}]}, "n": 3, "t": "hello", "none": None, "l": [1, 2]}
        for rule, value in (("n", 3), ("a.b[1].c", "text"), ("a.b.1.c == text", True),
                            ('t == "hello"', True), ("n >= 3", True), ("n > 3", False), ("n != 4", True),
                            ("t contains ell", True), ("l contains 2", True), ("t regex ^h.l+o$", True),
                            ("n in [1, 3]", True), ("none exists", True), ("x exists", False),
                            ("x != 1", True), ("t > 3", False), ("n contains 3", False), ("none", None)):
            self.assertEqual(self.tool.faults_of(document, {rule: value}), [], rule)
        for rule, value in (("n", 4), ("x", None), ("n < 3", True), ("t contains x", True), ("n exists", False)):
            self.assertEqual(len(self.tool.faults_of(document, {rule: value})), 1, rule)
        for rule in ("n >", "n is 3", "two words here"):
            with self.assertRaises(self.tool.rye_tool.Failure):
                self.tool.split_rule(rule)


class Steps(harness.Case):
    tool = harness.load("rye/core/processes/steps")

    def test_steps(self):
        rows = [{"timestamp": "1", "event_type": "graph_started", "payload": {}},
                {"timestamp": "2", "event_type": "step_completed", "payload": {"node": "a", "big": "x"}},
                {"timestamp": "3", "event_type": "graph_completed", "payload": {"status": "completed"}}]
        self.put(".ai/state/graphs/g-1/transcript.jsonl",
                 "\n".join(map(json.dumps, rows)) + '\n[]\n{"cut')
        result = self.tool.execute({"run_id": "g-1"}, self.project)
        self.assertEqual(result["steps"][1], {"event": "step_completed", "timestamp": "2", "node": "a"})
        self.assertEqual((result["count"], result["completed_steps"], result["last"]),
                         (3, 1, "graph_completed"))
        self.refused(self.tool.execute({"run_id": "../../x"}, self.project), "Run not found")
        self.refused(self.tool.execute({"run_id": "none"}, self.project), "Transcript not found")
        self.put(".ai/agent/graphs/older/transcript.jsonl", json.dumps(rows[2]) + "\n")
        self.put(".ai/agent/graphs/g-1/transcript.jsonl", "")
        self.assertEqual(self.tool.execute({"run_id": "older"}, self.project)["last"], "graph_completed")
        self.assertEqual(self.tool.execute({"run_id": "g-1"}, self.project)["count"], 3)


class Gates(harness.Case):
    tool = harness.load("rye/code/quality/gate")

    def test_lists(self):
        self.assertEqual(self.tool.gates_of({"gates": {"a": "true", "b": {"command": "x", "timeout": 1}}}),
                         [{"name": "a", "command": "true"}, {"name": "b", "command": "x", "timeout": 1}])
        for bad in ({}, {"gates": []}, {"gates": [{"name": "a"}]}, {"gates": ["a"]}, {"gates": {"a": 5}}):
            with self.assertRaises(self.tool.rye_tool.Failure):
                self.tool.gates_of(bad)


class Asking(harness.Case):
    """How the library takes what the engine says."""

    def ask(self, body):
        os.chmod(self.put("ryefs", "#!/bin/sh\n" + body), 0o755)
        tool = harness.tool_file("rye/core/processes/status")
        status, out, err = harness.run("python/function", tool, {"run_id": "x"}, self.project,
                                       env={"RYE_RYEFS": self.path("ryefs")})
        self.assertEqual((status, err), (0, ""))
        return json.loads(out)

    def test_answers(self):
        row = self.ask("""printf '{"id":"x","status":"running","pid":"7","alive":"1"}'""")
        self.assertEqual((row["run_id"], row["pid"], row["alive"]), ("x", 7, True))
        self.refused(self.ask("echo 'ryefs threads: Thread not found: x' >&2; exit 3"), "Run not found: x")
        self.refused(self.ask("echo 'ryefs threads: other' >&2; exit 1"), "other")
        self.refused(self.ask("exit 1"), "ryefs threads failed")
        self.refused(self.ask("echo no JSON"), "Expecting value")


if __name__ == "__main__":
    harness.main()
