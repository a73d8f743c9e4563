# SPDX-License-Identifier: MIT
"""selftest.py: every lint accepts a good tree and refuses each bad sample. Each run of a lint is a child of this
process, made by fork: starting Python again would be most of the work."""

import functools
import json
import os
import subprocess
import sys
import tempfile
import traceback

import cscan  # noqa: F401 - what each child needs is imported once
import lock_table  # noqa: F401

HERE = os.path.dirname(os.path.abspath(__file__))
SPDX = "/* SPDX-License-Identifier: MIT */\n"
LAYERS = "common*:\nbase*:\nitem*: base\ncli*: base\ncli/doctor*:\ncli/verb*:\n"
FS_LAYERS = "core*:\nmount*:\nviews*:\n.: core\n"
GOOD = """#include "item/a.h"
#include "base/b.h"
#include <rye/rye.h>
#include <stdio.h>

/* goto is a word; "strcpy(" and // too */
static const char *const names[] = { "a // b", "goto", "strcpy(x)" };
static const struct x { int a; } table[] = { { .a = 1 }, { 2 } };
#define MANY(a) \\
	do { \\
		f(a); \\
	} while (0)

struct y *item_find(int a, int (*cb)(int, int), int c, int d, int e)
{
	static const int zero = 0;

	FOREACH(&x->list) {
		if (a)
			for (;;)
				cb(a, '{');
		else if (c)
			snprintf(x, sizeof(x), "%s{", names[zero]);
	}
	do
		a--;
	while (a);
	switch (a) {
	case 1:
		return &(struct y){ .a = c, .b = { 1, 2 } };
	default:
		return NULL;
	}
}
"""
ERR_TABLE = SPDX + 'static const struct row rows[] = {\n\t[RYE_X] = { "x", EIO, true },\n};\n'
ROWS = SPDX + (
    '#define RYE_KINDS(ROW) ROW(TOOL, "tool", "tools", "Tool", RYE_KIND_RUNS | RYE_KIND_PROCESS) \\\n'
    '\tROW(KNOWLEDGE, "knowledge", "knowledge", "Knowledge", RYE_KIND_RUNS)\n'
    '#define RYE_VERBS(ROW) ROW(SIGN, "sign", 0, 0, prim_sign, "help")\n'
)
CTL_TABLE = SPDX + (
    "#define CTL_FILES(ENTER, VIEW, OWN) \\\n"
    '\tOWN(own_output, "output", RYE_KIND_RUNS, 0400, .help = "h")\n'
)
VERB_TABLE = SPDX + (
    "static const struct cli_verb verbs[] = {\n"
    '\t{ .name = "inner", .traits = CLI_HIDDEN, .run = a },\n\t{ .name = "keys", .run = b },\n};\n'
)
PATIENT = """until test -e file; do
  sleep 0.1
done
sleep 2 # the time is what is tried
fx_python "$P" t/nap <<'TOOL'
def execute(params, project):
    time.sleep(1)
TOOL
sleep 90 &
"""
TREE = {
    "tests/e2e/patience.sh": PATIENT,
    "engine/common/err.c": ERR_TABLE,
    "docs/errors.md": "| `x` | EIO | 1 | a |\n",
    "engine/include/rye/rows.h": ROWS,
    "fs/core/ctl.h": CTL_TABLE,
    "docs/files.md": "| `output` | 0400 | tool, knowledge | a |\n| `sign` | 0600 | b |\n| `spaces/` | c | d |\n",
    "engine/cli/doctor/clash.c": SPDX + "static const int a;\n",
    "engine/cli/verb/verb_table.c": VERB_TABLE,
    "docs/man/ryefs.1.scd": "ryefs(1)\n\n*wait*=_S_\n\n*keys*\n\tLists.\n",
    "fs/mount/mount_options.c": SPDX + 'static const struct row rows[] = {\n\t{ "wait=", OPT_WAIT },\n\t{ "rw", OPT_MOUNT8 },\n};\n',
    "engine/cli/mount_help.c": SPDX + 'static const char *const t[] = { "wait=SECONDS" };\n',
    "scripts/completion/ryefs.bash": "verbs='mount keys' options='ro wait='\n",
    "scripts/completion/_ryefs": "'keys:list'\n",
    "scripts/completion/ryefs.fish": "-a keys -d x\n",
    "engine/LAYERS": LAYERS,
    "fs/LAYERS": FS_LAYERS,
    "engine/include/rye/rye.h": SPDX
    + "#pragma once\nstruct rye_x;\ntypedef int (*rye_fn)(int);\nint rye_x_get(struct rye_x *x);\n",
    "engine/base/b.h": SPDX + '#pragma once\n#include "c.h"\n',
    "engine/item/a.h": SPDX + "#pragma once\n",
    "engine/item/item.h": SPDX + "#pragma once\nstruct rye_item {\n\tint refs;\n};\n",
    "engine/item/load.c": SPDX + "void f(void)\n{\n\tstruct rye_item *a = calloc(1, sizeof(*a));\n\n\ta->id = b;\n}\n",
    "engine/item/user.c": SPDX
    + "int use(const struct rye_item *a, struct rye_item **b)\n{\n\t*b = rye_item_ref(a);\n\treturn a->id == a->path;\n}\n",
    "engine/item/a.c": SPDX + GOOD,
    "engine/common/c.h": SPDX + "#pragma once\n#include <stdio.h>\n",
    "engine/item/tags.c": SPDX
    + "/* 8 items, two threads; docs/items.md */\nstruct door { int n; };\nstruct other;\n"
    + "int knock(const struct other *o)\n{\n}\n\nstatic int ring(void);\n",
    "fs/ring.c": SPDX + 'int ring(void)\n{\n}\nconst char *const s = "items 3.1";\n',
    "engine/common/scope.h": SPDX + "#pragma once\n#define GIVE(a) pthread_mutex_unlock(a)\n",
    "engine/cli/v.c": SPDX + '#include "base/b.h"\nstatic int knock(void)\n{\n}\n',
    "fs/core/node.h": SPDX + "#pragma once\n",
    "fs/core/node.c": SPDX + '#include "core/node.h"\n#include "c.h"\n#include <rye/rye.h>\n',
    "fs/main.c": SPDX + '#include "core/node.h"\n#include <rye/ryefs.h>\n',
    "tests/numbers": "items T01-T02\ntools 7-8\ntools 8 - not there yet\nmcp MCP01\nthreads T01-T02\nfaults F01\n",
    "tests/unit/meson.build": "  'item',\n",
    "tests/unit/test_item.c": SPDX
    + "static void T01_words(void **state)\n{\n}\n\nstatic void case_7_words(void **state)\n{\n}\n\n"
    "static void thread_F01_words(void **state)\n{\n}\n\n"
    "static const struct test tests[] = { test(T01_words), test(case_7_words), test(thread_F01_words) };\n",
    "tests/e2e/meson.build": "  'x',\n",
    "tests/e2e/x.sh": "is 'MCP01 words' a a\nhas 'T01 words' a a\n",
    "tests/table/meson.build": "  'x',\n",
    "tests/table/x.test": "# T02: words\ninput\n-\nanswer\n\n# thread T02: words\ninput\n-\nanswer\n",
    "docs/locks.md": "# Locks\n\n| lock | guards | in |\n|---|---|---|\n| node | nodes | `fs/core/made.c` |\n",
    "fs/core/made.c": SPDX + "void made(struct node *node)\n{\n\tpthread_mutex_init(&node->lock, NULL);\n}\n",
    "docs/a.md": "see [b](b.md#top) and [out](https://example.org)\n",
    "docs/b.md": "plain\n",
}


