// SPDX-License-Identifier: MIT
// What stands before a runtime's loader in a Node process that is started ahead. It has done its
// imports and gone through a sample when it waits at descriptor 3 for its one job: the length of a
// JSON text, a line feed, the text with cwd, env, argv and source. Then the loader goes on with what
// the call gave it, in a process like any other; `given` is the tool's text. The end of the
// descriptor without a job ends the process.
import { closeSync as closeJob, readSync as readJob } from 'node:fs';
import { SourceTextModule as SampleModule } from 'node:vm';

const given = await (async () => {
  const sample = new SampleModule('export default (p, q) => ({ success: true, p, q })');
  await sample.link(() => {});
  await sample.evaluate();
  JSON.stringify(sample.namespace.default(JSON.parse('{"a": [1]}'), process.stdout.fd));
  const piece = Buffer.alloc(1 << 16);
  let text = Buffer.alloc(0), from = 0, end = Infinity;
  while (text.length < end) {
    const n = readJob(3, piece);
    if (!n)
      process.reallyExit(0);
    text = Buffer.concat([text, piece.subarray(0, n)]);
    if (!from && text.includes(10)) {
      from = text.indexOf(10) + 1;
      end = from + Number(text.subarray(0, from));
    }
  }
  closeJob(3);
  const job = JSON.parse(text.subarray(from).toString());
  process.chdir(job.cwd);
  Object.assign(process.env, job.env);
  process.argv = [process.argv[0], ...job.argv];
  return job.source;
})();
