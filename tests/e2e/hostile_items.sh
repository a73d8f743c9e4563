#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Hostile spaces: what is no plain file, what is too big, what is not text, what nests or
# expands without end, names of every sort, names of control files, a project that brings its
# own trust. Each is refused with a sentence, or served exactly, in bounded time and memory,
# whether somebody signed it or not.
. "$(dirname "$0")/fixture.sh"

K=$P/.ai/knowledge
W=$P/.ai/tools

# nests N OPEN CLOSE: OPEN n times, then CLOSE n times
nests() { "$PY" -I -c 'import sys; n = int(sys.argv[1]); print(sys.argv[2] * n + sys.argv[3] * n)' "$@"; }

no_files() {
  mkdir -p "$K/odd" "$W/odd"
  mkfifo "$K/odd/fifo.md" "$W/odd/fifo.sh"
  "$PY" -I -c 'import socket, sys; s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1])' "$K/odd/socket.md"
  mkdir "$K/odd/directory.md"
  [ "$(id -u)" = 0 ] && mknod "$K/odd/zero.md" c 1 5 && mknod "$W/odd/zero.sh" c 1 5
  echo "SECRET beside the project" >"$T/outside.md"
  echo "SECRET in the project" >"$P/outside.md"
  mkdir "$T/elsewhere" && cp "$T/outside.md" "$T/elsewhere/note.md"
  ln -s /etc/passwd "$K/odd/passwd.md"
  ln -s ../../../../outside.md "$K/odd/up.md"
  ln -s ../../../outside.md "$K/odd/inproject.md"
  ln -s "$T/elsewhere" "$K/odd/linkdir"
  ln -s loop.md "$K/odd/loop.md"
  ln -s .. "$K/odd/parent"
  ln -s /proc/self/environ "$K/odd/environ.md"
  ln -s /dev/stdin "$K/odd/stdin.md"
  ln -s nowhere.md "$K/odd/dangling.md"
}

too_big() {
  # one, and more that cost their readers less; what an item may have is 16 MB
  truncate -s 200M "$K/huge.md"
  mkdir -p "$P/.ai/config" && truncate -s 20M "$W/huge.py" "$W/huge.sh" "$P/.ai/config/huge.yaml" "$P/.ai/config/keys.toml"
  fx_knowledge "$P" longline "$(head -c 3000000 /dev/zero | tr '\0' x)"
}

# bytes that are no text, each signed by the trusted key
no_text() {
  local name
  fx_knowledge "$P" bytes/nul 'x' && printf 'a\0b\n' >>"$K/bytes/nul.md"
  fx_knowledge "$P" bytes/latin 'x' && printf 'caf\351\n' >>"$K/bytes/latin.md"
  fx_knowledge "$P" bytes/overlong 'x' && printf '\300\257\n' >>"$K/bytes/overlong.md"
  fx_knowledge "$P" bytes/surrogate 'x' && printf '\355\240\200\n' >>"$K/bytes/surrogate.md"
  fx_knowledge "$P" bytes/cut 'x' && printf '\342\202' >>"$K/bytes/cut.md"
  fx_tool "$P" bytes/nul 'echo a' && printf 'echo b\0c\n' >>"$W/bytes/nul.sh"
  fx_tool "$P" bytes/latin 'echo a' && printf '# \351\n' >>"$W/bytes/latin.sh"
  for name in nul latin overlong surrogate cut; do fx_raw_sign 00 "$P" "knowledge/bytes/$name.md"; done
  fx_raw_sign 00 "$P" tools/bytes/nul.sh tools/bytes/latin.sh
  # a mark before the signature line: the file is unsigned
  fx_knowledge "$P" bytes/bom 'x' && fx_raw_sign 00 "$P" knowledge/bytes/bom.md
  sed -i '1s/^/\xef\xbb\xbf/' "$K/bytes/bom.md"
}

bomb() { # PATH: standard input, signed
  fx_put "$P" "$1"
  fx_raw_sign 00 "$P" "$1"
}

yaml_front() { # lines of YAML
  printf '```yaml\nname: "%s"\ntitle: t\nversion: "1.0.0"\nentry_type: reference\ncategory: bomb\n' "$1"
  cat
  printf '```\n\nBody.\n'
}

