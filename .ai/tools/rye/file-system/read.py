"""Read a text file with stable line ids."""

import difflib
import hashlib
import json
import os
import re
import stat
import tempfile
import time

__version__ = "1.0.0"
__tool_type__ = "python"
__executor_id__ = "rye/core/runtimes/python/function"
__category__ = "rye/file-system"
__tool_description__ = "Read a text file; every line comes with a stable id for edit_lines"
__requires__ = ["fs.read", "fs.write"]  # writing: the line index in .ai/cache
__stateless__ = True

CONFIG_SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "path": {
            "type": "string",
            "description": "File, relative to the project or absolute, inside it",
        },
        "offset": {
            "type": "integer",
            "description": "First line to show, counted from 1",
            "default": 1,
            "minimum": 1,
        },
        "limit": {
            "type": "integer",
            "description": "Number of lines to show",
            "default": 2000,
            "minimum": 1,
        },
    },
    "required": ["path"],
}

HEADER = "# LINE:LID│ content — LIDs are stable references for edit_lines, not file content"
OUTPUT_LIMIT = 51200  # characters of one result; a model's context is the bottleneck
MATCH_WORK = 500000  # pairs of equal lines looked at when a changed file is matched with its index

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


def new_id(number, text, used):
    """An id no other line of the file has."""
    seed = "%d:%s" % (number, text)
    again = 0
    found = digest(seed)[:6]
    while found in used:
        again += 1
        found = digest("%s:%d" % (seed, again))[:6]
    return found


def common_blocks(old, new):
    """Blocks (old start, new start, length) of lines that stayed, in order."""
    head = 0
    while head < min(len(old), len(new)) and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    blocks = [(0, 0, head), (len(old) - tail, len(new) - tail, tail)]
    middle_old, middle_new = old[head : len(old) - tail], new[head : len(new) - tail]
    counts = {}
    for line in middle_old:
        counts[line] = counts.get(line, 0) + 1
    if sum(counts.get(line, 0) for line in middle_new) <= MATCH_WORK:
        matcher = difflib.SequenceMatcher(None, middle_old, middle_new, autojunk=False)
        blocks += [(a + head, b + head, size) for a, b, size in matcher.get_matching_blocks()]
    return blocks


def assign_ids(lines, index):
    """An id for every line: the one it had in the index, or a new one."""
    hashes = [digest(line) for line in lines]
    ids = [None] * len(lines)
    used = set()
    if index:
        known = index["lines"]
        for a, b, size in common_blocks([line["content_hash"] for line in known], hashes):
            for step in range(size):
                old = known[a + step]["id"]
                if old not in used and re.fullmatch("[0-9a-f]{6}", old):
                    ids[b + step] = old
                    used.add(old)
    for position, line in enumerate(lines):
        if ids[position] is None:
            ids[position] = new_id(position + 1, line, used)
            used.add(ids[position])
    return ids, hashes


def store_index(root, path, text, ids, hashes):
    """Remember the ids; where that is impossible, reading works all the same."""
    target = index_path(root, path)
    when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(os.stat(path).st_mtime))
    index = {
        "file_path": shown(root, path),
        "content_hash": digest(text),
        "last_modified": when,
        "lines": [
            {"id": lid, "line_num": number, "content_hash": line}
            for number, (lid, line) in enumerate(zip(ids, hashes), 1)
        ],
    }
    try:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if os.path.realpath(target) != target:
            return
        handle, temporary = tempfile.mkstemp(dir=os.path.dirname(target))
        with open(handle, "w", encoding="utf-8") as stream:
            json.dump(index, stream, indent=2)
        os.replace(temporary, target)
    except OSError:
        pass


def execute(params, project_path):
    try:
        root, path = locate(project_path, params["path"])
        text = read_text(path)
    except (OSError, ValueError) as error:
        return {"success": False, "error": reason(error)}
    lines = split_lines(text)
    index = load_index(root, path)
    ids, hashes = assign_ids(lines, index)
    kept = index and index["content_hash"] == digest(text)
    if not kept or ids != [line["id"] for line in index["lines"]]:
        store_index(root, path, text, ids, hashes)
    offset, limit = params.get("offset", 1), params.get("limit", 2000)
    part = range(offset - 1, min(offset - 1 + limit, len(lines)))
    rows = [HEADER] + ["%d:%s│ %s" % (n + 1, ids[n], lines[n]) for n in part]
    output = "\n".join(rows)
    return {
        "success": True,
        "output": output[:OUTPUT_LIMIT],
        "line_count": output[:OUTPUT_LIMIT].count("\n"),
        "total_lines": len(lines),
        "truncated": len(output) > OUTPUT_LIMIT or offset - 1 + limit < len(lines),
        "offset": offset,
    }
