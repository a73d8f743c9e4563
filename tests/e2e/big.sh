#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Many names, many readers, changes meanwhile: every name once, every file whole, all forgotten.
. "$(dirname "$0")/lib.sh"

MANY=${RYE_TEST_MANY:-4000}
mkdir -p "$P/.ai/knowledge/many" "$P/.ai/knowledge/hot"
python3 - "$P/.ai/knowledge/many" "$MANY" <<'PY'
import sys
for i in range(int(sys.argv[2])):
    open("%s/item-%05d.md" % (sys.argv[1], i), "w").write("text %d\n" % i)
PY
for i in 1 2 3 4 5 6; do put "knowledge/hot/h$i.md" "start"; done
mount_rye devmode
scanned
base=$(stat_of alive)

is "every name, once" "$(ls -U "$M/knowledge/many" | sort -u | wc -l) $(ls -U "$M/knowledge/many" | wc -l)" "$MANY $MANY"

cat >"$T/dirs.py" <<'PY'
import ctypes, os, sys, threading
libc = ctypes.CDLL(None, use_errno=True)
for f, r, a in (("opendir", ctypes.c_void_p, [ctypes.c_char_p]), ("readdir", ctypes.c_void_p, [ctypes.c_void_p]),
                ("telldir", ctypes.c_long, [ctypes.c_void_p]), ("seekdir", None, [ctypes.c_void_p, ctypes.c_long]),
                ("closedir", ctypes.c_int, [ctypes.c_void_p])):
    getattr(libc, f).restype, getattr(libc, f).argtypes = r, a
def name(e): return ctypes.string_at(e + 19).decode()
def offsets(d):
    h = libc.opendir(d.encode()); seen = []
    while True:
        pos = libc.telldir(h); e = libc.readdir(h)
        if not e: break
        seen.append((pos, name(e)))
    for pos, n in seen[::61] + seen[-3:]:
        libc.seekdir(h, pos); e = libc.readdir(h)
        assert name(e) == n, (pos, n, name(e))
        rest = 1
        while libc.readdir(h): rest += 1
        assert rest == len(seen) - seen.index((pos, n))
    libc.closedir(h)
    return len(seen)
def raw(d, step):
    # getdents with the smallest buffers, the offset remembered by hand, a new descriptor each time
    got, off = [], 0
    while True:
        fd = os.open(d, os.O_RDONLY | os.O_DIRECTORY)
        os.lseek(fd, off, 0)
        buf = ctypes.create_string_buffer(step)
        n = libc.syscall(217, fd, buf, step)
        os.close(fd)
        assert n >= 0
        if n == 0: return got
        at = 0
        while at < n:
            off = int.from_bytes(buf.raw[at + 8:at + 16], "little")
            reclen = int.from_bytes(buf.raw[at + 16:at + 18], "little")
            got.append(buf.raw[at + 19:at + reclen].split(b"\0")[0].decode()); at += reclen
what, d = sys.argv[1], sys.argv[2]
if what == "offsets":
    print(offsets(d))
elif what == "raw":
    got = raw(d, int(sys.argv[3])); assert len(got) == len(set(got)); print(len(got))
elif what == "churn":
    # names that stay are met once by every reader, whatever comes and goes
    src, stay = sys.argv[3], None
    stay = set(n for n in os.listdir(d) if n.startswith("item-"))
    stop = threading.Event()
    def change():
        i = 0
        while not stop.is_set():
            p = "%s/extra-%d.md" % (src, i % 50); i += 1
            try: os.unlink(p)
            except FileNotFoundError: open(p, "w").write("x")
    t = threading.Thread(target=change); t.start()
    try:
        for _ in range(15):
            got = [n for n in raw(d, 4096)]
            items = [n for n in got if n.startswith("item-")]
            assert len(items) == len(set(items)) and set(items) == stay, (len(items), len(set(items)), len(stay))
    finally:
        stop.set(); t.join()
PY
is "seekdir to any place" "$(timeout 60 python3 "$T/dirs.py" offsets "$M/knowledge/many")" $((MANY + 2))
is "small pieces, a new descriptor for each" "$(timeout 60 python3 "$T/dirs.py" raw "$M/knowledge/hot" 64)" 8
is "pieces of a page" "$(timeout 60 python3 "$T/dirs.py" raw "$M/knowledge/many" 4096)" $((MANY + 2))
ok "while names come and go, those that stay are met once" timeout 60 python3 "$T/dirs.py" churn "$M/knowledge/many" "$P/.ai/knowledge/many"

# ---- nobody sees half of one version and half of another ----
cat >"$T/hot.py" <<'PY'
import os, random, sys, threading, time
M, B = sys.argv[1], sys.argv[2]
stop = threading.Event(); bad = []; reads = [0]; seen = {}
def writer(k):
    n = 0
    while not stop.is_set():
        n += 1
        text = ("%s %06d\n" % (k, n)) * random.randint(1, 3000)
        tmp = "%s/.%s.tmp" % (B, k)
        with open(tmp, "w") as f: f.write(text)
        os.rename(tmp, "%s/%s.md" % (B, k))
        time.sleep(random.random() * 0.01)
