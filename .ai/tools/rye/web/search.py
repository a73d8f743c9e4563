"""Search the web with the service that config/web/websearch.yaml names.

A service is a tool on the HTTP primitive that takes query and count, and a way to read its answer:
`results` is the dotted path of a list in JSON, `title`, `url` and `snippet` names in each; or `link`
and `snippet` are the classes of elements in a page of HTML."""

import urllib.parse

import page
import rye_tool

__version__ = "1.0.0"
__tool_type__ = "python"
__executor_id__ = "rye/core/runtimes/python/function"
__category__ = "rye/web"
__tool_description__ = "Search the web"
__requires__ = ["fs.read", "net.http", "rye.execute.tool.rye.web.*"]

CONFIG_RESOLVE = {"path": "web/websearch.yaml", "mode": "deep_merge"}

# The service's tool runs within what this one may do, and secrets cannot be read there.
ENV_CONFIG = {"env": ["BRAVE_API_KEY", "SEARXNG_URL"]}

CONFIG_SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "query": {
            "type": "string",
            "description": "What to search for",
            "minLength": 1,
            "maxLength": 1000,
        },
        "num_results": {
            "type": "integer",
            "description": "Results at most",
            "default": 10,
            "minimum": 1,
            "maximum": 50,
        },
        "provider": {
            "type": "string",
            "description": "A service of the configuration instead of the one it prefers",
        },
    },
    "required": ["query"],
}


def service_of(config, name):
    services = config.get("providers") or {}
    name = name or config.get("provider")
    if name not in services:
        raise rye_tool.Failure("No such search service: %s. There are: %s" % (
            name, ", ".join(sorted(services)) or "none"))
    return name, services[name]


def below(value, path):
    for part in path.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value


def address(url):
    """The address that a link of a results page leads to in the end."""
    parts = urllib.parse.urlsplit(urllib.parse.urljoin("https://x/", url))
    hidden = urllib.parse.parse_qs(parts.query).get("uddg")
    return hidden[0] if hidden else url


def read_results(service, body):
    if not service.get("results"):
        rows = page.links(body if isinstance(body, str) else "", service["link"], service["snippet"])
        return [{**row, "url": address(row["url"])} for row in rows]
    listed = below(body, service["results"])
    if not isinstance(listed, list):
        raise rye_tool.Failure("The answer of the search service has no list " + service["results"])
    return [{key: str(below(row, service.get(key, key)) or "") for key in ("title", "url", "snippet")}
            for row in listed]


@rye_tool.tool
def execute(params, project_path):
    name, service = service_of(params.get("resolved_config") or {}, params.get("provider"))
    count = params.get("num_results", 10)
    reply = rye_tool.call(project_path, "tool:" + service["tool"],
                          {"query": params["query"], "count": count})
    if reply["status"] == "error":
        raise rye_tool.Failure(reply["error"], provider=name)
    rows = [row for row in read_results(service, reply["data"].get("body")) if row["url"]][:count]
    return {
        "query": params["query"], "provider": name, "results": rows, "count": len(rows),
        "output": "\n\n".join("%(title)s\n%(url)s\n%(snippet)s" % row for row in rows),
    }
