# SPDX-License-Identifier: MIT
"""`ryefs mcp --http`: both eras on one port, the gate, headers, streams, cancellation, attacks."""

import json
import os
import socket
import subprocess
import tempfile
import threading
import time
import unittest

import peer
from peer import LEGACY, META, MODERN, MODERN_MEMBERS, RYEFS, WAIT, Http, Place, Stdio, claim
from peer import execute, harness, living, request, text_of, until


class Web(Place):
    def setUp(self):
        super().setUp()
        self.server = Http(self)

    def check(self, answer, status, code=None):
        self.assertEqual((answer.status, answer.code), (status, code), answer.body[:500])
        return answer


class Eras(Web):
    def test_mcp50_eras_on_one_port(self):
        for version in LEGACY:
            started = self.check(self.server.post(
                request(1, "initialize", {"protocolVersion": version, "capabilities": {},
                                          "clientInfo": {"name": "t", "version": "1"}}, {})), 200)
            self.assertEqual(started.last["result"]["protocolVersion"], version)
            self.assertNotIn("mcp-session-id", started.headers)
            self.assertEqual(started.last["result"]["capabilities"]["prompts"], {})
            told = self.server.post({"jsonrpc": "2.0", "method": "notifications/initialized"},
                                    MCP_Protocol_Version=version)
            self.assertEqual((told.status, told.body), (202, b""))
            listed = self.server.ask("tools/list", None, {}, MCP_Protocol_Version=version)
            self.assertEqual(set(MODERN_MEMBERS) & set(self.check(listed, 200).last["result"]), set())
            modern = self.check(self.server.ask("tools/list"), 200).last["result"]
            self.assertLessEqual(set(MODERN_MEMBERS), set(modern))
        # without a header it is the oldest: nothing is remembered of the connection
        self.assertIn("result", self.check(self.server.ask("tools/list", None, {}), 200).last)
        self.check(self.server.ask("ping", None, {}), 200)
        self.check(self.server.ask("no/such", None, {}), 200, -32601)
        self.check(self.server.ask("server/discover", None, {}), 200, -32601)

    def test_mcp48_headers_and_body(self):
        ask = self.server.ask
        self.check(ask("tools/list", MCP_Protocol_Version=None), 400, -32020)
        self.check(ask("tools/list", MCP_Protocol_Version="2025-11-25"), 400, -32020)
        self.check(ask("tools/list", None, claim("2031-01-01")), 400, -32022)
        self.check(ask("tools/list", None, claim("2031-01-01"), MCP_Protocol_Version=MODERN), 400, -32020)
        self.check(ask("tools/list", None, {}, MCP_Protocol_Version=MODERN), 400, -32602)
        self.check(ask("tools/list", None, {}, MCP_Protocol_Version="2031-01-01"), 400, -32602)
        self.check(ask("tools/list", None, {}, MCP_Protocol_Version="1999-01-01"), 400, -32600)
        self.check(ask("tools/list", None, {META + "protocolVersion": MODERN}), 400, -32602)
        self.check(ask("no/such"), 404, -32601)
        self.check(ask("initialize", {"protocolVersion": "2025-11-25"}), 404, -32601)
        self.check(ask("tools/list", Mcp_Method=None), 400, -32020)
        self.check(ask("tools/list", Mcp_Method="TOOLS/LIST"), 400, -32020)
        call = {"name": "rye_fetch", "arguments": {"item_id": "knowledge:sample/house-rules"}}
        self.check(ask("tools/call", call), 200)
        self.check(ask("tools/call", call, Mcp_Name=None), 400, -32020)
        self.check(ask("tools/call", call, Mcp_Name="rye_execute"), 400, -32020)
        self.check(ask("tools/call", call, Mcp_Name="=?base64?cnllX2ZldGNo?="), 200)
        self.check(ask("tools/call", call, Mcp_Name="=?base64?cnllX2ZldGNv?="), 400, -32020)
        self.check(ask("tools/call", call, Mcp_Name="=?base64?###?="), 400, -32020)
        self.check(ask("tools/call", call, Mcp_Name="rye_fetch \t"), 200)
        self.check(ask("resources/read", {"uri": "rye://knowledge/no"}), 200, -32602)
        self.check(ask("resources/read", {"uri": "skill://no/SKILL.md"}), 200, -32602)
        self.rye("new", "skill", "greet", "--project", self.project)
        self.check(ask("resources/read", {"uri": "skill://greet/SKILL.md"}), 200)
        self.check(ask("tasks/get", {"taskId": "x"}), 400, -32021)
        self.check(ask("tasks/get", {"taskId": "x"}, claim(tasks=True)), 200, -32602)
        self.check(ask("tools/call", {"name": "no"}), 200, -32602)

    def test_mcp49_what_is_no_message(self):
        for body, code in ((b"", -32700), (b"{bad", -32700), (b"[" * 70000, -32700), (b"[]", -32600),
                           (json.dumps([request(1, "tools/list")]).encode(), -32600), (b"1", -32600),
                           (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600),
                           (b'{"a":' + b"[" * 100 + b"]" * 100 + b"}", -32600)):
            self.check(self.server.raw("POST", body, self.server.headers()), 400, code)
        self.assertEqual(self.server.post({"jsonrpc": "2.0", "id": 1, "result": {}}).status, 202)

    def test_mcp10_recordings(self):
        """Status and code are those of recorded servers, but for what their tools answer."""
        for name in ("http-2026-07-28", "http-legacy-on-dual"):
            path = os.path.join(os.environ["RYE_TEST_SRC"], "vectors", "mcp", name + ".jsonl")
            rows = [json.loads(line) for line in harness.read(path).splitlines()]
            rows = [row for row in rows if "dir" in row]
            for asked, answered in zip(rows, rows[1:]):
                if asked["dir"] == "c" and answered["dir"] == "s":
                    self.replay(asked, answered)

    def replay(self, asked, answered):
        message = asked.get("msg")
        method = message.get("method") if isinstance(message, dict) else None
        if method == "subscriptions/listen" or (method == "tools/call" and answered["status"] != 400):
            return
        code = answered.get("msg", {}).get("error", {}).get("code")
        if answered["status"] == 400 and code == -32021:
            return  # a tool of theirs that asks a person
        if method == "tools/call" and "Mcp-Param" in json.dumps(answered):
            return  # a tool of theirs with a mirrored argument
        body = asked.get("raw") or (json.dumps(message) if "msg" in asked else "")
        headers = {**asked["headers"], "Authorization": "Bearer " + self.server.token}
        answer = self.server.raw(asked["http"].split()[0], body.encode(), headers)
        self.assertEqual(answer.status, answered["status"], asked)
        if code is not None and code > -32020 and code != -32000:
            self.assertEqual(answer.code, code, asked)
        elif code is not None and code <= -32020:
            self.assertEqual(answer.code, code, asked)


