# SPDX-License-Identifier: MIT
"""The Python tools of the bundle: files, system, keys."""

import hashlib
import json
import os
import re
import stat
import time

import harness

FILES = "rye/file-system/"
READ = harness.load(FILES + "read")
WRITE = harness.load(FILES + "write")
EDIT = harness.load(FILES + "edit_lines")
GLOB = harness.load(FILES + "glob")
GREP = harness.load(FILES + "grep")
LS = harness.load(FILES + "ls")
OUTSIDE = "Path is outside the project workspace"
CLOSED = "closed to tools"


class Files(harness.Case):
    def read(self, path, **params):
        return READ.execute({"path": path, **params}, self.project)

    def rows(self, path, **params):
        """[number, id, text] of every line shown."""
        output = self.read(path, **params)["output"].split("\n")[1:]
        return [re.fullmatch(r"(\d+):([0-9a-f]{6})│ (.*)", row, re.S).groups() for row in output]

    def ids(self, path):
        return [row[1] for row in self.rows(path)]

    def edit(self, path, *changes):
        return EDIT.execute({"path": path, "changes": list(changes)}, self.project)

    def write(self, path, content):
        return WRITE.execute({"path": path, "content": content}, self.project)

    def index_file(self, name):
        name = hashlib.sha256(name.encode()).hexdigest()[:16] + ".json"
        return self.path(".ai/cache/tools/read/line_index", name)


class Read(Files):
    def test_case_92_offset(self):
        self.put("w.txt", "l1\nl2x\nl3\n")
        self.assertEqual(self.rows("w.txt")[0], ("1", "f26b77", "l1"))
        self.assertEqual(self.read("w.txt", offset=2, limit=1), {
            "success": True, "line_count": 1, "total_lines": 3, "truncated": True, "offset": 2,
            "output": "# LINE:LID│ content — LIDs are stable references for edit_lines,"
                      " not file content\n2:3d1780│ l2x",
        })

    def test_case_93_ids_survive_outside_edits(self):
        self.put("d.txt", "a\n\n\nb\n")
        before = self.rows("d.txt")
        self.put("d.txt", "top\na\n\n\nb\n\nend\n")
        after = self.rows("d.txt")
        self.assertEqual([row[1] for row in before], [row[1] for row in after[1:5]])
        self.assertEqual(len({row[1] for row in after}), 7)

    def test_ids_survive_a_move_in_the_middle(self):
        self.put("m.txt", "".join("line %d\n" % n for n in range(50)))
        before = dict((row[2], row[1]) for row in self.rows("m.txt"))
        lines = ["line %d" % n for n in range(50) if n != 20]
        lines.insert(30, "new")
        self.put("m.txt", "\n".join(lines))
        after = dict((row[2], row[1]) for row in self.rows("m.txt"))
        for line in lines:
            if line != "new":
                self.assertEqual(after[line], before[line])
        self.assertNotIn(after["new"], before.values())

    def test_many_lines_have_ids_of_their_own(self):
        self.put("big.txt", "x\n" * 20000)
        self.read("big.txt")
        with open(self.index_file("big.txt"), encoding="utf-8") as stream:
            lines = json.load(stream)["lines"]
        self.assertEqual(len({line["id"] for line in lines}), 20000)

    def test_repeated_lines_take_bounded_time(self):
        self.put("same.txt", "x\n" * 5000 + "a\n" + "x\n" * 5000)
        self.read("same.txt")
        self.put("same.txt", "b\n" + "x\n" * 9000 + "c\n")
        start = time.monotonic()
        self.assertEqual(len(set(self.ids("same.txt"))), 2000)
        self.assertLess(time.monotonic() - start, 3)

    def test_index_is_shared_format(self):
        self.put("dir/i.txt", "one\ntwo")
        self.read("dir/i.txt")
        with open(self.index_file("dir/i.txt"), encoding="utf-8") as stream:
            index = json.load(stream)
        self.assertEqual(index["file_path"], "dir/i.txt")
        self.assertEqual(index["content_hash"], hashlib.sha256(b"one\ntwo").hexdigest())
        self.assertEqual(index["lines"][1], {
            "id": hashlib.sha256(b"2:two").hexdigest()[:6], "line_num": 2,
            "content_hash": hashlib.sha256(b"two").hexdigest(),
        })

    def test_damaged_index_is_no_index(self):
        self.put("i.txt", "one\n")
        for text in ("{", "[]", '{"content_hash": 1, "lines": []}',
                     '{"content_hash": "x", "lines": [{"id": 1, "content_hash": 2}]}',
                     '{"content_hash": "x", "lines": [{"id": "../..", "content_hash": "x"}]}'):
            self.put(self.index_file("i.txt"), text)
            self.assertEqual(len(self.rows("i.txt")), 1)

    def test_long_output_is_cut(self):
        self.put("long.txt", "x" * 60000)
        result = self.read("long.txt")
        self.assertEqual((len(result["output"]), result["truncated"]), (51200, True))

    def test_lines_end_at_newlines_only(self):
        self.put("sep.txt", "a\rb\x0bc\u2028d\r\ne\n")
        self.assertEqual([row[2] for row in self.rows("sep.txt")], ["a\rb\x0bc\u2028d\r", "e"])

    def test_empty_and_beyond_the_end(self):
        self.put("e.txt", "")
        self.assertEqual(self.read("e.txt")["total_lines"], 0)
        self.assertEqual(self.read("e.txt", offset=5)["line_count"], 0)

    def test_refusals(self):
        self.put("bin", b"\xff\xfe\x00")
        os.mkfifo(self.path("pipe"))
        self.refused(self.read("none.txt"), "File not found: " + self.path("none.txt"))
        self.refused(self.read(".ai"), "Path is a directory, not a file")
        self.refused(self.read("bin"), "'utf-8' codec can't decode byte 0xff")
        self.refused(self.read("pipe"), "not a regular file")
        self.refused(self.read("/dev/zero"), OUTSIDE)
        self.refused(self.read("a\0b"), "null")


