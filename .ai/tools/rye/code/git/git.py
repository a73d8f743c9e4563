"""Version control of the project by git."""

import os

import rye_tool

__version__ = "1.0.0"
__tool_type__ = "python"
__executor_id__ = "rye/core/runtimes/python/function"
__category__ = "rye/code/git"
__tool_description__ = "Run git in the project: status, add, commit, diff, log, branch, checkout, stash, reset, tag"
__requires__ = ["fs.read", "fs.write", "shell.execute"]

CONFIG_SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "action": {
            "type": "string",
            "description": "The command of git",
            "enum": ["status", "add", "commit", "diff", "log", "branch", "checkout", "stash",
                     "reset", "tag"],
        },
        "args": {
            "type": "array",
            "description": "Its arguments, such as paths or names",
            "items": {"type": "string", "description": "One argument"},
        },
        "message": {"type": "string", "description": "commit, stash, tag: the message"},
        "flags": {
            "type": "object",
            "description": "Its options without dashes: {\"oneline\": true, \"n\": 5}",
        },
        "working_dir": {
            "type": "string",
            "description": "Directory to run in, relative to the project or absolute, inside it",
        },
        "timeout": {
            "type": "integer",
            "description": "Seconds until git is ended",
            "default": 30,
            "minimum": 1,
            "maximum": 3600,
        },
    },
    "required": ["action"],
}

# nothing waits for a person: no pager, no editor, no password
QUIET = {"GIT_PAGER": "cat", "GIT_EDITOR": "true", "GIT_TERMINAL_PROMPT": "0",
         "GIT_OPTIONAL_LOCKS": "0"}
WITH_MESSAGE = {"commit": ["-m"], "tag": ["-m"], "stash": ["push", "-m"]}


def options(flags):
    """true is the option alone; one letter has one dash; what is false or null is left out."""
    for name, value in flags.items():
        if not name or name.startswith("-"):
            raise rye_tool.Failure("flags: names are written without dashes: " + name)
        if value in (None, False):
            continue
        dash = "-" if len(name) == 1 else "--"
        if value is True:
            yield dash + name
        elif len(name) == 1:
            yield dash + name + str(value)
        else:
            yield "%s%s=%s" % (dash, name, value)


@rye_tool.tool
def execute(params, project_path):
    directory = rye_tool.resolve_directory(project_path, params.get("working_dir"))
    action = params["action"]
    if action == "add" and not params.get("args") and not params.get("flags"):
        raise rye_tool.Failure('git add: args name what to add; ["."] is everything')
    words = ["git", "-c", "color.ui=false", action]
    if params.get("message") is not None:
        if action not in WITH_MESSAGE:
            raise rye_tool.Failure("git %s takes no message" % action)
        words += [*WITH_MESSAGE[action], params["message"]]
    words += [*options(params.get("flags") or {}), *params.get("args", [])]
    result = rye_tool.run(words, directory, params.get("timeout", 30), {**os.environ, **QUIET})
    if not result["success"]:
        said = result.get("error") or result.get("stderr", "").strip()
        raise rye_tool.Failure(said, **{key: value for key, value in result.items()
                                        if key not in ("success", "error")})
    return result
