# SPDX-License-Identifier: MIT
"""The program of a warm interpreter. It runs the runtime's own loader text, so what
a tool sees is decided by the signed runtime alone; here is only what a started process has
of itself: streams, arguments, working directory, environment, exit.

Descriptor 3 is a SOCK_SEQPACKET socket. First packets: this program, the loader and the
modules to import ("L..." pieces, then "M" + JSON [number of landlock_restrict_self, texts to
keep, [names]], with a ruleset that gives each child a domain of its own, so that it can look
into no other process). Then "T" + number, NUL, name, with a tool's text, asks to compile it for
children forked later; the answer is the number, or 0 when it does not compile without a warning.
"F" or "R" with four descriptors (in, out, err, control) asks for one child; the answer is its
pid. A child asked for by "R" first goes through a whole call of a sample: the pages it shares
with its parent are copied then, not while a caller waits. No child runs what another made.

A child waits on its control socket for the job, words parted by NUL (directory, RYE_RUN,
TMPDIR, number of a compiled text or nothing, argv ...), with the tool's text as a descriptor
when there is no number. When all is done it says "D<exit code>" there and goes when we close
it; its parent writes "X<wait status>" when it has reaped it; the first of the two counts. What
an ordinary exit does is done before "D": threads, atexit, the module's end, flushing. When
code came in that is not the interpreter's own, the ordinary exit is taken: its teardown is
unknown. The end of descriptor 3 ends the parent, once its children have gone."""

import array
import atexit
import builtins
import ctypes
import gc
import importlib.machinery
import json
import os
import select
import socket
import sys
import types
import warnings

libc = ctypes.CDLL(None)
room = bytearray(1 << 17)


def receive(sock, most):
    fds = array.array('i')
    size, extra, _, _ = sock.recvmsg_into([room], socket.CMSG_SPACE(most * fds.itemsize),
                                          socket.MSG_CMSG_CLOEXEC)
    for level, kind, item in extra:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            fds.frombytes(item[:len(item) - len(item) % fds.itemsize])
    return bytes(memoryview(room)[:size]), fds.tolist()


def drop():
    names = sys.modules['__main__'].__dict__
    for value in list(names.values()):
        if isinstance(value, types.ModuleType):
            name = value.__dict__.get('__name__')
            if not isinstance(name, str) or sys.modules.get(name) is not value:
                value.__dict__.clear()
    names.clear()


def tidy(status):
    drop()
    sys.last_type = sys.last_value = sys.last_traceback = None
    gc.collect()
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None and not stream.closed:
                stream.flush()
        except BaseException:
            status = status or 120
    return status


def leave(status, own, null, control):
    try:
        module = sys.modules.get('threading')
        if module and (module.active_count() > 1 or
                       getattr(module, '_shutdown_locks', True) or
                       getattr(module, '_threading_atexits', True)):
            module._shutdown()
        atexit._run_exitfuncs()
    except BaseException:
        sys.excepthook(*sys.exc_info())
    if len(sys.modules) != len(own):
        known = getattr(sys, 'stdlib_module_names', ())
        if any(name.partition('.')[0] not in known for name in sys.modules.keys() - own):
            control.close()
            sys.exit(status)
    status = tidy(status)
    try:
        os.dup2(null, 1)
        os.dup2(null, 2)
        control.send(b'D%d\n' % (status & 255))
        control.recv(1)
    except OSError:
        pass
    os._exit(status & 255)


def exit_status(value):
    if value is None:
        return 0
    if isinstance(value, int):
        return value
    print(value, file=sys.stderr)
    return 1


def fresh():
    names = sys.modules['__main__'].__dict__
    names.clear()
    names.update(__name__='__main__', __doc__=None, __package__=None, __spec__=None,
                 __loader__=importlib.machinery.BuiltinImporter, __annotations__={},
                 __builtins__=builtins)
    return names


def answer(code, texts, data, fds):
    words = os.fsdecode(data).split('\0')
    os.chdir(words[0])
    os.environ['RYE_RUN'] = words[1]
    if words[2]:
        os.environ['TMPDIR'] = words[2]
    if fds:
        os.environ['RYE_TOOL_FD'] = str(fds[0])
    names = fresh()
    if words[3]:
        names['compiled'] = texts[words[3]]
    sys.argv[:] = words[4:]
    status = 0
    gc.enable()
    try:
        exec(code, names)
    except SystemExit as error:
        status = exit_status(error.code)
    except BaseException as error:
        error = error.with_traceback(error.__traceback__.tb_next)
        sys.excepthook(type(error), error, error.__traceback__)
        status = 1
    return status


