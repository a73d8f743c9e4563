"""Find files by name pattern."""

import os

from rye_files import compile_glob, locate, reason, shown, walk

__version__ = "1.0.0"
__tool_type__ = "python"
__executor_id__ = "rye/core/runtimes/python/function"
__category__ = "rye/file-system"
__tool_description__ = "Find files of the project by a name pattern"
__requires__ = ["fs.read"]

CONFIG_SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "pattern": {
            "type": "string",
            "description": "Such as *.py (at any depth), src/**/*.ts or docs/*.{md,txt}",
            "minLength": 1,
            "maxLength": 4096,
        },
        "path": {
            "type": "string",
            "description": "Directory to search, the whole project when absent",
        },
    },
    "required": ["pattern"],
}

FILE_LIMIT = 100


def find_base(project_path, params):
    """The root, the directory to search and the pattern below it."""
    pattern = params["pattern"]
    root, base = locate(project_path, params.get("path") or ".")
    if pattern.startswith(root + "/"):
        base, pattern = root, pattern[len(root) + 1 :]
    if pattern.startswith("/") or ".." in pattern.split("/"):
        raise ValueError("Path is outside the project workspace")
    if not os.path.isdir(base):
        raise ValueError("Directory not found: " + base)
    return root, base, pattern


def execute(params, project_path):
    try:
        root, base, pattern = find_base(project_path, params)
        wanted = compile_glob(pattern)
    except (OSError, ValueError) as error:
        return {"success": False, "error": reason(error)}
    files, truncated = [], False
    for path in walk(base):
        if wanted(os.path.relpath(path, base)):
            if len(files) == FILE_LIMIT:
                truncated = True
                break
            files.append(shown(root, path))
    files.sort()
    return {
        "success": True,
        "output": "\n".join(files),
        "files": files,
        "count": len(files),
        "truncated": truncated,
    }
