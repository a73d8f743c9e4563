"""Tell how far one run is."""

import rye_tool
import runs

__version__ = "1.0.0"
__tool_type__ = "python"
__executor_id__ = "rye/core/runtimes/python/function"
__category__ = "rye/core/processes"
__tool_description__ = "Tell the status of one run and whether its process lives"
__requires__ = ["fs.read", "threads.manage"]

CONFIG_SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "run_id": {
            "type": "string",
            "description": "The run, as rye/core/processes/list names it",
            "minLength": 1,
        },
    },
    "required": ["run_id"],
}


@rye_tool.tool
def execute(params, project_path):
    facts = runs.find(params, project_path)
    row = runs.row_of(facts)
    row["alive"] = facts.get("alive") == "1"
    if facts.get("error"):
        row["error_of_run"] = facts["error"]
    return {**row, "output": row["status"]}
