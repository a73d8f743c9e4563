# SPDX-License-Identifier: MIT
"""A node that has the pinned key and lies: lying_node.py MODE KEEP RYEFS NODE, over standard input and output.

Frames of the real node pass through here; from READY on those that MODE names are changed. KEEP: a file for what one
run leaves to the next."""
import json
import os
import struct
import subprocess
import sys
import threading

MODE, KEEP, RYEFS, NODE = sys.argv[1:5]
READY, ERR, REPLY, DATA, INFO, HEADS, GET, ORDER, FOLLOW = 3, 4, 6, 7, 8, 16, 20, 32, 33
node = subprocess.Popen([RYEFS, "node", "--stdio", NODE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
asked = {}  # stream -> (type, body)


def take(fd, n):
    data = b""
    while len(data) < n:
        part = os.read(fd, n - len(data))
        if not part:
            os._exit(0)
        data += part
    return data


def frame(fd):
    head = take(fd, 9)
    kind, stream, length = struct.unpack(">BII", head)
    return kind, stream, take(fd, length)


def put(fd, data):
    try:
        while data:
            data = data[os.write(fd, data):]
    except OSError:
        os._exit(0)


def send(kind, stream, body, length=None):
    put(1, struct.pack(">BII", kind, stream, len(body) if length is None else length) + body)


def forward():
    while True:
        kind, stream, body = frame(0)
        asked[stream] = (kind, body)
        put(node.stdin.fileno(), struct.pack(">BII", kind, stream, len(body)) + body)


def of(stream, kind, word=b""):
    return asked.get(stream, (0, b""))[0] == kind and word in asked[stream][1]


def flip(body):
    return body[:-1] + bytes([body[-1] ^ 1])


def receipt(body):
    """The run's row with another receipt; None: it has none yet."""
    row = json.loads(body)
    if not row.get("receipt"):
        return None
    if MODE == "receipt":
        row["receipt"] = row["receipt"].replace('"status":"completed"', '"status":"cancelled"')
    elif MODE == "keep":
        with open(KEEP, "w") as file:
            file.write(row["receipt"])
    elif MODE == "another":
        with open(KEEP) as file:
            row["receipt"] = file.read()
    else:
        del row["receipt"]
    return json.dumps(row).encode()


def back():
    while True:
        kind, stream, body = frame(node.stdout.fileno())
        if MODE in ("receipt", "keep", "another", "none") and kind == REPLY and (of(stream, ORDER) or of(stream, FOLLOW)):
            body = receipt(body) or body
        elif MODE == "result" and kind == DATA and of(stream, FOLLOW, b"result.json"):
            body = body.replace(b"here", b"gone")
        elif MODE == "pull" and kind == DATA and of(stream, GET, b"blobs"):
            body = flip(body)
        elif MODE == "manifest" and kind == DATA and of(stream, GET, b'"manifest"'):
            body = flip(body)
        elif MODE == "long" and of(stream, INFO):
            send(kind, stream, body, 0xFFFFFFF0)
        elif MODE == "endless" and kind == DATA and of(stream, FOLLOW, b"result.json"):
            while True:
                send(DATA, stream, b"x" * 65536)
        elif MODE == "flood" and kind == DATA and of(stream, GET, b"blobs"):
            while True:
                send(DATA, stream, b"x" * 65536)
        elif MODE == "nonsense" and of(stream, INFO):
            send(99, stream, b"?")
            send(REPLY, stream, b"[1]")
            continue
        elif MODE == "mute" and of(stream, INFO):
            continue
        send(kind, stream, body)


threading.Thread(target=forward, daemon=True).start()
back()
