# SPDX-License-Identifier: MIT
"""vendor_server.py SCRIPT PORT_FILE LOG: provider_server.py that refuses what the vendors refuse.

Started, scripted and logged like provider_server.py. Before a request gets the script's next answer it is held
against vendor_rules.py: one that the wire's vendor would not take is answered 400 in the vendor's words, uses up
no answer, and leaves {n, refused: "why"} in LOG. So a thread that ends "completed" has sent nothing that is
refused, and `grep refused LOG` tells why another has not. A script of an object may have beside `answers`, `lanes`, `by`:

  vendor     "local": a server of llama.cpp's kind behind openai_chat

From a test over agent_lib.sh: `MODEL_SERVER=vendor_server.py agent_model JSON`, then `refusals` prints what was
refused. From a test in C: provider_serve_as(p, "vendor_server.py", script).
"""

import asyncio
import json
import sys

import provider_server
import vendor_rules


class VendorServer(provider_server.Server):
    def __init__(self, script, log):
        super().__init__(script, log)
        with open(script, encoding="utf-8") as f:
            doc = json.load(f)
        self.vendor = doc.get("vendor", "") if isinstance(doc, dict) else ""

    async def reply(self, writer, path, request, n, sent):
        kind, _ = provider_server.wire_of(path)
        said = kind and vendor_rules.refusal(kind.name, request[1], self.vendor or self.paused(request[1]))
        if not said:
            return await super().reply(writer, path, request, n, sent)
        self.open.discard(n)
        self.note(n=n, refused=said["message"])
        wire = kind({}, request[1].get("model", "m"), n)
        doc = wire.error(said, said["status"])
        return await self.whole(writer, said["status"], {}, json.dumps(doc))

    @staticmethod
    def paused(body):
        """An answer that paused goes back as the last message."""
        last = (body.get("messages") or [{}])[-1]
        content = last.get("content")
        server = isinstance(content, list) and content and content[-1].get("type") not in ("text", "tool_use")
        return "paused" if last.get("role") == "assistant" and server else ""


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    provider_server.Server = VendorServer
    asyncio.run(provider_server.main(*sys.argv[1:]))
