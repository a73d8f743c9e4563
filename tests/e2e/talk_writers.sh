#!/usr/bin/env bash
# Whoever writes one message, however it is cut: one run, its verdict, its reply (no-open 3).
. "$(dirname "$0")/talk_lib.sh"
start_mount
mkdir "$tmp/in"

message='{"a": [1, "two", {"three": "}"}]}'
bad='{"fail": 1}'
printf '%s\n' "$message" >"$tmp/in/message"
printf '%s\n' "$bad" >"$tmp/in/bad"
export message bad

# writer NAME COMMAND: `$f` is the file with the message, `$message` its text
writer() {
	local name=$1 command=$2
	f=$tmp/in/message timeout 10 bash -c "$command" >"$tmp/out" 2>&1
	check "$name: status" same "$?" 0 || cat "$tmp/out"
	ran "$name" "$message"
	check "$name: reply" grep -q '"status":"success"' run
}

# fails NAME COMMAND: the same with a message that fails
fails() {
	local name=$1 command=$2 status
	f=$tmp/in/bad message=$bad timeout 10 bash -c "$command" >"$tmp/out" 2>&1
	status=$?
	check "$name: fails" [ "$status" != 0 ] || cat "$tmp/out"
	ran "$name, failing" "$bad"
}

both() {
	writer "$1" "$2"
	fails "$1" "$2"
}

both echo 'echo "$message" >run'
both append 'echo "$message" >>run'
both clobber 'set -C; echo "$message" >|run'
both printf 'printf %s "$message" >run'
both cat 'cat "$f" >run'
both tee 'tee run <"$f" >/dev/null'
both tee-a 'tee -a run <"$f" >/dev/null'
both cp 'cp "$f" run'
both cp-p 'cp -p "$f" run'
both dd 'dd if="$f" of=run status=none'
both dd-1 'dd if="$f" of=run bs=1 status=none'
both dd-trunc 'dd if="$f" of=run conv=notrunc status=none'
both head 'head -c 4096 "$f" >run'
both descriptor 'exec 3>run; echo "$message" >&3'
writer lines 'printf "%s\n" "$message" | while IFS= read -r x; do echo "$x"; done >run'
writer held 'exec 3<>run; printf "%s" "$message" >&3; cat <&3 | grep -q success'

tool() {
	command -v "$2" >/dev/null && "$1" "${@:3}" && return
	echo "not here: $2"
}

tool both perl perl 'perl -e "open F, \">\", \"run\" or die; print F \$ENV{message}; close F or exit 1"'
tool both python3 python 'python3 -c "
import os
with open(\"run\", \"w\") as f: f.write(os.environ[\"message\"])"'
tool both python3 python-raw 'python3 -c "
import os
f = open(\"run\", \"wb\", buffering=0)
for c in os.environ[\"message\"].encode(): f.write(bytes([c]))"'
tool both node node 'node -e "require(\"fs\").writeFileSync(\"run\", process.env.message)"'
tool both node node-promise 'node -e "require(\"fs\").promises.writeFile(\"run\", process.env.message).catch(() => process.exit(1))"'
tool both awk awk 'awk "{ print >\"run\" } END { exit close(\"run\") != 0 }" "$f"'
tool writer sed sed-w 'sed -n "w run" "$f"'
tool both socat socat 'socat -u "OPEN:$f" OPEN:run,wronly'
tool both sponge sponge 'sponge run <"$f"'
tool writer ed ed 'printf "r %s\nw run\nq\n" "$f" | ed -s'
tool writer vim vim 'vim -u NONE -i NONE -n -es -c "w! run" -c "q!" "$f" </dev/null'

# jq writes its own text, 4 096 bytes at a time
if command -v jq >/dev/null; then
	jq -n '{big: [range(3000)]}' >"$tmp/in/big"
	check "jq: status" jq . "$tmp/in/big" >run
	check "jq: one run" same "$(wc -l <"$log")" "$(wc -l <"$tmp/in/big")"
	check "jq: as sent" same "$(jq -c . "$log")" "$(jq -c . "$tmp/in/big")"
	: >"$log"
fi

# pieces that touch the page cache in every way
python3 - "$log" <<'END' || faults=$((faults + 1))
import json, os, sys
for size in (4095, 4096, 4097, 70000, 131072, 200000, 1 << 20):
    text = json.dumps({"pad": "x" * size})
    open(sys.argv[1], "w").close()
    with open("run", "wb", buffering=0) as f:
        data = text.encode()
        while data:
            data = data[f.write(data):]
    assert open(sys.argv[1]).read() == text + "\n", size
END
checks=$((checks + 7))
: >"$log"

# what must not run anything, and succeed
for quiet in 'touch run' ': >run' 'truncate -s 0 run' 'truncate -s 100 run' 'chmod 600 run' 'cat run' \
	'printf "{\"a\":" >run' 'stat run' '[ -s run ]' 'tail -1 run'; do
	check "$quiet" timeout 5 bash -c "$quiet" >/dev/null
	ran "$quiet"
done

# YAML lines, empty lines, several messages
yaml() {
	printf '%b' "$1" | cat >run
	shift
	ran "yaml" "$@"
}
yaml 'command_: ls -la # c\n' '{"command_":"ls -la"}'
yaml '{a: 1, b: [x, "y"]}\n' '{"a":1,"b":["x","y"]}'
yaml '\n' '{}'
yaml '{"a":1}\r\n' '{"a":1}'
yaml '{"a":1}\n{"b":2}\n{"c":3}' '{"a":1}' '{"b":2}' '{"c":3}'
check "several, replies of the last" grep -q '"c' run

for broken in 'nonsense\n' '{"a":1]\n' '{"a":"b\n' '[1]\n' 'a: b: c\n'; do
	printf '%b' "$broken" >"$tmp/in/broken"
	check "garbage fails: $broken" bash -c '! cat "$0" >run 2>/dev/null' "$tmp/in/broken"
	ran "garbage: $broken"
	check "garbage is told: $broken" grep -q 'message broken\|wanted' run
done
check "errors has the sentences" grep -q 'tool:fake/run run: message broken' errors
