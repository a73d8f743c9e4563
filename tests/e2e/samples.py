# SPDX-License-Identifier: MIT
"""Every tool that the tool format's page shows, signed and run; each test has the name of the
section. A block that is a whole tool is used as it stands. One that is a part (a schema, an
execute(), some YAML keys) is put into the page's own skeleton, and what it calls and the page
leaves open (`result`, `do_something`, `async_operation`, deploy.py, a container client) is
the test's. No block is left out: the last test wants each asked for here or told why not."""

import json
import os
import shutil
import subprocess
import sys
import time
import unittest

import signer
from page import BLOCKS, BUNDLE, FUSE, Place, harness, left_over, sample

STRUCTURE = BLOCKS["Required Structure"]
HEAD, SCHEMA = STRUCTURE.split("\n\n\n")[0].split("\n\nCONFIG_SCHEMA")
SCHEMA = "\n\nCONFIG_SCHEMA" + SCHEMA + "\n\n\n"
YAML_HEAD = BLOCKS["Standard YAML Tool"].partition("parameters:")[0]
ECHO = "def execute(params, project_path):\n    return {'success': True, 'params': params}\n"
# a program that answers with what it was given
REPORT = """import json, os, sys
print(json.dumps({"success": True, "argv": sys.argv[1:], "params": json.load(sys.stdin),
                  "env": {name: os.environ.get(name) for name in ("KUBECONFIG", "LOG_LEVEL")}}))
"""
SCRIPT = "config:\n  script: |\n" + "".join("    %s\n" % line for line in REPORT.splitlines())
FUNCTION = "rye/core/runtimes/python/function"
PROGRAM = "rye/core/runtimes/python/script"
EXECUTE = "rye/core/primitives/execute"
TOOL = "category/path/tool_name"
KEY = signer.Key("d0")

NO_TOOL = {
    "": "the page's own metadata",
    "Overview": "the order of a chain: chains are looked at in every test",
    "File Structure": "a list of what follows",
}


