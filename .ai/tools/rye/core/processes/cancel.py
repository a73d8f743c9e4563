"""End one run."""

import time

import rye_tool
import runs

__version__ = "1.0.0"
__tool_type__ = "python"
__executor_id__ = "rye/core/runtimes/python/function"
__category__ = "rye/core/processes"
__tool_description__ = "End a run and everything it started: asked first, then made to"
__requires__ = ["fs.read", "fs.write", "threads.manage"]

CONFIG_SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "run_id": {
            "type": "string",
            "description": "The run, as rye/core/processes/list names it",
            "minLength": 1,
        },
        "grace": {
            "type": "number",
            "description": "Seconds between asking the run to end and killing it",
            "default": 5,
            "minimum": 0,
            "maximum": 60,
        },
    },
    "required": ["run_id"],
}


LOOK_S = 0.1  # between two looks at a run that was asked to end


@rye_tool.tool
def execute(params, project_path):
    facts = runs.find(params, project_path)
    if facts["status"] in runs.ENDED:
        raise rye_tool.Failure("Run has ended: " + facts["status"], status=facts["status"])
    rye_tool.ask(project_path, "threads", "cancel", params["run_id"])
    until = time.monotonic() + params.get("grace", 5)
    method = "terminated"
    while runs.find(params, project_path)["status"] not in runs.ENDED:
        if time.monotonic() > until:
            rye_tool.ask(project_path, "threads", "kill", params["run_id"])
            method = "killed"
            break
        time.sleep(LOOK_S)
    return {"run_id": params["run_id"], "method": method, **with_pid(facts)}


def with_pid(facts):
    return {"pid": int(facts["pid"])} if facts.get("pid", "").isdigit() else {}
