"""Tell where and when this runs: paths, clock and interpreter."""

import os
import sys
import time

__version__ = "1.0.0"
__tool_type__ = "python"
__executor_id__ = "rye/core/runtimes/python/function"
__category__ = "rye/core/system"
__tool_description__ = "Report the paths of the spaces, the time and the interpreter"
__requires__ = ["fs.read"]

CONFIG_SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "item": {
            "type": "string",
            "description": "What to report",
            "enum": ["paths", "time", "runtime", "all"],
            "default": "all",
        },
    },
}


def own_bundle():
    """The root of the bundle this file belongs to: the directory that holds its .ai."""
    head, found, _ = os.path.abspath(__file__).rpartition("/.ai/tools/")
    return [head or "/"] if found else []


def tell_paths(project_path):
    home = os.path.expanduser("~")
    user = os.path.expanduser(os.environ.get("USER_SPACE") or home)
    system = [root for root in os.environ.get("RYE_SYSTEM_SPACES", "").split(":") if root]
    return {
        "project_path": project_path,
        "user_space": user,
        "user_space_exists": os.path.isdir(os.path.join(user, ".ai")),
        "system_spaces": system or own_bundle(),
        "home_dir": home,
        "cwd": os.getcwd(),
    }


def tell_time():
    now = time.time()
    utc = "%s.%06d+00:00" % (
        time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now)), int(now % 1 * 1000000))
    return {
        "utc_iso": utc,
        "utc_timestamp": now,
        "local_time": time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(now)),
        "timezone": time.strftime("%Z", time.localtime(now)),
    }


def tell_runtime():
    return {
        "platform": sys.platform,
        "arch": os.uname().machine,
        "python_version": "%d.%d.%d" % sys.version_info[:3],
        "python_executable": sys.executable,
    }


def execute(params, project_path):
    item = params.get("item", "all")
    parts = {
        "paths": lambda: tell_paths(project_path),
        "time": tell_time,
        "runtime": tell_runtime,
    }
    if item != "all" and item not in parts:
        return {"success": False, "error": "Unknown item: %s" % item}
    wanted = parts if item == "all" else [item]
    return {"success": True, "data": {name: parts[name]() for name in wanted}}
