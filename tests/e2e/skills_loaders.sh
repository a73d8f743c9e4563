#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Loaders of agents' clients list the same skills: Claude Code, Codex, OpenCode and Gemini themselves, by what they
# offer a scripted model, Gemini's loader by itself, and the walks that the clients' sources have, without them.
# A refused skill ends none, and the specification's validator takes every folder. No loader has a network but
# loopback; what is not installed is told and counted.
NPM=${RYE_NPM_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/ryefs-npm}
. "$(dirname "$0")/fixture.sh"
need node "clients' loaders" || finish

# alone CMD...: without a network, where that can be had
alone() {
  if unshare -n true 2>/dev/null; then unshare -n "$@"; else "$@"; fi
}

"$RYEFS" keygen -q
cd "$P" || exit 1
for name in alpha beta-2 broken; do
  mkdir -p "$T/$name/references/deep"
  printf -- '---\nname: %s\ndescription: "What %s: is for."\n---\nText\n' "$name" "$name" >"$T/$name/SKILL.md"
  echo text >"$T/$name/references/deep/more.md"
  digest=$("$RYEFS" skill add --project "$P" "$T/$name" 2>/dev/null </dev/null | grep '^sha256:')
  "$RYEFS" skill add -q --project "$P" --expect "$digest" "$T/$name" </dev/null
done
"$RYEFS" new directive my/task >/dev/null 2>&1 </dev/null
mkdir "$P/.ai/skills/unsigned"
sed 's/alpha/unsigned/g' "$T/alpha/SKILL.md" >"$P/.ai/skills/unsigned/SKILL.md"
echo more >>"$P/.ai/skills/broken/references/deep/more.md"
mount_rye
VIEW=$(realpath "$M")/skills
until_true test -L "$VIEW/broken"
wanted="alpha,beta-2,my-task,ryefs"
is "two are refused" "$(find "$VIEW" -type l | sed 's|.*/||' | sort | tr '\n' ' ')" "broken unsigned "

cat >"$T/walks.mjs" <<'EOF'
import fs from "node:fs";
import path from "node:path";
const root = process.argv[3];
const name = (file) => /^name: *"?([a-z0-9-]+)/m.exec(fs.readFileSync(file, "utf8"))?.[1];
// direct children that are directories or links; only "not there" is silent, the rest is logged and passed over
const claude = () => fs.readdirSync(root, { withFileTypes: true }).flatMap((entry) => {
  if (!entry.isDirectory() && !entry.isSymbolicLink()) return [];
  try {
    const file = path.join(root, entry.name, "SKILL.md"), st = fs.statSync(file);
    return st.isFile() && st.size <= 1 << 20 ? [name(file)] : [];
  } catch { return []; }
});
// breadth first, six levels, hidden names not; links to directories followed, a linked SKILL.md not
const codex = () => {
  const found = [], queue = [[fs.realpathSync(root), 0]];
  for (const [dir, depth] of queue)
    for (const entry of fs.readdirSync(dir, { withFileTypes: true })) {
      const at = path.join(dir, entry.name);
      if (entry.name.startsWith(".")) continue;
      let st;
      try { st = fs.statSync(at); } catch { continue; }
      if (st.isDirectory() && depth < 6) queue.push([fs.realpathSync(at), depth + 1]);
      else if (entry.isFile() && entry.name === "SKILL.md") found.push(name(at));
    }
  return found;
};
console.log({ claude, codex }[process.argv[2]]().sort().join());
EOF
is "Claude Code's scan" "$(alone node "$T/walks.mjs" claude "$VIEW" 2>&1)" "$wanted"
is "Codex's walk" "$(alone node "$T/walks.mjs" codex "$VIEW" 2>&1)" "$wanted"
ln -s "$VIEW" "$T/linked"
is "also through a link to all of it" "$(alone node "$T/walks.mjs" claude "$T/linked") $(alone node "$T/walks.mjs" codex "$T/linked")" "$wanted $wanted"

CORE=$(grep -l '^ *loadSkillsFromDir,$' "$NPM"/agents/node_modules/@google/gemini-cli/bundle/core-*.js 2>/dev/null | head -n 1)
if [ -n "$CORE" ]; then
  cat >"$T/gemini.mjs" <<'EOF'
const core = await import(process.argv[2]);
const found = await core.loadSkillsFromDir(process.argv[3]);
console.log(found.map((skill) => skill.name).sort().join());
process.exit(0);
EOF
  is "Gemini's own loader" "$(alone node "$T/gemini.mjs" "$CORE" "$VIEW" 2>"$T/said")" "$wanted"
else
  without "Gemini's own loader" "@google/gemini-cli is not installed (scripts/deps --test)"
fi

# npm's packages, as clients call them
globbed() {
  alone node --input-type=module -e "
import { createRequire } from 'node:module';
const have = createRequire('$NPM/'), name = '$1', root = '$VIEW';
const lib = have(name);
const files = name === 'glob' ? await lib.glob('**/SKILL.md', { cwd: root, follow: true, dot: true })
  : await lib('**/SKILL.md', { cwd: root, followSymbolicLinks: true, dot: true });
console.log(files.map((file) => file.split('/')[0]).sort().join());"
}
for name in glob fast-glob; do
  if [ -d "$NPM/node_modules/$name" ]; then
    is "npm's $name, as OpenCode calls it" "$(globbed $name 2>&1)" "$wanted"
  else
    without "npm's $name" "it is not installed (scripts/deps --test)"
  fi
done

REF=$NPM/skills/node_modules/.bin/skills-ref
if [ -x "$REF" ]; then
  for dir in "$VIEW"/*/; do
    alone "$REF" validate "${dir%/}" >"$T/said" 2>&1 || bad "the validator takes $dir" "$(<"$T/said")"
  done
  good "the specification's validator takes every folder"
else
  without "the specification's validator takes every folder" "skills-ref is not installed (scripts/deps --test)"
fi
# --- the clients themselves ---

# in a project whose directories of skills are links to the view, as `ryefs link` makes them
W=$T/work
mkdir "$W" && git -C "$W" init -q 2>/dev/null
for dir in .claude .agents; do
  mkdir "$W/$dir" && ln -s "$VIEW" "$W/$dir/skills"
done
offers() { # CLIENT
  local r got
  mkdir "$T/$1"
  got=$(unshare -n sh -c 'ip link set lo up && exec "$@"' - env RYE_HOME="$HOME" RYE_NPM_DIR="$NPM" "$PY" "$E2E/skills_clients.py" "$1" "$T/$1" "$W" \
    "$VIEW"/*/SKILL.md "$P/.ai/skills/broken/SKILL.md" "$T/unsigned/SKILL.md" 2>"$T/$1.err")
  r=$?
  case $r in
    77) without "$1 itself" "the npm package is not installed" ;;
    0) is "$1 itself" "$got" "$wanted" ;;
    *) bad "$1 itself" "status $r: $(tail -n 5 "$T/$1/said" "$T/$1.err" 2>&1)" ;;
  esac
}
cp -R "$P/.ai/skills/unsigned" "$T/unsigned"
if unshare -n ip link set lo up 2>/dev/null; then
  for client in claude codex opencode gemini; do offers $client; done
else
  without "the clients themselves" "no network namespace can be made here"
fi
umount_rye
finish