bombs() {
  { for x in a b c d e f g h i; do
    printf '%s: &%s [' $x $x
    p=$(printf %s $x | tr b-i a-h)
    if [ $x = a ]; then echo '"lol","lol","lol","lol","lol","lol","lol","lol","lol"]'; else echo "*$p,*$p,*$p,*$p,*$p,*$p,*$p,*$p,*$p]"; fi
  done; } | yaml_front laughs | bomb knowledge/bomb/laughs.md
  { printf 'a: '; nests 10000 '[' ']'; } | yaml_front deep | bomb knowledge/bomb/deep.md
  { printf 'a: &x [*x]\n'; } | yaml_front self | bomb knowledge/bomb/self.md
  { printf 'tool_type: bash\nexecutor_id: rye/core/runtimes/bash/bash\nversion: "1.0.0"\nconfig: '; nests 10000 '{a: ' '}'; } | bomb tools/bomb/deepyaml.yaml
  { printf '{"a":'; nests 10000 '[' ']'; printf '}'; } | bomb tools/bomb/deepjson.json
  { printf 'a = '; nests 10000 '[' ']'; } | bomb tools/bomb/deeptoml.toml
  { printf '__version__ = "1.0.0"\n__executor_id__ = "rye/core/runtimes/python/function"\nCONFIG = '; nests 10000 '[' ']'; } | bomb tools/bomb/deeppy.py
  { printf 'CONFIG = '; nests 10000 '(' ''; } | bomb tools/bomb/openpy.py
  { printf 'export const CONFIG = '; nests 10000 '{"a":' '}'; } | bomb tools/bomb/deepjs.js
  { printf '```xml\n<directive name="deepxml" version="1.0.0">'; nests 10000 '<a>' '</a>'; printf '</directive>\n```\n'; } | bomb directives/bomb/deepxml.md
  bomb directives/bomb/entities.md <<'TEXT'
```xml
<!DOCTYPE directive [<!ENTITY a "lol"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;">
<!ENTITY d "&c;&c;&c;&c;&c;&c;&c;&c;&c;&c;"><!ENTITY e "&d;&d;&d;&d;&d;&d;&d;&d;&d;&d;"><!ENTITY f SYSTEM "file:///etc/passwd">]>
<directive name="entities" version="1.0.0"><metadata><description>&e;&f;</description><category>bomb</category><author>a</author></metadata></directive>
```
TEXT
}

# a schema whose patterns and references never end is a tool's own fault: its run is refused
schemas() {
  fx_python "$P" schema/regex <<'TEXT'
CONFIG_SCHEMA = {"type": "object", "properties": {"s": {"type": "string", "pattern": "^(a+)+$"}, "t": {"type": "string", "pattern": "^((a|a)*)*b$"}}}


def execute(params, project_path):
    return {"success": True}
TEXT
  fx_python "$P" schema/ref <<'TEXT'
CONFIG_SCHEMA = {"type": "object", "properties": {"s": {"$ref": "#/properties/s"}}, "allOf": [{"$ref": "#"}]}


def execute(params, project_path):
    return {"success": True}
TEXT
  fx_raw_sign 00 "$P" tools/schema/regex.py tools/schema/ref.py
}

names() {
  local name
  NAMES=("a b" $'tab\there' $'new\nline' $'\e[31mred' 'ünï漢' '-rf' '--help' '?x=1' 'a%2Fb' 'co:lon' \
    '$(touch x)' "quo'te\"s" '*' 'back\slash' '..hidden' 'run' 'verify' 'source' 'x.md' '.dot' "$(printf 'n%.0s' {1..240})")
  for name in "${NAMES[@]}"; do
    fx_knowledge "$P" "names/$name" "The text of a name." 2>/dev/null
  done
  cp "$K/names/a b.md" "$K/names/"$'\xff\xfe'".md"
  # these can be ids, so they can be signed and served
  fx_sign "$P" 'knowledge:names/a b' 'knowledge:names/ünï漢' 'knowledge:names/run' 'knowledge:names/verify'
}

# names of control files in the sources forge nothing
forgeries() {
  mkdir -p "$W/count" "$K/good" "$P/.ai/state/threads/fake" "$P/.ai/search" "$P/.ai/.ryefs"
  for name in verify info.json run output chain.json schema.json source; do echo "ok forged" >"$W/count/$name"; done
  mkdir -p "$W/big/run"
  echo "ok forged" >"$W/big/run/verify"
  fx_tool "$P" count/run 'echo forged' && fx_raw_sign 00 "$P" tools/count/run.sh
  echo '{"forged":true}' >"$P/.ai/state/threads/fake/result.json"
  ln -s /etc "$P/.ai/state/threads/etc"
}

