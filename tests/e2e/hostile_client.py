# SPDX-License-Identifier: MIT
"""A client that means no good, at a node that this starts: each case is a line `ok NAME` or `not NAME: why`.

    hostile_client.py RYEFS NODE KEY    KEY: the secret key of a principal, in PEM
"""
import base64
import json
import os
import select
import struct
import subprocess
import sys
import tempfile
import time

RYEFS, NODE, KEY = sys.argv[1:4]
HELLO, AUTH, READY, ERR, PING, REPLY, INFO = 1, 2, 3, 4, 5, 6, 8
HEADS, PACK, MANIFEST, ASK, ORDER, FOLLOW, CANCEL = 16, 17, 18, 19, 32, 33, 35
# of one answer; a node that is at work beside other tests is slow
PATIENCE = 30


def b64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class Gone(Exception):
    """The node has ended the connection."""


class Client:
    def __init__(self):
        self.node = subprocess.Popen([RYEFS, "node", "--stdio", NODE], stdin=subprocess.PIPE,
                                     stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0)

    def raw(self, data):
        try:
            while data:
                data = data[self.node.stdin.write(data):]
        except OSError:
            raise Gone from None

    def send(self, kind, stream, body=b"", length=None):
        body = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.raw(struct.pack(">BII", kind, stream, len(body) if length is None else length) + body)

    def take(self, n):
        data, end = b"", time.monotonic() + PATIENCE
        while len(data) < n:
            if not select.select([self.node.stdout], [], [], max(0, end - time.monotonic()))[0]:
                raise TimeoutError
            part = os.read(self.node.stdout.fileno(), n - len(data))
            if not part:
                raise Gone
            data += part
        return data

    def recv(self):
        kind, stream, length = struct.unpack(">BII", self.take(9))
        return kind, stream, self.take(length)

    def code(self):
        """Of the next answer: the code of an error, or what it is."""
        kind, _, body = self.recv()
        return json.loads(body)["code"] if kind == ERR else kind

    def hello(self):
        self.nonce = b64(os.urandom(32))
        self.send(HELLO, 0, {"version": 1, "nonce": self.nonce})
        self.theirs = json.loads(self.recv()[2])

    def auth(self, word="rye-hello-1", nonce=None, proof=None):
        text = "%s\n%s\n%s\n%s\n" % (word, self.theirs["card"]["fp"], nonce or self.nonce, self.theirs["nonce"])
        self.proof = proof or sign(text.encode())
        self.send(AUTH, 0, {"key": PUBLIC, "proof": self.proof})
        return self.code()

    def enter(self):
        self.hello()
        assert self.auth() == READY
        return self

    def alive(self):
        self.send(PING, 999999)
        while True:
            kind, stream, _ = self.recv()
            if stream == 999999:
                return kind == REPLY

    def close(self):
        self.node.stdin.close()
        self.node.stdout.close()
        try:
            self.node.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.node.kill()
            raise


def sign(text):
    with tempfile.NamedTemporaryFile() as file:
        file.write(text)
        file.flush()
        return b64(subprocess.run(["openssl", "pkeyutl", "-sign", "-inkey", KEY, "-rawin", "-in", file.name],
                                  check=True, capture_output=True).stdout)


PUBLIC = subprocess.run(["openssl", "pkey", "-in", KEY, "-pubout"], check=True, capture_output=True).stdout.decode()


def refused_first(c, send):
    """Before it knows us: one sentence, and the connection is over."""
    try:
        send(c)
        if c.code() in (REPLY, READY):
            return "was answered"
        c.recv()
    except Gone:
        return None
    return "goes on"


def wrong_auth(**how):
    def case(c):
        c.hello()
        return None if c.auth(**how) == "denied" else "was let in"
    return case


def replayed_proof(c):
    c.enter()
    proof, d = c.proof, Client()
    d.hello()
    code = d.auth(proof=proof)
    d.close()
    return None if code == "denied" else "was let in"


def refused(kind, body, codes):
    """An error on its stream; what comes behind it is answered."""
    def case(c):
        c.enter().send(kind, 5, body)
        code = c.code()
        if code not in codes:
            return "answered %s" % code
        return None if c.alive() else "is dead"
    return case