class Traversal(Files):
    PATHS = ("../x", "/etc/passwd", "a/../../x", "link/x", "../project-twin/x")

    def each_tool(self, path):
        yield self.read(path)
        yield self.write(path, "changed")
        yield self.edit(path, {"line_id": "000000", "new_content": ""})
        yield GREP.execute({"pattern": "x", "path": path}, self.project)

    def test_outside(self):
        os.mkdir(self.path("a"))
        for twin in (self.project + "-twin", self.path("link")):
            target = os.path.join(self.place, "elsewhere")
            os.makedirs(target, exist_ok=True)
            os.symlink(target, twin)
        for path in self.PATHS:
            for result in self.each_tool(path):
                self.refused(result, OUTSIDE)
        self.refused(LS.execute({"path": ".."}, self.project), OUTSIDE)
        self.refused(LS.execute({"path": "link"}, self.project), OUTSIDE)
        self.refused(GLOB.execute({"pattern": "*", "path": "link"}, self.project), OUTSIDE)
        self.assertEqual(os.listdir(os.path.join(self.place, "elsewhere")), [])

    def test_link_into_the_project(self):
        self.put("real.txt", "x\n")
        os.symlink("real.txt", self.path("alias.txt"))
        self.write("alias.txt", "y\n")
        self.assertEqual(self.get("real.txt"), b"y\n")
        self.assertTrue(os.path.islink(self.path("alias.txt")))

    def test_secrets(self):
        names = (".env", "sub/.env.local", ".ai/config/keys/signing/any", "id_ed25519",
                 ".ai/secrets/store.enc", "nested/.ai/config/keys/signing/private_key.pem")
        for name in names:
            self.put(name, "SECRET=x\n")
            for result in self.each_tool(name):
                self.refused(result, CLOSED)
        self.put("sub/pem.txt", "-----BEGIN OPENSSH PRIVATE KEY-----\nx\n")
        self.refused(self.read("sub/pem.txt"), CLOSED)
        os.symlink(".env", self.path("plain.txt"))
        self.refused(self.read("plain.txt"), CLOSED)
        self.assertEqual(GREP.execute({"pattern": "SECRET|PRIVATE"}, self.project)["count"], 0)
        self.assertEqual(GLOB.execute({"pattern": "**/.env*"}, self.project)["files"], [])
        self.assertNotIn(".env", LS.execute({}, self.project)["output"])

    def test_samples_are_no_secrets(self):
        self.put(".env.example", "A=\n")
        self.assertTrue(self.read(".env.example")["success"])

    def test_trust_and_state_are_read_only(self):
        for name in (".ai/config/keys/trusted/0123456789abcdef.toml", ".ai/state/threads/x/thread.json"):
            self.put(name, "old\n")
            self.assertTrue(self.read(name)["success"])
            self.refused(self.write(name, "new"), CLOSED)
            self.refused(self.edit(name, {"line_id": "0", "new_content": ""}), CLOSED)


