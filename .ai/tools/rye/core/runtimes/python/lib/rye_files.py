"""What tools of the bundle share about files: paths that they may touch, lines with ids, replacing,
searching. The Python runtimes lend it to every tool."""

import difflib
import fnmatch
import hashlib
import json
import os
import stat
import tempfile
import time

__version__ = "1.0.0"
__tool_type__ = "library"
__executor_id__ = None
__category__ = "rye/core/runtimes/python/lib"
__tool_description__ = "Shared by tools: files"

# -- paths --

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


# -- text files: what reading leaves behind, and editing finds --

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


# -- replacing --

RESERVED = ("/.ai/config/keys/", "/.ai/state/")  # trust and records change only through the engine
DIFF_LINES = 20000  # comparing takes quadratic time at worst
OUTPUT_LIMIT = 51200  # characters of one result; a model's context is the bottleneck


def new_id(number, text, used):
    """An id no other line of the file has."""
    seed = "%d:%s" % (number, text)
    again = 0
    found = digest(seed)[:6]
    while found in used:
        again += 1
        found = digest("%s:%d" % (seed, again))[:6]
    return found


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


# -- searching --

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
