// SPDX-License-Identifier: MIT
// sdkbench.mjs COMMAND ARG...: calls `echo` of that MCP server by the official client; median microseconds.
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

const [command, ...args] = process.argv.slice(2);
const client = new Client({ name: 'bench', version: '1' });
await client.connect(new StdioClientTransport({ command, args, env: process.env }));
const call = () => client.callTool({ name: 'echo', arguments: { text: 'hi' } });
await call();
const took = [];
for (let i = 0; i < 300; i++) {
  const begin = process.hrtime.bigint();
  await call();
  took.push(Number(process.hrtime.bigint() - begin) / 1000);
}
await client.close();
took.sort((a, b) => a - b);
console.log(took[took.length >> 1]);
