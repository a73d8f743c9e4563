#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What serves many calls is killed on its own, again and again: an MCP server, interpreters that wait.
# Killed between calls nothing is lost; killed while a call runs, that call ends with its result or with
# a sentence that says what ended. No tool runs twice for one call, and the next call works.
# RYE_TEST_KILLS: how many rounds for each.
. "$(dirname "$0")/fixture.sh"
need jq || finish
fx_spaces

KILLS=${RYE_TEST_KILLS:-8}
printf '%s\n' 'tool_id: peer' 'tool_type: mcp_server' 'executor_id: null' 'version: "1.0.0"' \
  'category: mcp/servers' 'description: a server' 'config:' '  transport: stdio' "  command: $PY" \
  "  args: ['$E2E/mcp_server.py', '{project_path}/peer.notes', legacy]" | fx_put "$P" tools/mcp/servers/peer.yaml
printf '%s\n' 'tool_id: slow' 'version: "1.0.0"' 'tool_type: mcp' 'category: mcp/peer' 'description: a tool' \
  'executor_id: rye/core/runtimes/mcp/stdio' 'config: {server: mcp/servers/peer, tool_name: slow}' \
  'input_schema: {type: object}' | fx_put "$P" tools/mcp/peer/slow.yaml
fx_python "$P" t/python <<'CODE'
CONFIG_SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}, "seconds": {"type": "number"}}}
import os, time
def execute(params, project_path):
    with open(os.path.join(project_path, "python.notes"), "a") as notes:
        notes.write('"n":%d,\n' % params["n"])
    time.sleep(params["seconds"])
    return {"success": True, "data": "done"}
CODE
fx_put "$P" tools/t/node.js <<'CODE'
export const __version__ = "1.0.0";
export const __tool_type__ = "node";
export const __executor_id__ = "rye/core/runtimes/node/node";
export const __category__ = "t";
export const __tool_description__ = "A tool of the tests";
export const CONFIG_SCHEMA = {type: "object", properties: {n: {type: "integer"}, seconds: {type: "number"}}};
import fs from "node:fs";
export async function execute(params, projectPath) {
  fs.appendFileSync(projectPath + "/node.notes", `"n":${params.n},\n`);
  await new Promise((done) => setTimeout(done, params.seconds * 1000));
  return {success: true, data: "done"};
}
CODE
fx_sign "$P" tool:mcp/servers/peer tool:mcp/peer/slow tool:t/python tool:t/node
fx_mount

trial() { # NOTES TOOL PATTERN
  timeout $((100 + KILLS * 3 * BUSY)) "$PY" "$E2E/killed_own.py" "$DAEMON" "$M/tools/$2/run" "$P/$1.notes" "$3" "$KILLS" >"$T/said" 2>&1 3>&-
  is "$2: while its process is killed" "$? $(grep -v '^#' "$T/said")" "0 sound"
  grep '^#' "$T/said"
}
trial peer mcp/peer/slow mcp_server.py
trial python t/python python
if need node; then trial node t/node node; fi
is "none is left to be waited for" "$(until_true no_zombies && echo none)" none
finish
