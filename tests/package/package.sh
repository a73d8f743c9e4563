#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# package.sh: what scripts/package makes: the same from two copies of the source, signed by the caller's key, complete; and
# the Debian package installed into a fresh root without a compiler, where five commands make a workspace, a tool, a mount
# and a run. Two optimised builds, minutes where ccache has not seen them. BUILD: where the first one's tree is kept.
RYE_TEST_LIMIT=${RYE_TEST_LIMIT:-3400}
E2E=$(dirname "$0")/../e2e
. "$E2E/fixture.sh"
TOP=$(cd "$SRC/.." && pwd)
for tool in dpkg-deb dpkg-shlibdeps scdoc openssl ninja strip; do
  command -v $tool >/dev/null || skip "$tool is not installed"
done
unset USER_SPACE RYE_SIGNING_KEY_DIR RYE_SYSTEM_SPACES NO_COLOR
BUILD=${BUILD:-$T/build}
export HOME=$T/person
mkdir "$HOME"
"$RYEFS" keygen -q --project "$HOME" >/dev/null
KEY=$HOME/.ai/config/keys/signing

# ---- the same from another directory, at another time ----
SOURCE_DATE_EPOCH=$(git -C "$TOP" log -1 --format=%ct 2>/dev/null || stat -c %Y "$TOP/meson.build")
export SOURCE_DATE_EPOCH
mkdir -p "$T/another/place"
tar -C "$TOP" --exclude='./build*' --exclude=./.git --exclude=./dist -cf - . | tar -C "$T/another/place" -xmf -
make_it() { # SOURCE OUT BUILD
  "$1/scripts/package" --key "$KEY" --out "$2" "$3" >"$2.log" 2>&1 && return
  bad "it is made" "$(tail -n 20 "$2.log")"
  finish
}
make_it "$TOP" "$T/one" "$BUILD/one"
make_it "$T/another/place" "$T/two" "$T/another/tree"
good "it is made"
for file in "$T"/one/*; do
  ok "${file##*/} is the same in both" cmp "$file" "$T/two/${file##*/}"
done
is "both have as many" "$(ls "$T/one" | wc -l)" "$(ls "$T/two" | wc -l)"
deb=$(echo "$T"/one/ryefs_*.deb)

# ---- sums and signature ----
cd "$T/one" || exit 1
ok "the sums are right" sha256sum --quiet -c SHA256SUMS
is "of every file" "$(wc -l <SHA256SUMS)" "$(ls | grep -cv SHA256SUMS)"
verify() { openssl pkeyutl -verify -pubin -inkey "$KEY/public_key.pem" -rawin -in "$1" -sigfile SHA256SUMS.sig; }
ok "the caller's key has signed them" verify SHA256SUMS
sed 's/^./0/' SHA256SUMS >"$T/other"
not_ok "and nothing else" verify "$T/other"
not_ok "no key lies among them" grep -rl "PRIVATE KEY" .
is "a directory without a key is refused" "$("$TOP/scripts/package" --key "$T/none" 2>&1)" "package: $T/none has no private_key.pem that can be read"

# ---- what is in them ----
dpkg-deb -c "$deb" >"$T/list"
for path in /usr/bin/ryefs /usr/sbin/mount.ryefs /usr/lib/systemd/user/ryefs@.service /usr/share/man/man1/ryefs.1.gz \
  /usr/share/man/man7/ryefs.7.gz /usr/share/bash-completion/completions/ryefs /usr/share/zsh/vendor-completions/_ryefs \
  /usr/share/fish/vendor_completions.d/ryefs.fish /usr/share/ryefs/bundle/.ai/tools/rye/bash/bash.py /usr/share/doc/ryefs/copyright \
  /usr/share/doc/ryefs/changelog.gz; do
  grep -q " \.$path\$" "$T/list" || bad "the package has $path"
done
good "program, bundle, manual, completions, unit and helper are in the package"
is "all of it is root's" "$(awk '{ print $2 }' "$T/list" | sort -u)" "root/root"
if command -v lintian >/dev/null; then
  ok "lintian has nothing to say" lintian --fail-on error,warning "$deb"
fi
if command -v systemd-analyze >/dev/null; then
  mkdir "$T/unit" && dpkg-deb --fsys-tarfile "$deb" | tar -C "$T/unit" -xf - ./usr/lib/systemd/user
  is "systemd has nothing to say of the unit" "$(PATH=$(dirname "$RYEFS"):$PATH systemd-analyze verify --user --man=no "$T/unit/usr/lib/systemd/user/ryefs@srv-work.service" 2>&1 | grep -F ryefs)" ""
fi
linked() { # HOW: the names of what the program is linked with in this way
  jq -r --arg how "$1" '. as $all | .relationships[] | select(.relationshipType == $how) | .relatedSpdxElement as $id |
    $all.packages[] | select(.SPDXID == $id).name' ryefs-*.spdx.json | sort | tr '\n' ' '
}
is "the SBOM has each library that the package depends on" "$(linked DYNAMIC_LINK)" \
  "$(dpkg-deb -f "$deb" Depends | tr ',' '\n' | sed 's/^ *//; s/ .*//' | grep -vx 'fuse3\|sensible-utils' | sort | tr '\n' ' ')"
if grep -q CRYPTOGAMS "$BUILD/one/ryefs"; then
  is "and the one that the program has in itself" "$(linked STATIC_LINK)$(jq -r '.packages[] | select(.name == "libcrypto").versionInfo' ryefs-*.spdx.json)" \
    "libcrypto $(pkg-config --modversion libcrypto)"
fi
is "its package is this one" "$(jq -r '.packages[0].checksums[0].checksumValue' ryefs-*.spdx.json)" "$(sha256sum "$deb" | cut -d' ' -f1)"
mkdir "$T/feature" && tar -C "$T/feature" -xzf ryefs-*-feature.tgz
ok "the feature carries the package" cmp "$deb" "$T/feature/${deb##*/}"
is "and says which it is" "$(jq -r '.id + " " + .version' "$T/feature/devcontainer-feature.json")" "ryefs $(dpkg-deb -f "$deb" Version)"

# ---- npm ----
if command -v npm >/dev/null; then
  ok "npm installs the wrapper without a network" npm install --offline --no-audit --no-fund --silent --prefix "$T/npm" "$T"/one/ryefs-*-npm-*.tgz
  carried=$T/npm/node_modules/.bin/ryefs
  plain=/usr/bin:/bin
  like "it says its version" "$(PATH=$plain "$carried" --version | head -n 1)" '^ryefs [0-9.]+$'
  mkdir "$T/plain" && cd "$T/plain" || exit 1
  ok "its verbs work without a mount" env PATH=$plain "$carried" init -q --sample .
  is "with the bundle that it carries" "$(PATH=$plain "$carried" execute rye/bash/bash command='echo done')" "done"
  is "and an item of the project" "$(PATH=$plain "$carried" execute sample/count-words text='to be')" "2 words; longest: be, to"
  PATH=$plain "$carried" fetch zorglub >/dev/null 2>&1
  is "its exit status is the program's" $? 3
  is "another program can be named" "$(RYEFS_PROGRAM=/bin/echo "$carried" hello)" hello
fi

# ---- installed ----
R=$T/root
mkdir "$R"
/usr/bin/python3 "$SRC/package/root.py" "$R" "$deb" >"$T/root.log" 2>&1
case $? in
  0) good "a fresh root: $(tail -n 1 "$T/root.log")" ;;
  77)
    echo "# no fresh root: $(cat "$T/root.log")"
    finish
    ;;
  *) bad "a fresh root" "$(cat "$T/root.log")" ;;
