"""Create or overwrite files."""

import difflib
import hashlib
import os
import stat

__version__ = "1.0.0"
__tool_type__ = "python"
__executor_id__ = "rye/core/runtimes/python/function"
__category__ = "rye/file-system"
__tool_description__ = "Create or overwrite a file, or several in one call"
__requires__ = ["fs.read", "fs.write"]
__stateless__ = True

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

# -- paths (the same lines in every tool here: each is one verified file and imports no other) --
KEY_FILES = ("private_key.pem", "box_key.pem", "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519")
KEY_DIRS = ("/.ai/config/keys/signing/", "/.ai/secrets/")
ENV_SAMPLES = (".example", ".sample", ".template")


def is_secret(path):
    """Whether a path names a private key, a secret or an environment file."""
    name = os.path.basename(path)
    if name == ".env" or (name.startswith(".env.") and not name.endswith(ENV_SAMPLES)):
        return True
    return name in KEY_FILES or any(part in "/" + path + "/" for part in KEY_DIRS)


def locate(project_path, path):
    """The project's root and the real path of something in it that tools may touch."""
    root = os.path.realpath(project_path)
    real = os.path.realpath(os.path.join(root, path))
    if os.path.commonpath([root, real]) != root:
        raise ValueError("Path is outside the project workspace")
    if is_secret(os.path.join(root, path)) or is_secret(real):
        raise ValueError("Keys and environment files are closed to tools: " + path)
    return root, real


def shown(root, path):
    """A path as results name it: relative to the project, always valid UTF-8."""
    return os.fsencode(os.path.relpath(path, root)).decode("utf-8", "replace")


def reason(error):
    """One sentence for an exception."""
    if isinstance(error, OSError) and error.strerror:
        return "%s: %s" % (error.strerror, error.filename) if error.filename else error.strerror
    return str(error)
# -- end of paths --

# -- replacing (the same lines in write and edit_lines) --
RESERVED = ("/.ai/config/keys/", "/.ai/state/")  # trust and records change only through the engine
DIFF_LINES = 20000  # comparing takes quadratic time at worst
OUTPUT_LIMIT = 51200  # characters of one result; a model's context is the bottleneck


def check_writable(root, path):
    if any(part in "/" + os.path.relpath(path, root) + "/" for part in RESERVED):
        raise ValueError("Trust and state are closed to tools: " + path)
    if os.path.isdir(path):
        raise ValueError("Path is a directory, not a file")
    if os.path.exists(path) and not os.path.isfile(path):
        raise ValueError("Path is not a regular file: " + path)


def replace_file(path, data):
    """Put new bytes under a name at once; a reader sees the old file or the new one."""
    temporary = "%s/.ryefs.%d.%s" % (os.path.dirname(path), os.getpid(), os.urandom(4).hex())
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        with open(handle, "wb") as stream:
            stream.write(data)
        if os.path.exists(path):
            os.chmod(temporary, stat.S_IMODE(os.stat(path).st_mode))
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def show_diff(name, old, new):
    """A unified diff, or a sentence when it would be too long to make or to read."""
    if old == new:
        return "No changes: " + name
    before, after = (text.split("\n") for text in (old, new))
    if before[-1] == after[-1] == "":
        before, after = before[:-1], after[:-1]
    if len(before) + len(after) > DIFF_LINES:
        return "Changed %s: %d lines before, %d after" % (name, len(before), len(after))
    lines = difflib.unified_diff(before, after, "a/" + name, "b/" + name, lineterm="")
    text = "\n".join(lines)
    if len(text) > OUTPUT_LIMIT:
        text = text[:OUTPUT_LIMIT] + "\n... [diff truncated, %d characters total]" % len(text)
    return text
# -- end of replacing --


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
