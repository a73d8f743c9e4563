# SPDX-License-Identifier: MIT
"""fresh.py MNT SYSTEM ROUNDS [HOW]: what the merged trees show right after a change through the mount.

Each case makes a change and reads at once, ROUNDS times, once in the process that made the change and
once in another one; every read of what was before is counted. Nothing waits and nothing is timed.
HOW is told; "beside renames": other processes rename files of spaces/ into the merged tree meanwhile,
which fails, but each one holds the merged directory's lock while it waits for the other directory's.
"""
import errno, json, os, signal, subprocess, sys

MNT, SYSTEM, ROUNDS = sys.argv[1], sys.argv[2], int(sys.argv[3])
HOW = (sys.argv[4:] or [""])[0]
HERE = MNT + "/spaces/project/knowledge/"
SEEN = MNT + "/knowledge/"


def look(what, path):
    """What a process sees there, as text: bytes, names, where a link leads; or the name of the errno."""
    try:
        if what == "read":
            with open(path) as f:
                return f.read()
        if what == "list":
            return " ".join(sorted(os.listdir(path)))
        return os.readlink(path)
    except OSError as e:
        return errno.errorcode[e.errno]


def serve():
    for line in sys.stdin:
        print(json.dumps(look(*json.loads(line))), flush=True)


