#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# skills/: real directories of what verified manifests list, as clients scan them; a skill of which any
# bit is another is a link to its reason, and ends no scan.
NPM=${RYE_NPM_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/ryefs-npm}
. "$(dirname "$0")/fixture.sh"

SKILLS=$P/.ai/skills

# skill NAME FILE...: a folder with these files, and its manifest, unsigned
skill() {
  folder "$@"
  manifest "$1"
}

folder() {
  local name=$1 file
  shift
  mkdir -p "$SKILLS/$name"
  printf -- '---\nname: %s\ndescription: What %s is for.\n---\n# %s\n' "$name" "$name" "$name" >"$SKILLS/$name/SKILL.md"
  for file; do
    [ "${file%/*}" = "$file" ] || mkdir -p "$SKILLS/$name/${file%/*}"
    printf '#!/bin/sh\necho "%s of %s"\n' "$file" "$name" >"$SKILLS/$name/$file"
  done
}

manifest() {
  "$PY" - "$SKILLS" "$@" <<'EOF'
import hashlib, os, sys
root = sys.argv[1]
for name in sys.argv[2:]:
    out = 'name: %s\nversion: "1.0.0"\nfiles:\n' % name
    for at, _, files in os.walk(os.path.join(root, name)):
        for file in files:
            path = os.path.join(at, file)
            data = open(path, "rb").read()
            out += '  %s: {sha256: "%s", size: %d, x: %s}\n' % (
                os.path.relpath(path, os.path.join(root, name)), hashlib.sha256(data).hexdigest(), len(data),
                "true" if data.startswith(b"#!") else "false")
    open(os.path.join(root, name + ".yaml"), "w").write(out)
EOF
}

sign() { "$RYEFS" sign -q --project "$P" "$@"; }

"$RYEFS" keygen -q >/dev/null
skill pdf scripts/x.sh references/a/b.md
skill plain
sign skill:pdf skill:plain
mount_rye

seen() { (cd "$M/skills" && find . | sort | tr '\n' ' '); }

is "names are the manifests'" "$(seen)" \
  ". ./pdf ./pdf/SKILL.md ./pdf/references ./pdf/references/a ./pdf/references/a/b.md ./pdf/scripts ./pdf/scripts/x.sh ./plain ./plain/SKILL.md ./ryefs ./ryefs/SKILL.md "
is "bytes are the folder's" "$(cd "$SKILLS/pdf" && find . -type f -exec cmp {} "$M/skills/pdf/{}" \;)" ""
is "files are regular, with one name, and directories directories" \
  "$(find "$M/skills" ! -type d ! \( -type f -links 1 \))" ""
is "a script may be executed, a text may not" "$(cd "$M/skills/pdf" && stat -c %a scripts/x.sh SKILL.md | tr '\n' ' ')" "555 444 "
is "it runs" "$("$M/skills/pdf/scripts/x.sh")" "scripts/x.sh of pdf"
is "a real path is the path" "$(realpath "$M/skills/pdf/scripts/x.sh")" "$(realpath "$M")/skills/pdf/scripts/x.sh"
errno "nothing is made in it" EROFS touch "$M/skills/pdf/new"
errno "nothing is removed" EROFS rm -f "$M/skills/pdf/SKILL.md"
errno "no skill is added" EROFS mkdir "$M/skills/other"
like "its verdict is beside it, not listed" "$(<"$M/skills/pdf/.rye/verify")" '^ok signed by '
is "and nothing of it is in a listing" "$(ls -A "$M/skills/pdf" | tr '\n' ' ')" "SKILL.md references scripts "

# --- what is not listed, and what is unsigned ---

