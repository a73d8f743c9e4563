#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""removal.py SHOWN SOURCE EDITED_SHOWN EDITED_SOURCE: how long a directory's change takes to show.

SHOWN is where the mount shows the directory SOURCE of the system space, which the two others lie beside. Prints milliseconds: SOURCE moved
away until no name of it is shown, a file edited meanwhile until it is shown, SOURCE moved back until
all names are shown again, and removed file by file (it is put back then).
"""
import os
import shutil
import sys
import time


GOAL_MS = 50


def names(root):
    return [os.path.relpath(os.path.join(d, f), root) for d, _, files in os.walk(root) for f in files]


def until(what):
    begin = time.monotonic()
    while not what():
        if time.monotonic() - begin > 60:
            return float("nan")
    return (time.monotonic() - begin) * 1000


def main():
    shown, source, edited_shown, edited = sys.argv[1:]
    away = source.split("/.ai/")[0] + "/removed"
    rest = source.split("/system/.ai/")[1]
    top = source.split("/system/.ai/")[0]
    files = [name for name in names(source)
             if not any(os.path.exists(f"{top}/{space}/.ai/{rest}/{name}") for space in ("project", "user"))]
    paths = [f"{shown}/{name}" for name in files]
    for path in paths:
        os.stat(path)

    def gone():
        return not any(map(os.path.exists, reversed(paths)))

    def back():
        return all(map(os.path.exists, reversed(paths)))

    with open(edited, "rb") as file:
        old = file.read()
    size = os.stat(edited_shown).st_size
    os.rename(source, away)
    # a byte more: the file is refused then, but another one
    with open(edited, "ab") as file:
        file.write(b"\n")
    begin = time.monotonic()

    def fresh():
        try:
            return os.stat(edited_shown).st_size != size
        except OSError:
            return True

    edit = until(fresh)
    until(gone)
    removal = (time.monotonic() - begin) * 1000
    with open(edited, "wb") as file:
        file.write(old)
    os.rename(away, source)
    again = until(back)
    shutil.copytree(source, away)
    begin = time.monotonic()
    shutil.rmtree(source)
    took = (time.monotonic() - begin) * 1000
    until(gone)
    single = (time.monotonic() - begin) * 1000 - took
    os.rename(away, source)
    until(back)
    met = "met" if removal <= GOAL_MS else "MISSED"
    print(f"{len(files)} files moved away: {removal:.0f} ms (<= {GOAL_MS}: {met}), edit meanwhile {edit:.0f} ms, back "
          f"{again:.0f} ms; removed one by one in {took:.0f} ms, {single:.0f} ms later")


main()
