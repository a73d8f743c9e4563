"""Greet somebody by name.

The constants below are the tool's metadata. They are read, not run, so each is a literal: a text, a
number, a list, a dictionary, None, True or False.
"""

__version__ = "1.0.0"
__tool_type__ = "python"
# What runs it: with ".../function" the function execute() below; with ".../script" the whole file as
# a program, which reads its parameters as JSON from standard input.
__executor_id__ = "rye/core/runtimes/python/function"
# The directory below .ai/tools that this file lies in.
__category__ = "@CATEGORY@"
# What people and models choose it by.
__tool_description__ = "Greet somebody by name"
# All that it may do. Others are "fs.write" (files of the project), "net.*", "shell.execute" and
# "rye.execute.tool.NAME". Without "fs.write" the project is read-only, without "net.*" there is no network.
__requires__ = ["fs.read"]

# JSON Schema of the parameters: they are checked before the call, and defaults are filled in.
CONFIG_SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 1, "description": "Whom to greet"},
        "loud": {"type": "boolean", "default": False, "description": "In capitals"},
    },
    "required": ["name"],
    "additionalProperties": False,
}


def execute(params, project_path):
    """params: a dictionary that fits the schema; project_path: the directory that holds .ai."""
    greeting = f"Hello, {params['name']}!"
    if params["loud"]:
        greeting = greeting.upper()
    # "output" is shown to people; other keys go to the caller, too. A run that fails returns
    # {"success": False, "error": "what was wanted"}.
    return {"success": True, "output": greeting}
