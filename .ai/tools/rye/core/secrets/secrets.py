"""Secrets: keep a value, see the names that are kept, forget one.

Values go to the engine (`ryefs secret`) by standard input; no action tells one."""

import rye_tool

__version__ = "1.0.0"
__tool_type__ = "python"
__executor_id__ = "rye/core/runtimes/python/function"
__category__ = "rye/core/secrets"
__tool_description__ = "Keep, list and forget values that items may ask for by name"
__requires__ = ["fs.read", "fs.write", "secrets.manage"]

CONFIG_SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "action": {
            "type": "string",
            "description": "What to do",
            "enum": ["set", "list", "delete"],
        },
        "name": {
            "type": "string",
            "description": "set, delete: the name, as in an item's ${NAME}",
            "pattern": "^[A-Za-z_][A-Za-z0-9_]*$",
        },
        "value": {"type": "string", "description": "set: what to keep; no action tells it again"},
    },
    "required": ["action"],
}


def keep(params, project_path):
    name, value = rye_tool.need(params, "name", "value")
    rye_tool.ask(project_path, "secret", "set", name, text=value)
    return {"name": name, "output": name + " is kept"}


def listing(params, project_path):
    kept = rye_tool.ask(project_path, "secret", "list")
    names = [row["name"] for row in kept]
    return {"secrets": kept, "count": len(names), "output": "\n".join(names)}


def forget(params, project_path):
    name, = rye_tool.need(params, "name")
    rye_tool.ask(project_path, "secret", "rm", name)
    return {"name": name, "output": name + " is forgotten"}


execute = rye_tool.by_action({"set": keep, "list": listing, "delete": forget})
