#!/usr/bin/env node
import { Console } from "node:console";
import { EventEmitter } from "node:events";
import { enableCompileCache } from "node:module";

// Node keeps what it compiled, so that every start but the first is quick.
enableCompileCache();
// Standard output is for what was asked for; what libraries have to say goes beside it.
globalThis.console = new Console(process.stderr);
const interrupts = new EventEmitter();
process.on("SIGINT", () => {
  if (interrupts.listenerCount("interrupt") === 0) process.exit(130);
  interrupts.emit("interrupt");
});
const { runProgram } = await import("./program.ts");

process.exitCode = await runProgram(process.argv.slice(2), {
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  env: process.env,
  interactive: process.stdin.isTTY === true && process.stdout.isTTY === true,
  onInterrupt(listener) {
    interrupts.on("interrupt", listener);
    return () => interrupts.off("interrupt", listener);
  },
  interrupt: () => void interrupts.emit("interrupt"),
});
