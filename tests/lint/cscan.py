# SPDX-License-Identifier: MIT
"""Reads C well enough to lint it: comments and strings are blanked, then
declarations, functions and statements are found by their brackets."""

import os
import re

CONTROL = {"if", "for", "while", "switch"}
MACRO_BLOCK = re.compile(r"^[A-Z][A-Z0-9_]+$")
TOKEN = re.compile(r"[A-Za-z_]\w*|[(){}\[\];]|[^\s\w]|\d\w*")
PAIRS = {"(": ")", "{": "}", "[": "]"}
BRACKET = re.compile(r"[(){}\[\]]")
# what ends or interrupts a declaration
STEP = re.compile(r"[(\[{;]")
LITERAL = re.compile(
    r"""(?P<block>/\*.*?\*/)|(?P<line>//(?:\\\n|[^\n])*)"""
    r"""|(?P<str>"(?:\\.|[^"\\\n])*")|(?P<chr>'(?:\\.|[^'\\\n])*')""",
    re.S,
)


def sources(root, dirs=("engine", "fs", "tests"), ext=(".c", ".h")):
    """All C files below root, as sorted relative paths."""
    found = []
    for top in dirs:
        for here, subdirs, names in os.walk(os.path.join(root, top)):
            subdirs[:] = [d for d in subdirs if d not in ("corpus", "vectors")]
            found += [os.path.join(here, n) for n in names if n.endswith(ext)]
    return sorted(os.path.relpath(f, root) for f in found)


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8", errors="replace") as f:
        return f.read()


def _spaces(text):
    return "\n".join(" " * len(line) for line in text.split("\n"))


def blank(text, line_comments=None):
    """Comments become spaces, literals become empty ones; offsets stay true."""

    def one(m):
        if m.lastgroup == "line" and line_comments is not None:
            line_comments.append(line_of(text, m.start()))
        if m.lastgroup in ("block", "line"):
            return _spaces(m.group())
        quote = m.group()[0]
        return quote + _spaces(m.group()[1:-1]) + quote

    return LITERAL.sub(one, text)


def blank_directives(code):
    """Preprocessor lines, continued ones too, become spaces."""
    return re.sub(r"^[ \t]*#(?:\\\n|[^\n])*", lambda m: _spaces(m.group()), code, flags=re.M)


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


def includes(text):
    """(line, quoted?, name) of every #include."""
    pattern = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]', re.M)
    return [(line_of(text, m.start()), m[1] == '"', m[2]) for m in pattern.finditer(text)]


def match(code, start):
    """Offset of the bracket that closes the one at start; the end if none does."""
    stack = []
    for m in BRACKET.finditer(code, start):
        c = m[0]
        if c in PAIRS:
            stack.append(PAIRS[c])
        elif stack and c == stack[-1]:
            stack.pop()
            if not stack:
                return m.start()
    return len(code) - 1


class Function:
    def __init__(self, name, params, first, last, body):
        self.name, self.params, self.first, self.last, self.body = name, params, first, last, body
        self.is_static = False

    @property
    def lines(self):
        return self.last - self.first + 1


def _call_head(head):
    """(name, parameter text) when a declaration head is a function's, else None."""
    flat = re.sub(r"__attribute__\s*\(\(.*?\)\)", _attr, head, flags=re.S)
    m = re.search(r"([A-Za-z_]\w*)\s*\(", flat)
    if not m or "=" in flat[: m.start()]:
        return None
    close = match(flat, m.end() - 1)
    return m[1], flat[m.end() : close]


def _attr(m):
    return _spaces(m.group())


def count_params(text):
    if text.strip() in ("", "void"):
        return 0
    depth = commas = 0
    for c in text:
        depth += c in "([{"
        depth -= c in ")]}"
        commas += c == "," and depth == 0
    return commas + 1


