"""What tools of the bundle share beside files: results that are good or say why not, running
programs, asking the engine. The Python runtimes lend it to every tool."""

import codecs
import functools
import json
import os
import select
import signal
import subprocess
import time

__version__ = "1.0.0"
__tool_type__ = "library"
__executor_id__ = None
__category__ = "rye/core/runtimes/python/lib"
__tool_description__ = "Shared by tools: results, running programs, asking the engine"

# -- results --


class Failure(Exception):
    """The sentence of a result that is an error, and what the result holds besides."""

    def __init__(self, sentence, **data):
        super().__init__(sentence)
        self.data = data


def tool(function):
    """execute() of a function that returns what is in a good result and raises for a bad one."""

    @functools.wraps(function)
    def execute(params, project_path):
        try:
            return {"success": True, **function(params, project_path)}
        except Failure as failure:
            return {"success": False, "error": str(failure), **failure.data}
        except (OSError, ValueError) as error:
            import rye_files  # only then: a process of its own has to compile it

            return {"success": False, "error": rye_files.reason(error)}

    return execute


def by_action(actions):
    """execute() that calls the function of params["action"] with the rest."""

    @tool
    def execute(params, project_path):
        action = actions.get(params.get("action"))
        if action is None:
            raise Failure("Unknown action. Valid: " + ", ".join(sorted(actions)))
        return action(params, project_path)

    return execute


def need(params, *names):
    """The values of parameters that one action needs and others do not."""
    missing = [name for name in names if params.get(name) in (None, "")]
    if missing:
        raise Failure("%s needs %s" % (params["action"], ", ".join(missing)))
    return [params[name] for name in names]


# -- running --

STREAM_LIMIT = 51200  # bytes kept of each stream; a model's context is the bottleneck
DRAIN_S = 0.2  # how long a background child may keep a pipe open after the shell has ended
GRACE_S = 0.5  # between asking a timed-out command to end and killing it


# A thread shows what its tool prints while it runs (its file `live`). Our standard output is the
# answer, so what the command prints goes there through standard error, up to this many bytes.
LIVE_LIMIT = 1 << 20
# `ryefs execute` prints what stands behind this line on standard error as the beginning of `output`.
LIVE_LINE = b"\x1eryefs live\n"


class Live:
    """Passes on what comes while anything reads it: of a thread both streams, else the first."""

    def __init__(self, prints):
        self.left, self.text = 0, None
        if prints and os.environ.get("RYE_LIVE"):
            self.put(LIVE_LINE)
            # letter by letter what `output` will be; a character that is cut off there is no part of it
            self.left, self.text = STREAM_LIMIT - 4, codecs.getincrementaldecoder("utf-8")("replace")
        elif os.environ.get("RYE_THREAD_ID"):
            self.left = LIVE_LIMIT

    def show(self, chunk):
        chunk = chunk[: self.left]
        self.left -= len(chunk)
        self.put(self.text.decode(chunk).encode() if self.text else chunk)

    def put(self, chunk):
        while chunk:
            try:
                chunk = chunk[os.write(2, chunk) :]
            except OSError:
                self.left = 0
                return


class Stream:
    """One pipe of the command: the first STREAM_LIMIT bytes and the count of all."""

    def __init__(self, pipe, live):
        self.pipe = pipe
        self.live = live
        self.kept = bytearray()
        self.total = 0

    def pump(self):
        """Take what is there; False at the end of the stream."""
        chunk = os.read(self.pipe.fileno(), 65536)
        self.total += len(chunk)
        self.kept += chunk[: STREAM_LIMIT - len(self.kept)]
        if self.live:
            self.live.show(chunk)
        return bool(chunk)

    def text(self):
        if self.total <= STREAM_LIMIT:
            return self.kept.decode("utf-8", "replace")
        end = STREAM_LIMIT
        while end > STREAM_LIMIT - 4 and self.kept[end - 1] & 0xC0 == 0x80:
            end -= 1
        if self.kept[end - 1] >= 0xC0:
            end -= 1  # a character whose last bytes may have been cut off
        else:
            end = STREAM_LIMIT
        note = "\n... [output truncated, %d bytes total]" % self.total
        return self.kept[:end].decode("utf-8", "replace") + note


def resolve_directory(project_path, wanted):
    root = os.path.realpath(project_path)
    path = os.path.realpath(os.path.join(root, wanted or "."))
    if os.path.commonpath([root, path]) != root:
        raise ValueError("Working directory is outside the project workspace")
    if not os.path.isdir(path):
        raise ValueError("Working directory not found: " + path)
    return path


def members(group):
    """The living processes of a process group, without ourselves."""
    own = os.getpid()
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == own:
            continue
        try:
            with open("/proc/%s/stat" % name, "rb") as stat:
                fields = stat.read().rpartition(b")")[2].split()
        except OSError:
            continue
        if int(fields[2]) == group and fields[0] not in b"ZX":
            found.append(int(name))
    return found


