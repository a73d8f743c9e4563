# SPDX-License-Identifier: MIT
# remote_lib.sh: a node in $T/node with one principal, the test's own key, whose project `demo` lies on the node:
# `. "$(dirname "$0")/remote_lib.sh"` behind lib.sh.
#
#   ask VERB [WORD...]     tests/fake/ask_node at this node, with this key
#   order REF [WORD...]    submits one order of it with the parameters {}; prints its id
#   work [IDLE_MS]         a worker beside the test; its process id in BESIDE
#   state_is ID TEXT       its state and status are that
#   row SQL                changes the board as a hand in the database would

export USER_SPACE=$U HOME=$U
NODE=$T/node
KEY=$U/.ai/config/keys/signing/private_key.pem
[ -f "$KEY" ] || "$RYEFS" keygen > /dev/null
FP=$("$RYEFS" keys --json | jq -r '[.[] | select(.status == "signing")][0].fingerprint')
DEMO=$NODE/work/projects/$FP/demo
export RYE_NODE_LEASE_MS=1000 RYE_NODE_SILENT_MS=2000

ask() {
	local verb=$1

	shift
	"$ASK_NODE" "$verb" "$NODE" "$KEY" "$@"
}

# NAME SCRIPT [LINE]: a tool of the project there, signed
remote_tool() {
	mkdir -p "$DEMO/.ai/tools"
	{
		printf 'tool_id: %s\ntool_type: bash\nversion: "1.0.0"\ncategory: ""\n' "$1"
		printf 'description: for a test\nexecutor_id: rye/core/runtimes/bash/bash\n'
		printf '%s\nconfig:\n  script: |\n' "${3:-requires: [shell.execute, fs.write]}"
		printf '%s\n' "$2" | sed 's/^/    /'
	} > "$DEMO/.ai/tools/$1.yaml"
	"$RYEFS" sign --project "$DEMO" "tool:$1" > /dev/null
}

sha_of() {
	sha256sum < "$DEMO/.ai/tools/$1.yaml" | cut -d' ' -f1
}

order() {
	local ref=$1 parameters=${2:-'{}'} count=${3:-1}

	shift "$(($# < 3 ? $# : 3))"
	ask submit "tool:$ref" "$(sha_of "$ref")" demo "$parameters" "$count" "$@"
}

work() {
	beside work "$RYEFS" node-work "$NODE" "${1:-0}"
}

state_is() {
	[ "$(ask state "$1")" = "$2" ]
}

row() {
	python3 -c 'import sqlite3, sys
db = sqlite3.connect(sys.argv[1], timeout=10)
db.execute(sys.argv[2])
db.commit()' "$NODE/board.db" "$1"
}
