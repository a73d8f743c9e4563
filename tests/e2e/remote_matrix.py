# SPDX-License-Identifier: MIT
"""remote_matrix.py RYEFS TESTS PROJECT USER SYSTEM MOUNT: the execution matrix by every door but a model's.

remote_matrix.py calls TESTS: the calls of rye_execute that a model makes, JSON; remote_matrix.py called TESTS TRANSCRIPT:
what they came to.

Its cells are those of tests/table/matrix.test: the same words have to come from the mount's `execute`, from a client of
MCP, from nodes of a graph and from the command line. The items that are named are not there: a cell that is refused is
so before that is noticed, one that is not says that they are missing, or that the remote is.
"""
import json
import os
import subprocess
import sys

RYEFS, TESTS, PROJECT, USER, SYSTEM, MOUNT = (sys.argv[1:] + [""] * 4)[:6]
PLACE = ["--project", PROJECT, "--user", USER, "--system", SYSTEM]
PASSED = ("not found", "No remote 'none'", '"state":"running"')


def cells():
    """(words, kind, refusal or None)"""
    with open(f"{TESTS}/table/matrix.test", encoding="utf-8") as table:
        groups = ["\n".join(row for row in group.split("\n") if not row.startswith("#")).strip()
                  for group in table.read().split("\n\n")]
    rows = [group.split("\n") for group in groups if group]
    return [(row[0].split(), row[1], None if row[2].startswith("ok") else row[2]) for row in rows[:48]
            if row[0].split()[0] in ("local", "remote", "remote:gpu")]


def request(words, kind):
    target = "local" if words[0] == "local" else "remote:none"
    return {"item_id": f"{kind}:none/none", "target": target, "thread": "fork" if "fork" in words else "inline",
            "async": "async" in words, "dry_run": "dry_run" in words}


def by_mount(rows):
    for words, kind, wanted in rows:
        fd = os.open(f"{MOUNT}/execute", os.O_RDWR)
        try:
            os.write(fd, json.dumps(request(words, kind)).encode() + b"\n")
        except OSError:
            pass  # its errno; the sentence is what follows
        said = os.pread(fd, 1 << 16, 0).decode()
        os.close(fd)
        yield words, kind, wanted, said


def by_mcp(rows):
    asked = [{"jsonrpc": "2.0", "id": "begin", "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "tests", "version": "0"}}},
        {"jsonrpc": "2.0", "method": "notifications/initialized"}]
    asked += [{"jsonrpc": "2.0", "id": i, "method": "tools/call", "params": {
        "name": "rye_execute", "arguments": request(words, kind)}} for i, (words, kind, _) in enumerate(rows)]
    with subprocess.Popen([RYEFS, "mcp", *PLACE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        server.stdin.write("".join(json.dumps(one) + "\n" for one in asked))
        server.stdin.flush()
        answers = {}
        while len(answers) < len(rows):
            line = server.stdout.readline()
            if not line:
                break
            message = json.loads(line)
            if isinstance(message.get("id"), int):
                answers[message["id"]] = json.dumps(message.get("result") or message.get("error"))
        server.stdin.close()
    for i, row in enumerate(rows):
        yield *row, answers.get(i, "no answer")


def by_graph(rows):
    """A node says neither async nor dry_run: a graph's calls are waited for."""
    rows = [row for row in rows if not set(row[0]) & {"async", "dry_run"}]
    nodes = {}
    for i, (words, kind, _) in enumerate(rows):
        ask = request(words, kind)
        nodes[f"n{i:02}"] = {"action": {key: ask[key] for key in ("item_id", "target", "thread")}, "next": f"n{i + 1:02}"}
    nodes[f"n{len(rows):02}"] = {"type": "return"}
    graph = {"tool_id": "cells", "tool_type": "graph", "version": "1.0.0", "category": "", "description": "cells",
             "executor_id": "rye/core/runtimes/state-graph/runtime", "permissions": ["rye.*"],
             "config": {"start": "n00", "on_error": "continue", "nodes": nodes}}
    with open(f"{PROJECT}/.ai/tools/cells.yaml", "w", encoding="utf-8") as out:
        json.dump(graph, out)
    subprocess.run([RYEFS, "sign", *PLACE, "tool:cells"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    done = subprocess.run([RYEFS, "execute", *PLACE, "--json", "tool:cells"], check=False, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    said = {error.get("node"): error for error in find_errors(json.loads(done.stdout.splitlines()[-1]))}
    for i, row in enumerate(rows):
        yield *row, json.dumps(said.get(f"n{i:02}", f"no error of its node: {done.stdout[:200]}"))


def find_errors(value):
    if isinstance(value, dict):
        if "node" in value and "error" in value:
            yield value
        for member in value.values():
            yield from find_errors(member)
    elif isinstance(value, list):
        for member in value:
            yield from find_errors(member)


def by_hand(rows):
    """Elsewhere, a tool and a directive: each is a process."""
    for words, kind, wanted in rows:
        if words[0] == "local" or kind == "knowledge":
            continue
        ways = [f"--{word.replace('_', '-')}" for word in words[1:]]
        done = subprocess.run([RYEFS, "execute", *PLACE, "-q", "--target", "remote:none", *ways, f"{kind}:none/none"],
                              check=False, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True)
        yield words, kind, wanted, done.stdout


def model_calls():
    return [{"id": f"c{i:02}", "name": "rye_execute", "arguments": request(words, kind)}
            for i, (words, kind, _) in enumerate(cells())]


def by_model(rows):
    said = {}
    with open(PROJECT, encoding="utf-8") as transcript:
        for line in transcript:
            event = json.loads(line)
            if event["event_type"] == "tool_call_result":
                said[event["payload"]["call_id"]] = json.dumps(event["payload"], ensure_ascii=False)
    for i, row in enumerate(rows):
        yield *row, said.get(f"c{i:02}", "no answer")


def main():
    rows = cells()
    if RYEFS == "calls":
        print(json.dumps(model_calls()))
        return
    doors = (("mount", by_mount), ("mcp", by_mcp), ("graph", by_graph), ("command line", by_hand))
    for name, door in (("model", by_model),) if RYEFS == "called" else doors:
        n = good = 0
        for words, kind, wanted, said in door(rows):
            n += 1
            text = said.replace("\\", "")
            right = wanted in text if wanted else any(one in text for one in PASSED)
            good += right
            if not right:
                print(f"# {name}: {' '.join(words)} {kind}: wanted {wanted or PASSED}, got {said[:300]}")
        print(f"{name}: {good} of {n}")


main()