class Other:
    """A process that only looks."""

    def __init__(self):
        self.child = subprocess.Popen([sys.executable, __file__, MNT, SYSTEM, "0"], text=True,
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __call__(self, what, path):
        print(json.dumps([what, path]), file=self.child.stdin, flush=True)
        return json.loads(self.child.stdout.readline())

    def end(self):
        self.child.stdin.close()
        self.child.wait()


def write(path, text):
    with open(path, "w") as f:
        f.write(text)


def item(ref, words):
    name = os.path.basename(ref)
    return (f'```yaml\nname: "{name}"\ntitle: t\nversion: "1.0.0"\nentry_type: reference\n```\n\n'
            f"{words}\n")


def signed(name, words):
    """The bytes of the item once it is signed; it is left as it is then."""
    write(HERE + name + ".md", item(name, words))
    sign_item(name)
    return look("read", HERE + name + ".md")


def versions(name):
    return [signed(name, "odd words"), signed(name, "even words")]


def sign_item(ref):
    write(MNT + "/sign", json.dumps({"item_id": "knowledge:" + ref}) + "\n")


WORDS = ["odd words", "even words"]


# ---- cases: a change of round i, then the names of what was stale ----

def edit(i, see, v):
    write(HERE + "edit.md", v[i % 2])
    return WORDS[i % 2] in see("read", SEEN + "edit.md")


def pieces(i, see, v):
    half = len(v[0]) // 2
    with open(HERE + "pieces.md", "w") as f:
        f.write(v[i % 2][:half])
        f.flush()
        see("read", SEEN + "pieces.md")
        f.write(v[i % 2][half:])
    return WORDS[i % 2] in see("read", SEEN + "pieces.md")


def save(i, see, v):
    write(HERE + "save.tmp", v[i % 2])
    os.rename(HERE + "save.tmp", HERE + "save.md")
    return WORDS[i % 2] in see("read", SEEN + "save.md")


def backup(i, see, v):
    os.rename(HERE + "backup.md", HERE + "backup.md~")
    write(HERE + "backup.md", v[i % 2])
    os.unlink(HERE + "backup.md~")
    return WORDS[i % 2] in see("read", SEEN + "backup.md")


# Each of these leaves the file with another name than the daemon opened it by, then writes in place.

def in_place(name, i, see, v):
    see("read", SEEN + name)
    write(HERE + name, v[i % 2])
    return WORDS[i % 2] in see("read", SEEN + name)


def relinked(i, see, v):
    os.link(HERE + "relinked.md", HERE + "relinked.tmp")
    os.unlink(HERE + "relinked.md")
    os.link(HERE + "relinked.tmp", HERE + "relinked.md")
    os.unlink(HERE + "relinked.tmp")
    return in_place("relinked.md", i, see, v)


def exclusive(i, see, v):
    os.unlink(HERE + "exclusive.md")
    write(HERE + "exclusive.tmp", v[1 - i % 2])
    os.link(HERE + "exclusive.tmp", HERE + "exclusive.md")
    os.unlink(HERE + "exclusive.tmp")
    return in_place("exclusive.md", i, see, v)


def forced(i, see, v):
    """As ln -f replaces."""
    write(HERE + "forced.new", v[1 - i % 2])
    os.link(HERE + "forced.new", HERE + "forced.tmp")
    os.rename(HERE + "forced.tmp", HERE + "forced.md")
    os.unlink(HERE + "forced.new")
    return in_place("forced.md", i, see, v)


def doubled(i, see, v):
    """As cp -l copies; written by the name that came later."""
    see("read", SEEN + "doubled.md")
    os.link(HERE + "doubled.md", HERE + "doubled.too")
    write(HERE + "doubled.too", v[i % 2])
    fresh = WORDS[i % 2] in see("read", SEEN + "doubled.md")
    os.unlink(HERE + "doubled.too")
    return fresh


def dotted(i, see, v):
    """A name that begins with a dot shows nowhere else."""
    write(HERE + ".dotted", v[1 - i % 2])
    os.rename(HERE + ".dotted", HERE + "dotted.md")
    return in_place("dotted.md", i, see, v)


def refused(i, see, v):
    """A file becomes a link to its reason, and a file again; so do the views in its directory."""
    fresh = True
    for text, good in ((v[0].replace("odd", "bad"), False), (v[0], True)):
        write(HERE + "refused.md", text)
        fresh = fresh and (see("read", SEEN + "refused.md") == "EACCES") != good
        fresh = fresh and see("link", SEEN + "refused.md").startswith(".why/") != good
        fresh = fresh and see("read", SEEN + "refused/verify").startswith("ok ") == good
        fresh = fresh and ('"verdict": "ok"' in see("read", SEEN + "refused/info.json")) == good
    return fresh


def sign(i, see, v):
    write(HERE + "sign.md", item("sign", f"words of round {i}."))
    sign_item("sign")
    return (f"round {i}." in see("read", SEEN + "sign.md")
            and see("read", SEEN + "sign/verify").startswith("ok "))


def sign_many(i, see, v):
    names = ["many_a", "many_b", "many_c"]
    for name in names:
        write(HERE + f"{name}.md", item(name, f"words of round {i}."))
        see("read", SEEN + f"{name}.md")
    sign_item("many_*")
    return all(f"round {i}." in see("read", SEEN + f"{name}.md") for name in names)


def unlink(i, see, v):
    """Below it lies the system's."""
    write(HERE + "lower.md", v[0])
    above = "odd words" in see("read", SEEN + "lower.md")
    os.unlink(HERE + "lower.md")
    return above and "lower words" in see("read", SEEN + "lower.md")


def new(i, see, v):
    """Its name and its directory are known not to be there, and are so again afterwards."""
    name = "new"
    fresh = see("read", SEEN + f"{name}.md") == "ENOENT" and name not in see("list", SEEN[:-1])
    write(HERE + f"{name}.md", v[i % 2])
    fresh = fresh and WORDS[i % 2] in see("read", SEEN + f"{name}.md")
    fresh = fresh and f"{name}.md" in see("list", SEEN[:-1])
    fresh = fresh and "verify" in see("list", SEEN + name)
    os.unlink(HERE + f"{name}.md")
    fresh = fresh and f"{name}.md" not in see("list", SEEN[:-1])
    return fresh and see("read", SEEN + f"{name}.md") == "ENOENT"


def moved(i, see, v):
    """A directory of items gets another name; what was signed under the old one is refused."""
    a, b = ("here", "there") if i % 2 else ("there", "here")
    os.rename(HERE + a, HERE + b)
    now = see("read", SEEN + f"{b}/deep.md")
    return (see("read", SEEN + f"{a}/deep.md") == "ENOENT"
            and ("odd words" in now if b == "there" else now == "EACCES"))


def count(case, v, see):
    if case is moved and os.path.exists(HERE + "here"):
        os.rename(HERE + "here", HERE + "there")
    return sum(not case(i, see, v) for i in range(ROUNDS))


def prepared(case):
    """What it writes in turn."""
    v = versions("lower" if case is unlink else case.__name__)
    if case is unlink:
        write(SYSTEM + "/lower.md", signed("lower", "lower words"))
    if case is new:
        os.unlink(HERE + "new.md")
    return v


def tell(n, stale, what):
    print(f"{'not ' if stale else ''}ok {n} - {what}: {stale} of {ROUNDS} stale")


class Renames:
    """Processes that do nothing else, until they are ended or this one is gone."""

    def __enter__(self):
        parent = os.getpid()
        self.pids = [os.fork() for _ in range(3)]
        if 0 in self.pids:
            while os.getppid() == parent:
                try:
                    os.rename(HERE + "none.md", SEEN + "none.md")
                except OSError:
                    pass
            os._exit(0)

    def __exit__(self, *_):
        for pid in self.pids:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def beside_renames():
    for n, case in enumerate((backup, unlink, new)):
        v = prepared(case)
        for k, (who, see) in enumerate((("the same process", look), ("another process", Other()))):
            with Renames():
                stale = count(case, v, see)
            tell(2 * n + k + 1, stale, f"{case.__name__} beside renames, seen by {who}")
            if see is not look:
                see.end()


def main():
    n = 0
    if not {"here", "there"} & set(os.listdir(HERE)):
        os.mkdir(HERE + "there")
        write(HERE + "there/deep.md", item("deep", "odd words"))
        sign_item("there/deep")
    for case in (edit, pieces, save, backup, relinked, exclusive, forced, doubled, dotted, refused, sign, sign_many, unlink, new, moved):
        v = prepared(case)
        for who, see in (("the same process", look), ("another process", Other())):
            stale = count(case, v, see)
            n += 1
            tell(n, stale, f"{case.__name__} {HOW}, seen by {who}")
            if see is not look:
                see.end()


if not ROUNDS:
    serve()
elif HOW == "beside renames":
    beside_renames()
else:
    main()
