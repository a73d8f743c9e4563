# SPDX-License-Identifier: MIT
"""What a client meets that connects to the wrong place: hostile_node.py MODE NODE, over standard input and output."""
import json
import os
import struct
import sys

HELLO, READY, ERR = 1, 3, 4


def send(kind, body, length=None):
    body = body if isinstance(body, bytes) else json.dumps(body).encode()
    os.write(1, struct.pack(">BII", kind, 0, len(body) if length is None else length) + body)


with open(sys.argv[2] + "/card.json") as file:
    card = json.load(file)
length = struct.unpack(">BII", os.read(0, 9))[2]
os.read(0, length)
hello = {"version": 1, "nonce": "A" * 43, "card": card, "proof": "A" * 86}
mode = sys.argv[1]
if mode == "copied":
    send(HELLO, hello)
elif mode == "changed":
    send(HELLO, {**hello, "card": {**card, "box": "A" * 43}})
elif mode == "long":
    send(HELLO, b"{}", 0xFFFFFFFF)
elif mode == "ready":
    send(READY, {"fp": card["fp"]})
elif mode == "words":
    send(ERR, {"code": "denied", "message": "\x1b[2J\n" + "x" * 60000})
elif mode == "cut":
    os.write(1, b"\1\0\0\0\0\0\0\0\x40{")
    sys.exit()
os.read(0, 65536)
