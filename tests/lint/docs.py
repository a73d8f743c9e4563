# SPDX-License-Identifier: MIT
"""docs.py ROOT: relative links in the documents lead somewhere, and the documents
speak of no machine's private paths."""

import os
import re
import sys

import cscan

LINK = re.compile(r"\[[^\]]*\]\(([^)\s#]+)(?:#[^)]*)?\)")
PRIVATE = re.compile(r"(?<![\w.])/(?:home/\w+|root)/[\w./-]*")


def documents(root):
    tops = [f for f in os.listdir(root) if f.endswith(".md")]
    below = []
    for here, _, names in os.walk(os.path.join(root, "docs")):
        below += [os.path.relpath(os.path.join(here, n), root) for n in names if n.endswith((".md", ".scd"))]
    return sorted(tops + below)


def check(root, path, text):
    prose = re.sub(r"```.*?```", lambda m: re.sub(r"[^\n]", " ", m.group()), text, flags=re.S)
    for m in LINK.finditer(prose):
        target = m[1]
        if re.match(r"^[a-z]+:", target):
            continue
        if not os.path.exists(os.path.join(root, os.path.dirname(path), target)):
            yield f"{path}:{cscan.line_of(prose, m.start())}: link to {target}, which is not there"
    for m in PRIVATE.finditer(text):
        yield f"{path}:{cscan.line_of(text, m.start())}: names {m.group()}, a path of one machine"


def main(root):
    faults = []
    for path in documents(root):
        faults += check(root, path, cscan.read(root, path))
    return cscan.finish(faults)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
