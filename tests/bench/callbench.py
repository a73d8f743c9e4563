#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""callbench.py NAME=MOUNTPOINT... [sdk=PROGRAM ARG...]: a call of bench/peer/echo, a tool of an MCP
server that is warm, and of bench/get, one HTTP request to loopback, each by a descriptor that is held;
beside them the same server called by the SDK's client (sdk=..., which prints microseconds), and the
same address by curl. Prints "OPERATION NAME MICROSECONDS", medians.

callbench.py --serve PORTFILE: the server of bench/get."""
import http.server
import json
import os
import statistics
import subprocess
import sys
import time

CALLS = 300


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # one packet an answer

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *args):
        pass


def serve(portfile):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    with open(portfile, "w", encoding="ascii") as out:
        out.write(str(server.server_address[1]))
    server.serve_forever()


def median_us(call, calls=CALLS):
    took = []
    for _ in range(calls):
        begin = time.perf_counter_ns()
        call()
        took.append((time.perf_counter_ns() - begin) / 1000)
    return statistics.median(took)


def held(path, message):
    """A call by one descriptor: message, reply."""
    control = os.open(path, os.O_RDWR)

    def call():
        os.write(control, message)
        reply = b""
        while not reply.endswith(b"\n"):
            reply += os.read(control, 1 << 16)
        if json.loads(reply)["status"] != "success":
            raise SystemExit(reply.decode())
    call()
    return call


def main(words):
    sdk = [i for i, word in enumerate(words) if word.startswith("sdk=")]
    names = words[:sdk[0]] if sdk else words
    with open(os.environ["BENCH_PORT"], encoding="ascii") as port:
        url = f"http://127.0.0.1:{port.read()}/"
    for name, mount in (word.split("=", 1) for word in names):
        print("mcp", name, median_us(held(mount + "/tools/mcp/peer/echo/run", b'{"text":"hi"}')))
        print("http", name, median_us(held(mount + "/tools/bench/get/run", b"{}")))
    if sdk:
        command = [words[sdk[0]][4:], *words[sdk[0] + 1:]]
        print("mcp native", subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip())
    quiet = {"stdout": subprocess.DEVNULL, "check": True}
    print("http native", median_us(lambda: subprocess.run(["curl", "-s", url], **quiet), 50))


if sys.argv[1] == "--serve":
    serve(sys.argv[2])
else:
    main(sys.argv[1:])
