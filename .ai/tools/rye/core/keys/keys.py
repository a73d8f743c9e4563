"""Signing keys: make one, see them, trust or forget others.

Keys are the engine's business; this tool asks it through the command line and never reads a
private key file. It needs the program named by RYE_RYEFS, or ryefs on PATH:

    generate   ryefs keygen [--force], then ryefs trust self --owner OWNER if one is given
    list       ryefs keys
    info       ryefs keys, the row whose status is "signing"
    trust      ryefs trust KEY [--owner OWNER]
    remove     ryefs untrust FINGERPRINT

each with --json and --project PROJECT.
"""

import os

import rye_tool

__version__ = "1.0.0"
__tool_type__ = "python"
__executor_id__ = "rye/core/runtimes/python/function"
__category__ = "rye/core/keys"
__tool_description__ = "Make a signing key, list keys, trust a key or stop trusting it"
__requires__ = ["fs.read", "fs.write", "keys.manage"]

CONFIG_SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "action": {
            "type": "string",
            "description": "What to do",
            "enum": ["generate", "info", "trust", "list", "remove"],
        },
        "fingerprint": {
            "type": "string",
            "description": "trust, remove: the key, 16 hex digits",
            "pattern": "^[0-9a-f]{16}$",
        },
        "key_file": {
            "type": "string",
            "description": "trust: a public key or trust file of the project, instead of a fingerprint",
        },
        "owner": {"type": "string", "description": "generate, trust: whose key it is"},
        "space": {
            "type": "string",
            "description": "trust: keys are trusted in the user's space only",
            "enum": ["user"],
            "default": "user",
        },
        "force": {
            "type": "boolean",
            "description": "generate: replace the existing key",
            "default": False,
        },
    },
    "required": ["action"],
}

def owner_of(params):
    return ["--owner", params["owner"]] if params.get("owner") else []


def make(params, project_path):
    answer = rye_tool.ask(project_path, "keygen", *(["--force"] if params.get("force") else []))
    if params.get("owner"):
        rye_tool.ask(project_path, "trust", "self", *owner_of(params))
    return answer


def listing(params, project_path):
    answer = rye_tool.ask(project_path, "keys")
    keys = answer if isinstance(answer, list) else answer.get("keys", [])
    return {"keys": keys, "count": len(keys)}


def own(params, project_path):
    for key in listing(params, project_path)["keys"]:
        if key.get("status") == "signing":
            return key
    raise rye_tool.Failure("There is no signing key yet; make one with the action generate")


def trust(params, project_path):
    if bool(params.get("fingerprint")) == bool(params.get("key_file")):
        raise rye_tool.Failure("trust needs fingerprint or key_file")
    key = params.get("fingerprint") or os.path.join(project_path, params["key_file"])
    return rye_tool.ask(project_path, "trust", key, *owner_of(params))


def remove(params, project_path):
    return rye_tool.ask(project_path, "untrust", *rye_tool.need(params, "fingerprint"))


ACTIONS = {
    "generate": make,
    "info": own,
    "list": listing,
    "remove": remove,
    "trust": trust,
}


def answer(action):
    return lambda params, project_path: {"data": action(params, project_path)}


execute = rye_tool.by_action({name: answer(action) for name, action in ACTIONS.items()})