esac
ok "dpkg installs it there, with what it depends on" dpkg --root="$R" --force-not-root --force-script-chrootless -i "$deb"
like "and has it as installed" "$(dpkg-query --admindir="$R/var/lib/dpkg" -W -f='${Status}' ryefs)" 'install ok installed'
cp "$TOP/debian/tests/first-hour" "$R/first-hour"
cat >"$T/inside" <<'SH'
set -e
mount --bind "$1" "$1"
mount --rbind /dev "$1/dev"
mount -t proc proc "$1/proc"
cd "$1"
mkdir -p old
pivot_root . old
umount -l /old
exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin NO_COMPILER=1 sh -c "$2"
SH
inside() { unshare $USERS -m -p -f --propagation private sh "$T/inside" "$R" "$1"; }
USERS=
[ "$(id -u)" = 0 ] || USERS=-Ur
if ! unshare $USERS -m true 2>/dev/null; then
  echo "# nothing can be mounted here: the installed package is not run"
  finish
fi
said=$(inside 'sh /first-hour' 2>&1)
is "five commands, no compiler: a workspace, a tool, a mount, a run" $? 0
has "each item is good" "$said" " good, 0 refused"
if [ "$(id -u)" = 0 ]; then
  is "mount -t ryefs works, as of fstab" "$(inside 'export HOME=/root; ryefs init -q /root/w >/dev/null; mkdir -p /root/m; mount -t ryefs /root/w /root/m -o norun && ls /root/m/tools/rye/bash/run; umount /root/m' 2>/dev/null)" "/root/m/tools/rye/bash/run"
fi
# debian/tests, as Debian's own runner calls it
if command -v autopkgtest >/dev/null && [ "$(id -u)" = 0 ]; then
  mkdir "$T/adt" && cp -R "$TOP/debian" "$T/adt/"
  said=$(unshare -m -p -f --propagation private sh -c 'mount --bind "$1" "$1" && mount --rbind /dev "$1/dev" && mount -t proc proc "$1/proc" && exec autopkgtest --no-built-binaries "$2" "$3" -- chroot "$1"' - "$R" "$deb" "$T/adt" 2>&1)
  like "autopkgtest has no complaint" "$said" '^first-hour +PASS'
fi
not_ok "the root has no compiler" ls "$R/usr/bin/cc" "$R/usr/bin/gcc"
[ "$FAILED" = 0 ] || echo "$said" | sed 's/^/# /'
finish
