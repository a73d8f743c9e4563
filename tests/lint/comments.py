# SPDX-License-Identifier: MIT
"""comments.py ROOT [--list]: a comment of the C files cites no section by its number: the documents
in docs/ have none, so it is of a document that a reader of this tree does not have. Nor does it say
"who" or "nobody", where the thread, the process or the file could be named that acts. --list prints
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
# `who` and who-> are a variable
UNNAMED = re.compile(r"(?<![`\w])(?:who|whom|whoever|nobody|anybody|somebody|roused?|in a hurry)(?![`\w]|->)", re.I)


def faults_of(path, text):
    for m in cscan.LITERAL.finditer(text):
        if m.lastgroup != "block":
            continue
        for cited in CITED.finditer(m.group()):
            words = " ".join(cited.group().replace("*", " ").split())
            yield (cscan.line_of(text, m.start() + cited.start()),
                   f'cites "{words}", which is not in docs/: name the file there, or say the rule')
        for word in UNNAMED.finditer(m.group()):
            yield (cscan.line_of(text, m.start() + word.start()),
                   f'says "{word.group()}": name the thread, process or file that acts')


def main(root, listing):
    faults = []
    for path in cscan.sources(root):
        for line, why in faults_of(path, cscan.read(root, path)):
            faults.append(f"{path}:{line}" if listing else f"{path}:{line}: {why}")
    return cscan.finish(faults)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], "--list" in sys.argv[2:]))
