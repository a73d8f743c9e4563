# SPDX-License-Identifier: MIT
"""provider_server.py SCRIPT PORT_FILE LOG: a model provider of loopback that a script drives.

Speaks each wire that ryefs speaks, streaming when the request asks for it, and writes what it was
asked to LOG, one JSON line a request: {n, at, method, path, headers, body}, later {n, end, sent} with
end "done" or "gone" (the client hung up), and of a stream `last`, when its last byte was written. The port is the kernel's choice; it is written to
PORT_FILE once the server listens. Ends with SIGTERM.

  /v1/messages                anthropic_messages      /v1/responses            openai_responses
  /v1/chat/completions        openai_chat             /v1beta/models/M:generateContent, and
  /v1beta/interactions        gemini_interactions       :streamGenerateContent gemini_generate
  /stats                      {requests, open, most_open}

SCRIPT is JSON: a list of answers, or {"answers": [...], "lanes": {TEXT: [...]}, "by": "turn"}. A
request whose body has TEXT in it is answered from that lane, each with a count of its own. By "order"
(the default) a lane's answers are given one after the other; by "turn" the number of answers that the
conversation already holds picks one, so that any number of threads can share a script. After the last
answer comes status 500. An answer:

  text, reasoning, signature    what it says; text may be a list of pieces
  calls       [{id?, name, arguments, arguments_text, or pieces of that text}]
  refusal     text             stop      end, tool, length, refusal, pause, context: told in the wire's word
  usage       {input, output, cache_read, cache_write, reasoning}; null: none is told
  status, headers, body        of the HTTP answer, a stream's content-type, too; body (text or JSON) goes instead of everything else
  error       {type, message, code, after}: status 4xx or 5xx: its body; 200: in the stream, after so
                               many events
  delay       seconds before the status line     first  the same before the first event
  gap         seconds between events             comments  seconds between comments while it waits
  piece       bytes a write                      stream    false: answers whole whatever was asked
  cut, reset, hang             after so many events: closes, resets, says no more
  find        REGEX: the text "FOUND" in the answer is the list of what matches in the request
  raw         the bytes of the body as they are (a stream); file: the same from a file
"""

import asyncio
import json
import os
import re
import signal
import socket
import struct
import sys
import time

STOPS = {
    "anthropic_messages": {"end": "end_turn", "tool": "tool_use", "length": "max_tokens", "refusal": "refusal",
                           "pause": "pause_turn", "context": "model_context_window_exceeded"},
    "openai_chat": {"end": "stop", "tool": "tool_calls", "length": "length", "refusal": "content_filter"},
    "openai_responses": {"end": "completed", "tool": "completed", "length": "max_output_tokens",
                         "refusal": "content_filter"},
    "gemini_generate": {"end": "STOP", "tool": "STOP", "length": "MAX_TOKENS", "refusal": "SAFETY",
                        "pause": "CONTINUATION"},
    "gemini_interactions": {"end": "completed", "tool": "requires_action", "length": "incomplete",
                            "pause": "requires_continuation", "refusal": "failed"},
}


def pieces_of(answer):
    text = answer.get("text", "")
    return text if isinstance(text, list) else [text] if text else []


def dumps(doc):
    """Halves of surrogate pairs, which no text can be, as escapes."""
    text = json.dumps(doc, ensure_ascii=False)
    return text if text.isascii() or not re.search("[\ud800-\udfff]", text) else json.dumps(doc)


def arguments_of(call):
    """The text of a call's arguments."""
    if "pieces" in call:
        return "".join(call["pieces"])
    return call.get("arguments_text", json.dumps(call.get("arguments", {}), ensure_ascii=False))


def stop_of(answer):
    return answer.get("stop") or ("tool" if answer.get("calls") else "refusal" if answer.get("refusal") else "end")


def halves_of(call):
    """The text of a call's arguments in two pieces, or in its own."""
    return call.get("pieces") or halves(arguments_of(call))


