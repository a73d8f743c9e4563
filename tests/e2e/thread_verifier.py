# SPDX-License-Identifier: MIT
"""thread_verifier.py AI ID [--mutations N]: is what thread ID left below the directory AI (a
project's .ai) signed as the format says? It shares nothing with the engine: Ed25519, canonical JSON,
and the digests are written here from the format's documents, with Python's standard library alone.

It looks at thread.json, every checkpoint of transcript.jsonl, capabilities.md and the transcript's
knowledge entry, with the keys in the directories that RYE_TRUSTED names (parted by colons). With
--mutations each of the files is changed N times, at bytes spread over it, and each change has to be
refused."""

import base64
import hashlib
import json
import os
import re
import sys
import tomllib

# ---- Ed25519 (RFC 8032) ----

P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P
SQRT_M1 = pow(2, (P - 1) // 4, P)


def recover_x(y, sign):
    if y >= P:
        return None
    x2 = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    if x2 == 0:
        return None if sign else 0
    x = pow(x2, (P + 3) // 8, P)
    if (x * x - x2) % P:
        x = x * SQRT_M1 % P
    if (x * x - x2) % P:
        return None
    return P - x if x & 1 != sign else x


def point(text):
    number = int.from_bytes(text, "little")
    y, sign = number & ((1 << 255) - 1), number >> 255
    x = recover_x(y, sign)
    return None if x is None else (x, y, 1, x * y % P)


def add(a, b):
    u, v = (a[1] - a[0]) * (b[1] - b[0]) % P, (a[1] + a[0]) * (b[1] + b[0]) % P
    w, z = 2 * a[3] * b[3] * D % P, 2 * a[2] * b[2] % P
    e, f, g, h = v - u, z - w, z + w, v + u
    return (e * f % P, g * h % P, f * g % P, e * h % P)


def times(n, a):
    total = (0, 1, 1, 0)
    while n:
        if n & 1:
            total = add(total, a)
        a = add(a, a)
        n >>= 1
    return total


BASE_Y = 4 * pow(5, P - 2, P) % P
BASE = point(BASE_Y.to_bytes(32, "little"))


def ed25519(key, signature, message):
    a, r, s = point(key), point(signature[:32]), int.from_bytes(signature[32:], "little")
    if len(signature) != 64 or a is None or r is None or s >= L:
        return False
    digest = hashlib.sha512(signature[:32] + key + message).digest()
    left, right = times(s, BASE), add(r, times(int.from_bytes(digest, "little") % L, a))
    return (left[0] * right[2] - right[0] * left[2]) % P == 0 and (
        left[1] * right[2] - right[1] * left[2]
    ) % P == 0


# ---- keys ----


class Refused(Exception):
    pass


def fingerprint(pem):
    return hashlib.sha256((pem.strip() + "\n").encode()).hexdigest()[:16]


def read_keys(directories):
    """fingerprint → (32 bytes, list of scopes)."""
    keys = {}
    for directory in directories:
        for name in sorted(os.listdir(directory)):
            if not name.endswith(".toml"):
                continue
            with open(os.path.join(directory, name), "rb") as f:
                doc = tomllib.load(f)
            pem = doc["public_key"]["pem"] if isinstance(doc.get("public_key"), dict) else doc["pem"]
            der = base64.b64decode("".join(pem.strip().splitlines()[1:-1]))
            if fingerprint(pem) != name[: -len(".toml")]:
                raise Refused(f"{name}: not named after its key")
            keys[fingerprint(pem)] = (der[-32:], doc.get("scope", []))
    return keys


def covers(scopes, ref):
    for scope in scopes:
        pattern = re.escape(scope).replace(r"\*\*", ".*").replace(r"\*", "[^/]*")
        if re.fullmatch(pattern, ref):
            return True
    return not scopes


def b64(text):
    if not re.fullmatch(r"[A-Za-z0-9_-]+", text):
        raise Refused("signature is no base64url")
    try:
        data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except ValueError as e:
        raise Refused(f"signature: {e}") from e
    if base64.urlsafe_b64encode(data).decode().rstrip("=") != text:
        raise Refused("signature has bits that do not count")
    return data


def check_signature(keys, ref, fp, sig, message):
    if fp not in keys:
        raise Refused(f"key {fp} is not trusted")
    key, scopes = keys[fp]
    if not covers(scopes, ref):
        raise Refused(f"key {fp} does not vouch for {ref}")
    if not ed25519(key, b64(sig), message):
        raise Refused("Ed25519 says no")


# ---- JSON ----


def canonical(value):
    if isinstance(value, dict):
        return "{" + ",".join(f"{text(k)}:{canonical(value[k])}" for k in sorted(value)) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(canonical, value)) + "]"
    if isinstance(value, str):
        return text(value)
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return repr(value)


def text(value):
    names = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f"}
    out = []
    for c in value:
        if c in names:
            out.append(names[c])
        elif 0x20 <= ord(c) < 0x7F:
            out.append(c)
        else:
            units = c.encode("utf-16-be")
            out += [f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2)]
    return '"' + "".join(out) + '"'


def no_twice(pairs):
    if len(dict(pairs)) != len(pairs):
        raise Refused("a key stands twice")
    return dict(pairs)


def parse(data):
    try:
        doc = json.loads(data.decode("utf-8"), object_pairs_hook=no_twice)
    except ValueError as e:
        raise Refused(f"no JSON: {e}") from e
    if not isinstance(doc, dict):
        raise Refused("no object")
    return doc


