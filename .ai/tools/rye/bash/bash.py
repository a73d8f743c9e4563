"""Run a shell command in the project and report what it printed."""

from rye_tool import resolve_directory, run

__version__ = "1.0.0"
__tool_type__ = "python"
__executor_id__ = "rye/core/runtimes/python/function"
__category__ = "rye/bash"
__tool_description__ = "Run a shell command in the project directory"
__requires__ = ["shell.execute", "fs.write", "net.call"]

CONFIG_SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "command": {
            "type": "string",
            "description": "Command text for sh -c",
        },
        "timeout": {
            "type": "integer",
            "description": "Seconds until the command and everything it started are ended",
            "default": 120,
            "minimum": 1,
            "maximum": 86400,
        },
        "working_dir": {
            "type": "string",
            "description": "Directory to run in, relative to the project or absolute, inside it",
        },
    },
    "required": ["command"],
}

DEFAULT_TIMEOUT_S = 120


def execute(params, project_path):
    try:
        directory = resolve_directory(project_path, params.get("working_dir"))
    except (OSError, ValueError) as error:
        return {"success": False, "error": str(error)}
    seconds = params.get("timeout", DEFAULT_TIMEOUT_S)
    return run(["/bin/sh", "-c", params["command"]], directory, seconds, prints=True)