class Gate(Web):
    def test_mcp51_host(self):
        port = ":%d" % self.server.port
        message = request(1, "tools/list")
        for host in ("127.0.0.1", "localhost", "[::1]", "LOCALHOST"):
            for end in ("", port):
                self.check(self.server.post(message, Host=host + end), 200)
        for host in ("evil.example.com", "evil.example.com" + port, "127.0.0.1:1", "localhost.evil.com",
                     "127.0.0.1.evil.com" + port, "localhost:", "0.0.0.0", "", "127.0.0.1:%d0" % self.server.port,
                     "localhost" + port + "x", "[::1", "::1", "2130706433", "127.0.0.1@evil.com", "localhost:+80"):
            self.assertIn(self.server.post(message, Host=host).status, (400, 403), host)
        # two of them, and none: one answer, which says it
        for text in ("Host: localhost\r\nHost: evil.com\r\n", "Host: localhost\r\nhost: localhost\r\n", ""):
            for version in ("1.0", "1.1"):
                with self.server.socket() as link:
                    link.sendall(("POST /mcp HTTP/%s\r\n%sContent-Length: 2\r\n\r\n{}" % (version, text)).encode())
                    got = b""
                    while part := link.recv(4096):
                        got += part
                self.assertEqual(got.split()[1], b"400", got)
                self.assertEqual(got.count(b"HTTP/1.1 "), 1, got)
                self.assertIn(b"Host: one is wanted", got)

    def test_mcp51_target(self):
        """As RFC 9112 has it: a whole address is its path (3.2.2), one empty line before it is skipped (2.2)."""
        body = json.dumps(request(1, "tools/list")).encode()
        at = "http://127.0.0.1:%d" % self.server.port
        for before, target, status in (("", at + "/mcp", 200), ("", "HTTP://localhost/mcp", 200),
                                       ("\r\n", "/mcp", 200), ("\r\n", at + "/mcp", 200),
                                       ("\r\n\r\n", "/mcp", 400), ("\n", "/mcp", 400), ("", at + "/other", 404),
                                       ("", at, 404), ("", "http://evil.example.com/mcp", 403),
                                       ("", "http://127.0.0.1:1/mcp", 403), ("", "https://127.0.0.1/mcp", 404)):
            head = "".join("%s: %s\r\n" % row for row in
                           {"Host": "localhost", "Content-Length": len(body),
                            **self.server.headers(request(1, "tools/list"))}.items())
            with self.server.socket() as link:
                link.sendall(("%sPOST %s HTTP/1.1\r\n%s\r\n" % (before, target, head)).encode() + body)
                got = link.recv(4096)
            self.assertEqual(got.split()[1], str(status).encode(), (before, target, got))

    def test_mcp51_origin(self):
        message = request(1, "tools/list")
        for origin in ("http://localhost:3000", "https://127.0.0.1", "http://[::1]:1"):
            answer = self.check(self.server.post(message, Origin=origin), 200)
            self.assertFalse([name for name in answer.headers if name.startswith("access-control")])
        for origin in ("null", "http://evil.com", "https://localhost.evil.com", "file://localhost", "", "localhost",
                       "http://localhost:1/x", "http://127.0.0.1@evil.com", "http://localhost:99999"):
            self.assertEqual(self.server.post(message, Origin=origin).status, 403, origin)

    def test_mcp52_token(self):
        message = request(1, "tools/list")
        token = self.server.token
        self.assertEqual(len(token), 43)
        info = os.stat(self.server.ready["token_file"])
        self.assertEqual(info.st_mode & 0o777, 0o600)
        self.assertTrue(self.server.ready["token_file"].startswith(self.runtime))
        for wrong in (None, "", "Bearer", "Bearer ", "Bearer x", "Bearer " + token[:-1], "Bearer " + token + "x",
                      "Basic " + token, token, "Bearer " + token.swapcase(), "Bearer " + "x" * 5000):
            answer = self.server.post(message, Authorization=wrong)
            self.assertEqual(answer.status, 401, wrong)
            self.assertEqual(answer.headers["www-authenticate"], 'Bearer realm="ryefs"')
        body = json.dumps(message).encode()
        for path in ("/mcp?token=" + token, "/mcp?access_token=" + token, "/mcp?Authorization=Bearer%20" + token):
            answer = self.server.raw("POST", body, self.server.headers(message, Authorization=None), path)
            self.assertEqual(answer.status, 401)
        self.check(self.server.post(message, Authorization="bearer " + token), 200)
        self.assertEqual(self.server.stop(), 0)
        self.assertFalse(os.path.exists(self.server.ready["token_file"]))

    def test_mcp53_verbs_and_types(self):
        server, body = self.server, json.dumps(request(1, "tools/list")).encode()
        for verb in ("GET", "DELETE", "OPTIONS", "PUT", "HEAD"):
            answer = server.raw(verb, None, server.headers())
            self.assertEqual((answer.status, answer.headers["allow"]), (405, "POST"), verb)
        for kind in (None, "text/plain", "application/jsonx", "", "application/x-www-form-urlencoded"):
            self.assertEqual(server.raw("POST", body, server.headers(request(1, "tools/list"), Content_Type=kind)).status, 415)
        for kind in ("application/json; charset=utf-8", "Application/JSON"):
            self.assertEqual(server.post(request(1, "tools/list"), Content_Type=kind).status, 200)
        for path in ("/", "/mcp/", "/x", "/mcp/../mcp"):
            self.assertEqual(server.raw("POST", body, server.headers(), path).status, 404)
        for path in ("/mcp%00x", "/%6dcp", "/mcp%2f..?x"):
            self.assertEqual(server.raw("POST", body, server.headers(), path).status, 400)

    def test_mcp54_bodies(self):
        message = request(1, "tools/list", {"x": ""})
        body = json.dumps(message).encode()
        whole = body.replace(b'"x": ""', b'"x": "' + b"a" * ((16 << 20) - len(body)) + b'"')
        self.check(self.server.raw("POST", whole, self.server.headers(message)), 200)
        try:
            more = whole.replace(b'"x": "', b'"x": "a')
            self.assertEqual(self.server.raw("POST", more, self.server.headers(message)).status, 413)
        except (BrokenPipeError, ConnectionResetError):
            pass  # it is told before it has sent all
        pieces = (b" " * (1 << 20) for _ in range(20))
        answer = self.server.raw("POST", pieces, self.server.headers(message))
        self.assertEqual(answer.status, 413)
        self.check(self.server.post(message), 200)

    def status_of(self, lines, body):
        """Of a request that no library would send; the answer comes before the body is whole."""
        head = {**self.server.headers(), "Host": "127.0.0.1:%d" % self.server.port}
        text = "POST /mcp HTTP/1.1\r\n" + "".join("%s: %s\r\n" % pair for pair in head.items()) + lines
        with socket.create_connection(("127.0.0.1", self.server.port), WAIT) as link:
            link.sendall(text.encode() + b"\r\n" + body)
            return int(link.recv(4096).split()[1])

    def test_bodies_that_servers_read_differently(self):
        body = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
        length = "Content-Length: %d\r\n" % len(body)
        chunks = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
        self.assertEqual(self.status_of(length, body), 200)
        self.assertEqual(self.status_of("Transfer-Encoding: chunked\r\n", chunks), 200)
        for lines, sent, status in (
                ("X : y\r\n" + length, body, 400), ("X\t: y\r\n" + length, body, 400),
                ("X(a): y\r\n" + length, body, 400),
                ("Content-Encoding: gzip\r\n" + length, body, 415),
                ("Content-Encoding: identity\r\n" + length, body, 200),
                ("Transfer-Encoding: gzip\r\n", b"", 501),
                ("Transfer-Encoding: gzip, chunked\r\n", chunks, 501),
                # folded: readers take it for a part of the value, of the name, or for a header
                ("Content-Encoding:\r\n gzip\r\n" + length, body, 400),
                ("Content-Encoding: identity\r\n\tgzip\r\n" + length, body, 400),
                ("X: a\r\n b\r\n" + length, body, 400),
                ("Content-Length:\r\n %d\r\n" % len(body), body, 400),
                ("Content-Length: +%d\r\n" % len(body), body, 400),
                ("Content-Length: 0x10\r\n", body, 400),
                (length + length, body, 400),
                (length + "Transfer-Encoding: chunked\r\n", chunks, 400),
                ("Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n", chunks, 400),
                ("X: a\nY: b\r\n" + length, body, 400), ("X: a\rb\r\n" + length, body, 400),
                ("X: a\0b\r\n" + length, body, 400), ("word\r\n" + length, body, 400),
                # told at once: no byte of it comes
                ("Transfer-Encoding: chunked\r\n", b"ffffffff\r\n", 413),
                ("Transfer-Encoding: chunked\r\n", b"%x" % (16 << 24), 413),
                ("Transfer-Encoding: chunked\r\n", b"0" * 100, 400),
                ("Transfer-Encoding: chunked\r\n", b"zz\r\n", 400),
                ("X: " + "a" * 40000 + "\r\n" + length, body, 431)):
            self.assertEqual(self.status_of(lines, sent), status, lines[:100])

    def test_bodies_that_all_read_alike(self):
        """Chunks cut anywhere, with extensions and fields behind them; a client that waits to be asked for its body."""
        body = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
        chunks = b"1;a=b\r\n%s\r\n0%X\r\n%s\r\n0\r\nX: y\r\n\r\n" % (body[:1], len(body) - 1, body[1:])
        head = {**self.server.headers(), "Host": "localhost"}
        text = "POST /mcp HTTP/1.1\r\n" + "".join("%s: %s\r\n" % pair for pair in head.items())

        def answer(link):
            got = b""
            while piece := link.recv(4096):
                got += piece
            return got

        for size in (1, 7, len(chunks)):
            with self.server.socket() as link:
                link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                link.sendall(text.encode() + b"Transfer-Encoding: chunked\r\n\r\n")
                for at in range(0, len(chunks), size):
                    link.sendall(chunks[at:at + size])
                self.assertIn(b'"result"', answer(link))
        for wrong in (b"2\r\n{}x\r\n0\r\n\r\n", b"2\n{}\r\n", b"2;\x01\r\n", b"1;" + b"a" * 300, b"0\r\n" + b"X: y\r\n" * 100):
            with self.server.socket() as link:
                link.sendall(text.encode() + b"Transfer-Encoding: chunked\r\n\r\n" + wrong)
                self.assertEqual(answer(link).split()[1], b"400", wrong)
        with self.server.socket() as link:
            link.sendall(text.encode() + b"Expect: 100-continue\r\nContent-Length: %d\r\n\r\n" % len(body))
            self.assertEqual(link.recv(4096), b"HTTP/1.1 100 Continue\r\n\r\n")
            link.sendall(body)
            self.assertIn(b'"result"', answer(link))

    def test_http_1_0_knows_no_chunks(self):
        message = request(1, "tools/call", execute("echo a; sleep 0.6; echo b"), claim(progressToken=7))
        body = json.dumps(message).encode()
        head = {**self.server.headers(message), "Host": "localhost", "Content-Length": str(len(body))}
        for version, chunked in (("1.0", False), ("1.1", True)):
            with self.server.socket() as link:
                link.sendall(("POST /mcp HTTP/%s\r\n" % version + "".join("%s: %s\r\n" % pair for pair in head.items())
                              + "\r\n").encode() + body)
                got = b""
                while piece := link.recv(65536):
                    got += piece
            self.assertEqual(b"Transfer-Encoding: chunked" in got, chunked)
            self.assertEqual(got.endswith(b"\r\n0\r\n\r\n"), chunked)
            self.assertIn(b"event: message\ndata: ", got)

    def test_chunks_without_end(self):
        """What is too much is told when it has come, not when the client says that it was all."""
        head = {**self.server.headers(), "Host": "localhost", "Transfer-Encoding": "chunked"}
        text = "POST /mcp HTTP/1.1\r\n" + "".join("%s: %s\r\n" % pair for pair in head.items()) + "\r\n"
        piece = b"100000\r\n" + b" " * (1 << 20) + b"\r\n"
        for more in (b"ffffff\r\n ", piece):
            with self.server.socket() as link:
                link.sendall(text.encode() + piece * 16 + more)
                got = b""
                while part := link.recv(4096):
                    got += part
            self.assertEqual(got.split()[1:2], [b"413"], got)
        self.check(self.server.ask("tools/list"), 200)

    def test_a_head_that_comes_in_pieces(self):
        body = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
        head = {**self.server.headers(), "Host": "localhost", "Content-Length": str(len(body))}
        text = "POST /mcp HTTP/1.1\r\n" + "".join("%s: %s\r\n" % pair for pair in head.items()) + "\r\n"
        with self.server.socket() as link:
            link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for byte in text.encode() + body:
                link.sendall(bytes((byte,)))
            got = b""
            while piece := link.recv(4096):
                got += piece
        self.assertEqual(got.split()[1], b"200")
        self.assertIn(b'"result"', got)

    def test_one_request_by_a_connection(self):
        """What comes behind it is not read: its head would be nobody's to look at."""
        body = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
        head = {**self.server.headers(), "Host": "localhost", "Content-Length": str(len(body))}
        text = ("POST /mcp HTTP/1.1\r\n" + "".join("%s: %s\r\n" % pair for pair in head.items()) + "\r\n").encode()
        with self.server.socket() as link:
            link.sendall(text + body)
            got = b""
            while piece := link.recv(4096):
                got += piece
        self.assertIn(b"connection: close", got.lower())
        with self.server.socket() as link:
            link.sendall((text + body) * 2)
            got = b""
            try:
                while piece := link.recv(4096):
                    got += piece
            except ConnectionResetError:
                pass  # the second was never read
        self.assertLessEqual(got.count(b"HTTP/1.1"), 1)

    def test_token_files(self):
        hidden = os.path.join(self.user, ".ai/secrets")
        kept = os.path.join(hidden, "kept")
        os.mkdir(hidden, 0o700)
        first = Http(self, "--token", kept)
        token = first.token
        self.assertEqual(first.stop(), 0)
        second = Http(self, "--token", kept)
        self.assertEqual((second.token, os.stat(kept).st_mode & 0o777), (token, 0o600))
        self.check(second.ask("tools/list"), 200)
        os.chmod(kept, 0o644)
        wrong = self.rye("mcp", "--http", "--port", "0", "--token", kept, "--project", self.project, status=None)
        self.assertNotEqual(wrong.returncode, 0)
        self.assertIn("chmod 600", wrong.stderr)
        busy = self.rye("mcp", "--http", "--port", str(second.port), "--token", "none", "--project", self.project, status=None)
        self.assertNotEqual(busy.returncode, 0)
        self.assertIn("--port 0", busy.stderr)

    def test_token_files_that_tools_can_read(self):
        """A tool with the token would be the person: they are refused, each with where it would do."""
        self.assertFalse(os.path.exists(os.path.join(self.user, ".ai/secrets")))
        self.assertTrue(Http(self, "--token", os.path.join(self.user, ".ai/secrets/first")).token)
        seen = os.path.join(self.place, "a token")
        hidden = os.path.join(self.user, ".ai/secrets/a token")
        os.symlink(self.runtime, os.path.join(self.place, "link"))
        for path in (seen, os.path.join(self.project, "token"), os.path.join(self.user, "token"),
                     os.path.join(self.user, ".ai/secrets/../token"), os.path.join(self.place, "link/token")):
            said = self.rye("mcp", "--http", "--port", "0", "--token", path, "--project", self.project, status=None)
            self.assertNotEqual(said.returncode, 0, path)
            self.assertIn("tools can read a token that lies there", said.stderr)
            self.assertFalse(os.path.exists(path))
        with open(seen, "w", encoding="utf-8") as file:
            file.write("0123456789abcdef0123")
        said = self.rye("mcp", "--http", "--port", "0", "--token", seen, "--project", self.project, status=None)
        self.assertIn(f"mend with: mv '{seen}' '{hidden}' && ryefs mcp --http --token '{hidden}'", said.stderr)
        os.rename(seen, hidden)
        os.chmod(hidden, 0o600)
        kept = Http(self, "--token", hidden)
        self.assertEqual(kept.token, "0123456789abcdef0123")
        self.assertTrue(Http(self, "--token", os.path.join(self.runtime, "ryefs/token")).token)

    def test_without_a_token(self):
        server = Http(self, "--token", "none")
        self.assertIsNone(server.token)
        found = server.ask("server/discover").last["result"]["capabilities"]
        self.assertNotIn("extensions", found)
        self.assertEqual(server.ask("tasks/get", {"taskId": "x"}, claim(tasks=True)).status, 404)
        call = server.ask("tools/call", execute("true", **{"async": True}), claim(tasks=True))
        begun = json.loads(text_of(call.last["result"]))
        self.assertEqual(begun["state"], "running")
        self.assertEqual(server.ask("tools/list", Host="evil.com").status, 403)
        self.rye("threads", "wait", begun["thread_id"], "--project", self.project)

    def test_addresses(self):
        for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
            with socket.socket(family) as link:
                self.assertEqual(link.connect_ex((host, self.server.port)), 0)
        with socket.socket() as link:  # loopback, and not ours
            self.assertNotEqual(link.connect_ex(("127.0.0.2", self.server.port)), 0)


