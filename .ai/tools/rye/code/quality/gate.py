"""Quality gates: commands that have to succeed, as the project's configuration lists them.

config/quality_gates.yaml holds `gates`, a list of {name, command, required, timeout}, or a map from
names to the same. Spaces are merged as all configuration is."""

import time

import rye_tool

__version__ = "1.0.0"
__tool_type__ = "python"
__executor_id__ = "rye/core/runtimes/python/function"
__category__ = "rye/code/quality"
__tool_description__ = "Run the checks that the project lists in config/quality_gates.yaml"
__requires__ = ["fs.read", "fs.write", "shell.execute"]

CONFIG_RESOLVE = {"path": "quality_gates.yaml", "mode": "deep_merge"}

CONFIG_SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "gates": {
            "type": "array",
            "description": "Names of the gates to run, all of them when absent",
            "items": {"type": "string", "description": "One name"},
        },
        "working_dir": {
            "type": "string",
            "description": "Directory to run in, relative to the project or absolute, inside it",
        },
        "timeout": {
            "type": "integer",
            "description": "Seconds for each gate that does not say",
            "default": 120,
            "minimum": 1,
            "maximum": 3600,
        },
    },
}

KEPT = 12800  # characters of each stream of a gate


def gates_of(config):
    """Each gate as {name, command, …}."""
    listed = config.get("gates")
    if isinstance(listed, dict):
        listed = [{"name": name, **(gate if isinstance(gate, dict) else {"command": gate})}
                  for name, gate in listed.items()]
    if not isinstance(listed, list) or not listed:
        raise rye_tool.Failure("There are no gates: write config/quality_gates.yaml with "
                               "gates: [{name: tests, command: make check}]")
    for gate in listed:
        command = gate.get("command") if isinstance(gate, dict) else None
        if not isinstance(command, str) or not isinstance(gate.get("name"), str):
            raise rye_tool.Failure("config/quality_gates.yaml: a gate needs name and command, texts")
    return listed


def chosen(listed, names):
    if names is None:
        return listed
    known = [gate["name"] for gate in listed]
    for name in names:
        if name not in known:
            raise rye_tool.Failure("No such gate: %s. There are: %s" % (name, ", ".join(known)))
    return [gate for gate in listed if gate["name"] in names]


def run_gate(gate, directory, seconds):
    began = time.monotonic()
    done = rye_tool.run(["/bin/sh", "-c", gate["command"]], directory, gate.get("timeout", seconds))
    row = {"name": gate["name"], "passed": done["success"], "required": gate.get("required", True),
           "exit_code": done.get("exit_code"), "duration_ms": int((time.monotonic() - began) * 1000)}
    for stream in ("stdout", "stderr"):
        text = done.get(stream, "")
        row[stream] = text[-KEPT:]
        row["truncated"] = row.get("truncated", bool(done.get("truncated"))) or len(text) > KEPT
    if done.get("error"):
        row["error"] = done["error"]
    return row


@rye_tool.tool
def execute(params, project_path):
    directory = rye_tool.resolve_directory(project_path, params.get("working_dir"))
    gates = chosen(gates_of(params.get("resolved_config") or {}), params.get("gates"))
    rows = [run_gate(gate, directory, params.get("timeout", 120)) for gate in gates]
    failed = [row["name"] for row in rows if row["required"] and not row["passed"]]
    told = {
        "gates": rows,
        "summary": {"total": len(rows), "passed": sum(row["passed"] for row in rows),
                    "failed": len(failed)},
        "output": "\n".join("%s %s" % ("ok    " if row["passed"] else "FAILED" if row["required"]
                                       else "failed", row["name"]) for row in rows),
    }
    if failed:
        raise rye_tool.Failure("Gates failed: " + ", ".join(failed), **told)
    return told
