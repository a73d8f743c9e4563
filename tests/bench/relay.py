#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""relay.py LOG DELAY_MS [--skip N] PROGRAM [ARG...]: a program behind a line of that length.

Passes standard input and output on, each byte DELAY_MS later than it came, and appends one line of JSON to LOG at the
end: bytes of both directions, how often the direction changed, the peak memory of the program. --skip: so many words
are not the program's (rsync names a host to its remote shell).
"""
import collections
import json
import os
import resource
import subprocess
import sys
import threading
import time

CHUNK = 1 << 16
HELD = 64 << 20  # bytes that are on the line at most


class Line:
    """Counts of both directions; the lock guards `last` and `turns`."""

    def __init__(self):
        self.lock = threading.Lock()
        self.bytes = [0, 0]
        self.last = None
        self.turns = 0

    def count(self, way, n):
        with self.lock:
            self.bytes[way] += n
            if self.last != way:
                self.turns += self.last is not None
                self.last = way


def write_all(fd, data):
    while data:
        data = data[os.write(fd, data):]


def pump(line, way, source, sink, delay_s):
    """One direction: a reader, and where there is a delay a writer behind it."""
    held = collections.deque()
    room = threading.Condition()
    size = 0

    def write_later():
        nonlocal size
        while True:
            with room:
                while not held:
                    room.wait()
                due, data = held.popleft()
                size -= len(data)
                room.notify_all()
            wait = due - time.monotonic()
            if wait > 0:
                time.sleep(wait)
            try:
                write_all(sink, data) if data else os.close(sink)
            except OSError:
                pass
            if not data:
                return

    writer = threading.Thread(target=write_later)
    if delay_s:
        writer.start()
    while True:
        try:
            data = os.read(source, CHUNK)
        except OSError:
            data = b""
        if data:
            line.count(way, len(data))
        if delay_s:
            with room:
                while size > HELD:
                    room.wait()
                held.append((time.monotonic() + delay_s, data))
                size += len(data)
                room.notify_all()
        else:
            try:
                write_all(sink, data) if data else os.close(sink)
            except OSError:
                pass
        if not data:
            break
    if delay_s:
        writer.join()


def main():
    log, delay_s = sys.argv[1], float(sys.argv[2]) / 1000
    argv = sys.argv[3:]
    if argv[0] == "--skip":
        argv = argv[2 + int(argv[1]):]
    child = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    line = Line()
    there = threading.Thread(target=pump, args=(line, 0, 0, os.dup(child.stdin.fileno()), delay_s), daemon=True)
    back = threading.Thread(target=pump, args=(line, 1, child.stdout.fileno(), 1, delay_s))
    child.stdin.close()
    there.start()
    back.start()
    back.join()
    status = child.wait()
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024
    with open(log, "a", encoding="utf-8") as out:
        print(json.dumps({"sent": line.bytes[0], "received": line.bytes[1], "turns": line.turns, "peak_mb": peak}),
              file=out)
    os._exit(status)


main()
