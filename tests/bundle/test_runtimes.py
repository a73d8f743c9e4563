# SPDX-License-Identifier: MIT
"""The runtimes' loaders, run as the engine would run them."""

import json
import os
import py_compile
import shutil
import subprocess
import unittest

import harness

DUNDERS = '__version__ = "1.0.0"\n'
ECHO = DUNDERS + "def execute(params, project_path):\n    return {'success': True, 'params': params}\n"


class Function(harness.Case):
    def call(self, source, params=None, **more):
        path = self.put(".ai/tools/t/a.py", source)
        return harness.run("python/function", path, params or {}, self.project, **more)

    def result(self, source, params=None, **more):
        status, out, err = self.call(source, params, **more)
        self.assertEqual((status, err), (0, ""))
        return json.loads(out)

    def test_case_1_parameters(self):
        params = {"a": 1, "s": "x"}
        self.assertEqual(self.result(ECHO, params), {"success": True, "params": params})

    def verbatim(self, **params):
        self.assertEqual(self.result(ECHO, params)["params"], params)

    def test_case_4_environment_names(self):
        self.verbatim(v="${MYSECRET} ${NOPE} ${NOPE:-dflt} $HOME ${lower}")

    def test_case_5_braces(self):
        self.verbatim(a="{project_path}", b="}{project_path}", c="{tool_path} {input:x}")

    def test_odd_characters(self):
        self.verbatim(v="$(id)", u="ü\u2028\0")

    def test_case_6_none(self):
        self.assertEqual(self.call("def execute(p, q): pass")[1], "{}\n")

    def prints(self, value, text):
        self.assertEqual(self.call("def execute(p, q): return " + value), (0, text, ""))

    def test_case_7_list(self):
        self.prints("[1, 2]", "[1, 2]\n")

    def test_case_8_empty_list(self):
        self.prints("[]", "[]\n")

    def test_case_9_text(self):
        self.prints("'hi'", '"hi"\n')

    def test_case_10_noise(self):
        self.assertEqual(self.call("def execute(p, q):\n print('noise')\n return {}")[1], "noise\n{}\n")

    def test_case_11_exception(self):
        status, out, err = self.call("def execute(p, q): raise ValueError('bad')")
        self.assertEqual((status, out), (1, ""))
        self.assertIn("ValueError: bad", err)

    def test_case_12_exit(self):
        status, out, _ = self.call("def execute(p, q):\n print('{}')\n raise SystemExit(3)")
        self.assertEqual((status, out), (3, "{}\n"))

    def test_case_16_coroutine(self):
        source = "import asyncio\nasync def execute(p, q):\n await asyncio.sleep(0)\n return {'q': q}"
        self.assertEqual(self.result(source), {"q": self.project})
        source = ("import functools\nasync def f(a, p, q): return {'a': a}\n"
                  "execute = functools.partial(f, 7)")
        self.assertEqual(self.result(source), {"a": 7})

    def test_case_17_no_execute(self):
        status, out, err = self.call("x = 1")
        path = self.path(".ai/tools/t/a.py")
        self.assertEqual((status, out, err), (1, "", "No execute() in %s\n" % path))

    def test_case_18_odd_values(self):
        out = self.call("def execute(p, q): return {'n': float('nan'), 's': {1}, 'b': b'x'}")[1]
        self.assertEqual(out, '{"n": NaN, "s": "{1}", "b": "b\'x\'"}\n')

    def test_case_19_name_and_argv(self):
        source = ("import sys\ndef execute(p, q):\n return {'name': __name__, 'argv': sys.argv,\n"
                  "  'known': 'tool' in sys.modules, 'file': __file__}")
        path = self.path(".ai/tools/t/a.py")
        self.assertEqual(self.result(source), {
            "name": "tool", "argv": ["-c", path, self.project], "known": False, "file": path,
        })

    def test_verified_bytes_win_over_the_path(self):
        path = self.put(".ai/tools/t/a.py", ECHO)
        bytes_now = harness.read
        try:
            harness.read = lambda name: bytes_now(name).replace("params}", "3}")
            out = harness.run("python/function", path, {}, self.project)[1]
        finally:
            harness.read = bytes_now
        self.assertEqual(json.loads(out)["params"], 3)
        self.assertEqual(json.loads(self.call(ECHO, by_path=True)[1])["params"], {})

    def test_descriptor_is_not_told(self):
        source = "import os\ndef execute(p, q): return {'fd': os.environ.get('RYE_TOOL_FD')}"
        self.assertEqual(self.result(source), {"fd": None})

    def test_nothing_beside_the_tool_is_importable(self):
        self.put(".ai/tools/t/helper.py", "x = 1")
        self.put("helper.py", "x = 2")
        self.assertIn("No module named 'helper'", self.call("import helper")[2])

    def test_lent_modules(self):
        env = {"RYE_MODULE_lent": "x = 7", "RYE_MODULE_more": "from lent import x"}
        source = ("import os, more\ndef execute(p, q): return {'x': more.x, 'left': "
                  "[name for name in os.environ if name.startswith('RYE_MODULE')]}")
        self.assertEqual(self.result(source, env=env), {"x": 7, "left": []})
        self.assertIn("No module named 'other'", self.call("import other", env=env)[2])

    def test_case_69_anchor(self):
        self.put(".ai/tools/t/helper.py", "x = 1")
        anchor = self.path(".ai/tools/t")
        env = {"RYE_ANCHOR": anchor, "PYTHONPATH": anchor}
        source = "import helper\ndef execute(p, q): return {'x': helper.x}"
        self.assertEqual(self.result(source, env=env), {"x": 1})

    def test_anchor_of_two_directories(self):
        self.put(".ai/tools/t/helper.py", "x = 1")
        lent = self.put("lib/lent.py", "x = 666")
        os.utime(lent, (1000, 1000))
        py_compile.compile(lent, doraise=True)
        self.put("lib/lent.py", "x = 222")
        os.utime(lent, (1000, 1000))
        both = self.path(".ai/tools/t") + ":" + self.path("lib")
        source = "import helper, lent\ndef execute(p, q): return {'x': [helper.x, lent.x]}"
        self.assertEqual(self.result(source, env={"RYE_ANCHOR": both, "PYTHONPATH": both}),
                         {"x": [1, 222]})

    def test_anchor_takes_no_bytecode(self):
        helper = self.put(".ai/tools/t/helper.py", "x = 666")
        os.utime(helper, (1000, 1000))
        py_compile.compile(helper, doraise=True)
        self.put(".ai/tools/t/helper.py", "x = 111")
        os.utime(helper, (1000, 1000))
        sly = self.put(".ai/tools/t/sly.py", "x = 1")
        py_compile.compile(sly, cfile=self.path(".ai/tools/t/sly.pyc"), doraise=True)
        os.unlink(sly)
        anchor = self.path(".ai/tools/t")
        env = {"RYE_ANCHOR": anchor, "PYTHONPATH": anchor}
        source = "import helper\ndef execute(p, q): return {'x': helper.x}"
        self.assertEqual(self.result(source, env=env), {"x": 111})
        self.assertIn("No module named 'sly'", self.call("import sly", env=env)[2])


