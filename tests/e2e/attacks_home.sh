#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The project is the home directory, so that tools write where interpreters look for what they load:
# each such place has code that steals the signing key wherever it can see it. Then runs whatever sees
# keys. The rows are those of the table in docs/security.md.
. "$(dirname "$0")/fixture.sh"

allow "project key file .*: the user's or system's file decides"
U=$P
HOME=$U USER_SPACE=$U
KEYS=$U/.ai/config/keys/signing
"$PY" "$E2E/signer.py" keys "$U" 00 --sign || exit 1
mkdir "$P/stolen"

# steal NAME: a shell script that takes the key if it is to be seen
steal() {
  printf '#!/bin/sh\n[ -s %s/private_key.pem ] && cp %s/private_key.pem %s/stolen/%s\n' "$KEYS" "$KEYS" "$P" "$1"
  printf 'exec /usr/bin/%s "$@"\n' "${2:-true}"
}
# plant NAME PATH TEXT: what is loaded from there calls $P/steals/NAME
plant() {
  mkdir -p "$P/$(dirname "$2")" "$P/steals"
  printf '%s' "${3//@/$P/steals/$1}" >"$P/$2"
  steal "$1" >"$P/steals/$1"
  chmod 755 "$P/steals/$1" "$P/$2"
}

version=$("$PY" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
node=$(command -v node >/dev/null && echo 1)
ruby=$(command -v ruby >/dev/null && ruby -e 'puts RbConfig::CONFIG["ruby_version"]')
python='import os; os.system("@")'
js='require("child_process").spawnSync("@");'
plants() {
  local site=.local/lib/python$version/site-packages program
  plant pth "$site/x.pth" "$python"
  plant user "$site/usercustomize.py" "$python"
  plant site "$site/sitecustomize.py" "$python"
  plant user-json "$site/json.py" "$python"
  plant cwd-site sitecustomize.py "$python"
  plant cwd-json json.py "$python"
  plant cwd-tool rye_tool.py "$python"
  plant beside .ai/tools/t/json.py "$python"
  plant cfg pyvenv.cfg "home = $P/.local/bin"
  plant python-home "pyhome/lib/python$version/encodings/__init__.py" 'import posix; posix.system("@")'
  plant startup .pythonrc.py "$python"
  plant node-home .node_modules/fs-extra/index.js "$js"
  plant node-libs .node_libraries/fs-extra.js "$js"
  plant node-cwd node_modules/fs-extra/index.js "$js"
  plant node-config node.config.json '{"nodeOptions": {"require": ["@"]}}'
  plant npmrc .npmrc 'node-options="--require=@"'
  plant bashrc .bashrc '@'
  plant profile .profile '@'
  plant bash-env .bash_env '@'
  plant gem ".local/share/gem/ruby/${ruby:-3.1.0}/gems/json-99/lib/json.rb" 'system "@"'
  plant gem-spec ".local/share/gem/ruby/${ruby:-3.1.0}/specifications/json-99.gemspec" \
    'system "@"; Gem::Specification.new { |s| s.name = "json"; s.version = "99"; s.require_paths = ["lib"] }'
  plant rubyrc .rubyrc 'system "@"'
  plant gemrc .gemrc ':x: 1'
  plant perl lib/perl5/strict.pm 'system "@"; 1'
  plant perl-cwd strict.pm 'system "@"; 1'
  plant tclsh .tclshrc 'exec @'
  plant gitconfig .gitconfig '[core] fsmonitor = @'
  plant awk awk/x.awk 'BEGIN { system("@") }'
  plant curlrc .curlrc 'url = "file:///@"'
  plant openssl openssl.cnf "openssl_conf = x"
  plant docker .docker/cli-plugins/docker-x '@'
  for program in python3 python pyenv node bash sh perl ruby git ryefs fusermount3; do
    mkdir -p "$P/.local/bin" "$P/bin" "$P/.venv/bin" "$P/node_modules/.bin"
    for at in .local/bin bin .venv/bin node_modules/.bin; do
      steal "$program-${at//\//-}" "$program" >"$P/$at/$program"
      chmod 755 "$P/$at/$program"
    done
  done
  ln -s "$P/bin" "$T/linked"
  # a version manager of the person's, outside of the project, that believes any .python-version
  plant manager evil/bin/python3 '#!/bin/sh
@
exec /usr/bin/python3 -c pass'
  echo "$P/evil" >"$P/.python-version"
  mkdir -p "$T/pm"
  # shellcheck disable=SC2016
  printf '#!/bin/sh\nv=${PYENV_VERSION:-$(cat .python-version %s/.python-version 2>/dev/null | head -1)}\nexec "$v/bin/python3" "$@"\n' "$P" >"$T/pm/python3"
  # shellcheck disable=SC2016
  printf '#!/bin/sh\n%s/steals/manager\necho %s/evil/bin/python3\n' "$P" "$P" >"$T/pm/pyenv"
  chmod 755 "$T/pm/python3" "$T/pm/pyenv"
}

tools() {
  # the first of them is planted by a tool, as it would be
  fx_tool "$P" t/plants '# requires: [fs.write]' \
    "d=\$2/.local/lib/python$version/site-packages && mkdir -p \"\$d\" && echo 'import os' >\"\$d/by_tool.pth\" && echo planted"
  fx_tool "$P" t/shell 'echo ran'
  fx_tool "$P" t/given 'echo "given:" $(env | cut -d= -f1)'
  fx_python "$P" t/function <<<'def execute(params, project): return {"ran": True}'
  fx_put "$P" tools/t/perl.pl <<'TEXT'
#!/usr/bin/perl
# version: "1.0.0"
# tool_type: script
# category: t
# description: "Perl"
use strict;
print "ran\n";
TEXT
  fx_put "$P" tools/t/managed.yaml <<'TEXT'
tool_id: managed
tool_type: script
version: "1.0.0"
category: t
description: "Python of a version manager"
executor_id: rye/core/primitives/execute
env_config:
  interpreter: {type: version_manager, manager: pyenv, var: PY, binary: python3}
config: {command: "/bin/sh", args: ["-c", "echo by ${PY}; ${PY} -c 'pass'; ls stolen"]}
TEXT
  [ -z "$node" ] || fx_put "$P" tools/t/js.js <<'TEXT'
/* version */
const __version__ = "1.0.0";
const __tool_type__ = "node";
const __executor_id__ = "rye/core/runtimes/node/node";
const __category__ = "t";
const __tool_description__ = "Node";
let ran = true;
try { require('fs-extra'); ran = 'loaded'; } catch (e) { ran = true; }
module.exports = () => ({ ran });
TEXT
  [ -z "$ruby" ] || fx_put "$P" tools/t/rb.rb <<'TEXT'
#!/usr/bin/ruby
# version: "1.0.0"
# tool_type: script
# category: t
# description: "Ruby"
require "json"
puts "ran"
TEXT
  fx_sign "$P" 'tool:t/*'
}

stolen() { is "$1: nothing was loaded that saw a key" "$(ls "$P/stolen")" ""; }
ask() { exchange 60 "$M/tools/$1/run" "$2"$'\n' 2>&1; }

# Each program that sees keys, or asks for one that does.
runs() { # NAME
  has "$1: a tool that manages keys" "$(ask rye/core/keys/keys '{"action":"info"}')" f0ff50dacf109dea
  has "$1: and lists them" "$(ask rye/core/keys/keys '{"action":"list"}')" f0ff50dacf109dea
  has "$1: one of secrets" "$(ask rye/core/secrets/secrets '{"action":"list"}')" '"status"'
  has "$1: one of threads" "$(ask rye/agent/threads/orchestrator '{"operation":"list_active"}')" '"threads"'
  has "$1: one of processes" "$(ask rye/core/processes/list '{}')" '"status"'
  ask t/shell '{}' >/dev/null
  given=$(ask t/given '{}')
  has "$1: a tool tells its variables" "$given" "given:"
  for name in "${variables[@]%%=*}"; do
    [[ $given =~ (^|[^A-Z_])$name([^A-Z_]|$) ]] && is "$1: $name is not among them" "$given" ""
  done
  ask t/function '{}' >/dev/null
  ask t/function '{}' >/dev/null
  ask t/perl '{}' >/dev/null
  has "$1: a version manager is asked, in a box, and its answer runs in one" "$(ask t/managed '{}')" "by $P/evil/bin/python3"
  [ -z "$node" ] || lacks "$1: node imports none of it" "$(ask t/js '{}')" loaded
  [ -z "$ruby" ] || ask t/rb '{}' >/dev/null
  stolen "$1"
}

tools
fx_mount
has "a tool plants" "$(ask t/plants '{}')" planted
ok "the mount ends" umount_rye
plants
variables=(PYTHONPATH="$P" PYTHONSTARTUP="$P/.pythonrc.py" PYTHONUSERBASE="$P/.local" PYTHONHOME="$P/pyhome" AWKPATH="$P/awk"
  BASH_ENV="$P/.bash_env" PYENV_VERSION="$P/evil" PYENV_DIR="$P"
  ENV="$P/.bash_env" NODE_OPTIONS="--require=$P/.node_modules/fs-extra" NODE_PATH="$P/.node_modules"
  PERL5LIB="$P/lib/perl5" PERL5OPT=-Mstrict RUBYOPT="-r$P/.rubyrc" RUBYLIB="$P" GEM_HOME="$P/.local/share/gem"
  TCLLIBPATH="$P" GIT_CONFIG_GLOBAL="$P/.gitconfig" CURL_HOME="$P")
has "the planted is effective where it is believed" \
  "$(HOME=$P "$PY" -c 'import sys' && ls "$P/stolen")" pth
has "so is a version manager" "$(cd "$P" && "$T/pm/python3" -c pass && ls "$P/stolen")" manager
PYTHONHOME=$P/pyhome "$PY" -c pass >/dev/null 2>&1
has "and so is a home of Python's" "$(ls "$P/stolen")" python-home
rm -f "$P"/stolen/*
for sandbox in auto strict; do
  # the person's own variables, and a search path with places where tools write
  export "${variables[@]}" PATH="$P/.local/bin:$T/linked:$T/pm:$PATH"
  fx_mount "sandbox=$sandbox"
  unset "${variables[@]%%=*}"
  PATH=${PATH#"$P/.local/bin:$T/linked:$T/pm:"}
  like "$sandbox: the daemon leaves no core" "$(<"/proc/$DAEMON/limits")" '^Max core file size +0 +0 '
  runs "$sandbox"
  for verb in "keys" "secret list" "threads list" "doctor -q" "verify"; do
    # shellcheck disable=SC2086
    env "${variables[@]}" PATH="$P/.local/bin:$T/linked:$T/pm:$PATH" timeout 60 "$RYEFS" $verb --project "$P" >/dev/null 2>&1
    stolen "$sandbox: ryefs $verb"
  done
  env PATH="$P/.local/bin:$T/linked:$T/pm:$PATH" "$RYEFS" umount "$M" >/dev/null 2>&1
  wait "$DAEMON"
  DAEMON=
  stolen "$sandbox: ryefs umount"
done
# the project's own interpreters are asked what they are: outside of that they are tools' programs
fx_mount venv
ask t/function '{}' >/dev/null
stolen "venv"
ok "the mount ends" umount_rye
finish
