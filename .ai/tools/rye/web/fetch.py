"""Get a page of the web as Markdown, as text or as it is.

The request is made by the tool rye/web/request on the HTTP primitive, which decides where it may
go: public hosts, by https."""

import json

import page
import rye_tool

__version__ = "1.0.0"
__tool_type__ = "python"
__executor_id__ = "rye/core/runtimes/python/function"
__category__ = "rye/web"
__tool_description__ = "Get a page of the web as Markdown, text or HTML"
__requires__ = ["fs.read", "net.http", "rye.execute.tool.rye.web.request"]

CONFIG_SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "url": {
            "type": "string",
            "description": "An address that begins with https",
            "pattern": "^[a-z]+://",
            "maxLength": 8192,
        },
        "format": {
            "type": "string",
            "description": "What an HTML page becomes",
            "enum": ["text", "markdown", "html"],
            "default": "markdown",
        },
    },
    "required": ["url"],
}

KEPT = 512000  # characters of a page


def is_html(kind, body):
    return "html" in kind or (not kind and body.lstrip()[:200].lower().startswith(("<!doctype", "<html")))


@rye_tool.tool
def execute(params, project_path):
    reply = rye_tool.call(project_path, "tool:rye/web/request", {"url": params["url"]})
    data = reply.get("data") or {}
    told = {"url": params["url"]}
    if data.get("status_code"):
        told["status_code"] = data["status_code"]
    if reply["status"] == "error":
        raise rye_tool.Failure(reply["error"], **told)
    body, kind = data.get("body"), data.get("headers", {}).get("content-type", "")
    if not isinstance(body, str):
        body = json.dumps(body, ensure_ascii=False, indent=2)
    form = params.get("format", "markdown")
    if form != "html" and is_html(kind.lower(), body):
        told["title"], body = page.read(body, form)
    told.update(content_type=kind, format=form, output=body[:KEPT],
                truncated=len(body) > KEPT or bool(data.get("truncated")))
    return told
