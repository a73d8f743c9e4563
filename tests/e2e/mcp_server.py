# SPDX-License-Identifier: MIT
"""mcp_server.py NOTES WORD...: a scripted MCP server on standard input and output.

Every message that comes is a line of the file NOTES, behind this process's number; so is the end of
its input. Words say how it behaves:

  modern, legacy   the era it is of
  junk             prints lines that are no messages, and CR LF
  crash            ends at anything that comes before `initialize`
  silent           does not answer server/discover
  asks             sends requests of its own before it answers
  stays            does not end at the end of its input
  forks            starts children, one in a session of its own, that stay
"""
import json
import os
import signal
import subprocess
import sys
import threading
import time

try:
    notes = open(sys.argv[1], "a", buffering=1)
except OSError:  # a server that may not write in the project
    notes = open(os.devnull, "w")
words = set(sys.argv[2:])
lock = threading.Lock()
cancelled = set()
opened = False


def note(text):
    notes.write(f"{os.getpid()} {text}\n")


def send(doc):
    with lock:
        end = "\r\n" if "junk" in words else "\n"
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **doc}) + end)
        sys.stdout.flush()


def result(doc, modern):
    return {"resultType": "complete", **doc} if modern else doc


def text(*parts, **more):
    return {"content": [{"type": "text", "text": part} for part in parts], **more}


def tools():
    """What NOTES.tools holds, or one."""
    try:
        with open(sys.argv[1] + ".tools", encoding="utf-8") as given:
            return json.load(given)
    except OSError:
        return [{"name": "echo", "inputSchema": {"type": "object"}}]


def slow(steps, seconds, number, token):
    for step in range(steps):
        time.sleep(seconds)
        if number in cancelled:
            return None
        if token is not None:
            send({"method": "notifications/progress",
                  "params": {"progressToken": token, "progress": step + 1, "total": steps}})
    return text("done")


def called(name, args, number, token):
    if name == "echo":
        return text(args.get("text", ""))
    if name == "query-docs":
        return text("%(libraryId)s: %(query)s" % args)
    if name == "pid":
        return text(json.dumps({"pid": os.getpid(), "cwd": os.getcwd(), "env": dict(os.environ)}))
    if name == "fail":
        return text("it went", "wrong", isError=True)
    if name == "sum":
        return text("sum", structuredContent={"sum": args["a"] + args["b"], "tool": "not ours"})
    if name == "picture":
        return {"content": [{"type": "image", "data": "aGk=", "mimeType": "image/png"},
                            {"type": "resource_link", "uri": "demo://x", "name": "x"}]}
    if name == "slow":
        return slow(args.get("steps", 1), args.get("seconds", 1), number, token)
    if name == "write":
        with open(args["path"], "w") as file:
            file.write("x")
        return text("written")
    if name == "die":
        sys.stderr.write("a stack\nlast words\n")
        sys.stderr.flush()
        os._exit(3)
    if name == "flood":
        sys.stderr.write("log\n" * 100000)
        sys.stderr.flush()
        return text("quiet")
    if name == "big":
        return text("x" * args["n"])
    if name == "noise":
        with lock:
            print("no message\n" * 200, flush=True)
        return text("never read")
    return None


def answer(message):
    method, number = message["method"], message["id"]
    params = message.get("params", {})
    meta = params.get("_meta", {})
    modern = "io.modelcontextprotocol/protocolVersion" in meta
    if method == "server/discover" and "modern" in words:
        send({"id": number, "result": {"supportedVersions": ["2026-07-28"], "resultType": "complete"}})
    elif method == "server/discover" and "silent" in words:
        pass
    elif method == "initialize" and "modern" not in words:
        send({"id": number, "result": {"protocolVersion": params["protocolVersion"], "capabilities": {},
                                       "serverInfo": {"name": "scripted", "version": "1"}}})
    elif method == "tools/list" and (opened or modern and "modern" in words):
        send({"id": number, "result": result({"tools": tools()}, modern)})
    elif method == "tools/call" and (opened or modern and "modern" in words):
        try:
            got = called(params["name"], params["arguments"], number, meta.get("progressToken"))
        except Exception as fault:  # as the reference servers do
            got = text(f"{type(fault).__name__}: {fault}", isError=True)
        if got:
            send({"id": number, "result": result(got, modern)})
        elif number not in cancelled:
            send({"id": number, "error": {"code": -32602, "message": f"Tool {params['name']} not found"}})
    else:
        send({"id": number, "error": {"code": -32601, "message": "Method not found"}})


def heard(line):
    global opened
    note(line.strip())
    message = json.loads(line)
    if "crash" in words and not opened and message.get("method") != "initialize":
        sys.stderr.write("expected initialize\n")
        os._exit(1)
    if message.get("method") == "initialize" and "modern" not in words:
        opened = True
    if message.get("method") == "notifications/cancelled":
        cancelled.add(message["params"]["requestId"])
    if "method" in message and "id" in message:
        if "asks" in words:
            send({"id": "p", "method": "ping"})
            send({"id": "s", "method": "sampling/createMessage", "params": {}})
        threading.Thread(target=answer, args=(message,), daemon=True).start()


for apart in (False, True) if "forks" in words else ():
    subprocess.Popen([sys.executable, "-c", "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(300)",
                      sys.argv[1] + "-child"], start_new_session=apart, stdin=subprocess.DEVNULL,
                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
signal.signal(signal.SIGTERM, lambda *_: (note("TERM"), os._exit(0)))
if "junk" in words:
    print("Server listening\r\n\n{broken", flush=True)
for given in sys.stdin:
    heard(given)
note("end of input")
while "stays" in words:
    time.sleep(1)
