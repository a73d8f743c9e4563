"""List one directory."""

import os

__version__ = "1.0.0"
__tool_type__ = "python"
__executor_id__ = "rye/core/runtimes/python/function"
__category__ = "rye/file-system"
__tool_description__ = "List a directory of the project, directories first"
__requires__ = ["fs.read"]
__stateless__ = True

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
