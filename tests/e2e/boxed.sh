#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The mount as the working directory of a sandbox, which covers .git, .claude and more by mounts of its
# own; what git makes of those names; -o spaces.
. "$(dirname "$0")/fixture.sh"

"$PY" "$E2E/signer.py" keys "$U" 00 --sign || exit 1
fx_knowledge "$P" k/good "Every neighbour is read."
fx_sign "$P" --all
fx_mount
COVERED='.agents .bash_profile .bashrc .claude .codex .continue .cursor .devcontainer .gemini .git .gitconfig .github .gitmodules .idea .mcp.json
.opencode .profile .qwen .ripgreprc .vscode .zprofile .zshrc'

# ---- the names ----
for name in $COVERED; do
  ok "$name is there" test -e "$M/$name"
  lacks "$name is not listed" "$(ls -A "$M")" "$name"
done
is "a directory of them is empty" "$(ls -A "$M/.claude")" ""
is "it belongs to no user: what looks for places to mount on finds none in it" "$(stat -c '%a %U' "$M/.git")" "555 nobody"
is "a file has nothing" "$(<"$M/.bashrc")" ""
is "or no servers" "$(jq -c . "$M/.mcp.json" 2>/dev/null || cat "$M/.mcp.json")" '{"mcpServers":{}}'
has "README.md says what works in a sandbox" "$(<"$M/README.md")" '## In a sandbox' '`ryefs execute KIND:ID name=value` runs the same inside'
has "and what agents load below spaces/" "$(tr '\n' ' ' <"$M/README.md")" 'Agents load CLAUDE.md, GEMINI.md and AGENTS.md' '`-o spaces=none` leaves'
errno "nothing is made in them" EACCES touch "$M/.claude/settings.json"
errno "nor beside them" EROFS mkdir "$M/.other"
not_ok "nor are they anywhere else" test -e "$M/knowledge/.git"

# ---- bwrap ----
box() { bwrap --ro-bind / / --dev /dev --proc /proc "$@"; }
if need bwrap && { box true 2>/dev/null || { without "bwrap" "it cannot make a sandbox here"; false; }; }; then
  for bind in --bind --ro-bind; do
    over=()
    for name in $COVERED; do
      if [ -d "$M/$name" ]; then over+=(--perms 555 --tmpfs "$M/$name" --remount-ro "$M/$name"); else over+=(--ro-bind /dev/null "$M/$name"); fi
    done
    has "a sandbox with the mount as its directory runs ($bind)" \
      "$(box "$bind" "$M" "$M" "${over[@]}" --chdir "$M" sh -c 'pwd; cat knowledge/k/good.md; ls -A .git' 2>&1)" "$M" "Every neighbour"
    has "also with what is there bound over itself ($bind)" \
      "$(box "$bind" "$M" "$M" --ro-bind "$M/.git" "$M/.git" --ro-bind "$M/.mcp.json" "$M/.mcp.json" --chdir "$M" pwd 2>&1)" "$M"
    has "ryefs execute runs tools there ($bind)" \
      "$(box "$bind" "$M" "$M" "${over[@]}" --chdir "$M" --setenv USER_SPACE "$U" "$RYEFS" execute --project "$P" --system "$S" \
        tool:rye/bash/bash 'command=echo inside' 2>&1)" "inside"
  done
  fails "what is not there cannot be made" box --bind "$M" "$M" --ro-bind /dev/null "$M/.another" true
fi

# ---- git ----
if need git; then
  export GIT_CONFIG_GLOBAL=/dev/null GIT_CEILING_DIRECTORIES=$T
  repo() { git -C "$P" -c user.name=t -c user.email=t@example.org "$@"; }
  repo init -q
  echo mnt/ >"$P/.gitignore"
  repo add .gitignore .ai && repo commit -qm all
  is "git takes it for no repository" "$(GIT_DISCOVERY_ACROSS_FILESYSTEM=1 git -C "$M" rev-parse --show-toplevel 2>&1)" "$P"
  is "git status in the mount is that of its project" "$(GIT_DISCOVERY_ACROSS_FILESYSTEM=1 git -C "$M" status --short 2>&1)" ""
  rm "$P/.gitignore"
  has "where it is not ignored" "$(repo status --short)" "?? mnt/"
  ok "git adds it" repo add mnt
  has "as files, not as another repository" "$(repo ls-files mnt)" mnt/knowledge/k/good.md
  lacks "and none of those names" "$(repo ls-files mnt)" mnt/.
  repo rm -rq --cached mnt
  has "git clean goes through it" "$(repo clean -fdxn)" "Would remove mnt/"
  repo clean -fdx >/dev/null 2>&1
  ok "and removes nothing" grep -q neighbour "$P/.ai/knowledge/k/good.md"
  ok "nor the mount" grep -q neighbour "$M/knowledge/k/good.md"
fi

# ---- spaces ----
ok "spaces/ is there" test -d "$M/spaces/project/knowledge"
ok "the mount ends" umount_rye
fx_mount spaces=ro
ok "ro: it can be read" grep -q neighbour "$M/spaces/project/knowledge/k/good.md"
errno "not written to" "$NOWRITE" bash -c "echo x >>'$M/spaces/project/knowledge/k/good.md'"
errno "nothing is made" "$NOWRITE" mkdir "$M/spaces/project/knowledge/new"
errno "nor removed" "$NOWRITE" rm -f "$M/spaces/project/knowledge/k/good.md"
ok "the mount ends" umount_rye
fx_mount spaces=none
not_ok "none: it is not there" test -e "$M/spaces"
is "nor an item's source" "$(ls "$M/knowledge/k/good" | grep source)" ""
not_ok "by name neither" test -L "$M/knowledge/k/good/source"
ok "items are served" grep -q neighbour "$M/knowledge/k/good.md"
lacks "README.md does not speak of it" "$(<"$M/README.md")" 'spaces/'
finish
