#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# refused.sh [--table]: what programs do where one item of a directory is refused. Each command of the
# list is run by root and by an ordinary user (by the one who runs the test otherwise), and what comes of
# it is compared with the table of docs/files.md, which `refused.sh --table` prints anew. No command
# may show or keep a byte of the item, take it for an empty file, die of a signal or wait.
TABLE=${1:-}
[ -z "$TABLE" ] || exec 3>&1 >/dev/null
# before the home is the test's own
NPM=${RYE_NPM_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/ryefs-npm}/node_modules
RUST=$(mktemp)
command -v rustc >/dev/null && rustc -o "$RUST" - 2>/dev/null <<'CODE'
fn main() {
    let x = std::env::var("X").unwrap();
    assert!(std::path::Path::new(&x).try_exists().unwrap());
    for e in std::fs::read_dir(std::env::var("K").unwrap()).unwrap() {
        let p = e.unwrap().path();
        println!("{} {}", p.display(), std::fs::metadata(&p).unwrap().len());
    }
}
CODE
. "$(dirname "$0")/fixture.sh"
mv "$RUST" "$T/tryexists"

"$PY" "$E2E/signer.py" keys "$U" 00 --sign || exit 1
fx_knowledge "$P" k/good "Every neighbour is read."
fx_knowledge "$P" k/broken "It was signed."
fx_knowledge "$P" k/deep/three "It was signed."
fx_knowledge "$P" top "It was signed."
fx_tool "$P" k/tool 'echo "SECRET words"'
fx_sign "$P" --all
for item in knowledge/k/broken.md knowledge/k/deep/three.md knowledge/top.md tools/k/tool.sh; do
  echo "# SECRET words" >>"$P/.ai/$item"
done
chmod 755 "$T" "$P" "$U"
others=
[ "$(id -u)" != 0 ] || others=allow_other
fx_mount ${others:+"$others"}
# shellcheck disable=SC2034
X=$M/knowledge/k/broken.md G=$M/knowledge/k/good.md K=$M/knowledge/k R=$M/tools/k/tool.sh
export X G K R M T
until_true test -L "$X"

# ---- what it is ----

is "the link says why" "$(readlink "$X")" \
  ".why/EBADMSG: content changed since signing; mend with: ryefs sign knowledge:k/broken"
is "in a directory further down" "$(readlink "$K/deep/three.md")" \
  ".why/EBADMSG: content changed since signing; mend with: ryefs sign knowledge:k/deep/three"
of_it() { stat -L -c '%F %a %s %h' "$1"; }
for at in knowledge/k/broken.md knowledge/k/deep/three.md knowledge/top.md tools/k/tool.sh \
  knowledge/k/broken/data.json tools/k/tool/schema.json; do
  is "$at leads to a file that nobody owns" "$(of_it "$M/$at")" "regular file 0 1 1"
  errno "$at cannot be opened" EACCES cat "$M/$at"
done
like "an item's own views lead to the same reason" "$(readlink "$M/tools/k/tool/schema.json")" \
  '^\.\./\.why/EBADMSG: .*; mend with: ryefs sign tool:k/tool$'
is "each its own inode" "$(stat -L -c %i "$X" "$K/deep/three.md" "$M/knowledge/top.md" | sort -u | wc -l)" 3
[ "$(id -u)" != 0 ] || like "chmod is no way in" "$(chmod 644 "$X" 2>&1)" "Value too large"
if need node "node's words"; then
  like "a client that resolves names first shows the reason" \
    "$(node -e 'fs.readFileSync(fs.realpathSync(process.env.X))' 2>&1)" \
    "EACCES: permission denied, open '.*/\.why/EBADMSG: .*ryefs sign knowledge:k/broken'"
fi
cat "$X" 2>/dev/null
like "the reason is in .ryefs/errors" "$(tail -n 1 "$M/.ryefs/errors")" \
  ' knowledge/k: EBADMSG: content changed since signing; mend with: ryefs sign knowledge:k/broken$'
lines=$(wc -l <"$M/.ryefs/errors")
for _ in 1 2 3; do stat -L "$X" && test -e "$X" && ls -lL "$K"; done >/dev/null 2>&1
is "what does not open it is told nothing" "$(wc -l <"$M/.ryefs/errors")" "$lines"
fx_sign "$P" knowledge:k/broken
ok "signed, it is served" until_true grep -q 'SECRET words' "$X"
ok "as a file" test ! -L "$X"
echo "# SECRET words" >>"$P/.ai/knowledge/k/broken.md"
ok "changed, it is refused again" until_true test -L "$X"
errno "with the same errno" EACCES cat "$X"

