#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tools in languages that the engine knows nothing of: their signed first line says what runs them.
. "$(dirname "$0")/fixture.sh"

"$PY" "$E2E/signer.py" keys "$U" 00 --sign || exit 1
# head SHEBANG: the comment lines that a tool begins with
head_of() {
  printf '#!%s\n' "$1"
  printf '# %s\n' '__version__ = "1.0.0"' '__tool_type__ = "script"' '__category__ = "s"' \
    '__tool_description__ = "a test"' 'executor_id: rye/core/runtimes/script/script' \
    'parameters:' '  - {name: text, type: string, required: true}'
}
{ head_of "/usr/bin/env perl"; echo 'local $/; print "$0: ", length(<STDIN>), "\n";'; } | fx_put "$P" tools/s/long.pl
{ head_of "/usr/bin/awk -f"; echo '{ n += gsub(/o/, "") } END { print n }'; } | fx_put "$P" tools/s/count.awk
{ head_of "/usr/bin/env ruby"; echo 'puts STDIN.read.size'; } | fx_put "$P" tools/s/size.rb
{ head_of "/bin/sh"; echo 'cat'; } | fx_put "$P" tools/s/open.sh
sed 1d "$P/.ai/tools/s/open.sh" | fx_put "$P" tools/s/none.pl
has "sign says what a script lacks" "$("$RYEFS" sign --project "$P" --system "$S" tool:s/none 2>&1)" \
  'The first line does not say what runs it: #!/usr/bin/env NAME'
rm "$P/.ai/tools/s/none.pl"
fx_sign "$P" 'tool:s/*'

call() { "$RYEFS" execute --project "$P" --system "$S" "$@" 2>&1; }
if need perl; then
  is "perl, by the command line" "$(call s/long '{"text":"ab"}')" "/dev/fd/3: 14"
fi
if need awk; then
  is "awk" "$(call s/count '{"text":"to be or not"}')" 3
fi
if need ruby; then
  is "ruby" "$(call s/size '{"text":"ab"}')" 14
fi
has "its parameters are checked" "$(call s/count '{}')" 'Missing required parameters: text'

# signed as others sign, without a line that covers the shebang: then it chooses nothing
"$PY" - "$E2E" "$P/.ai/tools/s/open.sh" <<'CODE'
import hashlib, sys
sys.path.insert(0, sys.argv[1])
import signer
lines = [l for l in open(sys.argv[2]).read().splitlines(True) if "rye:signed" not in l and "rye:full" not in l]
rest, key = "".join(lines[1:]), signer.Key("00")
digest = hashlib.sha256(rest.encode()).hexdigest()
lines.insert(1, f"# rye:signed:{signer.STAMP}:{digest}:{key.sign(digest.encode())}:{key.name}\n")
open(sys.argv[2], "w").write("".join(lines))
CODE
has "an uncovered one is refused" "$(call s/open '{"text":"x"}')" 'Not covered by its signature'

fx_mount coverage=compat
echo '{"text":"x"}' 2>/dev/null >"$M/tools/s/open/run"
has "and chooses no interpreter where it is read" "$(cat "$M/tools/s/open/output" "$M/tools/s/open/run")" \
  'no signed first line says what runs it'
if need awk; then
  echo '{"text":"oo"}' >"$M/tools/s/count/run"
  is "by its file" "$(<"$M/tools/s/count/output")" 2
  sed -i 's/gsub/sub/' "$P/.ai/tools/s/count.awk"
  not_ok "a changed one does not run" sh -c 'echo "{\"text\":\"oo\"}" >"$0"' "$M/tools/s/count/run"
fi
finish