class UnixSocket(Place):
    """`ryefs mcp --unix`: no token is sent, so who connects counts."""

    def setUp(self):
        super().setUp()
        self.path = os.path.join(self.runtime, "ryefs", "mcp.socket")
        self.server = Http(self, "--unix", self.path)

    def refused(self, path, *words):
        said = self.rye("mcp", "--unix", path, "--project", self.project, *words, status=None)
        self.assertNotEqual(said.returncode, 0, path)
        return said.stderr

    def curl(self, path, **how):
        words = ["curl", "-s", "--unix-socket", path, "-m", str(WAIT), "-H", "Content-Type: application/json",
                 "-d", json.dumps(request(1, "tools/list", meta={})), "http://localhost/mcp"]
        return subprocess.run(words, capture_output=True, text=True, timeout=60, check=False, **how).stdout

    def test_requests(self):
        self.assertEqual(self.server.ready, {"status": "success", "url": "http://localhost/mcp",
                                             "token_file": None, "socket": self.path})
        self.assertEqual(os.stat(self.path).st_mode & 0o777, 0o600)
        self.assertIn("rye_execute", self.curl(self.path))
        self.assertEqual(self.server.ask("tools/list").status, 200)
        self.assertEqual(self.server.ask("tools/list", Host="evil.com").status, 403)
        self.assertEqual(self.server.ask("tools/list", Origin="http://evil.com").status, 403)
        call = self.server.ask("tools/call", execute("echo heard")).last["result"]
        self.assertIn("heard", json.dumps(call))
        found = self.server.ask("server/discover").last["result"]["capabilities"]
        self.assertIn(META + "tasks", found["extensions"])
        self.assertEqual(self.server.stop(), 0)
        self.assertFalse(os.path.exists(self.path))

    def test_runs_do_not_reach_it(self):
        """It is not there for a tool; through another name of it, which a person has made, it answers none."""
        link = os.path.join(self.project, "link")
        os.link(self.path, link)
        for path, wanted in ((self.path, "000"), (link, "403")):
            call = self.server.ask("tools/call", execute(
                "curl -s -o said -w '<%%{http_code}>' --unix-socket %s -H 'Content-Type: application/json' "
                "-d '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}' http://localhost/mcp" % path))
            self.assertIn("<%s>" % wanted, call.body.decode(), path)
        self.assertIn("neither other users nor runs", harness.read(os.path.join(self.project, "said")))
        self.assertIn("rye_execute", self.curl(link))

    @unittest.skipIf(os.geteuid(), "only root can be another user")
    def test_other_users_do_not(self):
        self.assertEqual(self.curl(self.path, user=65534, cwd="/"), "")
        with tempfile.TemporaryDirectory(dir="/tmp") as place:
            os.chmod(place, 0o755)
            link = os.path.join(place, "link")
            os.link(self.path, link)
            os.chmod(link, 0o666)
            self.assertIn("neither other users nor runs", self.curl(link, user=65534, cwd="/"))
            self.assertIn("rye_execute", self.curl(link))

    def test_what_is_there(self):
        self.assertIn("another program listens", self.refused(self.path))
        self.server.process.kill()
        self.server.process.wait()
        self.assertTrue(os.path.exists(self.path))
        again = Http(self, "--unix", self.path)
        with again.socket() as link:
            link.sendall(b"POST /mcp HTTP/1.1\r\nContent-Encoding:")
            link.sendall(b"\r\n gzip\r\n\r\n")
            self.assertEqual(link.recv(4096).split()[1], b"400")
        self.assertEqual(again.ask("tools/list").status, 200)
        # its place taken by another's file: that one stays
        os.unlink(self.path)
        with open(self.path, "w", encoding="utf-8") as file:
            file.write("mine")
        self.assertEqual(again.stop(), 0)
        self.assertIn("no socket of a server", self.refused(self.path))
        self.assertEqual(harness.read(self.path), "mine")

    def test_places(self):
        secrets = os.path.join(self.user, ".ai/secrets")
        self.assertEqual(Http(self, "--unix", os.path.join(secrets, "s")).ask("tools/list").status, 200)
        for path in (os.path.join(self.project, "s"), os.path.join(self.place, "s"), os.path.join(secrets, "../s")):
            self.assertIn("tools can reach a socket", self.refused(path))
            self.assertFalse(os.path.exists(path))
        os.chmod(secrets, 0o750)
        self.assertIn("chmod 700", self.refused(os.path.join(secrets, "other")))
        self.assertIn("107 bytes", self.refused(os.path.join(secrets, "x" * 108)))
        self.assertIn("one of them", self.refused(self.path, "--http"))
        self.assertIn("belong to --http", self.refused(self.path, "--port", "1"))


