# SPDX-License-Identifier: MIT
"""mutants.py ROOT BUILD [ROOM...]: for each mutant of the table `mutants` a case, which passes if its test fails.

An entry of the table, with an empty line behind it:

    room engine/base
    breaks what the change breaks, in a few words
    in spool.c
    killed by unit/base_spool texts_of_equal_bytes
    -whole lines of that file, which stand there once
    +what stands there instead

A room of engine/LAYERS or fs/LAYERS without an entry is a failed case. "killed by" names the program
(unit/NAME, prop/NAME, table/NAME) and, but for a table, the case of it that has to fail; or a case that
the program itself has to pass, golden/NAME or should-fail/NAME. A test that does not end has killed
nothing, unless the entry has the line "may hang". A case of a C program is run alone (RYE_TEST_CASE of
rye_test.h), without the mutant, too: it has to pass by itself. That the others pass without it is shown
by their own suites.

Only the changed source is compiled, and linked in front of the archives, which then give all but that
file. Nothing is written but a temporary directory."""

import concurrent.futures
import json
import os
import random
import re
import shlex
import signal
import subprocess
import sys
import tempfile

SIDES = ("engine", "fs")
WORDS = ("room", "breaks", "in", "killed by", "may hang")
# two at a time, as a small machine has processors; a minute is long for a test that takes a second
JOBS, LIMIT = 2, 120


class Fault(Exception):
    """Why a mutant proves nothing."""


class Skip(Exception):
    """Why this machine cannot tell."""


def read(*parts):
    with open(os.path.join(*parts), encoding="utf-8") as f:
        return f.read()


def rooms(root):
    """engine/base, fs/talk, fs itself, …"""
    for side in SIDES:
        for line in read(root, side, "LAYERS").splitlines():
            if line.strip() and not line.startswith("#"):
                yield os.path.normpath(f"{side}/{line.partition(':')[0].rstrip('*')}")


class Mutant:
    def __init__(self, line):
        self.line, self.words, self.old, self.new = line, {}, "", ""

    def add(self, n, line):
        word = next((w for w in WORDS if line == w or line.startswith(w + " ")), None)
        if line[0] == "-":
            self.old += line[1:] + "\n"
        elif line[0] == "+":
            self.new += line[1:] + "\n"
        elif word and word not in self.words:
            self.words[word] = line[len(word) + 1:]
        else:
            sys.exit(f"mutants:{n}: wanted one of {', '.join(WORDS)}, or a line with - or + before it: {line}")

    def is_whole(self):
        return self.old and all(self.words.get(w) for w in WORDS[:4])

    @property
    def room(self):
        return self.words["room"]

    @property
    def source(self):
        return f"{self.room}/{self.words['in']}"

    @property
    def killer(self):
        """Suite, name and case of what has to fail."""
        program, _, case = self.words["killed by"].partition(" ")
        suite, _, name = program.partition("/")
        return suite, name, case

    @property
    def program(self):
        """What is linked anew for it."""
        suite, name, _ = self.killer
        if suite in ("golden", "should-fail"):
            return "ryefs"
        return f"tests/{suite}/{suite.replace('unit', 'test')}_{name}"

    @property
    def diff(self):
        lines = [f"-{s}" for s in self.old.splitlines(True)] + [f"+{s}" for s in self.new.splitlines(True)]
        return "".join(lines)

    @property
    def title(self):
        return f"{self.room}: {self.words['breaks']}"


def table(path):
    mutants, now = [], None
    for n, line in enumerate(read(path).splitlines() + [""], 1):
        if line.startswith("#"):
            continue
        if line:
            now = now or Mutant(n)
            now.add(n, line)
        elif now:
            if not now.is_whole():
                sys.exit(f"mutants:{now.line}: wanted {', '.join(WORDS[:4])} and a line with - before it")
            mutants.append(now)
            now = None
    return mutants


