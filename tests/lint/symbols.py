# SPDX-License-Identifier: MIT
"""symbols.py ROOT [ARCHIVE...]: functions of the public headers begin with rye_;
the archives hold no writable data (objdump sees what the banned lint may miss)."""

import re
import subprocess
import sys

import cscan

FUNCTION = re.compile(r"([A-Za-z_]\w*)\s*\(")
# SYMBOL lines of objdump -t: value, seven flag columns, section, size, name
OBJECT = re.compile(r"^[0-9a-f]+ .{6}O (\S+)\s+([0-9a-f]+) (?:\.hidden )?(\S+)$")
WRITABLE = re.compile(r"^(\.data(?!\.rel\.ro)|\.bss|\.tdata|\.tbss|\*COM\*)")
TOOLS_OWN = re.compile(r"^(__gcov|__llvm|__asan|__tsan|__sancov|__sanitizer|__ubsan|\.L|llvm\.)")


def public_functions(code):
    """(line, name) of what a header declares; inline definitions too."""
    for kind, *what in cscan.declarations(code):
        if kind == "function":
            yield what[0].first, what[0].name
            continue
        head, line = what
        head = re.sub(r"__attribute__\s*\(\(.*?\)\)|\{\}", " ", head, flags=re.S)
        if re.match(r"\s*(typedef|_Static_assert|struct\s+\w+\s*$|enum\s+\w*\s*$|extern\s+\"C\")", head):
            continue
        m = FUNCTION.search(head)
        if m:
            yield line, m[1]


def check_headers(root):
    for path in cscan.sources(root, ("engine/include",), (".h",)):
        for line, name in public_functions(cscan.blank(cscan.read(root, path))):
            if not name.startswith("rye_"):
                yield f"{path}:{line}: public function {name} does not begin with rye_"


def excused_names(root):
    rows = cscan.Exceptions(root, "scripts/banned-exceptions").rows
    return {k.rpartition(":")[2] for k in rows}


def check_archive(root, archive):
    out = subprocess.run(["objdump", "-t", archive], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    member, excused = "?", excused_names(root)
    for line in out.stdout.splitlines():
        m = re.match(r"^(\S+):\s+file format", line)
        if m:
            member = m[1]
        m = OBJECT.match(line)
        name = re.sub(r"\.\d+$", "", m[3]) if m else ""
        if m and WRITABLE.match(m[1]) and not TOOLS_OWN.match(name) and name not in excused:
            yield f"{member}: {name} is writable data ({m[1]})"


def main(root, archives):
    faults = list(check_headers(root))
    for a in archives:
        faults += check_archive(root, a)
    return cscan.finish(faults)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