class Script(harness.Case):
    SOURCE = ("import json, sys\nprint(json.dumps({'argv': sys.argv, 'in': sys.stdin.read(),"
              " 'name': __name__, 'file': __file__}))\n")
    STRICT = ("import argparse, json\np = argparse.ArgumentParser()\n"
              "p.add_argument('--params', required=True)\n"
              "p.add_argument('--project-path', required=True)\na = p.parse_args()\n"
              "print(json.dumps({'p': json.loads(a.params), 'q': a.project_path}))\n")

    def call(self, source, params=None, **more):
        path = self.put(".ai/tools/t/s.py", source)
        return harness.run("python/script", path, params or {}, self.project, **more)

    def test_case_20_argv_and_stdin(self):
        status, out, _ = self.call(self.SOURCE, {"a": 1})
        path = self.path(".ai/tools/t/s.py")
        self.assertEqual(status, 0)
        self.assertEqual(json.loads(out), {
            "argv": [path, "--project-path", self.project], "in": '{"a": 1}',
            "name": "__main__", "file": path,
        })

    def test_case_21_params_argument(self):
        status, out, _ = self.call(self.STRICT, {"b": "ü"})
        self.assertEqual((status, json.loads(out)), (0, {"p": {"b": "ü"}, "q": self.project}))

    def test_exit_status_and_traceback(self):
        self.assertEqual(self.call("raise SystemExit(4)")[0], 4)
        self.assertIn("ZeroDivisionError", self.call("1 / 0")[2])

    def test_sibling_is_not_importable(self):
        self.put(".ai/tools/t/helper.py", "x = 1")
        self.assertIn("No module named 'helper'", self.call("import helper")[2])

    def test_script_text_of_a_yaml_tool(self):
        text = "import sys; print(sys.argv[1:], sys.stdin.read())"
        out = harness.run("python/script", "", {"k": 1}, self.project, script=text)[1]
        self.assertEqual(out, "['--project-path', '%s'] {\"k\": 1}\n" % self.project)


