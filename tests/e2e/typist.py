#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""typist.py DOCUMENT [INSTEAD [HEADING...]]: types what a document shows; or only what stands
right below these headings, in the order in which they are given.

Of every ```console block the lines that begin with "$ " are commands, "> " goes on with the one
before, and the lines below are what it says. One shell types them all, in the order in which they
stand; its standard error is a terminal. A command has to succeed, or to say what the document
shows; "…" there stands for anything, alone for any lines. Fingerprints and ids of threads are others each time: the
first that a command says takes the place of the document's from then on. Numbers of items served
may differ. A block whose first line names a file behind its language ("```python my/tool.py") is
saved there, below the directory that it all begins in. Where the words before a block end with
"In `FILE`, below `TEXT`:" (or above), its lines are put there into the file, beside the only line
that has this text. A ```shell-session block is a picture
that stands before the program can be typed: a console block has each of its commands and answers.

INSTEAD has lines "COMMAND<tab>OTHER" of what is typed in place of a command. Each result is a
line: a status, and the command.
"""
import collections
import os
import pty
import re
import select
import subprocess
import sys
import time

PATIENCE = int(os.environ.get("TYPIST_PATIENCE", 60))  # seconds of one command
MARK = "typist:%d:" % os.getpid()
PLACE = re.compile(r"In `([^`]+)`, (above|below) `(.+)`:$")
ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\b[0-9a-f]{16}\b")


Block = collections.namedtuple("Block", "heading said language file lines")


def blocks(path):
    """Each block, with the heading that it stands below and the paragraph before it."""
    fence, heading, said, words = None, "", "", []
    for line in open(path, encoding="utf-8"):
        line = line.rstrip("\n")
        if fence and line == fence:
            yield Block(heading, said, *about, inside)
            fence, said = None, ""
        elif fence:
            inside.append(line)
        elif line.startswith("```"):
            fence = "`" * (len(line) - len(line.lstrip("`")))
            about = line.lstrip("`").partition(" ")[::2]
            said, words, inside = " ".join(words) or said, [], []
        elif line.startswith("#"):
            heading, said, words = line.lstrip("# "), "", []
        elif line:
            words.append(line)
        elif words:
            said, words = " ".join(words), []


def commands_of(lines):
    """Pairs: a command, the lines below it."""
    found = []
    for line in lines:
        if line.startswith("$ "):
            found.append((line[2:], []))
        elif line.startswith("> "):
            found[-1] = (found[-1][0] + "\n" + line[2:], [])
        else:
            found[-1][1].append(line)
    return found


def save(path, lines):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "w", encoding="utf-8") as out:
        out.write("\n".join(lines) + "\n")


def insert(path, where, mark, lines):
    with open(path, encoding="utf-8") as file:
        text = file.read().splitlines()
    at = [i for i, line in enumerate(text) if mark in line]
    if len(at) != 1:
        sys.exit("1 %d lines of %s have %s, wanted is one" % (len(at), path, mark))
    at = at[0] + (where == "below")
    save(path, text[:at] + lines + text[at:])


def shown(path, headings):
    """Makes and changes the files that the document shows on the way to its commands."""
    chosen = [block for heading in headings for block in blocks(path) if block.heading == heading]
    for block in chosen if headings else blocks(path):
        place = PLACE.search(block.said)
        if block.language == "console":
            yield from commands_of(block.lines)
        elif block.file:
            save(block.file, block.lines)
        elif place:
            insert(*place.groups(), block.lines)


def pictured(path):
    """Of each command of a picture: is it typed, and said to answer so, in a console block?"""
    found, typed = [], []
    for block in blocks(path):
        if block.language == "shell-session":
            found += commands_of(block.lines)
        elif block.language == "console":
            typed += commands_of(block.lines)
    return [(one in typed, one[0]) for one in found]


class Shell:
    def __init__(self):
        self.err, slave = pty.openpty()
        self.bash = subprocess.Popen(["bash", "--norc"], stdin=subprocess.PIPE,
                                     stdout=subprocess.PIPE, stderr=slave)
        os.close(slave)

    def read(self, fd, wait):
        return os.read(fd, 65536) if select.select([fd], [], [], wait)[0] else b""

    def type(self, command):
        """Status, standard output, standard error."""
        quoted = "'%s'" % command.replace("'", "'\\''")
        line = "eval %s </dev/null; printf '\\n%s%%d\\n' $?\n" % (quoted, MARK)
        self.bash.stdin.write(line.encode())
        self.bash.stdin.flush()
        out, err, until = b"", b"", time.monotonic() + PATIENCE
        end = re.compile(("\n%s(\\d+)\n$" % MARK).encode())
        while not end.search(out):
            if time.monotonic() > until:
                sys.exit("1 it does not end: " + command)
            out += self.read(self.bash.stdout.fileno(), 0.02)
            err += self.read(self.err, 0)
        while piece := self.read(self.err, 0.05):
            err += piece
        status = int(end.search(out)[1])
        # on a busy machine a command takes longer than a second, and says so until it is done
        said = re.sub(r"\r[^\r\n]*, \d+ s\x1b\[K(?:\r\x1b\[K)?", "", err.decode())
        return status, end.sub(b"", out).decode(), said.replace("\r", "")


class Names:
    """The document's ids and what they are this time."""

    def __init__(self):
        self.now = {}

    def put(self, text):
        return ID.sub(lambda found: self.now.get(found[0], found[0]), text)

    def pattern(self, line):
        if line == "…":
            return r"(?:.*\n)*?"
        new = ID.findall(line)
        text = re.escape(self.put(line))
        for name in new:
            if name not in self.now:
                text = text.replace(re.escape(name), "(?P<x%s>%s)" % (
                    name.replace("-", "_"), ID.pattern))
        text = re.sub(r"\d+(?=\\ items\\ served)", r"\\d+", text.replace("…", ".*"))
        return text + r"\n"

    def fits(self, lines, said):
        found = re.fullmatch("".join(self.pattern(line) for line in lines), said)
        for name, value in found.groupdict().items() if found else ():
            self.now[name[1:].replace("_", "-")] = value
        return found


def said_by(out, err):
    """The two streams, either first, without what only a script's shell says."""
    err = re.sub(r"(?m)^\S*bash: (?:line \d+: |eval: )+", "bash: ", err)
    parts = [part if part.endswith("\n") or not part else part + "\n" for part in (out, err)]
    return ["".join(parts), "".join(reversed(parts))]


def main():
    instead = {}
    if len(sys.argv) > 2:
        for line in open(sys.argv[2], encoding="utf-8"):
            command, other = line.rstrip("\n").split("\t")
            instead[command] = other
    shell, names, rest = Shell(), Names(), set(instead)
    for command, lines in shown(sys.argv[1], sys.argv[3:]):
        rest.discard(command)
        status, out, err = shell.type(names.put(instead.get(command, command)))
        texts = said_by(out, err)
        if lines and command not in instead:
            good = any(names.fits(lines, text) for text in texts)
        else:
            good = status == 0
        print("%d %s" % (not good, command.split("\n")[0]), flush=True)
        if not good:
            print("# status %d" % status)
            for line in texts[0].splitlines()[:20]:
                print("# " + line)
    for command in rest:
        print("1 the document has no command " + command)
    for typed, command in pictured(sys.argv[1]):
        print("%d in the picture, as typed: %s" % (not typed, command))
    shell.bash.stdin.close()
    shell.bash.wait(timeout=PATIENCE)


main()
