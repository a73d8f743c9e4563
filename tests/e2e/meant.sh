#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# meant.sh: what can be signed and does not do what its author means is told at signing, with the line of
# the file and the cure; the same by doctor. What cannot work at all is not signed.
. "$(dirname "$0")/fixture.sh"
fx_spaces
D=$P/.ai/directives/k
TOOLS=$P/.ai/tools/k
mkdir -p "$D" "$TOOLS"
sign() { "$RYEFS" sign --project "$P" --user "$U" --system "$S" "$@" 2>&1; }

# directive NAME LINE...: the lines are its XML behind the description; BODY is what stands below
directive() {
  local name=$1
  shift
  {
    printf '# %s\n\n```xml\n<directive name="%s" version="1.0.0">\n<description>d</description>\n' "$name" "$name"
    printf '<metadata><category>k</category><author>me</author>%s</metadata>\n' "${META:-}"
    [ $# = 0 ] || printf '%s\n' "$@"
    printf '</directive>\n```\n\n%s\n' "${BODY-Do it.}"
  } >"$D/$name.md"
}
# shows TEXT NEEDLE FILE SAID: the line that SAID names is the line of FILE that has NEEDLE
shows() {
  local line
  line=$(sed -n 's|.*line \([0-9]*\): '"$2"'.*|\1|p' <<<"$5")
  has "$1" "$5" "$2"
  has "$1: its line is right" "$(sed -n "${line:-1}p" "$4")" "$3"
}

directive good '<inputs><input name="who" type="string">w</input></inputs>'
is 'nothing is said of a good one' "$(sign directive:k/good)" 'signed directive:k/good'
BODY='Say {input:whoo}.' directive placeholder '<inputs><input name="who" type="string">w</input></inputs>'
shows 'an input that is not declared' "there is no input 'whoo'" '{input:whoo}' "$D/placeholder.md" "$(sign directive:k/placeholder)"
directive type '<inputs>' '<input name="who" type="strin">w</input>' '</inputs>'
shows 'a type that nothing checks' "type 'strin' of 'who'" 'strin' "$D/type.md" "$(sign directive:k/type)"
directive steps '<process><step>x</step></process>'
shows 'steps inside the XML' '<process> stands inside' '<process>' "$D/steps.md" "$(sign directive:k/steps)"
BODY='' directive nothing '<process><step>x</step></process>'
said=$(sign directive:k/nothing)
shows 'steps inside the XML alone' '<process> stands inside' '<process>' "$D/nothing.md" "$said"
has 'are refused' "$said" 'Validation failed'
lacks 'and not signed' "$(<"$D/nothing.md")" 'rye:signed'
META='
<limits turn="6"/>' directive limit
shows 'a limit that limits nothing' "'turn' limits nothing" 'turn=' "$D/limit.md" "$(sign directive:k/limit)"
META='<model tier="genral"/>' directive tier
shows 'a tier that is none' "there is no tier 'genral': did you mean general" 'genral' "$D/tier.md" "$(sign directive:k/tier)"
META='
<permision/>' directive tag
shows 'a tag that counts for nothing' '<permision> counts for nothing: did you mean <permissions>' 'permision' "$D/tag.md" "$(sign directive:k/tag)"
META='<permissions><execute><tool>rye.bash.bsh</tool><tool>rye.file-system.*</tool><tool>rye.bash</tool></execute></permissions>' directive may
said=$(sign directive:k/may)
shows 'a permission that names nothing' "the permission 'rye.execute.tool.rye.bash.bsh' names nothing" 'bsh' "$D/may.md" "$said"
lacks 'those that name something are' "$said" "file-system"
directive front
sed -i '1i ---\nname: front\n---' "$D/front.md"
has 'front matter between dashes' "$(sign directive:k/front)" 'what stands between --- lines is not read'

# ---- hooks ----
CONTROL=rye/agent/threads/internal/control
# hooked NAME HOOK: a directive with that hook, and what signing it says
hooked() {
  META="
<hooks>
<hook id=\"on\" event=\"error\"><action item_id=\"$CONTROL\"><param name=\"action\">retry</param></action></hook>
$2
</hooks>" directive "$1"
  sign "directive:k/$1"
}
# refused NAME TEXT NEEDLE HOOK: it is not signed, with the line of that
refused() {
  local said
  said=$(hooked "$1" "$4")
  shows "hook: $1" "hook 2: $2" "$3" "$D/$1.md" "$said"
  lacks "hook: $1: it is not signed" "$(<"$D/$1.md")" 'rye:signed'
}
# told NAME TEXT NEEDLE HOOK: it is signed, with a remark
told() {
  local said
  said=$(hooked "$1" "$4")
  shows "hook: $1" "hook 2: $2" "$3" "$D/$1.md" "$said"
  has "hook: $1: it is signed" "$said" "signed directive:k/$1"
}
is 'nothing is said of good hooks' "$(hooked h_good "<hook id=\"a\" event=\"limit\" layer=\"3\">
  <condition path=\"limit_code\" op=\"eq\" value=\"turns_exceeded\"/><action item_id=\"$CONTROL\"><param name=\"action\">fail</param></action></hook>
<hook event=\"thread_started\" position=\"after\" wrap=\"false\"><action kind=\"directive\" item_id=\"k/good\"/></hook>
<hook event=\"after_step\"><action><fetch item_id=\"\${thread_id}\"><param name=\"a\">b</param></fetch></action></hook>")" 'signed directive:k/h_good'
refused h_event "event: 'limt' is none of a directive's: it never comes: did you mean limit" limt "<hook event=\"limt\">
<action item_id=\"$CONTROL\"><param name=\"action\">fail</param></action></hook>"
refused h_other "event: 'graph_started' is none of a directive's: it never comes: wanted one of" graph_started \
  '<hook event="graph_started"><action kind="directive" item_id="k/good"/></hook>'