def cut_off(send):
    """The connection ends, and another one is served."""
    def case(c):
        c.enter()
        try:
            send(c)
            for _ in range(3):
                c.recv()
        except Gone:
            pass
        else:
            return "goes on"
        d = Client().enter()
        alive = d.alive()
        d.close()
        return None if alive else "the node is dead"
    return case


def flood(c):
    c.enter()
    for stream in range(1, 2001):
        c.send(PING, stream)
        if stream % 50 == 0:
            for _ in range(50):
                if c.recv()[0] != REPLY:
                    return "refused"
    return None if c.alive() else "is dead"


def many_follows(c):
    c.enter()
    for stream in range(1, 301):
        c.send(FOLLOW, stream, {"run": "00000000-0000-4000-8000-%012d" % stream, "file": "live", "offset": 0})
        if c.code() == REPLY:
            return "there was such a run"
    return None if c.alive() else "is dead"


def half_open(_):
    for part in (b"", b"\1", b"\1\0\0\0\0\0\0\0\x40{"):
        d = Client()
        d.raw(part)
        d.node.stdin.close()
        d.node.wait(PATIENCE)
    return None


BAD = {"invalid", "denied", "not_found", "unparsable", "too_big", "io", "integrity", "state", "unsupported"}
RUN = "00000000-0000-4000-8000-000000000000"
CASES = {
    "a frame of 4 GiB before HELLO": lambda c: refused_first(c, lambda c: c.raw(b"\1\0\0\0\0\xff\xff\xff\xff")),
    "one of 65 KiB before AUTH": lambda c: refused_first(c, lambda c: c.send(HELLO, 0, b"x" * 66560)),
    "a question before AUTH": lambda c: refused_first(c, lambda c: c.send(INFO, 1, {})),
    "HELLO that is no JSON": lambda c: refused_first(c, lambda c: c.send(HELLO, 0, b"\xff\0{")),
    "HELLO without a nonce": lambda c: refused_first(c, lambda c: c.send(HELLO, 0, {"version": 1, "nonce": "x"})),
    "HELLO of another version": lambda c: refused_first(c, lambda c: c.send(HELLO, 0, {"version": 7})),
    "a proof that is none": wrong_auth(proof="A" * 86),
    "a proof of another nonce": wrong_auth(nonce=b64(bytes(32))),
    "a node's proof as a client's": wrong_auth(word="rye-node-1"),
    "a proof played again": replayed_proof,
    "a frame of 4 GiB behind AUTH": cut_off(lambda c: c.raw(b"\x11\0\0\0\1\xff\xff\xff\xff")),
    "a question on stream 0": cut_off(lambda c: c.send(INFO, 0, {})),
    "half a frame, then nothing": half_open,
    "a type that there is not": refused(200, {}, {"unsupported"}),
    "a type of the node's own": refused(READY, {}, {"unsupported"}),
    "an order that is no JSON": refused(ORDER, b"\0" * 99, BAD),
    "an order of nobody": refused(ORDER, {"id": RUN, "sig": "A" * 86}, BAD),
    "JSON 5000 deep": refused(ORDER, b"[" * 5000, BAD),
    "a follower of nothing": refused(FOLLOW, {"run": RUN, "file": "live", "offset": 0}, {"not_found"}),
    "a file outside": refused(FOLLOW, {"run": RUN, "file": "../../keys/private_key.pem", "offset": 0}, BAD),
    "a run outside": refused(FOLLOW, {"run": "../../../etc", "file": "passwd", "offset": 0}, BAD),
    "an offset below 0": refused(FOLLOW, {"run": RUN, "file": "live", "offset": -1}, BAD),
    "a cancel of another's run": refused(CANCEL, {"run": RUN}, {"not_found"}),
    "a project outside": refused(HEADS, {"project": "../../x"}, BAD),
    "a pack that is none": refused(PACK, b"RYEPACK1" + b"\xff" * 4000, BAD),
    "a manifest whose head is longer than it": refused(MANIFEST, b"\xff\xff\xff\xff{}", BAD),
    "a ping of 65 bytes": refused(PING, b"x" * 65, {"invalid"}),
    "2000 questions": flood,
    "300 followers": many_follows,
}

for name, case in CASES.items():
    client = Client()
    try:
        why = case(client)
    except (Gone, TimeoutError, AssertionError, KeyError, ValueError) as fault:
        why = repr(fault)
    finally:
        client.close()
    print("not %s: %s" % (name, why) if why else "ok %s" % name, flush=True)
