# SPDX-License-Identifier: MIT
"""layers.py ROOT: every #include keeps to engine/LAYERS; the front and the verbs
see of the engine only <rye/...> (the verbs base/ too); engine/common/, which both may use, sees
itself and the C library only."""

import os
import re
import sys

import cscan

# who may use which third-party headers: the front knows no formats, the engine no FUSE
FRONT_FOREIGN = re.compile(r"^(jansson|sqlite3|yaml|expat|sodium|pcre2|openssl/.*|curl/.*)(\.h)?$")
ENGINE_FOREIGN = re.compile(r"^(fuse.*|linux/fuse\.h)$")


def read_layers(root):
    layers = {}
    for n, line in enumerate(cscan.read(root, "engine/LAYERS").splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        name, colon, allowed = line.partition(":")
        if not colon:
            sys.exit(f"engine/LAYERS:{n}: wanted \"dir: dirs it may include\"")
        layers[name.strip()] = set(allowed.split())
    return layers


def layer_faults(layers):
    """A layer may name only layers that are there and that never lead back to it."""
    for name, allowed in layers.items():
        reach, todo = set(), list(allowed)
        while todo:
            d = todo.pop()
            if d not in layers:
                yield f"engine/LAYERS: {name} names {d}, which has no line"
            elif d not in reach:
                reach.add(d)
                todo += layers[d]
        if name in reach:
            yield f"engine/LAYERS: {name} may include itself in a circle"


def dir_of(path):
    """engine/item/x.c -> item, engine/engine.c -> ."""
    parts = path.split("/")
    return parts[1] if len(parts) > 2 else "."


def is_common(root, name):
    return os.path.exists(os.path.join(root, "engine/common", name))


def check_common(root, path, text):
    """Neither side's headers: what both use must not carry one over to the other."""
    for line, quoted, name in cscan.includes(text):
        foreign = name.startswith(("rye/", "fuse")) or FRONT_FOREIGN.match(name)
        if (quoted and not is_common(root, name)) or foreign:
            yield f"{path}:{line}: includes {name}: engine/common/ sees the C library only"


def check_quoted(root, path, name, layers):
    here = dir_of(path)
    target = dir_of("engine/" + name)
    if ".." in name.split("/"):
        return "goes up with .."
    if is_common(root, name):
        return None
    if not os.path.exists(os.path.join(root, "engine", name)):
        return "is not a path below engine/"
    if target != here and target not in layers[here]:
        return f"{here} may include only: {' '.join(sorted(layers[here])) or 'nothing'} (engine/LAYERS)"
    return None


def check_engine(root, path, text, layers):
    here = dir_of(path)
    if here not in layers and here != "include":
        yield f"{path}: engine/LAYERS has no line for {here}"
        return
    for line, quoted, name in cscan.includes(text):
        why = None
        if here == "include":
            why = "a public header includes only <...>" if quoted else None
        elif quoted:
            why = check_quoted(root, path, name, layers)
        if not quoted and ENGINE_FOREIGN.match(name):
            why = "the engine knows nothing of FUSE"
        if why:
            yield f'{path}:{line}: includes {name}: {why}'


def check_front(root, path, text):
    for line, quoted, name in cscan.includes(text):
        why = None
        if quoted and ".." in name.split("/"):
            why = "goes up with .."
        elif quoted and not (is_common(root, name) or os.path.exists(os.path.join(root, "fs", name))):
            why = "is not a header of fs/ (of the engine the front sees <rye/rye.h> only)"
        elif not quoted and name.startswith("rye/") and name != "rye/rye.h":
            if not (name == "rye/cli.h" and path == "fs/main.c"):
                why = "the front sees <rye/rye.h> only"
        elif not quoted and FRONT_FOREIGN.match(name):
            why = "the front knows no item format, no JSON, no SQL"
        if why:
            yield f"{path}:{line}: includes {name}: {why}"


def main(root):
    layers = read_layers(root)
    faults = list(layer_faults(layers))
    for path in cscan.sources(root, ("engine", "fs")):
        text = cscan.read(root, path)
        if path.startswith("engine/common/"):
            faults += check_common(root, path, text)
        elif path.startswith("engine/"):
            faults += check_engine(root, path, text, layers)
        else:
            faults += check_front(root, path, text)
    return cscan.finish(faults)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