# ---- what programs do ----

# NAME | PROGRAM | COMMAND: X is refused, G is not, both lie in K; R is a refused tool; O an empty
# directory of the command's own, W a work tree with a Makefile.
rows() {
  cat <<'ROWS'
cat|cat|cat "$X"
head|head|head -c 100 "$X"
wc -c|wc|wc -c "$X"
md5sum|md5sum|md5sum "$X"
sed|sed|sed p "$X"
awk|awk|awk 1 "$X"
perl|perl|perl -pe1 "$X" 2>&1 || false; perl -e 'open(F, "<", $ENV{X}) or die "$!\n"'
jq|jq|jq . "$X"
curl file:|curl|curl -sS "file://$X" || { echo "Permission denied"; false; }
$(<x)|bash|bash -c 'x=$(<"$X") && printf "%s" "$x"'
while read|bash|bash -c 'while read -r l; do echo "$l"; done <"$X"'
. x|bash|bash -c '. "$R"'
bash x|bash|bash "$R"
exec|bash|"$R"
cp|cp|cp "$X" "$O/copy"
dd|dd|dd if="$X" of="$O/copy"
grep|grep|grep words "$X"
rg|rg|rg words "$X"
git hash-object|git|git hash-object "$X"
vim|vim|vim -es -u NONE -c 'redir! > '"$O"'/said' -c "e $X" -c messages -c 'redir END' -c '%p' -c 'q!'; cat "$O/said"; ! grep -q denied -i "$O/said"
emacs|emacs|emacs -Q --batch --eval '(progn (find-file (getenv "X")) (princ (buffer-string)))'
make|make|make -C "$W" O="$O" from-refused
truncate|truncate|truncate -s 0 "$X"
> x|bash|echo more >"$X"
>> x|bash|echo more >>"$X"
test -r|bash|test -r "$X" || { echo "Permission denied"; false; }
Python open|python3|$PY -I -c 'import os; print(open(os.environ["X"]).read())'
Python mmap|python3|$PY -I -c 'import mmap, os; print(mmap.mmap(os.open(os.environ["X"], os.O_RDONLY), 0, prot=mmap.PROT_READ)[:])'
Python O_PATH, /proc/self/fd|python3|$PY -I -c 'import os; print(open("/proc/self/fd/%d" % os.open(os.environ["X"], os.O_PATH)).read())'
node readFile|node|node -e 'fs.readFile(process.env.X, (e, d) => { if (e) throw e; console.log(d) })'
unshare -r cat|unshare|unshare -r true 2>/dev/null || { echo "Permission denied"; exit 1; }; unshare -r cat "$X"
bwrap cat|bwrap|bwrap --dev-bind / / true 2>/dev/null || { echo "Permission denied"; exit 1; }; bwrap --dev-bind / / cat "$X"
overlay over it|overlay|unshare -m bash -c 'mount -t tmpfs t "$O" && mkdir "$O"/u "$O"/w "$O"/m && mount -t overlay -o "lowerdir=$K,upperdir=$O/u,workdir=$O/w" o "$O/m" && cat "$O/m/good.md" && cat "$O/m/broken.md"'
ls -l|ls|ls -l "$K"
ls -lL|ls|ls -lL "$K"
ls -lLR|ls|ls -lLR "$K"
stat -L|stat|stat -L "$X" "$G"
test -e, -f, -s|bash|test -e "$X" && test -f "$X" && test -s "$X" && ls "$K"
find|find|find "$K"
find -L -type f|find|find -L "$K" -type f
fd -L|fdfind|fdfind -L . "$K"
du -L|du|du -aL "$K"
Python exists, is_file|python3|$PY -I -c 'import os, pathlib; p = pathlib.Path(os.environ["X"]); assert p.exists() and p.is_file() and os.path.isfile(p); print(os.listdir(p.parent))'
Python rglob|python3|$PY -I -c 'import os, pathlib; print(*pathlib.Path(os.environ["K"]).rglob("*.md"))'
Python scandir, walk|python3|$PY -I -c 'import os; K = os.environ["K"]; print([e.name for e in os.scandir(K) if e.is_file()], sum(len(f) for _, _, f in os.walk(K, followlinks=True)))'
Python rglob, read all|python3|$PY -I -c 'import os, pathlib; [print(p.read_text()) for p in sorted(pathlib.Path(os.environ["K"]).rglob("*.md"), reverse=True) if p.is_file()]'
node statSync of all|node|node -e 'for (const n of fs.readdirSync(process.env.K)) console.log(n, fs.statSync(process.env.K + "/" + n).isFile())'
node existsSync|node|node -e 'process.exit(fs.existsSync(process.env.X) ? console.log("good.md") : 1)'
node readdir recursive|node|node -e 'console.log(fs.readdirSync(process.env.K, { recursive: true, withFileTypes: true }).map(e => e.name))'
chokidar 3|chokidar3|node "$W/watch.cjs" chokidar3
chokidar 5|chokidar|node "$W/watch.cjs" chokidar
Java walk, exists|java|java -XX:TieredStopAtLevel=1 "$W/Walk.java"
Rust try_exists|rust|"$T/tryexists"
grep -r|grep|grep -r neighbour "$K"
grep -R|grep|grep -R neighbour "$K"
rg (directory)|rg|rg neighbour "$K"
rg -L|rg|rg -L neighbour "$K"
git grep --no-index|git|cd "$K" && git grep --no-index neighbour
cp -r|cp|cp -r "$K" "$O/copy" && cat "$O/copy/good.md"
cp -a|cp|cp -a "$K" "$O/copy" && cat "$O/copy/good.md"
cp -rL|cp|cp -rL "$K" "$O/copy"; r=$?; cat "$O/copy/good.md"; exit $r
tar c|tar|tar -C "$K" -cf "$O/a.tar" . && tar -tvf "$O/a.tar"
tar ch|tar|tar -C "$K" -chf "$O/a.tar" .; r=$?; tar -tf "$O/a.tar"; exit $r
rsync -a|rsync|rsync -a "$K/" "$O/copy" && cat "$O/copy/good.md"
rsync -aL|rsync|rsync -aL "$K/" "$O/copy"; r=$?; cat "$O/copy/good.md"; exit $r
rclone copy -L|rclone|rclone --config /dev/null --retries 1 --low-level-retries 1 -L copy "$K" "$O/copy"; r=$?; cat "$O/copy/good.md"; exit $r
zip -r|zip|(cd "$K" && zip -qr "$O/a.zip" .); r=$?; $PY -m zipfile -l "$O/a.zip"; exit $r
zip -ry|zip|cd "$K" && zip -qry "$O/a.zip" . && $PY -m zipfile -l "$O/a.zip"
git add|git|cd "$O" && git init -q . && git --work-tree "$K" add . && git ls-files -s
ROWS
}