def said(command, **how):
    """Output of a command that has to succeed."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", stdin=subprocess.DEVNULL, check=False, **how)
    if done.returncode:
        raise Fault(f"{' '.join(command[:2])} … ends with {done.returncode}:\n{done.stdout[-2000:]}")
    return done.stdout


def without(words, flags, pairs):
    """A command without some of its words, and without pairs that begin with others."""
    kept = iter(words)
    return [w for w in kept if not (w in flags or (w in pairs and next(kept)))]


class Build:
    """What meson knows of the build: how a source is compiled and a program is linked."""

    def __init__(self, root, build):
        self.root, self.build = root, build
        self.compilers = {os.path.realpath(os.path.join(c["directory"], c["file"])): c
                          for c in json.loads(read(build, "compile_commands.json"))}
        self.env = dict(os.environ, CCACHE_DISABLE="1", LC_ALL="C")
        self.linked = {}

    def know(self, programs):
        """How these are linked, all asked for at once: one command a line, in any order."""
        # of one that is not there, ninja says so and no more
        known = said(["ninja", "-t", "targets", "all"], cwd=self.build)
        programs = [p for p in programs if re.search(rf"^{re.escape(p)}: ", known, re.M)]
        for line in said(["ninja", "-t", "commands", "-s", *programs], cwd=self.build).splitlines():
            made = re.search(r" -o (\S+)", line)
            self.linked[made and made[1]] = line

    def compile(self, mutant, tmp):
        """The object of the changed source."""
        path = os.path.join(self.root, mutant.source)
        text = read(path)
        known = self.compilers.get(os.path.realpath(path))
        # whole lines, from a line's beginning
        n = ("\n" + text).count("\n" + mutant.old)
        if n != 1 or not known:
            raise Fault(f"the lines to change stand {n} times in {mutant.source}, wanted once" if known
                        else f"{mutant.source} is no source of this build")
        changed = os.path.join(tmp, os.path.basename(path))
        with open(changed, "w", encoding="utf-8") as f:
            f.write(("\n" + text).replace("\n" + mutant.old, "\n" + mutant.new)[1:])
        words = without(shlex.split(known["command"]), ("-c", "-MD", known["file"]), ("-o", "-MQ", "-MF"))
        said(words + ["-w", "-O0", "-g0", "-iquote", os.path.dirname(path), "-c", changed, "-o", changed + ".o"],
             cwd=known["directory"], env=self.env)
        return changed + ".o"

    def link(self, program, obj, tmp):
        """A program of the build with this object in the place of the archives' own."""
        words = shlex.split(self.linked.get(program, ""))
        made = os.path.join(tmp, os.path.basename(program))
        at = next((i for i, w in enumerate(words) if w.endswith(".o")), None)
        if at is None or "-o" not in words:
            raise Fault(f"it is not known how {program} is linked")
        words = words[:at] + [obj] + words[at:]
        said(without(words, (), ("-o",)) + ["-Wl,--strip-debug", "-o", made], cwd=self.build, env=self.env)
        return made

    def run(self, mutant, tmp):
        """Returns if the mutant was killed."""
        suite, name, case = mutant.killer
        tests, obj, ryefs = os.path.join(self.root, "tests"), self.compile(mutant, tmp), None
        if suite in ("golden", "should-fail"):
            ryefs = self.link(mutant.program, obj, tmp)
            os.symlink(os.path.join(self.build, "bundle"), os.path.join(tmp, "bundle"))
            command = ["bash", os.path.join(tests, "case.sh"), suite, os.path.join(tests, suite, name)]
        elif suite == "table":
            command = [self.link(mutant.program, obj, tmp), os.path.join(tests, f"table/{name}.test")]
        elif suite in ("unit", "prop") and case:
            command = [self.link(mutant.program, obj, tmp)]
        else:
            raise Fault(f"{suite}/{name} is no program with a case that could fail")
        work = os.path.join(tmp, "work")
        os.mkdir(work)
        ryefs = ryefs or os.path.join(self.build, "ryefs")
        if case:
            self.passes_alone(mutant, case, work, ryefs)
        status, out = self.ended(command, work, ryefs, case)
        if status is not None:
            judge(mutant, status, out, case)
        elif "may hang" not in mutant.words:
            raise Fault(f"{suite}/{name} did not end within {LIMIT} s")

    def passes_alone(self, mutant, case, work, ryefs):
        """What fails without those before it would fail with any mutant."""
        status, out = self.ended([os.path.join(self.build, mutant.program)], work, ryefs, case)
        skip_where_skipped(mutant, status, out, case)
        if status or not re.search(rf"^ok \d+ - {re.escape(case)}$", out, re.M):
            raise Fault(f"{mutant.words['killed by']} does not pass alone, unchanged:\n{out[-2000:]}")

    def ended(self, command, work, ryefs, case):
        """Exit status, None when it had to be ended, and its standard output: TAP, while a fault on
        stderr may end within a line."""
        env = dict(os.environ, TMPDIR=work, RYEFS=ryefs, RYE_TEST_SRC=os.path.join(self.root, "tests"),
                   CMOCKA_MESSAGE_OUTPUT="TAP", MALLOC_PERTURB_=str(random.randint(1, 255)))
        if case:
            env["RYE_TEST_CASE"] = case
        # no pipe: what outlives the test would hold it open
        with tempfile.TemporaryFile("w+", errors="replace") as out:
            with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.DEVNULL,
                                  cwd=work, env=env, start_new_session=True) as test:
                try:
                    test.wait(LIMIT)
                except subprocess.TimeoutExpired:
                    os.killpg(test.pid, signal.SIGKILL)
                    return None, ""
            out.seek(0)
            return test.returncode, out.read()


