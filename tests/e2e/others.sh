#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Other users: who mounts without being root, and who looks at a mount that is not his.
. "$(dirname "$0")/lib.sh"
[ "$(id -u)" = 0 ] || skip "only root can become others"
command -v setpriv >/dev/null || skip "setpriv is not installed"
[ -x /usr/bin/python3 ] || skip "/usr/bin/python3 is not installed"

# a checkout in a home that is closed to others
V=$T/vectors
cp -R "$SRC/vectors/binding" "$V"
cp "$RYEFS" "$T/ryefs" && RYEFS=$T/ryefs
mkdir -p "$P/.ai/tools/vec"
cp "$V/b2.py" "$P/.ai/tools/vec/"
put tools/vec/open.sh 'echo x'
chmod 755 "$T"
chmod 666 "$P/.ai/tools/vec/open.sh"
mkdir -p "$P/.ai/knowledge/wide"
chmod 777 "$P/.ai/knowledge/wide"
as() { setpriv --reuid "$1" --regid "$1" --clear-groups "${@:2}"; }

# ---- somebody else, allow_other ----
mount_rye allow_other
A=$M/spaces/project
ok "another user reads items" as 65534 cmp "$M/tools/vec/b2.py" "$V/b2.py"
ok "and lists" as 65534 ls -lR "$M/tools"
ok "and reads sources" as 65534 cat "$A/tools/vec/open.sh"
errno "but does not run" EACCES as 65534 bash -c "echo '{}' > '$M/tools/vec/b2/run'"
errno "nor sign" EACCES as 65534 bash -c "echo '{}' > '$M/sign'"
errno "nor read the last reply" EACCES as 65534 cat "$M/tools/vec/b2/output"
errno "nor write a source that anybody may write" EACCES as 65534 bash -c "echo x > '$A/tools/vec/open.sh'"
errno "nor make one in a directory that anybody may write" EACCES as 65534 touch "$A/knowledge/wide/new.md"
errno "nor append" EACCES as 65534 bash -c "echo x >> '$A/tools/vec/open.sh'"
errno "nor remove" EACCES as 65534 rm -f "$A/tools/vec/open.sh"
is "nothing was written" "$(<"$P/.ai/tools/vec/open.sh")" "echo x"
is "modes say so" "$(stat -c %a "$A/tools/vec/open.sh" "$A/knowledge/wide" | tr '\n' ' ')" "644 755 "
ok "the owner writes" sh -c "echo y > '$A/tools/vec/open.sh'"
errno "devices are not made by others" EACCES as 65534 mknod "$A/knowledge/wide/null" p
ok "the mount ends" umount_rye

# ---- a mount of somebody who is not root ----
[ -u "$(command -v fusermount3)" ] && as 65534 test -w /dev/fuse && as 65534 test -x "$RYEFS" || {
  N=$((N + 1))
  echo "ok $N - a user's own mount # SKIP nobody here but root can mount"
  finish
}
chown -R 65534:65534 "$P" "$U"
as 65534 env HOME="$U" "$RYEFS" "$P" "$M" -o "userspace=$U,system=$S" 2>"$T/said"
is "it mounts" $? 0
ok "a user's own mount" as 65534 cmp "$M/tools/vec/b2.py" "$V/b2.py"
is "files are his" "$(as 65534 stat -c %u "$M/tools/vec/b2.py")" 65534
ok "he writes" as 65534 bash -c "echo z > '$M/spaces/project/tools/vec/open.sh'"
ok "a file made without any right to write is written all the same" as 65534 /usr/bin/python3 -c "
import os,sys
fd=os.open(sys.argv[1],os.O_CREAT|os.O_WRONLY,0o444); os.write(fd,b'one'); os.write(fd,b'two'); os.close(fd)
assert open(sys.argv[1]).read()=='onetwo'" "$M/spaces/project/tools/vec/ro.sh"
ok "also when the right went away meanwhile" as 65534 /usr/bin/python3 -c "
import os,sys
p=sys.argv[1]; open(p,'w').close(); fd=os.open(p,os.O_RDWR); os.chmod(p,0); os.write(fd,b'x'*5000)
assert os.pread(fd,9,0)==b'x'*9 and os.stat(p).st_mode&0o777==0" "$M/spaces/project/tools/vec/gone.sh"
is "and the mode stays" "$(stat -c %a "$P/.ai/tools/vec/gone.sh")" 0
errno "a file of nobody's is not opened" EACCES as 65534 cat "$M/spaces/project/tools/vec/gone.sh"
errno "chown is root's" "Operation not permitted" as 65534 chown 0 "$M/spaces/project/tools/vec/ro.sh"
ok "set-uid bits go when written" as 65534 bash -c "
cp /bin/true '$M/spaces/project/tools/suid'; chmod 4755 '$M/spaces/project/tools/suid'; echo >> '$M/spaces/project/tools/suid'
# the kernel asks again within a second
for i in {1..300}; do [ \$(stat -c %a '$M/spaces/project/tools/suid') = 755 ] && exit; sleep 0.01; done; exit 1"
errno "root is kept out" EACCES ls "$M/tools"
ok "fusermount3 -u" as 65534 fusermount3 -u "$M"
finish
