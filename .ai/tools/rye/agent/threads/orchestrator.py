"""See, await, end and go on with threads."""

import json
import os
import re
import time

import rye_tool

__version__ = "1.0.0"
__tool_type__ = "python"
__executor_id__ = "rye/core/runtimes/python/function"
__category__ = "rye/agent/threads"
__tool_description__ = "Wait for threads, read their results and transcripts, end them, go on with them"
__requires__ = ["fs.read", "fs.write", "threads.manage"]

CONFIG_SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "operation": {
            "type": "string", "description": "What is to be done",
            "enum": ["wait_threads", "get_status", "list_active", "aggregate_results", "get_chain",
                     "chain_search", "read_transcript", "cancel_thread", "kill_thread", "resume_thread",
                     "handoff_thread"],
        },
        "thread_id": {"type": "string", "description": "The thread, where one is meant"},
        "thread_ids": {"type": "array", "items": {"type": "string"}, "description": "Threads, where several are"},
        "timeout": {"type": "number", "minimum": 0, "maximum": 3600, "default": 600,
                    "description": "Seconds that wait_threads waits at most"},
        "message": {"type": "string", "description": "Of resume_thread: what to go on with"},
        "query": {"type": "string", "description": "Of chain_search: what to look for"},
        "search_type": {"type": "string", "enum": ["text", "regex"], "default": "text", "description": "How"},
        "max_results": {"type": "integer", "minimum": 1, "maximum": 500, "default": 50, "description": "At most"},
        "tail_lines": {"type": "integer", "minimum": 1, "description": "Of read_transcript: the last lines alone"},
    },
    "required": ["operation"],
}

ENDED = ("completed", "completed_with_errors", "error", "cancelled", "killed", "continued")
LOOK_S = 0.2  # between two looks at threads that are waited for
CHAIN_MAX = 50
SEARCHED = ("cognition_in", "cognition_out", "tool_call_start", "tool_call_result")


def show(project, thread):
    """The facts of one thread; None: there is none."""
    try:
        return rye_tool.ask(project, "threads", "show", thread)
    except rye_tool.Failure as failure:
        if "not found" in str(failure):
            return None
        raise


def need(project, params):
    thread = params.get("thread_id")
    if not thread:
        raise rye_tool.Failure("thread_id required")
    facts = show(project, thread)
    if facts is None:
        raise rye_tool.Failure("Thread not found: " + thread)
    return thread, facts


def told(thread, facts):
    """What is known of one thread: its status, and what came out of it."""
    if facts is None:
        return {"status": "not_found", "thread_id": thread}
    row = {"status": facts["status"], "thread_id": thread}
    reply = facts.get("result.json")
    if isinstance(reply, dict):
        if facts["status"] == "continued" and reply.get("state"):
            row["status"] = reply["state"]
        for name in ("result", "outputs", "cost", "error"):
            if name in reply:
                row[name] = reply[name]
        if reply.get("thread_id", thread) != thread:
            row["resolved_thread_id"] = reply["thread_id"]
    return row


def over(facts):
    return facts is None or (facts["status"] in ENDED and
                             (facts["status"] != "continued" or "result.json" in facts))


def wait_threads(project, params):
    threads = params.get("thread_ids") or []
    until = time.monotonic() + params.get("timeout", 600)
    results = {}
    while True:
        for thread in threads:
            if thread not in results:
                facts = show(project, thread)
                if over(facts):
                    results[thread] = told(thread, facts)
        if len(results) == len(set(threads)) or time.monotonic() >= until:
            break
        time.sleep(LOOK_S)
    for thread in threads:
        results.setdefault(thread, {"status": "timeout", "thread_id": thread})
    return {"results": results, "all_completed": all(r["status"] == "completed" for r in results.values())}


def aggregate_results(project, params):
    return {"results": {thread: told(thread, show(project, thread)) for thread in params.get("thread_ids") or []}}


def get_status(project, params):
    thread, facts = need(project, params)
    return {**told(thread, facts), "alive": facts.get("alive") == "1"}


def list_active(project, _params):
    rows = rye_tool.ask(project, "threads", "list")
    return {"threads": [{"thread_id": row["id"], "status": row["status"], "directive": row["directive"]}
                        for row in rows if row["status"] not in ENDED]}


def path_of(project, thread, name):
    path = os.path.realpath(os.path.join(project, ".ai/state/threads", thread, name))
    if not path.startswith(os.path.realpath(os.path.join(project, ".ai/state/threads")) + os.sep):
        raise rye_tool.Failure("Thread not found: " + thread)
    return path


def events(project, thread):
    try:
        with open(path_of(project, thread, "transcript.jsonl"), encoding="utf-8", errors="replace") as stream:
            for number, line in enumerate(stream, 1):
                try:
                    event = json.loads(line)
                except ValueError:
                    continue
                if isinstance(event, dict) and isinstance(event.get("payload"), dict):
                    yield number, event
    except OSError:
        return


