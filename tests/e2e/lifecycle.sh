#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The command line of a mount, its beginning and its ends.
. "$(dirname "$0")/lib.sh"

put tools/x.sh 'echo x'
OPT=userspace=$U,system=$S

pids() { pgrep -f -- "ryefs .*userspace=$U" | tr "\n" " "; }
gone() { [ -z "$(pids)" ]; }
kill_all() { # its watchdog first, which would become the next daemon on a machine that is busy
  local pid
  for pid in $(pids); do
    [ "$(<"/proc/$pid/comm")" = ryefs-watchdog ] && kill -9 "$pid"
  done
  kill -9 $(pids)
}
said() { "$@" 2>&1 >/dev/null; }

# ---- refusals ----
like "an unknown option is refused by name" "$(said "$RYEFS" "$P" "$M" -o nonsense=1)" "unknown option 'nonsense=1'"
not_ok "with a status" "$RYEFS" "$P" "$M" -o nonsense
like "a wrong value" "$(said "$RYEFS" "$P" "$M" -o wait=soon)" "wait=soon.*wanted a number"
like "a wrong choice" "$(said "$RYEFS" "$P" "$M" -o coverage=some)" "wanted one of strict, compat"
like "an unknown flag" "$(said "$RYEFS" "$P" "$M" -x)" "unknown option '-x'"
like "a third path" "$(said "$RYEFS" "$P" "$M" "$T")" "one path too many"
like "no such project" "$(said "$RYEFS" "$T/none" "$M")" "no project at .*No such file"
like "no such mountpoint" "$(said "$RYEFS" "$P" "$T/none")" "cannot mount at .*No such file"
like "a file as mountpoint" "$(said "$RYEFS" "$P" "$P/.ai/tools/x.sh")" "not a directory"
like "the project as mountpoint" "$(said "$RYEFS" "$P" "$P")" "would hide the project"
like "a directory above it" "$(said "$RYEFS" "$P" "$T")" "would hide the project"
like "what the system needs" "$(said "$RYEFS" "$P" "/proc/$$/task")" "cannot mount at /proc/$$/task: it would hide"
like "its .ai" "$(said "$RYEFS" "$P" "$P/.ai/tools")" "lies in the .ai"
# without the device: in a mount namespace of its own, where it is hidden
if [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then
  like "a machine without /dev/fuse" "$(unshare -m sh -c "mount -t tmpfs none /dev && '$RYEFS' '$P' '$M' -o '$OPT'" 2>&1)" \
    "cannot mount at .*/dev/fuse is of no use here.*the verbs of ryefs work without"
  cp "$RYEFS" "$T/ryefs"
  chmod -R a+rX "$T"
  like "who may not open it" "$(unshare -m sh -c "mount -t tmpfs -o mode=755 none /dev && mknod -m 600 /dev/fuse c 10 229 && mknod -m 666 /dev/null c 1 3 &&
    setpriv --reuid 65534 --regid 65534 --clear-groups '$T/ryefs' '$P' '$M' -o '$OPT'" 2>&1)" \
    "cannot mount at .*you may not open /dev/fuse; wanted .sudo chmod 666"
  # of a user: one line, and a remedy that works
  mkdir -p "$T/their/.ai" "$T/closed" "$T/open" "$T/bin"
  printf '#!/bin/sh\nexec "$@"\n' >"$T/bin/sudo"
  chmod +x "$T/bin/sudo"
  : >"$T/fuse.conf"
  chown -R 65534 "$T/their" "$T/open" "$T/fuse.conf"
  cat >"$T/as_user" <<EOF
mount -t tmpfs -o mode=755 none /dev && mknod -m 666 /dev/fuse c 10 229 && mknod -m 666 /dev/null c 1 3 || exit
mount --bind "$T/fuse.conf" /etc/fuse.conf || exit
user() { setpriv --reuid 65534 --regid 65534 --clear-groups env HOME="$T/their" PATH="$T:$T/bin:$PATH" "\$@" 2>&1; }
mistake() {
  user ryefs "\$@" >"$T/said"
  cat "$T/said"
  user sh -c "\$(sed -n 's/^mend with: //p' "$T/said")" >"$T/again" && echo mended
}
mistake "$T/their" "$T/closed"
user ryefs umount "$T/their/mnt" && mistake "$T/their" "$T/open" -o allow_other
user ryefs "$T/their" "$T/open" -o allow_other >"$T/again" && echo mounted
mistake "$T/their" "$T/open"
user ryefs "$T/their" "$T/open" >"$T/again" && user ryefs umount "$T/open" && echo mounted
EOF
  is "a user's mistakes" "$(unshare -m sh "$T/as_user" | sed "s|$T|T|g; s|/etc/fuse.conf|CONF|g")" \
    "ryefs: cannot mount at T/closed: a directory is wanted that you may write to
mend with: mkdir -p T/their/mnt && ryefs T/their T/their/mnt
mended
ryefs: cannot mount at T/open: CONF does not let users say allow_other
mend with: echo user_allow_other | sudo tee -a CONF
mended
mounted
ryefs: T/open is a ryefs mount of T/their already
mend with: ryefs umount T/open
mended
mounted"
fi
not_ok "nothing was mounted" grep -qF "$T" /proc/self/mounts

# ---- the background ----
cd "$P" || exit 1
ok "the command returns" timeout 20 "$RYEFS" . mnt -o "$OPT,dev,suid,exec,user,auto,rw,_netdev,x-systemd.automount" 2>"$T/said"
ok "the mount answers then" test -r "$M/.ryefs/version"
is "OPEN has been refused by then" "$(stat_of open)" 1
ok "nosuid,nodev, whatever was asked for" sh -c "grep -F ' $M fuse.ryefs ' /proc/self/mounts | grep nosuid,nodev"
is "it bears the project's name" "$(grep -F " $M " /proc/self/mounts | cut -d' ' -f1)" "$P"
like "a second mount at the same place is refused" "$(said "$RYEFS" "$P" "$M" -o "$OPT")" "is a ryefs mount of .* already"
ok "umount" umount "$M"
ok "the daemon ends" until_true gone
ok "the summary" sh -c "timeout 20 '$RYEFS' . mnt -o '$OPT' 2>'$T/said'; for i in 1 2 3 4 5 6 7 8 9; do grep -q 'items served' '$T/said' && break; sleep 0.1; done; grep -E '^ryefs: [0-9]+ items served, [0-9]+ refused \([0-9]+ unsigned\); see ls -l' '$T/said'"
is "is one line" "$(grep -c 'items served' "$T/said")" 1
ok "fusermount3 -u" fusermount3 -u "$M"
ok "the daemon ends" until_true gone
at_terminal() {
  timeout 20 /usr/bin/python3 -c '
import os, pty, sys
pid, fd = pty.fork()
if not pid:
    os.execv("/bin/sh", ["sh", "-c", "\"$0\" . mnt -o \"$1\"; echo prompt; sleep 0.5"] + sys.argv[1:])
try:
    while got := os.read(fd, 4096):
        os.write(1, got)
except OSError:
    pass' "$RYEFS" "$OPT" | tr -d '\r'
}
if [ -x /usr/bin/python3 ]; then
  said=$(at_terminal)
  like "at a terminal it comes before the prompt" "$(echo $said)" "^ryefs: [0-9]+ items served.*; see ls -l.* prompt\$"
  ok "fusermount3 -u" fusermount3 -u "$M"
  ok "the daemon ends" until_true gone
fi

# ---- mount(8) ----
if [ "$(id -u)" = 0 ] && [ -x /sbin/mount.fuse3 ] || [ -x /sbin/mount.fuse ]; then
  # as with -t fuse.ryefs, for a program that is not on root's PATH
  ok "mount -t fuse" mount -t fuse -o "$OPT" "$RYEFS#$P" "$M"
  ok "answers" test -r "$M/README.md"
  ok "umount" umount "$M"
fi

# ---- signals ----
for sig in TERM INT HUP; do
  timeout 20 "$RYEFS" "$P" "$M" -o "$OPT" 2>>"$T/said"
  kill -s $sig $(pids)
  ok "SIG$sig ends the daemon" until_true gone
  not_ok "SIG$sig unmounts" mounted
done
timeout 20 "$RYEFS" "$P" "$M" -o "$OPT" 2>>"$T/said"
exec 5<"$M/README.md"
kill $(pids)
ok "SIGTERM with a file open ends the daemon" until_true gone
not_ok "and unmounts" mounted
exec 5<&-

# ---- kill -9 and what is left ----
timeout 20 "$RYEFS" "$P" "$M" -o "$OPT" 2>>"$T/said"
cat "$M/README.md" >"$T/readme"
exec 5<"$M/README.md"
kill_all
ok "killed" until_true gone
errno "a dead mount says so" ENOTCONN ls "$M"
is "what was read goes on being read" "$(md5sum <&5)" "$(md5sum <"$T/readme")"
exec 5<&-
ok "a dead mount of ours is cleaned up" timeout 20 "$RYEFS" "$P" "$M" -o "$OPT"
ok "and answers" test -r "$M/README.md"
ok "one mount only" test "$(grep -cF " $M " /proc/self/mounts)" = 1
stat "$M" >/dev/null && kill_all
ok "killed" until_true gone
# the kernel goes on answering stat, as long as nobody reads the directory
ok "a dead mount that seems to live is cleaned up" timeout 20 "$RYEFS" "$P" "$M" -o "$OPT"
ok "and answers" test -r "$M/README.md"
ok "umount" umount "$M"
ok "the daemon ends" until_true gone

# ---- busy ----
timeout 20 "$RYEFS" "$P" "$M" -o "$OPT" 2>>"$T/said"
cd "$M/tools" || exit 1
not_ok "umount of a busy mount fails" umount "$M"
cd "$T" || exit 1
ok "it works again" test -r "$M/README.md"
ok "umount -l" umount -l "$M"
ok "the daemon ends" until_true gone

# ---- unmounted as soon as it answers, when it has not said yet that it is up ----
hasty() {
  local i
  for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
    "$RYEFS" "$P" "$M" -f -o "$OPT" 2>>"$T/said" &
    until_true test -r "$M/.ryefs/version"
    umount -l "$M" 2>/dev/null || fusermount3 -u -z "$M"
    wait $! || {
      echo "status $?: $(tail -n 3 "$T/said")"
      return 1
    }
  done
}
ok "a hasty unmount is an end like any other" hasty

# ---- git ----
if command -v git >/dev/null; then
  git init -q "$P"
  timeout 20 "$RYEFS" "$P" "$M" -o "$OPT" 2>"$T/said"
  until_true grep -q exclude "$T/said"
  like "in a work tree it says how to be kept out" "$(cat "$T/said")" "echo '/mnt' >> '.*/.git/info/exclude'"
  umount "$M"
  until_true gone
  echo /mnt >>"$P/.git/info/exclude"
  timeout 20 "$RYEFS" "$P" "$M" -o "$OPT" 2>"$T/said"
  until_true grep -q served "$T/said"
  not_ok "but once only" grep -q exclude "$T/said"
  is "git status" "$(cd "$P" && git status --short | tr '\n' ' ')" "?? .ai/ "
  umount "$M"
  until_true gone
fi

# ---- ro ----
timeout 20 "$RYEFS" "$P" "$M" -o "$OPT,ro" 2>"$T/said"
errno "ro: nothing is written" EROFS sh -c "echo x > '$M/spaces/project/tools/y.sh'"
errno "ro: nothing is run" EROFS sh -c "echo '{}' > '$M/tools/x/run'"
umount "$M"
until_true gone
ok "mount --help" sh -c "'$RYEFS' mount --help | grep -q coverage"
ok "-h and --version" sh -c "'$RYEFS' --help | grep -q MOUNTPOINT && '$RYEFS' --version | grep -q '^ryefs [0-9]'"
is "--help fits on a screen" "$("$RYEFS" --help | wc -l | awk '{ print ($1 <= 45) }')" 1
finish
