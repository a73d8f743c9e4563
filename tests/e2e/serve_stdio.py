# SPDX-License-Identifier: MIT
"""`ryefs mcp` on standard input and output: eras, tools, prompts, resources, tasks, streams, and
how calls and the server end."""

import base64
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
import unittest

import peer
from peer import LEGACY, META, MODERN, MODERN_MEMBERS, RYEFS, Place, Stdio, claim, execute, harness
from peer import living, request, text_of, until

PAIR = """__version__ = "1.0.0"
__tool_type__ = "python"
__executor_id__ = "rye/core/runtimes/python/function"
__category__ = "t"
__tool_description__ = "a number and a list"


def execute(params, project_path):
    return {"words": 3, "longest": ["a", "b"]}
"""

URI = "rye://knowledge/"


class Eras(Place):
    def code(self, server, message):
        server.send(message)
        answer = server.response(message.get("id"))
        return answer["error"]["code"]

    def test_mcp45_eras_side_by_side(self):
        server = Stdio(self)
        modern = server.result("server/discover")
        self.assertEqual(modern["supportedVersions"], [MODERN])
        self.assertEqual((modern["resultType"], modern["cacheScope"], modern["ttlMs"]),
                         ("complete", "private", 3600000))
        self.assertEqual(modern["_meta"][META + "serverInfo"]["name"], "ryefs")
        legacy = server.initialize()
        self.assertEqual(legacy["serverInfo"]["name"], "ryefs")
        self.assertEqual(server.result("ping", None, {}), {})
        for method in ("tools/list", "prompts/list", "resources/list", "resources/templates/list"):
            self.assertEqual(set(MODERN_MEMBERS) & set(server.result(method, None, {})), set(), method)
            self.assertLessEqual({"resultType", "ttlMs", "cacheScope"}, set(server.result(method)), method)
        # the same claim is answered as before, whatever else was said
        self.assertEqual(server.result("server/discover"), modern)
        call = server.call("rye_fetch", {"query": "count", "item_type": "tool"}, {})
        self.assertEqual(set(MODERN_MEMBERS) & set(call), set())

    def test_initialize_versions(self):
        for asked in LEGACY:
            self.assertEqual(Stdio(self).initialize(asked)["protocolVersion"], asked)
        for asked in ("1999-01-01", MODERN):
            self.assertEqual(Stdio(self).initialize(asked)["protocolVersion"], LEGACY[0])

    def test_mcp46_a_version_that_is_not_known(self):
        server = Stdio(self)
        for version in ("2031-01-01", "2025-11-25", ""):
            answer = server.ask("tools/list", None, claim(version))
            self.assertEqual(answer["error"]["code"], -32022)
            self.assertEqual(answer["error"]["data"], {"supported": [MODERN], "requested": version})

    def test_mcp47_missing_keys(self):
        server = Stdio(self)
        answer = server.ask("tools/list", None, {})
        self.assertEqual(answer["error"]["code"], -32602)
        self.assertIn("protocolVersion", answer["error"]["message"])
        self.assertIn("clientCapabilities", answer["error"]["message"])
        self.assertEqual(self.code(server, request(9, "tools/list", None, {META + "protocolVersion": MODERN})), -32602)
        self.assertEqual(self.code(server, request(9, "tools/list", None, claim(7))), -32602)

    def test_methods_of_the_other_era(self):
        server = Stdio(self)
        for method in ("initialize", "ping", "logging/setLevel", "resources/subscribe", "no/such", ""):
            self.assertEqual(self.code(server, request("a", method)), -32601, method)
        server.initialize()
        for method in ("server/discover", "subscriptions/listen", "tasks/get"):
            self.assertEqual(self.code(server, request("b", method, None, {})), -32601, method)

    def test_mcp49_what_is_no_message(self):
        server = Stdio(self)
        for line, code in ((b"nonsense", -32700), (b"{", -32700), (b"[]", -32600), (b"7", -32600),
                           (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600),
                           (b'{"id":1,"method":"ping"}', -32600),
                           (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600),
                           (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600),
                           (b"\xff\xfe", -32700), (b"[" * 1000, -32700), (b"[" * 100 + b"]" * 100, -32600)):
            server.raw(line + b"\n")
            answer = server.next()
            self.assertEqual((answer["error"]["code"], "id" in answer), (code, False), line)
        # blank lines, CR LF, responses and unknown notices are passed over
        server.raw(b"\n\r\n" + json.dumps(request(1, "tools/list")).encode() + b"\r\n")
        self.assertIn("result", server.response(1))
        server.send({"jsonrpc": "2.0", "id": 3, "result": {}})
        server.send({"jsonrpc": "2.0", "method": "notifications/nothing"})
        self.assertEqual(server.ask("tools/list")["id"], 1)

    def test_params_of_other_types(self):
        server = Stdio(self)
        server.initialize()
        for method, params in (
                ("tools/call", {}), ("tools/call", {"name": 7}), ("tools/call", {"name": "rye_fetch\0x"}),
                ("tools/call", {"name": "rye_fetch", "arguments": []}),
                ("tools/call", {"name": "rye_fetch", "requestState": "x"}),
                ("prompts/get", {"name": ["a"]}), ("resources/read", {"uri": 1}),
                ("tools/list", {"cursor": "x"}), ("prompts/list", {"cursor": "x"}),
                ("resources/list", {"cursor": 5}), ("initialize", {"protocolVersion": 1})):
            self.assertEqual(server.ask(method, params, {})["error"]["code"], -32602, (method, params))
        server.send({"jsonrpc": "2.0", "id": 77, "method": "tools/list", "params": [1]})
        self.assertEqual(server.response(77)["error"]["code"], -32602)

    def test_mcp10_recordings(self):
        """What recorded clients wrote is answered as recorded servers did, but for their tools."""
        for name in ("stdio-2026-07-28", "stdio-2025-06-18", "stdio-2025-11-25"):
            rows = [json.loads(line) for line in harness.read(
                os.path.join(os.environ["RYE_TEST_SRC"], "vectors", "mcp", name + ".jsonl")).splitlines()]
            self.replay(name, rows)

    def replay(self, name, rows):
        server = Stdio(self)
        answered = {row["msg"]["id"]: row["msg"] for row in rows
                    if row.get("dir") == "s" and "id" in row.get("msg", {}) and "method" not in row["msg"]}
        for row in rows:
            message = row.get("msg", {})
            if row.get("dir") != "c" or "id" not in message or message["method"] == "subscriptions/listen":
                continue
            server.send(message)
            mine, theirs = server.response(message["id"]), answered.get(message["id"])
            if message["method"] == "tools/call" or not theirs:
                continue
            if message["method"] == ("initialize" if name.endswith(MODERN) else "server/discover"):
                self.assertIn("result", mine)  # here each message says its era, not the first one
                continue
            version = message.get("params", {}).get("_meta", {}).get(META + "protocolVersion", MODERN)
            if version != MODERN:  # theirs is pinned to its first message and answers it
                self.assertEqual(mine["error"]["code"], -32022, message)
                continue
            where = (name, message, mine, theirs)
            self.assertEqual("result" in mine, "result" in theirs, where)
            if "error" in mine:
                self.assertEqual(mine["error"]["code"], theirs["error"]["code"], where)
            else:
                members = set(theirs["result"]) - {"instructions"}
                self.assertLessEqual(members, set(mine["result"]), where)


