"""Create or overwrite files."""

import hashlib
import os

from rye_files import check_writable, locate, reason, replace_file, show_diff, shown

__version__ = "1.0.0"
__tool_type__ = "python"
__executor_id__ = "rye/core/runtimes/python/function"
__category__ = "rye/file-system"
__tool_description__ = "Create or overwrite a file, or several in one call"
__requires__ = ["fs.read", "fs.write"]

CONFIG_SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "path": {
            "type": "string",
            "description": "File, relative to the project or absolute, inside it",
        },
        "file_path": {"type": "string", "description": "The same as path"},
        "content": {"type": "string", "description": "The whole new content"},
        "files": {
            "type": "array",
            "description": "Several files, instead of path and content",
            "minItems": 1,
            "items": {
                "type": "object",
                "properties": {
                    "path": {"type": "string", "description": "File"},
                    "content": {"type": "string", "description": "The whole new content"},
                },
                "required": ["path", "content"],
            },
        },
    },
}

DIFF_BYTES = 1 << 20  # an older file beyond this is replaced without showing the difference
INDEX_DIR = ".ai/cache/tools/read/line_index"


def drop_index(root, path):
    """Line ids of the old content mean nothing any more."""
    name = hashlib.sha256(os.fsencode(os.path.relpath(path, root))).hexdigest()[:16] + ".json"
    try:
        os.unlink(os.path.join(root, INDEX_DIR, name))
    except OSError:
        pass


def old_text(path):
    """What a diff can be made against, or None."""
    if os.path.getsize(path) > DIFF_BYTES:
        return None
    with open(path, "rb") as stream:
        data = stream.read()
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return None


def write_one(project_path, path, content):
    root, real = locate(project_path, path)
    check_writable(root, real)
    name = shown(root, real)
    created = not os.path.exists(real)
    if created:
        os.makedirs(os.path.dirname(real), exist_ok=True)
        output = "Created new file %s (%d bytes)" % (name, len(content))
    else:
        old = old_text(real)
        output = "Replaced " + name if old is None else show_diff(name, old, content)
    replace_file(real, content.encode("utf-8"))
    drop_index(root, real)
    return {
        "output": output,
        "file_path": name,
        "bytes_written": len(content),
        "created": created,
    }


def write_all(project_path, files):
    results, errors = [], []
    for one in files:
        try:
            results.append(write_one(project_path, one["path"], one["content"]))
        except (OSError, ValueError) as error:
            errors.append({"path": one["path"], "error": reason(error)})
    done = {
        "success": not errors,
        "output": "\n".join(result["output"] for result in results),
        "files_written": len(results),
        "files_total": len(files),
        "results": results,
    }
    if errors:
        done["errors"] = errors
        done["error"] = "%d of %d files failed" % (len(errors), len(files))
    return done


def execute(params, project_path):
    if params.get("files"):
        return write_all(project_path, params["files"])
    path = params.get("path", params.get("file_path"))
    if path is None or params.get("content") is None:
        return {
            "success": False,
            "error": "Provide either 'files' (batch) or 'path'+'content' (single).",
        }
    try:
        return {"success": True, **write_one(project_path, path, params["content"])}
    except (OSError, ValueError) as error:
        return {"success": False, "error": reason(error)}