refused h_none 'event: missing: wanted one of' 'id="none"' '<hook id="none"><action kind="directive" item_id="k/good"/></hook>'
refused h_action 'action: a mapping is wanted' 'id="mute"' '<hook id="mute" event="limit"/>'
refused h_item 'action: it names no item' '<action' '<hook event="limit">
<action kind="tool"/></hook>'
refused h_kind "action: 'tol' is no kind of item" tol '<hook event="limit">
<action kind="tol" item_id="k/good"/></hook>'
refused h_operator "op: 'equals' is none" equals '<hook event="limit">
<condition path="limit_code" op="equals" value="x"/>
<action kind="directive" item_id="k/good"/></hook>'
refused h_layer 'layer: a whole number from 0 to 4' 'layer=' '<hook event="limit"
layer="high"><action kind="directive" item_id="k/good"/></hook>'
refused h_word "params: action: 'again' is none" again "<hook event=\"error\"><action item_id=\"$CONTROL\">
<param name=\"action\">again</param></action></hook>"
refused h_steers "event: nothing is steered at 'after_step'" after_step "<hook
event=\"after_step\"><action item_id=\"$CONTROL\"><param name=\"action\">fail</param></action></hook>"
told h_when "'when' is not read" '<when>' '<hook event="limit">
<when>turns</when>
<action kind="directive" item_id="k/good"/></hook>'
told h_key "'postion' is not read: did you mean position" postion '<hook event="thread_started"
postion="after"><action kind="directive" item_id="k/good"/></hook>'
told h_empty 'condition: it is empty, and holds always' '<condition>' '<hook event="limit">
<condition>turns</condition><action kind="directive" item_id="k/good"/></hook>'
told h_gone "action: 'k/nowhere' names no tool that is here" k/nowhere '<hook event="limit">
<action item_id="k/nowhere"/></hook>'
directive h_place '<hooks>' '<hook event="limit"/>' '</hooks>'
shows 'hooks outside of the metadata' 'a <hook> counts within <metadata>' '<hooks>' "$D/h_place.md" "$(sign directive:k/h_place)"

