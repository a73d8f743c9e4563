"""List one directory."""

import os

from rye_files import is_secret, locate, reason, shown

__version__ = "1.0.0"
__tool_type__ = "python"
__executor_id__ = "rye/core/runtimes/python/function"
__category__ = "rye/file-system"
__tool_description__ = "List a directory of the project, directories first"
__requires__ = ["fs.read"]

CONFIG_SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "path": {
            "type": "string",
            "description": "Directory, the project itself when absent",
        },
    },
}

IGNORED = frozenset(
    "node_modules __pycache__ .git .venv venv .tox .pytest_cache .mypy_cache .ruff_cache"
    " .eggs .nox .hg .svn".split()
)


def read_directory(path):
    if not os.path.exists(path):
        raise ValueError("Directory not found: " + path)
    if not os.path.isdir(path):
        raise ValueError("Path is not a directory")
    with os.scandir(path) as entries:
        found = [(not entry.is_dir(), entry.name.lower(), entry.path) for entry in entries
                 if entry.name not in IGNORED and ".egg-info" not in entry.name
                 and not is_secret(entry.path)]
    return sorted(found)


def execute(params, project_path):
    try:
        root, path = locate(project_path, params.get("path") or ".")
        found = read_directory(path)
    except (OSError, ValueError) as error:
        return {"success": False, "error": reason(error)}
    entries, lines = [], []
    for is_file, _, real in found:
        entries.append({"name": shown(root, real), "type": "file" if is_file else "directory"})
        lines.append(os.path.basename(entries[-1]["name"]) + ("" if is_file else "/"))
    return {"success": True, "output": "\n".join(lines), "entries": entries}
