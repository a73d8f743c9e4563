# SPDX-License-Identifier: MIT
"""websocket_server.py PORTFILE LOG [CERTIFICATE KEY]: the peer of sinks.sh, on loopback; with a certificate
it speaks TLS.

  /ok…      takes messages; each is a line of LOG, as JSON [path, text]
  /ping     asks with a ping after the first message, and logs the pong; sends text of its own
  /drop     ends the first connection after one message, without a word; later ones are /ok
  /bye      closes as the protocol says after one message, each time
  /none     404; /silent: never answers; /odd: says yes with another key; /junk: no frames
"""
import base64
import collections
import hashlib
import json
import os
import socketserver
import ssl
import struct
import sys
import time

GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
seen = collections.Counter()


def frame(opcode, payload):
    head = struct.pack("!BB", 0x80 | opcode, len(payload)) if len(payload) < 126 else \
        struct.pack("!BBH", 0x80 | opcode, 126, len(payload))
    return head + payload


class Peer(socketserver.StreamRequestHandler):
    def log(self, *what):
        with open(sys.argv[2], "a", encoding="utf-8") as log:
            log.write(json.dumps(what) + "\n")

    def shake(self):
        line = self.rfile.readline().decode()
        self.path = line.split(" ")[1]
        self.head = {}
        while True:
            line = self.rfile.readline().decode().strip()
            if not line:
                return
            name, _, value = line.partition(":")
            self.head[name.lower()] = value.strip()

    def read_frame(self):
        first, second = self.rfile.read(2)
        assert second & 0x80, "a client masks"
        size = second & 0x7f
        if size > 125:
            size = struct.unpack("!H" if size == 126 else "!Q", self.rfile.read(2 if size == 126 else 8))[0]
        mask = self.rfile.read(4)
        payload = self.rfile.read(size)
        return first & 15, bytes(b ^ mask[i % 4] for i, b in enumerate(payload))

    def accept(self):
        key = hashlib.sha1(self.head["sec-websocket-key"].encode() + GUID).digest()
        if self.path == "/odd":
            key = key[::-1]
        self.wfile.write(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
                         b"Connection: Upgrade\r\nSec-WebSocket-Accept: " + base64.b64encode(key) + b"\r\n\r\n")
        if self.path == "/junk":
            self.wfile.write(b"\xff\xff" * 100)

    def handle(self):
        self.shake()
        seen[self.path] += 1
        if self.path == "/silent":
            time.sleep(20)  # what is silent
            return
        if self.path == "/none":
            self.wfile.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
            return
        self.accept()
        try:
            while self.message():
                pass
        except (OSError, ValueError):
            self.log(self.path, "lost")

    def message(self):
        opcode, payload = self.read_frame()
        if opcode == 8:
            self.log(self.path, "closed", struct.unpack("!H", payload[:2])[0])
            return False
        if opcode == 10:
            self.log(self.path, "pong", payload.decode())
            return True
        self.log(self.path, payload.decode() if len(payload) < 1000 else len(payload))
        if self.path == "/ping":
            self.wfile.write(frame(1, b"x" * 300) + frame(9, b"are you there"))
        if self.path == "/bye":
            self.wfile.write(frame(8, b"\x03\xe8"))
            return False
        return self.path != "/drop" or seen[self.path] > 1


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True

    def handle_error(self, request, client_address):
        pass


def main():
    server = Server(("127.0.0.1", 0), Peer)
    if len(sys.argv) > 3:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*sys.argv[3:5])
        server.socket = context.wrap_socket(server.socket, server_side=True)
    with open(sys.argv[1] + ".new", "w") as f:
        f.write(str(server.server_address[1]))
    os.rename(sys.argv[1] + ".new", sys.argv[1])
    server.serve_forever()


main()