LINE = re.compile(
    r"rye:signed:(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ):([0-9a-f]{64}):([A-Za-z0-9_-]+={0,2}):([0-9a-f]{16})"
)


# ---- files ----


def check_thread_json(keys, ident, data):
    doc = parse(data)
    m = LINE.fullmatch(doc.pop("_signature", ""))
    if not m:
        raise Refused("no signature")
    digest = hashlib.sha256(canonical(doc).encode("ascii")).hexdigest()
    if digest != m[2]:
        raise Refused("changed since it was signed")
    check_signature(keys, f"state:threads/{ident}/thread.json", m[4], m[3], digest.encode())
    if doc["thread_id"] != ident:
        raise Refused("another thread's")
    return doc


def check_transcript(keys, ident, data, head):
    at, turn, points, ends = 0, -1, [], 0
    if data and not data.endswith(b"\n"):
        raise Refused("the last line is torn")
    for line in data.splitlines(keepends=True):
        doc = parse(line)
        if doc.get("thread_id") != ident:
            raise Refused("another thread's event")
        if doc.get("event_type") == "checkpoint":
            p = doc["payload"]
            digest = hashlib.sha256(data[: p["byte_offset"]]).hexdigest()
            if p["byte_offset"] != at or p["turn"] < turn or p["hash"] != digest:
                raise Refused(f"the checkpoint of turn {p['turn']} covers other bytes")
            ref = f"state:threads/{ident}/transcript.jsonl"
            check_signature(keys, ref, p["fp"], p["sig"], digest.encode())
            turn, ends = p["turn"], at + len(line)
            points.append(digest)
        at += len(line)
    if ends != len(data):
        raise Refused("bytes behind the last checkpoint")
    if not points or (head and points[-1] != head):
        raise Refused("the checkpoint that thread.json names is not there")


def check_text(keys, place, data):
    """A signed and bound knowledge text at kind:id.ext."""
    first, _, rest = data.partition(b"\n")
    second, _, body = rest.partition(b"\n")
    m = re.fullmatch(r"<!-- (.*) -->", first.decode("utf-8", "replace"))
    m = m and LINE.fullmatch(m[1])
    bound = re.fullmatch(rb"<!-- rye:full:1:([A-Za-z0-9_-]+):([0-9a-f]{16}) -->", second)
    if not m or not bound:
        raise Refused("no signature")
    ref = place[: -len(".md")]
    digest = hashlib.sha256(rest).hexdigest()
    if digest != m[2]:
        raise Refused("changed since it was signed")
    check_signature(keys, ref, m[4], m[3], digest.encode())
    if bound[2].decode() != m[4]:
        raise Refused("bound by another key")
    message = f"rye-full-1\n{place}\n{hashlib.sha256(body).hexdigest()}".encode()
    check_signature(keys, ref, m[4], bound[1].decode(), message)


def files_of(root, ident):
    """[(path, check of its bytes)]; thread.json first."""
    base = f"{root}/state/threads/{ident}"
    head = parse(open(f"{base}/thread.json", "rb").read()).get("transcript_head")
    knowledge = f"agent/threads/{ident}"
    return [
        (f"{base}/thread.json", lambda keys, data: check_thread_json(keys, ident, data)),
        (
            f"{base}/transcript.jsonl",
            lambda keys, data: check_transcript(keys, ident, data, head),
        ),
        (
            f"{base}/capabilities.md",
            lambda keys, data: check_text(
                keys, f"knowledge:{knowledge}/capabilities.md", data
            ),
        ),
        (
            f"{root}/knowledge/{knowledge}.md",
            lambda keys, data: check_text(keys, f"knowledge:{knowledge}.md", data),
        ),
    ]


def mutations(data, n):
    """(what was done, changed bytes): bits, bytes and lines all over the file."""
    lines = data.splitlines(keepends=True)
    for i in range(n):
        at = (2 * i + 1) * len(data) // (2 * n)
        kind = i % 5
        if kind == 0:
            yield f"bit of byte {at}", data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]
        elif kind == 1:
            yield f"byte {at} gone", data[:at] + data[at + 1 :]
        elif kind == 2:
            yield f"byte before {at}", data[:at] + b"x" + data[at:]
        elif kind == 3:
            k = max(1, i * len(lines) // n)
            yield f"cut behind line {k}", b"".join(lines[: min(k, len(lines) - 1)])
        else:
            yield "a line more", data.rstrip(b"\n") + b"\n" + lines[i * len(lines) // n]


def timeless(data):
    """The format's signature does not cover the time beside it."""
    return re.sub(rb"rye:signed:\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ:", b"rye:signed:", data)


def main(root, ident, *words):
    keys = read_keys(filter(None, os.environ["RYE_TRUSTED"].split(":")))
    count = int(words[1]) if words[:1] == ("--mutations",) else 0
    refused = 0
    for path, check in files_of(root, ident):
        data = open(path, "rb").read()
        try:
            check(keys, data)
        except Refused as e:
            sys.exit(f"{path}: {e}")
        for what, changed in mutations(data, count):
            try:
                if timeless(changed) == timeless(data):
                    continue
                check(keys, changed)
            except (Refused, KeyError, TypeError, UnicodeDecodeError):
                refused += 1
                continue
            # JSON may be spelt in other ways
            if path.endswith("thread.json") and parse(changed) == parse(data):
                refused += 1
                continue
            sys.exit(f"{path}: accepted with {what}")
    print(f"ok, {refused} mutations refused")


if __name__ == "__main__":
    main(*sys.argv[1:])