echo x >"$SKILLS/pdf/.DS_Store"
mkdir "$SKILLS/pdf/__pycache__"
echo x >"$SKILLS/pdf/__pycache__/y"
sleep 0.2 # so that it would show by now
not_ok "what no manifest lists is not there" test -e "$M/skills/pdf/.DS_Store"
is "and refuses nothing" "$(cat "$M/skills/pdf/.rye/verify" | cut -d' ' -f1)" "ok"
mkdir "$SKILLS/raw"
echo x >"$SKILLS/raw/SKILL.md"
until_true test -L "$M/skills/raw"
is "a folder without a manifest is a link that says so" "$(readlink "$M/skills/raw")" \
  ".why/ENODATA: unsigned; mend with: ryefs skill add raw"
errno "which leads to no text" EACCES cat "$M/skills/raw"
errno "it is not signed unseen" ENODATA bash -c "echo '{\"item_id\":\"skill:raw\"}' >'$M/sign'"
has "and what looks at it is told" "$(cat "$M/.ryefs/errors"; sign skill:raw 2>&1)" \
  "skill raw is a folder that was never signed: its files are looked at first; mend with: ryefs skill add raw" \
  "mend with: ryefs skill add raw"
not_ok "and to no file in it" test -e "$M/skills/raw/SKILL.md"

# --- every bit ---

