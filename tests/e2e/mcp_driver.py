# SPDX-License-Identifier: MIT
"""mcp_driver.py PLACE URL: what the official conformance suite for MCP clients starts, with the
address of its server. Adds that server to a new workspace below PLACE, mounts it, and calls the
tools by the mount's files, as the suite's contract says: those of MCP_CONFORMANCE_CONTEXT, else each
with values of its required types. A question to a person is answered with yes."""
import json
import os
import subprocess
import sys
import tempfile

RYEFS = os.environ["RYEFS"]
SCENARIO = os.environ.get("MCP_CONFORMANCE_SCENARIO", "")
PLACE, URL = sys.argv[1], sys.argv[-1]
project = tempfile.mkdtemp(dir=PLACE)
mount = os.path.join(project, "mnt")


def ryefs(*words):
    subprocess.run([RYEFS, *words], check=True, stdin=subprocess.DEVNULL, stdout=sys.stderr)


def execute(item, parameters, **more):
    """The whole reply, by the mount's `execute`."""
    request = {"item_id": item, "parameters": parameters, **more}
    control = os.open(os.path.join(mount, "execute"), os.O_RDWR)
    try:
        os.write(control, json.dumps(request).encode())
    except OSError as error:  # the reply says why
        print(error, file=sys.stderr)
    reply = b""
    while piece := os.read(control, 1 << 20):
        reply += piece
    os.close(control)
    print(item, reply.decode()[:2000], file=sys.stderr)
    return json.loads(reply)


def value_of(schema):
    kinds = {"string": "text", "integer": 2, "number": 2, "boolean": True, "object": {}, "array": []}
    return schema.get("enum", [kinds.get(schema.get("type"), "text")])[0]


def arguments_of(tool, tools):
    if tool["name"] == "json_schema_echo":
        told = [other for other in tools if other["name"] == "json_schema_2020_12_tool"]
        return {"schema": told[0]["input_schema"]}
    if tool["name"] == "add_numbers":
        return {"a": 2, "b": 3}
    schema = tool["input_schema"]
    wanted = schema.get("required", [])
    return {name: value_of(schema.get("properties", {}).get(name, {})) for name in wanted}


def call(item, arguments):
    reply = execute(item, arguments)
    for _ in range(8):
        data = reply.get("data") or {}
        if data.get("error_type") != "input_required":
            return
        answers = {key: {"action": "accept", "content": {"confirmed": True}} for key in data["input_requests"]}
        more = {"request_state": data["request_state"]} if "request_state" in data else {}
        reply = execute(item, arguments, input_responses=answers, **more)


def main():
    server = {"action": "add", "name": "peer", "transport": "http", "url": URL, "elicitation": "return"}
    found = execute("tool:rye/mcp/manager", server)["data"]
    execute("tool:rye/mcp/manager", {**server, "accept": True, "digest": found["digest"]})
    tools = found["tools"]
    items = {tool["name"]: "tool:" + tool["item_id"] for tool in tools}
    if SCENARIO == "json-schema-ref-no-deref":
        return
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    if "toolCalls" in context:
        for given in context["toolCalls"]:
            # the engine refuses null where the schema does not allow it: it is left out, as one would
            arguments = {name: value for name, value in given.get("arguments", {}).items() if value is not None}
            if given["name"] in items:
                call(items[given["name"]], arguments)
        return
    for tool in tools:
        if SCENARIO != "json-schema-2020-12-preservation" or tool["name"] == "json_schema_echo":
            call(items[tool["name"]], arguments_of(tool, tools))


ryefs("init", project)
os.mkdir(mount)
ryefs("mount", project, mount)
try:
    main()
finally:
    ryefs("umount", mount)