mkdir -p "$P/.ai/config/agent"
H=$P/.ai/config/agent/hooks.yaml
hooks() { printf '%s\n' 'version: "1.0.0"' 'category: agent' "$@" >"$H"; }
hooks 'hooks:' '  # those' "  - {event: error, action: {item_id: $CONTROL, params: {action: retry}}}" '  - event: eror' \
  '    condition: {any: [{path: a, op: is}, {path: b, oper: eq}]}' '    action: {item_id: k/good, arguments: {}}'
said=$(sign config:agent/hooks)
shows 'hooks.yaml: an event' "hook 2: event: 'eror' is none of a thread's: it never comes: did you mean error" eror "$H" "$said"
shows 'hooks.yaml: an operator' "hook 2: op: 'is' is none" 'op: is' "$H" "$said"
shows 'hooks.yaml: a key of a condition' "hook 2: 'oper' is not a key" 'oper' "$H" "$said"
lacks 'hooks.yaml: it is not signed' "$(<"$H")" 'rye:signed'
hooks 'hook:' '  - {event: error}'
has 'hooks.yaml: no list' "$(sign config:agent/hooks)" 'hooks: a list of {event, condition, action} is wanted'
hooks 'hooks: [{event: limit, action: {kind: directive, item_id: k/good, arguments: {}}},' \
  '  {event: resolve_extends, action: {set_extends: k/none}}]'
said=$(sign config:agent/hooks)
shows 'hooks.yaml: a key of an action' "hook 1: action: 'arguments' is not read" 'arguments' "$H" "$said"
has 'hooks.yaml: a directive that is not there' "$said" "hook 2: action: 'k/none' names no directive that is here"
hooks 'hooks:' "- {event: error, condition: {path: status_code, value: 418}, action: {item_id: $CONTROL, params: {action: retry}}}"
is 'hooks.yaml: nothing is said of good ones' "$(sign config:agent/hooks)" 'signed config:agent/hooks'

# ---- configuration that the engine reads ----
A=$P/.ai/config/agent/agent.yaml
printf '%s\n' 'version: "1.0.0"' 'category: agent' 'provider: {defualt: local}' 'teir_mapping: {}' 'other: 1' >"$A"
said=$(sign config:agent/agent)
shows 'agent.yaml: a member' "'defualt' of provider is not read: is default meant?" 'defualt' "$A" "$(tr ';' '\n' <<<"$said" | sed '/default/!d')"
has 'agent.yaml: another, and it is signed' "$said" "'teir_mapping' of the file is not read: is tier_mapping meant?" 'signed config:agent/agent'
lacks 'agent.yaml: a word that is like none' "$said" "'other'"
mkdir -p "$P/.ai/config/remotes" "$U/.ai/config/remotes"
remotes() { # SPACE LINE...: its remotes.yaml
  local file=$1/.ai/config/remotes/remotes.yaml
  shift
  printf '%s\n' 'version: "1.0.0"' 'category: remotes' 'remotes:' "$@" >"$file"
}
remotes "$P" '  box: {ulr: "ssh://a", timout: 3}'
has 'remotes.yaml: one without a url is not signed' "$(sign config:remotes/remotes)" 'box: wanted is its url' 'Validation failed'
lacks 'it is not' "$(<"$P/.ai/config/remotes/remotes.yaml")" 'rye:signed'
remotes "$P" '  box: {url: "ssh://a", timeout: soon}'
has 'remotes.yaml: what its reader refuses' "$(sign config:remotes/remotes)" 'box: timeout is to be a number of seconds'
remotes "$P" '  box: {url: "ssh://a", timout: 3}'
has 'remotes.yaml: a member that is not read' "$(sign config:remotes/remotes)" "'timout' of remotes.box is not read: is timeout meant?" 'signed config:remotes'
remotes "$U" '  gpu: {url: "ssh://g"}'
sign --space user config:remotes/remotes >/dev/null
remotes "$P" '  gpu: {labels: [big]}' '  box: {labels: [small]}'
said=$(sign config:remotes/remotes)
has 'remotes.yaml: a url may stand in another space' "$said" 'box: wanted is its url'
lacks 'and then nothing is said' "$said" 'gpu:'
rm -r "$P/.ai/config/remotes" "$U/.ai/config/remotes" "$A"

