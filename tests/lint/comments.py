# SPDX-License-Identifier: MIT
"""comments.py ROOT [--list]: a comment of the C files cites no section by its number: the documents
in docs/ have none, so it is of a document that a reader of this tree does not have. --list prints
the offenders alone, as file:line."""

import re
import sys

import cscan

DOCUMENTS = r"(?:architecture|findings|formats?|interface|items|no-open|requirements|spec|structure|style|threads|tools)"
CITED = re.compile(
    r"(?<![\w/-])" + DOCUMENTS + r"(?:\.md)?,?\s+(?:\*\s+)?(?:section|chapter|\u00a7)?\s*\d+(?:\.\d+)*(?![\w%])"
    r"|\u00a7\s*\d"
    r"|\b\w+\.md,?\s+(?:\*\s+)?section\b"
    r"|\bspec decisions?\b"
)


def faults_of(path, text):
    for m in cscan.LITERAL.finditer(text):
        if m.lastgroup != "block":
            continue
        for cited in CITED.finditer(m.group()):
            words = " ".join(cited.group().replace("*", " ").split())
            yield cscan.line_of(text, m.start() + cited.start()), words


def main(root, listing):
    faults = []
    for path in cscan.sources(root):
        for line, words in faults_of(path, cscan.read(root, path)):
            why = f'cites "{words}", which is not in docs/: name the file there, or say the rule'
            faults.append(f"{path}:{line}" if listing else f"{path}:{line}: {why}")
    return cscan.finish(faults)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], "--list" in sys.argv[2:]))
