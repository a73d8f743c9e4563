# SPDX-License-Identifier: MIT
"""A client of `ryefs mcp`, over standard input and output or over HTTP, and a place to serve.

`Place` has a project with signed sample items, a user space with a key and the bundle. `Stdio`
speaks with one server process, `Http` with one port; both tell messages as they are on the wire,
so that a test says what it sends, in which era."""

import glob
import http.client
import json
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "bundle"))

import harness  # noqa: E402

RYEFS = os.environ["RYEFS"]
META = "io.modelcontextprotocol/"
MODERN = "2026-07-28"
LEGACY = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
# what no legacy result has
MODERN_MEMBERS = ("resultType", "ttlMs", "cacheScope", "_meta")
WAIT = 20


def claim(version=MODERN, tasks=False, **more):
    can = {"extensions": {META + "tasks": {}}} if tasks else {}
    return {META + "protocolVersion": version, META + "clientCapabilities": can,
            META + "clientInfo": {"name": "test", "version": "1"}, **more}


def request(number, method, params=None, meta=None):
    """A modern request by default; meta={}: none, as legacy ones are."""
    params = dict(params or {})
    meta = claim() if meta is None else meta
    if meta:
        params["_meta"] = meta
    message = {"jsonrpc": "2.0", "id": number, "method": method}
    return {**message, "params": params} if params else message


def text_of(result):
    """What a run has said: a text, or JSON on one line."""
    return result["content"][0]["text"]


def execute(command, **more):
    """Arguments of tools/call that run a shell command."""
    return {"name": "rye_execute", "arguments": {
        "item_id": "tool:rye/bash/bash", "parameters": {"command": command}, **more}}


def living(mark):
    """Processes whose arguments have this mark."""
    found = []
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            with open(path, "rb") as file:
                words = file.read()
        except OSError:
            continue
        if mark.encode() in words and int(path.split("/")[2]) != os.getpid():
            found.append(path.split("/")[2])
    return found


def until(what, seconds=WAIT):
    end = time.monotonic() + seconds
    while not what():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


class Stdio:
    def __init__(self, place, *words, read=True):
        self.process = subprocess.Popen(
            [RYEFS, "mcp", "--project", place.project, *words], env=place.env, cwd=place.place,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=place.log)
        self.heard = queue.Queue()
        self.kept = []
        self.number = 0
        place.addCleanup(self.end)
        if read:
            self.reader = threading.Thread(target=self.listen, daemon=True)
            self.reader.start()

    def listen(self):
        for line in self.process.stdout:
            self.heard.put(json.loads(line))
        self.heard.put(None)

    def raw(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, message):
        self.raw(json.dumps(message).encode() + b"\n")

    def next(self, seconds=WAIT):
        """The next message; None: there are no more."""
        return self.kept.pop(0) if self.kept else self.heard.get(timeout=seconds)

    def response(self, number, seconds=WAIT):
        """The response with this id; other messages are kept for next()."""
        passed = []
        while True:
            message = self.next(seconds)
            assert message is not None, "the server has ended"
            if message.get("id") == number and "method" not in message:
                self.kept = passed + self.kept
                return message
            passed.append(message)

    def ask(self, method, params=None, meta=None):
        self.number += 1
        self.send(request(self.number, method, params, meta))
        return self.response(self.number)

    def result(self, method, params=None, meta=None):
        answer = self.ask(method, params, meta)
        assert "result" in answer, answer
        return answer["result"]

    def call(self, name, arguments, meta=None):
        return self.result("tools/call", {"name": name, "arguments": arguments}, meta)

    def initialize(self, version=LEGACY[0]):
        answer = self.result("initialize", {"protocolVersion": version, "capabilities": {},
                                            "clientInfo": {"name": "t", "version": "1"}}, {})
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return answer

    def close(self, seconds=WAIT):
        """The end of input; the exit status."""
        if not self.process.stdin.closed:
            self.process.stdin.close()
        return self.process.wait(timeout=seconds)

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            try:
                stream.close()
            except OSError:
                pass


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body
        self.type = headers.get("content-type", "")
        if self.type == "text/event-stream":
            self.messages = [json.loads(line[6:]) for line in body.decode().split("\n")
                             if line.startswith("data: ")]
        else:
            self.messages = [json.loads(body)] if body else []
        self.last = self.messages[-1] if self.messages else None

    @property
    def code(self):
        return (self.last or {}).get("error", {}).get("code")