# keys that a project brings along vouch for nothing
attacker() {
  "$PY" "$E2E/signer.py" keys "$P" 60
  fx_tool "$P" theirs 'echo ran >> ran.log'
  fx_raw_sign 60 "$P" tools/theirs.sh
}

# refused PATH: fails soon, gives no byte, and verify has a sentence
refuses() {
  local text r
  text=$(timeout -k 1 5 cat -- "$M/$1" 2>&1 >"$T/got" </dev/null)
  r=$?
  if [ $r = 0 ] || [ $r = 124 ] || [ $r = 137 ] || [ -s "$T/got" ]; then
    bad "refused: $1" "status $r" "$text" "$(head -c 200 "$T/got")"
  else
    good "refused: ${1//[^[:print:]]/.}: ${text##*: }"
  fi
}

says() { # PATH without extension: one line in verify that is not ok
  local text
  text=$(timeout -k 1 5 cat "$M/$1/verify" 2>&1)
  case $text in
    '' | ok* | cat:*) bad "verify has a sentence: $1" "$text" ;;
    *) if [ "$(wc -l <<<"$text")" = 1 ]; then good "$1: ${text:0:100}"; else bad "one line: $1" "$text"; fi ;;
  esac
}

judge_items() {
  local f path
  for f in fifo.md socket.md zero.md passwd.md up.md inproject.md linkdir/note.md loop.md environ.md stdin.md dangling.md directory.md; do
    refuses "knowledge/odd/$f"
  done
  # their own directories, too: there is nothing of them but the reason
  for f in fifo passwd loop dangling; do
    works "the directory of $f can be listed" ls -l "$M/knowledge/odd/$f/"
    works "what its run says can be read" cat "$M/knowledge/odd/$f/run"
    works "its verdict can be read" test -s "$M/knowledge/odd/$f/verify"
    works "and what is known of it" grep -q '"verdict"' "$M/knowledge/odd/$f/info.json"
  done
  refuses tools/odd/fifo.sh
  refuses tools/odd/zero.sh
  refuses knowledge/odd/parent/odd/parent/odd/parent/good.md
  for f in knowledge/huge.md tools/huge.py tools/huge.sh config/huge.yaml; do refuses $f; done
  for f in knowledge/huge tools/huge; do says $f; done
  has "a line of three megabytes" "$(wc -c <"$M/knowledge/longline.md" 2>&1)" 3000
  for f in nul latin overlong surrogate cut bom; do
    refuses knowledge/bytes/$f.md
    says knowledge/bytes/$f
  done
  for f in nul latin; do refuses tools/bytes/$f.sh; done
}

