#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# talk_writers.sh: whoever writes one message, however it is cut: one run, its verdict, its
# reply (docs/architecture.md, conversations).
. "$(dirname "$0")/talk_lib.sh"
start_talks

message='{"a": [1, "two", {"three": "}"}]}'
bad='{"fail": 1}'
printf '%s\n' "$message" >"$T/message"
printf '%s\n' "$bad" >"$T/bad"
export message bad

# writer NAME COMMAND: $f is the file with the message, $message its text
writer() {
  f=$T/message ok "$1 succeeds" timeout 10 bash -c "$2"
  ran "$1" "$message"
  ok "$1: the reply" grep -q '"status":"success"' run
}

fails() {
  f=$T/bad message=$bad not_ok "$1 fails" timeout 10 bash -c "$2"
  ran "$1, failing" "$bad"
}

both() {
  writer "$@"
  fails "$@"
}

# with PROGRAM writer|both NAME COMMAND
with() {
  local program=$1
  shift
  command -v "$program" >/dev/null && "$@" && return
  echo "# not here: $program"
}

both echo 'echo "$message" >run'
both append 'echo "$message" >>run'
both clobber 'set -C; echo "$message" >|run'
both printf 'printf %s "$message" >run'
both cat 'cat "$f" >run'
both tee 'tee run <"$f" >/dev/null'
both 'tee -a' 'tee -a run <"$f" >/dev/null'
both cp 'cp "$f" run'
both 'cp -p' 'cp -p "$f" run'
both dd 'dd if="$f" of=run status=none'
both 'dd bs=1' 'dd if="$f" of=run bs=1 status=none'
both 'dd notrunc' 'dd if="$f" of=run conv=notrunc status=none'
both head 'head -c 4096 "$f" >run'
both descriptor 'exec 3>run; echo "$message" >&3'
writer 'held descriptor' 'exec 3<>run; printf "%s" "$message" >&3; cat <&3 | grep -q success'

with perl both perl 'perl -e "open F, \">\", \"run\" or die; print F \$ENV{message}; close F or exit 1"'
both python '/usr/bin/python3 -c "
import os
with open(\"run\", \"w\") as f: f.write(os.environ[\"message\"])"'
both 'python, byte by byte' '/usr/bin/python3 -c "
import os
f = open(\"run\", \"wb\", buffering=0)
for c in os.environ[\"message\"].encode(): f.write(bytes([c]))"'
with node both node 'node -e "require(\"fs\").writeFileSync(\"run\", process.env.message)"'
with node both 'node, promises' \
  'node -e "require(\"fs\").promises.writeFile(\"run\", process.env.message).catch(() => process.exit(1))"'
with awk both awk 'awk "{ print >\"run\" } END { exit close(\"run\") != 0 }" "$f"'
with sed writer 'sed w' 'sed -n "w run" "$f"'
with socat both socat 'socat -u "OPEN:$f" OPEN:run,wronly'
with sponge both sponge 'sponge run <"$f"'
with ed writer ed 'printf "r %s\nw run\nq\n" "$f" | ed -s'
with vim writer vim 'vim -u NONE -i NONE -n -es -c "w! run" -c "q!" "$f" </dev/null'

jq_pieces() {
  jq -n '{big: [range(3000)]}' >"$T/big"
  command jq . "$T/big" >run
  same "$(jq -cs . "$LOG")" "$(jq -cs . "$T/big")"
}
with jq ok "jq: 4 096 bytes at a time, one run, as sent" jq_pieces
: >"$LOG"

cat >"$T/sizes.py" <<'END'
import json, sys
for size in (4083, 4084, 4085, 4086, 4087, 70000, 131072, 200000, 1 << 20):
    text = json.dumps({"pad": "x" * size})
    open(sys.argv[1], "w").close()
    with open("run", "wb", buffering=0) as f:
        data = text.encode()
        while data:
            data = data[f.write(data):]
    assert open(sys.argv[1]).read() == text + "\n", size
END
ok "messages around a page and beyond what one request holds" /usr/bin/python3 "$T/sizes.py" "$LOG"
: >"$LOG"

for quiet in 'touch run' ': >run' 'truncate -s 0 run' 'truncate -s 100 run' 'chmod 600 run' 'cat run' \
  'printf "{\"a\":" >run' 'stat run' '[ -s run ]' 'tail -1 run'; do
  ok "$quiet" timeout 5 bash -c "$quiet"
  ran "$quiet"
done

printed() {
  local text=$1
  shift
  ok "printf $text" bash -c 'printf "%b" "$0" | cat >run' "$text"
  ran "printf $text" "$@"
}
printed 'command_: ls -la # c\n' '{"command_":"ls -la"}'
printed '{a: 1, b: [x, "y"]}\n' '{"a":1,"b":["x","y"]}'
printed '\n' '{}'
printed '{"a":1}\r\n' '{"a":1}'
printed '{"a":1}\n\n\n' '{"a":1}'
printed '{"a":1}\n{"b":2}\n{"c":3}' '{"a":1}' '{"b":2}' '{"c":3}'
ok "several messages: the last reply" grep -q '"c' run
printed 'a: 1\nb: two\n' '{"a":1,"b":"two"}'
printed 'text: |\r\n  one\r\n  two\r\n' '{"text":"one\ntwo\n"}'
printed '\n\n{"a":1}\n' '{"a":1}'
printed '\xef\xbb\xbf{"a":1}\n' '{"a":1}'
printed '\xef\xbb\xbfa: 1\n' '{"a":1}'

not_ok "YAML without its newline" bash -c 'printf "command: touch %s" "$0" >run' "$T/ran"
ok "and it is told" grep -q 'end it with a newline' run
ok "in output too" grep -q 'end it with a newline' output
ran "YAML without its newline"

for broken in 'nonsense\n' '{"a":1]\n' '{"a":"b\n' '[1]\n' 'a: b: c\n' '{"a":"\0"}'; do
  not_ok "garbage: $broken" bash -c 'printf "%b" "$0" | cat >run' "$broken"
  ran "garbage: $broken"
  ok "and it is told: $broken" grep -q 'message broken\|wanted' run
done
ok "errors has the sentences" grep -q 'tool:fake/run run: message broken' errors
ok "an unfinished message is told" bash -c 'printf "{\"a\":[1" >run; grep -q "wanted \]" run'
ok "in errors too" grep -q 'message unfinished: 7 bytes came' errors
ok "and in output, not an older reply" grep -q '^message unfinished: 7 bytes came' output
ran "unfinished"
end_talks
