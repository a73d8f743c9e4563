#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# talk_signals.sh: ^C, kill -9, background jobs, timers: what ends a run and what does not;
# nothing is left behind and nothing runs twice.
. "$(dirname "$0")/talk_lib.sh"
start_talks

# here NAME CODE: a piece of Python with helpers, in the mount
here() {
  ok "$1" timeout 30 /usr/bin/python3 -c "$(
    cat <<'END'
import os, signal, subprocess, sys, time
LOG = os.environ["LOG"]
PIPE = subprocess.PIPE

def ran(text):
    return open(LOG).read().count(text)

# seconds that sleep only here, the script's number is part of them: what is left of a run is found by them
def alive(mark):
    n = 0
    for pid in os.listdir("/proc"):
        try:
            if pid.isdigit() and open("/proc/%s/cmdline" % pid, "rb").read() == b"sleep\0%s\0" % mark.encode():
                n += 1
        except OSError:
            pass
    return n

def started(mark):
    for _ in range(300):
        if alive(mark):
            return
        time.sleep(0.01)
    sys.exit("run did not start")

def gone(mark):
    for _ in range(50):
        if not alive(mark):
            return True
        time.sleep(0.01)
    return False

def shell(script):
    return subprocess.Popen(["bash", "-c", script], stdout=PIPE, stderr=PIPE, start_new_session=True)

def interrupt(process, what, mark, limit=0.2):
    started(mark)
    time.sleep(0.1)  # its writer has fallen asleep
    begin = time.time()
    process.send_signal(what)
    out, err = process.communicate(timeout=5)
    took = time.time() - begin
    assert took < limit, took
    assert gone(mark), "left behind"
    return out, err
END
    echo "$2"
  )"
}

for name in INT TERM HUP KILL; do
  mark=71.$(kill -l "$name")$$
  here "SIG$name ends the run" "
p = shell('echo \'{\"command\":\"sleep $mark\"}\' >run; echo behind')
out, err = interrupt(p, signal.SIG$name, '$mark')
assert b'behind' not in out
"
done

here "a trap runs, the write fails with EINTR" "
p = shell('trap \"echo trapped\" INT; echo \'{\"command\":\"sleep 72.1$$\"}\' >run; echo status=\$?')
out, err = interrupt(p, signal.SIGINT, '72.1$$')
assert out == b'trapped\nstatus=1\n', out
assert b'nterrupted' in err, err
"
here "a child of the shell is the writer: ^C goes to the group" "
p = shell('printf \'{\"command\":\"sleep 72.2$$\"}\' | cat >run; echo status=\$?')
started('72.2$$'); time.sleep(0.1)
os.killpg(p.pid, signal.SIGINT)
p.communicate(timeout=5)
assert gone('72.2$$')
"
here "SIGQUIT at a program that does not ignore it" "
p = subprocess.Popen([sys.executable, '-c', 'open(\"run\",\"w\").write(\'{\"command\":\"sleep 72.3$$\"}\')'])
started('72.3$$'); time.sleep(0.1); p.send_signal(signal.SIGQUIT); p.wait(5)
assert gone('72.3$$')
"
here "SIGCHLD and SIGWINCH do not" "
p = shell('sleep 0.2 & echo \'{\"command\":\"sleep 0.83$$; echo done\"}\' >run; echo status=\$?; cat output')
started('0.83$$'); p.send_signal(signal.SIGWINCH); time.sleep(0.3); p.send_signal(signal.SIGCHLD)
assert p.communicate(timeout=5)[0] == b'status=0\ndone\n'
"
here "^C behind a SIGCHLD: the kernel tells of the first only" "
p = shell('sleep 0.1 & echo \'{\"command\":\"sleep 73.1$$\"}\' >run; echo status=\$?')
started('73.1$$'); time.sleep(0.3)
interrupt(p, signal.SIGINT, '73.1$$', 0.3)
"
here "a handled timer does not (PEP 475)" "
n = 0
def tick(*args):
    global n
    n += 1
signal.signal(signal.SIGALRM, tick)
signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
with open('run', 'w') as f:
    f.write('{\"command\":\"sleep 0.51; echo ok\"}')
signal.setitimer(signal.ITIMER_REAL, 0)
assert n >= 1 and ran('sleep 0.51') == 1
assert open('output').read() == 'ok\n'
"
here "KeyboardInterrupt, and the destructor runs nothing again" "
# close() flushes twice: the second time the same bytes come again
code = '''
f = open('run', 'w')
f.write('{\"command\":\"sleep 74.1$$\"}')
try:
    f.close()
except OSError as e:
    print(e.errno, type(e.__context__).__name__)
'''
p = subprocess.Popen([sys.executable, '-c', code], stdout=PIPE, stderr=PIPE)
out, err = interrupt(p, signal.SIGINT, '74.1$$')
assert out == b'125 KeyboardInterrupt\n', (out, err)
assert ran('sleep 74.1$$') == 1
"
here "the destructor after a failure" "
for i in range(3):
    code = 'f = open(\"run\", \"w\"); f.write(\'{\"fail\":\"destructor%d\"}\')' % i
    subprocess.run([sys.executable, '-c', code], stderr=PIPE)
    assert ran('destructor%d' % i) == 1
"
here "a reader that is interrupted does not end the run" "
p = shell('exec 3<>run; echo \'{\"command\":\"sleep 0.61$$; echo done\"}\' >&3; cat output')
started('0.61$$')
r = subprocess.Popen(['cat', '/proc/%d/fd/3' % p.pid], stdout=PIPE)
time.sleep(0.1)  # nothing tells that it reads
r.send_signal(signal.SIGINT); r.communicate(timeout=2)
assert p.communicate(timeout=5)[0] == b'done\n'
"
here "the mount goes while a write waits" "
p = shell('echo \'{\"command\":\"sleep 75.1$$\"}\' >run; echo status=\$?')
started('75.1$$')
subprocess.run(['fusermount3', '-uz', os.getcwd()], check=True)
os.kill(int(os.environ['DAEMON']), signal.SIGTERM)
out, err = p.communicate(timeout=5)
assert out == b'status=1\n', out
assert gone('75.1$$')
"
end_talks
