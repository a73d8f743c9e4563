# SPDX-License-Identifier: MIT
"""The table of locks in docs/locks.md, and the places in the code that make a lock. Rows stand
in the order in which locks are taken; a place belongs to the row that names its file and, where
several do, to the one that has the name of the variable."""

import os
import re

import cscan

TABLE = "docs/locks.md"
# held on purpose while files are read: they put long work in a row, and are taken before all others
KEPT = ("build", "update")
MADE = re.compile(r"\bpthread_mutex_init\(&([^,]+),")


class Row:
    def __init__(self, place, names, files):
        self.place, self.names, self.files = place, names, files


def read_table(text):
    """Its rows."""
    rows = []
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else []
        if len(cells) != 3 or "`" not in cells[2]:
            continue
        files = [os.path.basename(name) for name in re.findall(r"`([^`]+)`", cells[2])]
        rows.append(Row(len(rows), [name.strip() for name in cells[0].split(",")], files))
    return rows


class Made:
    """One place that makes a lock: `expr` as the code has it, "talk->lock"."""

    def __init__(self, path, line, expr):
        self.path, self.line, self.expr = path, line, expr
        self.member = re.split(r"->|\.", expr)[-1]
        self.owner = re.split(r"->|\.", expr)[-2] if self.member != expr else expr

    def __str__(self):
        return f"{self.path}:{self.line}: {self.expr}"

    def kept(self):
        return self.member in KEPT

    def row(self, rows):
        """None: the table does not have it."""
        of_file = [row for row in rows if os.path.basename(self.path) in row.files]
        named = [row for row in of_file if self.owner in row.names]
        return (named or of_file or [None])[0]


def all_made(root):
    found = []
    for path in cscan.sources(root, ("engine", "fs"), (".c",)):
        code = cscan.blank(cscan.read(root, path))
        found += [Made(path, cscan.line_of(code, m.start()), m[1]) for m in MADE.finditer(code)]
    return found


def table_faults(rows, made):
    """A lock that has no row, a row's file that makes no lock."""
    for one in made:
        if not one.kept() and not one.row(rows):
            yield f"{one}: {TABLE} has no row for this lock"
    files = {os.path.basename(one.path) for one in made}
    for row in rows:
        for name in row.files:
            if name not in files:
                yield f"{TABLE}: {name} of the row {', '.join(row.names)} makes no lock"