class Tools(Place):
    def names(self, *words):
        return [tool["name"] for tool in Stdio(self, *words).result("tools/list")["tools"]]

    def test_mcp55_tools(self):
        server = Stdio(self)
        tools = {tool["name"]: tool for tool in server.result("tools/list")["tools"]}
        self.assertEqual(list(tools), ["rye_execute", "rye_fetch"])
        for tool in tools.values():
            self.assertEqual(tool["inputSchema"]["type"], "object")
            self.assertIs(tool["inputSchema"]["additionalProperties"], False)
            self.assertEqual(tool.get("outputSchema", {}).get("required"),
                             None if tool["name"] == "rye_execute" else ["status"])
        hints = tools["rye_execute"]["annotations"]
        self.assertEqual(hints, {"readOnlyHint": False, "destructiveHint": True,
                                 "idempotentHint": False, "openWorldHint": True})
        hints = tools["rye_fetch"]["annotations"]
        self.assertEqual(hints, {"readOnlyHint": False, "destructiveHint": False,
                                 "idempotentHint": True, "openWorldHint": False})
        # each member that the schema names is taken
        taken = {"item_id": "tool:sample/count-words", "item_type": "tool", "dry_run": True,
                 "parameters": {"text": "a"}, "async": False, "thread": "inline", "target": "local",
                 "project_path": self.project}
        self.assertLessEqual(set(taken), set(tools["rye_execute"]["inputSchema"]["properties"]))
        self.assertFalse(server.call("rye_execute", taken)["isError"])
        self.assertFalse(server.call("rye_execute", {**taken, "thread": False})["isError"])
        # what only a thread obeys is taken for one alone
        for name, value in (("model", "m"), ("limit_overrides", {"spend": 0.01})):
            for item in ("tool:sample/count-words", "directive:sample/welcome"):
                answer = server.call("rye_execute", {"item_id": item, name: value})
                self.assertTrue(answer["isError"])
                self.assertIn(name + ' requires thread="fork"', answer["content"][0]["text"])
        found = server.call("rye_fetch", {"query": "count", "item_type": "tool", "source": "all", "limit": 1})
        self.assertEqual(found["structuredContent"]["status"], "success")
        self.assertEqual([hit["type"] for hit in found["structuredContent"]["results"]], ["tool"])
        item = server.call("rye_fetch", {"item_id": "knowledge:sample/house-rules", "source": "all"})
        self.assertIn("House rules", item["structuredContent"]["content"])

    def test_results(self):
        server = Stdio(self)
        good = server.result("tools/call", execute("echo hi"))
        self.assertEqual((good["isError"], good["resultType"]), (False, "complete"))
        self.assertEqual(good["content"], [{"type": "text", "text": "hi\n"}])
        self.assertNotIn("structuredContent", good)
        bad = server.result("tools/call", execute("echo no >&2; exit 3"))
        self.assertTrue(bad["isError"])
        self.assertEqual((len(bad["content"]), text_of(bad).count("no")), (1, 1))

    def test_a_result_is_as_short_as_what_is_said(self):
        server = Stdio(self)
        hey = server.result("tools/call", execute("echo HEY"))
        self.assertLessEqual(len(json.dumps(hey, separators=(",", ":"))), 200)
        self.put(".ai/tools/t/pair.py", PAIR)
        self.rye("sign", "tool:t/pair", "--project", self.project)
        pair = server.call("rye_execute", {"item_id": "tool:t/pair"})
        self.assertEqual(json.loads(text_of(pair)), {"words": 3, "longest": ["a", "b"]})
        self.assertNotIn("structuredContent", pair)
        # the chain is there for the asking
        whole = server.call("rye_execute", {"item_id": "tool:t/pair", "trace": True})
        self.assertEqual(json.loads(text_of(whole)), whole["structuredContent"])
        self.assertLessEqual({"chain", "chain_detail", "data", "metadata", "trace"}, set(whole["structuredContent"]))
        printed = self.rye("execute", "t/pair", "--project", self.project).stdout
        self.assertEqual(json.loads(printed), {"words": 3, "longest": ["a", "b"]})
        # what a caller did wrong, and what is taken
        bad = server.call("rye_execute", {"item_id": "tool:rye/bash/bash"})
        self.assertEqual(text_of(bad).count("Missing required parameters: command"), 1)
        self.assertNotIn("chain", text_of(bad))

    def test_wrong_arguments_are_results(self):
        server = Stdio(self)
        for name, arguments, sentence in (
                ("rye_execute", {}, "item_id is required."),
                ("rye_execute", {"item_id": "tool:no/such"}, "Tool not found: no/such"),
                ("rye_execute", {"item_id": "tool:rye/bash/bash", "thread": "x"}, "Unknown thread mode: 'x'"),
                ("rye_execute", {"item_id": "tool:rye/bash/bash", "chain": True}, "takes no argument chain"),
                ("rye_execute", {"item_id": "tool:rye/bash/bash", "project_path": "/"}, "project_path: this is the project"),
                ("rye_fetch", {}, "Provide item_id or query"),
                ("rye_fetch", {"item_id": "a", "query": "b"}, "not both")):
            result = server.call(name, arguments)
            self.assertTrue(result["isError"])
            self.assertIn(sentence, text_of(result))

    def test_mcp56_aliases(self):
        self.assertEqual(self.names("--aliases"), ["rye_execute", "rye_fetch", "rye_load", "rye_search"])
        server = Stdio(self)
        load = server.call("rye_load", {"item_id": "knowledge:sample/house-rules"})
        self.assertEqual(load["structuredContent"]["mode"], "id")
        search = server.call("rye_search", {"query": "house", "item_type": "knowledge"})
        self.assertEqual(search["structuredContent"]["mode"], "query")

    def test_mcp57_read_only(self):
        server = Stdio(self, "--read-only", "--allow-sign", "--aliases")
        tools = server.result("tools/list")["tools"]
        self.assertEqual([tool["name"] for tool in tools], ["rye_fetch", "rye_load", "rye_search"])
        for tool in tools:
            self.assertTrue(tool["annotations"]["readOnlyHint"])
            self.assertNotIn("destination", tool["inputSchema"]["properties"])
        for name in ("rye_execute", "rye_sign"):
            answer = server.ask("tools/call", {"name": name, "arguments": {"item_id": "tool:rye/bash/bash"}})
            self.assertEqual(answer["error"]["code"], -32602)
        copy = server.call("rye_fetch", {"item_id": "tool:sample/count-words", "destination": "user"})
        self.assertIn("takes no argument destination", copy["structuredContent"]["error"])
        self.assertFalse(os.path.exists(self.user + "/.ai/tools/sample"))

    def test_mcp57_sign_is_refused_by_default(self):
        self.knowledge("mine", sign=False)
        server = Stdio(self)
        answer = server.ask("tools/call", {"name": "rye_sign", "arguments": {"item_id": "knowledge:mine"}})
        self.assertEqual(answer["error"]["code"], -32602)
        self.assertIn("--allow-sign", answer["error"]["message"])
        self.assertIn("refused", self.rye("verify", "--project", self.project, "knowledge:mine", status=4).stdout + "refused")
        self.assertEqual(self.names("--allow-sign"), ["rye_execute", "rye_fetch", "rye_sign"])
        server = Stdio(self, "--allow-sign")
        signed = server.call("rye_sign", {"item_id": "knowledge:mine", "source": "project"})
        self.assertEqual(signed["structuredContent"]["status"], "signed")
        self.rye("verify", "--project", self.project, "knowledge:mine")

    def test_a_long_reply(self):
        server = Stdio(self)
        reply = server.result("tools/call", execute("yes äöü | head -c 45000; yes b | head -c 45000 >&2"))
        self.assertEqual(text_of(reply).count("\nb"), 22500)
        reply = server.result("tools/call", execute("yes äöü | head -c 45000", trace=True))
        self.assertEqual(json.loads(text_of(reply)), reply["structuredContent"])
        self.knowledge("long", "ä" * 400000)
        long = server.call("rye_fetch", {"item_id": "knowledge:long"})
        text = long["content"][0]["text"]
        self.assertLess(len(text.encode()), 257 << 10)
        self.assertIn("[the beginning of a reply of ", text)
        self.assertIn("ä" * 400000, long["structuredContent"]["content"])
        self.knowledge("longer", "x" * (15 << 20) + '"' * 500000)
        self.assertIn("bigger than a message", server.call(
            "rye_fetch", {"item_id": "knowledge:longer"})["structuredContent"]["error"])

    def test_progress(self):
        server = Stdio(self)
        server.send(request("p", "tools/call", execute("echo a; sleep 1; echo b"), claim(progressToken="tok")))
        server.response("p")
        told, server.kept = server.kept, []
        self.assertGreaterEqual(len(told), 2)
        steps = [notice["params"]["progress"] for notice in told]
        self.assertEqual(steps, sorted(set(steps)))
        self.assertEqual({notice["params"]["progressToken"] for notice in told}, {"tok"})
        self.assertEqual({notice["method"] for notice in told}, {"notifications/progress"})
        # none behind the answer, none without a token
        server.result("tools/call", execute("echo a; sleep 0.5; echo b"))
        self.assertEqual(server.kept, [])


