# SPDX-License-Identifier: MIT
"""signer.py: signs what `ryefs sign` would refuse to sign, for tests of hostile items.

    signer.py keys USERBASE SEED [--sign]   trust the key of SEED in USERBASE; with --sign its
                                            private half becomes the signing key too
    signer.py sign SEED SPACE PATH...       sign SPACE/.ai/PATH, say tools/a/b.py, in place

SEED is one byte in hex: the key's 32 bytes are SEED, SEED + 1 ... No rule of signing is
checked. Ed25519 is written out in whole numbers, so that a test needs no library: slow, for
tens of items. Formats: docs/items.md."""

import base64
import hashlib
import os
import sys

P = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P
STAMP = "2026-01-02T03:04:05Z"
KINDS = {"directives": "directive", "tools": "tool", "knowledge": "knowledge", "config": "config"}


def add(a, b):
    """Sum of two points in extended coordinates."""
    e = (a[1] - a[0]) * (b[1] - b[0]) % P
    f = (a[1] + a[0]) * (b[1] + b[0]) % P
    g = 2 * D * a[3] * b[3] % P
    h = 2 * a[2] * b[2] % P
    w, x, y, z = f - e, h - g, h + g, f + e
    return w * x % P, y * z % P, x * y % P, w * z % P


def times(n, point):
    out = (0, 1, 1, 0)
    while n:
        if n & 1:
            out = add(out, point)
        point = add(point, point)
        n >>= 1
    return out


def base_point():
    y = 4 * pow(5, P - 2, P) % P
    xx = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(xx, (P + 3) // 8, P)
    if (x * x - xx) % P:
        x = x * pow(2, (P - 1) // 4, P) % P
    x = P - x if x & 1 else x
    return x, y, 1, x * y % P


BASE = base_point()


def packed(point):
    inv = pow(point[2], P - 2, P)
    x, y = point[0] * inv % P, point[1] * inv % P
    return (y | (x & 1) << 255).to_bytes(32, "little")


def number(*parts):
    return int.from_bytes(hashlib.sha512(b"".join(parts)).digest(), "little")


class Key:
    def __init__(self, seed):
        first = int(seed, 16)
        self.seed = bytes((first + i) % 256 for i in range(32))
        digest = hashlib.sha512(self.seed).digest()
        clamped = bytearray(digest[:32])
        clamped[0] &= 248
        clamped[31] = clamped[31] & 63 | 64
        self.scalar = int.from_bytes(clamped, "little")
        self.prefix = digest[32:]
        self.public = packed(times(self.scalar, BASE))
        self.pem = pem("PUBLIC", bytes.fromhex("302a300506032b6570032100") + self.public)
        self.name = hashlib.sha256(self.pem.encode()).hexdigest()[:16]

    def sign(self, message):
        r = number(self.prefix, message) % ORDER
        point = packed(times(r, BASE))
        s = (r + number(point, self.public, message) % ORDER * self.scalar) % ORDER
        raw = point + s.to_bytes(32, "little")
        return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def pem(word, der):
    text = base64.b64encode(der).decode()
    return f"-----BEGIN {word} KEY-----\n{text}\n-----END {word} KEY-----\n"


def write_keys(base, key, signing):
    config = os.path.join(base, ".ai", "config", "keys")
    os.makedirs(os.path.join(config, "trusted"), exist_ok=True)
    with open(os.path.join(config, "trusted", key.name + ".toml"), "w") as f:
        f.write(f'fingerprint = "{key.name}"\nowner = "test"\n\n[public_key]\npem = """\n{key.pem}"""\n')
    if not signing:
        return
    os.makedirs(os.path.join(config, "signing"), mode=0o700, exist_ok=True)
    private = pem("PRIVATE", bytes.fromhex("302e020100300506032b657004220420") + key.seed)
    for name, text, mode in ("private_key.pem", private, 0o600), ("public_key.pem", key.pem, 0o644):
        path = os.path.join(config, "signing", name)
        with open(path, "w") as f:
            f.write(text)
        os.chmod(path, mode)


def comment(kind, ext, text):
    if kind in ("directive", "knowledge"):
        return f"<!-- {text} -->\n".encode()
    return (("// " if ext in (".js", ".ts", ".mjs", ".cjs") else "# ") + text + "\n").encode()


def hashed(kind, rest):
    """What the signature line covers of the text that follows it."""
    if kind != "directive":
        return rest
    start = rest.find(b"<directive")
    end = rest.rfind(b"</directive>")
    return rest[start : end + len(b"</directive>")]


def sign(key, space, path):
    kind = KINDS[path.split("/", 1)[0]]
    ref, ext = os.path.splitext(path.split("/", 1)[1])
    name = os.path.join(space, ".ai", path)
    with open(name, "rb") as f:
        raw = f.read()
    shebang = b""
    if kind == "tool" and raw.startswith(b"#!/") and ext not in (".js", ".ts", ".mjs", ".cjs"):
        shebang, raw = raw[: raw.index(b"\n") + 1], raw[raw.index(b"\n") + 1 :]
    digest = hashlib.sha256(shebang + raw).hexdigest()
    bound = key.sign(f"rye-full-1\n{kind}:{ref}{ext}\n{digest}".encode())
    raw = comment(kind, ext, f"rye:full:1:{bound}:{key.name}") + raw
    digest = hashlib.sha256(hashed(kind, raw)).hexdigest()
    line = f"rye:signed:{STAMP}:{digest}:{key.sign(digest.encode())}:{key.name}"
    with open(name, "wb") as f:
        f.write(shebang + comment(kind, ext, line) + raw)


def main(words):
    if words[0] == "keys":
        write_keys(words[1], Key(words[2]), "--sign" in words[3:])
    else:
        key = Key(words[1])
        for path in words[3:]:
            sign(key, words[2], path)


if __name__ == "__main__":
    main(sys.argv[1:])