def reader():
    while not stop.is_set():
        k = "h%d" % random.randint(1, 6)
        try:
            fd = os.open("%s/%s.md" % (M, k), os.O_RDONLY)
        except OSError as e:
            bad.append(("open", k, e)); return
        size = os.fstat(fd).st_size; data = b""
        while True:
            piece = os.read(fd, random.choice((100, 4096, 65536)))
            if not piece: break
            data += piece
        if len(data) != size or os.fstat(fd).st_size != size or len(set(data.split(b"\n")[:-1])) > 1:
            bad.append((k, size, len(data), set(data.split(b"\n"))))
        os.close(fd); reads[0] += 1
ts = [threading.Thread(target=writer, args=("h%d" % i,)) for i in range(1, 7)] + [threading.Thread(target=reader) for _ in range(6)]
[t.start() for t in ts]
time.sleep(float(sys.argv[3]))  # so long
stop.set(); [t.join() for t in ts]
assert not bad, bad[:3]
assert reads[0] > 50, reads
end = time.time() + 5
for i in range(1, 7):
    while open("%s/h%d.md" % (M, i)).read() != open("%s/h%d.md" % (B, i)).read():
        assert time.time() < end, "stale: h%d" % i
        time.sleep(0.005)
PY
ok "files rewritten under six readers are always whole, and fresh in the end" timeout 60 python3 "$T/hot.py" "$M/knowledge/hot" "$P/.ai/knowledge/hot" "${RYE_TEST_HOT:-4}"

# ---- a file too big to be fetched by a listing, changed before anybody has read it ----
big() { python3 -c "print(('%s\n' % '$1') * $2, end='')"; }
big first 60000 >"$P/.ai/knowledge/hot/large.md"
ok "a big file" until_true test -f "$M/knowledge/hot/large.md"
ls -l "$M/knowledge/hot" >/dev/null
for n in 100000 3 70000; do
  ls -l "$M/knowledge/hot" >/dev/null
  exec 5<"$M/knowledge/hot/large.md"
  big "round$n" $n >"$P/.ai/knowledge/hot/large.md.new"
  mv "$P/.ai/knowledge/hot/large.md.new" "$P/.ai/knowledge/hot/large.md"
  like "opened before it changed to $n lines, it is of one piece or stale" \
    "$(sort -u <&5 2>&1 | sed 's/^sort: .*Stale file handle$/stale/' | wc -l)" '^1$'
  exec 5<&-
  ok "and then it is the new one" until_true cmp "$M/knowledge/hot/large.md" "$P/.ai/knowledge/hot/large.md"
done

# ---- a link whose target lies elsewhere: nobody tells of its changes ----
put "knowledge/real.md" "one"
ln -s ../real.md "$P/.ai/knowledge/hot/link.md"
ok "a linked item" until_true grep -q one "$M/knowledge/hot/link.md"
echo two >"$T/real" && mv "$T/real" "$P/.ai/knowledge/real.md"
ok "shows what its target holds" until_true grep -q two "$M/knowledge/hot/link.md"

# ---- forgetting ----
if [ "$(id -u)" = 0 ] && [ -w /proc/sys/vm/drop_caches ]; then
  find "$M" >/dev/null
  like "a walk makes nodes" "$(($(stat_of alive) >= MANY))" 1
  few() {
    echo 2 >/proc/sys/vm/drop_caches
    [ "$(stat_of alive)" -le $((base + 60)) ]
  }
  ok "dropped caches forget them" until_true few
fi
like "made = alive + forgotten" "$(sed 's/.*"nodes":{"alive":\([0-9]*\),"made":\([0-9]*\),"forgotten":\([0-9]*\)}.*/\1 \2 \3/' "$M/.ryefs/stats.json" | awk '{ print $2 - $1 - $3 }')" '^0$'

# ---- more files than descriptors ----
ok "the mount ends" umount_rye
ulimit -n 300
mount_rye devmode
A=$M/spaces/project/knowledge/many
is "ls -l of more sources than descriptors" "$(ls -l "$A" 2>&1 | grep -c 'item-.*md$')" "$MANY"
is "all of them are read" "$(find "$A" -name 'item-*' -print0 | xargs -0 cat 2>&1 | sort -u | grep -c '^text')" "$MANY"
cd "$A" || exit 1
ok "and written" bash -c 'for f in item-000*; do echo more >>"$f" || exit 1; done'
is "a shell there keeps its place" "$(/bin/pwd)" "$A"
is "nothing was lost" "$(grep -l more "$P/.ai/knowledge/many"/* | wc -l)" "$(ls -d item-000* | wc -l)"
cd "$T" || exit 1
finish
