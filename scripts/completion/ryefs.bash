# SPDX-License-Identifier: MIT
# bash completion for ryefs(1)

# _ryefs_lines BEGIN: of standard input, those that begin so. Names come from clones: they are quoted, and not
# expanded, which compgen -W does.
_ryefs_lines() {
  local line
  while IFS= read -r line; do
    [[ $line == "$1"* ]] || continue
    printf -v line %q "$line"
    COMPREPLY+=("$line")
  done
}

_ryefs_refs() {
  local cur=$1 IFS=$'\n' prefix i
  _ryefs_lines "" < <(ryefs complete -- "$cur" 2>/dev/null | sort -u)
  # the path of a source, or in a mount
  [[ $cur == *:* ]] || COMPREPLY+=($(compgen -f -- "$cur"))
  compopt -o nospace 2>/dev/null
  # a colon splits words in bash: only what is behind it is replaced
  if [[ $cur == *:* && $COMP_WORDBREAKS == *:* ]]; then
    prefix=${cur%"${cur##*:}"}
    for i in "${!COMPREPLY[@]}"; do
      COMPREPLY[i]=${COMPREPLY[i]#"$prefix"}
    done
  fi
}

# _ryefs_member NAME VERB...: the values of a member in a verb's JSON answer
_ryefs_member() {
  local name=$1
  shift
  ryefs "$@" --json -q 2>/dev/null | grep -o "\"$name\": *\"[^\"]*\"" | cut -d'"' -f4
}

_ryefs() {
  local cur prev words cword verb
  local verbs="mount completion diff doctor edit execute fetch init keygen keys link list log mcp mv new node reload remote rm schema search secret sign skill threads trust umount untrust verify watch"
  local shared="--project --user --system --env --compat --venv --color --json --quiet --help"
  local options="userspace= system= ro norun nosign coverage= devmode wait= jobs= sandbox= trust_callers= venv env= list= spaces= skills= xattr io_uring survive= allow_other"
  # from the line itself: bash has split its own words at colons
  read -ra words <<<"${COMP_LINE:0:COMP_POINT}"
  [[ ${COMP_LINE:0:COMP_POINT} == *[[:space:]] ]] && words+=("")
  cword=$((${#words[@]} - 1))
  cur=${words[cword]} prev=${words[cword - 1]}
  COMPREPLY=()
  if [ "$cword" = 1 ]; then
    COMPREPLY=($(compgen -W "$verbs --help --version" -- "$cur") $(compgen -d -- "$cur"))
    return
  fi
  verb=${words[1]}
  case $prev in
    -o)
      COMPREPLY=($(compgen -W "$options" -- "$cur"))
      return
      ;;
    --project | --user | --system)
      COMPREPLY=($(compgen -d -- "$cur"))
      return
      ;;
    --space | --to)
      COMPREPLY=($(compgen -W "project user" -- "$cur"))
      return
      ;;
    --token)
      COMPREPLY=($(compgen -W none -- "$cur") $(compgen -f -- "$cur"))
      return
      ;;
    --color)
      COMPREPLY=($(compgen -W "auto always never" -- "$cur"))
      return
      ;;
    --of)
      _ryefs_refs "$cur"
      return
      ;;
    --lang)
      COMPREPLY=($(compgen -W "python shell javascript typescript yaml perl" -- "$cur"))
      return
      ;;
    --changed-since)
      _ryefs_lines "$cur" < <(git for-each-ref --format='%(refname:short)' 2>/dev/null)
      return
      ;;
    --client)
      COMPREPLY=($(compgen -W "claude codex copilot cursor gemini opencode agents" -- "$cur"))
      return
      ;;
    --from)
      COMPREPLY=($(compgen -W "project user system" -- "$cur"))
      return
      ;;
  esac
  if [[ $cur == -* ]]; then
    case $verb in
      edit) shared+=" --space --yes" ;;
      execute) shared+=" --async --dry-run --fork --output --target --trace" ;;
      fetch) shared+=" --from --to --force" ;;
      init) shared+=" --hooks --sample --vscode" ;;
      keygen) shared+=" --force --forget-secrets --owner" ;;
      log) shared+=" --limit --space" ;;
      mcp) shared+=" --space --yes --http --port --token --unix --read-only --allow-sign --aliases --no-prompts --no-resources" ;;
      link) shared+=" --client --each" ;;
      mv) shared+=" --dry-run --space" ;;
      new) shared+=" --dry-run --lang --space" ;;
      node) shared+=" --as --dir --dry-run --owner --stdio --http --port --work" ;;
      rm) shared+=" --dry-run --space --yes" ;;
      remote) shared+=" --again --dry-run --force --yes" ;;
      search) shared+=" --limit" ;;
      sign) shared+=" --all --force --interactive --space --take-over" ;;
      skill) shared+=" --as --check --expect --frozen --signer --space --with-deps --yes" ;;
      threads) shared+=" --of --older --running --since --yes" ;;
      trust) shared+=" --owner --scope --yes" ;;
      verify) shared+=" --all --changed-since --sarif" ;;
      watch) shared+=" --run" ;;
    esac
    COMPREPLY=($(compgen -W "$shared" -- "$cur"))
    return
  fi
  case $verb in
    diff | edit | execute | fetch | log | mv | rm | sign | verify | watch) [ "$cword" -gt 2 ] && [ "$verb" = execute ] || _ryefs_refs "$cur" ;;
    threads)
      if [ "$cword" = 2 ]; then
        COMPREPLY=($(compgen -W "list show tail wait tree cost apply cancel kill delete forget prune say limit handoff resume verify" -- "$cur"))
      else
        _ryefs_lines "$cur" < <(echo @last && _ryefs_member id threads)
      fi
      ;;
    schema) [ "$prev" = --editor ] && COMPREPLY=($(compgen -W "helix neovim vscode" -- "$cur")) || COMPREPLY=($(compgen -W "$(_ryefs_member name schema) --editor" -- "$cur")) ;;
    completion) COMPREPLY=($(compgen -W "bash fish zsh" -- "$cur")) ;;
    list | doctor | keys) ;;
    node)
      if [ "$cword" = 2 ]; then
        COMPREPLY=($(compgen -W "init admit list remove gc" -- "$cur"))
      elif [[ ${words[2]} == init ]]; then
        COMPREPLY=($(compgen -d -- "$cur"))
      elif [[ $cword = 3 ]]; then
        _ryefs_lines "$cur" < <(_ryefs_member fingerprint node list)
      fi
      ;;
    remote)
      if [ "$cword" = 2 ]; then
        COMPREPLY=($(compgen -W "list add status push diff pull gc rm" -- "$cur"))
      elif [[ $cword = 3 && ${words[2]} != list ]]; then
        _ryefs_lines "$cur" < <(_ryefs_member name remote list)
      fi
      ;;
    secret)
      if [ "$cword" = 2 ]; then
        COMPREPLY=($(compgen -W "set list rm" -- "$cur"))
      elif [[ ${words[2]} != list ]]; then
        _ryefs_lines "$cur" < <(_ryefs_member name secret list)
      fi
      ;;
    skill)
      if [ "$cword" = 2 ]; then
        COMPREPLY=($(compgen -W "list add update diff export remove" -- "$cur"))
      elif [[ ${words[2]} == add || ${words[2]} == export ]]; then
        COMPREPLY=($(compgen -d -- "$cur"))
      else
        _ryefs_lines "$cur" < <(_ryefs_member name skill list)
      fi
      ;;
    mcp)
      if [ "$cword" = 2 ]; then
        COMPREPLY=($(compgen -W "serve add list refresh remove" -- "$cur"))
      elif [[ $cword = 3 && ${words[2]} == re* ]]; then
        _ryefs_lines "$cur" < <(_ryefs_member name mcp list)
      fi
      ;;
    new)
      if [ "$cword" = 2 ]; then
        COMPREPLY=($(compgen -W "tool directive knowledge skill graph http mcp" -- "$cur"))
      fi
      ;;
    reload | umount) COMPREPLY=($(compgen -W "$(awk '$0 ~ / - fuse\.ryefs / {print $5}' /proc/self/mountinfo)" -- "$cur")) ;;
    umount) _ryefs_lines "$cur" < <(awk '$0 ~ / - fuse\.ryefs / {print $5}' /proc/self/mountinfo) ;;
    trust) COMPREPLY=($(compgen -W self -- "$cur") $(compgen -f -- "$cur")) ;;
    untrust) _ryefs_lines "$cur" < <(_ryefs_member fingerprint keys) ;;
    *) COMPREPLY=($(compgen -d -- "$cur")) ;;
  esac
}

complete -F _ryefs ryefs
