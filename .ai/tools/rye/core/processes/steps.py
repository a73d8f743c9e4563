"""Tell the steps of one run of a state graph."""

import json
import os
import re

import rye_tool

__version__ = "1.0.0"
__tool_type__ = "python"
__executor_id__ = "rye/core/runtimes/python/function"
__category__ = "rye/core/processes"
__tool_description__ = "Tell what the steps of a graph's run came to"
__requires__ = ["fs.read"]

CONFIG_SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "run_id": {
            "type": "string",
            "description": "The graph's run: a name below .ai/state/graphs",
            "minLength": 1,
        },
    },
    "required": ["run_id"],
}


# where runs are, and where other implementations had them
PLACES = (".ai/state/graphs", ".ai/agent/graphs")
STEPS_MAX = 1000  # of one result; a graph may take many more
DONE = ("step_completed", "foreach_completed")
TOLD = ("node", "node_type", "status", "next_node", "step", "error", "elapsed_s", "action_id", "cache_hit")


def events(path):
    """Each line that is an object; one that is being written is none yet."""
    with open(path, encoding="utf-8", errors="replace") as stream:
        for line in stream:
            try:
                event = json.loads(line)
            except ValueError:
                continue
            if isinstance(event, dict):
                yield event


def step_of(event):
    payload = event.get("payload")
    payload = payload if isinstance(payload, dict) else {}
    step = {"event": event.get("event_type", ""), "timestamp": event.get("timestamp", "")}
    step.update((name, payload[name]) for name in TOLD if name in payload)
    return step


@rye_tool.tool
def execute(params, project_path):
    run = params["run_id"]
    if not re.fullmatch(r"[A-Za-z0-9_.-]+", run) or run.startswith("."):
        raise rye_tool.Failure("Run not found: " + run)
    paths = [os.path.join(project_path, place, run, "transcript.jsonl") for place in PLACES]
    path = next(filter(os.path.exists, paths), None)
    if not path:
        raise rye_tool.Failure("Transcript not found: " + paths[0])
    found = [step_of(event) for event in events(path)]
    ends = [step["event"] for step in found if step["event"].startswith("graph_")]
    return {
        "run_id": run, "steps": found[-STEPS_MAX:], "count": len(found),
        "truncated": len(found) > STEPS_MAX,
        "completed_steps": sum(step["event"] in DONE for step in found),
        "last": ends[-1] if ends else "",
    }
