"""Bundles: items that belong together, listed with their hashes in one manifest.

.ai/bundles/ID/manifest.yaml holds {bundle: {id, version, entrypoint, description, created_at}, files:
{PATH: {object_hash, inline_signed}}}; it is written as JSON, which is YAML. The manifest itself is not
signed: what is checked is each item's own signature, and that no file is missing or another."""

import hashlib
import json
import os
import re
import time

import rye_files
import rye_tool

__version__ = "1.0.0"
__tool_type__ = "python"
__executor_id__ = "rye/core/runtimes/python/function"
__category__ = "rye/core/bundler"
__tool_description__ = "Make, check and list bundles of items"
__requires__ = ["fs.read", "fs.write"]

CONFIG_SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "action": {
            "type": "string",
            "description": "What to do",
            "enum": ["create", "create-package", "verify", "verify-signatures", "inspect", "list"],
        },
        "bundle_id": {
            "type": "string",
            "description": "The bundle, a directory's name below the kinds as in web or rye/web",
            "pattern": "^[A-Za-z0-9_-]+(/[A-Za-z0-9_-]+)*$",
        },
        "version": {
            "type": "string",
            "description": "create, create-package: X.Y.Z",
            "pattern": "^\\d+\\.\\d+\\.\\d+$",
            "default": "1.0.0",
        },
        "entrypoint": {"type": "string", "description": "create: the item to begin with"},
        "description": {"type": "string", "description": "create, create-package: what it is for"},
        "package_path": {
            "type": "string",
            "description": "create-package: directory of the project whose .ai becomes the bundle",
        },
    },
    "required": ["action"],
}

KINDS = {"directives": "directive", "tools": "tool", "knowledge": "knowledge", "config": "config"}
EXCLUDED = {"__pycache__", ".venv", "node_modules", ".git", "dist", "build", ".ruff_cache",
            ".pytest_cache", ".mypy_cache"}
SIGNED = re.compile(r"(?m)^(?:<!-- |# |// )rye:signed:")
FILES_MAX = 10000


def digest(value):
    return hashlib.sha256(value).hexdigest()


def item_source(path, data):
    """The hash by which content-addressed stores know an item: of a canonical description."""
    kind, _, rest = path.partition("/")
    blob = digest(data)
    found = re.search(r"rye:signed:(\S+?Z):([0-9a-f]{64}):([\w-]+={0,2}):([0-9a-f]{16})",
                      data[:1024].decode("utf-8", "replace"))
    names = ("timestamp", "hash", "ed25519_sig", "pubkey_fp")
    source = {
        "schema": 2, "kind": "item_source", "content_blob_hash": blob, "integrity": blob,
        "item_ref": "%s:%s" % (KINDS[kind], os.path.splitext(rest)[0]),
        "signature_info": dict(zip(names, found.groups())) if found else None,
    }
    return digest(json.dumps(source, sort_keys=True, separators=(",", ":")).encode("ascii"))


def files_below(ai, tops):
    """Paths below .ai, in order."""
    found = []
    for top in tops:
        for where, names, files in os.walk(os.path.join(ai, top)):
            names[:] = sorted(name for name in names if name not in EXCLUDED)
            for name in sorted(files):
                path = os.path.join(where, name)
                if not name.startswith(".") and os.path.isfile(path) and not os.path.islink(path):
                    found.append(os.path.relpath(path, ai))
    if not found:
        raise rye_tool.Failure("There is nothing to bundle below " + ", ".join(tops))
    if len(found) > FILES_MAX:
        raise rye_tool.Failure("More than %d files" % FILES_MAX)
    return found


def read(path):
    with open(path, "rb") as stream:
        return stream.read()


def manifest_path(project_path, bundle_id):
    return os.path.join(project_path, ".ai/bundles", bundle_id, "manifest.yaml")


def write_manifest(path, manifest):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path + ".new", "w", encoding="utf-8") as stream:
        json.dump(manifest, stream, indent=2, ensure_ascii=False)
        stream.write("\n")
    os.replace(path + ".new", path)


