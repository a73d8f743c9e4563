# SPDX-License-Identifier: MIT
"""What the tests of the bundle share: the engine's part of a call, played in Python.

`run` starts a tool as its runtime's YAML says (arguments, loader, standard input, verified
bytes on a descriptor, a process group of its own); `load` gives execute() itself, for tests
that call it often. Results are written as TAP."""

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOOLS = os.path.join(ROOT, ".ai", "tools")
RUNTIMES = "rye/core/runtimes/"
INTERPRETERS = {"${RYE_PYTHON}": sys.executable, "${RYE_NODE}": "node"}
LIBRARY = os.path.join(TOOLS, RUNTIMES, "python/lib")
PASSED_ON = ("PATH", "HOME", "LANG", "TMPDIR")


def read(path):
    with open(path, encoding="utf-8") as stream:
        return stream.read()


def tool_file(tool):
    return os.path.join(TOOLS, tool + ".py")


def search_path(path):
    """Directories that a package's tool (an anchor's) finds modules in: its own and the library."""
    here = os.path.dirname(path)
    return [here, LIBRARY] if os.path.exists(os.path.join(here, "__init__.py")) else []


def lent():
    """What the runtime lends to any other tool, in the environment."""
    names = re.findall(r"\w+(?=\.py)", re.search(r"(?m)^  modules: (.*)$", Runtime("python/function").text)[1])
    return {"RYE_MODULE_" + name: read(os.path.join(LIBRARY, name + ".py")) for name in names}


def load(tool):
    """The module of a Python tool, made the way the loader makes it."""
    path = tool_file(tool)
    sys.dont_write_bytecode = True
    sys.path[:0] = [entry for entry in search_path(path) or [LIBRARY] if entry not in sys.path]
    module = type(sys)("tool")
    module.__file__ = path
    exec(compile(read(path), path, "exec", dont_inherit=True), module.__dict__)
    return module


class Runtime:
    """As much of a runtime's YAML as a call needs: command, two lists and the loader."""

    def __init__(self, name):
        self.text = read(os.path.join(TOOLS, RUNTIMES + name + ".yaml"))
        self.command = self.find(r"^  command: ([^\n]*)$").strip('"')
        self.args = self.list_of("args")
        self.inline_args = self.list_of("inline_args")
        loader = self.text.partition("\n  loader: |\n")[2]
        self.loader = re.sub(r"(?m)^    ", "", loader)

    def find(self, pattern):
        found = re.search(pattern, self.text, re.M | re.S)
        return found[1] if found else ""

    def list_of(self, key):
        return re.findall(r'"((?:[^"\\]|\\.)*)"', self.find(r"^  %s: \[(.*?)\]\n" % key))

    def argv(self, values, inline=False):
        argv = [INTERPRETERS.get(self.command, self.command)]
        for arg in self.inline_args if inline else self.args:
            if arg == "{params_arg}":
                argv += values.get(arg, [])
            elif arg in values:
                argv.append(values[arg])
            else:
                argv.append(re.sub(r"\{\w+\}", lambda m: values.get(m[0], m[0]), arg))
        return argv


def run(runtime, path, params, project, **more):
    """Run a tool in a process; (status, stdout, stderr). more: env, script, by_path."""
    it = Runtime(runtime)
    text = json.dumps(params)
    values = {"{loader}": it.loader, "{tool_path}": path, "{project_path}": project}
    if "script" in more:
        values["{command}"] = values["{script}"] = more["script"]
    elif "--params" in read(path):
        values["{params_arg}"] = ["--params", text]
    env = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    if path.startswith(TOOLS + os.sep) and search_path(path):
        env["RYE_ANCHOR"] = env["PYTHONPATH"] = ":".join(search_path(path))
    elif path.startswith(TOOLS + os.sep):
        env.update(lent())
    env.update(more.get("env", {}), RYE_PARAMS=text)
    source = None
    if "script" not in more and not more.get("by_path") and "source_fd:" in it.text:
        source = tempfile.TemporaryFile()
        source.write(read(path).encode("utf-8"))
        source.seek(0)
        env["RYE_TOOL_FD"] = str(source.fileno())
    try:
        done = subprocess.run(
            it.argv(values, inline="script" in more),
            input=text, capture_output=True, text=True, env=env, cwd=project, timeout=30,
            pass_fds=[source.fileno()] if source else [], start_new_session=True,
        )
    finally:
        if source:
            source.close()
    return done.returncode, done.stdout, done.stderr


class Case(unittest.TestCase):
    """A test with an empty project of its own."""

    def setUp(self):
        place = tempfile.TemporaryDirectory(prefix="ryefs-bundle-")
        self.addCleanup(place.cleanup)
        self.place = os.path.realpath(place.name)
        self.project = os.path.join(self.place, "project")
        os.makedirs(os.path.join(self.project, ".ai"))

    def path(self, *names):
        return os.path.join(self.project, *names)

    def put(self, name, content):
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        data = content if isinstance(content, bytes) else content.encode("utf-8")
        with open(path, "wb") as stream:
            stream.write(data)
        return path

    def get(self, name):
        with open(self.path(name), "rb") as stream:
            return stream.read()

    def refused(self, result, text):
        self.assertIs(result["success"], False)
        self.assertIn(text, result["error"])


class Tap(unittest.TestResult):
    """One TAP line a test."""

    def __init__(self):
        super().__init__()
        self.number = 0
        self.parted = None  # the last test of which a part has failed

    def tell(self, test, word, note=""):
        self.number += 1
        name = test.id().rpartition("__main__.")[2]
        print("%s %d - %s%s" % (word, self.number, name, note), flush=True)

    def explain(self, test, error):
        self.tell(test, "not ok")
        self.reason(test, error)

    def reason(self, test, error):
        for line in self._exc_info_to_string(error, test).splitlines():
            print("# " + line, flush=True)

    def addSubTest(self, test, subtest, error):
        """A test whose parts fail is told once, with each of the parts."""
        super().addSubTest(test, subtest, error)
        if error is None:
            return
        if test is not self.parted:
            self.tell(test, "not ok")
        self.parted = test
        print("# " + subtest._subDescription(), flush=True)
        self.reason(subtest, error)

    def addSuccess(self, test):
        super().addSuccess(test)
        self.tell(test, "ok")

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self.explain(test, error)

    def addError(self, test, error):
        super().addError(test, error)
        self.explain(test, error)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.tell(test, "ok", " # SKIP " + reason)


def main():
    """Run the tests of the calling file; names on the command line choose some."""
    tests = unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"])
    chosen = [test for group in tests for test in group
              if not sys.argv[1:] or any(name in test.id() for name in sys.argv[1:])]
    result = Tap()
    print("1..%d" % len(chosen), flush=True)
    unittest.TestSuite(chosen).run(result)
    sys.exit(0 if result.wasSuccessful() else 1)