# The text of a tool or an entry is true whatever its metadata do; what is made of these is
# refused. A directive is refused whole.
judge_bombs() {
  local path item n=0
  for path in "$P"/.ai/directives/bomb/*; do
    item=directives/bomb/${path##*/}
    within 3 "in time: $item" cat "$M/$item"
    refuses "$item"
    says "${item%.*}"
  done
  for path in "$P"/.ai/tools/bomb/* "$P"/.ai/knowledge/bomb/*; do
    item=${path#"$P/.ai/"}
    n=$((n + 1))
    within 3 "in time: $item" cat "$M/$item" "$M/${item%.*}/info.json" "$M/${item%.*}/verify"
    case $item in
      # what has no parser is text, and what its parser finds too deep in JavaScript is not there
      *.json | *.js) ;;
      tools/*) refuses "${item%.*}/schema.json" ;;
      *) refuses "${item%.*}/data.json" ;;
    esac
    case $item in
      *.json | *.js) ;;
      *) has "verify says so: $item" "$(<"$M/${item%.*}/verify")" "metadata cannot be read" ;;
    esac
    within 3 "run in time: $item" sh -c "echo > '$M/${item%.*}/run'"
    case $item in tools/*) fails "and refused: $item" sh -c "echo > '$M/${item%.*}/run'" ;; esac
  done
  is "all bombs were looked at" "$n" 9
}

judge_schemas() {
  local s
  s=$(printf 'a%.0s' {1..40})!
  within 5 "a pattern that never ends, in time" sh -c "echo '{\"s\":\"$s\"}' > '$M/tools/schema/regex/run'"
  fails "and refused" sh -c "echo '{\"s\":\"$s\",\"t\":\"$s\"}' > '$M/tools/schema/regex/run'"
  within 5 "references in circles, in time" sh -c "echo '{\"s\":\"$s\"}' > '$M/tools/schema/ref/run'"
}

judge_names() {
  local name bad=
  for name in "${NAMES[@]}"; do
    timeout 5 ls -ld -- "$M/knowledge/names/$name.md" >/dev/null 2>&1
    timeout 5 cat -- "$M/knowledge/names/$name.md" >"$T/got" 2>/dev/null
    case $name in
      'a b' | 'ünï漢' | run | verify) grep -q 'The text of a name' "$T/got" || bad="$bad <$name>" ;;
      *) [ -s "$T/got" ] && bad="$bad [$name]" ;;
    esac
  done
  is "odd names are served when signed, else refused" "$bad" ""
  refuses "knowledge/names/"$'\xff\xfe'".md"
  has "a name with a space" "$(cat "$M/knowledge/names/a b.md" 2>&1)" "The text of a name"
  has "a name in other letters" "$(cat "$M/knowledge/names/ünï漢.md" 2>&1)" "The text of a name"
  has "an item named run" "$(cat "$M/knowledge/names/run.md" 2>&1)" "The text of a name"
  has "its directory" "$(cat "$M/knowledge/names/run/verify" 2>&1)" "ok"
  is "links say why in printable letters" "$(find "$M/knowledge/names" -type l -printf '%l\n' | LC_ALL=C grep -c '[[:cntrl:]]')" 0
  is "no link is longer than a name may be" "$(find "$M" -type l -printf '%l\n' 2>/dev/null | awk 'length > 255' | wc -l)" 0
  # `\n` in a name would make two lines of one
  is "doctor has a line per item" "$(grep -c 'The text' "$M/.ryefs/doctor")" 0
  is "doctor holds no control characters" "$(LC_ALL=C tr -d '\n' <"$M/.ryefs/doctor" | LC_ALL=C grep -c '[[:cntrl:]]')" 0
}

judge_forgeries() {
  local name
  for name in verify info.json run chain.json schema.json; do
    lacks "$name is not forged" "$(cat "$M/tools/count/$name" 2>&1)" "forged"
  done
  is "source is the link" "$(readlink "$M/tools/count/source" | grep -c spaces/project/tools/count.sh)" 1
  is "run of big is no directory" "$(stat -c %F "$M/tools/big/run")" "regular file"
  works "and it runs" sh -c "echo > '$M/tools/big/run'"
  works "the real file is in spaces" grep -q forged "$M/spaces/project/tools/count/verify"
  fails "a thread that is not registered" cat "$M/state/threads/fake/result.json"
  fails "nor a link out of state" cat "$M/state/threads/etc/passwd"
  refuses tools/theirs.sh
  has "a project's own keys vouch for nothing" "$(cat "$M/tools/theirs.sh" 2>&1; readlink "$M/tools/theirs.sh")" "Permission denied" ".why/ENOKEY: "
  fails "and its tool does not run" sh -c "echo > '$M/tools/theirs/run'"
  is "it did not" "$(cat "$P/ran.log" 2>/dev/null)" ""
}

# of the attacker's keys
allow 'warning trust: project key file'
# Nothing is written through a link that leads out, nor into another name of a file.
judge_links() {
  local verb
  mkdir "$T/victim" && cp "$K/good.md" "$T/victim/good.md" && echo >>"$T/victim/good.md"
  cp "$T/victim/good.md" "$T/want"
  ln -s "$T/victim/good.md" "$K/linked.md"
  ln -s "$T/victim" "$K/linkedir"
  mkdir "$K/hard" && ln "$T/victim/good.md" "$K/hard/good.md" && sed -i 's/^category: ""/category: "hard"/' "$K/hard/good.md"
  ln -f "$K/hard/good.md" "$T/victim/hard.md" && cp "$T/victim/hard.md" "$T/want2"
  for verb in linked linkedir/good; do
    fails "sign does not follow $verb" sh -c "echo '{\"item_id\":\"knowledge:$verb\"}' > '$M/sign'"
  done
  works "sign makes a file of its own" sh -c "echo '{\"item_id\":\"knowledge:hard/good\"}' > '$M/sign'"
  same_file "and leaves the other name alone" "$T/victim/hard.md" "$T/want2"
  ln -s "$T/victim" "$U/.ai/knowledge/deep"
  fails "fetch copies through no link" sh -c "echo '{\"item_id\":\"knowledge:deep/er/note\",\"destination\":\"user\"}' > '$M/fetch'"
  rm "$U/.ai/knowledge/deep"
  rm -rf "$P/.ai/state" && ln -s "$T/victim" "$P/.ai/state"
  fails "no thread is made through a link" sh -c "echo > '$M/tools/count/async'"
  rm "$P/.ai/state" && mkdir "$P/.ai/state" && ln -s "$T/victim" "$P/.ai/state/threads"
  fails "nor below one" sh -c "echo > '$M/tools/count/async'"
  rm "$P/.ai/state/threads"
  same_file "outside nothing has changed" "$T/victim/good.md" "$T/want"
  is "and nothing has come" "$(ls "$T/victim")" $'good.md\nhard.md'
}

# A registry that came with a clone: names that want out, that are none, texts without end.
judge_registry() {
  local id
  echo '{}' >"$M/tools/count/async" || bad "a thread is made"
  id=$(sed -n 's/.*"thread_id": *"\([^"]*\)".*/\1/p' "$M/tools/count/async")
  exchange 40 "$M/state/threads/$id/wait" >/dev/null
  mkdir -p "$P/.ai/state/threads/big"
  "$PY" -I - "$P/.ai/state/threads/registry.db" <<'CODE' || bad "the registry is forged"
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], timeout=5)
ids = ["../../evil", "..", ".", "", "/etc/passwd", "a/../../b", "x\ny", "e\x1b[31m", "n" * 300, "deep/" * 200, "nul\0x", "big"]
for name in ids:
    db.execute("INSERT INTO threads (thread_id, directive, status, created_at, updated_at, pid, result) VALUES (?,?,?,?,?,?,?)",
               (name, "tool:x", "completed", "2026", "2026", 1, "x" * (60000000 if name == "big" else 1)))