class Python(Place):
    def python(self, name, *parts, executor=FUNCTION):
        self.tool("category/path/%s.py" % name,
                  HEAD.replace(FUNCTION, executor) + "\n\n" + "".join(parts))
        return "category/path/" + name

    @sample("Required Structure")
    def test_required_structure(self, text):
        self.tool("category/path/as-is.py", text)
        answer = '{"seen": params["param_name"], "project": project_path}'
        self.tool("category/path/filled.py", text.replace("# Implementation", "result = " + answer))
        reply = self.bad("category/path/as-is", {}, "Missing required parameters: param_name")
        self.assertEqual(reply["declared_parameters"], [
            {"name": "param_name", "type": "string", "required": True,
             "description": "What this param does"}])
        self.bad("category/path/as-is", {"param_name": 5}, "param_name: expected str")
        # the body is a comment and a return of a name that nobody has set
        reply = self.bad("category/path/as-is", {"param_name": "x"}, "name 'result' is not defined")
        self.assertEqual(reply["chain"], ["category/path/as-is", FUNCTION, EXECUTE])
        self.assertEqual(self.good("category/path/filled", {"param_name": "x"}),
                         {"success": True, "data": {"seen": "x", "project": self.project}})

    @sample("CONFIG_SCHEMA")
    def test_config_schema(self, text):
        tool = self.python("schema", text, "\n\n", ECHO)
        given = {"file_path": "a.txt", "content": "b"}
        self.assertEqual(self.good(tool, given)["params"],
                         {**given, "timeout": 120, "mode": "overwrite"})
        given.update(timeout=7, mode="append")
        self.assertEqual(self.good(tool, given)["params"], given)
        self.bad(tool, {}, "Missing required parameters: file_path, content")
        self.bad(tool, {**given, "mode": "other"}, "mode: must be one of")
        self.bad(tool, {**given, "timeout": "soon"}, "timeout: expected int")
        if FUSE:
            self.assertEqual(self.facts(tool, "schema.json")["required"], ["file_path", "content"])

    def layers(self, path, signed=False):
        """A configuration file in all three spaces; each says who it is."""
        for space, base in (("system", self.system), ("user", self.user), ("project", self.project)):
            name = os.path.join(base, ".ai/config", path)
            os.makedirs(os.path.dirname(name), exist_ok=True)
            with open(name, "w", encoding="utf-8") as stream:
                stream.write("who: %s\ndeep: {%s: 1, last: %s}\n" % (space, space, space))
            if signed:
                signer.write_keys(self.user, KEY, False)
                signer.sign(KEY, base, "config/" + path)

    def resolved(self, tool):
        """What the three files say of it; the bundle has files of the same names."""
        def own(config):
            return {key: value for key, value in config.items() if key in ("who", "deep")}
        config = self.good(tool, {})["params"]["resolved_config"]
        if "who" in config:
            return own(config)
        return {path: own(value) for path, value in config.items()}

    merged = {"who": "project", "deep": {"system": 1, "user": 1, "project": 1, "last": "project"}}

    @sample("CONFIG_RESOLVE")
    def test_config_resolve(self, text):
        deep = self.python("deep", text, "\n\n", ECHO)
        first = self.python("first", text.replace('"deep_merge",           #', '"first_match", #'),
                            "\n\n", ECHO)
        script = ("export const __version__ = '1.0.0';\nexport const __tool_type__ = 'javascript';\n"
                  "export const __executor_id__ = 'node/node';\n"
                  "export const __category__ = 'category/path';\n"
                  "export const __tool_description__ = 'd';\n"
                  "export const " + text.replace("#", "//") +
                  "export default (params) => ({ success: true, params });\n")
        self.tool("category/path/other.mjs", script)
        self.layers("web/websearch.yaml")
        self.assertEqual(self.resolved(deep), self.merged)
        self.assertEqual(self.good(first, {})["params"], {"resolved_config": {
            "who": "project", "deep": {"project": 1, "last": "project"}}})
        self.need_node(self.ask("category/path/other", {}))
        self.assertEqual(self.resolved("category/path/other"), self.merged)

    @sample("CONFIG_RESOLVE/2")
    def test_config_resolve_of_several_files(self, text):
        tool = self.python("several", text, "\n\n", ECHO)
        # what is below agent/ decides about authority: an unsigned one is not taken
        self.layers("agent/agent.yaml")
        self.layers("agent/coordination.yaml", signed=True)
        self.bad(tool, {}, "Unsigned item: %s/.ai/config/agent/agent.yaml" % self.system)
        self.layers("agent/agent.yaml", signed=True)
        self.assertEqual(self.resolved(tool), {
            "agent/agent.yaml": self.merged, "agent/coordination.yaml": self.merged})

    def one_of(self, name, lines, before):
        """An execute() that returns as line params["n"] says."""
        body = "def execute(params, project_path):\n" + before
        for i, line in enumerate(lines):
            body += "    if params['n'] == %d:\n        %s\n" % (i, line)
        return self.python(name, body)

    @sample("Return Dict Format")
    def test_return_dict_success(self, text):
        tool = self.one_of("returns", text.splitlines(),
                           "    result, output = {'a': [1]}, 'printed'\n")
        for i, want in enumerate((
                {"success": True, "output": {"a": [1]}},
                {"success": True, "data": {"key": "value"}, "file_path": "relative/path"},
                {"success": True, "stdout": "printed", "exit_code": 0})):
            self.assertEqual(self.good(tool, {"n": i}), want)

    @sample("Return Dict Format/2")
    def test_return_dict_error(self, text):
        tool = self.one_of("fails", text.splitlines(), "    e = ValueError('no such thing')\n")
        reply = self.bad(tool, {"n": 0}, "")
        self.assertEqual(reply["error"], "Human-readable error message")
        self.assertEqual(reply["data"], {"success": False, "error": "Human-readable error message"})
        reply = self.bad(tool, {"n": 1}, "")
        self.assertEqual(reply["error"], "no such thing")
        self.assertEqual(reply["data"]["exit_code"], 1)

    @sample("Standard Pattern", "CONFIG_SCHEMA")
    def test_standard_pattern(self, text, schema):
        tool = self.python("pattern", "from pathlib import Path\n\n", schema,
                           "\n\ndef do_something(path):\n    return path.read_text()\n\n\n", text)
        self.put("docs/a.txt", "words")
        for path in ("docs/a.txt", self.path("docs/a.txt"), "docs/../docs/a.txt"):
            self.assertEqual(self.good(tool, {"file_path": path, "content": ""}),
                             {"success": True, "output": "words"})
        for path in ("/etc/passwd", "../user/x", "docs/../../place"):
            self.bad(tool, {"file_path": path, "content": ""},
                     "Path is outside the project workspace")
        self.bad(tool, {"file_path": "docs/none", "content": ""}, "No such file or directory")

    @sample("Async Support")
    def test_async_support(self, text):
        before = ("import asyncio\n\n\nasync def async_operation(url):\n"
                  "    await asyncio.sleep(0)\n    return {'from': url}\n\n\n")
        tool = self.python("waits", before, text)
        self.assertEqual(self.good(tool, {"url": "http://localhost/"}),
                         {"success": True, "data": {"from": "http://localhost/"}})

    @sample("CLI Fallback", "Required Structure")
    def test_cli_fallback(self, text, structure):
        answer = "result = [params['param_name'], project_path]"
        body = structure.replace("# Implementation", answer).partition("CONFIG_SCHEMA")[2]
        parts = ("import argparse\nimport json\n\nCONFIG_SCHEMA" + body + "\n\n", text)
        program = self.python("program", *parts, executor=PROGRAM)
        want = {"success": True, "data": ["x y", self.project]}
        self.assertEqual(self.good(program, {"param_name": "x y"}), want)
        self.assertEqual(self.ask(program, {"param_name": "x y"})["chain"][1], PROGRAM)
        self.bad(program, {}, "Missing required parameters: param_name")
        # as a function the block does not run, and the tool is the same
        self.tool("category/path/function.py",
                  harness.read(self.path(".ai/tools", program + ".py")).replace(PROGRAM, FUNCTION))
        self.assertEqual(self.execute("category/path/function", {"param_name": "x y"})["data"], want)
        # and by hand, from the project and out of the mount
        for top in (self.path(".ai"),) + ((self.at,) if FUSE else ()):
            done = subprocess.run(
                [sys.executable, "%s/tools/%s.py" % (top, program), "--params",
                 '{"param_name": "x y"}', "--project-path", self.project],
                capture_output=True, text=True, timeout=30)
            self.assertEqual(done.stdout, '{"success": true, "data": ["x y", "%s"]}\n' % self.project)

    @sample("Class-Based Python Tool (Runtime)")
    def test_class_based_python_tool(self, text):
        # rule 1 of the page wants five names, the block has four: signing says so
        self.refused_at_signing("sinks/file-sink.py", text, "Missing required field: description")
        self.tool("sinks/file-sink.py", text.replace(
            "\n\n", '\n__tool_description__ = "Append streaming events to file"\n\n', 1))
        # nothing of that name runs anything: it is for others to use
        self.bad("sinks/file-sink", {}, "Executor not found: python")


