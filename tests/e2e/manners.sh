#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# manners.sh: how the verbs speak to a person at a terminal and to a pipe: colours, groups, times,
# progress; short names and filters of threads; the mounts of a user; completions; examples of --help.
. "$(dirname "$0")/fixture.sh"
[ -x /usr/bin/python3 ] || skip "/usr/bin/python3 is not installed"
allow "cannot vouch for its own keys"
export PATH="$T/bin:$PATH" RYE_SYSTEM_SPACES= HOME=$T/person TERM=xterm
unset NO_COLOR USER_SPACE
mkdir "$T/bin" "$HOME"
ln -s "$RYEFS" "$T/bin/ryefs"
ryefs init -q --sample "$P" || exit 1
cd "$P" || exit 1
screen() { /usr/bin/python3 "$SRC/e2e/screen.py" "$@"; } # STEPS COMMAND...
esc=$(printf '\033')
colored() { case $1 in *"$esc["*m*) return 0 ;; *) return 1 ;; esac; }
bare() { sed "s/$esc\[[0-9;]*m//g"; }

# ---- colours and groups ----
echo 'One line more.' >>.ai/knowledge/sample/house-rules.md
for verb in doctor verify threads diff; do
  ryefs $verb >"$T/pipe" 2>/dev/null
  ok "$verb: nothing is coloured in a pipe" sh -c '! grep -q "$1" "$2"' - "$esc" "$T/pipe"
  ryefs $verb --color=never >"$T/never" 2>/dev/null
  ok "$verb: and so it is without colours" cmp "$T/pipe" "$T/never"
done
for verb in doctor verify diff; do
  shown=$(screen '' ryefs $verb)
  ok "$verb: coloured on a terminal" colored "$shown"
  not_ok "$verb: not with NO_COLOR" colored "$(NO_COLOR=1 screen '' ryefs $verb)"
  ok "$verb: an empty NO_COLOR is none" colored "$(NO_COLOR= screen '' ryefs $verb)"
  not_ok "$verb: not on a dumb terminal" colored "$(TERM=dumb screen '' ryefs $verb)"
  not_ok "$verb: not when told so" colored "$(screen '' ryefs $verb --color never)"
  ok "$verb: for a pager" colored "$(NO_COLOR=1 ryefs $verb --color=always 2>/dev/null)"
  ok "$verb: as JSON never" sh -c '! ryefs "$1" --json --color=always 2>/dev/null | grep -q "$2"' - $verb "$esc"
done
is "doctor groups, what is to be mended last" "$(screen '' ryefs doctor | bare | grep -E '^(Well|Remarks|To mend)$' | tr '\n' ' ')" "Well Remarks To mend "
like "each with its remedy below it" "$(screen '' ryefs doctor | bare | grep -A1 '^  knowledge:sample/house-rules' | tail -n 1)" '^ +mend with: ryefs sign knowledge:sample/house-rules$'
is "with -q what is to be mended alone" "$(screen '' ryefs doctor -q | bare | grep -cE '^(Well|Remarks|To mend)$')" 1
has "a color that there is not" "$(ryefs verify --color=sometimes 2>&1)" "auto, always or never" "mend with: ryefs verify --color=auto"
ryefs sign -q knowledge:sample/house-rules
# an id that would turn round what follows it is told by its name
turn=$(printf 'turn\342\200\256ed')
cp .ai/knowledge/sample/house-rules.md ".ai/knowledge/sample/$turn.md"
for verb in sign "sign -i" diff rm; do
  # shellcheck disable=SC2086
  shown=$(screen $'y/N|uit: \tq\\n' ryefs $verb "knowledge:sample/$turn")
  has "$verb: an id that turns the text round is spelt" "$shown" 'turn\u202eed'
  is "$verb: and not shown as it is" "$(grep -c "$(printf '\342\200\256')" <<<"$shown")" 0
done
rm ".ai/knowledge/sample/$turn.md"

