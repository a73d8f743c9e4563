"""List runs that go on by themselves."""

import rye_tool
import runs

__version__ = "1.0.0"
__tool_type__ = "python"
__executor_id__ = "rye/core/runtimes/python/function"
__category__ = "rye/core/processes"
__tool_description__ = "List runs that were started as threads, those that go on or those of one status"
__requires__ = ["fs.read", "threads.manage"]

CONFIG_SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "status": {
            "type": "string",
            "description": "Only runs of this status; without it, those that have not ended",
            "enum": ["created", "running", "completed", "completed_with_errors", "error",
                     "cancelled", "killed", "continued", "all"],
        },
    },
}


def wanted(params, row):
    status = params.get("status")
    if status is None:
        return row["status"] not in runs.ENDED
    return status in ("all", row["status"])


@rye_tool.tool
def execute(params, project_path):
    rows = [runs.row_of(facts) for facts in rye_tool.ask(project_path, "threads", "list")]
    rows = [row for row in rows if wanted(params, row)]
    lines = ["%(run_id)s %(status)s %(directive)s" % row for row in rows]
    return {"runs": rows, "count": len(rows), "output": "\n".join(lines)}
