#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# run_bash.sh: the real engine behind the real mount: the bundle's bash tool run by writing to
# its file. What the talk_*.sh tests show with a fake engine, here with processes.
# RYE_TEST_TIMES=1000 for the long form.
. "$(dirname "$0")/lib.sh"
S=$(dirname "$RYEFS")/bundle
[ -d "$S/.ai/tools/rye/bash" ] || skip "no bundle"
TIMES=${RYE_TEST_TIMES:-40}
export TIMES T
# what fails is also said on stderr
allow '^ryefs: (info refused: )?(tool|execute|sign)'
mount_rye "system=$S"
cd "$M/tools/rye/bash" || exit 1

for shell in bash dash zsh mksh busybox fish tcsh; do
  command -v "$shell" >/dev/null || continue
  case $shell in
    busybox) words="busybox sh" ;;
    fish) words="fish --no-config" ;;
    tcsh) words="tcsh -f" ;;
    *) words=$shell ;;
  esac
  is "$shell: write, then read" "$($words -c "echo '{\"command\":\"echo \$((6*7))\"}' >run && cat output")" 42
  is "$shell: a failing command fails the echo" \
    "$($words -c "echo '{\"command\":\"exit 3\"}' >run && echo went on" 2>/dev/null)" ""
done
like "the sentence" "$(cat "$M/.ryefs/errors")" 'tool:rye/bash/bash run: .*code 3'
like "the short name is the same tool" "$(bash -c 'echo "{command: echo hi}" >run; cat bash/output')" '^hi$'
ok "dry_run runs nothing" bash -c 'echo "{\"command\":\"touch $T/dry\"}" >dry_run && [ ! -e "$T/dry" ]'
not_ok "a missing parameter" bash -c 'echo "{}" >run'
not_ok "half a message runs nothing" bash -c 'printf "{\"command\":\"touch $T/half\"" >run; [ -e "$T/half" ]'
like "and says what it wants" "$(cat run)" 'message unfinished'
is "one descriptor" "$(bash -c 'exec 3<>run; for i in 1 2 3; do
  echo "{\"command\":\"echo $i\"}" >&3; head -1 <&3 | jq -r .data.stdout; done')" $'1\n\n2\n\n3'

cat >"$T/own.sh" <<'END'
for i in $(seq "$TIMES"); do
  echo "{\"command\":\"echo $1.$i\"}" >run || exit 2
  [ "$(cat output)" = "$1.$i" ] || { echo "$1.$i read $(cat output)"; exit 1; }
done
END
two() {
  local pids= bad=0 shell
  for shell in bash dash; do
    $shell "$T/own.sh" "$shell" &
    pids="$pids $!"
  done
  for pid in $pids; do wait "$pid" || bad=1; done
  return $bad
}
command -v dash >/dev/null && ok "two scripts side by side" timeout 90 bash -c "$(declare -f two); two"

cat >"$T/many.py" <<'END'
import json, os
fd = os.open("run", os.O_RDWR)
for i in range(int(os.environ["TIMES"])):
    want = "%d %s" % (i, "y" * (i * 53 % 700))
    os.write(fd, json.dumps({"command": "echo '%s'" % want}).encode() + b"\n")
    got = b""
    while not got.endswith(b"\n"):
        got += os.read(fd, 1 if i % 3 == 0 else 65536)
    assert json.loads(got)["data"]["stdout"] == want + "\n", (i, got)
END
ok "messages and replies on one descriptor" timeout 90 /usr/bin/python3 "$T/many.py"

cat >"$T/interrupt.py" <<'END'
import os, signal, subprocess, sys, time
def alive(mark):
    n = 0
    for pid in os.listdir("/proc"):
        try:
            n += pid.isdigit() and b"sleep\0" + mark.encode() in open("/proc/%s/cmdline" % pid, "rb").read()
        except OSError:
            pass
    return n