# tool NAME LINE...: a Python tool
tool() {
  local name=$1
  shift
  printf '%s\n' '__version__ = "1.0.0"' '__tool_type__ = "python"' '__category__ = "k"' '__tool_description__ = "d"' \
    "__executor_id__ = \"${EXECUTOR:-rye/core/runtimes/python/function}\"" "$@" >"$TOOLS/$name.py"
}
RUN='def execute(params, project_path): return {"success": True}'
tool good "$RUN"
is 'nothing is said of a good tool' "$(sign tool:k/good)" 'signed tool:k/good'
tool computed 'CONFIG_SCHEMA = dict(type="object")' "$RUN"
said=$(sign tool:k/computed)
shows 'a schema that is computed' 'CONFIG_SCHEMA is no literal' 'CONFIG_SCHEMA' "$TOOLS/computed.py" "$said"
lacks 'is refused' "$(<"$TOOLS/computed.py")" 'rye:signed'
tool misspelt 'CONFIG_SCHAMA = dict(type="object")' '__requirs__ = ["net.http"]' 'CONFIG = {"timeot": 1}' "$RUN"
said=$(sign tool:k/misspelt)
shows 'a misspelt schema' 'CONFIG_SCHAMA counts for nothing: did you mean CONFIG_SCHEMA?' 'CONFIG_SCHAMA' "$TOOLS/misspelt.py" "$said"
shows 'a misspelt field' '__requirs__ counts for nothing: did you mean __requires__?' '__requirs__' "$TOOLS/misspelt.py" "$said"
is 'it is signed all the same' "$(grep -o 'counts for nothing' <<<"$said" | wc -l) $(grep -c '^signed ' <<<"$said")" '2 1'
sed -i '/^# rye:/d; s/CONFIG_SCHAMA/CONFIG_SCHEMA = {"type": "object"}\nCONFIG_SCHEMAS/; /requirs/d' "$TOOLS/misspelt.py"
is 'a name of its own beside the field is none' "$(sign tool:k/misspelt)" 'signed tool:k/misspelt'
tool misspelt 'CONFIG_SCHAMA = {"type": "object"}' "$RUN"
EXECUTOR=python tool ran "$RUN"
shows 'an executor that is none' "executor_id 'python' names no tool" 'executor_id' "$TOOLS/ran.py" "$(sign tool:k/ran)"
tool colon 'def execute(params, project_path) return {}'
shows 'what is not Python' 'this is not Python' 'def execute' "$TOOLS/colon.py" "$(sign tool:k/colon)"
tool mark "$RUN"
sed -i '1s/^/\xef\xbb\xbf/' "$TOOLS/mark.py"
has 'a byte order mark' "$(sign tool:k/mark)" 'byte order mark'

cat >"$TOOLS/graph.yaml" <<'TOOL'
tool_id: graph
tool_type: graph
version: "1.0.0"
category: k
description: d
executor_id: rye/core/runtimes/state-graph/runtime
permissions: [rye.execute.tool.k.*]
config:
  start: a
  nodes:
    a: {action: {item_id: "tool:rye/bash/bash"}, next: b}
    b: {action: {item_id: "tool:k/good"}, next: c}
    c: {type: return}
TOOL
said=$(sign tool:k/graph)
shows "an action that the graph's permissions miss" "node 'a': no permission covers its call: add rye.execute.tool.rye.bash.bash" 'a: {' \
  "$TOOLS/graph.yaml" "$said"
lacks 'one that they cover' "$said" "node 'b'"
sed '/^# rye:/d; s/^tool_id: .*/tool_id: hooked/; s,tool:rye/bash/bash,tool:k/good,' "$TOOLS/graph.yaml" >"$TOOLS/hooked.yaml"
cat >>"$TOOLS/hooked.yaml" <<'TOOL'
  hooks:
    - {event: after_step, action: {item_id: "tool:k/good"}}
    - event: after_stop
      action: {item_id: "tool:k/good", timeout: 3}
    - {event: error, layer: 4, action: {retry: true}}
