# SPDX-License-Identifier: MIT
"""mcp_killed.py SEED ROUNDS NOTES: `ryefs mcp add` and `refresh` are killed at moments after their first
write that SEED gives. Each time all of a server's items are on disk or none, the old ones or the new
ones, and the same command again does it, with nothing left."""

import json
import os
import random
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
RYEFS, PROJECT = os.environ["RYEFS"], os.environ["P"]
MCP = f"{PROJECT}/.ai/tools/mcp"
TOOLS = 60
MOST_S = 60


def command(notes, *words):
    """mcp WORD NAME ..., the same one each time."""
    server = ("--", sys.executable, f"{HERE}/mcp_server.py", notes, "modern") if words[0] == "add" else ()
    return [RYEFS, "mcp", "-y", "--project", PROJECT, *words, *server]


def again(notes, *words):
    return subprocess.run(command(notes, *words), capture_output=True, text=True, timeout=MOST_S, check=False)


def tell(notes, text):
    with open(notes + ".tools", "w", encoding="utf-8") as file:
        json.dump([{"name": f"t{i}", "description": text, "inputSchema": {"type": "object"}} for i in range(TOOLS)], file)


def state():
    """Everything below tools/mcp, by name, with what can be told of a change."""
    found = {}
    for place, _, names in os.walk(MCP):
        for name in names:
            path = os.path.join(place, name)
            info = os.stat(path)
            found[os.path.relpath(path, MCP)] = (info.st_ino, info.st_mtime_ns)
    return found


def killed(chance, argv):
    before = state()
    run = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    end = time.monotonic() + MOST_S
    try:
        while run.poll() is None and time.monotonic() < end:
            try:
                if state() != before:
                    break
            except FileNotFoundError:
                break
        time.sleep(chance.uniform(0, 0.15) if chance.random() < 0.8 else 0)  # at any moment
    finally:
        run.kill()
        run.wait(MOST_S)


def texts():
    """What the tools that readers see say; how often."""
    said = {}
    for name in os.listdir(f"{MCP}/k") if os.path.isdir(f"{MCP}/k") else ():
        with open(f"{MCP}/k/{name}", encoding="utf-8") as file:
            line = next(line for line in file if line.startswith("description"))
        said[line] = said.get(line, 0) + 1
    return said


def whole(what):
    said = texts()
    if len(said) > 1 or any(count != TOOLS for count in said.values()):
        raise SystemExit(f"{what}: {said}")
    if os.path.exists(f"{MCP}/servers/k.yaml") and not said:
        raise SystemExit(f"{what}: a server without its tools")


def settled(what):
    whole(what)
    left = [name for name in os.listdir(MCP) if name.startswith(".")]
    if left or not os.path.exists(f"{MCP}/servers/k.yaml") or not texts():
        raise SystemExit(f"{what}: {left} {texts()}")


def main():
    chance, rounds, notes = random.Random(int(sys.argv[1])), int(sys.argv[2]), sys.argv[3]
    for turn in range(rounds):
        tell(notes, f"first {turn}")
        killed(chance, command(notes, "add", "k"))
        whole(f"add killed, round {turn}")
        done = again(notes, "add", "k")
        if done.returncode and "is there already" not in done.stderr:
            raise SystemExit(f"add again: {done.stderr}")
        settled(f"add again, round {turn}")
        tell(notes, f"second {turn}")
        killed(chance, command(notes, "refresh", "k"))
        whole(f"refresh killed, round {turn}")
        if again(notes, "refresh", "k").returncode:
            raise SystemExit("refresh again fails")
        settled(f"refresh again, round {turn}")
        if f"second {turn}" not in "".join(texts()):
            raise SystemExit("refresh again: the old ones")
        if again(notes, "remove", "k").returncode:
            raise SystemExit("remove fails")
    print("whole")


main()
