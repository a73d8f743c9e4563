#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Hostile callers' words: ids, queries, attributes and JSON that want out of the spaces, that
# are too long, too deep, too many or no text. Each is refused with a sentence, in bounded time
# and memory, and the mount goes on.
. "$(dirname "$0")/fixture.sh"

# talk FILE: one message from standard input; prints the errno's name (OK) and the reply
talk() {
  timeout -k 1 20 "$PY" -I -c '
import errno, os, sys
f = os.open(sys.argv[1], os.O_RDWR)
data = sys.stdin.buffer.read()
try:
    while data:
        data = data[os.write(f, data):]
    print("OK", end=" ", flush=True)
except OSError as e:
    print(errno.errorcode[e.errno], end=" ", flush=True)
try:
    text = os.read(f, 1 << 20)
    while text and len(text) < 1 << 20:
        more = os.read(f, 1 << 20)
        if not more:
            break
        text += more
    sys.stdout.buffer.write(text[:3000])
except OSError as e:
    print("then", errno.errorcode[e.errno])
print()' "$M/$1"
}

ids() {
  local longid text
  timeout -k 1 60 "$PY" -I - "$M" >"$T/got" 2>&1 <<'CODE'
import json, os, sys
ids = r"""../secret ../../secret a/../../secret odd/../../../secret /etc/passwd //etc/passwd
../../../../../../../../../../etc/passwd .. . / ./good deep//er/note good/ good.md %2e%2e/secret
..%2fsecret %2e%2e%2fsecret ..\secret ~/secret $HOME/secret `id` spaces/project/secret * ** ?ood
state/../config/keys/signing/private_key ../config/keys/signing/private_key""".split()
ids += ["", "a\0b", "good\0.md", "\ud800", "\n", "a\nb", " good", "good "]
patterns = ("*", "**", "?ood")  # which signing is free to follow
for ref in "knowledge", "tool", "directive", "config":
    for name in ids:
        for verb in "execute", "fetch", "sign":
            f = os.open(sys.argv[1] + "/" + verb, os.O_RDWR)
            try:
                os.write(f, json.dumps({"item_id": ref + ":" + name}).encode() + b"\n")
                accepted = True
            except OSError:
                accepted = False
            text = os.read(f, 1 << 20).decode()
            os.close(f)
            if "SECRET" in text or "root:x:0" in text or "PRIVATE KEY" in text:
                print("LEAK", verb, ref, repr(name))
            if accepted and not (verb == "sign" and name in patterns):
                print("accepted", verb, ref, repr(name), text[:200])
            if not accepted and not json.loads(text.splitlines()[-1]).get("error"):
                print("no sentence", verb, ref, repr(name), text[:200])
CODE
  is "ids that want out are refused with a sentence" "$(<"$T/got")" ""
  longid=$(head -c 100000 /dev/zero | tr '\0' a)
  has "an id of 100 000 letters" "$(printf '{"item_id":"knowledge:%s"}' "$longid" | talk fetch)" E '"error"'
  longid=$(printf 'a/%.0s' {1..5000})a
  has "an id of 5 000 directories" "$(printf '{"item_id":"knowledge:%s"}' "$longid" | talk fetch)" E '"error"'
  for text in '"destination":"../../x"' '"destination":"/tmp"' '"source":"../x"' '"destination":"system"' \
    '"project_path":"/etc"' '"project_path":"../.."' '"source":7' '"destination":["user"]'; do
    has "fetch with $text" "$(printf '{"item_id":"knowledge:good",%s}' "$text" | talk fetch)" EINVAL
  done
  has "sign with a source of system" "$(printf '{"item_id":"knowledge:good","source":"system"}' | talk sign)" immutable
  is "nothing was written outside" "$(find "$T" -newer "$T/mark" -name '*secret*' -not -path "$M/*")" ""
}

paths() {
  local name shown bad=
  for name in 'knowledge/..%2fsecret.md' 'knowledge/%2e%2e' 'search/..%2f..' 'knowledge/.why/../x' \
    'directives/hello.md?who=%00' 'directives/hello.md?who=%' 'directives/hello.md?who=%zz' 'directives/hello.md?=x' \
    'directives/hello.md?who=a&who=b' 'directives/hello.md?who=%ff' \
    'tools/count.sh?x=1' 'knowledge/good.md?a=b' 'directives/hello/prompt.md?nope=1' 'state/threads/..' \
    'state/threads/../../secret' 'state/threads/%2e%2e/x' 'state/threads/registry.db' 'spaces/project/../../secret.md' \
    'spaces/project/state/threads' 'spaces/project/.env' 'spaces/system/..' 'spaces/user/config/keys/signing'; do
    timeout 5 cat -- "$M/$name" >"$T/got" 2>&1
    [ $? = 124 ] && bad="$bad hangs:$name"
    grep -q 'SECRET\|root:x:0\|PRIVATE KEY' "$T/got" && bad="$bad LEAK:$name"
  done
  is "names that want out give nothing" "$bad" ""
  name=$(printf 'a%.0s' {1..4090})
  has "a name that is too long is said to be" "$(cat "$M/directives/hello.md?who=$name$name" 2>&1)" "File name too long"
  for name in '(((((((((((((((((((((((((((((((((((((((((a' '"' 'a AND' 'NOT' '*' 'a OR OR b' '....' $'a\nb' $'a\tb' '%00' '%2e%2e%2f' \
    "$(printf '(%.0s' {1..200})" "$(printf 'NOT %.0s' {1..60})" "$(printf '*a%.0s' {1..100})"; do
    shown=${name:0:20}
    within 2 "a search for ${shown//$'\n'/ }" ls "$M/search/$name"
  done
}

attributes() {
  umount_rye
  fx_mount xattr
  "$PY" -I - "$M" >"$T/got" 2>&1 <<'CODE'
import errno, os, sys
top = sys.argv[1]
bad = []
names = os.listxattr(top + "/knowledge/good.md")
if "user.rye.id" not in names:
    bad.append(names)
for name in names:
    if b"SECRET" in os.getxattr(top + "/knowledge/good.md", name):
        bad.append(name)
tries = ["user.rye.../../secret", "user.rye./etc/passwd", "user.rye.", "user.rye.id/../x", "user." + "x" * 240,
         "user.rye.\udcff", "security.capability", "system.posix_acl_access", "trusted.x", "user.rye.id\n"]
for name in tries:
    try:
        os.getxattr(top + "/knowledge/good.md", name)
        bad.append(name)
    except OSError as e:
        if e.errno not in (errno.ENODATA, errno.EOPNOTSUPP, errno.EPERM, errno.EACCES, errno.EINVAL, errno.ERANGE):
            bad.append((name, e))
for name in ["user.rye.id", "user.rye.verified", "user.x"]:
    for path in ["/knowledge/good.md", "/tools/count.sh", "/tools/count/run"]:
        try:
            os.setxattr(top + path, name, b"forged")
            bad.append(("set", name, path))
        except OSError:
            pass
        try:
            os.removexattr(top + path, name)
            bad.append(("removed", name, path))
        except OSError:
            pass
print(bad)
CODE
  is "attributes tell of the item and nothing else, and cannot be set" "$(<"$T/got")" "[]"
  umount_rye
  fx_mount
}

# not JSON, or more of it than anybody means
json() {
  local run=tools/count/run text
  rm -f "$P/ran.log"
  while IFS='|' read -r what text; do
    has "$what" "$(printf '%b' "$text" | talk $run)" EINVAL error
  done <<'CASES'
an array|[]\n
a number|7\n
two colons|{"a"::1}
a NUL|{"a":"\0000"}
a NUL between|{\0000}
invalid UTF-8|{"a":"\0377"}
a cut character|{"a":"\0303"}
a lone surrogate|{"a":"\\ud800"}
an escaped NUL|{"\\u0000":1}
a key twice|{"a":1,"a":2}
not a number|{"a":NaN}
a number too big|{"a":1e999}
a trailing comma|{"a":1,}
an unknown escape|{"a":"\\q"}
a control character|{"a":"\0001"}
YAML with two keys in a line|a: 1 b: 2\n
a reply that comes back|{"status":"error","error":"it failed"}\n
a reply that comes back as YAML|status: running\n
YAML without its newline|a: 1
a YAML name twice|a: 1\na: 2\n
two YAML documents|a: 1\n---\nb: 2\n
a YAML anchor|a: &x [*x]\n
a YAML tag|a: !!python/object:os.system x\n
CASES
  for text in '[' '{"a":' '[{"a":'; do
    within 3 "nested 10 000 deep, in time: $text" sh -c "'$PY' -I -c 'print(\"{\\\"x\\\":\" + chr(91) * 10000 + chr(93) * 10000 + \"}\")' > '$M/$run'"
  done
  has "nested 10 000 deep" "$("$PY" -I -c 'print("{\"x\":" + "[" * 10000 + "]" * 10000 + "}")' | talk $run)" EINVAL nest
  has "nested 10 000 objects" "$("$PY" -I -c 'print("{\"a\":" * 10000 + "1" + "}" * 10000)' | talk $run)" EINVAL nest
  has "10 000 braces that nobody closes" "$("$PY" -I -c 'print("{\"a\":" * 10000)' | talk $run)" E
  has "a YAML line nested deep" "$("$PY" -I -c 'print("a: " + "[" * 10000 + "]" * 10000)' | talk $run)" EINVAL
  is "none of these ran" "$(cat "$P/ran.log" 2>/dev/null)" ""
}

parameters() { "$PY" -I -c 'import sys; print("{" + ",".join("\"k%d\":%d" % (i, i) for i in range(int(sys.argv[1]))) + "}")' "$1"; }

size() {
  local run=tools/count/run
  rm -f "$P/ran.log"
  has "a message of more than 16 MiB" "$("$PY" -I -c 'print("{\"x\":\"" + "a" * (17 << 20) + "\"}")' | talk $run)" EFBIG
  has "the same that never ends" "$(head -c 40000000 /dev/zero | tr '\0' '{' | talk $run)" E
  within 5 "spaces without end" sh -c "head -c 40000000 /dev/zero | tr '\\0' ' ' > '$M/$run'"
  is "none of these ran" "$(cat "$P/ran.log" 2>/dev/null)" ""
  has "a message of nearly 16 MiB" "$("$PY" -I -c 'print("{\"text\":\"" + "a" * ((16 << 20) - 100) + "\"}")' | talk tools/length/run)" OK 16777116
  has "many small parameters" "$(parameters 10000 | talk tools/length/run)" EREMOTEIO KeyError
  has "too many" "$(parameters 10001 | talk tools/length/run)" EFBIG "10001 parameters, wanted at most 10000"
  has "and far too many" "$(parameters 600000 | talk tools/length/run)" EFBIG "wanted at most 10000"
}

# messages without end: on one descriptor, and as many conversations
many() {
  "$PY" -I - "$M/knowledge/good/run" $((40 * PATIENCE)) >"$T/got" 2>&1 <<'CODE'
import os, sys, time
f = os.open(sys.argv[1], os.O_RDWR)
start = time.monotonic()
for i in range(50000):
    os.write(f, b"{}\n")
print("one descriptor", i + 1, file=sys.stderr)
g = os.open(sys.argv[1], os.O_RDWR)
left = b"{}\n" * 50000
while left:
    left = left[os.write(g, left[:65536]):]
print("done", time.monotonic() - start < int(sys.argv[2]) or time.monotonic() - start)
CODE
  is "100 000 tiny messages" "$(tail -n 1 "$T/got")" "done True"
  "$PY" -I - "$M/knowledge/good/run" >"$T/got" 2>&1 <<'CODE'
import os, resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
held = [os.open(sys.argv[1], os.O_RDWR) for _ in range(2000)]
for f in held:
    os.write(f, b'{"a":')
print(len(held))
CODE
  is "2 000 conversations that never finish a message" "$(<"$T/got")" 2000
}

fx_spaces
echo SECRET >"$P/secret.md"
echo SECRET >"$P/.ai/secret.md"
echo SECRET >"$T/secret.md"
echo SECRET >"$P/.ai/.env"
echo SECRET >"$P/.env"
fx_python "$P" length <<'TEXT'
def execute(params, project_path):
    return {"success": True, "output": len(params["text"])}
TEXT
fx_sign "$P" tool:length
touch "$T/mark"
fx_mount
ids
paths
attributes
json
size
# A message of 16 MiB is held as text, as a document, as a tool's input and as the transcript;
# two at once, with what the allocator keeps, came to 208 MB. The bound is what matters.
fx_memory 384
many
fx_memory 384
has "a run works as ever" "$(echo '{}' | talk tools/count/run)" OK counted
finish
