// SPDX-License-Identifier: MIT
// What stands before a runtime's loader in a Node process that is started ahead. It has done its
// imports and gone through a sample when it waits at descriptor 3 for its one job: the length of a
// JSON text, a line feed, the text with cwd, env, argv and source. Then the loader goes on with what
// the call gave it, in a process like any other; `given` is the tool's text. When all is done, exit
// handlers included, it says "D<exit code>" there and is ended. The end of the descriptor without a
// job ends the process.
import * as files from 'node:fs';
import { SourceTextModule as SampleModule } from 'node:vm';

const given = await (async () => {
  const sample = new SampleModule('export default (p, q) => ({ success: true, p, q })');
  await sample.link(() => {});
  await sample.evaluate();
  JSON.stringify(sample.namespace.default(JSON.parse('{"a": [1]}'), process.stdout.fd));
  const piece = Buffer.alloc(1 << 16);
  let text = Buffer.alloc(0), from = 0, end = Infinity;
  while (text.length < end) {
    const n = files.readSync(3, piece);
    if (!n)
      process.reallyExit(0);
    text = Buffer.concat([text, piece.subarray(0, n)]);
    if (!from && text.includes(10)) {
      from = text.indexOf(10) + 1;
      end = from + Number(text.subarray(0, from));
    }
  }
  const job = JSON.parse(text.subarray(from).toString());
  process.chdir(job.cwd);
  Object.assign(process.env, job.env);
  process.argv = [process.argv[0], ...job.argv];
  const emit = process.emit;
  let fatal = false;
  // They come to the engine when this process has gone, and are counted then.
  const hasChildren = () => {
    try {
      return files.readdirSync('/proc/self/task').some(
        (task) => files.readFileSync(`/proc/self/task/${task}/children`, 'latin1'));
    } catch {
      return true;
    }
  };
  // Behind all that wait for the exit: what Node itself does then costs the caller milliseconds.
  const last = function (name, ...words) {
    const heard = emit.call(this, name, ...words);
    // Node tells of an error that nothing caught only behind the exit handlers.
    fatal ||= name === 'uncaughtException' && !heard;
    if (name === 'exit' && !fatal && !hasChildren()) {
      const code = process.exitCode ?? words[0] ?? 0;
      try {
        files.closeSync(1);
        files.closeSync(2);
        files.writeSync(3, `D${Number(code) & 255}\n`);
        files.readSync(3, piece);
      } catch {}
      process.reallyExit(code);
    }
    return heard;
  };
  Object.defineProperty(process, 'emit', { value: last, writable: true, configurable: true });
  return job.source;
})();