class Yaml(Place):
    def yaml(self, *parts):
        self.tool(TOOL + ".yaml", YAML_HEAD + "".join(parts))

    def params(self, given):
        return self.good(TOOL, given)["params"]

    def meta(self):
        return self.facts(TOOL, "info.json")["meta"]

    @sample("Standard YAML Tool")
    def test_standard_yaml_tool(self, text):
        said = self.tool(TOOL + ".yaml", text)
        self.assertIn("is short for 'category/path/tool_name'", said)
        self.bad(TOOL, {}, "Missing required parameters: param_name")
        reply = self.bad(TOOL, {"param_name": "x"}, "needs config.script or config.command")
        self.assertEqual(reply["chain"], [TOOL, PROGRAM, EXECUTE])

    @sample("Standard YAML Tool")
    def test_standard_yaml_tool_with_a_program(self, text):
        self.tool(TOOL + ".yaml", text + SCRIPT.partition("config:\n")[2])
        self.assertEqual(self.params({"param_name": "x"}),
                         {"param_name": "x", "optional_param": 10})
        self.bad(TOOL, {"param_name": "x", "optional_param": "y"}, "optional_param: expected int")

    @sample("Standard YAML Tool")
    def test_standard_yaml_tool_with_a_command(self, text):
        self.tool(TOOL + ".yaml", text + "  command: echo\n"
                  '  args: ["{key}", "{param_name}", "{optional_param}"]\n')
        self.assertEqual(self.good(TOOL, {"param_name": "{key} $HOME"})["stdout"],
                         "value {key} $HOME 10\n")

    @sample("requires — Capability Declarations")
    def test_requires(self, text):
        self.yaml(text, "config:\n  script: |\n    import socket\n"
                  "    open('made', 'w').write('here'); socket.socket().close()\n"
                  "    print('{\"success\": true}')\n")
        self.assertEqual(self.good(TOOL, {}), {"success": True})
        self.assertEqual(self.get("made"), b"here")
        if FUSE:
            self.assertEqual(self.meta()["requires"], [
                "rye.execute.spawn.thread", "rye.execute", "fs.write", "shell.execute", "net.http"])

    @sample("requires — Capability Declarations")
    def test_requires_without_writing(self, text):
        self.yaml(text.replace("  - fs.write\n", ""), "config:\n  script: |\n"
                  "    open('made', 'w')\n")
        reply = self.ask(TOOL, {})
        if reply["status"] == "success":
            self.skipTest("no sandbox here: " + str(reply.get("warnings")))
        self.assertFalse(os.path.exists(self.path("made")))

    @sample("parameters — YAML Parameter Specs")
    def test_parameters(self, text):
        self.yaml(text, SCRIPT)
        self.assertEqual(self.params({"service_name": "web"}), {"service_name": "web", "replicas": 3})
        self.assertEqual(self.params({"service_name": "web", "replicas": 10})["replicas"], 10)
        self.bad(TOOL, {}, "Missing required parameters: service_name")
        self.bad(TOOL, {"service_name": "web", "replicas": 0}, "replicas: must be >= 1, got 0")
        self.bad(TOOL, {"service_name": "web", "replicas": 11}, "replicas: must be <= 10, got 11")

    @sample("input_schema — Full JSON Schema")
    def test_input_schema(self, text):
        self.yaml(text, SCRIPT)
        self.assertEqual(self.params({"service_name": "web-1", "replicas": 2}),
                         {"service_name": "web-1", "replicas": 2})
        self.bad(TOOL, {}, "Missing required parameters: service_name")
        self.bad(TOOL, {"service_name": "we"}, "Invalid parameters: service_name: ")
        self.bad(TOOL, {"service_name": "Web"}, "service_name: does not match pattern")
        self.bad(TOOL, {"service_name": "web", "replicas": 11}, "replicas: must be <= 10")
        self.bad(TOOL, {"service_name": "web", "x": 1},
                 "Unknown parameters: x. Valid parameters: service_name, replicas")

    @sample("output_schema")
    def test_output_schema(self, text):
        self.yaml(text, "config:\n  script: |\n    import sys; print(sys.stdin.read())\n")
        fits = {"success": True, "deployment_id": "0a-f1", "status": "success"}
        self.assertNotIn("warnings", self.ask(TOOL, fits))
        for wrong in ({"deployment_id": "XYZ"}, {"status": "odd"}):
            reply = self.ask(TOOL, {**fits, **wrong})
            self.assertEqual(reply["status"], "success")
            self.assertIn("output_schema", str(reply["warnings"]))
        self.assertIn("output_schema", str(self.ask(TOOL, {"success": True})["warnings"]))

    @sample("retry_policy")
    def test_retry_policy(self, text):
        # fails as often as the file has bytes: waits one second, then two
        self.yaml(text, "config:\n  command: /bin/sh\n  args:\n    - -c\n"
                  "    - 'test ! -s left || { truncate -s -1 left; exit 1; }'\n")
        for way, failures in zip(self.ways(), (2, 1)):
            self.put("left", b"x" * failures)
            reply = way(TOOL, {})
            self.assertEqual((reply["status"], reply["metadata"]["attempts"]),
                             ("success", failures + 1))

    @sample("cost")
    def test_cost(self, text):
        self.yaml(text, SCRIPT)
        self.assertEqual(self.ask(TOOL, {})["cost_estimate"], {
            "per_invocation": 0.01, "per_minute": 0.05, "estimated_duration": 60,
            "currency": "USD"})

    @sample("config — Tool-Specific Configuration")
    def test_config_of_a_subprocess(self, text):
        self.put("deploy.py", REPORT)
        for executor in (PROGRAM, "python_runtime", "subprocess"):
            with self.subTest(executor):
                name = "category/path/tool-" + executor.rpartition("/")[2].replace("_", "-")
                head = YAML_HEAD.replace(PROGRAM, executor).replace(
                    "category/tool_name", name.rpartition("/")[2])
                self.tool(name + ".yaml", head + text + "  input_data: '{params_json}'\n")
        for executor in ("script", "python-runtime", "subprocess"):
            self.assertEqual(self.good("category/path/tool-" + executor, {"a": 1}), {
                "success": True, "argv": [], "params": {"a": 1},
                "env": {"KUBECONFIG": "/etc/kubernetes/config", "LOG_LEVEL": "INFO"}})

    @sample("config — Tool-Specific Configuration/2")
    def test_config_of_a_container(self, text):
        # a stand-in for the client says what it was asked
        client = os.path.join(self.bin, "docker")
        with open(client, "w", encoding="utf-8") as stream:
            stream.write("#!/usr/bin/python3\nimport json, os, sys\n"
                         "argv = [word for word in sys.argv[1:] if not word.startswith('--name=ryefs-')]\n"
                         "print(json.dumps({'argv': argv, 'params': json.load(sys.stdin),"
                         " 'env': os.environ.get('KUBECONFIG')}))\n")
        os.chmod(client, 0o755)
        self.env["KUBECONFIG"] = "/my/config"
        self.tool(TOOL + ".yaml", YAML_HEAD.replace(PROGRAM, EXECUTE) + text)
        data = self.good(TOOL, {"a": "b c"})
        self.assertEqual(data["argv"], [
            "run", "--rm", "-i", "--entrypoint", "/app/deploy.py", "-e", "KUBECONFIG", "-e",
            "AWS_CREDENTIALS", "--", "python:3.11", "python"])
        self.assertEqual((data["params"], data["env"]), ({"a": "b c"}, "/my/config"))

    def test_container_of_a_real_client(self):
        """Where docker or podman answers and has an image; nothing is fetched for it."""
        client = shutil.which("docker") or shutil.which("podman")
        images = subprocess.run([client, "images", "-q"], capture_output=True, text=True,
                                timeout=60) if client else None
        if not images or images.returncode or not images.stdout:
            self.skipTest("no docker or podman that answers and has an image")
        self.tool(TOOL + ".yaml", YAML_HEAD.replace(PROGRAM, EXECUTE) + "config:\n"
                  "  image: %s\n  entrypoint: /bin/sh\n  command: -c\n"
                  "  args: ['cat; echo \" $GREETING\"']\n  env: {GREETING: hi}\n" % images.stdout.split()[0])
        self.assertEqual(self.good(TOOL, {"a": "b c"})["stdout"], '{"a": "b c"} hi\n')

    @sample("actions — Sub-Actions")
    def test_actions(self, text):
        self.yaml(text, SCRIPT)
        for given in ({"action": "deploy", "service_name": "web"},
                      {"action": "rollback", "deployment_id": "7"}):
            self.assertEqual(self.params(given), given)
        self.bad(TOOL, {"action": "deploy"}, "Missing required parameters: service_name")
        self.bad(TOOL, {"action": "rollback", "service_name": "web"},
                 "Missing required parameters: deployment_id")
        self.bad(TOOL, {"action": "other"}, "Unknown action: other. Valid: deploy, rollback")

    @sample("documentation", "metadata")
    def test_documentation_and_metadata(self, documentation, metadata):
        self.yaml(documentation, metadata, SCRIPT)
        self.assertEqual(self.params({}), {})
        if FUSE:
            meta = self.meta()
            self.assertEqual(meta["documentation"], {
                "url": "https://docs.example.com/tools/deploy",
                "examples": ["Deploy to production", "Scale service replicas"]})
            self.assertEqual(meta["metadata"], {
                "author": "platform-team", "maintainer": "ops@example.com", "deprecated": False,
                "experimental": False, "stability": "stable"})

    def peer(self, server, name="context7"):
        """The page's server, but a process of this machine."""
        script = os.path.join(harness.ROOT, "tests/e2e/mcp_server.py")
        head = server.partition("config:")[0].replace("context7", name)
        self.tool("mcp/servers/%s.yaml" % name, head + "config:\n  transport: stdio\n"
                  "  command: /usr/bin/python3\n  args: ['%s', '%s', modern]\n" % (
                      script, self.path("notes")))

    @sample("MCP Tool Definition (YAML)", "MCP Server Definition (YAML)")
    def test_mcp_tool_runs(self, tool, server):
        self.peer(server)
        self.tool("mcp/context7/query-docs.yaml", tool.replace("mcp/http", "mcp/stdio"))
        given = {"libraryId": "/a/b", "query": "how"}
        for way in self.ways():
            reply = way("mcp/context7/query-docs", given)
            self.assertEqual(reply["status"], "success", reply)
            self.assertEqual(reply["data"]["content"], [{"type": "text", "text": "/a/b: how"}])
            self.assertEqual(reply["chain"], ["mcp/context7/query-docs", "rye/core/runtimes/mcp/stdio",
                                              "rye/core/primitives/mcp"])
        self.bad("mcp/context7/query-docs", {"query": "how"}, "Missing required parameters: libraryId")

    @sample("MCP Tool Definition (YAML)", "MCP Server Definition (YAML)")
    def test_mcp_tool_over_http(self, tool, server):
        """As they stand, but that the server's address is one of this machine."""
        port, notes = self.path("port"), self.path("notes")
        os.mkdir(notes)
        peer = subprocess.Popen([sys.executable, os.path.join(
            harness.ROOT, "tests/e2e/mcp_peer.py"), port, notes], stderr=subprocess.DEVNULL)
        self.addCleanup(peer.wait)
        self.addCleanup(peer.kill)
        until = time.monotonic() + 20
        while not os.path.exists(port) and time.monotonic() < until:
            time.sleep(0.01)
        self.tool("mcp/context7/query-docs.yaml", tool)
        given = {"libraryId": "/a/b", "query": "how"}
        for era in ("legacy", "modern"):
            address = "http://127.0.0.1:%s/%s" % (harness.read(port).strip(), era)
            self.tool("mcp/servers/context7.yaml", server.replace("https://mcp.context7.com/mcp", address))
            for way in self.ways():
                reply = way("mcp/context7/query-docs", given)
                self.assertEqual(reply["status"], "success", reply)
                self.assertEqual(reply["chain"][1:], ["rye/core/runtimes/mcp/http", "rye/core/primitives/mcp"])
            calls = [json.loads(line)["body"] for line in harness.read(os.path.join(notes, era)).splitlines()]
            calls = [call["params"] for call in calls if call and call.get("method") == "tools/call"]
            self.assertEqual([(call["name"], call["arguments"]) for call in calls],
                             [("query-docs", given)] * len(self.ways()))

    @sample("config — Tool-Specific Configuration/3", "MCP Tool Definition (YAML)",
            "MCP Server Definition (YAML)")
    def test_config_of_an_mcp_tool(self, text, tool, server):
        self.peer(server)
        head, _, schema = tool.partition("config:")
        schema = schema[schema.index("input_schema:"):]
        self.tool("mcp/context7/resolve.yaml", head.replace("mcp/http", "mcp/stdio") + text + schema)
        for way in self.ways():
            reply = way("mcp/context7/resolve", {"libraryId": "a", "query": "b"})
            # the server has no tool of that name, and says so
            self.assertEqual(reply["status"], "error", reply)
            self.assertIn("resolve-library-id", reply["error"])

    @sample("MCP Tool Definition (YAML)", "MCP Server Definition (YAML)")
    def test_mcp_definitions(self, tool, server):
        self.tool("mcp/context7/query-docs.yaml", tool)
        self.tool("mcp/servers/context7.yaml", server)
        self.rye("verify", "tool:mcp/context7/query-docs", "tool:mcp/servers/context7")
        self.bad("mcp/context7/query-docs", {}, "")
        self.bad("mcp/servers/context7", {}, "Tool has no executor_id: mcp/servers/context7")
        if FUSE:
            self.assertEqual(self.facts("mcp/context7/query-docs", "schema.json")["required"],
                             ["libraryId", "query"])