class Write(Files):
    def test_case_91_new_and_overwrite(self):
        self.assertEqual(self.write("a/b.txt", "one\n"), {
            "success": True, "output": "Created new file a/b.txt (4 bytes)", "file_path": "a/b.txt",
            "bytes_written": 4, "created": True,
        })
        result = self.write("a/b.txt", "two\n")
        self.assertEqual(result["output"], "--- a/a/b.txt\n+++ b/a/b.txt\n@@ -1 +1 @@\n-one\n+two")
        self.assertIs(result["created"], False)

    def test_case_91_outside(self):
        for path in ("../out.txt", os.path.join(self.place, "out.txt"), "/etc/out.txt"):
            self.refused(self.write(path, "x"), OUTSIDE)
        self.assertFalse(os.path.exists(os.path.join(self.place, "out.txt")))

    def test_case_91_batch(self):
        files = [{"path": "good.txt", "content": "x"}, {"path": "../bad.txt", "content": "x"}]
        result = WRITE.execute({"files": files}, self.project)
        self.refused(result, "1 of 2 files failed")
        self.assertEqual((result["files_written"], result["files_total"]), (1, 2))
        self.assertEqual(result["errors"], [{"path": "../bad.txt", "error": OUTSIDE}])
        self.assertEqual(self.get("good.txt"), b"x")

    def test_other_spelling_and_nothing(self):
        self.assertTrue(WRITE.execute({"file_path": "f", "content": ""}, self.project)["success"])
        self.assertEqual(self.get("f"), b"")
        text = "Provide either 'files' (batch) or 'path'+'content' (single)."
        self.assertEqual(WRITE.execute({}, self.project)["error"], text)

    def test_mode_stays(self):
        os.chmod(self.put("run.sh", "echo\n"), 0o750)
        self.write("run.sh", "echo 2\n")
        self.assertEqual(stat.S_IMODE(os.stat(self.path("run.sh")).st_mode), 0o750)
        self.assertEqual(sorted(os.listdir(self.project)), [".ai", "run.sh"])

    def test_old_content_may_be_anything(self):
        self.put("bin", b"\xff\x00")
        self.assertEqual(self.write("bin", "text\n")["output"], "Replaced bin")
        self.put("many", "x\n" * 30000)
        self.assertEqual(self.write("many", "x\n")["output"],
                         "Changed many: 30000 lines before, 1 after")

    def test_forgets_line_ids(self):
        self.put("f.txt", "a\n")
        self.read("f.txt")
        self.write("f.txt", "b\n")
        self.assertFalse(os.path.exists(self.index_file("f.txt")))

    def test_refusals(self):
        os.mkfifo(self.path("pipe"))
        self.put("file", "")
        self.refused(self.write(".ai", ""), "Path is a directory, not a file")
        self.refused(self.write("pipe", ""), "not a regular file")
        self.refused(self.write("file/below", ""), "File exists")
        self.refused(self.write("lone", "\ud800"), "surrogates not allowed")