def end_group(group):
    """Ask everything in the group to end, then make it."""
    start = time.monotonic()
    number = signal.SIGTERM
    while time.monotonic() < start + 2 * GRACE_S:
        pids = members(group)
        if not pids:
            return
        for pid in pids:
            try:
                os.kill(pid, number)
            except (ProcessLookupError, PermissionError):
                pass
        time.sleep(0.01)
        number = signal.SIGKILL if time.monotonic() > start + GRACE_S else 0


def collect(process, streams, deadline):
    """Read both pipes until the command has ended; False when the time was over first."""
    poller = select.poll()
    open_streams = {}
    for stream in streams:
        poller.register(stream.pipe, select.POLLIN)
        open_streams[stream.pipe.fileno()] = stream
    watch = os.pidfd_open(process.pid) if hasattr(os, "pidfd_open") else None
    if watch is not None:
        poller.register(watch, select.POLLIN)
    try:
        while open_streams or process.poll() is None:
            left = deadline - time.monotonic()
            if left <= 0:
                return process.poll() is not None
            step = left if watch is not None else min(left, 0.02)
            for fd, _ in poller.poll(step * 1000):
                if fd == watch:
                    poller.unregister(watch)
                elif not open_streams[fd].pump():
                    poller.unregister(fd)
                    del open_streams[fd]
            if process.poll() is not None:
                deadline = min(deadline, time.monotonic() + DRAIN_S)
        return True
    finally:
        if watch is not None:
            os.close(watch)


def report(streams, exit_code):
    out, err = (stream.text() for stream in streams)
    parts = [out] if out else []
    if err:
        parts.append("[stderr]\n" + err)
    result = {
        "success": exit_code == 0,
        "output": "\n".join(parts),
        "stdout": out,
        "stderr": err,
        "exit_code": exit_code,
        "truncated": any(stream.total > STREAM_LIMIT for stream in streams),
    }
    if exit_code and not err:
        how = ("exited with code %d", "killed by signal %d")[exit_code < 0]
        result["error"] = "Command " + how % abs(exit_code)
    return result


def run(argv, directory, seconds, env=None, prints=False):
    """Run a program and everything it starts, in our own group; what it printed and how it ended.
    prints: this is the whole result, so its output may be shown before it is told.

    The engine starts every run as the leader of a group of its own and ends that whole group when
    the run is cancelled, so the program stays in it. Started any other way, we must not signal our
    group (the caller is in it): then the program gets its own."""
    shared = os.getpgrp() == os.getpid()
    env = {name: value for name, value in (env or os.environ).items() if name != "RYE_LIVE"}
    try:
        process = subprocess.Popen(
            argv, cwd=directory, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, start_new_session=not shared,
        )
    except (OSError, ValueError) as error:
        return {"success": False, "error": "Cannot start %s: %s" % (argv[0], error)}
    live = Live(prints)
    streams = [Stream(process.stdout, live),
               Stream(process.stderr, None if live.text else live)]
    if collect(process, streams, time.monotonic() + seconds):
        return report(streams, process.returncode)
    end_group(os.getpgrp() if shared else process.pid)
    result = report(streams, process.poll())
    printed = ("output", "stdout", "stderr", "truncated")
    return {
        **{key: result[key] for key in printed if result[key]},
        "success": False,
        "error": "Command timed out after %s seconds" % seconds,
        "timeout": seconds,
    }


# -- asking the engine --

ASK_LIMIT_S = 300  # for one verb of the engine


def engine(project_path, words, text=None):
    """Status, standard output and error of one verb of the command line."""
    program = os.environ.get("RYE_RYEFS") or "ryefs"
    command = [program, *words, "--json", "--project", project_path]
    try:
        done = subprocess.run(command, input=text or "", capture_output=True, text=True,
                              timeout=ASK_LIMIT_S)
    except FileNotFoundError:
        raise Failure("The ryefs program was not found: " + program) from None
    except subprocess.TimeoutExpired:
        raise Failure("ryefs %s did not answer" % words[0]) from None
    return done.returncode, done.stdout, done.stderr


def ask(project_path, *words, text=None):
    """The answer of one verb of the command line; what it refuses is a Failure."""
    status, out, err = engine(project_path, words, text)
    if status:
        said = err.strip() or out.strip()
        raise Failure(said or "ryefs %s failed" % words[0])
    return json.loads(out or "{}")


def call(project_path, ref, params, dry=False):
    """The reply of another tool, a failed one too. It runs within what this one may do."""
    words = ["execute", "-q", ref, "-"] + (["--dry-run"] if dry else [])
    status, out, err = engine(project_path, words, json.dumps(params))
    try:
        return json.loads(out)
    except ValueError:
        raise Failure(err.strip() or "ryefs execute ended with %d" % status) from None
