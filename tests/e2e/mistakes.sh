#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The usual mistakes of somebody new, at the command line and at the mount: what is answered, with
# which status, and that the remedy which is named works when it is typed. The cases and what is
# answered stand in mistakes.golden:
#
#   # words         a comment
#   : COMMAND       prepares; nothing is printed
#   $ COMMAND       the mistake; the lines below, indented, are its output and [status]
#   > type          the remedy is typed as it stands, and succeeds
#   > again         the same, and then the mistake itself is none any more
#
# Each group, up to an empty line, begins with the project as it was. One mount is used by all.
# RYE_REGOLD=1 writes what is answered now into the file, to be read before it is committed.
. "$(dirname "$0")/fixture.sh"

golden=$E2E/mistakes.golden
export PATH="$T/bin:$PATH" RYE_SYSTEM_SPACES=$S TMPDIR=$T
mkdir "$T/bin" "$T/full" "$T/other"
ln -s "$RYEFS" "$T/bin/ryefs"
touch "$T/full/file"
export EDITOR=edit
printf '#!/bin/sh\n. "%s/edits"\n' "$T" >"$T/bin/edit"
chmod +x "$T/bin/edit"
allow 'refused|wanted|not allowed|cannot vouch for its own keys'

ryefs init -q --sample "$P" || exit 1
fx_python "$P" greet <<'CODE'
CONFIG_SCHEMA = {"type": "object", "additionalProperties": False, "required": ["name", "times"],
    "properties": {"name": {"type": "string", "description": "Whom"},
                   "times": {"type": "integer", "minimum": 1, "maximum": 9},
                   "loud": {"type": "boolean", "default": False},
                   "tone": {"type": "string", "enum": ["dry", "warm"]}}}


def execute(params, project_path):
    if params["name"] == "nobody":
        return {"success": False, "error": "nobody is here"}
    print(f"hello {params['name']}")
    if params["name"] == "trouble":
        raise ValueError("no such name")
    return {"success": True, "output": f"hello {params['name']} x{params['times']}"}
CODE
fx_put "$P" directives/trip.md <<'TEXT'
# Trip

```xml
<directive name="trip" version="1.0.0">
  <metadata><description>Plan a trip.</description><category></category><author>t</author></metadata>
  <inputs>
    <input name="city" type="string" required="true">Where to</input>
    <input name="days" type="integer" default="3">How long</input>
  </inputs>
</directive>
```

