#!/usr/bin/env node
import { enableCompileCache } from "node:module";

// Node keeps what it compiled, so that every start but the first is quick.
enableCompileCache();
const { runProgram } = await import("./program.ts");

process.exitCode = await runProgram(process.argv.slice(2), {
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  env: process.env,
  interactive: process.stdin.isTTY === true && process.stdout.isTTY === true,
  onInterrupt(listener) {
    process.on("SIGINT", listener);
    return () => process.off("SIGINT", listener);
  },
});
