"""What the tools about processes share: the engine's threads as these tools name them."""

import rye_tool

__version__ = "1.0.0"
__tool_type__ = "library"
__executor_id__ = None
__category__ = "rye/core/processes"
__tool_description__ = "Threads of the engine, as the tools here name them"

ENDED = ("completed", "completed_with_errors", "error", "cancelled", "killed", "continued", "released")


def row_of(facts):
    """One run from the facts that the engine tells of a thread."""
    row = {"run_id": facts["id"], "directive": facts.get("directive", ""),
           "status": facts.get("status", ""), "created_at": facts.get("created", "")}
    for name, told in (("updated_at", "updated"), ("completed_at", "completed")):
        if facts.get(told):
            row[name] = facts[told]
    if facts.get("pid", "").isdigit():
        row["pid"] = int(facts["pid"])
    return row


def find(params, project_path):
    """The facts of params["run_id"]."""
    try:
        return rye_tool.ask(project_path, "threads", "show", params["run_id"])
    except rye_tool.Failure as failure:
        if "not found" not in str(failure):
            raise
        raise rye_tool.Failure("Run not found: " + params["run_id"]) from None