def declarations(code):
    """Walks file scope: yields ("function", Function) and ("declaration", head, line)."""
    code = blank_directives(code)
    start = i = 0
    flat = []
    while step := STEP.search(code, i):
        flat.append(code[i : step.start()])
        i, c = step.start(), step[0]
        if c in "([":
            end = match(code, i)
            flat.append(code[i : end + 1])
            i = end
        elif c == "{":
            end = match(code, i)
            head = "".join(flat)
            call = None if "=" in re.sub(r"\(.*\)", "", head, flags=re.S) else _call_head(head)
            if call and not re.match(r"\s*extern\s*$", head):
                first = start + len(code[start:i]) - len(code[start:i].lstrip())
                function = Function(
                    call[0],
                    count_params(call[1]),
                    line_of(code, first),
                    line_of(code, end),
                    code[i : end + 1],
                )
                function.is_static = re.match(r"\s*(inline\s+)?static\b", head) is not None
                yield "function", function
                flat = []
                start = end + 1
            else:
                flat.append("{}")
            i = end
        else:
            head = "".join(flat).strip()
            if head:
                first = start + len(code[start:i]) - len(code[start:i].lstrip())
                yield "declaration", head, line_of(code, first)
            flat = []
            start = i + 1
        i += 1


class _Parser:
    """Statement nesting of one function body; the body itself is block 1."""

    def __init__(self, body):
        self.tok = TOKEN.findall(body)
        self.i = 0
        self.deepest = 1

    def peek(self, ahead=0):
        at = self.i + ahead
        return self.tok[at] if at < len(self.tok) else ""

    def skip_brackets(self):
        depth = 0
        while self.i < len(self.tok):
            depth += self.peek() in ("(", "{", "[")
            depth -= self.peek() in (")", "}", "]")
            self.i += 1
            if depth <= 0:
                return

    def block(self, depth):
        self.deepest = max(self.deepest, depth)
        self.i += 1
        while self.peek() not in ("}", ""):
            self.statement(depth)
        self.i += 1

    def inner(self, depth):
        """The statement a control construct governs."""
        if self.peek() == "{":
            self.block(depth + 1)
        else:
            self.deepest = max(self.deepest, depth + 1)
            self.statement(depth + 1)

    def governs(self):
        t = self.peek()
        if t in CONTROL:
            return True
        if not MACRO_BLOCK.match(t) or self.peek(1) != "(":
            return False
        save = self.i
        self.i += 1
        self.skip_brackets()
        block = self.peek() == "{"
        self.i = save
        return block

    def statement(self, depth):
        t = self.peek()
        if t == "{":
            self.block(depth + 1)
        elif t == "do":
            self.i += 1
            self.inner(depth)
        elif t == "else":
            self.i += 1
            if self.peek() == "if":
                self.statement(depth)
            else:
                self.inner(depth)
        elif self.governs():
            is_while = t == "while"
            self.i += 1
            self.skip_brackets()
            if is_while and self.peek() == ";":
                self.i += 1
            else:
                self.inner(depth)
        elif t in ("case", "default"):
            while self.peek() not in (":", ""):
                self.i += 1
            self.i += 1
        else:
            self.expression()

    def expression(self):
        while self.peek() not in (";", "}", ""):
            if self.peek() in ("(", "{", "["):
                self.skip_brackets()
            else:
                self.i += 1
        if self.peek() == ";":
            self.i += 1


def nesting(body):
    p = _Parser(body)
    p.block(1)
    return p.deepest


class Exceptions:
    """Lines "path[:name] reason"; one that excuses nothing is itself a fault."""

    def __init__(self, root, path):
        self.path, self.rows, self.used, self.bad = path, {}, set(), []
        try:
            text = read(root, path)
        except FileNotFoundError:
            text = ""
        for n, line in enumerate(text.splitlines(), 1):
            if not line.strip() or line.startswith("#"):
                continue
            key, _, reason = line.strip().partition(" ")
            self.rows[key] = n
            if not reason.strip():
                self.bad.append(f"{path}:{n}: {key} gives no reason")

    def excuse(self, path, name=None):
        key = f"{path}:{name}" if name else path
        if key in self.rows:
            self.used.add(key)
        return key in self.rows

    def faults(self):
        stale = set(self.rows) - self.used
        return self.bad + [f"{self.path}:{self.rows[k]}: {k} is not needed any more" for k in sorted(stale)]


def finish(faults):
    """Prints the faults; the exit status of the lint."""
    for f in faults:
        print(f)
    return 1 if faults else 0
