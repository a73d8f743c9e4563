# SPDX-License-Identifier: MIT
"""mcp_peer.py PORTFILE NOTES: scripted MCP servers over HTTP, on loopback, one at each path:

  /modern /legacy /session   what they are; /session ends its sessions when NOTES/forget is there,
                 /session400 says so with 400
  /stream /cut   answer by events: with every freedom a stream has; ended before the answer, which a
                 GET with Last-Event-ID brings (/cut), or nothing does (/lost)
  /others        answers others before us, and where the text is "only", nobody else
  /asks          asks before it answers; /elicits wants a person's answer; /states goes on and on
  /headers       wants x-mcp-header, and after NOTES/otherwise other ones
  /changes /lists   their list of tools is NOTES/tools.json
  /pages/WHAT    lists of tools that end, repeat a cursor, or have 1001
  /sse404 /unauth /forbidden /busy /redirect /junk /silent /flood /endless /older
                 how servers fail

Each request is a line of NOTES/NAME, the last of the path: its verb, headers and body as JSON."""
import http.server
import itertools
import json
import os
import sys
import threading
import time

PORTFILE, NOTES = sys.argv[1:3]
lock = threading.Lock()
sessions = set()
numbers = itertools.count(1)
kept = {}  # event id -> the answer that a stream did not bring
cancelled = set()

TOOLS = [{"name": name, "description": f"what {name} does", "inputSchema": {"type": "object"}}
         for name in ("echo", "slow", "fail")]
MIRRORED = {"type": "object", "properties": {
    "region": {"type": "string", "x-mcp-header": "Region"},
    "n": {"type": "integer", "x-mcp-header": "N"}, "sure": {"type": "boolean", "x-mcp-header": "Sure"},
    "in": {"type": "object", "properties": {"deep": {"type": "string", "x-mcp-header": "Deep"}}}}}


def there(name):
    return os.path.exists(os.path.join(NOTES, name))


