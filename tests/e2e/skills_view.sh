#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# skills/: real directories of what verified manifests list, as clients scan them; a skill of which any
# bit is another is a link to its reason, and ends no scan.
NPM=${RYE_NPM_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/ryefs-npm}
. "$(dirname "$0")/fixture.sh"

SKILLS=$P/.ai/skills

# skill NAME FILE...: a folder with these files, and its manifest, unsigned
skill() {
  local name=$1 file
  shift
  mkdir -p "$SKILLS/$name"
  printf -- '---\nname: %s\ndescription: What %s is for.\n---\n# %s\n' "$name" "$name" "$name" >"$SKILLS/$name/SKILL.md"
  for file; do
    mkdir -p "$(dirname "$SKILLS/$name/$file")"
    printf '#!/bin/sh\necho "%s of %s"\n' "$file" "$name" >"$SKILLS/$name/$file"
  done
  manifest "$name"
}

manifest() {
  "$PY" - "$SKILLS" "$1" <<'EOF'
import hashlib, os, sys
root, name = sys.argv[1:]
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

"$RYEFS" keygen -q
skill pdf scripts/x.sh references/a/b.md
skill plain
sign skill:pdf skill:plain
mount_rye

seen() { (cd "$M/skills" && find . | sort | tr '\n' ' '); }

is "names are the manifests'" "$(seen)" \
  ". ./pdf ./pdf/SKILL.md ./pdf/references ./pdf/references/a ./pdf/references/a/b.md ./pdf/scripts ./pdf/scripts/x.sh ./plain ./plain/SKILL.md "
is "bytes are the folder's" "$(cd "$SKILLS/pdf" && find . -type f -exec cmp {} "$M/skills/pdf/{}" \;)" ""
is "files are regular, with one name, and directories directories" \
  "$(find "$M/skills" ! -type d ! \( -type f -links 1 \))" ""
is "a script may be executed, a text may not" "$(cd "$M/skills/pdf" && stat -c %a scripts/x.sh SKILL.md | tr '\n' ' ')" "555 444 "
is "it runs" "$("$M/skills/pdf/scripts/x.sh")" "scripts/x.sh of pdf"
is "a real path is the path" "$(realpath "$M/skills/pdf/scripts/x.sh")" "$(realpath "$M")/skills/pdf/scripts/x.sh"
errno "nothing is made in it" EROFS touch "$M/skills/pdf/new"
errno "nothing is removed" EROFS rm -f "$M/skills/pdf/SKILL.md"
errno "no skill is added" EROFS mkdir "$M/skills/other"
like "its verdict is beside it, not listed" "$(cat "$M/skills/pdf/.rye/verify")" '^ok signed by '
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
        if sorted(os.listdir(view)) != ["pdf", "plain", "raw"]:
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

good_ones="plain/SKILL.md"
is "find" "$(cd "$M/skills" && find . -name SKILL.md 2>&1)" "./$good_ones"
is "grep -r" "$(cd "$M/skills" && grep -rl '^name:' . 2>&1)" "./$good_ones"
is "python's walk" "$("$PY" -c '
import os, sys
def broken(error): raise error
print(*[os.path.join(at, f) for at, _, fs in os.walk(sys.argv[1], onerror=broken) for f in fs if f == "SKILL.md"])' "$M/skills")" \
  "$M/skills/$good_ones"
if need rg; then
  is "rg --files, as clients call it" "$(cd "$M/skills" && rg --files --hidden --no-ignore --no-follow --sort=modified 2>&1)" "$good_ones"
  is "rg of a text" "$(cd "$M/skills" && rg -l '^name:' . 2>&1)" "./$good_ones"
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
console.log(found.join(), deep.join());
EOF
  is "node's readdir" "$(node "$T/scan.mjs" "$(realpath "$M")/skills" 2>&1)" "plain plain/SKILL.md"
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
is "what is removed is gone" "$(ls "$M/skills" | tr '\n' ' ')" "plain raw "

# --- many ---

for i in $(seq 50); do skill "many-$i" scripts/run.sh; done
ok "fifty are signed" sign 'skill:many-*'
until_true test -d "$M/skills/many-50"
is "all of them are there" "$(find "$M/skills" -mindepth 2 -maxdepth 2 -name SKILL.md | wc -l)" "51"
for n in 3 17 42; do echo x >>"$SKILLS/many-$n/scripts/run.sh"; done
until_true test -L "$M/skills/many-42"
is "those that changed are not" "$(cd "$M/skills" && find . -type l | sort | tr '\n' ' ')" "./many-17 ./many-3 ./many-42 ./raw "
is "the others are, in the same scan" "$(find "$M/skills" -mindepth 2 -maxdepth 2 -name SKILL.md | wc -l)" "48"

REF=$NPM/skills/node_modules/.bin/skills-ref
if [ -x "$REF" ]; then
  for dir in "$M"/skills/*/; do "$REF" validate "${dir%/}" >"$T/said" 2>&1 || bad "skills-ref takes $dir" "$(cat "$T/said")"; done
  good "skills-ref takes every folder"
else
  without "skills-ref takes every folder" "skills-ref is not installed (scripts/deps --test)"
fi
umount_rye
finish