class Edit(Files):
    def test_replace_delete_insert(self):
        self.put("f.txt", "a\nb\nc\nd\n")
        a, b, c, d = self.ids("f.txt")
        result = self.edit("f.txt", {"line_id": d, "new_content": "D1\nD2"},
                           {"start_line_id": a, "end_line_id": b, "new_content": ""})
        self.assertEqual(self.get("f.txt"), b"c\nD1\nD2\n")
        self.assertEqual((result["changes_applied"], result["lines_changed"]), (2, 4))
        self.assertIn("+D1", result["output"])

    def test_lines_that_stay_keep_their_ids(self):
        self.put("f.txt", "a\nb\nc\nd\n")
        a, b, c, d = self.ids("f.txt")
        self.edit("f.txt", {"line_id": b, "new_content": "B1\nB2"})
        self.assertTrue(self.edit("f.txt", {"line_id": d, "new_content": ""},
                                  {"line_id": a, "new_content": "A"})["success"])
        self.assertEqual(self.get("f.txt"), b"A\nB1\nB2\nc\n")
        self.assertEqual(self.ids("f.txt")[3], c)
        self.refused(self.edit("f.txt", {"line_id": b, "new_content": ""}), "Invalid line IDs")

    def test_never_read(self):
        self.put("f.txt", "a\n")
        self.refused(self.edit("f.txt", {"line_id": "abcdef", "new_content": ""}),
                     "No line ID cache found. Read the file first to generate line IDs.")

    def test_case_94_stale(self):
        self.put("f.txt", "a\n")
        lid = self.ids("f.txt")[0]
        self.put("f.txt", "b\n")
        self.refused(self.edit("f.txt", {"line_id": lid, "new_content": ""}),
                     "File has changed since last read. Re-read the file to get updated line IDs.")
        self.assertEqual(self.get("f.txt"), b"b\n")

    def test_index_with_shared_ids_is_stale(self):
        self.put("f.txt", "\n\n")
        self.read("f.txt")
        with open(self.index_file("f.txt"), encoding="utf-8") as stream:
            index = json.load(stream)
        index["lines"][1]["id"] = lid = index["lines"][0]["id"]
        self.put(self.index_file("f.txt"), json.dumps(index))
        self.refused(self.edit("f.txt", {"line_id": lid, "new_content": ""}), "File has changed")

    def test_bad_changes(self):
        self.put("f.txt", "a\nb\nc\n")
        a, b, c = self.ids("f.txt")
        self.refused(self.edit("f.txt", {"line_id": "x", "new_content": ""}),
                     "Invalid line IDs: ['x']. Available IDs include: ['%s', '%s', '%s']..." % (a, b, c))
        self.refused(self.edit("f.txt", {"start_line_id": c, "end_line_id": a, "new_content": ""}),
                     "before its start")
        self.refused(self.edit("f.txt", {"line_id": b, "new_content": ""},
                               {"start_line_id": a, "end_line_id": c, "new_content": ""}), "same line")
        self.refused(self.edit("f.txt", {"new_content": "x"}), "needs line_id")
        self.assertEqual(self.get("f.txt"), b"a\nb\nc\n")

    def test_line_ends_stay(self):
        for old, new in ((b"a\r\nb\r\n", b"X\r\nY\r\nb\r\n"), (b"a\nb", b"X\nY\nb"),
                         (b"a\r\nb", b"X\r\nY\r\nb")):
            self.put("f.txt", old)
            self.edit("f.txt", {"line_id": self.ids("f.txt")[0], "new_content": "X\nY"})
            self.assertEqual(self.get("f.txt"), new)
        self.put("f.txt", b"a\r\nb")
        self.edit("f.txt", {"line_id": self.ids("f.txt")[1], "new_content": "X\nY\n"})
        self.assertEqual(self.get("f.txt"), b"a\r\nX\r\nY")

    def test_everything_deleted(self):
        self.put("f.txt", "a\nb\n")
        first, last = self.ids("f.txt")
        self.edit("f.txt", {"start_line_id": first, "end_line_id": last, "new_content": ""})
        self.assertEqual(self.get("f.txt"), b"")

    def test_a_blank_line(self):
        self.put("f.txt", "a\nb\n")
        self.edit("f.txt", {"line_id": self.ids("f.txt")[0], "new_content": "\n"})
        self.assertEqual(self.get("f.txt"), b"\nb\n")