def skip_where_skipped(mutant, status, out, case):
    if status == 77 or (case and re.search(rf"^# skipped: .*\nok \d+ - {re.escape(case)}$", out, re.M)):
        raise Skip(f"{mutant.words['killed by']} is skipped here")


def judge(mutant, status, out, case):
    by = mutant.words["killed by"]
    skip_where_skipped(mutant, status, out, case)
    if status and (not case or re.search(rf"^not ok \d+ - {re.escape(case)}$", out, re.M)):
        return
    failed = re.findall(r"^not ok.*$", out, re.M)
    raise Fault(f"{by} does not fail when {mutant.source} is changed:\n{mutant.diff}"
                + (f"others do:\n{chr(10).join(failed)}" if failed else ""))


def verdict(build, mutant):
    """Of one mutant: what follows "ok" or "not ok" in TAP, and remarks."""
    with tempfile.TemporaryDirectory(prefix="ryefs-mutant-") as tmp:
        try:
            build.run(mutant, tmp)
        except (Fault, OSError) as e:
            return "not ok", "", str(e)
        except Skip as e:
            return "ok", f" # SKIP {e}", ""
    return "ok", "", ""


def main(root, build_dir, only):
    build = Build(root, build_dir)
    mutants = table(os.path.join(root, "tests/should-fail/mutants"))
    known, have = list(rooms(root)), {m.room for m in mutants}
    lost = [f"{room}: has no mutant" for room in known if room not in have]
    lost += [f"{room}: is no room of LAYERS" for room in sorted(have - set(known))]
    mutants = [m for m in mutants if not only or m.room in only]
    build.know(sorted({m.program for m in mutants}))
    print(f"1..{len(mutants) + len(lost)}")
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        for n, (mutant, (ok, skip, why)) in enumerate(
                zip(mutants, pool.map(lambda m: verdict(build, m), mutants)), 1):
            print(f"{ok} {n} - {mutant.title}{skip}", flush=True)
            print("".join(f"# {line}\n" for line in why.splitlines()), end="", flush=True)
    for n, what in enumerate(lost, len(mutants) + 1):
        print(f"not ok {n} - {what}")


if __name__ == "__main__":
    main(os.path.realpath(sys.argv[1]), os.path.realpath(sys.argv[2]), sys.argv[3:])
