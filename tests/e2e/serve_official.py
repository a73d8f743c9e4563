# SPDX-License-Identifier: MIT
"""`ryefs mcp` against other implementations' tools: the official conformance suite, the Inspector
and the official client in each era, over both transports.

They come from npm into a directory outside of the tree (`scripts/deps --test`, packages.json
below it); what is not there is skipped, for a test does not use the network."""

import glob
import json
import os
import subprocess
import unittest

from peer import LEGACY, MODERN, RYEFS, Http, Place, harness

CACHE = os.environ.get("RYE_NPM_DIR") or os.path.join(
    os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache"), "ryefs-npm")
MODULES = os.path.join(CACHE, "node_modules")
# the suite and the Inspector want node 22, which npm has, too
NODE = (glob.glob(MODULES + "/node-linux-*/bin/node") + ["node"])[0]
EXPECTED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "mcp_expected.yml")
# what the server has to pass of older revisions; of the newest it is all that is not in EXPECTED
OLDER = ("server-initialize", "ping", "tools-list", "dns-rebinding-protection",
         "server-sse-multiple-streams", "resources-list", "prompts-list")

CLIENT = """
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
const [era, ...command] = process.argv.slice(2);
const options = era === 'legacy' ? {} :
  { versionNegotiation: { mode: era === 'auto' ? 'auto' : { pin: era } } };
const client = new Client({ name: 'test', version: '1' }, options);
await client.connect(new StdioClientTransport({ command: command[0], args: command.slice(1), env: process.env }));
const tools = await client.listTools();
const prompts = await client.listPrompts();
const resources = await client.listResources();
const text = await client.readResource({ uri: 'rye://knowledge/sample/house-rules' });
const prompt = await client.getPrompt({ name: 'sample.welcome', arguments: { who: 'Zoe' } });
const call = await client.callTool({ name: 'rye_execute',
  arguments: { item_id: 'tool:sample/count-words', parameters: { text: 'to be' } } });
const bad = await client.callTool({ name: 'rye_execute', arguments: { item_id: 'tool:no/such' } });
await client.close();
console.log(JSON.stringify({ tools: tools.tools.map(tool => tool.name),
  prompts: prompts.prompts.map(p => p.name), resources: resources.resources.map(r => r.name),
  text: text.contents[0].text, prompt: prompt.messages[0].content.text,
  call: call.content[0].text, bad: bad.isError }));
"""


def package(name):
    path = os.path.join(MODULES, "@modelcontextprotocol", name)
    return unittest.skipUnless(os.path.isdir(path), "the npm package of the %s is not in %s" % (name, CACHE))


class Official(Place):
    def node(self, *words, status=0):
        env = {**self.env, "NO_COLOR": "1"}
        done = subprocess.run([NODE, *words], env=env, cwd=self.place, capture_output=True, text=True,
                              timeout=200, stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, status, done.stdout[-3000:] + done.stderr[-1000:])
        return done.stdout


@package("conformance")
class Mcp69(Official):
    def suite(self, *words):
        server = Http(self, "--token", "none")
        main = os.path.join(MODULES, "@modelcontextprotocol", "conformance", "dist", "index.js")
        self.node(main, "server", "--url", server.ready["url"], *words)
        self.assertEqual(server.stop(), 0)

    def test_mcp69_newest_revision(self):
        self.suite("--requirements", MODERN, "--expected-failures", EXPECTED)

    def test_mcp69_older_revision(self):
        for scenario in OLDER:
            with self.subTest(scenario):
                self.suite("--scenario", scenario, "--spec-version", LEGACY[0])


@package("inspector")
class Mcp70(Official):
    def inspect(self, era, target, *words):
        main = os.path.join(MODULES, "@modelcontextprotocol", "inspector", "clients", "launcher", "build", "index.js")
        return json.loads(self.node(main, "--cli", *target, "--protocol-era", era, *words))

    def three_eras(self, target, *headers):
        for era in ("modern", "auto", "legacy"):
            with self.subTest(era):
                tools = self.inspect(era, target, *headers, "--method", "tools/list")["tools"]
                self.assertEqual([tool["name"] for tool in tools], ["rye_execute", "rye_fetch"])
                called = self.inspect(era, target, *headers, "--method", "tools/call", "--tool-name", "rye_fetch",
                                      "--tool-arg", "item_id=knowledge:sample/house-rules")
                self.assertEqual(called["structuredContent"]["status"], "success")
                listed = self.inspect(era, target, *headers, "--method", "prompts/list")["prompts"]
                self.assertIn("sample.welcome", [prompt["name"] for prompt in listed])

    def test_mcp70_inspector_stdio(self):
        self.three_eras((RYEFS, "mcp", "--project", self.project))

    def test_mcp70_inspector_http(self):
        server = Http(self)
        self.three_eras((server.ready["url"], "--transport", "http"), "--header",
                        "Authorization: Bearer " + server.token)


@package("client")
class Client(Official):
    def test_official_client(self):
        os.symlink(MODULES, os.path.join(self.place, "node_modules"))
        with open(os.path.join(self.place, "client.mjs"), "w", encoding="utf-8") as file:
            file.write(CLIENT)
        for era in (MODERN, "auto", "legacy"):
            with self.subTest(era):
                said = json.loads(self.node("client.mjs", era, RYEFS, "mcp", "--project", self.project))
                self.assertEqual(said["tools"], ["rye_execute", "rye_fetch"])
                self.assertIn("sample.welcome", said["prompts"])
                self.assertIn("sample/house-rules", said["resources"])
                self.assertIn("# House rules", said["text"])
                self.assertIn("Greet Zoe in a friendly tone", said["prompt"])
                self.assertIn("2 words", said["call"])
                self.assertTrue(said["bad"])


if __name__ == "__main__":
    harness.main()
