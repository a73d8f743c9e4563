#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A server that has to write at home, as npx does: in one of its own, which stays, and nowhere else.
# Without one it fails, and the sandbox is named as the reason.
. "$(dirname "$0")/fixture.sh"

"$PY" "$E2E/signer.py" keys "$U" 00 --sign || exit 1
mkdir "$T/bin"
cat >"$T/bin/npx" <<TEXT
#!/bin/sh
mkdir -p "\$HOME/.npm" && date +%s%N >>"\$HOME/.npm/starts" || exit 1
echo x 2>/dev/null >"$U/planted" && echo y >"$P/planted"
exec $PY "$T/server.py" "\$HOME"
TEXT
cp "$T/bin/npx" "$T/bin/fetcher"
cat >"$T/server.py" <<'TEXT'
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    answer = {"jsonrpc": "2.0", "id": message.get("id")}
    if message["method"] == "initialize":
        answer["result"] = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "n", "version": "1"}}
    elif message["method"] == "tools/list":
        answer["result"] = {"tools": [{"name": "where", "description": "Where", "inputSchema": {"type": "object"}}]}
    elif message["method"] == "tools/call":
        starts = len(open(sys.argv[1] + "/.npm/starts").readlines())
        answer["result"] = {"content": [{"type": "text", "text": "%s started %d" % (sys.argv[1], starts)}]}
    else:
        answer["error"] = {"code": -32601, "message": "Method not found"}
    if "id" in message:
        print(json.dumps(answer), flush=True)
TEXT
chmod 755 "$T/bin/npx" "$T/bin/fetcher"
PATH=$T/bin:$PATH

verb() { (cd "$P" && RYE_SYSTEM_SPACES=$S timeout -k 1 60 "$RYEFS" "$@" 2>&1 </dev/null); }

like "npx is given a home" "$(verb mcp add --yes fs -- npx -y thing@1.2.3 /)" 'is signed, with 1 tool'
has "its item says so" "$(cat "$P/.ai/tools/mcp/servers/fs.yaml")" 'home: "private"'
first=$(verb execute mcp/fs/where)
like "and it works there" "$first" "$U/\\.cache/ryefs/homes/fs-[0-9a-f]+ started [0-9]+"
second=$(verb execute mcp/fs/where)
is "which stays" "${second##* }" "$((${first##* } + 1))"
not_ok "it writes nowhere else at home" test -e "$U/planted"
is "others may not look into it" "$(stat -c %a "$U"/.cache/ryefs/homes/fs-*)" 700
said=$(verb mcp add --yes other -- fetcher -y thing)
has "without one the sandbox is named" "$said" "it runs in the sandbox" "config.home: private"
not_ok "and nothing is signed" test -e "$P/.ai/tools/mcp/servers/other.yaml"
# a home that a tool has made a link of leads nowhere
rm -rf "$U"/.cache/ryefs/homes
mkdir "$T/outside"
ln -s "$T/outside" "$U/.cache/ryefs/homes"
has "a link in its way is refused" "$(verb execute mcp/fs/where)" "cannot make"
is "and nothing is written there" "$(ls "$T/outside")" ""
finish