class Http:
    def __init__(self, place, *words):
        self.path = words[1] if words[:1] == ("--unix",) else None
        listen = [] if self.path else ["--http", "--port", "0"]
        self.process = subprocess.Popen(
            [RYEFS, "mcp", *listen, "--json", "--project", place.project, *words],
            env=place.env, cwd=place.place, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=place.log)
        place.addCleanup(self.end)
        ready = ""
        for line in self.process.stdout:
            ready += line.decode()
            if line.strip() in (b"}", b"") or ready.count("{") == ready.count("}"):
                break
        self.ready = json.loads(ready)
        self.port = None if self.path else int(self.ready["url"].split(":")[2].split("/")[0])
        self.token = harness.read(self.ready["token_file"]) if self.ready["token_file"] else None

    def headers(self, message=None, **more):
        """Those of a client that does it right; None takes one away."""
        headers = {"Content-Type": "application/json",
                   "Accept": "application/json, text/event-stream"}
        if self.token:
            headers["Authorization"] = "Bearer " + self.token
        params = (message or {}).get("params", {})
        version = params.get("_meta", {}).get(META + "protocolVersion")
        if version:
            headers["MCP-Protocol-Version"] = version
            headers["Mcp-Method"] = message["method"]
            name = params.get("name", params.get("uri", params.get("taskId")))
            if isinstance(name, str):
                headers["Mcp-Name"] = name
        headers.update({key.replace("_", "-"): value for key, value in more.items()})
        return {key: value for key, value in headers.items() if value is not None}

    def connect(self):
        link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=WAIT)
        if self.path:
            link.sock = self.socket()
        return link

    def raw(self, verb, body, headers, path="/mcp"):
        link = self.connect()
        try:
            link.request(verb, path, body, headers)
            answer = link.getresponse()
            headers = {key.lower(): value for key, value in answer.getheaders()}
            return Answer(answer.status, headers, answer.read())
        finally:
            link.close()

    def post(self, message, **headers):
        return self.raw("POST", json.dumps(message).encode(), self.headers(message, **headers))

    def ask(self, method, params=None, meta=None, **headers):
        return self.post(request(1, method, params, meta), **headers)

    def socket(self):
        if self.path:
            link = socket.socket(socket.AF_UNIX)
            link.settimeout(WAIT)
            link.connect(self.path)
            return link
        return socket.create_connection(("127.0.0.1", self.port), timeout=WAIT)

    def stop(self, seconds=WAIT):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=seconds)

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


class Place(harness.Case):
    def setUp(self):
        super().setUp()
        self.user = os.path.join(self.place, "user")
        self.runtime = os.path.join(self.place, "run")
        for path in (self.user, self.runtime):
            os.makedirs(path)
        self.env = {name: value for name, value in os.environ.items() if name.endswith("SAN_OPTIONS")}
        self.env.update(HOME=self.user, USER_SPACE=self.user, LANG="C.UTF-8", TMPDIR=self.place,
                        XDG_RUNTIME_DIR=self.runtime, PATH="/usr/local/bin:/usr/bin:/bin")
        self.log = open(os.path.join(self.place, "log"), "w+", encoding="utf-8")
        self.addCleanup(self.look_at_log)
        self.rye("init", "--sample", self.project)
        # a process of this test alone has it among its arguments
        self.mark = "61.%d%d" % (os.getpid(), id(self) % 1000)

    def look_at_log(self):
        self.log.seek(0)
        text = self.log.read()
        self.log.close()
        self.assertNotRegex(text, "Sanitizer|runtime error|Assertion")

    def rye(self, *words, status=0):
        done = subprocess.run([RYEFS, *words], env=self.env, cwd=self.place, capture_output=True,
                              text=True, timeout=60, stdin=subprocess.DEVNULL)
        if status is not None:
            self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def sign(self, ref):
        return self.rye("sign", "-q", "--project", self.project, ref)

    def knowledge(self, name, body="text", sign=True):
        self.put(".ai/knowledge/%s.md" % name,
                 "# T\n\n```yaml\nname: %s\ntitle: Title of %s\nversion: \"1.0.0\"\n"
                 "entry_type: reference\n%s```\n\n%s\n"
                 % (os.path.basename(name), name,
                    "category: %s\n" % os.path.dirname(name) if "/" in name else "", body))
        if sign:
            self.sign("knowledge:" + name)

    def directive(self, name, inputs="", body="1. Do it."):
        self.put(".ai/directives/%s.md" % name,
                 "# D\n\n```xml\n<directive name=\"%s\" version=\"1.0.0\"><metadata>"
                 "<description>What %s does</description><category>%s</category>"
                 "<author>t</author><permissions><execute><tool>rye/*</tool></execute></permissions>"
                 "</metadata>%s</directive>\n```\n\n%s\n"
                 % (os.path.basename(name), name, os.path.dirname(name), inputs, body))
        self.sign("directive:" + name)

    def gone(self, mark):
        return until(lambda: not living(mark))
