"""Search the contents of files with a regular expression."""

import fnmatch
import hashlib
import json
import os
import re
import signal

__version__ = "1.0.0"
__tool_type__ = "python"
__executor_id__ = "rye/core/runtimes/python/function"
__category__ = "rye/file-system"
__tool_description__ = "Search file contents with a regular expression"
__requires__ = ["fs.read"]
__stateless__ = True

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

# -- walking (the same lines in glob and grep) --
IGNORED = frozenset(
    "node_modules __pycache__ .git .venv venv .tox .pytest_cache .mypy_cache .ruff_cache dist build"
    " .eggs .nox .hg .svn".split()
)
ALTERNATIVES = 64  # patterns that {a,b} may expand to


def fuse_mounts():
    """Mount points of FUSE file systems: a mount of this project inside it shows it again."""
    found = set()
    try:
        with open("/proc/self/mountinfo", "rb") as stream:
            for line in stream:
                left, _, right = line.partition(b" - ")
                if right.startswith(b"fuse"):
                    name = left.split(b" ")[4]
                    found.add(os.fsdecode(name.replace(b"\\040", b" ").replace(b"\\134", b"\\")))
    except OSError:
        pass
    return found


def walk(base):
    """Every file below base in a fixed order, without what nobody wants searched."""
    mounts = fuse_mounts()
    pending = [base]
    while pending:
        try:
            with os.scandir(pending.pop()) as entries:
                found = sorted(entries, key=lambda entry: entry.name)
        except OSError:
            continue
        below = []
        for entry in found:
            if entry.name in IGNORED or ".egg-info" in entry.name or is_secret(entry.path):
                continue
            if entry.path.endswith("/.ai/cache"):
                continue
            if entry.is_dir(follow_symlinks=False):
                if entry.path not in mounts:
                    below.append(entry.path)
            elif entry.is_file(follow_symlinks=False):
                yield entry.path
        pending.extend(reversed(below))


def expand(pattern):
    """The patterns that {a,b} stands for."""
    patterns = [pattern]
    while len(patterns) <= ALTERNATIVES:
        head, opened, rest = patterns[0].partition("{")
        if not opened or "}" not in rest:
            return patterns
        done = []
        for one in patterns:
            head, _, rest = one.partition("{")
            inner, _, tail = rest.partition("}")
            done += [head + choice + tail for choice in inner.split(",")]
        patterns = done
    raise ValueError("Pattern has too many alternatives: at most %d" % ALTERNATIVES)


def compile_glob(pattern):
    """A test for paths relative to the searched directory; no slash means at any depth."""
    wanted = [("" if "/" in one else "**/") + one for one in expand(pattern)]
    wanted = [[part for part in one.split("/") if part not in ("", ".")] for one in wanted]
    return lambda path: any(fits(path.split("/"), one) for one in wanted)


def past_stars(states, wanted):
    for state in list(states):
        while state < len(wanted) and wanted[state] == "**":
            state += 1
            states.add(state)
    return states


def fits(parts, wanted):
    """Match path parts; ** takes any number of them. Time is parts times pattern parts."""
    states = past_stars({0}, wanted)
    for part in parts:
        after = set()
        for state in states:
            if state == len(wanted):
                continue
            if wanted[state] == "**":
                after.add(state)
            elif fnmatch.fnmatchcase(part, wanted[state]):
                after.add(state + 1)
        states = past_stars(after, wanted)
    return len(wanted) in states
# -- end of walking --


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
