# SPDX-License-Identifier: MIT
"""tables.py ROOT: what the code has in tables, the documents have too: error codes
(docs/errors.md), control files (docs/files.md), verbs (ryefs(1), the shells'
completions), requirements of runs elsewhere and the tests that show them (docs/remote.md). A row that one side lacks
is a fault."""

import os
import re
import sys

import cscan

ROWS = "engine/include/rye/rows.h"
KIND_ROW = re.compile(r"ROW\(\w+, \"(\w+)\", \"\w+\", \"\w+\",([\s\\\w|]+)\)")
MOUNT_VERB_ROW = re.compile(r"ROW\(\w+, \"(\w+)\", ([\w |]+),")
ERR_ROW = re.compile(r"\[RYE_\w+\]\s*=\s*\{\s*\"(\w+)\",\s*(\w+),")
DOC_ROW = re.compile(r"^\|\s*`([^`]+)`\s*\|\s*([^|]*?)\s*\|\s*([^|]*?)\s*\|", re.M)
CTL_ROW = re.compile(r"\b(?:ENTER|VIEW|OWN)\(\w+, \"([^\"]+)\", ([\w |]+), (\d+),(.*?)\.help", re.S)
VERB_ROW = re.compile(r"\{\s*\.name = \"([\w-]+)\",(.*?)\.run\s*=", re.S)
COMPLETIONS = ("ryefs.bash", "_ryefs", "ryefs.fish")


def present(root, path):
    return os.path.exists(os.path.join(root, path))


def compare(code, docs, where, source):
    """Both map a name to what its row must say."""
    for name, want in code.items():
        shown = name.lstrip("/")
        if name not in docs:
            yield f"{where}: has no row for `{shown}`, which {source} has"
        elif docs[name] != want:
            yield f"{where}: `{shown}` is {docs[name]}, {source} says {want}"
    for name in docs:
        if name not in code:
            yield f"{where}: `{name.lstrip('/')}` is not in {source}"


def check_errors(root):
    source, where = "engine/common/err.c", "docs/errors.md"
    if not present(root, source):
        return
    code = {m[1]: m[2] for m in ERR_ROW.finditer(cscan.read(root, source)) if m[1] != "ok"}
    docs = {m[1]: m[2] for m in DOC_ROW.finditer(cscan.read(root, where))}
    yield from compare(code, docs, where, source)


def ctl_rows(root, source):
    """name -> (mode or "link", kinds whose items have it); /name at the root -> (mode,)."""
    kinds = {m[1]: re.findall(r"RYE_KIND_\w+", m[2]) for m in KIND_ROW.finditer(cscan.read(root, ROWS))}

    def row(name, said, traits):
        names = [kind for kind, has in kinds.items() if set(has) & set(traits.split(" | "))]
        return (name, (said, ", ".join(names))) if names else ("/" + name, (said,))

    for m in MOUNT_VERB_ROW.finditer(cscan.read(root, ROWS)):
        yield row(m[1], "0600", m[2])
    for m in CTL_ROW.finditer(cscan.read(root, source)):
        yield row(m[1], "link" if ".link = true" in m[4] else m[3], m[2])


def check_files(root):
    source, where = "fs/core/ctl.h", "docs/files.md"
    if not present(root, source):
        return
    code = dict(ctl_rows(root, source))
    docs = {}
    for m in DOC_ROW.finditer(cscan.read(root, where)):
        if re.match(r"^(0\d{3}|link)$", m[2]):
            if re.match(r"^(directive|tool|knowledge)", m[3]):
                docs[m[1]] = (m[2], m[3])
            else:
                docs["/" + m[1]] = (m[2],)
    yield from compare(code, docs, where, source)


def check_verbs(root):
    source = "engine/cli/verb/verb_table.c"
    if not present(root, source):
        return
    verbs = [m[1] for m in VERB_ROW.finditer(cscan.read(root, source)) if "CLI_HIDDEN" not in m[2]]
    manual = cscan.read(root, "docs/man/ryefs.1.scd")
    for verb in verbs:
        if not re.search(rf"^\*{verb}\*", manual, re.M):
            yield f"docs/man/ryefs.1.scd: has no paragraph that begins with *{verb}*"
        for name in COMPLETIONS:
            path = f"scripts/completion/{name}"
            if not re.search(rf"(?<![\w-]){verb}(?![\w-])", cscan.read(root, path)):
                yield f"{path}: does not know the verb {verb}"


def check_options(root):
    source = "fs/mount/mount_options.c"
    if not present(root, source):
        return
    rows = re.findall(r'\{ "([^"]+)", (OPT_\w+) \}', cscan.read(root, source))
    names = [name.rstrip("=") for name, what in rows if what not in ("OPT_LIBFUSE", "OPT_MOUNT8")]
    manual = cscan.read(root, "docs/man/ryefs.1.scd")
    told = cscan.read(root, "engine/cli/mount_help.c")
    completed = cscan.read(root, "scripts/completion/ryefs.bash")
    for name in names:
        if f"*{name}*" not in manual:
            yield f"docs/man/ryefs.1.scd: does not name the option *{name}*"
        if not re.search(rf'"{name}["=]', told):
            yield f"engine/cli/mount_help.c: does not name the option {name}"
        if not re.search(rf"[ \"]{name}[ =\"]", completed):
            yield f"scripts/completion/ryefs.bash: does not know the option {name}"

REMOTE_ROW = re.compile(r"^\|\s*(\d+)\s*\|[^|]*\|\s*(.*?)\s*\|$", re.M)
REMOTE_TEST = re.compile(r"`(tests/[\w/]+\.\w+)`((?::? \"[^\"]+\",?)*)")
REQUIREMENTS = range(1, 35)


def built(root, path):
    """Does the directory's meson.build know the test, or one that names it?"""
    here, name = os.path.split(path)
    stem = re.sub(r"^(test|prop|fuzz)_|\.\w+$", "", name)
    return f"'{re.sub(r'[.].*', '', stem)}'" in cscan.read(root, os.path.join(here, "meson.build"))


def check_remote(root):
    """docs/remote.md: each requirement names tests, and checks in them, that are there."""
    where = "docs/remote.md"
    if not present(root, where):
        return
    rows = {int(m[1]): m[2] for m in REMOTE_ROW.finditer(cscan.read(root, where).partition("## What shows it")[2])}
    for number in REQUIREMENTS:
        if number not in rows:
            yield f"{where}: has no row for the requirement {number}"
    for number, row in rows.items():
        tests = REMOTE_TEST.findall(row)
        if not tests and not row.startswith("not shown: "):
            yield f'{where}: row {number} names no test, and says no "not shown: WHY"'
        for path, checks in tests:
            if not present(root, path) or not built(root, path):
                yield f"{where}: row {number}: {path} is no test"
                continue
            text = cscan.read(root, path)
            for check in re.findall(r'"([^"]+)"', checks):
                if check not in text:
                    yield f'{where}: row {number}: {path} has no "{check}"'


def main(root):
    return cscan.finish(list(check_errors(root)) + list(check_files(root)) + list(check_verbs(root)) + list(check_options(root)) + list(check_remote(root)))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