def f(body):
    return f"int f(void)\n{{\n{body}}}\n"


LONG = f("\ta();\n" * 58)
DEEP = f("\tif (a)\n\t\tfor (;;)\n\t\t\tif (b)\n\t\t\t\twhile (c)\n\t\t\t\t\td();\n")
DEEP_ELSE = f("\tif (a) {\n\t} else {\n\t\tL_(x) {\n\t\t\tif (b) {\n\t\t\t\tif (c)\n\t\t\t\t\td();\n\t\t\t}\n\t\t}\n\t}\n")

# (lint, file, text, what the lint must say)
BAD = [
    ("pauses", "tests/e2e/z.sh", "touch a\nsleep 2\ncat b\n", "z.sh:2: waits for a time"),
    ("pauses", "tests/e2e/z.py", "def f():\n    if a:\n        time.sleep(1)\n", "z.py:3: waits for a time"),
    ("pauses", "tests/unit/z.c", "void f(void)\n{\n\tusleep(100);\n}\n", "z.c:4: waits for a time"),
    ("sizes", "engine/item/z.c", LONG, "f has 61 lines"),
    ("sizes", "engine/item/z.c", "\n" * 800, "801 lines"),
    ("sizes", "engine/item/z.h", "\n" * 150, "151 lines"),
    ("sizes", "engine/base/base.h", "\n" * 320, "321 lines"),
    ("sizes", "engine/include/rye/z.h", "\n" * 250, "251 lines"),
    ("sizes", "engine/item/z.c", "int f(int a, int b, int c, int d, int e, int g, int h)\n{\n}\n", "7 parameters"),
    ("sizes", "engine/item/z.c", DEEP, "nests 5"),
    ("sizes", "engine/item/z.c", DEEP_ELSE, "nests 5"),
    ("sizes", "tests/unit/z.c", "".join(f"#include <h{i}.h>\n" for i in range(13)), "13 includes"),
    ("sizes", "scripts/size-exceptions", "fs/core/node.c too long\n", "not needed"),
    ("sizes", "scripts/size-exceptions", "fs/core/node.c\n", "no reason"),
    ("layers", "engine/base/z.c", '#include "item/a.h"\n', "base may include only: nothing"),
    ("layers", "engine/item/z.c", '#include "../base/b.h"\n', "goes up"),
    ("layers", "engine/item/z.c", '#include "a.h"\n', "not a path below engine"),
    ("layers", "engine/item/z.c", "#include <fuse_lowlevel.h>\n", "nothing of FUSE"),
    ("layers", "engine/new/z.c", "\n", "no line for new"),
    ("layers", "engine/cli/z.c", '#include "item/a.h"\n', "cli may include only: base"),
    ("layers", "engine/include/rye/z.h", '#include "base/b.h"\n', "includes only <...>"),
    ("layers", "engine/common/z.h", '#include "base/b.h"\n', "C library only"),
    ("layers", "engine/common/z.c", "#include <rye/ryefs.h>\n", "C library only"),
    ("layers", "engine/common/z.h", "#include <jansson.h>\n", "C library only"),
    ("banned", "engine/common/z.h", "int f(void);\n#define Z goto out\n", "goto"),
    ("layers", "fs/z.c", '#include "base/b.h"\n', "not a path below fs/"),
    ("layers", "fs/core/z.c", '#include "views/ctl.h"\n', "not a path below fs/"),
    ("layers", "fs/core/z.c", "#include <rye/ryefs.h>\n", "sees <rye/rye.h> only"),
    ("layers", "fs/z.c", '#include "../engine/base/b.h"\n', "goes up"),
    ("layers", "fs/z.c", "#include <rye/other.h>\n", "sees <rye/rye.h> only"),
    ("layers", "fs/z.c", "#include <jansson.h>\n", "no JSON"),
    ("locks", "fs/z.c", f("\t{\n\t\tGUARD(&a->lock);\n\t\tg();\n\t}\n\topen(a);\n\tGUARD(&a->lock);\n\tif (b)\n\t\tstat(a);\n"), "fs/z.c:11: f calls stat under a lock"),
    ("locks", "fs/z.c", f("\topen(a);\n") + f("\tGUARD(&a->lock);\n\tg();\n\tf();\n").replace("f(void)", "h(void)"), "h calls f under a lock (open)"),
    ("locks", "fs/z.c", f("\tGUARD(&a->lock);\n\tsqlite3_step(b);\n"), "f calls sqlite3_step under a lock"),
    ("locks", "fs/z.c", f("\tGUARD(&a->lock);\n\tcurl->multi_poll(b);\n"), "f calls curl->multi_poll under a lock"),
    ("locks", "fs/z.c", f("\tGUARD(&a->lock);\n\tb->done(c);\n"), "f calls by a pointer under a lock: ->done("),
    ("locks", "fs/z.c", f("\tpthread_mutex_init(&talk->lock, NULL);\n"), "fs/z.c:4: talk->lock: docs/locks.md has no row"),
    ("locks", "fs/core/made.c", "\n", "docs/locks.md: made.c of the row node makes no lock"),
    ("locks", "scripts/lock-exceptions", "fs/core/node.c:f old\n", "not needed"),
    ("layers", "engine/LAYERS", LAYERS.replace("base*:", "base*: item"), "does not stand above"),
    ("layers", "engine/LAYERS", LAYERS.replace("base*", "base"), "of base other rooms see base/base.h only"),
    ("layers", "engine/LAYERS", LAYERS.replace("cli/doctor*", "cli/doctor"), "cli/doctor: has 1 files, wanted 5 to 20"),
    ("layers", "engine/LAYERS", LAYERS.replace("cli*: base", "cli*: base item"), "cli does not include item"),
    ("banned", "engine/item/z.c", f("\tgoto out;\n"), "goto"),
    ("banned", "engine/item/z.c", f("\tpthread_mutex_unlock(&a);\n"), "wanted GUARD()"),
    ("banned", "fs/z.c", f("\tpthread_rwlock_unlock (&a);\n"), "wanted GUARD()"),
    ("banned", "engine/common/z.h", "static int f(void)\n{\n\tpthread_mutex_unlock(a);\n}\n", "wanted GUARD()"),
    ("banned", "engine/item/z.c", "int a; // b\n", "// comment"),
    ("banned", "engine/item/z.c", f("\tstrcpy(a, b);\n"), "strcpy()"),
    ("banned", "engine/item/z.c", f("\treturn system(a);\n"), "system()"),
    ("banned", "tests/unit/z.c", f("\tsprintf(a, b);\n"), "sprintf()"),
    ("banned", "engine/item/z.c", f("\texit(1);\n"), "exit()"),
    ("banned", "engine/item/z.c", "static int count;\n", "count is a mutable"),
    ("banned", "engine/item/z.c", "struct x *head = NULL;\n", "head is a mutable"),
    ("banned", "engine/item/z.c", 'static const char *name = "x";\n', "name is a mutable"),
    ("banned", "engine/item/z.c", "static int tab[2] = { 1, 2 };\n", "tab is a mutable"),
    ("banned", "engine/item/z.c", "static int (*hook)(void) = f;\n", "hook is a mutable"),
    ("banned", "engine/item/z.c", f("\tstatic int n;\n"), "n is a mutable"),
    ("banned", "engine/item/z.c", f("\tint a = 1;\n\tstatic char buf[9];\n"), "buf is a mutable"),
    ("banned", "engine/item/z.c", None, "SPDX"),
    ("items", "engine/item/z.c", "struct z { struct rye_item item; };\n", "makes room"),
    ("items", "engine/item/z.c", f("\tstruct rye_item item = { 0 };\n"), "makes room"),
    ("items", "engine/exec/z.c", f("\treturn g(&(struct rye_item){ .id = a });\n"), "makes room"),
    ("items", "engine/exec/z.c", f("\ta = malloc(sizeof(struct rye_item));\n"), "makes room"),
    ("items", "engine/exec/z.c", f("\tstruct rye_item *a = calloc(1, sizeof(*a));\n"), "allocates"),
    ("items", "engine/exec/z.c", f("\treturn g((struct rye_item *)b);\n"), "casts to"),
    ("items", "engine/z.c", "void f(struct rye_item *a)\n{\n\ta->text = b;\n}\n", "writes into"),
    ("items", "engine/z.c", "void f(struct rye_item **a)\n{\n\t(*a)->verdict.code = 0;\n}\n", "writes into"),
    ("symbols", "engine/include/rye/z.h", "struct rye_x *\nmake_x(int a);\n", "make_x does not begin"),
    ("header_alone", "engine/item/z.h", "struct z { size_t n; };\n", "does not compile alone"),
    ("header_alone", "engine/item/z.h", "struct z { int n; };\n", "does not compile alone"),
    ("header_alone", "fs/z.h", '#include "base/b.h"\n', "does not compile alone"),
    ("tables", "docs/errors.md", "| `x` | ENOENT | 1 | a |\n", "`x` is ENOENT, engine/common/err.c says EIO"),
    ("tables", "docs/errors.md", "plain\n", "has no row for `x`"),
    ("tables", "docs/errors.md", "| `x` | EIO | a |\n| `y` | EIO | a |\n", "`y` is not in"),
    ("tables", "docs/files.md", "| `output` | 0400 | tool | a |\n", "`output` is"),
    ("tables", "docs/files.md", "| `output` | 0400 | tool, knowledge | a |\n", "has no row for `sign`"),
    ("tables", "engine/include/rye/rows.h", 'ROW(FETCH, "fetch", 0, 0, prim_fetch, "h")\n', "has no row for `fetch`"),
    ("tables", "docs/man/ryefs.1.scd", "see *keys*\n", "no paragraph that begins with *keys*"),
    ("tables", "docs/man/ryefs.1.scd", "ryefs(1)\n\n*keys*\n\tLists.\n", "does not name the option *wait*"),
    ("tables", "engine/cli/mount_help.c", "int a;\n", "does not name the option wait"),
    ("tables", "scripts/completion/_ryefs", "keys-not\n", "does not know the verb keys"),
    ("numbers", "tests/numbers", "items T01-T02\ntools 7\nmcp MCP01\nthreads T01-T03\nfaults F01\n", "T03 of threads has no test"),
    ("numbers", "tests/numbers", "items T01-T02\ntools 7\nmcp MCP01\nthreads T01-T02\n", "F01 of faults is not in"),
    ("numbers", "tests/e2e/x.sh", "is 'MCP01 words' a a\n", "T01 of threads has no test named by it"),
    ("numbers", "tests/table/x.test", "# T02: words\ninput\n-\nanswer\n", "T02 of threads has no test"),
    ("numbers", "tests/numbers", "items T01-T03\ntools 7\nmcp MCP01\n", "T03 of items has no test named by it"),
    ("numbers", "tests/numbers", "items T01-T02\nmcp MCP01\n", "case 7 of tools is not in tests/numbers"),
    ("numbers", "tests/numbers", "items T01-T02\ntools 7\ntools 7 - why\nmcp MCP01\n", "case 7 of tools is left out"),
    ("numbers", "tests/numbers", "items T01-T02\ntools 7\ntools 8 - why\nmcp MCP01\n", "was not listed before"),
    ("numbers", "tests/numbers", "items 1\nTools 7\nmcp MCP01\n", "tests/numbers:2: wanted"),
    ("numbers", "tests/unit/test_item.c", "int f(void);\n", "case 7 of tools has no test named by it"),
    ("numbers", "tests/unit/test_item.c", "static void T01_a(void **state)\n{\n}\n", "T01 of items has no test"),
    ("numbers", "tests/unit/test_item.c", "static void case_7_to_8_a(void **s)\n{\n}\ncase_7_to_8_a\n", "one number"),
    ("numbers", "tests/unit/test_item.c", "static void thread_F01_F02_a(void **s)\n{\n}\nthread_F01_F02_a\n", "one number"),
    ("numbers", "tests/unit/test_item.c", "static void case_7(void **state)\n{\n}\ncase_7\n", "one number"),
    ("numbers", "tests/e2e/x.sh", "# MCP01 words\n", "MCP01 of mcp has no test named by it"),
    ("numbers", "tests/e2e/meson.build", "'other',\n", "MCP01_row is never run"),
    ("numbers", "tests/unit/meson.build", "'other',\n", "T01_words is never run"),
    ("numbers", "tests/table/x.test", "# T02: words\n\n# else\ninput\n-\nanswer\n", "T02 of items has no test"),
    ("names", "fs/a.c", "int f(void);\n", "a file of this name is in engine/item too"),
    ("names", "engine/base/node.h", "int f(void);\n", "a file of this name is in fs/core too"),
    ("names", "fs/z.c", "struct door { int n; };\n", "door: its tag is defined in engine/item/tags.c too"),
    ("names", "fs/z.h", "struct outer {\n\tunion door { int n; } a;\n};\n", "door: its tag is defined in"),
    ("names", "fs/z.h", "static inline int knock(void)\n{\n}\n", "knock: a function of this name"),
    ("names", "fs/z.c", "int knock(void)\n{\n\treturn 0;\n}\n", "knock: a function of this name"),
    ("comments", "engine/item/z.c", "/* As interface 6 has it. */\n", 'cites "interface 6"'),
    ("comments", "fs/z.h", "/* Milliseconds (tools 4.2). */\n", 'cites "tools 4.2"'),
    ("comments", "fs/z.c", "/*\n * What no-open\n * 3 says.\n */\n", 'cites "no-open 3"'),
    ("comments", "tests/unit/z.c", "/* docs: architecture.md section Locks */\n", 'cites "architecture.md section"'),
    ("comments", "fs/z.c", "/* Nobody waits for it. */\n", 'says "Nobody"'),
    ("comments", "engine/item/z.h", "/* The caller is the one\n * who ends it. */\n", 'says "who"'),
    ("docs", "docs/z.md", "[x](gone.md)\n", "not there"),
    ("docs", "docs/z.md", "see /home/someone/x\n", "one machine"),
]
if subprocess.run(["sh", HERE + "/format.sh", HERE + "/../.."], stdout=subprocess.PIPE, stderr=subprocess.PIPE).returncode != 77:
    BAD.append(("format", "engine/base/z.c", "int f(void) {\n  return 1; }\n", "clang-format"))


