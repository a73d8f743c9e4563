# SPDX-License-Identifier: MIT
"""banned.py ROOT: no goto, no // comments, no functions with a better sister, no
mutable globals, no lock released by hand, exit() in main.c only, SPDX line first.
Exceptions, with a reason each: scripts/banned-exceptions ("path:name reason")."""

import re
import sys

import cscan

INSTEAD = {
    "strcpy": "a buf, or memcpy with a length",
    "strcat": "a buf",
    "sprintf": "snprintf or a buf",
    "vsprintf": "vsnprintf or a buf",
    "strtok": "a span",
    "gmtime": "gmtime_r",
    "localtime": "localtime_r",
    "system": "spawn",
    "popen": "spawn",
    "alloca": "a fixed array or a buf",
}
CALL = re.compile(r"(?<![\w.>])(" + "|".join(INSTEAD) + r")\s*\(")
EXIT = re.compile(r"(?<![\w.>])exit\s*\(")
UNLOCK = re.compile(r"\b(pthread_(?:mutex|rwlock|spin)_unlock)\s*\(")
GOTO = re.compile(r"\bgoto\b")
STATIC = re.compile(r"(?:^|[;{}])\s*(static\b[^;{}()=]*)[=;]")
NOT_DATA = re.compile(r"^\s*(typedef|extern|_Static_assert|static_assert)\b")
BARE_TYPE = re.compile(r"^(?:(?:static|const)\s+)*(?:struct|union|enum)\s*\w*\s*(?:\{\})?$")


def is_mutable(decl):
    """A declaration without its initialiser: can what it names change?"""
    pointers = decl.rfind("*")
    return not re.search(r"\bconst\b", decl[pointers + 1 :] if pointers >= 0 else decl)


def variable_name(decl):
    names = re.findall(r"[A-Za-z_]\w*", re.sub(r"\[.*", "", decl, flags=re.S))
    return names[-1] if names else "?"


def globals_of(code):
    """(line, name) of the mutable variables at file scope, and of static ones inside."""
    for kind, *what in cscan.declarations(code):
        if kind == "function":
            for m in STATIC.finditer(what[0].body):
                if is_mutable(m[1]):
                    line = what[0].first + what[0].body[: m.start(1)].count("\n")
                    yield line, variable_name(m[1])
            continue
        head, line = what
        decl = re.sub(r"__attribute__\s*\(\(.*?\)\)", "", head.partition("=")[0], flags=re.S).strip()
        pointer = re.search(r"\(\s*\*\s*(const\b)?\s*(\w+)", decl)
        if NOT_DATA.match(decl) or BARE_TYPE.match(decl):
            continue
        if pointer and "=" in head and not pointer[1]:
            yield line, pointer[2]
        elif "(" not in decl and is_mutable(decl):
            yield line, variable_name(decl)


def check(path, text, excused):
    lines = []
    code = cscan.blank(text, lines)
    bare = cscan.blank_directives(code)
    for n in lines:
        yield f"{path}:{n}: // comment, wanted /* */"
    if not text.startswith("/* SPDX-License-Identifier: MIT */"):
        yield f"{path}:1: wanted /* SPDX-License-Identifier: MIT */ as the first line"
    for m in GOTO.finditer(code):
        yield f"{path}:{cscan.line_of(code, m.start())}: goto, wanted an auto_ attribute or a helper"
    for m in CALL.finditer(code):
        if not excused.excuse(path, m[1]):
            yield f"{path}:{cscan.line_of(code, m.start())}: {m[1]}(), wanted {INSTEAD[m[1]]}"
    if not path.startswith("tests/"):
        for m in EXIT.finditer(code):
            if path != "fs/main.c" and not excused.excuse(path, "exit"):
                yield f"{path}:{cscan.line_of(code, m.start())}: exit(), which only fs/main.c may call"
        for m in UNLOCK.finditer(code):
            if path != "engine/common/scope.h" and not excused.excuse(path, m[1]):
                yield f"{path}:{cscan.line_of(code, m.start())}: {m[1]}(), wanted GUARD()"
        for line, name in globals_of(bare):
            if not excused.excuse(path, name):
                yield f"{path}:{line}: {name} is a mutable global"


def main(root):
    excused = cscan.Exceptions(root, "scripts/banned-exceptions")
    faults = []
    for path in cscan.sources(root):
        faults += check(path, cscan.read(root, path), excused)
    return cscan.finish(faults + excused.faults())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
