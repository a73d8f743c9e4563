#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# forked.sh: `ryefs execute --fork` as a person sees it: how far the model is, on a terminal and where
# there is none; ^C, which asks once; what ends up in a file. And what doctor and a fork say without a
# model, with a remedy that works.
. "$(dirname "$0")/agent_lib.sh"
export PATH="$T/bin:$PATH" USER_SPACE=$U RYE_SYSTEM_SPACES=$S
mkdir "$T/bin"
ln -s "$RYEFS" "$T/bin/ryefs"
unset ANTHROPIC_API_KEY OPENAI_API_KEY GEMINI_API_KEY RYE_LOCAL_URL

# ---- no model ----
ryefs init -q "$P" >/dev/null
fx_put "$P" directives/hello.md <<'TEXT'
# Hello

```xml
<directive name="hello" version="1.0.0">
  <metadata><description>Say hello.</description><category></category><author>t</author></metadata>
</directive>
```

Say hello.
TEXT
ryefs sign -q --project "$P" directive:hello
cd "$P" || exit 1
doctor() { ryefs doctor | sed -n '/^[a-z]* *model: /,/mend with/p'; }
said=$(doctor)
has "doctor says that there is no model, and why" "$said" "remark  model: no directive can be given to a model: provider anthropic: no key: ANTHROPIC_API_KEY" \
  "mend with: ryefs secret set ANTHROPIC_API_KEY"
ok "that is no failure" ryefs doctor -q
reason=$(sed -n 's/.*to a model: //p' <<<"$said")
has "a fork says the same" "$(ryefs execute directive:hello --fork 2>&1)" "Model resolution failed for directive 'hello': $reason" \
  "mend with: ryefs secret set ANTHROPIC_API_KEY"
is "as JSON, too" "$(ryefs doctor --json | jq -r '.[] | select(.about == "model") | .level, .mend' | tr '\n' ' ')" "remark ryefs secret set ANTHROPIC_API_KEY "
is "the remedy works" "$(echo sk-none | ryefs secret set ANTHROPIC_API_KEY)" "ANTHROPIC_API_KEY is kept"
like "then doctor names the model" "$(doctor)" '^ok +model: [a-z0-9-]+ of anthropic'
ryefs secret rm ANTHROPIC_API_KEY >/dev/null

agent_model '{"by": "turn", "lanes": {
  "lane_steps": [
    {"text": ["I count ", "the words."], "gap": 0.2, "calls": [{"name": "t_slow", "arguments": {}}], "usage": {"input": 612, "output": 37}},
    {"text": ["Done."], "usage": {"input": 704, "output": 31}}],
  "hello": [{"text": "Hello."}],
  "lane_long": [{"text": ["I begin."], "hang": 2}],
  "lane_steer": [{"text": ["\u001b]0;title\u0007 \u001b[2J", "\rover\u009b31m \u202egp\u2066.\u007f\ttab \u00e4\ud83d\ude00\u200d\n"], "gap": 0.2}],
  "lane_slow": [{"text": ["Later."], "first": 2}, {"text": "Again."}, {"text": "Still."}]}}'