def halves(text):
    return [part for part in (text[: len(text) // 2], text[len(text) // 2 :]) if part] or [""]


class Wire:
    """One format: `events` of a stream, the `whole` answer, the body of an `error`."""

    name = ""
    done = None  # what ends a stream, beside its events
    typed = False  # each event has an `event:` line

    def __init__(self, answer, model, n):
        self.answer, self.model, self.n = answer, model, n
        self.usage = answer.get("usage", {"input": 10, "output": 5})

    def stop(self):
        return STOPS[self.name].get(stop_of(self.answer), stop_of(self.answer))

    def calls(self):
        for i, call in enumerate(self.answer.get("calls", [])):
            yield i, call.get("id", f"call_{self.n}_{i}"), call

    def event_text(self, event):
        kind = event.get("type") or event.get("event_type")
        head = f"event: {kind}\n" if self.typed and kind else ""
        return f"{head}data: {dumps(event)}\n\n"

    def error(self, error, status):
        return {"error": {"message": error.get("message", "scripted"), "type": error.get("type", "server_error"),
                          "code": error.get("code"), "param": error.get("param")}}


class Anthropic(Wire):
    name = "anthropic_messages"
    typed = True

    def counts(self):
        use = self.usage or {}
        return {"input_tokens": use.get("input", 0), "output_tokens": use.get("output", 0),
                "cache_read_input_tokens": use.get("cache_read", 0),
                "cache_creation_input_tokens": use.get("cache_write", 0)}

    def blocks(self):
        if "reasoning" in self.answer:
            yield {"type": "thinking", "thinking": self.answer["reasoning"],
                   "signature": self.answer.get("signature", "c2ln")}, None
        if pieces_of(self.answer):
            yield {"type": "text", "text": "".join(pieces_of(self.answer))}, None
        for _, call_id, call in self.calls():
            yield {"type": "tool_use", "id": call_id, "name": call["name"]}, halves_of(call)

    def message(self, blocks, stop):
        return {"id": f"msg_{self.n}", "type": "message", "role": "assistant", "model": self.model,
                "content": blocks, "stop_reason": stop, "stop_sequence": None}

    def deltas(self, block, arguments):
        if arguments is not None:
            return [{"type": "input_json_delta", "partial_json": part} for part in arguments]
        if block["type"] == "thinking":
            return [{"type": "thinking_delta", "thinking": block["thinking"]},
                    {"type": "signature_delta", "signature": block["signature"]}]
        return [{"type": "text_delta", "text": part} for part in pieces_of(self.answer)]

    def events(self):
        start = dict(self.message([], None), usage=dict(self.counts(), output_tokens=1))
        yield {"type": "message_start", "message": start}
        for i, (block, arguments) in enumerate(self.blocks()):
            empty = dict(block, **({"input": {}} if arguments is not None else {}))
            for key in ("thinking", "text", "signature"):
                if key in empty:
                    empty[key] = ""
            yield {"type": "content_block_start", "index": i, "content_block": empty}
            for delta in self.deltas(block, arguments):
                yield {"type": "content_block_delta", "index": i, "delta": delta}
            yield {"type": "content_block_stop", "index": i}
        delta = {"stop_reason": self.stop(), "stop_sequence": None}
        if self.answer.get("refusal"):
            delta["stop_details"] = {"type": "refusal", "category": "scripted", "explanation": self.answer["refusal"]}
        yield {"type": "message_delta", "delta": delta, "usage": {"output_tokens": self.counts()["output_tokens"]}}
        yield {"type": "message_stop"}

    def whole(self):
        blocks = [dict(block, input=json.loads("".join(arguments))) if arguments is not None else block
                  for block, arguments in self.blocks()]
        return dict(self.message(blocks, self.stop()), usage=self.counts())

    def error(self, error, status):
        inner = {"type": error.get("type", "api_error"), "message": error.get("message", "scripted")}
        if error.get("code"):
            inner["details"] = {"error_code": error["code"]}
        return {"type": "error", "error": inner, "request_id": f"req_{self.n}"}


class Chat(Wire):
    name = "openai_chat"
    done = "[DONE]"

    def counts(self):
        use = self.usage
        return {"prompt_tokens": use.get("input", 0) + use.get("cache_read", 0), "completion_tokens": use.get("output", 0),
                "total_tokens": sum(use.get(key, 0) for key in ("input", "cache_read", "output")),
                "prompt_tokens_details": {"cached_tokens": use.get("cache_read", 0)},
                "completion_tokens_details": {"reasoning_tokens": use.get("reasoning", 0)}}

    def chunk(self, delta, stop=None):
        return {"id": f"c{self.n}", "object": "chat.completion.chunk", "model": self.model,
                "choices": [{"index": 0, "delta": delta, "finish_reason": stop}]}

    def events(self):
        yield self.chunk({"role": "assistant", "content": None})
        if "reasoning" in self.answer:
            yield self.chunk({"reasoning_content": self.answer["reasoning"]})
        for text in pieces_of(self.answer):
            yield self.chunk({"content": text})
        if self.answer.get("refusal"):
            yield self.chunk({"refusal": self.answer["refusal"]})
        for i, call_id, call in self.calls():
            first, *rest = halves_of(call)
            yield self.chunk({"tool_calls": [{"index": i, "id": call_id, "type": "function",
                                              "function": {"name": call["name"], "arguments": first}}]})
            for part in rest:
                yield self.chunk({"tool_calls": [{"index": i, "function": {"arguments": part}}]})
        yield self.chunk({}, self.stop())
        if self.usage is not None:
            yield {"id": f"c{self.n}", "object": "chat.completion.chunk", "choices": [], "usage": self.counts()}

    def whole(self):
        message = {"role": "assistant", "content": "".join(pieces_of(self.answer)) or None}
        if "reasoning" in self.answer:
            message["reasoning_content"] = self.answer["reasoning"]
        if self.answer.get("refusal"):
            message["refusal"] = self.answer["refusal"]
        calls = [{"id": call_id, "type": "function", "function": {"name": call["name"], "arguments": arguments_of(call)}}
                 for _, call_id, call in self.calls()]
        if calls:
            message["tool_calls"] = calls
        doc = {"id": f"c{self.n}", "model": self.model,
               "choices": [{"index": 0, "message": message, "finish_reason": self.stop()}]}
        return doc if self.usage is None else dict(doc, usage=self.counts())


class Responses(Wire):
    name = "openai_responses"
    typed = True

    def counts(self):
        use = self.usage
        return use and {"input_tokens": use.get("input", 0) + use.get("cache_read", 0), "output_tokens": use.get("output", 0),
                        "total_tokens": sum(use.get(key, 0) for key in ("input", "cache_read", "output")),
                        "input_tokens_details": {"cached_tokens": use.get("cache_read", 0)},
                        "output_tokens_details": {"reasoning_tokens": use.get("reasoning", 0)}}

    def items(self):
        """Each with the deltas that lead to it."""
        if "reasoning" in self.answer:
            item = {"id": f"rs_{self.n}", "type": "reasoning", "encrypted_content": self.answer.get("signature", "RU5D"),
                    "summary": [{"type": "summary_text", "text": self.answer["reasoning"]}]}
            yield item, [("response.reasoning_summary_text.delta", self.answer["reasoning"])]
        text, refusal = "".join(pieces_of(self.answer)), self.answer.get("refusal")
        if text or refusal:
            part = {"type": "refusal", "refusal": refusal} if refusal else {"type": "output_text", "text": text,
                                                                             "annotations": []}
            kind = "response.refusal.delta" if refusal else "response.output_text.delta"
            yield ({"id": f"msg_{self.n}", "type": "message", "role": "assistant", "status": "completed", "content": [part]},
                   [(kind, piece) for piece in ([refusal] if refusal else pieces_of(self.answer))])
        for i, call_id, call in self.calls():
            yield ({"id": f"fc_{self.n}_{i}", "type": "function_call", "call_id": call_id, "name": call["name"],
                    "status": "incomplete" if stop_of(self.answer) == "length" else "completed",
                    "arguments": arguments_of(call)},
                   [("response.function_call_arguments.delta", part) for part in halves_of(call)])

    def response(self, items):
        cut = stop_of(self.answer) not in ("end", "tool") and not self.answer.get("refusal")
        return {"id": f"resp_{self.n}", "object": "response", "status": "incomplete" if cut else "completed",
                "incomplete_details": {"reason": self.stop()} if cut else None, "error": None, "output": items,
                "usage": self.counts()}

    def events(self):
        yield {"type": "response.created", "response": {"id": f"resp_{self.n}", "status": "in_progress", "output": []}}
        items = []
        for i, (item, deltas) in enumerate(self.items()):
            fresh = dict(item, **{key: [] if isinstance(item[key], list) else "" for key in
                                  ("content", "summary", "arguments") if key in item})
            yield {"type": "response.output_item.added", "output_index": i, "item": fresh}
            for kind, text in deltas:
                yield {"type": kind, "output_index": i, "item_id": item["id"], "delta": text}
            yield {"type": "response.output_item.done", "output_index": i, "item": item}
            items.append(item)
        response = self.response(items)
        yield {"type": f"response.{response['status']}", "response": response}

    def whole(self):
        return self.response([item for item, _ in self.items()])

    def event_text(self, event):
        if "error" in event and "type" not in event:
            event = dict(event, type="error")
        return super().event_text(event)


class Gemini(Wire):
    name = "gemini_generate"

    def counts(self):
        use = self.usage or {}
        return {"promptTokenCount": use.get("input", 0) + use.get("cache_read", 0), "candidatesTokenCount": use.get("output", 0),
                "cachedContentTokenCount": use.get("cache_read", 0), "thoughtsTokenCount": use.get("reasoning", 0)}

    def parts(self):
        if "reasoning" in self.answer:
            yield {"text": self.answer["reasoning"], "thought": True}
        for text in pieces_of(self.answer):
            yield {"text": text}
        for i, call_id, call in self.calls():
            part = {"functionCall": {"id": call_id, "name": call["name"], "args": json.loads(arguments_of(call))}}
            if not i:
                part["thoughtSignature"] = self.answer.get("signature", "c2ln")
            yield part

    def chunk(self, parts, stop=None):
        candidate = {"index": 0, "content": {"role": "model", "parts": parts}}
        if stop:
            candidate["finishReason"] = stop
            if stop == "CONTINUATION":
                candidate["continuationToken"] = f"token-{self.n}"
        return {"candidates": [candidate]}

    def events(self):
        for part in self.parts():
            yield self.chunk([part])
        yield dict(self.chunk([], self.stop()), usageMetadata=self.counts())

    def whole(self):
        return dict(self.chunk(list(self.parts()), self.stop()), usageMetadata=self.counts())

    def error(self, error, status):
        return {"error": {"code": status, "message": error.get("message", "scripted"),
                          "status": error.get("type", "INTERNAL")}}


class Interactions(Wire):
    name = "gemini_interactions"
    typed = True
    done = "[DONE]"

    def counts(self):
        use = self.usage or {}
        return {"total_input_tokens": use.get("input", 0) + use.get("cache_read", 0), "total_output_tokens": use.get("output", 0),
                "total_cached_tokens": use.get("cache_read", 0), "total_thought_tokens": use.get("reasoning", 0)}

    def steps(self):
        if "reasoning" in self.answer:
            yield {"type": "thought"}, [{"type": "thought_signature", "signature": self.answer.get("signature", "c2ln")}]
        if pieces_of(self.answer):
            yield {"type": "model_output"}, [{"type": "text", "text": text} for text in pieces_of(self.answer)]
        for _, call_id, call in self.calls():
            yield ({"type": "function_call", "id": call_id, "name": call["name"], "arguments": {}},
                   [{"type": "arguments_delta", "arguments": part} for part in halves_of(call)])

    def events(self):
        yield {"event_type": "interaction.created", "interaction": {"id": f"v1_{self.n}", "status": "in_progress"}}
        for i, (step, deltas) in enumerate(self.steps()):
            yield {"event_type": "step.start", "index": i, "step": step}
            for delta in deltas:
                yield {"event_type": "step.delta", "index": i, "delta": delta}
            yield {"event_type": "step.stop", "index": i}
        yield {"event_type": "interaction.completed",
               "interaction": {"id": f"v1_{self.n}", "status": self.stop(), "usage": self.counts()}}

    def whole(self):
        steps = []
        for step, deltas in self.steps():
            if step["type"] == "function_call":
                step["arguments"] = json.loads("".join(delta["arguments"] for delta in deltas))
            elif step["type"] == "model_output":
                step["content"] = [{"type": "text", "text": "".join(pieces_of(self.answer))}]
            else:
                step["signature"] = deltas[0]["signature"]
            steps.append(step)
        return {"id": f"v1_{self.n}", "status": self.stop(), "steps": steps, "usage": self.counts()}

    def error(self, error, status):
        return {"event_type": "error", "error": {"code": error.get("code", "internal"),
                                                 "message": error.get("message", "scripted")}}


def wire_of(path):
    """The wire, and whether the path itself asks for a stream (None: the body does)."""
    path = path.partition("?")[0]
    if path.endswith("/messages"):
        return Anthropic, None
    if path.endswith("/responses"):
        return Responses, None
    if path.endswith("/chat/completions"):
        return Chat, None
    if path.endswith("/interactions"):
        return Interactions, None
    if path.endswith(":streamGenerateContent"):
        return Gemini, True
    return (Gemini, False) if path.endswith(":generateContent") else (None, None)


def turns_of(body):
    """How many answers the conversation holds; items of one answer in a row count once."""
    count, before = 0, False
    for message in body.get("messages") or body.get("contents") or body.get("input") or []:
        kind = message.get("type", "")
        own = message.get("role") in ("assistant", "model") or kind in (
            "reasoning", "function_call", "thought", "model_output")
        count += own and not before
        before = own
    return count


class Script:
    def __init__(self, path):
        with open(path, encoding="utf-8") as f:
            doc = json.load(f)
        doc = {"answers": doc} if isinstance(doc, list) else doc
        self.by = doc.get("by", "order")
        self.lanes = [(text, list(answers), [0]) for text, answers in doc.get("lanes", {}).items()]
        self.lanes.append(("", list(doc.get("answers", [])), [0]))

    def answer(self, text, body):
        for mark, answers, used in self.lanes:
            if mark not in text:
                continue
            at = turns_of(body) if self.by == "turn" else used[0]
            used[0] += 1
            if at < len(answers):
                return answers[at]
            return {"status": 500, "error": {"type": "script_end", "message": f"the script has no answer {at + 1}"}}
        return {"status": 500}


class Server:
    def __init__(self, script, log):
        self.script, self.log = Script(script), open(log, "a", encoding="utf-8", buffering=1)
        self.requests = self.most_open = 0
        self.open = set()  # numbers of requests whose last byte has not been sent

    def note(self, **row):
        self.log.write(json.dumps(row, ensure_ascii=False) + "\n")

    async def serve(self, reader, writer):
        try:
            while await self.one(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass
        finally:
            writer.close()

    async def one(self, reader, writer):
        """One request of the connection; false: it is closed."""
        head = await reader.readuntil(b"\r\n\r\n")
        at = time.time()
        first, *rows = head.decode("latin-1").rstrip("\r\n").split("\r\n")
        method, path, _ = first.split(" ", 2)
        headers = {name.strip().lower(): value.strip() for name, _, value in (row.partition(":") for row in rows)}
        text = (await reader.readexactly(int(headers.get("content-length", 0)))).decode("utf-8")
        if path == "/stats":
            doc = {"requests": self.requests, "open": len(self.open), "most_open": self.most_open}
            return await self.whole(writer, 200, {}, json.dumps(doc))
        self.requests += 1
        n = self.requests
        body = json.loads(text) if text else {}
        self.note(n=n, at=at, method=method, path=path, headers=headers, body=body)
        self.open.add(n)
        self.most_open = max(len(self.open), self.most_open)
        sent = [0]  # events; behind it the time of the last byte
        watch = asyncio.ensure_future(reader.read(1))  # nothing more comes before the answer: it is the end
        work = asyncio.ensure_future(self.reply(writer, path, (text, body), n, sent))
        try:
            await asyncio.wait((watch, work), return_when=asyncio.FIRST_COMPLETED)
            gone = not work.done()
            if gone:
                work.cancel()
            self.note(n=n, at=time.time(), end="gone" if gone else "done", sent=sent[0],
                      **{"last": sent[1] for _ in sent[1:]})
            if gone:
                return False
            again = work.result()
            if not watch.done():
                watch.cancel()
                await asyncio.sleep(0)
            return again and (not watch.done() or watch.cancelled())
        finally:
            self.open.discard(n)

    async def reply(self, writer, path, request, n, sent):
        text, body = request
        kind, streams = wire_of(path)
        if not kind:
            return await self.whole(writer, 404, {}, json.dumps({"error": {"message": f"no such path: {path}"}}))
        answer = self.script.answer(text, body)
        if "find" in answer:
            found = json.dumps(sorted(set(re.findall(answer["find"], text))))
            answer = json.loads(json.dumps(answer).replace('"FOUND"', found))
        wire = kind(answer, body.get("model", "m"), n)
        status, headers, error = answer.get("status", 200), answer.get("headers", {}), answer.get("error")
        await asyncio.sleep(answer.get("delay", 0))
        whole = status >= 300 or not answer.get("stream", body.get("stream", False) if streams is None else streams)
        if "body" in answer or whole:
            self.open.discard(n)
        if "body" in answer:
            said = answer["body"]
            return await self.whole(writer, status, headers, said if isinstance(said, str) else json.dumps(said))
        if status >= 300:
            return await self.whole(writer, status, headers, json.dumps(wire.error(error or {}, status)))
        if whole:
            return await self.whole(writer, status, headers, json.dumps(wire.whole(), ensure_ascii=False))
        return await self.stream(writer, wire, sent)

    async def whole(self, writer, status, headers, text):
        data = text.encode()
        kind = headers.get("content-type", "application/json" if text[:1] in "{[" else "text/plain")
        rows = "".join(f"{name}: {value}\r\n" for name, value in headers.items() if name != "content-type")
        writer.write(f"HTTP/1.1 {status} Scripted\r\ncontent-type: {kind}\r\n{rows}"
                     f"content-length: {len(data)}\r\n\r\n".encode() + data)
        await writer.drain()
        return True

    async def send(self, writer, text, piece):
        data = text if isinstance(text, bytes) else text.encode()
        for at in range(0, len(data), piece or max(len(data), 1)):
            part = data[at : at + piece] if piece else data
            writer.write(f"{len(part):x}\r\n".encode() + part + b"\r\n")
            await writer.drain()
            if piece:
                await asyncio.sleep(0)

    async def wait(self, writer, seconds, comments):
        end = time.monotonic() + seconds
        while comments and time.monotonic() + comments < end:
            await asyncio.sleep(comments)
            await self.send(writer, ": keep-alive\n\n", 0)
        await asyncio.sleep(max(end - time.monotonic(), 0))

    @staticmethod
    def texts(wire):
        """What is sent, event by event."""
        answer, error = wire.answer, wire.answer.get("error")
        if "raw" in answer or "file" in answer:
            if "file" in answer:
                with open(answer["file"], "rb") as f:
                    yield f.read()
            else:
                yield answer["raw"]
            return
        for i, event in enumerate(wire.events()):
            if error and i >= error.get("after", 0):
                break
            yield wire.event_text(event)
        if error:
            yield wire.event_text(wire.error(error, error.get("status", 500)))
        elif wire.done:
            yield f"data: {wire.done}\n\n"

    async def stream(self, writer, wire, sent):
        answer = wire.answer
        headers = {"content-type": "text/event-stream", **answer.get("headers", {})}
        rows = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        writer.write(f"HTTP/1.1 200 OK\r\n{rows}"
                     "transfer-encoding: chunked\r\n\r\n".encode())
        await self.wait(writer, answer.get("first", 0), answer.get("comments", 0))
        texts = list(self.texts(wire))
        for i, text in enumerate(texts):
            for how in ("cut", "reset", "hang"):
                if answer.get(how) == sent[0]:
                    return await self.break_off(writer, how, answer)
            if i == len(texts) - 1:
                self.open.discard(wire.n)
            await self.send(writer, text, answer.get("piece", 0))
            sent[0] += 1
            if answer.get("gap"):
                await self.wait(writer, answer["gap"], answer.get("comments", 0))
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        sent.append(time.time())
        return True

    async def break_off(self, writer, how, answer):
        if how == "hang":
            await self.wait(writer, 3600, answer.get("comments", 0))
        if how == "cut":
            writer.write(b"0\r\n\r\n")
            await writer.drain()
        else:
            sock = writer.get_extra_info("socket")
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.transport.abort()
        return False


async def main(script, port_file, log):
    server = Server(script, log)
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0, limit=1 << 26, backlog=512)
    end = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, end.set)
    with open(port_file + ".new", "w", encoding="utf-8") as f:
        print(listening.sockets[0].getsockname()[1], file=f)
    os.rename(port_file + ".new", port_file)
    await end.wait()
    listening.close()


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    asyncio.run(main(*sys.argv[1:]))
