"""Logs: the newest lines, the errors, how many there are of each level.

A mount's own log is its file .ryefs/log; here are the files that other programs of the workspace
write to a directory, .ai/logs/rye of the user space unless it is said."""

import collections
import json
import os
import re

import rye_files
import rye_tool

__version__ = "1.0.0"
__tool_type__ = "python"
__executor_id__ = "rye/core/runtimes/python/function"
__category__ = "rye/core/telemetry"
__tool_description__ = "Show the logs that programs of the workspace have written"
__requires__ = ["fs.read"]

CONFIG_SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "item": {
            "type": "string",
            "description": "What to report",
            "enum": ["logs", "stats", "errors", "all"],
            "default": "all",
        },
        "level": {
            "type": "string",
            "description": "logs: only lines of this level and above",
            "enum": ["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"],
        },
        "limit": {
            "type": "integer",
            "description": "Lines at most, the newest",
            "default": 50,
            "minimum": 1,
            "maximum": 1000,
        },
        "log_dir": {
            "type": "string",
            "description": "A directory of the project to read instead of the user's",
        },
    },
}

LEVELS = ["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"]
LEVEL = re.compile(r"\b(DEBUG|INFO|WARNING|WARN|ERROR|CRITICAL|FATAL)\b")
ALIASES = {"WARN": "WARNING", "FATAL": "CRITICAL"}
TAIL = 1 << 20  # bytes read at the end of each file
LINE_MAX = 2000


def level_of(line):
    """The level that a line names, in JSON or as a word; INFO when it names none."""
    name = None
    if line.startswith("{"):
        try:
            told = json.loads(line)
            name = str(told.get("level") or told.get("levelname") or "").upper()
        except ValueError:
            pass
    if name not in LEVELS and name not in ALIASES:
        found = LEVEL.search(line)
        name = found[1] if found else "INFO"
    return ALIASES.get(name, name)


def tail(path):
    with open(path, "rb") as stream:
        size = stream.seek(0, os.SEEK_END)
        stream.seek(max(0, size - TAIL))
        lines = stream.read().decode("utf-8", "replace").splitlines()
    return lines[1:] if size > TAIL else lines


def log_files(directory):
    found = []
    for name in sorted(os.listdir(directory)) if os.path.isdir(directory) else []:
        path = os.path.join(directory, name)
        if re.search(r"\.(log|jsonl)(\.\d+)?$", name) and os.path.isfile(path):
            found.append((os.path.getmtime(path), path))
    return [path for _, path in sorted(found)]


def log_dir(params, project_path):
    if params.get("log_dir"):
        return rye_files.locate(project_path, params["log_dir"])[1]
    user = os.environ.get("USER_SPACE") or os.path.expanduser("~")
    return os.path.join(user, ".ai/logs/rye")


@rye_tool.tool
def execute(params, project_path):
    item, limit = params.get("item", "all"), params.get("limit", 50)
    directory = log_dir(params, project_path)
    files = log_files(directory)
    rows = [{"file": os.path.basename(path), "level": level_of(line), "line": line[:LINE_MAX]}
            for path in files for line in tail(path) if line.strip()]
    least = LEVELS.index(params["level"]) if params.get("level") else 0
    data = {
        "logs": [row for row in rows if LEVELS.index(row["level"]) >= least][-limit:],
        "errors": [row for row in rows if LEVELS.index(row["level"]) >= 3][-limit:],
        "stats": {"files": len(files), "bytes": sum(map(os.path.getsize, files)), "lines": len(rows),
                  "levels": dict(collections.Counter(row["level"] for row in rows))},
    }
    chosen = data if item == "all" else {item: data[item]}
    result = {"data": {"log_dir": directory, **chosen}}
    if not files:
        result["output"] = "There are no logs in %s; a mount's own is its file .ryefs/log" % directory
    return result
