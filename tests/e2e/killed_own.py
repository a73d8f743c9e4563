# SPDX-License-Identifier: MIT
"""killed_own.py DAEMON RUN NOTES PATTERN KILLS: calls RUN while processes below DAEMON whose command line
has PATTERN are killed, in turn all that wait for a call, then one at a moment of a call. Each call has
a number, which the tool writes to NOTES as `"n":N,`. Prints "sound", or what was not."""

import errno
import json
import os
import random
import select
import signal
import sys
import threading
import time

DAEMON, RUN, NOTES, PATTERN, KILLS = sys.argv[1:]
MOST_S = 60  # a call sleeps a fifth of a second
SLEEP_S = 0.2


def children(pid):
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as found:
                for child in map(int, found.read().split()):
                    yield child
                    yield from children(child)
    except OSError:  # it has just ended
        return


def victims():
    for pid in children(DAEMON):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as words:
                if PATTERN.encode() in words.read():
                    yield pid
        except OSError:
            continue


def state_of(pid):
    """Its state and its parent; "X" when it is gone."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
            return stat.read().rpartition(")")[2].split()[:2]
    except OSError:
        return "X", "0"


def until(what, done):
    end = time.monotonic() + MOST_S
    while not done():
        if time.monotonic() > end:
            sys.exit(f"{what}: not within {MOST_S} s")
        time.sleep(0.005)


def kill(pid):
    """True once the daemon can know of its death: by itself, or from a parent that has told and waits again."""
    parent = state_of(pid)[1]
    try:
        pidfd = os.pidfd_open(pid)
    except ProcessLookupError:
        return False
    try:
        signal.pidfd_send_signal(pidfd, signal.SIGKILL)
        # with all its threads: its state is "Z" before
        select.select([pidfd], [], [], MOST_S)
    except ProcessLookupError:
        return False
    finally:
        os.close(pidfd)
    if parent != DAEMON:
        until("its parent waits for it", lambda: state_of(pid)[0] == "X")
        until("its parent tells", lambda: state_of(parent)[0] in "SXZ")
    return True


def kill_waiting():
    """All but those that have children."""
    return sum(kill(pid) for pid in list(victims()) if not list(children(pid)))


def kill_one(chance):
    found = list(victims())
    return any(kill(pid) for pid in chance.sample(found, len(found)))


def call(number):
    """The reply to one message; a call that hangs ends the test."""
    fd = os.open(RUN, os.O_RDWR)
    timer = threading.Timer(MOST_S, lambda: (print(f"call {number} hangs", flush=True), os._exit(1)))
    timer.daemon = True
    timer.start()
    try:
        try:
            os.write(fd, json.dumps({"n": number, "seconds": SLEEP_S}).encode())
        except OSError as fault:  # it has failed; the reply says why
            if fault.errno != errno.EREMOTEIO:
                raise
        parts = []
        while part := os.read(fd, 65536):
            parts.append(part)
        return b"".join(parts).decode()
    except OSError as fault:
        return json.dumps({"error": f"errno {fault.errno}"})
    finally:
        timer.cancel()
        os.close(fd)


def good(reply):
    return "done" in reply and '"error"' not in reply


def began(number):
    """How often the tool wrote this number. An MCP server notes each message that it hears."""
    with open(NOTES, encoding="utf-8") as notes:
        return sum(f'"n":{number},' in line.replace(" ", "") for line in notes)


def disturbed(chance, number, killed):
    """One call while one is killed."""
    late = threading.Timer(chance.uniform(0, SLEEP_S * 1.3), lambda: killed.append(kill_one(chance)))
    late.start()
    reply = call(number)
    late.join()
    return reply


def good_call(number, faults, when):
    reply = call(number)
    if not good(reply):
        faults.append(f"{when}: {reply}")
    return reply


def main():
    chance, killed, errors, faults = random.Random(int(KILLS)), [], {}, []
    good_call(0, faults, "at first")
    for number in range(1, 2 * int(KILLS), 2):
        if number % 4 == 1:
            killed.append(kill_waiting())
            reply = good_call(number, faults, "what waited was killed")
        else:
            reply = disturbed(chance, number, killed)
        if not good(reply):
            said = json.loads(reply)["error"]
            errors[said] = errors.get(said, 0) + 1
        if began(number) > 1 or good(reply) and began(number) != 1:
            faults.append(f"call {number} ran {began(number)} times: {reply}")
        good_call(number + 1, faults, f"the next one after {reply}")
    for said, times in errors.items():
        print("#", times, "times", said)
        if not any(word in said for word in ("ended", "killed")):
            faults.append(f"it does not say what ended: {said}")
    print(f"# {sum(killed)} killed, {sum(errors.values())} calls with an error")
    if not sum(killed):
        faults.append("nothing was killed")
    print("\n".join(faults) or "sound")


main()