class Find(Files):
    def glob(self, pattern, **params):
        return GLOB.execute({"pattern": pattern, **params}, self.project)

    def grep(self, pattern, **params):
        return GREP.execute({"pattern": pattern, **params}, self.project)

    def plant(self):
        for name in ("a.py", "src/b.py", "src/deep/c.ts", "src/deep/c.js", "node_modules/m/x.py",
                     "build/y.py", "pkg.egg-info/z.py", ".hidden/h.py", ".ai/cache/c.py"):
            self.put(name, "needle = 1\n")

    def test_glob_patterns(self):
        self.plant()
        cases = {
            "*.py": [".hidden/h.py", "a.py", "src/b.py"],
            "**/*.py": [".hidden/h.py", "a.py", "src/b.py"],
            "src/*.py": ["src/b.py"],
            "src/**": ["src/b.py", "src/deep/c.js", "src/deep/c.ts"],
            "src/**/c.{ts,js}": ["src/deep/c.js", "src/deep/c.ts"],
            "[ab].py": ["a.py", "src/b.py"],
            self.path("src") + "/*.py": ["src/b.py"],
            "none*": [],
        }
        for pattern, files in cases.items():
            self.assertEqual(self.glob(pattern)["files"], files, pattern)
        self.assertEqual(self.glob("*.py", path="src")["files"], ["src/b.py"])
        self.assertEqual(self.glob("*.py", path="build")["files"], ["build/y.py"])

    def test_case_95_glob_outside(self):
        for pattern in ("../*", "src/../../*", "/etc/*"):
            self.refused(self.glob(pattern), OUTSIDE)
        self.refused(self.glob("*", path="none"), "Directory not found: " + self.path("none"))

    def test_glob_limit(self):
        for number in range(101):
            self.put("f%03d.txt" % number, "")
        result = self.glob("*.txt")
        self.assertEqual((result["count"], result["truncated"]), (100, True))
        os.unlink(self.path("f100.txt"))
        result = self.glob("*.txt")
        self.assertEqual((result["count"], result["truncated"]), (100, False))

    def test_glob_patterns_take_bounded_time(self):
        self.put("a/" * 30 + "f" * 60, "")
        start = time.monotonic()
        self.glob("**/" * 30 + "x")
        self.glob("*f" * 30 + "x")
        self.refused(self.glob("{a,b}" * 30), "too many alternatives")
        self.assertLess(time.monotonic() - start, 3)

    def test_grep(self):
        self.put("src/a.txt", "one\nneedle two\r\n\n")
        self.put("src/b.py", "needle\n")
        result = self.grep("^need", path="src")
        self.assertEqual(result["output"], "src/a.txt:2│ needle two\nsrc/b.py:1│ needle")
        self.assertEqual(result["matches"][0], {"file": "src/a.txt", "line": 2, "content": "needle two"})
        self.assertEqual((result["count"], result["truncated"]), (2, False))
        self.assertEqual(self.grep("need", include="*.py")["count"], 1)
        self.assertEqual(self.grep("need", path="src/a.txt")["count"], 1)
        self.assertEqual(self.grep("^$", path="src/b.py")["count"], 0)

    def test_grep_shows_fresh_ids_only(self):
        self.put("f.txt", "needle\n")
        lid = self.ids("f.txt")[0]
        result = self.grep("needle")
        self.assertEqual(result["matches"][0]["line_id"], lid)
        self.assertEqual(result["output"], "f.txt:1:%s│ needle" % lid)
        self.put("f.txt", "needle more\n")
        self.assertNotIn("line_id", self.grep("needle")["matches"][0])

    def test_grep_limit(self):
        self.put("f.txt", "x\n" * 101)
        result = self.grep("x")
        self.assertEqual((result["count"], result["truncated"]), (100, True))
        self.put("f.txt", "x\n" * 100)
        self.assertIs(self.grep("x")["truncated"], False)

    def test_grep_skips(self):
        self.plant()
        self.put("bin", b"needle\0")
        os.mkfifo(self.path("pipe"))
        os.symlink("/etc", self.path("etc"))
        found = {match["file"] for match in self.grep("needle")["matches"]}
        self.assertEqual(found, {"a.py", "src/b.py", "src/deep/c.ts", "src/deep/c.js", ".hidden/h.py"})

    def test_grep_errors(self):
        self.refused(self.grep("("), "Invalid regular expression: ")
        self.refused(self.grep("x", path="none"), "Path not found: ")

    def test_grep_gives_up(self):
        self.put("f.txt", "a" * 40 + "!\n")
        saved, GREP.TIME_LIMIT_S = GREP.TIME_LIMIT_S, 1
        try:
            start = time.monotonic()
            result = self.grep("(a|aa)+$")
        finally:
            GREP.TIME_LIMIT_S = saved
        self.assertLess(time.monotonic() - start, 5)
        self.assertIs(result["truncated"], True)
        self.assertIn("stopped after 1 seconds", result["output"])

    def test_ls(self):
        self.put("b.txt", "")
        self.put("A.txt", "")
        self.put("z/inner", "")
        self.put("dist/kept", "")
        self.put("node_modules/gone", "")
        result = LS.execute({}, self.project)
        self.assertEqual(result["output"], ".ai/\ndist/\nz/\nA.txt\nb.txt")
        self.assertEqual(result["entries"][2], {"name": "z", "type": "directory"})
        self.assertEqual(LS.execute({"path": "z"}, self.project)["entries"],
                         [{"name": "z/inner", "type": "file"}])
        self.refused(LS.execute({"path": "none"}, self.project),
                     "Directory not found: " + self.path("none"))
        self.refused(LS.execute({"path": "b.txt"}, self.project), "Path is not a directory")

    def test_names_that_are_not_utf8(self):
        self.put(os.fsdecode(b"bad\xff.txt"), "needle\n")
        for result in (self.glob("*.txt"), self.grep("needle"), LS.execute({}, self.project)):
            self.assertIn("bad\ufffd.txt", json.dumps(result, ensure_ascii=False))
            json.dumps(result).encode("ascii").decode("ascii")