have_program() {
  case $1 in
    overlay) [ "$USER_IS" = root ] && unshare -m true 2>/dev/null && grep -q overlay /proc/filesystems ;;
    chokidar | chokidar3) command -v node >/dev/null && [ -d "$W/node_modules/$1" ] ;;
    rust) [ -x "$T/tryexists" ] ;;
    java) java -version >/dev/null 2>&1 ;;
    *) command -v "$1" >/dev/null ;;
  esac
}

# What watches, walks and asks in other languages.
W=$T/work
mkdir "$W"
export W PY
printf 'from-refused: %s\n\tcat $< >$(O)/built\n' "$X" >"$W/Makefile"
cat >"$W/watch.cjs" <<'CODE'
const path = require("path"), { createRequire } = require("module");
(async () => {
  const chokidar = await import(createRequire(__filename).resolve(process.argv[2]));
  const watch = (chokidar.watch || chokidar.default.watch)(process.env.K, { usePolling: false });
  const seen = [];
  watch.on("add", p => seen.push(path.basename(p)));
  watch.on("error", e => console.error(e.message));
  watch.on("ready", () => { console.log("ready", seen.sort().join(" ")); process.exit(seen.includes("good.md") ? 0 : 3); });
  setTimeout(() => { console.log("never ready"); process.exit(4); }, 20000);
})();
CODE
cat >"$W/Walk.java" <<'CODE'
import java.nio.file.*;
public class Walk {
    public static void main(String[] a) throws Exception {
        if (!Files.exists(Path.of(System.getenv("X")))) System.exit(3);
        try (var s = Files.walk(Path.of(System.getenv("K")), FileVisitOption.FOLLOW_LINKS)) {
            s.filter(Files::isRegularFile).forEach(System.out::println);
        }
    }
}
CODE
# npm's directory may be for root alone
for name in chokidar chokidar3 anymatch binary-extensions braces fill-range glob-parent is-binary-path is-extglob \
  is-glob is-number normalize-path picomatch readdirp to-regex-range; do
  [ ! -d "$NPM/$name" ] || { mkdir -p "$W/node_modules" && cp -r "$NPM/$name" "$W/node_modules/"; }