class Bash(harness.Case):
    def test_case_54_command(self):
        out = harness.run("bash/bash", "", {}, self.project, script="echo hi")[1]
        self.assertEqual(out, "hi\n")

    def test_case_55_json_is_no_script(self):
        params = {"command": "$(touch %s)" % self.path("X"), "other": "$(touch %s)" % self.path("Y")}
        harness.run("bash/bash", "", params, self.project, script=params["command"])
        self.assertTrue(os.path.exists(self.path("X")))
        self.assertFalse(os.path.exists(self.path("Y")))

    def test_case_56_sh_tool(self):
        path = self.put(".ai/tools/t/a.sh", '#!/bin/bash\necho "$0 $*"; cat; echo; echo "$RYE_PARAMS"\n')
        out = harness.run("bash/bash", path, {"a": 1}, self.project)[1]
        self.assertEqual(out, "%s --project-path %s\n{\"a\": 1}\n{\"a\": 1}\n" % (path, self.project))

    def test_arguments_of_a_command(self):
        tool = self.path("t.yaml")
        out = harness.run("bash/bash", tool, {}, self.project, script='echo "$0 $1"')[1]
        self.assertEqual(out, "%s %s\n" % (tool, self.project))


@unittest.skipUnless(shutil.which("node"), "node is not installed")
class Node(harness.Case):
    def call(self, name, source, params=None, **env):
        path = self.put(".ai/tools/t/" + name, source)
        return harness.run("node/node", path, params or {}, self.project, env=env)

    def result(self, name, source, params=None, **env):
        status, out, err = self.call(name, source, params, **env)
        self.assertEqual((status, err), (0, ""))
        return json.loads(out)

    def test_default_export(self):
        for name in ("a.js", "a.mjs"):
            self.assertEqual(
                self.result(name, "export default async (p, q) => ({ p, q })", {"n": "ü"}),
                {"p": {"n": "ü"}, "q": self.project})

    def test_named_execute(self):
        self.assertEqual(self.result("a.js", "export function execute(p) { return p }", {"n": 1}), {"n": 1})

    def test_common_js(self):
        source = "#!/usr/bin/env node\nmodule.exports = (p) => ({ p, main: require.main === module })"
        for name in ("c.js", "c.cjs"):
            self.assertEqual(self.result(name, source, {"n": 1}), {"p": {"n": 1}, "main": True})
        source = "exports.execute = () => ({ eol: require('os').EOL })"
        self.assertEqual(self.result("c.js", source), {"eol": "\n"})

    def test_program(self):
        source = ("let s = ''; process.stdin.on('data', (d) => { s += d }).on('end', () =>"
                  " console.log(JSON.stringify({ s, argv: process.argv.slice(1) })))")
        path = self.path(".ai/tools/t/p.js")
        self.assertEqual(self.result("p.js", source, {"a": 1}),
                         {"s": '{"a": 1}', "argv": [path, "--project-path", self.project]})

    def test_nothing_returned(self):
        self.assertEqual(self.result("a.js", "export default () => undefined"), {})

    def test_failures(self):
        status, _, err = self.call("a.js", "export default () => { throw new Error('bad') }")
        self.assertEqual(status, 1)
        self.assertIn("Error: bad", err)
        status, _, err = self.call("a.mjs", "export const run = () => 1")
        self.assertEqual((status, err),
                         (1, "No default export or execute() in %s\n" % self.path(".ai/tools/t/a.mjs")))

    def test_open_handles_do_not_hold_the_reply(self):
        source = "export default () => { setInterval(() => 0, 1000); return { done: true } }"
        self.assertEqual(self.result("a.js", source), {"done": True})

    def test_unsigned_neighbours(self):
        self.put(".ai/tools/t/h.mjs", "export default 1")
        self.put(".ai/tools/t/h.cjs", "module.exports = 1")
        for name, source in (("a.mjs", "import './h.mjs'"), ("a.cjs", "require('./h.cjs')"),
                             ("b.mjs", "await import('./h.mjs')"),
                             ("b.cjs", "import('./h.mjs').then(() => console.log(1))")):
            status, out, err = self.call(name, source + "; export default () => 1"
                                         if name.endswith("mjs") else source)
            self.assertEqual((status, out), (1, ""), name)
            self.assertIn("not importing unsigned code", err)

    def test_anchor(self):
        self.put(".ai/tools/t/h.mjs", "import self from './a.js'; export const late = () => self; export default 1")
        self.put(".ai/tools/t/h.cjs", "module.exports = { two: 2 }")
        self.put(".ai/tools/t/h.json", '{"three": 3}')
        source = ("import one from './h.mjs'; import c, { two } from './h.cjs';"
                  "import j from './h.json'; import { sep } from 'node:path';"
                  "export default () => ({ one, two, c, three: j.three, sep })")
        self.assertEqual(self.result("a.js", source, RYE_ANCHOR=self.path(".ai/tools/t")),
                         {"one": 1, "two": 2, "c": {"two": 2}, "three": 3, "sep": "/"})

    def test_node_modules_need_venv(self):
        self.put(".ai/tools/t/node_modules/pk/package.json", '{"name": "pk", "main": "i.js"}')
        self.put(".ai/tools/t/node_modules/pk/i.js", "module.exports = 'PK'")
        env = {"RYE_ANCHOR": self.path(".ai/tools/t")}
        for name, source in (("a.js", "import pk from 'pk'; export default () => ({ pk })"),
                             ("a.cjs", "const pk = require('pk'); module.exports = () => ({ pk })")):
            self.assertIn("node_modules is used only", self.call(name, source, **env)[2])
            opened = {**env, "RYE_NODE_MODULES": self.path(".ai/tools/t/node_modules")}
            self.assertEqual(self.result(name, source, **opened), {"pk": "PK"})

    def test_typescript_by_a_package(self):
        """Stand-ins for those that a project may have; which of them is asked, and how."""
        if self.node_strips():
            self.skipTest("node strips types itself")
        source = "export const x: string = 'a';\nexport default () => ({ x });"
        packages = {
            "typescript": "exports.ModuleKind = { ESNext: 99 }; exports.ScriptTarget = { ES2020: 7 };"
                          "exports.transpileModule = (text, how) => ({ outputText: text.replace("
                          "': string', '').replace('a', how.compilerOptions.module) });",
            "esbuild": "exports.transformSync = (text, how) => ({ code: text.replace(': string', '')"
                       ".replace('a', how.loader + how.format) });",
        }
        for place, name, want in (("typescript", "typescript", "99"), ("esbuild", "esbuild", "tsesm"),
                                  ("tsx/node_modules/esbuild", "esbuild", "tsesm")):
            top = self.path("n-" + place.replace("/", "-"))
            self.put(os.path.join(top, place, "index.js"), packages[name])
            self.assertEqual(self.result("a.ts", source, RYE_NODE_MODULES=top), {"x": want}, place)

    def node_strips(self):
        done = subprocess.run(["node", "-e", "process.exit(require('module').stripTypeScriptTypes ? 0 : 1)"])
        return done.returncode == 0

    def test_typescript(self):
        source = ("function main(params: Record<string, unknown>) {\n"
                  "  return { success: true, output: `Hello, ${params.name}!` };\n}\n"
                  "export default main;\n")
        status, out, err = self.call("h.ts", source, {"name": "Bob"})
        if "TypeScript needs" in err:
            self.assertEqual(status, 1)
            self.skipTest("nothing here strips types")
        self.assertEqual(json.loads(out), {"success": True, "output": "Hello, Bob!"})


if __name__ == "__main__":
    harness.main()