for which in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
    mark = "60.%d%d" % (which, os.getpid())
    p = subprocess.Popen(["bash", "-c", "echo '{\"command\":\"sleep %s\"}' >run; echo on" % mark],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    for _ in range(300):
        if alive(mark):
            break
        time.sleep(0.01)
    else:
        sys.exit("did not start")
    begin = time.time()
    p.send_signal(which)
    out = p.communicate(timeout=5)[0]
    took = time.time() - begin
    assert took < 0.2 and out == b"", (which, took, out)
    while alive(mark):
        assert time.time() - begin < 0.4, which
        time.sleep(0.01)
END
ok "^C and kill -9 end the run within 0.2 s and leave nothing" /usr/bin/python3 "$T/interrupt.py"
ok "a background job's end does not" bash -c 'sleep 0.2 & echo "{\"command\":\"sleep 0.6\"}" >run'

# open(2) takes the attributes that LOOKUP told, for a moment; a reader beside the first write, that
# soon after the open, must not
cat >"$T/beside.py" <<'END'
import os, threading, time

# the reply is longer than what LOOKUP told of the file
message = b'{"command":"sleep 0.05; seq 3000"}\n'


def count(name):
    with open(os.environ["M"] + "/.ryefs/stats.json", encoding="ascii") as file:
        return int(file.read().split('"%s":' % name)[1].split(",")[0])


whole = 0
for i in range(20):
    before = count("write")
    fd = os.open("run", os.O_RDWR)
    writer = threading.Thread(target=os.write, args=(fd, message))
    writer.start()
    while count("write") == before:
        pass
    got = os.pread(fd, 65536, len(message))
    writer.join()
    os.close(fd)
    whole += got.endswith(b"}\n")
# the kernel sometimes takes no size from an answer beside a write; the rest comes with the next read
assert whole > 15, whole
END
ok "a reader beside the first write gets the reply in one piece" env M="$M" timeout 30 /usr/bin/python3 "$T/beside.py"
mark
ok "20 opens" /usr/bin/python3 -c 'import os
for i in range(20):
    os.close(os.open("run", os.O_RDWR))'
like "of run ask for no attributes" "$(since getattr)" '^[0-4]$'

# a page that the kernel has lost is locked by the writer of the next message, which waits for its answer
cat >"$T/lost.py" <<'END'
import os, threading

wrong = []


def talk(path, message, wanted):
    fd = os.open(path, os.O_RDWR)
    for _ in range(25):
        os.write(fd, message)
        got = os.read(fd, 1 << 20)
        # the size may come too late for this read, but what is read is the reply
        if got and wanted not in got:
            wrong.append(got)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)


threads = [threading.Thread(target=talk, args=(path, message, wanted)) for path, message, wanted in 2 * [
    ("run", b'{"command":"echo hi"}\n', b'"stdout":"hi'),
    ("../../../knowledge/rye/core/tool-format/run", b"{}\n", b'"status":"success"'),
    ("../../../knowledge/rye/core/directive-format/run", b"{}\n", b'"status":"success"')]]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert not wrong, wrong[0]
END
ok "pages that are lost between two messages hold nothing up" timeout 30 /usr/bin/python3 "$T/lost.py"

# crawlers run nothing, though a directory tool's run is in their way
ok "grep -r, find, tar, cp -r: nothing runs" bash -c 'cd "$0" && grep -rq . tools && find tools >/dev/null &&
  tar cf - tools | cat >/dev/null; cp -r tools "$T/copy"; ls "$T/copy/rye" >/dev/null' "$M"
errno "rm run" EROFS rm -f run
errno "mv run" EROFS mv run ran
errno "ln run" EROFS ln run ran
errno "sed -i run" EROFS sed -i s/a/b/ run
ok "touch, truncate, chmod succeed" bash -c 'touch run && : >run && chmod 600 run && truncate -s 7 run'
not_ok "who is confined may not" setpriv --no-new-privs sh -c 'echo "{\"command\":\"true\"}" >run'
cd "$M" || exit 1
is "execute" "$(bash -c 'echo "{\"item_id\":\"tool:rye/bash/bash\",\"parameters\":{\"command\":\"echo hi\"}}" >execute &&
  jq -r .data.stdout execute')" "hi"
like "execute's usage" "$(cat sign)" '^sign: write'
like "a child of a run may not" "$(cd tools/rye/bash && bash -c 'echo "{\"command\": \"echo {} >$0/tools/rye/bash/run\"}" >run
  cat output' "$M")" 'Permission denied|I/O error'
cd /
finish