class Documents(Place):
    def test_settings_of_a_client(self):
        """What README.md and docs/mcp.md tell a client to start is a server."""
        top = os.path.dirname(os.environ["RYE_TEST_SRC"])
        for path in ("README.md", "docs/mcp.md"):
            shown = harness.read(os.path.join(top, path)).partition("```json\n")[2].partition("```")[0]
            server = json.loads(shown)["mcpServers"]["rye"]
            self.assertEqual(server["command"], "ryefs")
            words = [self.project if word == "/srv/work" else word for word in server["args"]]
            hello = json.dumps(request(1, "server/discover")) + "\n"
            done = subprocess.run([RYEFS, *words], input=hello, text=True, capture_output=True,
                                  env=self.env, timeout=peer.WAIT)
            self.assertIn("supportedVersions", done.stdout)


class Calls(Place):
    def test_mcp58_cancel_kills_the_run(self):
        server = Stdio(self)
        server.send(request(5, "tools/call", execute("sleep " + self.mark)))
        self.assertTrue(until(lambda: living(self.mark)))
        server.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 5}})
        self.assertTrue(self.gone(self.mark))
        self.assertEqual(server.ask("tools/list")["id"], 1)
        self.assertEqual(server.kept, [])

    def test_cancel_of_unknown_ids(self):
        server = Stdio(self)
        for wrong in (1, "x", None, [1], {"a": 1}, 1.5):
            server.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": wrong}})
        server.send({"jsonrpc": "2.0", "method": "notifications/cancelled"})
        server.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": [1]})
        server.send(request("5", "tools/call", execute("sleep 0.5; echo on")))
        # another id: a text is no number
        server.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 5}})
        self.assertEqual(text_of(server.response("5")["result"]), "on\n")
        self.assertEqual(server.kept, [])

    def test_mcp59_calls_side_by_side(self):
        server = Stdio(self)
        server.result("tools/call", execute("true"))
        begin = time.monotonic()
        for number in range(6):
            server.send(request("c%d" % number, "tools/call", execute("sleep 1; echo %d" % number)))
        for number in range(6):
            answer = server.response("c%d" % number)
            self.assertEqual(text_of(answer["result"]), "%d\n" % number)
        self.assertLess(time.monotonic() - begin, 5)

    def test_mcp60_end_of_input(self):
        self.assertEqual(Stdio(self).close(), 0)
        server = Stdio(self)
        server.send(request(1, "tools/call", execute("sleep " + self.mark)))
        self.assertTrue(until(lambda: living(self.mark)))
        begin = time.monotonic()
        self.assertEqual(server.close(), 1)  # a call was lost: no success
        self.assertLess(time.monotonic() - begin, 8)
        self.assertTrue(self.gone(self.mark))

    def test_answers_behind_the_end_of_input(self):
        lines = "\n".join(json.dumps(request(number, "tools/call", execute("echo %d" % number)))
                          for number in range(3))
        done = subprocess.run([RYEFS, "mcp", "--project", self.project], input=lines, text=True,
                              capture_output=True, env=self.env, timeout=peer.WAIT)
        self.assertEqual(sorted(json.loads(line)["id"] for line in done.stdout.splitlines()), [0, 1, 2])
        self.assertEqual(done.returncode, 0)

    def test_a_call_that_outlives_the_input(self):
        line = json.dumps(request(1, "tools/call", execute("sleep " + self.mark)))
        done = subprocess.run([RYEFS, "mcp", "--project", self.project], input=line, text=True,
                              capture_output=True, env=self.env, timeout=60)
        self.assertEqual(done.stdout, "")
        self.assertIn("were ended without an answer", done.stderr)
        self.assertEqual(done.returncode, 1)
        self.assertTrue(self.gone(self.mark))

    def test_signals(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            server = Stdio(self)
            server.send(request(1, "tools/call", execute("sleep " + self.mark)))
            self.assertTrue(until(lambda: living(self.mark)))
            server.process.send_signal(number)
            self.assertEqual(server.process.wait(timeout=peer.WAIT), 0)
            self.assertTrue(self.gone(self.mark))

    def test_a_client_that_is_killed(self):
        # its ends of both pipes close, as when a client dies in the middle of a call
        server = Stdio(self, read=False)
        server.send(request(1, "tools/call", execute("sleep " + self.mark)))
        self.assertTrue(until(lambda: living(self.mark)))
        server.process.stdout.close()
        server.process.stdin.close()
        self.assertIsNotNone(server.process.wait(timeout=peer.WAIT))
        self.assertTrue(self.gone(self.mark))

    def test_a_server_that_is_killed(self):
        server = Stdio(self)
        server.send(request(1, "tools/call", execute("sleep " + self.mark)))
        self.assertTrue(until(lambda: living(self.mark)))
        server.process.kill()
        self.assertTrue(self.gone(self.mark))

    def test_a_client_that_never_reads(self):
        server = Stdio(self, read=False)
        server.send(request(1, "tools/call", execute("sleep " + self.mark)))
        for number in range(200):
            server.send(request(number + 2, "tools/list"))
        # its input is still read: a cancellation comes through
        self.assertTrue(until(lambda: living(self.mark)))
        server.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
        self.assertTrue(self.gone(self.mark))
        server.process.stdin.close()
        server.process.stdout.close()
        server.process.wait(timeout=peer.WAIT)

    def test_mcp12_a_message_that_is_too_big(self):
        server = Stdio(self)
        message = json.dumps(request(1, "tools/list", {"x": ""})).encode()
        pad = (16 << 20) - len(message)
        server.raw(message.replace(b'"x": ""', b'"x": "' + b"a" * pad + b'"') + b"\n")
        self.assertIn("result", server.response(1))
        try:
            server.raw(message.replace(b'"x": ""', b'"x": "' + b"a" * (pad + 1) + b'"') + b"\n")
        except BrokenPipeError:
            pass
        answer = server.next()
        self.assertEqual((answer["error"]["code"], "id" in answer), (-32600, False))
        self.assertEqual(server.process.wait(timeout=peer.WAIT), 0)


class Prompts(Place):
    def test_prompts(self):
        self.directive("a/b", '<inputs><input name="who" type="string" required="true">Whom</input>'
                              '<input name="n" type="integer" default="3">How many</input></inputs>',
                       "1. Greet {input:who} {input:n} times.")
        server = Stdio(self)
        prompts = {prompt["name"]: prompt for prompt in server.result("prompts/list")["prompts"]}
        prompt = prompts["a.b"]
        self.assertEqual(prompt["_meta"]["ryefs/ref"], "directive:a/b")
        self.assertEqual(prompt["description"], "What a/b does")
        self.assertEqual(prompt["arguments"], [
            {"name": "who", "description": "Whom", "required": True},
            {"name": "n", "description": "How many"}])
        got = server.result("prompts/get", {"name": "a.b", "arguments": {"who": "Zoë & Co=?%", "n": "7"}})
        self.assertEqual([message["role"] for message in got["messages"]], ["user"])
        self.assertIn("Greet Zoë & Co=?% 7 times.", got["messages"][0]["content"]["text"])
        for arguments in ({}, {"n": "1"}, {"who": 7}, {"who": "x", "other": "y"}):
            answer = server.ask("prompts/get", {"name": "a.b", "arguments": arguments})
            self.assertEqual(answer["error"]["code"], -32602, arguments)
        self.assertEqual(server.ask("prompts/get", {"name": "no"})["error"]["code"], -32602)

    def test_names_that_clash(self):
        self.directive("a/b/c")
        self.directive("a.b/c")
        server = Stdio(self)
        names = [prompt["name"] for prompt in server.result("prompts/list")["prompts"]]
        self.assertNotIn("a.b.c", names)
        self.assertEqual(server.ask("prompts/get", {"name": "a.b.c"})["error"]["code"], -32602)
        self.log.seek(0)
        self.assertIn("two directives would be the prompt a.b.c", self.log.read())

    def test_without(self):
        server = Stdio(self, "--no-prompts", "--no-resources")
        self.assertEqual(set(server.result("server/discover")["capabilities"]), {"tools", "extensions"})
        for method in ("prompts/list", "prompts/get", "resources/list", "resources/read", "resources/templates/list"):
            self.assertEqual(server.ask(method)["error"]["code"], -32601, method)


class Resources(Place):
    def read(self, server, uri):
        return server.ask("resources/read", {"uri": uri})

    def test_resources(self):
        self.knowledge("a b/ä?", "a text")
        server = Stdio(self)
        listed = {entry["name"]: entry for entry in server.result("resources/list")["resources"]}
        entry = listed["a b/ä?"]
        self.assertEqual(entry["uri"], URI + "a%20b/%C3%A4%3F")
        self.assertEqual((entry["mimeType"], entry["title"]), ("text/markdown", "Title of a b/ä?"))
        self.assertEqual(len(entry["_meta"]["ryefs/signer"]), 16)
        contents = self.read(server, entry["uri"])["result"]["contents"]
        self.assertEqual((len(contents), contents[0]["uri"]), (1, entry["uri"]))
        self.assertIn("a text", contents[0]["text"])
        self.assertEqual(len(contents[0]["text"].encode()), entry["size"])
        template = server.result("resources/templates/list")["resourceTemplates"][0]
        self.assertEqual(template["uriTemplate"], URI + "{+id}")

    def test_mcp65_what_does_not_verify(self):
        self.knowledge("bare", sign=False)
        self.knowledge("changed")
        with open(self.path(".ai/knowledge/changed.md"), "a", encoding="utf-8") as file:
            file.write("more\n")
        self.directive("broken")
        with open(self.path(".ai/directives/broken.md"), "a", encoding="utf-8") as file:
            file.write("more\n")
        server = Stdio(self)
        names = [entry["name"] for entry in server.result("resources/list")["resources"]]
        self.assertIn("sample/house-rules", names)
        self.assertEqual({"bare", "changed"} & set(names), set())
        for name in ("bare", "changed", "no/such"):
            answer = self.read(server, URI + name)
            self.assertEqual((answer["error"]["code"], answer["error"]["data"]), (-32602, {"uri": URI + name}))
        self.assertNotIn("broken", [prompt["name"] for prompt in server.result("prompts/list")["prompts"]])
        self.assertEqual(server.ask("prompts/get", {"name": "broken"})["error"]["code"], -32602)

    def skill(self, name):
        folder = self.path("made/" + name)
        os.makedirs(folder + "/data")
        with open(folder + "/SKILL.md", "w", encoding="utf-8") as file:
            file.write("---\nname: %s\ndescription: What %s is for.\n---\nText ü\n" % (name, name))
        with open(folder + "/data/x.bin", "wb") as file:
            file.write(b"\xff\x00\x01")
        digest = re.search("sha256:[0-9a-f]{64}", self.rye("skill", "add", "--project", self.project, folder, status=None).stdout).group()
        self.rye("skill", "add", "--project", self.project, "--expect", digest, folder)
        return folder

    def test_skills(self):
        for name in ("good", "changed"):
            self.skill(name)
        os.makedirs(self.path(".ai/skills/bare"))
        server = Stdio(self)
        listed = {entry["uri"]: entry for entry in server.result("resources/list")["resources"] if entry["uri"].startswith("skill:")}
        self.assertEqual(set(listed), {"skill://good/SKILL.md", "skill://changed/SKILL.md"})
        entry = listed["skill://good/SKILL.md"]
        self.assertEqual((entry["name"], entry["description"], entry["mimeType"]), ("good", "What good is for.", "text/markdown"))
        contents = self.read(server, entry["uri"])["result"]["contents"][0]
        self.assertEqual((contents["text"].encode()[-8:], len(contents["text"].encode())), ("Text ü\n".encode(), entry["size"]))
        self.assertEqual(contents["_meta"]["ryefs/ref"], "skill:good")
        contents = self.read(server, "skill://good/data/x.bin")["result"]["contents"][0]
        self.assertEqual((base64.b64decode(contents["blob"]), contents["mimeType"]), (b"\xff\x00\x01", "application/octet-stream"))
        with open(self.path(".ai/skills/changed/data/x.bin"), "ab") as file:
            file.write(b"x")
        # the server hears of a change, as a mount does
        for _ in range(500):
            if "error" in self.read(server, "skill://changed/SKILL.md"):
                break
            time.sleep(0.01)
        for uri in ("skill://changed/SKILL.md", "skill://changed/data/x.bin", "skill://bare/SKILL.md"):
            answer = self.read(server, uri)
            self.assertEqual((answer["error"]["code"], answer["error"]["data"]), (-32602, {"uri": uri}))
        self.assertIn("changed since signing", self.read(server, "skill://changed/SKILL.md")["error"]["message"])
        listed = [entry["uri"] for entry in server.result("resources/list")["resources"]]
        self.assertIn("skill://good/SKILL.md", listed)
        self.assertNotIn("skill://changed/SKILL.md", listed)
        for uri in ("skill://good", "skill://good/", "skill://good/data", "skill://good/no", "skill://no/SKILL.md", "skill://",
                    "skill://good/../good.yaml", "skill://good/%2e%2e/good.yaml", "skill://../tools/x", "skill://good/SKILL.md%00"):
            self.assertEqual(self.read(server, uri)["error"]["code"], -32602, uri)
        templates = [row["uriTemplate"] for row in server.result("resources/templates/list")["resourceTemplates"]]
        self.assertIn("skill://{name}/{+path}", templates)

    def test_mcp66_what_is_no_resource(self):
        self.knowledge("agent/threads/t1", "what a model wrote")
        self.rye("init", self.user, status=None)
        server = Stdio(self)
        names = [entry["name"] for entry in server.result("resources/list")["resources"]]
        self.assertNotIn("agent/threads/t1", names)
        for uri in (URI + "agent/threads/t1", URI + "agent%2Fthreads/t1", URI + "../../config/keys/signing/private_key.pem",
                    URI + "%2e%2e/%2e%2e/tools/sample/count-words", URI + "a/../sample/house-rules",
                    URI + "/etc/passwd", URI + "%2fetc/passwd", URI + "sample%00", URI + "%", URI + "%zz",
                    URI + "%ff", URI, "rye://tool/sample/count-words", "file:///etc/passwd", "",
                    "rye://knowledge", URI + "x" * 5000):
            self.assertEqual(self.read(server, uri)["error"]["code"], -32602, uri)

    def test_pages(self):
        for number in range(205):
            self.knowledge("many/n%03d" % number, sign=False)
        self.sign("knowledge:many/*")
        server = Stdio(self, "--system", "")
        names, cursor, pages = [], None, 0
        while pages < 9:
            result = server.result("resources/list", {"cursor": cursor} if cursor else None)
            names += [entry["name"] for entry in result["resources"]]
            cursor, pages = result.get("nextCursor"), pages + 1
            if cursor is None:
                break
        many = [name for name in names if name.startswith("many/")]
        self.assertEqual((len(many), len(set(names)), pages), (205, len(names), 3))


class Streams(Place):
    def listen(self, server, number, **wanted):
        server.send(request(number, "subscriptions/listen", {"notifications": wanted}))
        return server.next()

    def test_mcp67_a_notice_behind_the_acknowledgement(self):
        server = Stdio(self)
        first = self.listen(server, "s", resourcesListChanged=True, toolsListChanged=True, taskIds=["x"])
        self.assertEqual(first["method"], "notifications/subscriptions/acknowledged")
        self.assertEqual(first["params"]["notifications"], {"resourcesListChanged": True, "toolsListChanged": True})
        self.assertEqual(first["params"]["_meta"], {META + "subscriptionId": "s"})
        self.knowledge("new")
        notice = server.next()
        self.assertEqual(notice["method"], "notifications/resources/list_changed")
        self.assertEqual(notice["params"]["_meta"], {META + "subscriptionId": "s"})
        self.directive("new")  # was not asked for
        server.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "s"}})
        self.knowledge("newer")
        time.sleep(1.5)  # what is told late is counted, too
        late = [message for message in iter(lambda: None if server.heard.empty() else server.next(), None)]
        self.assertLessEqual({message["method"] for message in late}, {"notifications/resources/list_changed"})
        self.assertLessEqual(len(late), 1)
        self.assertIn("new", [entry["name"] for entry in server.result("resources/list")["resources"]])

    def test_the_end_of_a_stream(self):
        server = Stdio(self)
        self.listen(server, 7, promptsListChanged=True)
        server.process.stdin.close()
        told = server.next()
        self.assertEqual((told["method"], told["params"]), ("notifications/cancelled", {"requestId": 7}))
        last = server.next()
        self.assertEqual((last["id"], last["result"]["resultType"]), (7, "complete"))
        self.assertEqual(last["result"]["_meta"][META + "subscriptionId"], 7)
        self.assertIsNone(server.next())
        self.assertEqual(server.process.wait(timeout=peer.WAIT), 0)

    def test_too_many_streams(self):
        server = Stdio(self)
        for number in range(64):
            self.listen(server, number, promptsListChanged=True)
        self.assertEqual(self.listen(server, 64, promptsListChanged=True)["error"]["code"], -32603)
        server.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 3}})
        self.assertEqual(self.listen(server, 65, promptsListChanged=True)["params"]["_meta"], {META + "subscriptionId": 65})

    def test_a_legacy_client_is_told_without_asking(self):
        server = Stdio(self)
        self.assertTrue(server.initialize()["capabilities"]["prompts"]["listChanged"])
        self.directive("new")
        self.assertEqual(server.next(), {"jsonrpc": "2.0", "method": "notifications/prompts/list_changed"})