TOOL
said=$(sign tool:k/hooked)
shows "a graph's hook: event" "hook 2: event: 'after_stop' is none of a graph's: it never comes: did you mean after_step" after_stop "$TOOLS/hooked.yaml" "$said"
shows "a graph's hook: action" "hook 2: action.timeout: no such key" timeout "$TOOLS/hooked.yaml" "$said"
shows "a graph's hook: layer" "hook 3: layer: 1, 2 or 3 is wanted" 'layer: 4' "$TOOLS/hooked.yaml" "$said"
sed -i 's/after_stop/after_step/; s/, timeout: 3//; s/layer: 4/layer: 2/' "$TOOLS/hooked.yaml"
is "a graph's good hooks" "$(sign tool:k/hooked)" 'signed tool:k/hooked'
sed '/^# rye:/d; s/^tool_id: .*/tool_id: spelt/; s/^permissions:/parmeters: []\npermissions:/' "$TOOLS/hooked.yaml" >"$TOOLS/spelt.yaml"
shows 'a misspelt field of YAML' 'parmeters counts for nothing: did you mean parameters?' 'parmeters' "$TOOLS/spelt.yaml" "$(sign tool:k/spelt)"
printf '%s\n' '#!/bin/bash' '# version: "1.0.0"' '# tool_type: bash' '# category: k' '# description: d' '# paramters: []' '# Paramters: none' 'echo hi' >"$TOOLS/told.sh"
cat >"$TOOLS/script.mjs" <<'TOOL'
export const __version__ = "1.0.0";
export const __tool_type__ = "javascript";
export const __executor_id__ = "rye/core/runtimes/node/node";
export const __category__ = "k";
export const __tool_description__ = "d";
export const CONFIG_SCHAMA = { type: "object" };
process.stdout.write("{}");
TOOL
shows 'of a script' 'CONFIG_SCHAMA counts for nothing: did you mean CONFIG_SCHEMA?' 'CONFIG_SCHAMA' "$TOOLS/script.mjs" "$(sign tool:k/script)"
shows 'of comments' 'paramters counts for nothing: did you mean parameters?' '# paramters' "$TOOLS/told.sh" "$(sign tool:k/told)"
cat >"$TOOLS/mapping.yaml" <<'TOOL'
tool_id: mapping
tool_type: yaml
version: "1.0.0"
category: k
description: d
executor_id: rye/core/runtimes/bash/bash
parameters:
  who: {type: string, required: true}
  n: integer
config: {script: "cat"}
TOOL
is 'parameters as a mapping' "$(sign tool:k/mapping)" 'signed tool:k/mapping'
has 'are checked' "$("$RYEFS" execute --project "$P" --user "$U" --system "$S" tool:k/mapping n=x 2>&1)" 'n: expected integer' 'who: required field missing'
sed -i '/^# rye:/d; s/^parameters:/parameters:\n  type: object\n  required: [who]\n  properties: {who: {type: string}}\nold:/' "$TOOLS/mapping.yaml"
is 'a schema under that name' "$(sign tool:k/mapping)" 'signed tool:k/mapping'
has 'is one' "$("$RYEFS" execute --project "$P" --user "$U" --system "$S" tool:k/mapping 2>&1)" 'Missing required parameters: who'

mend=$("$RYEFS" execute --project "$P" --user="$U" --system "$S" tool:k/mapping 2>&1 | sed -n 's/^mend with: ryefs //p')
has 'a remedy keeps the options with their values' "$(eval "'$RYEFS' $mend" 2>&1)" '"who": "WHO"'

# ---- words that are nearly one ----
cat >"$TOOLS/near.yaml" <<'TOOL'
tool_id: near
tool_type: scirpt
version: "1.0.0"
category: k
description: d
executor_id: rye/core/primitives/execute
parameters:
  - {name: name, tpye: string, colour: red}
  - name: other
    type: string
    requird: true