class System(harness.Case):
    def test_items(self):
        tool = harness.load("rye/core/system/system")
        data = tool.execute({"item": "all"}, self.project)["data"]
        self.assertEqual(set(data), {"paths", "time", "runtime"})
        self.assertEqual(data["paths"]["project_path"], self.project)
        self.assertEqual(data["paths"]["system_spaces"], [harness.ROOT])
        self.assertRegex(data["time"]["utc_iso"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00$")
        self.assertEqual(list(tool.execute({"item": "time"}, self.project)["data"]), ["time"])
        self.refused(tool.execute({"item": "moon"}, self.project), "Unknown item")


class Keys(harness.Case):
    FAKE = ("#!/bin/sh\nprintf '%s\\n' \"$*\" >>calls\n[ \"$1\" = untrust ] && {"
            " echo 'ryefs untrust: no such key' >&2; exit 3; }\n"
            "[ \"$1\" = keys ] && echo '[{\"fingerprint\":\"00\",\"status\":\"trusted\"},"
            "{\"fingerprint\":\"11\",\"status\":\"signing\"}]' || echo '{\"fingerprint\":\"22\"}'\n")

    def setUp(self):
        super().setUp()
        os.chmod(self.put("ryefs", self.FAKE), 0o755)
        self.env = {"RYE_RYEFS": self.path("ryefs")}

    def call(self, **params):
        tool = harness.tool_file("rye/core/keys/keys")
        status, out, err = harness.run("python/function", tool, params, self.project, env=self.env)
        self.assertEqual((status, err), (0, ""))
        return json.loads(out)

    def test_actions(self):
        fp = "0123456789abcdef"
        self.assertEqual(self.call(action="list")["data"]["count"], 2)
        self.assertEqual(self.call(action="info")["data"]["fingerprint"], "11")
        self.assertEqual(self.call(action="generate", force=True, owner="me")["data"], {"fingerprint": "22"})
        self.call(action="trust", fingerprint=fp, owner="me")
        self.refused(self.call(action="remove", fingerprint=fp), "no such key")
        ends = " --json --project " + self.project
        self.assertEqual(self.get("calls").decode().splitlines(), [
            "keys" + ends, "keys" + ends, "keygen --force" + ends, "trust self --owner me" + ends,
            "trust %s --owner me" % fp + ends, "untrust " + fp + ends,
        ])

    def test_refusals(self):
        self.refused(self.call(action="trust"), "needs fingerprint or key_file")
        self.refused(self.call(action="remove"), "needs fingerprint")
        self.refused(self.call(action="dance"), "Unknown action")
        self.env["RYE_RYEFS"] = "/nonexistent/ryefs"
        self.refused(self.call(action="list"), "not found: /nonexistent/ryefs")


class SharedText(harness.Case):
    """What tools share stands in the library, and nothing of some length stands twice."""

    def test_nothing_stands_twice(self):
        seen = {}
        for place, _, names in os.walk(os.path.join(harness.TOOLS, "rye")):
            for name in names:
                path = os.path.join(place, name)
                text = harness.read(path) if name.endswith(".py") else ""
                for function in re.findall(r"(?m)^def .*\n(?:(?:[ \t].*)?\n){5,}", text):
                    self.assertEqual(seen.setdefault(function.strip(), path), path)
        self.assertGreater(len(seen), 50)


if __name__ == "__main__":
    harness.main()
