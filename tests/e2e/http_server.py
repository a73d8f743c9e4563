# SPDX-License-Identifier: MIT
"""http_server.py PORTFILE [CERT KEY]: the peer of http.sh, on loopback.

  /echo…               what was asked, as JSON
  /status/N            that status, no body; /later/N: Retry-After 0
  /flaky/NAME/N        503 with Retry-After 0 until it was asked N times, then 200
  /drop/NAME           the connection ends before an answer; /count/NAME: how often any was asked
  /slow                never answers; /big/N: N bytes; /sse, /cut: a stream of events; /event/N: one
                       event of N bytes
  /to/CODE/URL         a redirect; /connections: how many there have been
"""
import collections
import http.server
import json
import os
import ssl
import sys
import threading
import time
import urllib.parse

counts = collections.Counter()
lock = threading.Lock()


def counted(name):
    with lock:
        counts[name] += 1
        return counts[name]


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def setup(self):
        counted("connections")
        super().setup()

    def log_message(self, *args):
        pass

    def answer(self, status, body=b"", kind="application/json", **more):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in more.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def chunk(self, data):
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def stream(self, cut):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.chunk(b": hello\n\ndata: one\n\n")
        time.sleep(0.05)  # the next piece comes by itself
        self.chunk(b"event: x\ndata: tw")
        self.chunk(b"o\r\ndata: lines\r\n\r\nid: 7\ndata:three\n")
        if not cut:
            self.chunk(b"\n")
            self.chunk(b"")
        self.close_connection = True

    def do_GET(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        head, _, rest = self.path[1:].partition("/")
        head = head.partition("?")[0]
        if head == "echo":
            said = {"method": self.command, "path": self.path,
                    "headers": {k.lower(): v for k, v in self.headers.items()},
                    "body": body.decode("utf-8", "replace")}
            self.answer(200, json.dumps(said).encode())
        elif head == "status":
            self.answer(int(rest))
        elif head == "later":
            counted("later")
            self.answer(int(rest), Retry_After="0")
        elif head == "flaky":
            name, n = rest.split("/")
            if counted(name) < int(n):
                self.answer(503, Retry_After="0")
            else:
                self.answer(200, json.dumps({"asked": counts[name]}).encode())
        elif head == "drop":
            counted(rest)
            self.close_connection = True
        elif head == "count":
            self.answer(200, str(counts[rest]).encode())
        elif head == "connections":
            self.answer(200, str(counts["connections"]).encode())
        elif head == "slow":
            time.sleep(20)  # what "slow" asks for
        elif head == "big":
            self.answer(200, b"x" * int(rest), "text/plain")
        elif head == "event":
            self.answer(200, b"data: " + b"x" * int(rest) + b"\n\n", "text/event-stream")
        elif head in ("sse", "cut"):
            self.stream(head == "cut")
        elif head == "to":
            code, _, url = rest.partition("/")
            self.answer(int(code), Location=urllib.parse.unquote(url))
        else:
            self.answer(404, b'{"error": "no such page"}')

    do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = do_OPTIONS = do_GET


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        pass


def main():
    server = Server(("127.0.0.1", 0), Handler)
    if len(sys.argv) > 2:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(sys.argv[2], sys.argv[3])
        server.socket = context.wrap_socket(server.socket, server_side=True)
    with open(sys.argv[1] + ".new", "w") as f:
        f.write(str(server.server_port))
    os.rename(sys.argv[1] + ".new", sys.argv[1])
    server.serve_forever()


main()