def write(root, path, text):
    full = os.path.join(root, path)
    os.makedirs(os.path.dirname(full), exist_ok=True)
    with open(full, "w", encoding="utf-8") as out:
        out.write(text)


@functools.cache
def code_of(script):
    with open(script, encoding="utf-8") as f:
        return compile(f.read(), script, "exec")


def be(script, args, out):
    """In a child: is that program, and ends."""
    code = 1
    try:
        os.dup2(out, 1)
        os.dup2(out, 2)
        sys.argv = [script, *args]
        exec(code_of(script), {"__name__": "__main__", "__file__": script})
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
        if isinstance(end.code, str):
            print(end.code)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def ran(script, *args):
    """Status of a lint, and what it said."""
    code_of(script)
    with tempfile.TemporaryFile("w+", encoding="utf-8") as out:
        sys.stdout.flush()
        child = os.fork()
        if not child:
            be(script, args, out.fileno())
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        out.seek(0)
        return status, out.read()


def run(lint, root):
    script = f"{HERE}/{lint}.py"
    if os.path.exists(script):
        return ran(script, root)
    r = subprocess.run(["sh", f"{HERE}/{lint}.sh", root], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return r.returncode, r.stdout


def plant(root):
    for path, text in TREE.items():
        write(root, path, text)


def check_good():
    with tempfile.TemporaryDirectory() as root:
        plant(root)
        for lint in sorted({b[0] for b in BAD} - {"format"}):
            code, out = run(lint, root)
            if code:
                yield f"{lint} refuses the good tree:\n{out}"


def restore(root, path):
    """The good tree again."""
    if path in TREE:
        write(root, path, TREE[path])
        return
    os.unlink(os.path.join(root, path))
    while (path := os.path.dirname(path)) and not os.listdir(os.path.join(root, path)):
        os.rmdir(os.path.join(root, path))


def check_bad():
    with tempfile.TemporaryDirectory() as root:
        plant(root)
        with open(HERE + "/../../.clang-format", encoding="utf-8") as style:
            write(root, ".clang-format", style.read())
        for lint, path, text, want in BAD:
            c_file = path.endswith((".c", ".h")) and text is not None
            write(root, path, (SPDX if c_file else "") + (text or "int a(void);\n"))
            code, out = run(lint, root)
            if code == 0 or want not in out:
                yield f"{lint} on {path}: wanted \"{want}\", exit {code}, said:\n{out}"
            restore(root, path)
        for lint in sorted({b[0] for b in BAD} - {"format"}):
            code, out = run(lint, root)
            if code:
                yield f"{lint} refuses the tree with no sample left in it:\n{out}"


def check_archive():
    """Writable data must show in an object file; constant tables must not."""
    with tempfile.TemporaryDirectory() as root:
        plant(root)
        text = "static int g;\nconst char *const t[] = { \"a\" };\nint *p(void) { return &g; }\n"
        write(root, "z.c", text)
        subprocess.run(["cc", "-fPIE", "-c", "z.c", "-o", "z.o"], cwd=root, check=True)
        out = ran(HERE + "/symbols.py", root, root + "/z.o")[1]
        if "g is writable data (.bss)" not in out or " t is" in out:
            yield f"symbols on an object file said:\n{out}"


WAITS = """\
struct node_class { const char *name; const struct node_class *aside; void (*fn)(void); };
void deep(void), usleep(unsigned);
static void step(void) { deep(); }
%s
void (*const ops_table[])(void) = { 0 };
const struct node_class *const all[] = { &x_class };
"""
WAITS_DEEP = "void usleep(unsigned us);\nvoid deep(void);\nvoid deep(void) { usleep(1); }\n"


def check_waits():
    """A way from a class's function, over two files, to a call that waits; none from its aside's."""
    aside = "static const struct node_class x_aside = { .fn = step };\n" \
            "static const struct node_class x_class = { .aside = &x_aside };"
    direct = "static const struct node_class x_class = { .fn = step };"
    for text, allowed, want in ((direct, "", "usleep <- deep <- step <- x_class"), (aside, "", ""),
                                (direct, "deep it naps\n", ""), (aside, "deep it naps\n", "deep is not needed")):
        with tempfile.TemporaryDirectory() as root:
            write(root, "fs/a.c", WAITS % text)
            write(root, "fs/b.c", WAITS_DEEP)
            write(root, "scripts/wait-exceptions", allowed)
            write(root, "z.a.p/empty", "")
            for name in "a", "b":
                cmd = ["cc", "-fPIC", "-Os", "-fno-inline", "-c", f"fs/{name}.c", "-o", f"z.a.p/{name}.c.o"]
                subprocess.run(cmd, cwd=root, check=True)
            subprocess.run(["ar", "rcT", "z.a", "z.a.p/a.c.o", "z.a.p/b.c.o"], cwd=root, check=True)
            code, out = ran(HERE + "/waits.py", root, root + "/z.a")
            if code != bool(want) or want not in out:
                yield f"waits: wanted \"{want}\", exit {code}, said:\n{out}"


# b stands above a: what a needs of b is a fault, be it declared in a header of neither
LINKS = {
    "engine/a/x.c": "int b_y(void), a_x(void);\nint a_x(void)\n{\n\treturn b_y();\n}\n",
    "engine/b/y.c": "int a_z(void), b_y(void);\nint b_y(void)\n{\n\treturn a_z();\n}\n",
    "engine/a/z.c": "int a_z(void);\nint a_z(void)\n{\n\treturn 1;\n}\n",
    "fs/z.c": "int %s(void), f(void);\nint f(void)\n{\n\treturn %s();\n}\n",
}


def plant_archives(root, front):
    for path, text in LINKS.items():
        write(root, path, text.replace("%s", front))
    write(root, "fs/LAYERS", ".:\n")
    archives = {"engine": ["a/x", "a/z", "b/y"], "fs": ["z"]}
    for top, names in archives.items():
        write(root, f"build/{top}/z.a.p/empty", "")
        made = [f"build/{top}/z.a.p/{name.replace('/', '_')}.c.o" for name in names]
        for name, obj in zip(names, made):
            subprocess.run(["cc", "-c", f"{top}/{name}.c", "-o", obj], cwd=root, check=True)
        subprocess.run(["ar", "rcT", f"build/{top}/z.a", *made], cwd=root, check=True)


def check_links():
    up, private = "engine/a needs b_y of engine/b, a higher room", "fs needs a_z of engine/a, which <rye/...> does not promise"
    asked = {
        "rye_f": (
            ("a:\nb: a\n", "", up), ("b:\na: b\n", "", "engine/b needs a_z of engine/a, a higher room"),
            ("a:\nb: a\n", "engine/a:b_y why\n", ""), ("a:\nb: a\n", "engine/a:b_* why\n", ""),
            ("a:\nb: a\n", "engine/a:b_* why\nengine/b:a_z why\n", "engine/b:a_z is not needed")),
        "a_z": (("a:\nb: a\n", "engine/a:b_y why\n", private),),
    }
    for front, rows in asked.items():
        with tempfile.TemporaryDirectory() as root:
            plant_archives(root, front)
            for layers, allowed, want in rows:
                write(root, "engine/LAYERS", layers)
                write(root, "scripts/link-exceptions", allowed)
                code, out = ran(HERE + "/links.py", root, root + "/build/engine/z.a", root + "/build/fs/z.a")
                if code != bool(want) or want not in out:
                    yield f"links: wanted \"{want}\", exit {code}, said:\n{out}"


def check_analyzers():
    """What each finds in a source that compiles: a variable that was never set, a null pointer."""
    text = "int f(int n);\n\nint f(int n)\n{\n\tint a, *b = 0;\n\n\tif (n)\n\t\treturn a;\n\treturn *b;\n}\n"
    for name, want in ("cppcheck", "engine/item/a.c:9:"), ("clang", "engine/item/a.c:10:"):
        with tempfile.TemporaryDirectory() as root:
            write(root, "engine/item/a.c", SPDX + text)
            row = {"directory": root + "/build", "file": "../engine/item/a.c", "command": "cc -c ../engine/item/a.c"}
            write(root, "build/compile_commands.json", json.dumps([row]))
            cmd = [sys.executable, HERE + "/analyze.py", root, root + "/build", name]
            env = dict(os.environ, XDG_CACHE_HOME=root + "/cache")
            r = subprocess.run(cmd, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            if r.returncode != 77 and (r.returncode != 1 or want not in r.stdout):
                yield f"analyze {name}: wanted {want}, exit {r.returncode}, said:\n{r.stdout}"


def check_remembered():
    """What clang had nothing to say of is looked at again when it changes, and not for a comment."""
    good, bad = "int f(int *b);\n\nint f(int *b)\n{\n\treturn b ? 1 : 2;\n}\n", "*b"
    steps = [(SPDX + good, 0, 1), (SPDX + "/* more */\n" + good, 0, 1),
             (SPDX + good.replace("2", bad), 1, 1), (SPDX + good.replace("2", bad), 1, 1),
             (SPDX + good.replace("2", "3"), 0, 2)]
    with tempfile.TemporaryDirectory() as root:
        row = {"directory": root + "/build", "file": "../engine/item/a.c", "command": "cc -c ../engine/item/a.c"}
        write(root, "build/compile_commands.json", json.dumps([row]))
        env = dict(os.environ, XDG_CACHE_HOME=root + "/cache")
        for n, (text, code, marks) in enumerate(steps):
            write(root, "engine/item/a.c", text)
            cmd = [sys.executable, HERE + "/analyze.py", root, root + "/build", "clang"]
            r = subprocess.run(cmd, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            if r.returncode == 77:
                return
            left = len(os.listdir(root + "/cache/ryefs-analyze"))
            if (r.returncode, left) != (code, marks):
                yield f"analyze clang, step {n}: exit {r.returncode}, {left} marks, said:\n{r.stdout}"


def main():
    faults = list(check_good()) + list(check_archive()) + list(check_waits()) + list(check_links())
    faults += list(check_analyzers()) + list(check_remembered())
    faults += check_bad()
    for fault in faults:
        print(fault)
    print(f"{len(BAD)} bad samples, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
