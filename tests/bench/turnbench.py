#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""turnbench.py NAME=MOUNTPOINT...: a thread of bench/turns, whose model calls a tool a hundred times.
Prints "turn-5 NAME MICROSECONDS" and the same of turn 100: from the last byte of an answer to the
request that follows it, as the model's server sees them, less the tool's time; medians of the five
turns up to there. Beside them "sync native": one write and fdatasync of a file there, as a checkpoint
costs. BENCH_ASKED is the server's log, BENCH_PROJECT the project."""
import json
import os
import statistics
import sys
import time

TURNS, FEW = (5, 100), 5


def lines(path, start=0):
    with open(path, encoding="utf-8") as file:
        file.seek(start)
        return [json.loads(line) for line in file]


def run(mount):
    """The id of a thread that has ended."""
    control = os.open(mount + "/directives/bench/turns/fork", os.O_RDWR)
    os.write(control, b"{}")
    reply = b""
    while not reply.endswith(b"\n"):
        reply += os.read(control, 1 << 16)
    os.close(control)
    reply = json.loads(reply)
    if reply["status"] != "success":
        raise SystemExit(json.dumps(reply))
    return reply["thread_id"]


def tools(ident):
    """Seconds that the call of each turn took."""
    began, took = 0.0, []
    for event in lines(f"{os.environ['BENCH_PROJECT']}/.ai/state/threads/{ident}/transcript.jsonl"):
        if event["event_type"] == "tool_call_start":
            began = event["timestamp"]
        elif event["event_type"] == "tool_call_result":
            if event["payload"].get("error"):
                raise SystemExit("turnbench: the tool did not run: " + json.dumps(event["payload"])[:300])
            took.append(event["timestamp"] - began)
    return took


def turns(mount):
    """Microseconds between the answers and requests of one thread."""
    asked = os.environ["BENCH_ASKED"]
    start = os.path.getsize(asked)
    took = tools(run(mount))
    rows = lines(asked, start)
    begins = [row["at"] for row in rows if "body" in row]
    ends = [row["last"] for row in rows if "last" in row]
    return [(begin - end - tool) * 1e6 for end, begin, tool in zip(ends, begins[1:], took, strict=False)]


def sync_us():
    took = []
    path = os.environ["BENCH_PROJECT"] + "/sync"
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for _ in range(50):
        begin = time.perf_counter_ns()
        os.write(fd, b"x" * 1000)
        os.fdatasync(fd)
        took.append((time.perf_counter_ns() - begin) / 1000)
    os.close(fd)
    os.unlink(path)
    return statistics.median(took)


def main(words):
    for name, mount in (word.split("=", 1) for word in words):
        took = turns(mount)
        for turn in TURNS:
            print(f"turn-{turn}", name, statistics.median(took[turn - FEW : turn]))
    print("sync native", sync_us())


main(sys.argv[1:])
