#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# mcp_official.sh: servers that others wrote, and the official conformance suite for clients. They come
# from npm into a directory outside of the tree (scripts/deps --test, RYE_NPM_DIR); what is not
# there is skipped, for a test does not use the network.
MODULES=${RYE_NPM_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/ryefs-npm}/node_modules
. "$(dirname "$0")/fixture.sh"
need jq || finish
PEERS=$MODULES/@modelcontextprotocol
NODE=$(command -v "$MODULES"/node-linux-*/bin/node || command -v node)
need_package() { [ -n "$NODE" ] && [ -d "$PEERS/$1" ] && return; without "$1" "the npm package is not in $MODULES"; return 1; }
fx_spaces
mcp() { "$RYEFS" mcp --project "$P" "$@" 2>&1 </dev/null; }
of() { converse "$M/tools/mcp/$1/run" "$2" | jq -c "$3"; } # TOOL JSON FILTER
allow '^ryefs: (info refused: )?(tool|execute)'

if need_package server-everything && need_package server-filesystem; then
  has 'server-everything' "$(mcp -y add every -- "$NODE" "$PEERS/server-everything/dist/index.js" stdio)" \
    'mcp/servers/every is signed' 'speaks       2025-11-25 (legacy)'
  mkdir "$T/files"
  echo inside >"$T/files/a.txt"
  has 'server-filesystem' "$(mcp -y add files -- "$NODE" "$PEERS/server-filesystem/dist/index.js" "$T/files")" 'mcp/servers/files is signed'
  PORT=0
  for PORT in 31873 32873 33873; do
    beside web env PORT=$PORT "$NODE" "$PEERS/server-everything/dist/index.js" streamableHttp
    until_true grep -q "listening on port" "$T/web.log" && break
    kill "$BESIDE" 2>/dev/null
  done
  has 'over HTTP' "$(mcp -y add web "http://127.0.0.1:$PORT/mcp")" 'mcp/servers/web is signed' 'legacy'
  is 'listed' "$(mcp list --json | jq -c '[.[].name]|sort')" '["every","files","web"]'
  fx_mount
  for server in every web; do
    is "$server: a call" "$(of $server/echo '{"message":"hi"}' '[.status,.data.content[0].text,.data.protocol.version]')" '["success","Echo: hi","2025-11-25"]'
    is "$server: structured content" "$(of $server/get-structured-content '{"location":"New York"}' '[.status,(.data.structured|type)]')" '["success","object"]'
    is "$server: an image" "$(of $server/get-tiny-image '{}' '[.data.content[]|.type]|unique')" '["image","text"]'
    is "$server: progress" "$(of $server/trigger-long-running-operation '{"duration":1,"steps":4}' .status)" '"success"'
  done
  is 'a file' "$(of files/read_text_file "{\"path\":\"$T/files/a.txt\"}" '.data.content[0].text')" '"inside\n"'
  is 'none outside' "$(of files/read_text_file '{"path":"/etc/passwd"}' '[.status,.data.error_type]')" '["error","tool_error"]'
  has 'nothing has changed' "$(mcp refresh every)" 'nothing has changed'
  umount_rye
fi

if need_package conformance; then
  # MCP68: scenario, revision
  while read -r scenario version; do
    mkdir -p "$T/c/$scenario-$version"
    "$NODE" "$PEERS/conformance/dist/index.js" client --command "$PY $E2E/mcp_driver.py $T/c/$scenario-$version" \
      --scenario "$scenario" --spec-version "$version" >"$T/c/$scenario-$version.log" 2>&1 </dev/null
    rc=$?
    [ $rc = 0 ] || sed 's/^/# /' "$T/c/$scenario-$version.log" | tail -60
    is "MCP68 $scenario $version" $rc 0
  done <<'END'
tools_call 2026-07-28
request-metadata 2026-07-28
sep-2322-client-request-state 2026-07-28
http-standard-headers 2026-07-28
http-custom-headers 2026-07-28
http-invalid-tool-headers 2026-07-28
json-schema-ref-no-deref 2026-07-28
json-schema-2020-12-preservation 2026-07-28
initialize 2025-11-25
tools_call 2025-11-25
sse-retry 2025-11-25
json-schema-2020-12-preservation 2025-11-25
initialize 2025-06-18
tools_call 2025-06-18
END
fi
finish