class Streams(Web):
    def begin(self, message, **headers):
        """Sends a request and leaves the connection open."""
        link = self.server.socket()
        self.addCleanup(link.close)
        body = json.dumps(message).encode()
        headers = self.server.headers(message, Content_Length=str(len(body)), Host="localhost", **headers)
        head = "".join("%s: %s\r\n" % header for header in headers.items())
        link.sendall(b"POST /mcp HTTP/1.1\r\n" + head.encode() + b"\r\n" + body)
        return link

    def read_until(self, link, what, seconds=WAIT):
        text, end = b"", time.monotonic() + seconds
        while what not in text:
            self.assertLess(time.monotonic(), end, text)
            piece = link.recv(65536)
            self.assertTrue(piece, text)
            text += piece
        return text

    def test_progress_makes_a_stream(self):
        answer = self.server.ask("tools/call", execute("echo a; sleep 0.6; echo b"), claim(progressToken=7))
        self.assertEqual(answer.type, "text/event-stream")
        self.assertEqual((answer.headers["x-accel-buffering"], answer.headers["cache-control"]),
                         ("no", "no-cache, no-transform"))
        self.assertEqual({notice["method"] for notice in answer.messages[:-1]}, {"notifications/progress"})
        self.assertEqual(text_of(answer.last["result"]), "a\nb\n")
        # nothing to send before the answer, or a client that takes no stream: JSON
        for more in ({}, {"Accept": "application/json"}):
            meta = claim(progressToken=7) if more else None
            answer = self.server.ask("tools/call", execute("echo a; sleep 0.6; echo b"), meta, **more)
            self.assertEqual(answer.type, "application/json")
            self.assertEqual(len(answer.messages), 1)

    def test_a_long_call_shows_that_it_lives(self):
        link = self.begin(request(1, "tools/call", execute("sleep 17; echo on")))
        begin = time.monotonic()
        self.read_until(link, b": alive", 20)
        self.assertGreater(time.monotonic() - begin, 10)
        self.assertIn(b'"id":1,', self.read_until(link, b'"isError":false', 20))

    def test_mcp58_closing_cancels_a_modern_call(self):
        link = self.begin(request(1, "tools/call", execute("sleep " + self.mark), claim(progressToken=1)))
        self.assertTrue(until(lambda: living(self.mark)))
        link.close()
        self.assertTrue(self.gone(self.mark))

    def test_a_legacy_call_outlives_its_connection(self):
        link = self.begin(request("x", "tools/call", execute("sleep " + self.mark), {}))
        self.assertTrue(until(lambda: living(self.mark)))
        link.close()
        time.sleep(1)  # nothing ends it meanwhile
        self.assertTrue(living(self.mark))
        # and can be cancelled by its id, as long as only one has it
        cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "x"}}
        self.assertEqual(self.server.post(cancel, MCP_Protocol_Version=LEGACY[0]).status, 202)
        self.assertTrue(self.gone(self.mark))

    def test_a_cancellation_that_could_be_of_two(self):
        marks = [self.mark + end for end in "123"]
        links = [self.begin(request(1, "tools/call", execute("sleep " + mark), {})) for mark in marks[:2]]
        modern = self.begin(request(2, "tools/call", execute("sleep " + marks[2])))
        for mark in marks:
            self.assertTrue(until(lambda: living(mark)))
        for number in (1, 2):
            cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}}
            self.assertEqual(self.server.post(cancel).status, 202)
        time.sleep(0.5)  # nothing ends them meanwhile
        self.assertTrue(all(living(mark) for mark in marks))
        self.assertEqual(self.server.stop(), 0)
        self.assertTrue(self.gone(self.mark))
        for link in links + [modern]:
            link.close()

    def test_mcp59_six_clients_at_once(self):
        self.server.ask("tools/call", execute("true"))
        told = {}

        def client(number):
            for turn in range(3):
                answer = self.server.ask("tools/call", execute("sleep 0.3; echo %d.%d" % (number, turn)),
                                         claim(progressToken=turn) if number % 2 else {})
                told[number, turn] = text_of(answer.last["result"])

        threads = [threading.Thread(target=client, args=(number,)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(WAIT)
        self.assertEqual(told, {(n, t): "%d.%d\n" % (n, t) for n in range(6) for t in range(3)})

    def test_mcp67_subscription(self):
        message = request("s", "subscriptions/listen", {"notifications": {"resourcesListChanged": True}})
        link = self.begin(message)
        self.read_until(link, b"notifications/subscriptions/acknowledged")
        self.knowledge("new")
        self.read_until(link, b"notifications/resources/list_changed")
        stopped = []
        thread = threading.Thread(target=lambda: stopped.append(self.server.stop()))
        thread.start()
        last = self.read_until(link, b'"id":"s"')
        self.assertIn(b'"resultType":"complete"', last)
        self.assertNotIn(b"notifications/cancelled", last)
        thread.join(WAIT)
        self.assertEqual(stopped, [0])

    def test_a_subscription_wants_a_stream(self):
        answer = self.server.ask("subscriptions/listen", {"notifications": {}}, Accept="application/json")
        self.assertEqual((answer.status, answer.code), (406, -32600))

    def test_tasks_need_the_header(self):
        self.check(self.server.ask("tasks/get", {"taskId": "x"}, claim(tasks=True), Mcp_Name=None), 400, -32020)


class Attacks(Web):
    def test_a_thousand_idle_connections(self):
        links = []
        for _ in range(1000):
            link = socket.socket()
            link.settimeout(WAIT)
            link.connect(("127.0.0.1", self.server.port))
            links.append(link)
        begin = time.monotonic()
        self.check(self.server.ask("tools/list"), 200)
        self.assertLess(time.monotonic() - begin, 10)
        for link in links:
            link.close()
        self.check(self.server.ask("tools/list"), 200)

    def test_half_requests(self):
        """Connections that send the beginning of something, hold no place that another needs."""
        links = []
        head = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        token = b"Authorization: Bearer " + self.server.token.encode() + b"\r\n"
        for text in (b"P", b"POST /mcp", head, head + b"X", head + token + b"Content-Length: 9\r\n\r\n{",
                     head + token + b"Transfer-Encoding: chunked\r\n\r\n5\r\nab"):
            for _ in range(60):
                link = self.server.socket()
                link.sendall(text)
                links.append(link)
        self.check(self.server.ask("tools/list"), 200)
        for link in links:
            link.close()

    def test_a_refusal_reaches_who_still_sends(self):
        """The body comes after the server has made up its mind: the answer is there all the same."""
        for length in (2, 50000):
            for path, origin, status in (("/mcp", "http://evil.com", b"403"), ("/none", "http://localhost", b"404")):
                with self.server.socket() as link:
                    link.sendall(b"POST %s HTTP/1.1\r\nHost: localhost\r\nOrigin: %s\r\nAuthorization: Bearer %s\r\n"
                                 b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n"
                                 % (path.encode(), origin.encode(), self.server.token.encode(), length))
                    time.sleep(0.3)  # long enough to be refused by who does not wait
                    for _ in range(2):
                        link.sendall(b"x" * (length // 2))
                        time.sleep(0.1)
                    self.assertIn(b"HTTP/1.1 " + status, link.recv(65536))

    def test_strange_requests(self):
        head = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAuthorization: Bearer " \
            + self.server.token.encode() + b"\r\n"
        for text in (b"\0" * 100, b"GET\r\n\r\n", b"POST /mcp HTTP/9.9\r\n\r\n", b"\x16\x03\x01" + b"a" * 50,
                     head + b"Content-Length: -1\r\n\r\n{}", head + b"Content-Length: 99999999999999999999\r\n\r\n{}",
                     head + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}1",
                     head + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}",
                     head + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n", head + b"X: " + b"a" * 100000 + b"\r\n\r\n",
                     head + b"Content-Length: 40\r\n\r\n" + b"[" * 40):
            with self.server.socket() as link:
                try:
                    link.sendall(text)
                    link.shutdown(socket.SHUT_WR)
                    while link.recv(65536):
                        pass
                except OSError:
                    pass  # it was cut off
        self.check(self.server.ask("tools/list"), 200)

    def test_a_client_that_never_reads(self):
        """It asks for more than the socket holds; others are served, and the run of its call ends."""
        message = request(1, "tools/call", execute("for i in 1 2 3 4; do yes %s | head -c 400000; sleep 0.3; done"
                                                   % self.mark), claim(progressToken=1))
        body = json.dumps(message).encode()
        headers = self.server.headers(message, Content_Length=str(len(body)), Host="localhost")
        link = socket.socket()
        link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        link.connect(("127.0.0.1", self.server.port))
        head = "".join("%s: %s\r\n" % header for header in headers.items())
        link.sendall(b"POST /mcp HTTP/1.1\r\n" + head.encode() + b"\r\n" + body)
        self.assertTrue(until(lambda: living(self.mark)))
        self.check(self.server.ask("tools/list"), 200)
        self.assertTrue(self.gone(self.mark))
        begin = time.monotonic()
        self.assertEqual(self.server.stop(), 0)
        self.assertLess(time.monotonic() - begin, 15)
        link.close()

    def test_nothing_is_left(self):
        links = [self.server.socket() for _ in range(3)]
        message = request(1, "tools/call", execute("sleep " + self.mark))
        thread = threading.Thread(target=lambda: self.assertRaises(Exception, self.server.post, message))
        thread.start()
        self.assertTrue(until(lambda: living(self.mark)))
        begin = time.monotonic()
        self.assertEqual(self.server.stop(), 0)
        self.assertLess(time.monotonic() - begin, 15)
        self.assertTrue(self.gone(self.mark))
        thread.join(WAIT)
        for link in links:
            link.close()


if __name__ == "__main__":
    harness.main()
