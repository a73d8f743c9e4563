#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# gitignore.sh: what belongs to one machine is never committed: conversations, state, keys. The file
# that says so is written by `ryefs init`, completed by the first thread, and told of by doctor; a
# person's lines in it stay. And no pattern signs what a model wrote.
. "$(dirname "$0")/agent_lib.sh"
need git || finish
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
git() { command git -C "$P" -c user.name=t -c user.email=t@example.org "$@"; }
# what a commit of everything would have, of the machine's own
committed() {
  git add -A >/dev/null 2>&1
  git ls-files --cached | grep -E '^\.ai/(state|knowledge/agent|config/keys/signing|secrets)|\.rye-' | tr '\n' ' '
}
ignore=$P/.ai/.gitignore
doctor() { run doctor | grep -FA1 .ai/.gitignore; }

agent_model '{"lanes": {"Say something": [{"text": "the secret plan"}]}}'
agent_directive hello '    <model tier="fast"/>
  </metadata>' <<<'Say something.'
fx_knowledge "$P" notes "Words."
agent_sign knowledge:notes
git init -q .

# an old workspace: two lines of ours, and a person's
printf '*.swp\n/state/\r\n!/knowledge/kept/' >"$ignore"
has "doctor tells what an old file lacks" "$(doctor)" 'remark' '/knowledge/agent/threads/ /config/keys/signing/' 'mend with: ryefs init'
fx_mount
fork hello >"$T/reply"
story=$(cd "$P" && ls .ai/knowledge/agent/threads/hello/*.md)
has "a conversation is there" "$(<"$P/$story")" 'the secret plan'
touch "$P/.ai/tools/.rye-0123456789abcdef.tmp"
is "git takes nothing of it along" "$(committed)" ""
has "items are committed" "$(git ls-files)" .ai/knowledge/notes.md .ai/.gitignore .ai/directives/hello.md
has "a person's lines stay first" "$(head -c 35 "$ignore" | tr '\r\n' '~~')" '*.swp~/state/~~!/knowledge/kept/~'
is "what was there is not told again" "$(grep -c '^/state/' "$ignore")" 1
is "doctor has nothing to tell" "$(doctor)" ""
before=$(stat -c %i "$ignore")
echo '{"command": "true"}' >"$M/tools/rye/bash/async"
is "the next thread leaves it alone" "$(stat -c %i "$ignore")" "$before"

# without a file, by a tool; one that says the contrary
rm "$ignore"
has "doctor tells of a missing one" "$(doctor)" /state/
echo '{"command": "true"}' >"$M/tools/rye/bash/async"
is "the first thread of a tool writes it" "$(grep -c threads "$ignore")" 1
printf '!/knowledge/agent/threads/\n' >"$ignore"
echo '{"command": "true"}' >"$M/tools/rye/bash/async"
lacks "a person's decision stays" "$(<"$ignore")" $'\n/knowledge/agent/threads/'
rm "$ignore" && ln -s "$T/elsewhere" "$ignore"
echo '{"command": "true"}' >"$M/tools/rye/bash/async"
not_ok "a link is not followed" test -e "$T/elsewhere"
rm "$ignore" && printf '# mine\n' >"$ignore" && chmod 600 "$ignore"
is "init completes it" "$(run init "$P" >/dev/null; head -n 1 "$ignore"; grep -c '^/' "$ignore"; stat -c %a "$ignore")" $'# mine\n4\n600'
is "git, once more" "$(committed)" ""

# no pattern signs a transcript with the person's key, an edited one neither
echo 'One line more.' >>"$P/$story"
sum=$(sha256sum <"$P/$story")
for pattern in '*' 'knowledge:*' 'knowledge:**' 'knowledge:agent/**' 'knowledge:agent/threads/hello/*' 'knowledge:hello*'; do
  run sign --project "$P" "$pattern" >/dev/null
  echo "{\"item_id\": \"$pattern\"}" 2>/dev/null >"$M/sign"
  is "sign $pattern leaves it alone" "$(sha256sum <"$P/$story")" "$sum"
done
has "it is refused" "$(ls -l "$M/knowledge/agent/threads/hello/")" 'content changed since signing'
finish
