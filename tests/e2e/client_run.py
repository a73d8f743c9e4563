# SPDX-License-Identifier: MIT
"""client_run.py CLIENT PLACE MOUNT: one shipped agent client, without a person, against a scripted model of
loopback (../fake/provider_server.py) that has it read, list and write below MOUNT by its own tools.

What the model asks for, one call an answer: knowledge/k/greeting.md, the directory it lies in, the
refused SECRET file beside it, a request of tools/t/note under a name of its own, its reply. PLACE gets the
client's home. Prints one JSON object {rc, out, err, turns: [what was new in the conversation when the
model was asked for answer N]}; exit 77: the client is not installed."""

import ctypes
import glob
import json
import os
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
CACHE = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.environ["RYE_HOME"], ".cache")
NPM = os.environ.get("RYE_NPM_DIR") or os.path.join(CACHE, "ryefs-npm")
MODULES = os.path.join(NPM, "agents", "node_modules")
PROMPT = "Do what you are told."


def save(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as stream:
        stream.write(text if isinstance(text, str) else json.dumps(text))


def listing_by_shell(tool, word):
    return lambda path: (tool, {word: ["ls -lL " + path] if word == "commands" else "ls -lL " + path})


class Client:
    """What one client is called with, and how the calls of its tools are spelt."""

    program = ""
    lane = ""  # a tool's name: what has no tools is asked for something else, as a title

    def __init__(self, url, home, mount):
        self.url, self.home, self.mount = url, home, mount

    def configure(self):
        """Its settings, below self.home; what else its environment needs."""
        return {}

    def argv(self):
        return [PROMPT]

    read = list = write = None


class Claude(Client):
    program = "@anthropic-ai/claude-code-linux-x64/claude"
    lane = '"Read"'

    def configure(self):
        save(self.home + "/.claude.json", {"hasCompletedOnboarding": True, "autoUpdates": False})
        return {"ANTHROPIC_BASE_URL": self.url, "ANTHROPIC_API_KEY": "k", "IS_SANDBOX": "1",
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1"}

    def argv(self):
        return ["-p", PROMPT, "--permission-mode", "bypassPermissions"]

    def read(self, path):
        return "Read", {"file_path": path}

    list = staticmethod(listing_by_shell("Bash", "command"))

    def write(self, path, text):
        return "Write", {"file_path": path, "content": text}


class Codex(Client):
    program = ".bin/codex"
    lane = '"exec_command"'

    def configure(self):
        save(self.home + "/.codex/config.toml", "\n".join([
            'model = "gpt-5"', 'model_provider = "loop"', 'approval_policy = "never"',
            'sandbox_mode = "danger-full-access"', "check_for_update_on_startup = false",
            "[model_providers.loop]", 'name = "loop"', 'base_url = "%s/v1"' % self.url,
            'env_key = "LOOP_KEY"', 'wire_api = "responses"', "[analytics]", "enabled = false"]))
        return {"LOOP_KEY": "k", "CODEX_HOME": self.home + "/.codex"}

    def argv(self):
        return ["exec", "--skip-git-repo-check", PROMPT]

    # its files are a shell's
    def read(self, path):
        return "exec_command", {"cmd": "cat " + path}

    def list(self, path):
        return "exec_command", {"cmd": "ls -lL " + path}

    def write(self, path, text):
        return "exec_command", {"cmd": "printf '%%s' '%s' > %s" % (text, path)}


class Gemini(Client):
    program = ".bin/gemini"
    lane = '"read_file"'
    key = "file_path"

    def configure(self):
        save(self.home + "/.gemini/settings.json", {
            "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
            "general": {"enableAutoUpdate": False}, "privacy": {"usageStatisticsEnabled": False}})
        return {"GEMINI_API_KEY": "k", "GOOGLE_GEMINI_BASE_URL": self.url, "GEMINI_CLI_TRUST_WORKSPACE": "true"}

    def argv(self):
        return ["--yolo", "-m", "gemini-2.5-flash", "--include-directories", self.mount, "-p", PROMPT]

    def read(self, path):
        return "read_file", {"file_path": path}

    def list(self, path):
        return "list_directory", {"dir_path": path}

    def write(self, path, text):
        return "write_file", {"file_path": path, "content": text}


class Qwen(Gemini):
    program = ".bin/qwen"

    def configure(self):
        save(self.home + "/.qwen/settings.json", {
            "security": {"auth": {"selectedType": "openai"}}, "privacy": {"usageStatisticsEnabled": False}})
        return {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": self.url + "/v1", "OPENAI_MODEL": "m"}

    def argv(self):
        return ["--yolo", "--include-directories", self.mount, "-p", PROMPT]

    def list(self, path):
        return "glob", {"pattern": "*", "path": path}


class OpenCode(Client):
    program = "opencode-linux-x64/bin/opencode"
    lane = '"todowrite"'

    def configure(self):
        save(self.home + "/.config/opencode/opencode.json", {
            "autoupdate": False, "share": "disabled", "model": "loop/m", "small_model": "loop/m",
            "permission": {"*": "allow"},
            "provider": {"loop": {"npm": "@ai-sdk/openai-compatible", "models": {"m": {"name": "m"}},
                                  "options": {"baseURL": self.url + "/v1", "apiKey": "k"}}}})
        return {}

    def argv(self):
        return ["run", PROMPT]

    def read(self, path):
        return "read", {"filePath": path}

    def list(self, path):
        return "read", {"filePath": path}

    def write(self, path, text):
        return "write", {"filePath": path, "content": text}


class Continue(Client):
    program = ".bin/cn"
    lane = '"Checklist"'

    def configure(self):
        save(self.home + "/config.yaml", {
            "name": "l", "version": "1.0.0", "schema": "v1",
            "models": [{"name": "m", "provider": "openai", "model": "m", "apiBase": self.url + "/v1",
                        "apiKey": "k", "roles": ["chat"]}]})
        return {"CONTINUE_TELEMETRY_ENABLED": "0"}

    def argv(self):
        return ["-p", PROMPT, "--config", self.home + "/config.yaml", "--auto"]

    def read(self, path):
        return "Read", {"filepath": path}

    def list(self, path):
        return "List", {"dirpath": path}

    def write(self, path, text):
        return "Write", {"filepath": path, "content": text}


class Cline(Client):
    program = ".bin/cline"
    lane = '"read_files"'

    def configure(self):
        subprocess.run([os.path.join(MODULES, self.program), "auth", "-p", "openai", "-k", "k", "-m", "m",
                        "-b", self.url + "/v1"], env=environment(self.home), stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, timeout=120, check=False)
        return {}

    def argv(self):
        return ["-P", "openai", "-m", "m", "--auto-approve", "true", "--compaction", "off", PROMPT]

    def read(self, path):
        return "read_files", {"files": [{"path": path}]}

    list = staticmethod(listing_by_shell("run_commands", "commands"))

    def write(self, path, text):
        return "editor", {"path": path, "new_text": text}


CLIENTS = {"claude": Claude, "cline": Cline, "codex": Codex, "continue": Continue, "gemini": Gemini,
           "opencode": OpenCode, "qwen": Qwen}


def environment(home):
    newer = glob.glob(os.path.join(NPM, "node_modules", "node-linux-*", "bin"))  # than Debian's node
    return {"HOME": home, "PATH": ":".join([*newer, os.environ["PATH"]]), "TMPDIR": home, "NO_COLOR": "1", "TERM": "dumb",
            "XDG_CONFIG_HOME": home + "/.config", "XDG_DATA_HOME": home + "/.local/share"}


def script_of(name, client, mount):
    calls = [client.read(mount + "/knowledge/k/greeting.md"), client.list(mount + "/knowledge/k"),
             client.read(mount + "/knowledge/k/GEMINI.md"),
             client.write("%s/tools/t/note/calls/%s/request.json" % (mount, name), '{"word":"%s"}' % name),
             client.read("%s/tools/t/note/replies/%s/output" % (mount, name))]
    answers = [{"calls": [{"name": tool, "arguments": arguments}]} for tool, arguments in calls]
    return {"by": "turn", "answers": [{"text": "a title"}],
            "lanes": {client.lane: answers + [{"text": "all done"}] * 3}}


def serve(place, script):
    save(place + "/script.json", script)
    server = subprocess.Popen([sys.executable, os.path.join(HERE, "..", "fake", "provider_server.py"),
                               place + "/script.json", place + "/port", place + "/asked"])
    for _ in range(600):
        if os.path.exists(place + "/port") and os.path.getsize(place + "/port"):
            break
        time.sleep(0.05)
    with open(place + "/port") as stream:
        return server, "http://127.0.0.1:" + stream.read().strip()


def turns(place, lane):
    """Of each request with tools, in their order, what the conversation had that the one before had not."""
    found, known = [], 0
    with open(place + "/asked") as stream:
        for line in stream:
            row = json.loads(line)
            text = row["body"] if isinstance(row.get("body"), str) else json.dumps(row.get("body"))
            if "path" in row and lane in text:
                body = json.loads(text)
                said = body.get("messages") or body.get("input") or body.get("contents")
                found.append(json.dumps(said[known:], ensure_ascii=False))
                known = len(said)
    return found


def children():
    with open("/proc/self/task/%d/children" % os.getpid()) as stream:
        return [int(pid) for pid in stream.read().split()]


def end_what_is_left():
    """A client's own daemons would keep the mount busy; they are this process's by now (PR_SET_CHILD_SUBREAPER)."""
    for _ in range(100):
        left = children()
        if not left:
            return
        for pid in left:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def main(name, place, mount):
    program = os.path.join(MODULES, CLIENTS[name].program)
    if not os.path.exists(program):
        return 77
    home = place + "/home"
    os.makedirs(home)
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
    # the script needs no address, the client's settings do
    server, url = serve(place, script_of(name, CLIENTS[name]("", home, mount), mount))
    client = CLIENTS[name](url, home, mount)
    try:
        env = {**environment(home), **client.configure()}
        done = subprocess.run([program, *client.argv()], cwd=mount + "/knowledge/k", env=env, timeout=240,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        result = {"rc": done.returncode, "out": done.stdout.decode(errors="replace")[-4000:],
                  "err": done.stderr.decode(errors="replace")[-4000:]}
    except subprocess.TimeoutExpired as error:
        result = {"rc": 124, "out": (error.stdout or b"").decode(errors="replace")[-4000:], "err": "it does not end"}
    finally:
        server.terminate()
        server.wait()
        end_what_is_left()
    print(json.dumps({**result, "turns": turns(place, client.lane)}))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
