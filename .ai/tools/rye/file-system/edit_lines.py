"""Change lines of a text file by the ids that the read tool showed."""

import difflib
import hashlib
import json
import os
import stat

__version__ = "1.0.0"
__tool_type__ = "python"
__executor_id__ = "rye/core/runtimes/python/function"
__category__ = "rye/file-system"
__tool_description__ = "Replace or delete lines of a file, named by the line ids of the last read"
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
        "changes": {
            "type": "array",
            "description": "Each names one line (line_id) or a range of lines and its new text",
            "minItems": 1,
            "items": {
                "type": "object",
                "properties": {
                    "line_id": {"type": "string", "description": "The line to replace"},
                    "start_line_id": {"type": "string", "description": "First line of a range"},
                    "end_line_id": {"type": "string", "description": "Last line of a range"},
                    "new_content": {
                        "type": "string",
                        "description": "New text, any number of lines; empty deletes",
                    },
                },
                "required": ["new_content"],
            },
        },
    },
    "required": ["path", "changes"],
}

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

# -- text files (the same lines in read and edit_lines) --
SIZE_LIMIT = 16 << 20  # bytes of a text file: every line is hashed, and kept in the index
LINE_LIMIT = 500000  # ids have 24 bits; beyond this most new ones would collide
INDEX_DIR = ".ai/cache/tools/read/line_index"


def read_text(path):
    """The text of a regular file, line ends as they are."""
    if not os.path.exists(path):
        raise ValueError("File not found: " + path)
    status = os.stat(path)
    if stat.S_ISDIR(status.st_mode):
        raise ValueError("Path is a directory, not a file")
    if not stat.S_ISREG(status.st_mode):
        raise ValueError("Path is not a regular file: " + path)
    if status.st_size > SIZE_LIMIT:
        raise ValueError("File is too large: %d bytes, at most %d" % (status.st_size, SIZE_LIMIT))
    with open(path, "rb") as stream:
        data = stream.read(SIZE_LIMIT)
    if data.startswith(b"-----BEGIN ") and b"PRIVATE KEY-----" in data[:64]:
        raise ValueError("Keys and environment files are closed to tools: " + path)
    if data.count(b"\n") > LINE_LIMIT:
        raise ValueError("File has too many lines: at most %d" % LINE_LIMIT)
    return data.decode("utf-8")


def split_lines(text):
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    return lines


def digest(text):
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def index_path(root, path):
    return os.path.join(root, INDEX_DIR, digest(os.path.relpath(path, root))[:16] + ".json")


def load_index(root, path):
    """The line ids of the last read, or None."""
    try:
        with open(index_path(root, path), encoding="utf-8") as stream:
            index = json.load(stream)
        texts = [index["content_hash"]]
        for line in index["lines"]:
            texts += (line["id"], line["content_hash"])
        return index if all(isinstance(text, str) for text in texts) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None
# -- end of text files --

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

CHANGED = "File has changed since last read. Re-read the file to get updated line IDs."


def find_ranges(changes, index):
    """(first, last, new text) of every change, positions counted from 0, in file order."""
    position = {line["id"]: number for number, line in enumerate(index["lines"])}
    if len(position) != len(index["lines"]):
        raise ValueError(CHANGED)  # an index that gives two lines one id cannot be trusted
    ranges, unknown = [], []
    for change in changes:
        first = change.get("line_id") or change.get("start_line_id")
        last = change.get("line_id") or change.get("end_line_id")
        if not first or not last:
            raise ValueError("A change needs line_id, or start_line_id and end_line_id")
        missing = [lid for lid in dict.fromkeys((first, last)) if lid not in position]
        unknown += missing
        if not missing:
            ranges.append((position[first], position[last], change["new_content"]))
    if unknown:
        message = "Invalid line IDs: %s. Available IDs include: %s..."
        raise ValueError(message % (unknown, list(position)[:10]))
    ranges.sort(key=lambda one: one[:2])
    end = -1
    for first, last, _ in ranges:
        if last < first:
            raise ValueError("The end of a range lies before its start")
        if first <= end:
            raise ValueError("Two changes name the same line")
        end = last
    return ranges


def apply_changes(text, ranges):
    """The new text and the number of lines touched; the file keeps its kind of line ends."""
    lines = split_lines(text)
    closed = text.endswith("\n")
    touched = 0
    for first, last, content in reversed(ranges):
        new = split_lines(content)
        if lines[first].endswith("\r") or (first and lines[first - 1].endswith("\r")):
            new = [line.rstrip("\r") + "\r" for line in new]
        touched += max(last - first + 1, len(new))
        lines[first : last + 1] = new
    if not lines:
        return "", touched
    if not closed:
        lines[-1] = lines[-1].rstrip("\r")
    return "\n".join(lines) + ("\n" if closed else ""), touched


def execute(params, project_path):
    try:
        root, path = locate(project_path, params["path"])
        check_writable(root, path)
        text = read_text(path)
        index = load_index(root, path)
        if index is None:
            raise ValueError("No line ID cache found. Read the file first to generate line IDs.")
        if index["content_hash"] != digest(text) or len(index["lines"]) != len(split_lines(text)):
            raise ValueError(CHANGED)
        changed, touched = apply_changes(text, find_ranges(params["changes"], index))
        replace_file(path, changed.encode("utf-8"))
        os.unlink(index_path(root, path))
    except (OSError, ValueError) as error:
        return {"success": False, "error": reason(error)}
    return {
        "success": True,
        "output": show_diff(shown(root, path), text, changed),
        "changes_applied": len(params["changes"]),
        "lines_changed": touched,
    }
