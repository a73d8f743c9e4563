# SPDX-License-Identifier: MIT
# compete.py RUN OUTPUT ERRORS: threads of one process write messages to one control file and read
# the replies by name. A reply of another thread must never look like one's own.
import errno
import sys
import threading

run, output, errors = sys.argv[1:]


def write(name):
    with open(run, "w") as f:
        f.write('{"command":"echo %s"}\n' % name)


def read(path):
    try:
        with open(path) as f:
            return f.read()
    except OSError as e:
        return errno.errorcode[e.errno]


def in_thread(work, *args):
    got = []
    thread = threading.Thread(target=lambda: got.append(work(*args)))
    thread.start()
    thread.join()
    return got[0]


def both(work):
    """work(name) of two threads that have both written before one of them reads."""
    written = threading.Barrier(2)
    got = {}

    def task(name):
        got[name] = work(name, written.wait)

    threads = [threading.Thread(target=task, args=(n,)) for n in ("one", "two")]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(got) == 2, got
    return got


def by_name(name, wait):
    write(name)
    wait()
    got = read(output), read(run)
    wait()
    return got


def by_descriptor(name, wait):
    with open(run, "r+b", buffering=0) as f:
        f.write(b'{"command":"echo %s"}\n' % name.encode())
        wait()
        return f.read().decode()


# a pool: one thread writes, another reads
for i in range(5):
    in_thread(write, "pool%d" % i)
    got = in_thread(read, output)
    assert "pool%d" % i in got, got
    assert "pool%d" % i in in_thread(read, run)

got = both(by_name)
assert got == {"one": ("EBUSY", "EBUSY"), "two": ("EBUSY", "EBUSY")}, got
assert "descriptor" in read(errors), read(errors)

got = both(by_descriptor)
for name in got:
    assert name in got[name], got

# these were read; the next is the only one that was not
in_thread(write, "late")
got = in_thread(read, output)
assert "late" in got or got == "EBUSY", got

# round after round: one's own or EBUSY
for i in range(40):
    got = both(lambda name, wait: (write(name), read(output)))
    for name in got:
        assert name in got[name][1] or got[name][1] == "EBUSY", got