class Tasks(Place):
    def begin(self, server, command):
        return server.result("tools/call", execute(command, **{"async": True}), claim(tasks=True))

    def get(self, server, task):
        return server.result("tasks/get", {"taskId": task}, claim(tasks=True))

    def settle(self, server, task):
        found = {}
        self.assertTrue(until(lambda: found.update(self.get(server, task)) or found["status"] != "working"))
        return found

    def test_mcp61_a_row_before_the_reply(self):
        server = Stdio(self)
        self.assertIn(META + "tasks", server.result("server/discover")["capabilities"]["extensions"])
        task = self.begin(server, "echo done")
        self.assertEqual((task["resultType"], task["ttlMs"], task["pollIntervalMs"]), ("task", None, 1000))
        threads = json.loads(self.rye("threads", "--project", self.project, "--json").stdout)
        self.assertEqual([thread["id"] for thread in threads], [task["taskId"]])
        done = self.settle(server, task["taskId"])
        self.assertEqual((done["status"], done["resultType"]), ("completed", "complete"))
        self.assertEqual(text_of(done["result"]), "done\n")
        self.assertEqual(done["createdAt"], task["createdAt"])
        # the task outlives the server that began it
        self.assertEqual(self.get(Stdio(self), task["taskId"])["status"], "completed")

    def test_mcp62_cancel(self):
        server = Stdio(self)
        task = self.begin(server, "sleep " + self.mark)
        self.assertEqual(task["status"], "working")
        answer = server.result("tasks/cancel", {"taskId": task["taskId"]}, claim(tasks=True))
        self.assertEqual(answer["resultType"], "complete")
        self.assertEqual(self.settle(server, task["taskId"])["status"], "cancelled")
        self.assertTrue(self.gone(self.mark))
        self.assertIn("resultType", server.result("tasks/cancel", {"taskId": task["taskId"]}, claim(tasks=True)))
        self.assertIn("resultType", server.result("tasks/update", {"taskId": task["taskId"], "inputResponses": {}}, claim(tasks=True)))

    def test_mcp63_unknown_and_undeclared(self):
        server = Stdio(self)
        for method in ("tasks/get", "tasks/cancel", "tasks/update"):
            for task in ("no", "", "../x", 7, None):
                self.assertEqual(server.ask(method, {"taskId": task}, claim(tasks=True))["error"]["code"], -32602)
            error = server.ask(method, {"taskId": "x"})["error"]
            self.assertEqual(error["code"], -32021)
            self.assertEqual(error["data"]["requiredCapabilities"], {"extensions": {META + "tasks": {}}})
        # without the capability it is the reply of today
        reply = server.result("tools/call", execute("true", **{"async": True}))
        begun = json.loads(text_of(reply))
        self.assertEqual(begun["state"], "running")
        self.settle(server, begun["thread_id"])

    def test_mcp64_an_error_is_completed(self):
        server = Stdio(self)
        done = self.settle(server, self.begin(server, "exit 3")["taskId"])
        self.assertEqual((done["status"], done["result"]["isError"]), ("completed", True))
        self.assertNotIn("error", done)

    def test_a_thread_that_went_on_in_another(self):
        server = Stdio(self)
        first = self.begin(server, "echo first")["taskId"]
        self.settle(server, first)
        second = self.begin(server, "sleep " + self.mark)["taskId"]
        with sqlite3.connect(self.path(".ai/state/threads/registry.db")) as registry:
            registry.execute("UPDATE threads SET status = 'continued', continuation_thread_id = ? "
                             "WHERE thread_id = ?", (second, first))
        registry.close()
        self.assertEqual(self.get(server, first)["status"], "working")
        # a client knows the first one alone, and what it cancels is what goes on
        server.result("tasks/cancel", {"taskId": first}, claim(tasks=True))
        self.assertEqual(self.settle(server, second)["status"], "cancelled")
        self.assertTrue(self.gone(self.mark))
        self.assertEqual(self.get(server, first)["status"], "cancelled")
        third = self.begin(server, "echo third")["taskId"]
        self.settle(server, third)
        with sqlite3.connect(self.path(".ai/state/threads/registry.db")) as registry:
            registry.execute("UPDATE threads SET continuation_thread_id = ? WHERE thread_id = ?", (third, first))
        registry.close()
        done = self.get(server, first)
        self.assertEqual((done["status"], text_of(done["result"])), ("completed", "third\n"))

    def test_a_runner_that_is_lost(self):
        server = Stdio(self)
        task = self.begin(server, "sleep " + self.mark)["taskId"]
        self.assertTrue(until(lambda: living(self.mark)))
        threads = json.loads(self.rye("threads", "show", task, "--project", self.project, "--json").stdout)
        os.kill(int(threads["pid"]), signal.SIGKILL)
        lost = self.settle(server, task)
        self.assertEqual((lost["status"], lost["error"]["code"]), ("failed", -32603))
        self.assertTrue(self.gone(self.mark))


if __name__ == "__main__":
    harness.main()
