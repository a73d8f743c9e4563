"""Search the contents of files with a regular expression."""

import hashlib
import json
import os
import re
import signal

from rye_files import compile_glob, locate, reason, shown, walk

__version__ = "1.0.0"
__tool_type__ = "python"
__executor_id__ = "rye/core/runtimes/python/function"
__category__ = "rye/file-system"
__tool_description__ = "Search file contents with a regular expression"
__requires__ = ["fs.read"]

CONFIG_SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "pattern": {
            "type": "string",
            "description": "Regular expression in Python's syntax, matched against each line",
        },
        "path": {
            "type": "string",
            "description": "File or directory to search, the whole project when absent",
        },
        "include": {
            "type": "string",
            "description": "Only files whose name fits this pattern, such as *.py or *.{js,ts}",
            "maxLength": 4096,
        },
    },
    "required": ["pattern"],
}

MATCH_LIMIT = 100
LINE_SHOWN = 2000  # characters of a matching line; a minified file is one line
SIZE_LIMIT = 16 << 20  # bytes of a file worth searching
TIME_LIMIT_S = 30  # a pattern can take exponential time
INDEX_DIR = ".ai/cache/tools/read/line_index"


def line_ids(root, path, data):
    """The ids that read gave the lines, if the file is still what it was."""
    name = hashlib.sha256(os.fsencode(os.path.relpath(path, root))).hexdigest()[:16] + ".json"
    try:
        with open(os.path.join(root, INDEX_DIR, name), encoding="utf-8") as stream:
            index = json.load(stream)
        if index["content_hash"] == hashlib.sha256(data).hexdigest():
            return [line["id"] for line in index["lines"]]
    except (OSError, ValueError, KeyError, TypeError):
        pass
    return []


def read_searchable(path):
    """The bytes of a text file; empty for what is not searched."""
    try:
        with open(path, "rb") as stream:
            data = stream.read(SIZE_LIMIT + 1)
    except OSError:
        return b""
    private = data.startswith(b"-----BEGIN ") and b"PRIVATE KEY-----" in data[:64]
    if len(data) > SIZE_LIMIT or private or b"\0" in data[:8192]:
        return b""
    return data


def search_file(root, path, regex, found):
    """Add the matches of one file; False when there is no room for more."""
    data = read_searchable(path)
    ids = None
    lines = data.decode("utf-8", "replace").split("\n")
    if not lines[-1]:
        lines.pop()
    for number, line in enumerate(lines, 1):
        line = line.rstrip("\r")
        if not regex.search(line):
            continue
        if len(found) == MATCH_LIMIT:
            return False
        if ids is None:
            ids = line_ids(root, path, data)
        match = {"file": shown(root, path), "line": number, "content": line[:LINE_SHOWN]}
        if number <= len(ids):
            match["line_id"] = ids[number - 1]
        found.append(match)
    return True


def candidates(base, include):
    if os.path.isfile(base):
        return [base]
    if not os.path.isdir(base):
        raise ValueError("Path not found: " + base)
    if not include:
        return walk(base)
    wanted = compile_glob(include)
    return (path for path in walk(base) if wanted(os.path.relpath(path, base)))


def show(match):
    lid = ":" + match["line_id"] if "line_id" in match else ""
    return "%s:%d%s│ %s" % (match["file"], match["line"], lid, match["content"])


class OutOfTime(Exception):
    """Not an OSError: those are skipped, file by file."""


def out_of_time(number, frame):
    raise OutOfTime


def execute(params, project_path):
    try:
        regex = re.compile(params["pattern"])
    except (re.error, OverflowError, RecursionError) as error:
        return {"success": False, "error": "Invalid regular expression: %s" % error}
    found, complete, note = [], True, ""
    signal.signal(signal.SIGALRM, out_of_time)
    signal.alarm(TIME_LIMIT_S)
    try:
        root, base = locate(project_path, params.get("path") or ".")
        for path in candidates(base, params.get("include")):
            if not search_file(root, path, regex, found):
                complete = False
                break
    except OutOfTime:
        complete, note = False, "\n... [stopped after %d seconds]" % TIME_LIMIT_S
    except (OSError, ValueError) as error:
        return {"success": False, "error": reason(error)}
    finally:
        signal.alarm(0)
    return {
        "success": True,
        "output": "\n".join(show(match) for match in found) + note,
        "matches": found,
        "count": len(found),
        "truncated": not complete,
    }
