"""Find files by name pattern."""

import fnmatch
import os

__version__ = "1.0.0"
__tool_type__ = "python"
__executor_id__ = "rye/core/runtimes/python/function"
__category__ = "rye/file-system"
__tool_description__ = "Find files of the project by a name pattern"
__requires__ = ["fs.read"]
__stateless__ = True

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