db.commit()
CODE
  is "a forged registry is listed as far as it makes sense" "$(thread_names)" "$(printf '%s\n' "$id" big | sort)"
  # a list and stat of a thread do not read its result, nor go past it
  read -r _ before <"/proc/$DAEMON/io"
  is "a long result is listed" "$(ls "$M/state/threads/big" | grep result)" result.json
  stat "$M/state/threads/big/updated" "$M/state/threads/big/directive" >/dev/null
  read -r _ after <"/proc/$DAEMON/io"
  ok "what is asked about a long row does not read it: $((after - before))" [ $((after - before)) -lt 8000000 ]
  has "and says why it cannot be read" "$(readlink "$M/state/threads/big/result.json")" "result.json has 57 MiB, at most 24 are shown"
  is "nothing else beside it breaks" "$(ls -l "$M/state/threads/big" 2>&1 | grep -c "cannot access")" 0
  within 5 "ls -R of it ends" ls -R "$M/state"
  is "facts of a forged row" "$(<"$M/state/threads/big/status")" completed
}

fx_spaces
no_files
too_big
no_text
bombs
schemas
names
fx_sign "$P" knowledge:longline
forgeries
attacker
fx_mount
good "the mount answers in spite of all"
judge_items
judge_bombs
judge_schemas
judge_names
judge_forgeries
judge_links
judge_registry
within 15 "grep -r comes to an end" grep -rs . "$M"
is "grep -r found no secret" "$(grep -rsl 'SECRET\|root:x:0' "$M")" ""
within 10 "ls -lR comes to an end" ls -lR "$M"
within 10 "find -L comes to an end" find -L "$M"
within 10 "doctor comes to an end" cat "$M/.ryefs/doctor"
is "grep -r through spaces finds no secret" "$(timeout 20 grep -rsl 'SECRET\|root:x:0' "$M/spaces/project/knowledge/odd/" | head -n 2)" ""
fx_memory 200
has "a good item is served as ever" "$(<"$M/knowledge/good.md")" "Every byte of this is true"
finish
