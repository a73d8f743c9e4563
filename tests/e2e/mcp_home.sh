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
has "its item says so" "$(<"$P/.ai/tools/mcp/servers/fs.yaml")" 'home: "private"'
first=$(verb execute mcp/fs/where)
like "and it works there" "$first" "$U/\\.cache/ryefs/homes/fs-[0-9a-f]+ started [0-9]+"
second=$(verb execute mcp/fs/where)
is "which stays" "${second##* }" "$((${first##* } + 1))"
not_ok "it writes nowhere else at home" test -e "$U/planted"
is "others may not look into it" "$(stat -c %a "$U"/.cache/ryefs/homes/fs-*)" 700
said=$(verb mcp add --yes other -- fetcher -y thing)
has "without one the sandbox is named" "$said" "it runs in the sandbox" "config.home: private"
not_ok "and nothing is signed" test -e "$P/.ai/tools/mcp/servers/other.yaml"
# ---- npx itself, and a registry on loopback that has one package ----
cat >"$T/registry.py" <<'TEXT'
import base64, hashlib, http.server, io, json, sys, tarfile
MAIN = """#!/usr/bin/env node
require("readline").createInterface({input: process.stdin}).on("line", line => {
  const {id, method} = JSON.parse(line);
  const result = {initialize: {protocolVersion: "2025-11-25", capabilities: {tools: {}}, serverInfo: {name: "n", version: "1"}},
    "tools/list": {tools: [{name: "where", description: "Where", inputSchema: {type: "object"}}]},
    "tools/call": {content: [{type: "text", text: process.env.HOME + " runs " + __filename}]}}[method];
  if (id !== undefined) console.log(JSON.stringify({jsonrpc: "2.0", id, ...(result ? {result} : {error: {code: -32601, message: "?"}})}));
});
"""
PACKAGE = {"name": "thing-of-tests", "version": "1.2.3", "bin": {"thing-of-tests": "main.js"}}
packed = io.BytesIO()
with tarfile.open(fileobj=packed, mode="w:gz") as tar:
    for name, text in (("package.json", json.dumps(PACKAGE)), ("main.js", MAIN)):
        entry = tarfile.TarInfo("package/" + name)
        entry.size, entry.mode = len(text.encode()), 0o755
        tar.addfile(entry, io.BytesIO(text.encode()))
packed = packed.getvalue()
class Registry(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        dist = {"tarball": "http://%s/thing.tgz" % self.headers["Host"],
                "integrity": "sha512-" + base64.b64encode(hashlib.sha512(packed).digest()).decode()}
        body = packed if self.path.endswith(".tgz") else json.dumps(
            {"name": PACKAGE["name"], "dist-tags": {"latest": "1.2.3"}, "versions": {"1.2.3": {**PACKAGE, "dist": dist}}}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *words):
        pass
server = http.server.HTTPServer(("127.0.0.1", 0), Registry)
with open(sys.argv[1], "w") as out:
    print(server.server_port, file=out)
server.serve_forever()
TEXT
if NPX=$(type -ap npx | sed -n 2p) && [ -n "$NPX" ]; then
  beside registry "$PY" "$T/registry.py" "$T/port"
  until_true test -s "$T/port"
  rm "$T/bin/npx"
  like "npx brings a package and starts it" \
    "$(verb mcp add --yes real "npm_config_registry=http://127.0.0.1:$(<"$T/port")" npm_config_update_notifier=false -- npx -y thing-of-tests@1.2.3)" \
    'is signed, with 1 tool'
  like "it runs out of its home" "$(verb execute mcp/real/where)" "$U/\\.cache/ryefs/homes/real-[0-9a-f]+ runs $U/\\.cache/ryefs/homes/real-[^ ]*/thing-of-tests/main.js"
else
  without "npx brings a package and starts it" "npx is not installed"
fi
# a home that a tool has made a link of leads nowhere
rm -rf "$U"/.cache/ryefs/homes
mkdir "$T/outside"
ln -s "$T/outside" "$U/.cache/ryefs/homes"
has "a link in its way is refused" "$(verb execute mcp/fs/where)" "cannot make"
is "and nothing is written there" "$(ls "$T/outside")" ""
finish
