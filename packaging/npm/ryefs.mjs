#!/usr/bin/env node
// SPDX-License-Identifier: MIT
// Starts ryefs: the program that $RYEFS_PROGRAM names, else the one that is installed, else the one that
// this package carries. Nothing is fetched. Arguments, streams, signals and the exit status are the program's.
import { spawn, spawnSync } from "node:child_process";
import { accessSync, constants, realpathSync } from "node:fs";
import { constants as numbers } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const own = realpathSync(fileURLToPath(import.meta.url));
const carried = join(dirname(own), "program", "bin", "ryefs");

function runs(path) {
  try {
    accessSync(path, constants.X_OK);
    return realpathSync(path) !== own;
  } catch {
    return false;
  }
}

// npm puts its own directories before the others on PATH, with a link or a script that ends here again
function installed() {
  const places = (process.env.PATH ?? "").split(delimiter).filter((dir) => dir && !dir.includes("node_modules"));
  return places.map((dir) => join(dir, "ryefs")).find((path) => runs(path) && spawnSync(path, ["--version"], { env: { ...process.env, RYEFS_NPM: "1" } }).status === 0);
}

if (process.env.RYEFS_NPM) process.exit(1); // another copy of this looks for a program
const program = process.env.RYEFS_PROGRAM || installed() || carried;
const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
const passed = ["SIGINT", "SIGTERM", "SIGHUP"];
for (const name of passed) process.on(name, () => child.kill(name));
child.on("error", (error) => {
  console.error(`ryefs: cannot start ${program}: ${error.message}\nmend with: sudo apt install ./ryefs_*.deb`);
  process.exit(1);
});
child.on("exit", (code, signal) => {
  if (code === 127 && program === carried)
    console.error("mend with: sudo apt install libfuse3-3 libjansson4 libsodium23 libsqlite3-0 libyaml-0-2 libexpat1 libpcre2-8-0");
  process.exit(signal ? 128 + numbers.signals[signal] : code);
});
