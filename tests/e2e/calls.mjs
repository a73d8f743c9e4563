// SPDX-License-Identifier: MIT
// calls.mjs ITEM LOG: six asynchronous tasks of one process call a tool by name, as programs on
// node save files: in place, exclusively made, by a temporary name. No task reads another's reply.
import { promises as fs } from 'node:fs';
import { readFileSync } from 'node:fs';
import { randomBytes } from 'node:crypto';
import assert from 'node:assert';

const [item, log] = process.argv.slice(2);
const rounds = 20;
const runs = () => readFileSync(log, 'utf8').split('\n').length;

const byRename = async (path, text) => {
  const temporary = `${path}.${randomBytes(8).toString('hex')}.tmp`;
  await fs.writeFile(temporary, text, 'utf8');
  await fs.rename(temporary, path);
};

const ways = [
  (path, text) => fs.writeFile(path, text, 'utf8'),
  async (path, text) => {
    await fs.mkdir(path.replace(/\/[^/]*$/, ''), { recursive: true });
    try {
      await fs.writeFile(path, text, { encoding: 'utf8', flag: 'wx' });
    } catch (e) {
      if (e.code !== 'EEXIST') throw e;
      await byRename(path, text);
    }
  },
  byRename,
  async (path, text) => {
    const file = await fs.open(path, 'w');
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
  },
];

const task = async (n) => {
  for (let i = 0; i < rounds; i++) {
    const who = `task ${n}, round ${i}`;
    await ways[(n + i) % ways.length](`${item}/calls/js-${n}/request.json`, JSON.stringify({ who }, null, 2));
    const text = await fs.readFile(`${item}/replies/js-${n}/output`, 'utf8');
    const got = JSON.parse(text.slice('got '.length));
    assert.strictEqual(got.who, who);
  }
};

await fs.writeFile(`${item}/calls/first/request.json`, '{}');
const before = runs();
await Promise.all([0, 1, 2, 3, 4, 5].map(task));
assert.strictEqual(runs() - before, 6 * rounds);

// a failure is told, and nothing runs twice
for (const way of ways) {
  const n = runs();
  await assert.rejects(way(`${item}/calls/bad/request.json`, '{"fail": true}'), { code: 'EREMOTEIO' });
  assert.strictEqual(runs() - n, 1);
}
