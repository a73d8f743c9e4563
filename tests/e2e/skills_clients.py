# SPDX-License-Identifier: MIT
"""skills_clients.py CLIENT PLACE WORK SKILL.md...: which of these skills a shipped client offers its model, as its
requests to a scripted model of loopback say; started in WORK, where its directories of skills are. A skill is
offered where its description is. Prints the names, sorted; exit 77: the client is not installed."""

import ctypes
import os
import re
import subprocess
import sys

from client_run import CLIENTS, MODULES, end_what_is_left, environment, save, serve


def described(path):
    """The folder's name, and how its description begins."""
    with open(path, encoding="utf-8") as stream:
        text = re.search(r'(?m)^description: *"?([^"\n]{12,40})', stream.read())[1]
    return os.path.basename(os.path.dirname(path)), text


def main(name, place, work, *files):
    program = os.path.join(MODULES, CLIENTS[name].program)
    if not os.path.exists(program):
        return 77
    home = place + "/home"
    os.makedirs(home)
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
    server, url = serve(place, {"by": "turn", "answers": [{"text": "all done"}] * 8})
    client = CLIENTS[name](url, home, work)
    try:
        env = {**environment(home), **client.configure()}
        done = subprocess.run([program, *client.argv()], cwd=work, env=env, timeout=240, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    finally:
        server.terminate()
        server.wait()
        end_what_is_left()
    save(place + "/said", done.stdout.decode(errors="replace"))
    with open(place + "/asked", encoding="utf-8") as stream:
        asked = stream.read()
    print(",".join(sorted(skill for skill, text in map(described, files) if text in asked)))
    return done.returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