class Languages(Place):
    @sample("JavaScript / TypeScript Tool Example")
    def test_typescript(self, text):
        self.tool("utility/hello_node.ts", text)
        self.bad("utility/hello_node", {}, "Missing required parameters: name")
        reply = self.ask("utility/hello_node", {"name": "Ann"})
        self.need_node(reply)
        self.assertEqual(reply["data"], {"success": True, "output": "Hello, Ann!"})
        self.assertEqual(reply["chain"],
                         ["utility/hello_node", "rye/core/runtimes/node/node", EXECUTE])

    @sample("JavaScript / TypeScript Tool Example")
    def test_supported_languages(self, text):
        """A row of the table each, with the short name of the executor that it gives."""
        head = HEAD.replace('"category/path"', '"lang"')
        script = text.replace("utility", "lang").replace("rye/core/runtimes/", "")
        plain = script.replace(": Record<string, unknown>", "")
        common = plain.replace("export const", "const").replace(
            "export default main", "module.exports = { default: main }")
        shell = head.replace('"""', "# ").replace("\n__", "\n# __").replace(FUNCTION, "subprocess")
        rows = {
            "a.py": head.replace(FUNCTION, "python/function") + "\n\n" + ECHO,
            "b.py": head.replace(FUNCTION, "python/script") + "\n\n" + REPORT,
            "c.yaml": YAML_HEAD.replace(PROGRAM, "python/script").replace(
                "category/tool_name", "c").replace("category/path", "lang") + SCRIPT,
            "d.yml": YAML_HEAD.replace(PROGRAM, "python/script").replace(
                "category/tool_name", "d").replace("category/path", "lang") + SCRIPT,
            "e.sh": shell + "\n\necho '{\"success\": true, \"params\": '\"$(cat)\"'}'\n",
            "f.ts": script, "g.mjs": plain, "h.js": plain, "i.cjs": common,
        }
        for name, source in rows.items():
            self.tool("lang/" + name, source)
        for name in "abcde":
            with self.subTest(name):
                self.assertEqual(self.good("lang/" + name, {"k": "v"})["params"], {"k": "v"})
        for name in "fghi":
            with self.subTest(name):
                reply = self.ask("lang/" + name, {"name": "Bo"})
                self.need_node(reply)
                self.assertEqual(reply["data"], {"success": True, "output": "Hello, Bo!"})

    def test_toml_is_configuration_only(self):
        self.tool("lang/t.toml", 'tool_id = "t"\ntool_type = "library"\nversion = "1.0.0"\n'
                  'category = "lang"\ndescription = "d"\n[config]\nkey = "value"\n')
        self.bad("lang/t", {}, "Tool has no executor_id: lang/t")

    @sample("Tool Resolution", "MCP Tool Definition (YAML)")
    def test_tool_resolution(self, text, mcp):
        self.tool("mcp/context7/query-docs.yaml", mcp)
        pairs = [part.split('"\n  → ') for part in text.strip().split("\n\n")]
        self.assertEqual(len(pairs), 3)
        for item, path in pairs:
            item = item.partition('"')[2]
            found = [base for base in (self.project, BUNDLE)
                     if os.path.exists(os.path.join(base, path))]
            self.assertEqual(len(found), 1, path)
            if FUSE:
                self.mount()
                self.assertTrue(os.path.exists(self.at + path.partition(".ai")[2]), path)
                self.assertTrue(os.path.exists("%s/tools/%s/run" % (self.at, item)))
        self.assertEqual(self.good("rye/bash/bash", {"command": "echo hi"})["stdout"], "hi\n")
        for way in self.ways():
            way("rye/file-system/write", {"file_path": "a/b.txt", "content": "text"})
            self.assertEqual(self.get("a/b.txt"), b"text")
            os.unlink(self.path("a/b.txt"))


class Page(unittest.TestCase):
    def test_no_block_is_left_out(self):
        self.assertEqual(left_over(), set(NO_TOOL))


if __name__ == "__main__":
    harness.main()