config:
  comand: echo
  arms: 2
  args: ["{nme}", "{name}", "{elsewhere}", "${nme}", "{tool_path}"]
TOOL
said=$(sign tool:k/near)
shows 'a misspelt type' "tool_type 'scirpt' is no type that is known: is script meant?" 'tool_type' "$TOOLS/near.yaml" "$said"
shows 'a member of a parameter' "'tpye' of parameter 'name' is not read: is type meant?" 'tpye' "$TOOLS/near.yaml" "$said"
shows 'another' "'requird' of parameter 'other' is not read: is required meant?" 'requird' "$TOOLS/near.yaml" "$said"
shows 'a member of config' "'comand' of config is not read: is command meant?" 'comand' "$TOOLS/near.yaml" "$said"
shows 'a placeholder' '{nme} stays as it is, there is no such parameter: is {name} meant?' '{nme}' "$TOOLS/near.yaml" "$said"
is 'nothing else is said, and it is signed' "$(grep -o 'meant?' <<<"$said" | wc -l) $(grep -c '^signed ' <<<"$said")" '5 1'
sed -i '/^# rye:/d; s/scirpt/java/; s/tpye/type/; s/requird/required/; s/comand: echo/command: "{comand}"\n  comand: echo/; s/"{nme}", //' "$TOOLS/near.yaml"
is 'what the configuration places itself is read' "$(sign tool:k/near)" 'signed tool:k/near'
tool nearpy 'CONFIG_SCHEMA = {"type": "object", "properties": {"who": {"type": "string", "defualt": "me"}}}' "$RUN"
shows 'of a schema' "'defualt' of parameter 'who' is not read: is default meant?" 'defualt' "$TOOLS/nearpy.py" "$(sign tool:k/nearpy)"

cat >"$TOOLS/walk.yaml" <<'TOOL'
tool_id: walk
tool_type: graph
version: "1.0.0"
category: k
description: d
executor_id: rye/core/runtimes/state-graph/runtime
permissions: [rye.execute.tool.k.*]
parameters:
  - {name: loud, type: boolean}
config:
  state: {loud: 1}
  start: clokc
  nodes:
    clock:
      action:
        item_id: tool:k/good
        params:
          loud: 1
      next: dnoe
    loud:
      type: gaet
    done: {type: return}
TOOL
said=$(sign tool:k/walk)
has 'a graph whose start is no node' "$said" 'Validation failed' 'config.start'
shows 'its line' 'config.start: ' 'start: clokc' "$TOOLS/walk.yaml" "$said"
lacks 'is not signed' "$(<"$TOOLS/walk.yaml")" 'rye:signed'
cp "$TOOLS/walk.yaml" "$T/walk.yaml"
sed -i 's/clokc/clock/' "$TOOLS/walk.yaml"
said=$(sign tool:k/walk)
shows 'a target that is no node' "node 'clock': next: " 'clock:' "$TOOLS/walk.yaml" "$(grep next <<<"$said")"
shows 'the line is that of the node, not of a parameter of its name' "node 'loud': type: " '    loud:' "$TOOLS/walk.yaml" "$(grep gaet <<<"$said")"
has 'is a remark' "$said" 'signed tool:k/walk'
sed -i 's/start: clock/start: clokc/' "$TOOLS/walk.yaml"
has 'one that was signed before may be signed again' "$(sign tool:k/walk)" 'config.start' 'signed tool:k/walk'

said=$("$RYEFS" doctor --project "$P" --user "$U" --system "$S" 2>&1)
for what in "there is no input 'whoo'" "'turn' limits nothing" 'this is not Python' "executor_id 'python'" "node 'a': no permission" "'postion' is not read" \
  "event: 'limt' is none" 'CONFIG_SCHAMA counts for nothing'; do
  has "doctor tells it, too: $what" "$said" "$what"
done
finish
