# SPDX-License-Identifier: MIT
"""header_alone.py ROOT CC...: each header compiles by itself, and twice, with the
include path of its layer and no other."""

import concurrent.futures
import os
import subprocess
import sys

import cscan

PACKAGES = "fuse3 jansson libsodium libcrypto sqlite3 yaml-0.1 expat libpcre2-8 cmocka".split()
OPTIONAL = {"engine/board/board_pq.h": "libpq"}
FLAGS = "-fsyntax-only -x c -std=gnu11 -Wall -Werror -D_GNU_SOURCE -DFUSE_USE_VERSION=314".split()


def package_flags():
    flags = []
    for p in PACKAGES + list(OPTIONAL.values()):
        r = subprocess.run(["pkg-config", "--cflags", p], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        flags += r.stdout.split()
    return sorted(set(flags))


def there(package):
    return not subprocess.run(["pkg-config", "--exists", package]).returncode


def include_path(path):
    dirs = ["engine/common", "engine/include"]
    if path.startswith("engine/include/"):
        dirs.remove("engine/common")
    elif path.startswith("engine/"):
        dirs.append("engine")
    elif path.startswith("fs/"):
        dirs.append("fs")
    elif path.startswith("tests/"):
        dirs += ["engine", "fs", "tests"]
    return [f"-I{d}" for d in dirs]


def compile_alone(root, cc, flags, path):
    twice = f'#include "./{path}"\n' * 2
    cmd = cc + FLAGS + flags + include_path(path) + ["-iquote", ".", "-DRYE_VERSION=\"0\"", "-"]
    r = subprocess.run(cmd, input=twice, cwd=root, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return f"{path}: does not compile alone:\n{r.stdout}" if r.returncode else None


def main(root, cc):
    flags = package_flags()
    headers = [h for h in cscan.sources(root, ext=(".h",)) if h not in OPTIONAL or there(OPTIONAL[h])]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        found = pool.map(lambda h: compile_alone(root, cc, flags, h), headers)
        return cscan.finish([f for f in found if f])


if __name__ == "__main__":
    # a store of compiled objects has no use for what is not compiled
    sys.exit(main(sys.argv[1], [word for word in sys.argv[2:] if os.path.basename(word) != "ccache"] or ["cc"]))