# ---- threads ----
start() { ryefs execute tool:rye/bash/bash command="$1" --async -q --system "$(dirname "$(readlink -f "$RYEFS")")/bundle"; }
export RYE_SYSTEM_SPACES=$(dirname "$(readlink -f "$RYEFS")")/bundle
old=$(start true) && ryefs threads wait "$old" >/dev/null
new=$(start 'sleep 300')
at_end 'ryefs threads kill "$new" >/dev/null 2>&1'
is "@last is the one that was started last" "$(ryefs threads show @last | sed -n 's/^id  *//p')" "$new"
is "the beginning of an id is enough" "$(ryefs threads wait "${old%%-*}")" completed
is "a word that begins none is looked for as it is" "$(ryefs threads show zzzz-none 2>&1 >/dev/null | grep -c 'zzzz-none')" 1
is "--running" "$(ryefs threads list --running --json | jq -r '.[].id')" "$new"
is "--since" "$(ryefs threads list --since 1h --json | jq length)" 2
is "--of an item" "$(ryefs threads list --of tool:rye/bash/bash --json | jq length)" 2
is "--of an id, or a pattern" "$(ryefs threads list --of 'rye/bash/*' --json | jq length)" 2
is "--of another" "$(ryefs threads list --of sample/count-words --json | jq length)" 0
has "a time that is none" "$(ryefs threads list --since 2 2>&1)" "takes a number with s, m, h, d or w" "mend with: ryefs threads list --since 1d"
shown=$(screen '' ryefs threads | bare)
is "for a person in two groups" "$(grep -xE 'Ended|Running' <<<"$shown" | tr '\n' ' ')" "Ended Running "
like "with times in words" "$(grep "$new" <<<"$shown")" '(just now| s ago| min ago)$'
like "in a pipe with times as they are" "$(ryefs threads | grep "$new")" ' 20[0-9][0-9]-[0-9T:.-]+\+00:00$'
has "options of list belong to it" "$(ryefs threads show "$new" --running 2>&1)" "belong to threads list"
has "prune wants to know how old" "$(ryefs threads prune 2>&1)" "mend with: ryefs threads prune --older 30d"
is "what is younger stays" "$(ryefs threads prune --older 1h --yes)" "0 forgotten"
db=.ai/state/threads/registry.db
long_ago() { sqlite3 "$db" "update threads set completed_at = '2020-01-02T03:04:05.000000+00:00', created_at = '2020-01-02T03:04:04.000000+00:00' where thread_id = '$1'"; }
if command -v sqlite3 >/dev/null; then
  long_ago "$old"
  like "of long ago in days" "$(screen '' ryefs threads | bare | grep "$old")" ' [0-9]+ days ago$'
  has "without a terminal prune wants a yes" "$(ryefs threads prune --older 30d 2>&1)" "mend with: ryefs threads prune --older 30d --yes"
  is "asked on a terminal" "$(screen 'left\?	n\n' ryefs threads prune --older 30d | tail -n 1)" "[5]"
  is "and nothing went" "$(ryefs threads list --json | jq length)" 2
  is "prune forgets what ended long ago" "$(ryefs threads prune --older 30d --yes)" "1 forgotten"
  is "and that alone" "$(ryefs threads list --json | jq -r '.[].id')" "$new"
fi
# two that begin alike
for id in twin-a twin-b; do
  sqlite3 "$db" "insert into threads (thread_id, directive, status, created_at, updated_at) values ('$id', 'x', 'completed', '2026-01-01T00:00:00+00:00', '2026-01-01T00:00:00+00:00')"
done
has "a beginning of two ids" "$(ryefs threads show twin 2>&1)" "twin begins the ids of 2 threads: twin-a, twin-b" "mend with: ryefs threads show twin-b"
is "is no verb's to choose" "$(ryefs threads delete twin >/dev/null 2>&1; echo $?)" 2

# ---- progress ----
like "what lasts tells how long, on a terminal" "$(screen '' ryefs execute tool:rye/bash/bash command='sleep 1.6; echo done' | tr '\r' '\n')" 'tool:rye/bash/bash, 1 s'
is "and leaves nothing of that" "$(ryefs execute tool:rye/bash/bash command='sleep 1.6; echo done' 2>&1)" "done"
not_ok "nor with -q" grep -q ', 1 s' <<<"$(screen '' ryefs execute -q tool:rye/bash/bash command='sleep 1.6; echo done')"
like "so does waiting for a thread" "$(screen '1 s	^C' ryefs threads wait "$new")" 'the thread goes on, 1 s'

# ---- mounts ----
mine() { ryefs list --json | jq -r --arg m "$M" '.[] | select(.place == $m)'; }
is "no mount, no line" "$(mine)" ""
mount_rye
is "a mount: its project, process and state" "$(mine | jq -r '"\(.project) \(.state) \(.pid)"')" "$P serves $DAEMON"
like "since when" "$(mine | jq -r .since)" '^20..-..-..T..:..:..Z$'
like "for people a table" "$(ryefs list | grep " $P ")" "^$M +$P +20.*Z +$DAEMON  serves\$"
kill -STOP "$DAEMON"
is "a daemon that does not answer is silent" "$(mine | jq -r '"\(.state) \(.pid)"')" "silent null"
kill -CONT "$DAEMON"
like "on a terminal with times as they are spoken" "$(NO_COLOR=1 ryefs list --color=always | grep " $P ")" "(just now|ago) +$DAEMON "
has "items are not what list lists" "$(ryefs list tools 2>&1)" "mend with: ryefs search tools"
umount_rye >/dev/null

# ---- what it is made with ----
like "--version says the version first" "$(ryefs --version | head -n 1)" '^ryefs [0-9.]+$'
like "then with what it was built" "$(ryefs --version | tail -n +2 | tr '\n' ' ')" '^with libfuse 3\.[0-9.]+, sqlite 3\.[0-9.]+, .* loaded when it is wanted: libcurl [0-9.]+(, libpq [0-9.]+)? $'