flips() {
  "$PY" - "$SKILLS/pdf" "$M/skills" <<'EOF'
import os, sys, time
folder, view = sys.argv[1:]
bad = 0
for name in ("SKILL.md", "scripts/x.sh"):
    path = os.path.join(folder, name)
    was = open(path, "rb").read()
    for bit in range(0, 8 * len(was), 5): # all of them: tests/unit/test_skill.c
        text = bytearray(was)
        text[bit // 8] ^= 1 << bit % 8
        # through the mount's own tree: the answer comes when it shows
        with open(os.path.join(view, "../spaces/project/skills/pdf", name), "r+b") as out:
            out.write(text)
        if not os.path.islink(view + "/pdf") or "EBADMSG" not in os.readlink(view + "/pdf"):
            bad += 1
        if sorted(os.listdir(view)) != ["pdf", "plain", "raw", "ryefs"]:
            bad += 1
        with open(os.path.join(view, "../spaces/project/skills/pdf", name), "r+b") as out:
            out.write(was)
        if open(os.path.join(view, "pdf", name), "rb").read() != was:
            bad += 1
print(bad)
EOF
}
is "a changed bit refuses the whole skill, and what was is served again" "$(flips)" "0"

echo '# more' >>"$SKILLS/pdf/scripts/x.sh"
until_true test -L "$M/skills/pdf"
is "a change from outside shows" "$(readlink "$M/skills/pdf")" \
  ".why/EBADMSG: content changed since signing; mend with: ryefs skill diff pdf"

# --- scans: each of them lists the good ones, with its status as if there were no others ---

# FILES... as one line
these() { sed 's|^\./||' | sort | tr '\n' ' '; }
good_ones="plain/SKILL.md ryefs/SKILL.md "
is "find" "$(cd "$M/skills" && find . -name SKILL.md 2>&1 | these)" "$good_ones"
is "grep -r" "$(cd "$M/skills" && grep -rl '^name:' . 2>&1 | these)" "$good_ones"
is "python's walk" "$("$PY" -c '
import os, sys
def broken(error): raise error
os.chdir(sys.argv[1])
for at, _, fs in os.walk(".", onerror=broken):
    for f in fs:
        if f == "SKILL.md": print(os.path.join(at, f))' "$M/skills" | these)" "$good_ones"
if need rg; then
  is "rg --files, as clients call it" "$(cd "$M/skills" && rg --files --hidden --no-ignore --no-follow --sort=modified 2>&1 | these)" "$good_ones"
  is "rg of a text" "$(cd "$M/skills" && rg -l '^name:' . 2>&1 | these)" "$good_ones"
fi
if need node; then
  cat >"$T/scan.mjs" <<'EOF'
// As shipped clients scan: entries by type, SKILL.md of each that is a directory or a link.
import fs from "node:fs";
import path from "node:path";
const root = process.argv[2], found = [];
for (const entry of fs.readdirSync(root, { withFileTypes: true })) {
  if (!entry.isDirectory() && !entry.isSymbolicLink()) continue;
  try {
    const file = path.join(root, entry.name, "SKILL.md"), st = fs.statSync(file);
    if (st.isFile() && st.nlink === 1 && fs.realpathSync(file) === file && st.size === fs.readFileSync(file).length)
      found.push(entry.name);
  } catch (error) {
    if (!["ENOENT", "ENOTDIR", "EACCES"].includes(error.code)) throw error;
  }
}
const deep = fs.readdirSync(root, { recursive: true }).filter((name) => path.basename(name) === "SKILL.md");
console.log(found.sort().join(), deep.sort().join());
EOF
  is "node's readdir" "$(node "$T/scan.mjs" "$(realpath "$M")/skills" 2>&1)" "plain,ryefs plain/SKILL.md,ryefs/SKILL.md"
fi

# --- again, and away ---

manifest pdf
ok "signed as it is now" sign skill:pdf
until_true test -d "$M/skills/pdf"
is "it is served" "$(tail -n 1 "$M/skills/pdf/scripts/x.sh")" "# more"
cd "$M/skills/pdf" || exit 1
skill pdf scripts/x.sh scripts/new.sh
sign skill:pdf
until_true test -e scripts/new.sh
is "a shell that stands in it sees what is new" "$(ls scripts | tr '\n' ' ')" "new.sh x.sh "
cd "$T" || exit 1
rm -r "$SKILLS/pdf" "$SKILLS/pdf.yaml"
until_true sh -c '! ls -d "$1"' - "$M/skills/pdf" 2>/dev/null
is "what is removed is gone" "$(ls "$M/skills" | tr '\n' ' ')" "plain raw ryefs "

# --- many ---

many=()
for i in $(seq 50); do
  folder "many-$i" scripts/run.sh
  many+=("many-$i")
done
manifest "${many[@]}"
ok "fifty are signed" sign 'skill:many-*'
until_true test -d "$M/skills/many-50"
is "all of them are there" "$(find "$M/skills" -mindepth 2 -maxdepth 2 -name SKILL.md | wc -l)" "52"
# RYE_ROUNDS: bits that are flipped in each of their files; all: every bit
flips_of_all() {
  "$PY" - "$M/spaces/project/skills" "$M/skills" "${RYE_ROUNDS:-1}" <<'EOF'
import os, random, sys
folders, view, rounds = sys.argv[1:]
random.seed(1)
bad = flips = 0
names = sorted(name for name in os.listdir(view) if name.startswith("many-"))
others = set(os.listdir(view))
for name in names:
    for file in ("SKILL.md", "scripts/run.sh"):
        path = os.path.join(folders, name, file)
        was = open(path, "rb").read()
        bits = range(8 * len(was)) if rounds == "all" else random.sample(range(8 * len(was)), int(rounds))
        for bit in bits:
            text = bytearray(was)
            text[bit // 8] ^= 1 << bit % 8
            for bytes_, refused in ((bytes(text), True), (was, False)):
                with open(path, "r+b") as out:
                    out.write(bytes_)
                bad += os.path.islink(os.path.join(view, name)) != refused
            flips += 1
    bad += set(os.listdir(view)) != others
print(bad, flips >= 2 * len(names), len(names))
EOF
}
is "a flipped bit in any file of fifty refuses that skill" "$(flips_of_all)" "0 True 50"
for n in 3 17 42; do echo x >>"$SKILLS/many-$n/scripts/run.sh"; done
until_true test -L "$M/skills/many-42"
is "those that changed are not" "$(cd "$M/skills" && find . -type l | sort | tr '\n' ' ')" "./many-17 ./many-3 ./many-42 ./raw "
is "the guide names them, and nothing else of them" "$(sed -n '/^Refused now/,$p' "$M/skills/ryefs/SKILL.md" | grep '^- ' | sort | tr '\n' ' ')" \
  "- many-17 - many-3 - many-42 - raw "
is "the others are, in the same scan" "$(find "$M/skills" -mindepth 2 -maxdepth 2 -name SKILL.md | wc -l)" "49"

# --- items that are shown as skills ---

mkdir -p "$P/.ai/directives/x" "$P/.ai/knowledge/x" "$P/.ai/tools/x"
cat >"$P/.ai/directives/x/go_now.md" <<'EOF'
```xml
<directive name="go_now" version="1.0.0">
  <metadata><description>Goes | now.</description><category>x</category><author>me</author></metadata>
  <inputs><input name="who" type="string" default="you">Who | goes</input></inputs>
</directive>
```

Go, {input:who}!
EOF
for name in notes other; do
  printf '```yaml\nname: %s\ntitle: Of %s\nversion: "1.0.0"\nentry_type: reference\ncategory: x\nskill: %s\n```\nText\n' \
    "$name" "$name" "$([ $name = notes ] && echo true || echo false)" >"$P/.ai/knowledge/x/$name.md"
done
cat >"$P/.ai/tools/x/adder.py" <<'EOF'
"""Adds."""
__version__ = "1.0.0"
__tool_type__ = "python"
__executor_id__ = "rye/core/runtimes/python/function"
__category__ = "x"
__tool_description__ = "Adds a number"
__skill__ = True
CONFIG_SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
def execute(params, project_path):
    return {"n": params["n"] + 1}
EOF
sign directive:x/go_now knowledge:x/notes knowledge:x/other tool:x/adder
until_true test -d "$M/skills/x-adder"
is "directives are, others where they say so" "$(cd "$M/skills" && echo x-*)" "x-adder x-go-now x-notes"
GO=$M/skills/x-go-now
is "its metadata is what every client reads" "$(sed -n 2,3p "$GO/SKILL.md")" \
  $'name: x-go-now\ndescription: "Goes | now. Inputs: who."'
like "and names the item" "$(<"$GO/SKILL.md")" 'ryefs-item: "directive:x/go_now"'
ok "its defaults are filled in" grep -qx 'Go, you!' "$GO/SKILL.md"
ok "inputs are in a table, each in its cell" grep -qFx '| who | string |  | you | Who \| goes |' "$GO/SKILL.md"
ok "inputs in the name are filled in" grep -qx 'Go, Ann & Eve!' "$GO/SKILL.md?who=Ann%20%26%20Eve"
ln -s "$M/skills" "$T/linked"
ok "also through a link" grep -qx 'Go, Ann!' "$T/linked/x-go-now/SKILL.md?who=Ann"
errno "those that there are not are refused" EINVAL cat "$GO/SKILL.md?whi=Ann"
has "with the reason" "$(<"$M/.ryefs/errors")" "Unknown parameters: whi"
has "a tool says how it is run" "$(<"$M/skills/x-adder/SKILL.md")" "Adds a number" \
  "ryefs execute tool:x/adder NAME=VALUE ..." "| n | integer | yes |  |  |"
echo 'For $ARGUMENTS.' >>"$SKILLS/plain/SKILL.md"
manifest plain
sign skill:plain
until_true grep -qx 'For Ann.' "$M/skills/plain/SKILL.md?arguments=Ann"
is "a skill has one input" "$(tail -n 1 "$M/skills/plain/SKILL.md")$(tail -n 1 "$M/skills/plain/SKILL.md?arguments=")" 'For $ARGUMENTS.For .'
echo more >>"$P/.ai/directives/x/go_now.md"
until_true test -L "$GO"
like "a changed one is a link to the reason" "$(readlink "$GO")" '^.why/E[A-Z]+: '
is "and ends no scan" "$(find "$M/skills" -name SKILL.md -path '*/x-*' 2>&1 | wc -l)" "2"
cp "$P/.ai/directives/x/go_now.md" "$P/.ai/directives/x_go_now.md"
skill x-adder
sign skill:x-adder
until_true grep -q '^# x-adder' "$M/skills/x-adder/SKILL.md"
good "of one name the skill counts"
until_true sh -c '! ls -d "$1"' - "$GO" 2>/dev/null
is "two directives of one name are neither" "$(cd "$M/skills" && echo x-*)" "x-adder x-notes"
is "doctor tells of each, and in whose place it is" \
  "$("$RYEFS" doctor --project "$P" --json | "$PY" -c '
import json, sys
for row in json.load(sys.stdin):
    if "shown as a skill" in row["what"]: print(row["about"][:20], "-", row["what"])' | sort)" \
  "directive:x/go_now - is not shown as a skill, nor is directive:x_go_now: both would be x-go-now
directive:x_go_now - is not shown as a skill, nor is directive:x/go_now: both would be x-go-now
tool:x/adder - is not shown as a skill: skill:x-adder is x-adder already"
rm "$P/.ai/directives/x_go_now.md"
sed -i '$d' "$P/.ai/directives/x/go_now.md"
sign directive:x/go_now
until_true test -d "$GO"

REF=$NPM/skills/node_modules/.bin/skills-ref
if [ -x "$REF" ]; then
  for dir in "$M"/skills/*/; do "$REF" validate "${dir%/}" >"$T/said" 2>&1 || bad "skills-ref takes $dir" "$(<"$T/said")"; done
  good "skills-ref takes every folder"
else
  without "skills-ref takes every folder" "skills-ref is not installed (scripts/deps --test)"
fi
# --- where clients look ---

link() { (cd "$P" && "$RYEFS" link "$@" </dev/null); }
not_ok "a mount in the project is not linked" link
has "with why" "$(link 2>&1)" "lies in the project"
umount_rye
not_ok "nor one that is none" link
IN=$M M=$T/outside
mkdir "$M"
"$RYEFS" "$P" "$M" 2>/dev/null || bad "it is mounted outside"
rm "$T/linked"
MNT=$(realpath "$M")
ok "clients' directories are linked" link -q
is "to the mount" "$(readlink "$P/.claude/skills") $(readlink "$P/.agents/skills")" "$MNT/skills $MNT/skills"
ok "once more is nothing more" link -q
ok "and a client finds what is there" test -f "$P/.claude/skills/plain/SKILL.md"
errno "an installer that writes there is told so" EROFS mkdir "$P/.agents/skills/new"
rm "$P/.claude/skills"
mkdir -p "$P/.claude/skills/mine"
not_ok "a directory of somebody's is not replaced" link -q --client claude
has "with what to do" "$(link --client claude 2>&1)" "ryefs skill add .claude/skills/NAME"
ok "and stays" test -d "$P/.claude/skills/mine"
link -q --each --client claude >"$T/said"
is "--each links each into it" $? 0
is "all that may be read" "$(cd "$P/.claude/skills" && find -L . -name SKILL.md | wc -l)" "$(find "$M/skills" -name SKILL.md | wc -l)"
echo x >>"$SKILLS/many-9/scripts/run.sh"
until_true test -L "$M/skills/many-9"
link -q --each --client claude >"$T/said"
is "one that is refused by now goes, what is somebody's stays" \
  "$(test -L "$P/.claude/skills/many-9" && echo there) $(cd "$P/.claude/skills" && echo mine many-8)" " mine many-8"
rm "$P/.agents/skills"
ln -s /elsewhere "$P/.agents/skills"
not_ok "nor is a link that leads elsewhere" link -q --client codex
is "it stays" "$(readlink "$P/.agents/skills")" /elsewhere
not_ok "another client is none" link --client emacs
not_ok "no mount, no link" link "$T"
"$RYEFS" umount "$M"
M=$IN
for option in only none; do
  mount_rye skills=$option
  is "skills=$option" "$(cd "$M/skills" && find . -maxdepth 1 \( -name 'x-*' -o -name ryefs \) | sort | tr '\n' ' ')" \
    "$([ $option = none ] || echo "./ryefs ./x-adder ")"
  is "skills=$option: search/ leads where they are" "$(cat "$M"/search/plain/*-skill:plain 2>/dev/null | sed -n 2p)" \
    "$([ $option = none ] || echo "name: plain")"
  umount_rye
done
finish