Plan {input:days} days in {input:city}.
TEXT
fx_knowledge "$P" notes "Words."
fx_knowledge "$U" mine "Words of the user's space."
ryefs sign -q --project "$P" --all && ryefs sign -q --project "$P" --space user --all || exit 1
mine=$(ryefs keys --json --project "$P" | "$PY" -c 'import json,sys
print(next(k["fingerprint"] for k in json.load(sys.stdin) if k["status"] == "signing"))')
# a colleague's key, and an item that it signed
fx_knowledge "$P" notes "Words."
fx_raw_sign a0 "$P" knowledge/notes.md >/dev/null
theirs=$(sed -n 's/.*rye:signed:.*:\([0-9a-f]\{16\}\) .*/\1/p' "$P/.ai/knowledge/notes.md" | head -n 1)
cp "$P/.ai/knowledge/notes.md" "$T/theirs.md"
fx_knowledge "$P" notes "Words."
ryefs sign -q --project "$P" knowledge:notes
cp -a "$P/.ai" "$T/pristine"
cp -a "$U/.ai" "$T/pristine.user"
fx_mount
cd "$P" || exit 1

restore() {
  # contents alone: directories that the daemon watches stay
  restore_one "$T/pristine" "$P/.ai"
  restore_one "$T/pristine.user" "$U/.ai"
}
# files that are not in $1 go; those that differ are copied
restore_one() {
  local line file
  while IFS= read -r line; do
    case $line in
      "Only in $2"*)
        file=${line#Only in } file=${file/: //}
        find "$file" \( -type f -o -type l \) -delete
        ;;
      "Only in $1"*)
        file=${line#Only in } file=${file/: //}
        cp -a "$file" "$2${file#"$1"}"
        ;;
      "Files $1/"*)
        file=${line#"Files $1/"} file=${file%% and "$2"/*}
        cp -p "$1/$file" "$2/$file.new" && mv "$2/$file.new" "$2/$file"
        ;;
      "File $1/"*)
        # of another type by now
        file=${line#"File $1/"} file=${file%% is a *}
        rm -rf "${2:?}/$file" && cp -a "$1/$file" "$2/$file"
        ;;
    esac
  done < <(diff -rq --no-dereference -x state "$1" "$2")
}

# what a line of a case may use besides
edits() { printf '%s\n' "$1" >"$T/edits"; }                # of the person at the editor: of $1
why() { readlink "$1"; }                                  # of a refused name
told() { tail -n 1 "$M/.ryefs/errors" | cut -d' ' -f2-; } # the newest line, without its time
say() { # TEXT FILE: writes a message; of a failure the errno's words, and the sentence
  printf '%s\n' "$1" 2>&1 >"$2" | sed 's/.*write error: //'
  [ "${PIPESTATUS[0]}" = 0 ] && return
  told
  return 1
}

normal() { # [SED]: of $T/answer
  sed -e '/items served, /d; s/; mounted are .*/; mounted are …/; s/Trusted keys: .*/Trusted keys: …/' -e "s|$T|/T|g; s/$mine/MYKEY/g; s/$theirs/THEIRKEY/g" \
    -e 's/20..-..-..T..:..:..Z/TIME/g' -e 's/[0-9a-f]\{8\}-[0-9a-f-]\{27\}/THREAD/g; s/[0-9a-f]\{16\}…/HASH…/g; s/\(File \"<string>\", \)line [0-9]*, in <module>/\1line N, in <module>/' \
    ${1:+-e "$1"} "$T/answer"
}

run() { # COMMAND, in a shell of its own whose functions are these
  # a mount that has said its first line goes on, and may say one more into the old file
  rm -f "$T/answer"
  (eval "$1") >"$T/answer" 2>&1 </dev/null
  status=$?
  answer=$(<"$T/answer")
  [[ $answer != *"mistakes.sh: line "* ]] || sed -i 's/^.*mistakes.sh: line [0-9]*: /bash: /' "$T/answer"
}

typed=0
type_remedy() {
  local text=
  [[ $'\n'$wrong != *'mend with: '* ]] || text=${wrong#*mend with: } text=${text%%$'\n'*}
  typed=$((typed + 1))
  [ -n "$text" ] || text='false # nothing is named'
  run "$text"
  # the mount hears of what was written a moment later
  for _ in 1 2 3 4 5 6 7 8 9 10; do
    [ $status = 0 ] && [ "$1" = again ] && run "$mistake"
    [ $status = 0 ] && break
    [ "$1" = again ] && sleep 0.1 && run "$text"
  done
  if [ $status = 0 ]; then
    echo "    ok"
  else
    echo "    fails [$status]: $text"
    normal 's/^/    /'
  fi
}

play() {
  local line mistake= wrong=
  while IFS= read -r line; do
    case $line in
      '    '*) continue ;;
      '')
        restore
        echo
        ;;
      ': '*)
        echo "$line"
        run "${line#: }"
        ;;
      '$ '*)
        echo "$line"
        mistake=${line#$ }
        : >"$T/result" # each answer is one: the whole list takes longer than a test may be silent
        run "$mistake"
        wrong=$answer
        normal 's/^$/~/; s/^/    /; s/ *$//'
        echo "    [$status]"
        ;;
      '> type' | '> again')
        echo "$line"
        type_remedy "${line#> }"
        ;;
      *) echo "$line" ;;
    esac
  done
}

play <"$golden" >"$T/now"
[ -z "${RYE_REGOLD:-}" ] || cp "$T/now" "$golden"
if diff -u "$golden" "$T/now" >"$T/diff"; then
  good "every mistake is answered as mistakes.golden says"
else
  bad "every mistake is answered as mistakes.golden says"
  sed 's/^/# /' "$T/diff" | head -n 200
fi
is "remedies that do not work" "$(grep -c '^    fails \[' "$T/now")" 0
mistakes=$(grep -c '^\$ ' "$T/now")
if [ "$mistakes" -ge 100 ] && [ "$typed" -ge 60 ]; then
  good "$mistakes mistakes, $typed remedies typed"
else
  bad "enough mistakes" "$mistakes, $typed remedies typed"
fi
finish