def make(params, project_path, ai, tops, more):
    bundle_id = params["bundle_id"]
    files = {}
    for path in files_below(ai, tops):
        data = read(os.path.join(ai, path))
        files[path] = {"object_hash": item_source(path, data),
                       "inline_signed": bool(SIGNED.search(data[:512].decode("utf-8", "replace")))}
    bundle = {"id": bundle_id, "version": params.get("version", "1.0.0"),
              "entrypoint": params.get("entrypoint", ""),
              "description": params.get("description", ""),
              "created_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), **more}
    path = manifest_path(os.path.dirname(ai), bundle_id)
    write_manifest(path, {"bundle": bundle, "files": files})
    unsigned = [name for name, row in files.items() if not row["inline_signed"]]
    return {"bundle_id": bundle_id, "manifest": os.path.relpath(path, project_path),
            "file_count": len(files), "unsigned": unsigned,
            "output": "%s: %d files" % (os.path.relpath(path, project_path), len(files))}


def create(params, project_path):
    bundle_id, = rye_tool.need(params, "bundle_id")
    tops = ["%s/%s" % (kind, bundle_id) for kind in KINDS]
    return make(params, project_path, os.path.join(project_path, ".ai"), tops, {})


def create_package(params, project_path):
    _, path = rye_tool.need(params, "bundle_id", "package_path")
    real = rye_files.locate(project_path, path)[1]
    return make(params, project_path, os.path.join(real, ".ai"), list(KINDS), {"type": "package"})


def load(params, project_path):
    bundle_id, = rye_tool.need(params, "bundle_id")
    path = manifest_path(project_path, bundle_id)
    if not os.path.isfile(path):
        raise rye_tool.Failure("There is no bundle %s: %s" % (bundle_id, path))
    text = re.sub(r"(?m)\A(#.*\n)+", "", read(path).decode("utf-8"))
    try:
        manifest = json.loads(text)
    except ValueError:
        manifest = parse_yaml(path, text)
    if not isinstance(manifest, dict) or not isinstance(manifest.get("files"), dict):
        raise rye_tool.Failure(path + ": is no manifest: it lists no files")
    for name in manifest["files"]:
        if name.partition("/")[0] not in KINDS or ".." in name.split("/"):
            raise rye_tool.Failure("%s: lists what is no item: %s" % (path, name))
    return manifest


def parse_yaml(path, text):
    try:
        import yaml
    except ImportError:
        raise rye_tool.Failure("%s: is not JSON, and the system's Python has no PyYAML" % path) from None
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise rye_tool.Failure("%s: %s" % (path, error)) from None


def extra_files(ai, bundle_id, listed):
    try:
        found = files_below(ai, ["%s/%s" % (kind, bundle_id) for kind in KINDS])
    except rye_tool.Failure:
        return []
    return sorted(set(found) - set(listed))


def verify(params, project_path):
    manifest = load(params, project_path)
    ai = os.path.join(project_path, ".ai")
    missing, tampered = [], []
    for name, row in manifest["files"].items():
        path = os.path.join(ai, name)
        if not os.path.isfile(path):
            missing.append(name)
        elif item_source(name, read(path)) != row.get("object_hash"):
            tampered.append(name)
    refused = signatures(manifest, project_path, set(missing))
    good = not (missing or tampered or refused)
    told = {"status": "verified" if good else "failed", "files_checked": len(manifest["files"]),
            "files_ok": len(manifest["files"]) - len(missing) - len(tampered),
            "files_missing": missing, "files_tampered": tampered, "files_refused": refused,
            "files_extra": extra_files(ai, params["bundle_id"], manifest["files"])}
    if not good:
        raise rye_tool.Failure("The bundle is not what its manifest says", **told)
    return told


def signatures(manifest, project_path, without):
    """{path: why} of signed files whose signature does not hold."""
    refs = {}
    for name, row in manifest["files"].items():
        kind, _, rest = name.partition("/")
        if row.get("inline_signed") and name not in without:
            refs["%s:%s" % (KINDS[kind], os.path.splitext(rest)[0])] = name
    if not refs:
        return {}
    _, out, err = rye_tool.engine(project_path, ["verify", *refs])
    try:
        rows = json.loads(out)
    except ValueError:
        raise rye_tool.Failure(err.strip() or "ryefs verify did not answer") from None
    return {refs.get(row["ref"], row["ref"]): row["message"].partition("\n")[0]
            for row in rows if not row["ok"]}


def verify_signatures(params, project_path):
    manifest = load(params, project_path)
    refused = signatures(manifest, project_path, ())
    unsigned = [name for name, row in manifest["files"].items() if not row.get("inline_signed")]
    if refused:
        raise rye_tool.Failure("Signatures that do not hold: " + ", ".join(refused),
                               files_refused=refused, unsigned=unsigned)
    return {"files_checked": len(manifest["files"]) - len(unsigned), "unsigned": unsigned}


def inspect(params, project_path):
    manifest = load(params, project_path)
    return {"bundle": manifest.get("bundle"), "files": sorted(manifest["files"]),
            "file_count": len(manifest["files"]), "output": "\n".join(sorted(manifest["files"]))}


def listing(params, project_path):
    top = os.path.join(project_path, ".ai/bundles")
    found = sorted(os.path.relpath(where, top) for where, _, files in os.walk(top)
                   if "manifest.yaml" in files)
    return {"bundles": found, "count": len(found), "output": "\n".join(found)}


execute = rye_tool.by_action({
    "create": create, "create-package": create_package, "verify": verify,
    "verify-signatures": verify_signatures, "inspect": inspect, "list": listing,
})