def text(*parts, **more):
    return {"content": [{"type": "text", "text": part} for part in parts], **more}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def note(self, body):
        name = self.path.strip("/").split("/")[0]
        row = {"verb": self.command, "headers": {k.lower(): v for k, v in self.headers.items()}, "body": body}
        with lock, open(os.path.join(NOTES, name), "a", encoding="utf-8") as notes:
            notes.write(json.dumps(row) + "\n")
        return name

    def answer(self, status, body=b"", kind="application/json", **more):
        if not isinstance(body, bytes):
            body = json.dumps(body).encode()
        self.send_response(status)
        if body:
            self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in more.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def begin_events(self, **more):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        for name, value in more.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()

    def piece(self, data):
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def event(self, doc, **fields):
        lines = "".join(f"{key}: {value}\n" for key, value in fields.items())
        self.piece((lines + "data: " + json.dumps(doc) + "\n\n").encode())

    def end_events(self):
        self.wfile.write(b"0\r\n\r\n")

    # ---- what any of them does ----

    def rpc(self, message, result=None, error=None):
        doc = {"jsonrpc": "2.0", "id": message.get("id")}
        doc.update({"result": result} if error is None else {"error": error})
        return doc

    def is_modern(self, message):
        return "io.modelcontextprotocol/protocolVersion" in message.get("params", {}).get("_meta", {})

    def plain(self, message, modern, tools=None):
        method, params = message.get("method"), message.get("params", {})
        more = {"resultType": "complete"} if modern else {}
        if method == "server/discover" and modern:
            return self.rpc(message, {**more, "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}})
        if method == "initialize" and not modern:
            return self.rpc(message, {"protocolVersion": params["protocolVersion"], "capabilities": {},
                                      "serverInfo": {"name": "peer", "version": "1"}})
        if method == "tools/list":
            return self.rpc(message, {**more, "tools": tools or TOOLS, "ttlMs": 0})
        if method == "tools/call" and params["name"] == "slow":
            time.sleep(params["arguments"].get("seconds", 1))  # the slow tool
        if method == "tools/call" and params["name"] == "fail":
            return self.rpc(message, {**more, **text("no", isError=True)})
        if method == "tools/call":
            given = params["arguments"]
            told = {"structuredContent": given["structured"]} if "structured" in given else {}
            return self.rpc(message, {**more, **text(given.get("text", ""), **told)})
        return self.rpc(message, error={"code": -32601, "message": "Method not found"})

    def do_GET(self):
        name = self.note(None)
        last = self.headers.get("Last-Event-ID")
        if name != "cut" or last not in kept:
            self.answer(405)
            return
        self.begin_events()
        self.event(kept.pop(last), id="late")
        self.end_events()

    def do_DELETE(self):
        self.note(None)
        self.answer(405)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        message = json.loads(body)
        name = self.note(message)
        getattr(self, "serve_" + name, self.serve_unknown)(message)

    def serve_unknown(self, message):
        self.answer(404)

    # ---- one each ----

    def serve_modern(self, message):
        if self.is_modern(message):
            self.answer(200, self.plain(message, True))
        else:
            self.answer(400, self.rpc(message, error={"code": -32022, "message": "version", "data": {
                "supported": ["2026-07-28"], "requested": "2025-11-25"}}))

    def serve_legacy(self, message):
        if self.is_modern(message):
            self.answer(400, self.rpc(message, error={"code": -32000, "message": "Bad Request"}))
        elif "id" not in message:
            self.answer(202)
        else:
            self.answer(200, self.plain(message, False))

    def serve_older(self, message):
        self.answer(400, self.rpc(message, error={"code": -32022, "message": "version", "data": {
            "supported": ["2031-01-01"], "requested": "x"}}))

    def in_session(self, message, status):
        given = self.headers.get("Mcp-Session-Id")
        if message.get("method") == "initialize":
            with lock:
                made = f"s-{next(numbers)}"
                sessions.add(made)
            self.answer(200, self.plain(message, False), Mcp_Session_Id=made)
        elif there("forget") and message.get("method") == "tools/call":
            os.unlink(os.path.join(NOTES, "forget"))
            sessions.clear()
            self.answer(status, self.rpc(message, error={"code": -32000, "message": "no such session"}))
        elif given not in sessions:
            self.answer(400, self.rpc(message, error={"code": -32000, "message": "Server not initialized"}))
        elif "id" not in message:
            self.answer(202)
        else:
            self.answer(200, self.plain(message, False))

    def serve_session(self, message):
        self.in_session(message, 404)

    def serve_session400(self, message):
        self.in_session(message, 400)

    def serve_stream(self, message):
        if not self.is_modern(message):
            return self.answer(400)
        self.begin_events()
        self.piece(b": hello\r\n\r\n")
        token = message["params"]["_meta"].get("progressToken")
        if token is not None:
            for step in range(3):
                self.event({"jsonrpc": "2.0", "method": "notifications/progress",
                            "params": {"progressToken": token, "progress": step + 1}}, event="message")
        self.event({"jsonrpc": "2.0", "id": "another", "result": {}})
        whole = json.dumps(self.plain(message, True), indent=1)
        for line in ("".join("data: " + part + "\r\n" for part in whole.split("\n"))).encode():
            self.piece(bytes([line]))
        self.end_events()
        return None

    def serve_others(self, message):
        if message.get("method") != "tools/call":
            return self.serve_modern(message)
        number, mine = message["id"], self.plain(message, True)
        self.begin_events()
        for other in (str(number), number + 1, -number, 0, 1e300, None, True, [number], {}, "", "x" * 5000):
            self.event({**mine, "id": other, "result": {"resultType": "complete", **text("not ours")}})
        self.event({"jsonrpc": "2.0", "result": {}})
        self.event({"jsonrpc": "2.0", "id": number, "method": "ping"})
        if message["params"]["arguments"].get("text") != "only":
            self.event(mine)
        self.end_events()
        return None

    def broken_stream(self, message, keep):
        if message.get("method") != "tools/call":
            return self.serve_legacy(message)
        made = f"e-{next(numbers)}"
        if keep:
            kept[made] = self.plain(message, False)
        self.begin_events()
        self.piece(f"id: {made}\nretry: 50\ndata:\n\n".encode())
        self.end_events()
        return None

    def serve_cut(self, message):
        return self.broken_stream(message, True)

    def serve_lost(self, message):
        return self.broken_stream(message, False)

    def serve_asks(self, message):
        if message.get("method") != "tools/call":
            return self.serve_legacy(message)
        self.begin_events()
        self.event({"jsonrpc": "2.0", "id": "p", "method": "ping"})
        self.event({"jsonrpc": "2.0", "id": "s", "method": "sampling/createMessage", "params": {}})
        self.event(self.plain(message, False))
        self.end_events()
        return None

    def serve_elicits(self, message):
        params = message.get("params", {})
        given = params.get("inputResponses")
        meta = params.get("_meta", {})
        if message.get("method") != "tools/call" or given:
            if message.get("method") == "tools/call":
                params["arguments"]["text"] = json.dumps([given, params.get("requestState")])
            return self.serve_modern(message)
        if "elicitation" not in meta.get("io.modelcontextprotocol/clientCapabilities", {}):
            return self.answer(400, self.rpc(message, error={
                "code": -32021, "message": "needs elicitation", "data": {"requiredCapabilities": {"elicitation": {"form": {}}}}}))
        return self.answer(200, self.rpc(message, {
            "resultType": "input_required", "requestState": "a\u00e9=\n\"b", "inputRequests": {
                "q": {"method": "elicitation/create", "params": {"mode": "form", "message": "sure?", "requestedSchema": {"type": "object"}}}}}))

    def serve_undeclared(self, message):
        params = message.get("params", {})
        if message.get("method") != "tools/call":
            return self.serve_modern(message)
        state = str(int(params.get("requestState", 0)) + 1)
        return self.answer(200, self.rpc(message, {"resultType": "input_required", "requestState": state, "inputRequests": {
            "q": {"method": "sampling/createMessage", "params": {}}}}))

    def serve_states(self, message):
        if message.get("method") != "tools/call":
            return self.serve_modern(message)
        return self.answer(200, self.rpc(message, {"resultType": "input_required", "requestState": str(next(numbers))}))

    def serve_headers(self, message):
        schema = json.loads(json.dumps(MIRRORED))
        if there("otherwise"):
            schema["properties"]["region"]["x-mcp-header"] = "Area"
        tools = [{"name": "echo", "description": "what echo does", "inputSchema": schema}]
        wanted = "mcp-param-area" if there("otherwise") else "mcp-param-region"
        if message.get("method") == "tools/call" and wanted not in {k.lower() for k in self.headers.keys()}:
            return self.answer(400, self.rpc(message, error={"code": -32020, "message": "header mismatch"}))
        return self.answer(200, self.plain(message, True, tools))

    def serve_changes(self, message):
        with open(os.path.join(NOTES, "tools.json"), encoding="utf-8") as given:
            self.answer(200, self.plain(message, True, json.load(given)))

    serve_lists = serve_changes

    def serve_pages(self, message):
        if message.get("method") != "tools/list":
            return self.serve_modern(message)
        what, cursor = self.path.split("/")[2], message["params"].get("cursor")
        tools, following = [dict(TOOLS[0], name=f"t{cursor}")], None
        if what == "empty":
            following = "" if cursor is None else None
        elif what == "loop":
            following = "again"
        elif what == "many":
            tools = [dict(TOOLS[0], name=f"t{i}") for i in range(1001)]
        elif what == "endless":
            following = str(int(cursor or 0) + 1)
        result = {"resultType": "complete", "tools": tools}
        if following is not None:
            result["nextCursor"] = following
        return self.answer(200, self.rpc(message, result))

    def serve_sse404(self, message):
        self.answer(404)

    def serve_unauth(self, message):
        self.answer(401, self.rpc(message, error={"code": -32001, "message": "no"}), WWW_Authenticate=(
            'Bearer realm="x", error="invalid_token", scope="a b", resource_metadata="http://127.0.0.1:1/none"'))

    def serve_forbidden(self, message):
        self.answer(403, b"no entry", "text/plain")

    def serve_busy(self, message):
        self.answer(503, b"<h1>busy</h1>", "text/html")

    def serve_redirect(self, message):
        self.answer(307, Location=f"http://127.0.0.1:{self.server.server_address[1]}/modern")

    def serve_junk(self, message):
        self.answer(200, b"hello", "application/json")

    def serve_silent(self, message):
        time.sleep(30)  # what is silent

    def serve_flood(self, message):
        if message.get("method") != "tools/call":
            return self.serve_modern(message)
        self.begin_events()
        for _ in range(50):
            self.piece(b"data: " + b"x" * (1 << 20) + b"\n")
        return self.end_events()

    def serve_endless(self, message):
        if message.get("method") != "tools/call":
            return self.serve_modern(message)
        self.begin_events()
        for _ in range(3000):
            self.piece(b": still here\n\n")
            time.sleep(0.01)
        return self.end_events()


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *args):
        pass


server = Server(("127.0.0.1", 0), Handler)
with open(PORTFILE + ".new", "w", encoding="ascii") as out:
    out.write(str(server.server_address[1]))
os.rename(PORTFILE + ".new", PORTFILE)
server.serve_forever()
