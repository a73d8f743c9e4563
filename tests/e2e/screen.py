#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""screen.py [--out FILE] SCRIPT COMMAND...: runs a command on a terminal of its own and plays a person.

SCRIPT is lines "WAIT<tab>TYPE": once WAIT (a regular expression) has come since the last line, TYPE is
typed, with ^C for the key and \\n for Enter. Prints what the terminal got, byte for byte but for its
carriage returns before a line end; with --out the command's standard output goes to FILE instead. The
last line is "[status]". A terminal that says nothing for PATIENCE seconds is closed.
"""
import os
import pty
import re
import select
import sys
import time

PATIENCE = 20


def main():
    args = sys.argv[1:]
    out = None
    if args[0] == "--out":
        out, args = args[1], args[2:]
    steps = [line.split("\t") for line in args[0].split("\n") if line]
    pid, terminal = pty.fork()
    if pid == 0:
        if out:
            fd = os.open(out, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            os.dup2(fd, 1)
        os.execvp(args[1], args[1:])
    said, at = b"", 0
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        if not select.select([terminal], [], [], 0.05)[0]:
            continue
        try:
            piece = os.read(terminal, 65536)
        except OSError:  # the command has ended
            break
        said += piece
        found = steps and re.search(steps[0][0].encode(), said[at:])
        if found:
            at += found.end()
            typed = steps.pop(0)[1].replace("^C", "\x03").replace("\\n", "\n")
            os.write(terminal, typed.encode())
    os.close(terminal)  # hangs up, if it has not ended
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    sys.stdout.write(said.decode("utf-8", "replace").replace("\r\n", "\n"))
    print("\n[%d]" % status)


main()
