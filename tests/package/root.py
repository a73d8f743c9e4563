#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""root.py DIR DEB: makes DIR a root directory with what Debian calls essential and what DEB depends on and recommends,
and nothing else: the files of those packages as this machine has installed them, with a database for dpkg. It is what
debootstrap and apt would make of the same packages, without a network. A dependency that is not installed here
ends it with 77."""

import os
import re
import subprocess
import sys

STATUS = "/var/lib/dpkg/status"
UNREAD = ("/usr/share/doc", "/usr/share/man", "/usr/share/locale", "/usr/share/info")
MERGED = ("bin", "lib", "lib32", "lib64", "libx32", "sbin")


def stanzas():
    with open(STATUS, encoding="utf-8") as stream:
        for text in stream.read().split("\n\n"):
            fields = dict(re.findall(r"^([\w-]+): (.*(?:\n .*)*)", text, re.M))
            if fields.get("Status", "").endswith(" installed"):
                yield fields["Package"], fields, text


def wanted(text):
    """One list of alternatives for each dependency."""
    for part in filter(None, re.split(r",\s*", text or "")):
        yield [re.sub(r"[\s(:].*", "", name.strip()) for name in part.split("|")]


def closure(deb, known, provided):
    control = subprocess.run(("dpkg-deb", "-f", deb), check=True, capture_output=True, text=True).stdout
    fields = dict(re.findall(r"^([\w-]+): (.*)", control, re.M))
    left = [[name] for name, (its, _) in known.items() if its.get("Essential") == "yes"]
    for field in ("Depends", "Recommends"):
        left += wanted(fields.get(field))
    chosen = set()
    while left:
        names = left.pop()
        found = next((provided[n] for n in names if n in provided), None)
        if not found:
            print(f"not installed here: {' | '.join(names)}")
            sys.exit(77)
        if found not in chosen:
            chosen.add(found)
            for field in ("Pre-Depends", "Depends"):
                left += wanted(known[found][0].get(field))
    return chosen


def files_of(name, arch):
    for path in (f"/var/lib/dpkg/info/{name}.list", f"/var/lib/dpkg/info/{name}:{arch}.list"):
        if os.path.exists(path):
            with open(path, encoding="utf-8") as stream:
                return path, stream.read().splitlines()
    sys.exit(f"no list of the files of {name}")


def main(root, deb):
    known = {name: (fields, text) for name, fields, text in stanzas()}
    provided = {}
    for name, (fields, _) in known.items():
        for alternatives in wanted(fields.get("Provides")):
            provided.setdefault(alternatives[0], name)
    provided.update({name: name for name in known})
    chosen = sorted(closure(deb, known, provided))
    for path in ("usr", "etc", "tmp", "proc", "dev", "sys", "root", "run", "var/lib/dpkg/info", "var/lib/dpkg/updates"):
        os.makedirs(f"{root}/{path}", exist_ok=True)
    for name in MERGED:
        if os.path.islink("/" + name):
            os.makedirs(f"{root}/usr/{name}", exist_ok=True)
            os.symlink(f"usr/{name}", f"{root}/{name}")
    paths = set()
    for name in chosen:
        source, lines = files_of(name, known[name][0]["Architecture"])
        paths |= {real(line) for line in lines if line not in ("/.", "") and not line.startswith(UNREAD)}
        with open(f"{root}/var/lib/dpkg/info/{os.path.basename(source)}", "w", encoding="utf-8") as stream:
            stream.write("\n".join(lines) + "\n")
    paths = sorted(path for path in paths if os.path.lexists(path))
    copy = subprocess.Popen(("tar", "-C", "/", "--no-recursion", "-cf", "-", "-T", "-"), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    into = subprocess.Popen(("tar", "-C", root, "--keep-directory-symlink", "-xpf", "-"), stdin=copy.stdout)
    copy.stdin.write("\n".join(path.lstrip("/") for path in paths).encode())
    copy.stdin.close()
    if into.wait() or copy.wait():
        sys.exit("the files could not be copied")
    with open(f"{root}/var/lib/dpkg/status", "w", encoding="utf-8") as stream:
        stream.write("\n\n".join(known[name][1].strip() for name in chosen) + "\n\n")
    # what maintainers' scripts would have made
    for path, target in (("usr/bin/sh", "dash"), ("etc/passwd", None), ("etc/group", None)):
        if target and not os.path.lexists(f"{root}/{path}"):
            os.symlink(target, f"{root}/{path}")
        elif not target:
            with open(f"{root}/{path}", "w", encoding="utf-8") as stream:
                stream.write("root:x:0:0:root:/root:/bin/sh\n" if path == "etc/passwd" else "root:x:0:\n")
    os.chmod(f"{root}/tmp", 0o1777)
    os.symlink("../proc/self/mounts", f"{root}/etc/mtab")
    subprocess.run(("ldconfig", "-r", root), check=True, env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"})
    print(len(chosen), "packages")


def real(path):
    """Below /usr where the top directories are links there."""
    top = path.split("/")[1]
    return "/usr" + path if top in MERGED and os.path.islink("/" + top) else path


main(*sys.argv[1:])