def chain_of(project, thread):
    """The threads that went on where another ended, the first one first."""
    first, seen = thread, {thread}
    while len(seen) < CHAIN_MAX:
        try:
            with open(path_of(project, first, "thread.json"), encoding="utf-8") as stream:
                before = json.load(stream).get("previous_thread_id")
        except (OSError, ValueError):
            break
        if not before or before in seen:
            break
        seen.add(before)
        first = before
    chain = [first]
    while len(chain) < CHAIN_MAX:
        after = [event["payload"].get("new_thread_id") for _, event in events(project, chain[-1])
                 if event.get("event_type") in ("thread_handoff", "thread_resumed")]
        if not after or not after[-1] or after[-1] in chain:
            break
        chain.append(after[-1])
    return chain


def get_chain(project, params):
    thread, _ = need(project, params)
    chain = []
    for member in chain_of(project, thread):
        facts = show(project, member) or {}
        chain.append({"thread_id": member, "status": facts.get("status", "not_found"),
                      "directive": facts.get("directive", "")})
    return {"chain_length": len(chain), "chain": chain}


def chain_search(project, params):
    if not params.get("query"):
        raise rye_tool.Failure("thread_id and query required")
    thread, _ = need(project, params)
    words = params["query"] if params.get("search_type") == "regex" else re.escape(params["query"])
    try:
        pattern = re.compile(words, re.IGNORECASE)
    except re.error as error:
        raise rye_tool.Failure(f"query: {error}") from None
    most, found = params.get("max_results", 50), []
    for member in chain_of(project, thread):
        for number, event in events(project, member):
            text = json.dumps(event["payload"], ensure_ascii=False)
            matches = [m.group(0) for m in pattern.finditer(text)][:5] if event.get("event_type") in SEARCHED else []
            if matches:
                found.append({"thread_id": member, "event_type": event["event_type"], "line_no": number,
                              "snippet": text[:500], "matches": matches})
    return {"results": found[:most], "truncated": len(found) > most}


def read_transcript(project, params):
    thread, _ = need(project, params)
    path = os.path.join(project, ".ai/knowledge/agent/threads", thread + ".md")
    if not os.path.exists(path):
        path = path_of(project, thread, "transcript.jsonl")
    if not os.path.exists(path):
        raise rye_tool.Failure("Transcript not found: " + thread)
    with open(path, encoding="utf-8", errors="replace") as stream:
        lines = stream.read().splitlines()
    if params.get("tail_lines"):
        lines = lines[-params["tail_lines"]:]
    return {"thread_id": thread, "output": "\n".join(lines)}


def parent_of(project, thread):
    try:
        with open(path_of(project, thread, "thread.json"), encoding="utf-8") as stream:
            return json.load(stream).get("parent_id") or ""
    except (OSError, ValueError):
        return ""


def refuse_foreign(project, thread):
    """A thread's model ends what it started, and what that started; a person ends anything."""
    asker = os.environ.get("RYE_THREAD_ID")
    above, seen = thread, set()
    while asker and above != asker:
        seen.add(above)
        above = parent_of(project, above)
        if not above or above in seen:
            raise rye_tool.Failure(f"Permission denied: {thread} is no child of this thread")


def ctl(verb):
    def act(project, params):
        thread, _ = need(project, params)
        refuse_foreign(project, thread)
        rye_tool.ask(project, "threads", verb, thread)
        return {"thread_id": thread, "status": (show(project, thread) or {}).get("status", "")}
    return act


def resume_thread(project, params):
    thread, facts = need(project, params)
    if not params.get("message"):
        raise rye_tool.Failure("message required")
    if os.environ.get("RYE_THREAD_ID"):
        raise rye_tool.Failure("Permission denied: only a person resumes a thread")
    if facts["status"] not in ENDED:
        raise rye_tool.Failure(f"Thread is still {facts['status']}, cannot resume")
    rye_tool.ask(project, "threads", "resume", thread, params["message"])
    chain = chain_of(project, thread)
    return {"resumed": True, "old_thread_id": thread, "new_thread_id": chain[-1],
            "directive": facts.get("directive", "")}


ACTS = {
    "wait_threads": wait_threads, "get_status": get_status, "list_active": list_active,
    "aggregate_results": aggregate_results, "get_chain": get_chain, "chain_search": chain_search,
    "read_transcript": read_transcript, "cancel_thread": ctl("cancel"), "kill_thread": ctl("kill"),
    "resume_thread": resume_thread, "handoff_thread": ctl("handoff"),
}


@rye_tool.tool
def execute(params, project_path):
    return ACTS[params["operation"]](project_path, params)