agent_tool slow slow '    time.sleep(1.2)'
rm -r "$P/.ai/config/agent"
AGENT_REFS=tool:rye/agent/providers/scripted
agent_sign
export RYE_LOCAL_URL=http://127.0.0.1:$PORT
mkdir -p .ai/config/agent
echo '{version: "1.0.0", category: agent, provider: {default: local}}' >.ai/config/agent/agent.yaml
rows() { ryefs threads --json | jq length; }
before=$(rows)
has "with settings that are not signed there is no fork" "$(ryefs execute directive:hello --fork 2>&1)" "Model resolution failed for directive 'hello': Unsigned item: " "mend with: ryefs sign config:agent/agent"
is "and no thread that has never begun" "$(rows)" "$before"
rm -r .ai/config/agent
has "a server is named: the remedy makes it the model" "$(doctor)" "RYE_LOCAL_URL is, so the provider local can be named" "mend with: mkdir -p $P/.ai/config/agent && "
mend=$(ryefs execute directive:hello --fork 2>&1 | sed -n 's/^mend with: //p')
like "a fork has the same one" "$(eval "$mend")" '^signed config:agent/agent'
is "and then it works" "$(ryefs execute directive:hello --fork 2>"$T/err")" "Hello."
like "doctor says so" "$(doctor)" '^ok +model: local-model of local'
like "a server of several models: the environment names one" "$(RYE_LOCAL_MODEL=qwen:8b doctor)" '^ok +model: qwen:8b of local'
free=$("$PY" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
said=$(RYE_LOCAL_URL=http://127.0.0.1:$free doctor)
has "where nothing listens, doctor says so" "$said" "remark  model: no directive can be given" "provider local does not answer: http://127.0.0.1:$free: " "mend with: start its server"
said=$(RYE_LOCAL_URL=http://192.0.2.1:8080 doctor)
has "an address that no plain request goes to is not called a dead one" "$said" "provider local is not asked: http://192.0.2.1:8080: plain http" "mend with: an address that begins with https://"
lacks "nor is anybody told to start it" "$said" "start its server"
said=$(RYE_LOCAL_URL=127.0.0.1:$PORT doctor)
has "an address without a scheme is named, and where it comes from" "$said" "its address, 127.0.0.1:$PORT, does not begin with https:// or http://" "mend with: export RYE_LOCAL_URL=http://127.0.0.1:8080"
"$PY" -u -c 'import socket, sys
server = socket.create_server(("127.0.0.1", 0))
print(server.getsockname()[1])
while True:
    one = server.accept()[0]
    with open(sys.argv[1], "ab") as heard:
        heard.write(one.recv(65536))
    kept = one' "$T/heard" >"$T/mute.port" &
mute=$!
until_true test -s "$T/mute.port"
cp "$P/.ai/config/agent/agent.yaml" "$T/agent.yaml"
fx_put "$P" tools/rye/agent/providers/mute.yaml <<TEXT
tool_id: mute
tool_type: http
version: "1.0.0"
description: a server that never answers
executor_id: null
category: rye/agent/providers
wire: openai_chat
base_url: "http://127.0.0.1:$(cat "$T/mute.port")/v1?key=\${MUTE_KEY}"
auth: {type: bearer, token: "\${MUTE_KEY}"}
env_config:
  env: {MUTE_KEY: "\${MUTE_KEY}"}
tier_mapping: {general: mute-model}
TEXT
echo '{version: "1.0.0", category: agent, provider: {default: mute}}' >"$P/.ai/config/agent/agent.yaml"
ryefs sign -q config:agent/agent tool:rye/agent/providers/mute
like "one that listens and is slow is not waited for" "$(MUTE_KEY=sesame-sesame doctor)" '^ok +model: mute-model of mute'
has "it was asked" "$(<"$T/heard")" "HEAD / HTTP/1.1"
lacks "and got no key" "$(<"$T/heard")" sesame
kill "$mute"
rm "$P/.ai/tools/rye/agent/providers/mute.yaml"
cp "$T/agent.yaml" "$P/.ai/config/agent/agent.yaml"
RYE_LOCAL_MODEL=qwen:8b ryefs execute directive:hello --fork -q >/dev/null
is "which is asked" "$(jq -r 'select(.body) | .body.model' "$T/asked" | tail -n 1)" qwen:8b
unset RYE_LOCAL_URL

# ---- how far it is ----
agent_directive lane_steps '    <model tier="general" provider="scripted"/>
    <permissions><execute><tool>t.slow</tool></execute></permissions>
  </metadata>' <<<'Go.'
for name in long slow steer; do agent_directive lane_$name '    <model tier="general" provider="scripted"/>
  </metadata>' <<<'Go.'; done
agent_sign tool:t/slow
screen() { timeout 60 "$PY" "$E2E/screen.py" "$@"; }

is "where there is no terminal the result alone comes out" "$(ryefs execute directive:lane_steps --fork 2>"$T/err")" "Done."
is "and a line for each thing beside it" "$(<"$T/err")" "$(printf '%s\n' \
  'turn 1: the model is asked; 0 tokens in, 0 out, spend 0.0000' \
  'turn 1: t_slow; 612 tokens in, 37 out, spend 0.7970' \
  'turn 2: the model is asked; 612 tokens in, 37 out, spend 0.7970')"
ryefs execute directive:lane_steps --fork -q >/dev/null 2>"$T/err"
is "not with -q" "$(<"$T/err")" ""
ryefs execute directive:lane_steps --fork --json >"$T/out" 2>"$T/err"
is "not with --json" "$(<"$T/err")$(jq -r .result "$T/out")" "Done."

screen '' ryefs execute directive:lane_steps --fork >"$T/seen"
words=$(sed 's/\x1b[78]//g; s/\x1b\[[0-9]*[A-Z]//g; s/\x1bD//g' "$T/seen" | tr '\r' '\n')
has "on a terminal the tool and the cost are seen while it runs" "$words" "turn 1: t_slow; 612 tokens in, 37 out, spend 0.7970"
# what the screen has in the end: a line that was drawn is taken away again
"$PY" - "$T/seen" >"$T/left" <<'CODE'
import re, sys
rows, row, col, kept = [""], 0, 0, (0, 0)
text = open(sys.argv[1], newline="").read()
for part in re.findall(r"\x1b\[\d*[A-Z]|\x1b[78D]|[\s\S]", text):
    if part == "\n": row, col = row + 1, 0
    elif part == "\r": col = 0
    elif part == "\x1b7": kept = (row, col)
    elif part == "\x1b8": row, col = kept
    elif part in ("\x1bD", "\x1b[B"): row += 1
    elif part == "\x1b[A": row -= 1
    elif part == "\x1b[K": rows[row] = rows[row][:col]
    else:
        rows[row] = rows[row][:col].ljust(col) + part + rows[row][col + 1:]
        col += 1
    rows += [""] * (row + 1 - len(rows))
print("\n".join(rows))
CODE
is "in the end the words alone stand there" "$(<"$T/left")" "$(printf 'I count the words.\nDone.\n\n[0]')"
screen --out "$T/out" '' ryefs execute directive:lane_steps --fork >"$T/seen"
is "a result that goes to a file is nothing else" "$(<"$T/out")" "Done."
has "its way is seen all the same" "$(<"$T/seen")" "turn 1: t_slow"

# ---- a tool that would steer the terminal ----
fx_python "$P" steers <<'CODE'
CONFIG_SCHEMA = {"type": "object"}


def execute(params, project_path):
    return {"success": True, "output": "\x1b]0;title\x07 \x1b[2Jover\x9b31m \u202egp\u2066.\u200f"}
CODE
fx_tool "$P" t/steers "printf '\\033]0;live\\007\\033[2J'"
fx_sign "$P" 'tool:*steers'
for name in steers t/steers; do
  screen "" ryefs execute "tool:$name" -q >"$T/seen"
  is "nothing of it reaches the terminal: $name" "$(tr -d '\n\r' <"$T/seen" | grep -cP '\x1b|\x07|\xe2\x80\xae')" 0
  has "it is spelt: $name" "$(<"$T/seen")" '\x1b]0;'
  screen "" ryefs execute "tool:$name" -q --json >"$T/seen"
  is "nor as JSON: $name" "$(tr -d '\n\r' <"$T/seen" | grep -cP '\x1b\[2|\xe2\x80\xae')" 0
done
has "which ends are turned is named" "$(screen "" ryefs execute tool:steers -q)" '\u202egp\u2066.\u200f'
ryefs execute tool:t/steers >"$T/seen"
is "a file gets each byte" "$(od -An -tx1 <"$T/seen" | tr -d ' \n')" "$(printf '\033]0;live\007\033[2J\n' | od -An -tx1 | tr -d ' \n')"

# ---- a model that would steer the terminal ----
screen "" ryefs execute directive:lane_steer --fork -q >"$T/seen"
seen='\x1b]0;title\x07 \x1b[2Jover\x9b31m \u202egp\u2066.\x7f	tab ä😀‍'
has "what would steer the terminal is spelt" "$(<"$T/seen")" "$seen"
id=$(ryefs threads --json | jq -r '.[0].id')
screen "" ryefs threads tail "$id" >"$T/seen"
has "by tail, too" "$(<"$T/seen")" "$seen"
screen "" ryefs threads show "$id" >"$T/seen"
is "and nothing is left of it in show" "$(grep -c "$(printf '[\033\007]')" "$T/seen")" 0
has "elsewhere each byte comes out" "$(ryefs threads tail "$id")" "$(printf '\033]0;title\a \033[2J\rover\302\23331m')"

# ---- ^C ----
asks='\^C again cancels it, Enter leaves it'
id_of() { ryefs threads --json | jq -r '.[0].id'; }
screen "$(printf 'I begin\t^C\n%s\t^C' "$asks")" ryefs execute directive:lane_long --fork >"$T/seen"
id=$(id_of)
has "^C asks, and again cancels" "$(<"$T/seen")" "the thread is at work: ^C again cancels it, Enter leaves it to itself" "thread $id was cancelled" "[130]"
is "it was cancelled" "$(ryefs threads wait "$id")" cancelled
screen "$(printf 'I begin\t^C\n%s\t\\n' "$asks")" ryefs execute directive:lane_long --fork >"$T/seen"
id=$(id_of)
has "Enter leaves it to itself" "$(tail -n 4 "$T/seen")" "no longer waited for: thread $id goes on" "mend with: ryefs threads wait $id" "[1]"
is "it goes on" "$(cat "$P/.ai/state/threads/$id/status" 2>/dev/null; ryefs threads show "$id" --json | jq -r .status)" running
ok "until it is cancelled" ryefs threads cancel "$id"
screen "$(printf 'turn 1\t^C')" ryefs execute directive:lane_slow --fork >"$T/seen"
has "one who does not answer goes on waiting" "$(<"$T/seen")" "Enter leaves it" "Later." "[0]"
timeout -s INT 2 "$T/bin/ryefs" execute directive:lane_long --fork >"$T/out" 2>&1
has "without a terminal a signal leaves it to itself" "$(<"$T/out")" "goes on"
ryefs threads cancel "$(id_of)" >/dev/null

# ---- going on ----
id=$(ryefs execute directive:lane_slow --fork --async -q)
ryefs threads wait "$id" >/dev/null
next=$(ryefs threads resume "$id" go on 2>"$T/err")
like "resume prints the new thread's id" "$next" '^lane_slow/lane_slow-[0-9]+$'
has "and says what to do with it" "$(<"$T/err")" "ryefs threads wait $next"
is "it is another one" "$(ryefs threads wait "$next")" completed
reply=$(ryefs threads resume "$next" once more --json)
is "as JSON an object" "$(jq -r '.status, .resumed' <<<"$reply" | tr '\n' ' ')" "success $next "
is "which has its id" "$(ryefs threads wait "$(jq -r .thread_id <<<"$reply")")" completed
not_ok "one that is none" ryefs threads resume lane_slow/none go on
has "has its remedy" "$(ryefs threads resume lane_slow/none go on 2>&1)" "Thread not found: lane_slow/none" "mend with: ryefs threads list"
id=$(ryefs execute directive:lane_long --fork --async -q)
has "one that works" "$(ryefs threads resume "$id" go on 2>&1)" "cannot resume" "mend with: ryefs threads wait $id"
ryefs threads cancel "$id" >/dev/null
finish