# ---- completions and help ----
for shell in bash:ryefs.bash zsh:_ryefs fish:ryefs.fish; do
  ryefs completion ${shell%:*} >"$T/completion"
  ok "completion ${shell%:*} is the file that is installed" cmp "$T/completion" "$SRC/../scripts/completion/${shell#*:}"
done
# asked LINE: what bash, once it has evaluated the completion, would offer at the end of the line
asked() {
  bash --norc -c 'eval "$(ryefs completion bash)"; COMP_LINE=$1 COMP_POINT=${#1} COMP_WORDBREAKS=" :"; _ryefs; printf "%s\n" "${COMPREPLY[@]}"' - "$1" 2>/dev/null | tr '\n' ' '
}
has "bash, asked for verbs" "$(asked 'ryefs t')" "threads trust"
has "for kinds" "$(asked 'ryefs new ')" "tool directive knowledge skill graph http mcp"
has "for an item" "$(asked 'ryefs execute tool:sample/')" "sample/count-words"
has "for clients" "$(asked 'ryefs link --client g')" "gemini"
has "for schemas" "$(asked 'ryefs schema h')" "hooks"
if command -v git >/dev/null; then
  git init -q -b trunk "$T/repo" && git -C "$T/repo" -c user.name=a -c user.email=a@example.org commit -q --allow-empty -m begin
  is "for commits" "$(cd "$T/repo" && asked 'ryefs verify --changed-since ')" "trunk "
  mkdir -p "$T/repo/.ai/skills/\$(touch\${IFS}ran)" && git -C "$T/repo" branch '$(touch${IFS}ran)'
  mkdir "$T/repo/.ai/knowledge" && : >"$T/repo/.ai/knowledge/\$(touch\${IFS}ran).md"
  said=$(cd "$T/repo" && asked 'ryefs verify --changed-since ' && asked 'ryefs skill diff ' && asked 'ryefs sign knowledge:$')
  is "names of a clone are quoted" "$said" '\$\(touch\$\{IFS\}ran\) trunk \$\(touch\$\{IFS\}ran\) \$\(touch\$\{IFS\}ran\) '
  not_ok "and not run" test -e "$T/repo/ran"
fi
if command -v zsh >/dev/null; then
  is "zsh takes it from the command" "$(zsh -fc 'autoload -Uz compinit; compinit -D -u; eval "$(ryefs completion zsh)" && print -r -- "$_comps[ryefs]"' 2>&1)" _ryefs
fi
if command -v fish >/dev/null; then
  has "fish, asked for verbs" "$(fish --no-config -c 'ryefs completion fish | source; complete -C "ryefs t" | cut -f1' | tr '\n' ' ')" "threads" "trust"
  is "no kind twice" "$(fish --no-config -c 'ryefs completion fish | source; complete -C "ryefs new " | cut -f1 | sort | uniq -c | awk "\$1 > 1"')" ""
fi
has "of no other shell" "$(ryefs completion tcsh 2>&1)" "bash, fish or zsh" "mend with: ryefs completion"
verbs=$(ryefs --help | sed -n 's/^  \([a-z]*\) .*/\1/p' | grep -v '^mount$')
for verb in $verbs; do
  text=$(ryefs "$verb" --help)
  [ "$(wc -l <<<"$text")" -le 24 ] || [ "$verb" = mcp ] || bad "$verb --help is longer than a screen"
  grep -q '^  .*ryefs '"$verb" <<<"$(sed -n '/^Examples:/,/^$/p' <<<"$text")" || bad "$verb --help has no example of it"
  LC_ALL=C.UTF-8 grep -qE '.{101,}' <<<"$text" && bad "$verb --help is wider than a screen"
done
good "each verb's help has an example, on one screen"

# what can be typed of them is, in a workspace with the sample items
mkdir "$T/try" "$HOME/.config" "$HOME/.config/fish" "$HOME/.config/fish/completions"
cd "$T/try" && ryefs init -q --sample . && mkdir mnt && git init -q . 2>/dev/null
printf '#!/bin/sh\nexit 0\n' >"$T/bin/nano" && chmod +x "$T/bin/nano"
openssl genpkey -algorithm ed25519 2>/dev/null | openssl pkey -pubout >colleague.pem 2>/dev/null || cp "$SRC/vectors/key.pem" colleague.pem
ryefs . mnt >/dev/null 2>&1
until_true mounted "$T/try/mnt"
for verb in $verbs; do
  while IFS= read -r line; do
    case $line in
      *npx* | 'ryefs mcp '* | 'ryefs keygen '* | 'ryefs untrust '*) continue ;; # a server's, a key's that is there, a key's that is not
    esac
    (eval "$line") >"$T/said" 2>&1 </dev/null && continue
    bad "an example works: $line" "$(head -n 3 "$T/said")"
  done < <(ryefs "$verb" --help | sed -n '/^Examples:/,/^$/s/^  //p')
done
good "examples work when they are typed"
mounted "$T/try/mnt" && fusermount3 -u "$T/try/mnt"
finish