SAMPLE = (b'"""x"""\nimport os\nX = {"a": [1]}\n'
          b'def execute(p, q):\n    return {"success": True, "x": [1, q]}\n')


JOB = b'\0'.join((b'/', b'0', b'', b'x', b'-c', b'/sample.py', b'/'))


def rehearse(code, texts):
    argv = sys.argv[:]
    tidy(answer(code, texts, JOB, []))
    gc.disable()
    sys.argv[:] = argv
    os.environ.pop('RYE_RUN', None)
    fresh()
    gc.collect()


def child(code, texts, own, nest, streams, control, others, first):
    os.setsid()
    if nest and libc.syscall(nest[0], nest[1], 0):
        os._exit(1)
    for fd in others:
        os.close(fd)
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    if first:
        rehearse(code, texts)
        with open(os.devnull, 'rb') as stream:
            compile(stream.read() or SAMPLE, '/sample.py', 'exec', dont_inherit=True)
    for fd, stream in enumerate(streams):
        os.dup2(stream, fd)
        os.close(stream)
    control = socket.socket(fileno=control)
    data, fds = receive(control, 1)
    if not data:
        os._exit(0)
    leave(answer(code, texts, data, fds), own, null, control)


def learn(texts, most, data, fd):
    number, _, path = os.fsdecode(data[1:]).partition('\0')
    try:
        with open(fd, 'rb') as stream, warnings.catch_warnings():
            warnings.simplefilter('error')
            texts[number] = compile(stream.read(), path, 'exec', dont_inherit=True)
    except BaseException:
        return b'0'
    texts.pop(str(int(number) - most), None)
    gc.collect()
    gc.freeze()
    return number.encode()


def lend():
    """Modules of the runtime, whose text is in the environment; one may need those before it."""
    for variable in [one for one in os.environ if one.startswith('RYE_MODULE_')]:
        name = variable.partition('RYE_MODULE_')[2]
        code = compile(os.environ.pop(variable), '<%s>' % name, 'exec', dont_inherit=True)
        sys.modules[name] = types.ModuleType(name)
        exec(code, sys.modules[name].__dict__)


def parent():
    sock = socket.socket(fileno=3)
    os.set_inheritable(3, False)
    loader = b''
    while True:
        data, fds = receive(sock, 1)
        if data[:1] != b'L':
            break
        loader += data[1:]
    if not data:
        os._exit(0)
    number, most, names = json.loads(data[1:])
    nest = (number, fds[0]) if fds else None
    lend()
    for name in names:
        try:
            __import__(name)
        except ImportError:
            pass
    code = compile(loader.decode(), '<string>', 'exec', dont_inherit=True)
    texts = {'x': compile(SAMPLE, '/sample.py', 'exec', dont_inherit=True)}
    keep = sys.modules['__main__']
    sys.modules['__main__'] = types.ModuleType('__main__')
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    os.close(null)
    rehearse(code, texts)
    own = frozenset(sys.modules)
    living = {}
    poll = select.poll()
    poll.register(sock, select.POLLIN)
    gc.disable()
    gc.collect()
    gc.freeze()
    over = False
    while living or not over:
        for fd, _ in poll.poll():
            if fd != 3:
                poll.unregister(fd)
                pid, control = living.pop(fd)
                os.close(fd)
                _, status = os.waitpid(pid, 0)
                try:
                    os.write(control, b'X%d\n' % status)
                except OSError:
                    pass
                os.close(control)
                continue
            data, fds = receive(sock, 4)
            if data[:1] == b'T' and len(fds) == 1:
                sock.send(learn(texts, most, data, fds[0]))
                continue
            if len(fds) != 4:
                poll.unregister(3)
                over = True
                continue
            pid = os.fork()
            if pid == 0:
                others = [3, nest[1]] if nest else [3]
                for pidfd, (_, control) in living.items():
                    others += [pidfd, control]
                child(code, texts, own, nest, fds[:3], fds[3], others, data == b'R')
            for stream in fds[:3]:
                os.close(stream)
            pidfd = os.pidfd_open(pid)
            living[pidfd] = pid, fds[3]
            poll.register(pidfd, select.POLLIN)
            sock.send(b'%d' % pid)
    os._exit(0)


if __name__ == "__main__":
    parent()
