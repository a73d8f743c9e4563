// SPDX-License-Identifier: MIT
// model_server.mjs MODULES MODEL PORT_FILE: OpenAI's chat completions over llama.cpp, as node-llama-cpp
// below the directory MODULES has it, with one slot of CONTEXT tokens. The messages are one text after the
// other: there is no template, and no tools. A prompt that is too long is refused in llama.cpp's words.
import { renameSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { pathToFileURL } from "node:url";

const [modules, file, portFile] = process.argv.slice(2);
const CONTEXT = 1024;
const library = await import(pathToFileURL(`${modules}/node-llama-cpp/dist/index.js`));
const llama = await library.getLlama({ build: "never", gpu: false, progressLogs: false });
const model = await llama.loadModel({ modelPath: file });
const context = await model.createContext({ contextSize: CONTEXT, threads: 1 });
const sequence = context.getSequence();
let turn = Promise.resolve(); // of the slot

const textOf = (content) =>
  typeof content === "string" ? content : (content ?? []).map((part) => part.text ?? "").join("");

async function answer(body, put) {
  const prompt = model.tokenize(body.messages.map((message) => textOf(message.content)).join("\n"));
  const usage = { prompt_tokens: prompt.length, completion_tokens: 0, total_tokens: prompt.length };
  if (prompt.length >= CONTEXT) {
    const message = `request (${prompt.length} tokens) exceeds the available context size (${CONTEXT} tokens)`;
    return { status: 400, error: { code: 400, message, type: "exceed_context_size_error", n_prompt_tokens: prompt.length, n_ctx: CONTEXT } };
  }
  const most = Math.min(body.max_tokens ?? 64, 64, CONTEXT - prompt.length);
  const said = [];
  let told = "";
  let stop = "stop";
  await sequence.clearHistory();
  for await (const token of sequence.evaluate(prompt, { temperature: 1, seed: 7 })) {
    said.push(token);
    usage.completion_tokens = said.length;
    usage.total_tokens = prompt.length + said.length;
    const text = model.detokenize(said);
    if (!text.endsWith("\ufffd")) {
      put(text.slice(told.length));
      told = text;
    }
    if (said.length >= most) {
      stop = "length";
      break;
    }
  }
  put(model.detokenize(said).slice(told.length));
  return { text: model.detokenize(said), stop, usage };
}

async function serve(body, response) {
  const chunk = (delta, stop, more) =>
    response.write(`data: ${JSON.stringify({ object: "chat.completion.chunk", model: body.model, choices: more ? [] : [{ index: 0, delta, finish_reason: stop }], ...more })}\n\n`);
  const begin = () => response.headersSent || response.writeHead(200, { "content-type": "text/event-stream" });
  const got = await answer(body, (text) => body.stream && (begin(), chunk({ content: text }, null)));
  if (got.error) {
    response.writeHead(got.status, { "content-type": "application/json" });
    response.end(JSON.stringify({ error: got.error }));
  } else if (body.stream) {
    begin();
    chunk({}, got.stop);
    if (body.stream_options?.include_usage) chunk(null, null, { usage: got.usage });
    response.end("data: [DONE]\n\n");
  } else {
    const message = { role: "assistant", content: got.text };
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ model: body.model, choices: [{ index: 0, message, finish_reason: got.stop }], usage: got.usage }));
  }
}

const server = createServer((request, response) => {
  let text = "";
  request.on("data", (piece) => (text += piece));
  request.on("end", () => {
    if (request.method !== "POST" || request.url !== "/v1/chat/completions") return response.writeHead(404).end();
    turn = turn.then(() => serve(JSON.parse(text), response)).catch((error) => response.destroy(error));
  });
});
server.listen(0, "127.0.0.1", () => {
  writeFileSync(`${portFile}.new`, `${server.address().port}\n`);
  renameSync(`${portFile}.new`, portFile);
});
