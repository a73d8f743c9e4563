# SPDX-License-Identifier: MIT
"""The documents of other signers (tests/vectors/signed) as a person meets them: put as knowledge
where they say they belong, their keys trusted by `ryefs trust`, verified by `ryefs verify` and
read through the mount; then one byte of each part is another, and reading fails. That no byte
at all may change, the unit test item_documents shows."""

import errno
import os
import re
import time
import unittest

from page import FUSE, Place, harness

VECTORS = os.path.join(harness.ROOT, "tests", "vectors")
DOCUMENTS = ("execute-semantics", "tool-format", "load-semantics", "prompt-rendering")
REFUSED = {errno.EACCES}
LINE = re.compile(rb"<!-- (rye:signed:)([0-9TZ:-]{20}):([0-9a-f]{64}):([^:]*):([0-9a-f]{16}) -->\n")


def bytes_of(name):
    with open(os.path.join(VECTORS, "signed", name + ".md"), "rb") as stream:
        return stream.read()


def places(data):
    """What is changed: each part of the line, and here and there what follows it."""
    line = LINE.match(data)
    for part in (1, 3, 4, 5):
        yield line.start(part)
        yield line.end(part) - 1
    yield 0
    yield line.end() - 3
    yield line.end() - 1
    for i in range(8):
        yield line.end() + (len(data) - 1 - line.end()) * i // 7


class Documents(Place):
    def setUp(self):
        super().setUp()
        keys = os.path.join(VECTORS, "keys")
        for name in sorted(os.listdir(keys)):
            self.rye("trust", os.path.join(keys, name))

    def put_document(self, name):
        data = bytes_of(name)
        category = re.search(rb"\ncategory: (\S+)\n", data)[1].decode()
        self.put("%s/%s.md" % (".ai/knowledge/" + category, name), data)
        return category + "/" + name, data

    def test_they_verify(self):
        for name in DOCUMENTS:
            ref, data = self.put_document(name)
            self.assertIn("ok ", self.rye("verify", "knowledge:" + ref).stdout)
            changed = data[:-2] + bytes([data[-2] ^ 1]) + data[-1:]
            self.put(".ai/knowledge/%s.md" % ref, changed)
            self.rye("verify", "knowledge:" + ref, status=4)

    @unittest.skipUnless(FUSE, "nothing can be mounted")
    def test_they_are_read_through_the_mount(self):
        put = [self.put_document(name) for name in DOCUMENTS]
        self.mount()
        for ref, data in put:
            self.assertEqual(self.read(ref), data[LINE.match(data).end():])

    @unittest.skipUnless(FUSE, "nothing can be mounted")
    def test_one_changed_byte_is_refused(self):
        for name in DOCUMENTS:
            ref, data = self.put_document(name)
            self.mount()
            for at in places(data):
                self.put(".ai/knowledge/%s.md" % ref, data[:at] + bytes([data[at] ^ 1]) + data[at + 1:])
                self.until(lambda: self.read(ref) in REFUSED, "%s, byte %d" % (name, at))
            later = data.replace(b"rye:signed:2026-", b"rye:signed:2027-", 1)
            self.put(".ai/knowledge/%s.md" % ref, later)
            self.until(lambda: self.read(ref) == data[LINE.match(data).end():], name)

    def read(self, ref):
        """The text, or the errno."""
        try:
            with open("%s/knowledge/%s.md" % (self.at, ref), "rb") as stream:
                return stream.read()
        except OSError as error:
            return error.errno

    def until(self, holds, what):
        """A file written in place is seen whole after a moment."""
        limit = time.monotonic() + 5
        while not holds():
            self.assertLess(time.monotonic(), limit, what)
            time.sleep(0.002)


if __name__ == "__main__":
    harness.main()
