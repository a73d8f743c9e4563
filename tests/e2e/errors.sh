#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# .ryefs/errors: the newest failure stands last, whatever was left unfinished; inputs in names;
# who is refused is told why. What a control file that nobody wrote to reads as.
. "$(dirname "$0")/fixture.sh"

fx_put "$P" directives/hello.md <<'TEXT'
# Hello

```xml
<directive name="hello" version="1.0.0">
  <metadata><description>Greet.</description><category></category><author>tests</author></metadata>
  <inputs><input name="who" type="string" default="world">Whom</input></inputs>
</directive>
```

Greet {input:who}.
TEXT
"$PY" "$E2E/signer.py" keys "$U" 00 --sign || exit 1
fx_sign "$P" --all
clocked fx_mount
run=$M/tools/rye/bash/run
latest() { tail -n 1 "$M/.ryefs/errors"; }

echo '{' >"$run"
has "an unfinished message" "$(latest)" "tool:rye/bash/bash run: message unfinished"
like "with its time" "$(latest)" "^$(date -u +%Y-%m-%d)T[0-9:]{8}Z tool:"
echo '{"nope":1}' >"$run" 2>/dev/null
like "a refused one, too" "$(latest)" "^$(date -u +%Y-%m-%d)T[0-9:]{8}Z tool:.*nope"
echo '{"command":"printf glued"}' >"$run"
is "output ends with a newline" "$(cat "$M/tools/rye/bash/output"; echo .)" "glued
."
echo '{' >"$run"
has "unfinished again" "$(latest)" "tool:rye/bash/bash run: message unfinished"
errno "a directive with an input that it has not" EINVAL cat "$M/directives/hello.md?what=1"
has "a later failure stands behind it" "$(latest)" "directive:hello: Unknown parameters: what"
pass 3
sleep 0.3 # then what was left unfinished counts, of itself
has "nor does it come behind when it counts later" "$(latest)" "directive:hello: Unknown parameters: what"
is "each stands there once" "$(grep -c unfinished "$M/.ryefs/errors"; grep -c 'parameters: what' "$M/.ryefs/errors")" "2
1"
errno "a tool with one" EINVAL cat "$M/tools/rye/bash/bash.py?what=1"
has "is named once" "$(latest)" "tool:rye/bash/bash: a tool takes no inputs in its name"
errno "a prompt with one" EINVAL cat "$M/directives/hello/prompt.md?how=1"
has "leaves its sentence too" "$(latest)" "directive:hello: Unknown parameters: how"
exec 3<>"$run"
echo '{"command":' >&3
has "what is unfinished since stands last" "$(latest)" "tool:rye/bash/bash run: message unfinished"
exec 3>&-

if need setpriv; then
  has "one who is refused is told why" "$(setpriv --no-new-privs cat "$M/.ryefs/errors")" \
    "control files: the caller is confined: it has another no_new_privs bit"
fi

has "what dry_run does" "$(<"$M/directives/hello/dry_run")" "dry_run: " "runs nothing"
has "what async does" "$(<"$M/directives/hello/async")" "async: " "returns"
finish