done

# What came of a command: its status, whether the neighbour was reached, whether a reason was told.
judge() {
  local r=$1 said=$2 kept=$3 denied= near=
  if grep -rqs SECRET "$said" "$kept"; then echo "SHOWS THE ITEM"; return; fi
  if [ -n "$(find "$kept" -name 'broken.md' -type f -print -quit)" ]; then echo "TAKES IT FOR A FILE"; return; fi
  case $r in
    124 | 137) echo "WAITS"; return ;;
    13[0-9] | 14[0-9]) echo "DIES ($r)"; return ;;
  esac
  grep -qiE 'permission ?denied|EACCES|not readable|cannot be read' "$said" && denied=1
  grep -qE 'neighbour|good\.md' "$said" && near=1
  case $((r != 0))$denied/$near in
    0/1) echo "goes on" ;;
    01/1) echo "goes on and names it, status 0" ;;
    11/1) echo "goes on and names it, status not 0" ;;
    11/) echo "refuses: permission denied" ;;
    *) echo "UNCLEAR (status $r)" ;;
  esac
}

# One command, by one user. The outcome is in OUTCOME.
try_row() { # COMMAND
  local r
  O=$T/out.$USER_IS
  rm -rf "$O"
  mkdir "$O"
  export O
  if [ "$USER_IS" = user ] && [ "$(id -u)" = 0 ]; then
    chown 1500:1500 "$O"
    (cd "$O" && timeout -k 1 60 setpriv --reuid 1500 --regid 1500 --clear-groups \
      env HOME="$O" TMPDIR="$O" XDG_CACHE_HOME="$O" PATH=/usr/local/bin:/usr/bin:/bin bash -c "$1") >"$T/said" 2>&1 </dev/null
  else
    (cd "$O" && timeout -k 1 60 env PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin bash -c "$1") >"$T/said" 2>&1 </dev/null
  fi
  r=$?
  OUTCOME=$(judge "$r" "$T/said" "$O")
}

users=user
[ "$(id -u)" != 0 ] || users="root user"
declare -A outcome
ORDER=()
while IFS='|' read -r name program command; do
  for USER_IS in $users; do
    [ "$USER_IS" = user ] && [ "$users" != user ] && ! command -v setpriv >/dev/null && continue
    if ! have_program "$program"; then
      [ "$program/$USER_IS" = overlay/user ] || without "$name ($USER_IS)" "$program is not installed"
      continue
    fi
    try_row "$command"
    outcome["$name/$USER_IS"]=$OUTCOME
    case $OUTCOME in
      [a-z]*) good "$name ($USER_IS) $OUTCOME" ;;
      *) bad "$name ($USER_IS) $OUTCOME" "$(head -c 600 "$T/said")" ;;
    esac
  done
  ORDER+=("$name")
done < <(rows)

# ---- the table ----

table() {
  local what name shown r u
  printf '| what happens | with |\n|---|---|\n'
  for what in "refuses: permission denied" "goes on" "goes on and names it, status 0" \
    "goes on and names it, status not 0"; do
    shown=
    for name in "${ORDER[@]}"; do
      r=${outcome["$name/root"]:-} u=${outcome["$name/user"]:-}
      if [ "$r" = "$what" ] && [ "$u" = "$what" ]; then
        shown="$shown, \`$name\`"
      elif [ "$r" = "$what" ]; then
        shown="$shown, \`$name\` (root)"
      elif [ "$u" = "$what" ]; then
        shown="$shown, \`$name\` (user)"
      fi
    done
    [ -z "$shown" ] || printf '| %s | %s |\n' "$what" "${shown#, }"
  done
}
if [ -n "$TABLE" ]; then
  table >&3
  exit
fi
DOC=$(grep '^| ' "$SRC/../docs/files.md")
for name in "${ORDER[@]}"; do
  for USER_IS in $users; do
    what=${outcome["$name/$USER_IS"]:-}
    [ -n "$what" ] || continue
    if grep -F "| $what |" <<<"$DOC" | grep -qF -e "\`$name\`," -e "\`$name\` |" -e "\`$name\` ($USER_IS)"; then
      good "docs/files.md says so of $name ($USER_IS)"
    else
      bad "docs/files.md says so of $name ($USER_IS)" "$what"
    fi
  done
done
finish
